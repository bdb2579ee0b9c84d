# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel has no memory for one allocation in a load's calls: which it is, that each can be
tried again by its number, and that a file system which loses data then is caught."""

from __future__ import annotations

from pathlib import Path

import pytest
from nomemsteps import (
    BASE,
    BUILD_S,
    CHANGES,
    KIND,
    LOCK_PATCH,
    find_owner,
    open_patched_board,
    try_allocations,
)

from nandlab.base.errors import UsageError
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.mishaps import list_usual_fault_kinds, read_fault_kinds
from nandlab.powercut import faults, loads

PLANT = """\
--- a/fs/jffs2/file.c
+++ b/fs/jffs2/file.c
@@ -283,5 +283,5 @@
 \t\t\t  __func__);
 \t\tunlock_page(pg);
 \t\tput_page(pg);
-\t\treturn -ENOMEM;
+\t\treturn copied;
 \t}
"""
"""With it a write that had no memory for its node says that it was done."""
PLANTED = "jffs2_write_end < generic_perform_write"


def test_what_a_kernel_may_not_take_is_tried_only_where_it_is_named() -> None:
    asked = [name for name in read_fault_kinds() if name not in list_usual_fault_kinds()]
    assert asked == [KIND, "nomemnow"]
    assert all(read_fault_kinds()[name].is_alone for name in asked)


def test_the_room_is_judged_where_memory_is_short() -> None:
    plain = loads.parse_loads("calls", BASE + CHANGES)
    assert faults.end_fault_loads(plain, (KIND,)).loads[0].calls[-2:] == ("statfs", "sync")
    assert "statfs" not in faults.end_fault_loads(plain, ("erase",)).loads[0].calls


@pytest.mark.board
def test_each_allocation_fails_until_the_load_has_no_more_and_alone_it_is_the_same(
    board: QemuBoard,
) -> None:
    (every,) = try_allocations(board, "yaffs2")
    letters = every.outcomes[KIND].rstrip()
    assert (set(letters), every.findings) == ({"."}, [])
    assert len(letters) == every.points == len(every.notes) > 15
    owners = [note.split("\t")[1] for note in every.notes]
    assert any(owner.startswith("getname_flags") for owner in owners)
    # a call whose allocation fails mostly says so
    assert sum(owner.endswith("Cannot allocate memory") for owner in owners) == every.told > 10
    at = every.points // 2
    (alone,) = try_allocations(board, "yaffs2", at, at)
    assert alone.notes == [every.notes[at]]
    (now,) = try_allocations(board, "yaffs2", kind="nomemnow")
    assert now.findings == []
    assert now.points == sum("does not wait" in note for note in now.notes) < every.points


@pytest.mark.board
@pytest.mark.long
@pytest.mark.timeout(BUILD_S)
def test_a_file_system_that_takes_a_write_without_memory_for_it_is_caught(tmp_path: Path) -> None:
    plant = tmp_path / "plant.diff"
    plant.write_text(PLANT)
    (sound,) = try_allocations(open_patched_board(LOCK_PATCH), "jffs2")
    at = find_owner(sound, PLANTED)[0]
    assert sound.notes[at].startswith(f"held\t{PLANTED}")
    assert sound.notes[at].endswith("Cannot allocate memory")
    (lost,) = try_allocations(open_patched_board(LOCK_PATCH, plant), "jffs2", at, at)
    assert [each.name for each in lost.findings] == ["lost"]
    assert lost.notes[0].startswith(f"lost\t{PLANTED}")
    assert lost.notes[0].endswith("no call fails")


@pytest.mark.board
@pytest.mark.long
def test_a_kernel_that_cannot_be_told_to_fail_is_refused() -> None:
    newest = open_board(load_noun("boards", "apf27-6.12", BoardModel))
    with pytest.raises(UsageError, match=r"no function should_failslab .* CONFIG_FAILSLAB=y"):
        try_allocations(newest, "jffs2", 0, 0)
