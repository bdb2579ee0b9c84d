# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2, where the header of a rename over another file is torn: what docs/findings/12 and 13
says of it, on a board. The mount reads such a header, does not ask whether it could, and believes
it: a wrong parent puts the new file under lost+found, which the mount empties, and the file that
was replaced is deleted as if the header were sound. Both names are gone."""

from __future__ import annotations

import numpy as np
import pytest
from test_yaffs2_torn_page import UP, Torn, older

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import loads
from nandlab.powercut.job import CutPoints

pytestmark = pytest.mark.board

REPLACE = loads.parse_loads(
    "replace",
    """
mkdir A
create A/network.setting
write A/network.setting 0 300
create A/new
write A/new 0 300
load replace
rename A/new A/network.setting
sync
""",
)
HEADER = 1
"""The operation of the load that writes the header which replaces a file."""
PARENT_AT = 4
"""Of struct yaffs_obj_hdr."""
KIND_BIT = 5233
"""A seed by which bit 1 of that header reads 1, and so the kind 1, a file, as 3, a folder."""


def test_a_torn_rename_loses_the_old_file_and_the_new_one(board: QemuBoard) -> None:
    """Without the emptying, the new one is in a folder that never was."""
    few = CutPoints(first=HEADER, last=HEADER, variants=("before", "few"), seeds=256)
    torn = Torn(board, REPLACE, few, "off")
    assert set(torn.told.outcomes["before"]) <= {".", " "}
    kept = f"{UP} -o no-background,empty-lost-and-found-off"
    (where, gone), chunks = torn.says(
        torn.point("lost"),
        f"{kept} && ls /mnt/A | wc -l && find /mnt/lost+found -type f | sed 's/.*obj[0-9]*.//'",
        f"umount /mnt && {UP} -o no-background && find /mnt -type f | wc -l",
    )
    bad, _ = older(chunks)
    parent = int(np.frombuffer(bad.cells[PARENT_AT:], "<i4", 1)[0])
    (folder,) = {c.object for c in chunks if c.chunk == 0 and c.cells[10:12] == b"A\0"}
    assert (bad.chunk, parent & folder) == (0, folder)
    assert parent != folder
    assert where == ["0", "network.setting"]
    assert gone == ["0"]


def test_a_file_that_reads_as_a_folder_is_an_error(board: QemuBoard) -> None:
    """Until a checkpoint is read, which has an empty folder for it."""
    few = CutPoints(first=HEADER, last=HEADER, variants=("few",), seed=KIND_BIT)
    torn = Torn(board, REPLACE, few, "off")
    up = f"{UP} -o no-background"
    (first, told, second), chunks = torn.says(
        torn.point("unreadable"),
        f"{up} && ! cat /mnt/A/network.setting 2>&1",
        "dmesg | grep -o 'object .* wrong kind.*' | sort -u; touch /mnt/A/y && umount /mnt",
        f"{up} && stat -c %F,%n /mnt/A/* && ls /mnt/A/network.setting | wc -l",
    )
    bad, _ = older(chunks)
    assert (bad.chunk, bad.cells[0]) == (0, 3)
    assert first[-2:] == ["Input/output", "error"]
    assert told == f"object {bad.object} has a wrong kind in its header, 3".split()
    assert " ".join(second) == "directory,/mnt/A/network.setting regular empty file,/mnt/A/y 0"
