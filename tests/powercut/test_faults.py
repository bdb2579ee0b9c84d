# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the chip at each operation of a load: what is held, what is told, what is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from campaignmade import make_head
from cutsteps import cut_each, on

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip.mishaps import FAULT_PROGRAM, read_tear_ways
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.powercut import campaign, campaignresult, faults, loads, sql
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import Finding, LoadReport
from nandlab.powercut.job import (
    CUT_STEP,
    CutPoints,
    build_chip_module,
    make_cut_job,
    parse_bad_block_words,
)

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
SHORT = faults.end_fault_loads(loads.parse_loads("short", GROW))


def tried(board: QemuBoard, name: str, *kinds: str, **more: Any) -> LoadReport:
    """What became of a load, by fault."""
    points = replace(CutPoints(variants=kinds), **more)
    one = Campaign(on(board, name), SHORT, points)
    (told,) = asyncio.run(campaign.run_piece(one, points, board))
    return told


EVERY = {
    "stored wrong": CutPoints(variants=("bit", "swapped"), every=3),
    "fails once": CutPoints(variants=("programonce",), every=3),
    "field": CutPoints(variants=("field",), every=3, seeds=2),
}
JOBS = {"jffs2": [*EVERY], "ubifs": [*EVERY], "yaffs2": ["stored wrong", "field"]}
"""What a file system's one job tries."""


@pytest.fixture(scope="module")
def reports(board: QemuBoard) -> Callable[[str], dict[str, LoadReport]]:
    """What became of the load in a file system's job, by what of EVERY was tried."""

    def ran(name: str) -> dict[str, LoadReport]:
        told = cut_each(board, name, *(EVERY[each] for each in JOBS[name]), of=SHORT)
        return {each: one for each, (one,) in zip(JOBS[name], told, strict=True)}

    return cache(ran)


def shared(name: str, *more: object) -> Any:
    """The parameters of a test whose file system's job others share."""
    return pytest.param(name, *more, marks=pytest.mark.xdist_group(f"faults-{name}"))


def test_loads_of_faults_end_with_a_sync() -> None:
    assert SHORT.program == FAULT_PROGRAM
    assert SHORT.loads[0].calls[-2:] == ("unlink A/y", "sync")
    with pytest.raises(UsageError, match="no judge of SQL"):
        faults.end_fault_loads(sql.make_sql_loads())


def test_errors_that_are_told_are_classes_of_their_own() -> None:
    one = Finding(name="unreadable", count=2, first="3:beyond:1", what="A/x: EIO")
    result = campaignresult.CampaignResult(make_head(program=FAULT_PROGRAM))
    campaignresult._count_finding(result, "grow", one)
    assert result.faults == []
    for change in ({"name": "wrong content"}, {"first": "3:flips:1"}):
        campaignresult._count_finding(result, "grow", one.model_copy(update=change))
    assert [each.name for each in result.faults] == ["wrong content", "unreadable"]


def test_what_was_struck_is_told_by_its_class_and_errors_by_their_number() -> None:
    one = {"load": "a", "points": 3, "held": 2, "told": 2, "read_only": 1}
    notes = ["held\tUBI's header, byte 8", "lost\tUBI's header, byte 8", "held\ttags, byte 0"]
    result = campaignresult.CampaignResult(make_head(program=FAULT_PROGRAM))
    for load in (one | {"notes": notes}, one | {"load": "b"}):
        campaignresult._add_load(result, LoadReport.model_validate(load))
    assert (result.points_told, result.points_read_only) == (4, 2)
    assert result.struck == {
        "UBI's header, byte 8": {"held": 1, "lost": 1},
        "tags, byte 0": {"held": 1},
    }


@pytest.mark.board
def test_ubifs_stands_programs_that_fail_and_bits_that_the_ecc_corrects(board: QemuBoard) -> None:
    told = tried(board, "ubifs", "program", "flips", "beyond", every=2)
    outcomes, kinds = told.outcomes, told.kinds
    programs = [k for k, kind in enumerate(kinds) if kind in "po" and k % 2 == 0]
    assert [k for k, letter in enumerate(outcomes["program"]) if letter == "."] == programs
    assert set(outcomes["flips"]) == {" ", "."}
    # it checks no CRC of data by default, and passes over what UBI cannot read
    assert "W" in outcomes["beyond"]


@pytest.mark.board
@pytest.mark.parametrize(
    ("name", "bit", "swapped"),
    [shared("jffs2", "L", "L"), shared("ubifs", "W", "E"), shared("yaffs2", "W", "W")],
)
def test_what_is_stored_wrong_behind_right_ecc_is_seen(
    reports: Callable[[str], dict[str, LoadReport]], name: str, bit: str, swapped: str
) -> None:
    """JFFS2 has a checksum of each node, and takes none that is wrong: it tells nobody. UBIFS does
    not look at that of data, and YAFFS2 has none."""
    told = reports(name)["stored wrong"]
    letters = {kind: set(told.outcomes[kind]) - {" ", "."} for kind in ("bit", "swapped")}
    assert bit in letters["bit"] and swapped in letters["swapped"]
    assert name != "jffs2" or letters == {"bit": {"L"}, "swapped": {"L"}}


