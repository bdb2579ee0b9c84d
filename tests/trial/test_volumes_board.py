# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI volumes beside the file system's own on the board: sizes, kinds and content."""

from __future__ import annotations

import asyncio

import pytest
from support.smalltrial import planned, skip_where_refused

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.trial.steps import make_trial_job

pytestmark = pytest.mark.board

LAYOUT = "kernel 1 static, rootfs 0.5 dynamic, spare 0.25 dynamic empty"
LEB_BYTES = 15872
"""Of blocks of 16 KiB with subpages: one page of 512 bytes has both headers."""
VOLUMES = [
    ("kernel", "static", 1 << 20),
    ("rootfs", "dynamic", 1 << 19),
    ("spare", "dynamic", 1 << 18),
]
ATTACH, DETACH = "ubiattach -m 0 -d 0 > /dev/null", "ubidetach -d 0"
LOOK = f"""{ATTACH} && for v in 0 1 2 3; do cd /sys/class/ubi/ubi0_$v && \
echo $(cat name) $(cat type) $(cat reserved_ebs); done; \
grep -c 'kernel' /dev/ubi0_1; grep -c 'rootfs' /dev/ubi0_2; \
for v in 1 2 3; do tr -d '\\377' < /dev/ubi0_$v | wc -c; done; {DETACH}"""


def test_volumes_have_their_sizes_kinds_and_content_as_the_layout_says(board: QemuBoard) -> None:
    spec = skip_where_refused(planned(board, "ubifs", volumes=LAYOUT), board)
    steps = []
    for step in make_trial_job(spec).steps:
        if step.name == "kernel-log":
            steps.append(Step("look", LOOK))
        steps.append(Step("workload", "true") if step.name == "workload" else step)
    record = asyncio.run(board.run(Job(tuple(steps))))
    assert record.failed() is None
    own, *further, kernel_lines, rootfs_lines, static, dynamic, empty = record[
        "look"
    ].stdout.splitlines()
    assert own.split()[:2] == ["data", "dynamic"]
    for line, (name, kind, size) in zip(further, VOLUMES, strict=True):
        assert line.split() == [name, kind, str(-(-size // LEB_BYTES))]
    assert int(kernel_lines) == (1 << 20) // len("kernel\n")
    assert int(rootfs_lines) == (1 << 19) // len("rootfs\n")
    assert (int(static), int(dynamic), int(empty)) == (1 << 20, 1 << 19, 0)
