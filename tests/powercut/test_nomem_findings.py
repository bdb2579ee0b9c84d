# SPDX-License-Identifier: GPL-2.0-or-later
"""What file systems of the kernel do wrong where it has no memory for one allocation, and that
a patch mends it: docs/findings, 24 and on."""

from __future__ import annotations

import pytest
from nomemsteps import (
    BUILD_S,
    FINDINGS,
    KIND,
    LOCK_PATCH,
    find_owner,
    open_patched_board,
    try_allocations,
)

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut.campaign import HANG

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(BUILD_S)]

SUMMARY = "jffs2_sum_add_kvec < jffs2_flash_writev"
CHECKED = "check_tn_node < jffs2_do_read_inode_internal"


def test_jffs2_keeps_a_lock_where_it_has_no_memory_for_its_summary(board: QemuBoard) -> None:
    (mended,) = try_allocations(open_patched_board(LOCK_PATCH), "jffs2")
    at = find_owner(mended, SUMMARY)[0]
    assert mended.notes[at].startswith("held\t")
    hung = try_allocations(board, "jffs2", at, at)
    (finding,) = [finding for each in hung for finding in each.findings]
    assert (finding.name, finding.first) == (HANG, f"{at}:{KIND}:1")
    assert any("jffs2_flash_writev" in line for line in finding.console)


def test_jffs2_drops_a_node_that_it_has_no_memory_to_check() -> None:
    (told,) = try_allocations(open_patched_board(LOCK_PATCH), "jffs2")
    at = find_owner(told, CHECKED)
    assert "lost" in {told.notes[i].split("\t")[0] for i in at}
    assert all(told.notes[i].endswith("no call fails") for i in at)
    check_patch = FINDINGS / "27-jffs2-unchecked-node.diff"
    (mended,) = try_allocations(open_patched_board(LOCK_PATCH, check_patch), "jffs2")
    held = [mended.notes[i] for i in find_owner(mended, CHECKED)]
    assert held and {note.split("\t")[0] for note in held} == {"held"}
    assert all(note.endswith("Cannot allocate memory") for note in held)


@pytest.mark.parametrize(
    ("call", "owner", "found", "patch"),
    [
        (
            *("truncate A/x 2500", "ubifs_jnl_truncate < ubifs_setattr"),
            *("stale bytes", "25-ubifs-truncated-size.diff"),
        ),
        (
            *("create A/z\nsync\nunlink A/x", "ubifs_tnc_next_ent < ubifs_tnc_remove_ino"),
            *("resurrected", "26-ubifs-sync-read-only.diff"),
        ),
    ],
)
def test_ubifs_takes_an_error_for_a_success_until_it_is_patched(
    call: str, owner: str, found: str, patch: str, board: QemuBoard
) -> None:
    (told,) = try_allocations(board, "ubifs", calls=call)
    classes = [told.notes[i].split("\t")[0] for i in find_owner(told, owner)]
    assert classes and set(classes) == {found}
    assert {each.name for each in told.findings} == {found}
    (mended,) = try_allocations(open_patched_board(FINDINGS / patch), "ubifs", calls=call)
    assert len(find_owner(mended, owner)) == len(classes)
    assert mended.findings == []
