# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of our YAFFS2 port share: chips, mounts, a tree, and what /proc/yaffs says."""

from __future__ import annotations

import asyncio

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters
from nandlab.trial.outcome import EXPECTED_IN_LOG
from support.chipsteps import modprobe

SIM = "/sys/kernel/debug/simnand"
LOAD = "modprobe yaffs2"
TREE = (
    "head -c 90000 /bin/busybox > /mnt/bb; mkdir -p /mnt/d/e; for i in $(seq 1 20); do"
    " head -c $((i * 733)) /dev/urandom > /mnt/d/f$i; done; ln -s d/f1 /mnt/s; ln /mnt/d/f2"
    " /mnt/d/e/hard; mknod /mnt/p p; mknod /mnt/c c 5 1; chmod 4711 /mnt/d/f3;"
    " chown 12:34 /mnt/d/f4; mv /mnt/d/f5 /mnt/d/f6; rm /mnt/d/f7; : > /mnt/d/f8;"
    " truncate -s 999 /mnt/d/f9;"
    " dd if=/dev/urandom of=/mnt/sparse bs=1000 seek=500 count=3 2>/dev/null;"
    " truncate -s 20000 /mnt/hole; truncate -s 20000 /mnt/cut; truncate -s 8192 /mnt/cut;"
    " cd /mnt && find . -type f | sort | xargs md5sum > /tmp/sums; ls -lR . > /tmp/list; cd /"
)
"""Makes one of each kind, and knows what is in it."""
SAME = (
    "cd /mnt && md5sum -c /tmp/sums > /tmp/said || cat /tmp/said; ls -lR . | diff - /tmp/list"
    " && grep -c ': OK' /tmp/said; cd /"
)
"""Prints TREE_FILES and nothing else if all of TREE is there as it was."""
TREE_FILES = "23"
COUNTS = "sed -n '/^page_writes:/,$s/: / /p' /proc/yaffs"
"""What YAFFS2 has counted, `name value` a line, with one mount."""


def mount(*options: str) -> str:
    """The command that mounts the chip."""
    return f"mount -t yaffs2 -o {','.join(('rw', *options))} mtd0 /mnt"


def load(board: QemuBoard, chip: str = "apf27", blocks: int = 128, **more: int | str) -> Step:
    """Puts in a chip of the catalog with so many blocks."""
    model = catalog.load_noun("chips", chip, ChipModel)
    return modprobe(
        make_chip_module_parameters(model, blocks, board.machine.model.store_start) | more
    )


def run(board: QemuBoard, *steps: Step, kernel_words: tuple[str, ...] = ()) -> JobRecord:
    """Runs the steps; all succeed, and the kernel warns of nothing but what is told."""
    log = Step("log", "dmesg -r", always=True)
    record = asyncio.run(board.run(Job((*steps, log))))
    failed = record.failed()
    assert failed is None, failed.failure()
    since_s = record.steps[0].start_ns / 1e9
    for line in record[log.name].stdout.splitlines():
        level, _, rest = line.removeprefix("<").partition(">")
        stamp, _, text = rest.removeprefix("[").partition("]")
        if int(level) & 7 > 4 or float(stamp) < since_s or text.endswith(EXPECTED_IN_LOG):
            continue
        assert any(word in text for word in kernel_words), f"the kernel says: {text}"
    return record


def proc(text: str) -> dict[str, str]:
    """/proc/yaffs with one mount, by name."""
    return dict(line.split(": ") for line in text.splitlines() if line)
