# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the chip at each operation of a load: what is held, what is told, what is lost."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from cutsteps import on

from nandlab.base.errors import UsageError
from nandlab.board.job import Step
from nandlab.board.qemu import QemuBoard
from nandlab.chip.simulated import FOLDER
from nandlab.powercut import campaign, faults, found, loads, sql
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CUT, Points, bad_blocks, chip_module, job

GROW = """
mkdir A
create A/x
load grow
write A/x 0 9000
sync
damage
write A/x 3000 2000
create A/y
write A/y 0 5000
unlink A/y
"""
TWO = f"{GROW}load small\ncreate A/z\n"
SHORT = faults.of(loads.read("short", GROW))


def tried(board: QemuBoard, name: str, *kinds: str, **more: Any) -> dict[str, Any]:
    """What became of a load, by fault."""
    points = replace(Points(variants=kinds), **more)
    one = Campaign(on(board, name), SHORT, points)
    (told,) = asyncio.run(campaign.once(one, points, board))
    return told


def test_loads_of_faults_end_with_a_sync() -> None:
    assert SHORT.program == faults.PROGRAM
    assert SHORT.loads[0].calls[-2:] == ("unlink A/y", "sync")
    with pytest.raises(UsageError, match="no judge of SQL"):
        faults.of(sql.loads())


def test_errors_that_are_told_are_classes_of_their_own() -> None:
    told = {"class": "unreadable", "count": 2, "first": "3:beyond:1", "what": "A/x: EIO"}
    result = found.Found({"program": faults.PROGRAM})
    found._count(result, "grow", told)
    assert result.faults == []
    found._count(result, "grow", {**told, "class": "wrong content"})
    found._count(result, "grow", {**told, "first": "3:flips:1"})
    assert [each.name for each in result.faults] == ["wrong content", "unreadable"]


@pytest.mark.board
def test_ubifs_stands_programs_that_fail_and_bits_that_the_ecc_corrects(board: QemuBoard) -> None:
    told = tried(board, "ubifs", "program", "flips", "beyond")
    outcomes, kinds = told["outcomes"], told["kinds"]
    programs = [k for k, kind in enumerate(kinds) if kind in "po"]
    assert [k for k, letter in enumerate(outcomes["program"]) if letter == "."] == programs
    assert set(outcomes["flips"]) == {" ", "."}
    # it checks no CRC of data by default, and passes over what UBI cannot read
    assert "W" in outcomes["beyond"]


@pytest.mark.board
def test_yaffs2s_own_check_is_on_and_is_heard(board: QemuBoard) -> None:
    """Of a block that dies while it is collected its verification says that it "should be erased".
    That alone is no fault, so only the test listens for it; nothing else is said."""
    wide = loads.read("w", "create x\nload w\nwrite x 0 40000\nsync\n")
    points = Points(variants=("program",), last=4)
    for plant, heard in (((), []), (("--check-says", "should be erased"), ["check fails"])):
        one = Campaign(on(board, "yaffs2"), faults.of(wide), replace(points, plant=plant))
        (told,) = asyncio.run(campaign.once(one, one.points, board))
        assert [each["class"] for each in told["findings"]] == heard
        assert told["points"] == 4


@pytest.mark.board
def test_blocks_that_the_maker_marked_bad_are_left_alone(board: QemuBoard) -> None:
    """The first that may be bad, the second, and the last two: no operation is in them."""
    bad = bad_blocks(["worst"], 64)
    assert bad == (1, 2, 62, 63)
    for words, why in ((["0"], "block 0 is good"), (["64"], "from 1 to 63"), (["x"], "expected")):
        with pytest.raises(UsageError, match=why):
            bad_blocks(words, 64)
    points = Points(variants=("program",), every=5, bad=bad)
    for name in ("jffs2", "ubifs", "yaffs2"):
        one = Campaign(on(board, name), SHORT, points)
        made = job(one.on, one.loads, points, chip_module(board))
        look = Step(
            "look", f"cat /sys/class/mtd/mtd0/bad_blocks; cut -d' ' -f2 {FOLDER}/journal_ops"
        )
        record = asyncio.run(board.run(replace(made, steps=(*made.steps, look))))
        failed = record.failed()
        assert failed is None, failed.failure()
        marked, *pages = map(int, record["look"].stdout.split())
        assert not {page // 64 for page in pages} & set(bad)
        assert pages and marked >= len(bad)
        assert json.loads(record[CUT].stdout)["findings"] == []


@pytest.mark.board
def test_reads_since_the_erase_make_bits_wrong_up_to_what_the_ecc_corrects_and_past_it(
    board: QemuBoard,
) -> None:
    """The more reads, the more wrong bits: what can be mounted was read less."""
    points = Points(variants=("disturb",), every=4)
    both = loads.read("two", TWO)
    one = Campaign(on(board, "ubifs"), faults.of(both), points)
    told, after = asyncio.run(campaign.once(one, points, board))
    assert after["operations"] > 0  # the next load finds a chip that nobody read
    letters = told["outcomes"]["disturb"].replace(" ", "")
    assert letters.startswith("..")
    assert letters.strip(".") == "M" * letters.count("M") != ""
    result = found.Found({"program": faults.PROGRAM})
    found._count(result, "grow", told["findings"][0])
    assert result.faults == []  # an error is told


@pytest.mark.board
def test_a_full_disk_is_tried_until_the_load_passes(board: QemuBoard) -> None:
    told = tried(board, "ubifs", "full")
    letters = told["outcomes"]["full"].rstrip()
    assert (set(letters), told["findings"]) == ({"."}, [])
    assert 1 < len(letters) < 64


@pytest.mark.board
def test_a_fault_that_is_unknown_or_mixed_is_refused(board: QemuBoard) -> None:
    for kinds, why in ((("melts",), "melts: no such fault"), (("full", "erase"), "of its own")):
        with pytest.raises(Exception, match=why):
            tried(board, "ubifs", *kinds)
