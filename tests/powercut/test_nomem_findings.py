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
from support.place import Place

from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.medium import MOUNTPOINT
from nandlab.powercut.campaign import HANG
from nandlab.powercut.job import build_campaign_modules

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(BUILD_S)]

SUMMARY = "jffs2_sum_add_kvec < jffs2_flash_writev"
CHECKED = "check_tn_node < jffs2_do_read_inode_internal"
CHECK_PATCH = FINDINGS / "27-jffs2-unchecked-node.diff"
FAIL = "/sys/kernel/debug/nomem/fail"
LOOKUPS = f"""\
k=0
while [ $((k += 1)) -lt 99 ]; do
	{{remount}} || exit 1
	exec 3> {FAIL} && echo "$k any" >&3 || exit 1
	read -r line < {{file}}
	echo "0 any" >&3
	exec 3>&-
	! dmesg | grep -q 'check_node_data() returned error' || exit 0
done
exit 1
"""
"""The first look-up after a mount has no memory for an allocation, until that is a check's. The
shell does it itself: the allocations are counted of who asks for it."""
TRUNCATIONS = f"""\
k=0
tr '\\000-\\377' '\\001-\\377\\000' < /tmp/x > /tmp/y
while cp /tmp/x {{file}} && sync && dd if=/tmp/y of={{file}} bs=9000 conv=notrunc; do
	exec 3> {FAIL} || exit 1
	(echo "$((k + 1)) any" >&3; exec truncate -s 2500 {{file}})
	error=$?
	echo "0 any" >&3
	exec 3>&-
	k=$((k + 1))
	cat {FAIL}
	test $error = 0 && size=2500 || size=9000
	head -c $size /tmp/y | cmp - {{file}} && {{remount}} || exit 1
	! grep -q 'failed 0' {FAIL} || exit 0
done
"""
"""A file whose new bytes are not synced is truncated without memory for an allocation, until the
process has memory for all."""


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
    (mended,) = try_allocations(open_patched_board(LOCK_PATCH, CHECK_PATCH), "jffs2")
    held = [mended.notes[i] for i in find_owner(mended, CHECKED)]
    assert held and {note.split("\t")[0] for note in held} == {"held"}
    assert all(note.endswith("Cannot allocate memory") for note in held)


def play_without_memory(
    board: QemuBoard, system: str, script: str, *steps: tuple[str, str]
) -> JobRecord:
    """A shell's own calls, in a file system with a file of 9,000 bytes that is in /tmp too; then
    more steps."""
    place, module, file = Place(system, "apf27"), "nomem.ko", f"{MOUNTPOINT}/x"
    make = f"dd if=/dev/urandom of=/tmp/x bs=9000 count=1 && cp /tmp/x {file} && sync"
    words = {"remount": place.remount(), "file": file}
    record, _ = place.run(
        board,
        Step("module", f"insmod ./{module}"),
        Step("make", make),
        Step("play", "sh ./script", 300),
        *(Step(name, command.format(**words)) for name, command in steps),
        files={
            module: build_campaign_modules(board, (KIND,))[module],
            "script": script.format(**words).encode(),
        },
    )
    assert record.failed() is None, record.failed()
    return record


def test_the_collector_checks_what_a_look_up_could_not_once_jffs2_is_patched() -> None:
    """Else it ends: nobody checks a file again that counts as checked."""
    play_without_memory(
        open_patched_board(LOCK_PATCH, CHECK_PATCH),
        "jffs2",
        LOOKUPS,
        ("wait", "sleep 5"),
        ("collector", "dmesg | grep -c -e 'but still' -e 'Aborting GC thread'; test $? = 1"),
        ("same", "cmp /tmp/x {file}"),
    )


def test_a_truncation_that_fails_keeps_what_was_not_synced_once_ubifs_is_patched() -> None:
    board = open_patched_board(FINDINGS / "25-ubifs-truncated-size.diff")
    record = play_without_memory(board, "ubifs", TRUNCATIONS)
    assert "ubifs_jnl_truncate < ubifs_setattr" in record["play"].stdout


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