@pytest.mark.board
@pytest.mark.parametrize("name", [shared("jffs2"), shared("ubifs")])
def test_a_program_that_fails_once_costs_nothing_that_was_synced(
    reports: Callable[[str], dict[str, LoadReport]], name: str
) -> None:
    told = reports(name)["fails once"]
    letters = told.outcomes["programonce"].rstrip()
    assert set(letters) - {" "} == {"."}
    assert (told.held, told.read_only, told.findings) == (told.points, 0, [])
    assert told.points == sum(k != "e" for k in told.kinds[::3]) > 1


@pytest.mark.board
@pytest.mark.parametrize(
    ("name", "owners", "all_hold"),
    [
        shared("jffs2", {"JFFS2"}, False),
        shared("ubifs", {"UBI", "UBIFS"}, False),
        shared("yaffs2", {"YAFFS2"}, True),
    ],
)
def test_a_field_that_is_changed_is_of_a_node_of_the_file_system(
    reports: Callable[[str], dict[str, LoadReport]], name: str, owners: set[str], all_hold: bool
) -> None:
    told = reports(name)["field"]
    notes = [note.split(chr(9)) for note in told.notes]
    assert len(notes) == told.points > 1
    classes, places = zip(*notes, strict=True)
    assert {place.split(chr(39), maxsplit=1)[0] for place in places} <= owners
    assert classes.count("held") == told.held
    assert (told.held == told.points) == all_hold


@pytest.mark.board
def test_yaffs2s_own_check_is_on_and_is_heard(board: QemuBoard) -> None:
    """Of a block that dies while it is collected its verification says that it "should be erased".
    That alone is no fault, so only the test listens for it; nothing else is said."""
    wide = loads.parse_loads("w", "create x\nload w\nwrite x 0 40000\nsync\n")
    points = CutPoints(variants=("program",), last=4)
    listens = replace(points, plant=("--check-says", "should be erased"))
    (quiet,), (told,) = cut_each(board, "yaffs2", points, listens, of=faults.end_fault_loads(wide))
    assert [each.name for each in quiet.findings] == []
    assert [each.name for each in told.findings] == ["check fails"]
    assert quiet.points == told.points == 4


@pytest.mark.board
def test_blocks_that_the_maker_marked_bad_are_left_alone(board: QemuBoard) -> None:
    """The first that may be bad, the second, and the last two: no operation is in them."""
    bad = parse_bad_block_words(["worst"], 64)
    assert bad == (1, 2, 62, 63)
    for words, why in ((["0"], "block 0 is good"), (["64"], "from 1 to 63"), (["x"], "expected")):
        with pytest.raises(UsageError, match=why):
            parse_bad_block_words(words, 64)
    points = CutPoints(variants=("program",), every=5, bad=bad)
    for name in ("jffs2", "ubifs", "yaffs2"):
        one = Campaign(on(board, name), SHORT, points)
        made = make_cut_job(one.medium, one.loads, points, build_chip_module(board))
        look = Step(
            "look", f"cat /sys/class/mtd/mtd0/bad_blocks; cut -d' ' -f2 {DEBUG_FOLDER}/journal_ops"
        )
        ways = Step("ways", f"cat {DEBUG_FOLDER}/journal_ways")
        record = asyncio.run(board.run(replace(made, steps=(*made.steps, look, ways))))
        failed = record.failed()
        assert failed is None, failed.failure()
        marked, *pages = map(int, record["look"].stdout.split())
        assert not {page // 64 for page in pages} & set(bad)
        assert pages and marked >= len(bad)
        # the host reads in their sources what the module says of its ways to tear
        assert sorted(line.split("\t") for line in record["ways"].stdout.splitlines()) == sorted(
            [way.name, way.page, way.block or "-", "unstable" if way.is_unstable else "-"]
            for way in read_tear_ways().values()
        )
        assert json.loads(record[CUT_STEP].stdout)["findings"] == []


@pytest.mark.board
def test_reads_since_the_erase_make_bits_wrong_up_to_what_the_ecc_corrects_and_past_it(
    board: QemuBoard,
) -> None:
    """The more reads, the more wrong bits: what can be mounted was read less."""
    points = CutPoints(variants=("disturb",), every=4)
    both = loads.parse_loads("two", TWO)
    one = Campaign(on(board, "ubifs"), faults.end_fault_loads(both), points)
    told, after = asyncio.run(campaign.run_piece(one, points, board))
    assert after.operations  # the next load finds a chip that nobody read
    letters = told.outcomes["disturb"].replace(" ", "")
    assert letters.startswith("..")
    assert letters.strip(".") == "M" * letters.count("M") != ""
    result = campaignresult.CampaignResult(make_head(program=FAULT_PROGRAM))
    campaignresult._count_finding(result, "grow", told.findings[0])
    assert result.faults == []  # an error is told


@pytest.mark.board
def test_a_full_disk_is_tried_until_the_load_passes(board: QemuBoard) -> None:
    told = tried(board, "ubifs", "full")
    letters = told.outcomes["full"].rstrip()
    assert (set(letters), told.findings) == ({"."}, [])
    assert 1 < len(letters) < 64


@pytest.mark.board
def test_a_fault_that_is_unknown_or_mixed_is_refused(board: QemuBoard) -> None:
    for kinds, why in ((("melts",), "melts: no such fault"), (("full", "erase"), "of its own")):
        with pytest.raises(Exception, match=why):
            tried(board, "ubifs", *kinds)
