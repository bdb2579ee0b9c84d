# SPDX-License-Identifier: GPL-2.0-or-later
"""What the catalog says of each file system's RAM, on the real kernel: what it takes back.

A load leaves inodes of every kind in RAM. Then the kernel is made to drop what it can. The
functions of ``memory_reclaimable`` must hold next to nothing more, and all others what they held.
"""

from __future__ import annotations

import asyncio

import pytest
from support import smalltrial

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.medium import MOUNTPOINT
from nandlab.trial import mediumsteps as trial_medium

pytestmark = pytest.mark.board

DEBUGFS = "/sys/kernel/debug/fsram"
FILES, UPDATES = 40, 60
LOAD = f"""\
cd {MOUNTPOINT} && for d in a b c d e; do mkdir $d; \
for i in $(seq {FILES}); do echo hello > $d/$i; done; mv $d/1 $d/one; rm $d/2; done; \
dd if=/dev/urandom of=big bs=4k count=256 2> /dev/null; \
for i in $(seq {UPDATES}); do \
dd if=/dev/urandom of=big bs=10 seek=$((i * 1501)) count=1 conv=notrunc 2> /dev/null; done; \
dd if=/dev/null of=a/3 bs=100k seek=1 2> /dev/null; cat big > copy; rm big; mv copy big; \
for i in $(seq {UPDATES}); do \
dd if=/dev/urandom of=big bs=10 seek=$((i * 1511)) count=1 conv=notrunc 2> /dev/null; done; \
cd / && sync"""
READ = f"cd {MOUNTPOINT} && find . > /dev/null; cat big */* > /dev/null; cd /"
DROP = "; ".join(["sync", "echo 3 > /proc/sys/vm/drop_caches"] * 8)
"""A folder goes in a later round than its files, and only once it was passed over before."""
HELD_BACK = 0.05
"""Share that functions of the catalog may still hold: the root's own, and what is in use."""
GIVEN_BESIDE = 0.05
"""Share of what was given back that may be of functions that the catalog does not name: JFFS2 frees
the summary of a block when the sync before the caches are dropped has filled it."""


def held(stdout: str) -> dict[str, int]:
    """Bytes that each function's allocations hold."""
    return {name: int(b) for name, b, *_ in (line.split() for line in stdout.splitlines())}


@pytest.mark.parametrize("name", smalltrial.WRITABLE)
def test_the_kernel_takes_back_what_the_catalog_says(board: QemuBoard, name: str) -> None:
    smalltrial.spec(board, name)  # skips what the kernel lacks
    on = smalltrial.medium(board, name)
    system = on.filesystem
    watch = f"modprobe fsram modules={','.join(system.memory_of)}"
    look = f"cat {DEBUGFS}/functions"
    steps = (
        trial_medium.make_medium_load_step(on),
        Step("watch", watch),
        trial_medium.make_module_load_step(on),
        *trial_medium.make_format_steps(on),
        trial_medium.make_mount_step(on),
        trial_medium.make_idle_wait_step(on),
        Step("work", LOAD),
        *(Step("worked", look), Step("drop", DROP), Step("dropped", look)),
        trial_medium.make_unmount_step(on),
        trial_medium.make_mount_step(on, "again"),
        Step("read", READ),
        *(Step("was-read", look), Step("drop-again", DROP), Step("dropped-again", look)),
    )
    record = asyncio.run(board.run(Job(steps)))
    failed = record.failed()
    assert failed is None, failed.failure()
    for before, after in (("worked", "dropped"), ("was-read", "dropped-again")):
        had, has = held(record[before].stdout), held(record[after].stdout)
        given = {f: had[f] - has[f] for f in had if had[f] > has[f]}
        named = system.memory_reclaimable
        assert named is not None, given
        beside = {f: n for f, n in given.items() if f not in named}
        back = {f: (had[f], has[f]) for f in named if has.get(f, 0) > HELD_BACK * had.get(f, 0)}
        assert sum(beside.values()) <= GIVEN_BESIDE * sum(given.values()), (before, beside, given)
        assert sum(n for _, n in back.values()) <= HELD_BACK * sum(given.values()), (before, back)
