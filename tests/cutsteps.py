# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of power cuts share: a few short loads, and a medium to cut."""

from __future__ import annotations

from nandlab.board.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut import loads

FEW = loads.read(
    "few",
    """
mkdir A
create A/x
write A/x 0 8192
create A/y
write A/y 0 3000
load new
create A/new
write A/new 0 10000
fsync A/new
load over
rename A/x A/y
fsyncdir A
load away
unlink A/x
sync
create A/z
write A/z 0 100
sync
""",
)


def on(board: QemuBoard, name: str) -> Medium:
    system = load("filesystems", name, FilesystemModel)
    chip = load("chips", "apf27", ChipModel)
    options = system.chosen({}, "the test")
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=64,
        filesystem=system,
        options=options,
    )
