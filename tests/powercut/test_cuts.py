# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts on the board: every operation is cut, faults planted in the way are caught by name, a point
alone says what it said among others, and the chip is at the end as it was."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cutsteps import FEW, cut_each, on

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import DEBUG_FOLDER, IMAGE_FILE
from nandlab.plan.medium import Medium
from nandlab.powercut import campaign, campaignresult, loads, workloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import (
    CutPoints,
    build_chip_module,
    make_chip_load_step,
    make_cutcheck_options,
    select_single_cut_point,
)
from nandlab.powercut.loads import Load, LoadSet
from nandlab.trial.mediumsteps import make_module_load_step

pytestmark = pytest.mark.board

BEFORE = CutPoints(variants=("before",))
MASK = "/sys/module/yaffs2/parameters/yaffs_trace_mask"
TORN = CutPoints(variants=("before", "prefix", "subset", "done"))


def cut(board: QemuBoard, name: str, points: CutPoints) -> list[LoadReport]:
    one = Campaign(on(board, name), FEW, points)
    return asyncio.run(campaign.run_piece(one, points, board))


def classes(reports: list[LoadReport]) -> set[str]:
    return {finding.name for report in reports for finding in report.findings}


def count(report: LoadReport) -> int:
    """The flash operations of a load."""
    assert report.operations is not None
    return report.operations


def test_jffs2_holds_at_every_operation_torn_or_not(board: QemuBoard, tmp_path: Path) -> None:
    one = Campaign(on(board, "jffs2"), FEW, TORN)
    seen: list[int] = []
    asyncio.run(campaign.run_campaign(one, board, tmp_path, 1, lambda *told: seen.append(told[0])))
    result = campaignresult.read_campaign_result(tmp_path)
    assert result.classes == {}
    assert result.cut_operations == result.recorded_operations
    assert set(result.cut_operations) == {"new", "over", "away"}
    assert result.points_held == result.points > 4 * sum(result.cut_operations.values()) - 10
    assert result.is_complete
    # what is done is not done again
    asyncio.run(campaign.run_campaign(one, board, tmp_path, 1, lambda *told: seen.append(told[0])))
    assert seen == [1]
    other = replace(one, points=BEFORE)
    with pytest.raises(UsageError, match="of another campaign"):
        asyncio.run(campaign.run_campaign(other, board, tmp_path, 1, lambda *told: None))


PLANTED = {
    "--plant-lying-sync": {"lost", "resurrected"},
    "--plant-shift=-1": {"lost", "resurrected"},
    "--plant-shift=-3": {"lost"},
    "--plant-shift=2": {"resurrected"},
}


def test_planted_faults_are_caught_by_name(board: QemuBoard) -> None:
    """A sync that does nothing, operations dropped at the end, a replay that is one off."""
    every = [replace(BEFORE, plant=tuple(plant.split("="))) for plant in PLANTED]
    for plant, reports in zip(PLANTED, cut_each(board, "jffs2", *every), strict=True):
        assert PLANTED[plant] <= classes(reports), plant


@pytest.mark.parametrize("name", ["jffs2", "ubifs"])
def test_a_sync_after_the_cut_is_cut_too(board: QemuBoard, name: str) -> None:
    """What is written after the cut and synced is there if the power goes again; where that sync
    does nothing, it is not. It is tried at one of eight points. On YAFFS2 its close stores it."""
    first = replace(BEFORE, last_load=0)
    lie = replace(first, plant=("--plant-lying-later-sync",))
    (told,), (lied,) = cut_each(board, name, first, lie)
    (found,) = lied.findings
    assert (told.findings, found.name) == ([], "not writable")
    assert "is lost by another cut: " in found.what
    assert 0 < found.count < lied.points / 2


def test_ubifs_holds_and_its_recovery_too_but_not_a_lying_sync(board: QemuBoard) -> None:
    first = replace(TORN, variants=("before", "subset"), last_load=0, every=9)
    lie = replace(BEFORE, plant=("--plant-lying-sync",), last_load=0, last=8)
    told, lied = cut_each(board, "ubifs", replace(first, recovery=True), lie)
    assert classes(told) == set()
    assert told[0].second_points > 0
    assert told[0].recovery_points > told[0].points > 0
    assert classes(lied) == {"lost"}


@pytest.mark.parametrize("name", ["jffs2", "yaffs2"])
def test_what_is_written_first_after_a_cut_is_cut_too(board: QemuBoard, name: str) -> None:
    """JFFS2's mount writes nothing: its points are of the check's write, of three pages."""
    torn = replace(TORN, variants=("prefix",), last_load=0, second=2, recovery=True)
    (told,) = cut(board, name, torn)
    assert told.findings == []
    assert told.second_points > 0
    if name == "jffs2":
        assert told.recovery_points == 3 * told.points > 0
    else:
        assert told.recovery_points > 3 * told.points > 0


def test_a_point_alone_says_the_same_each_time(board: QemuBoard) -> None:
    """Among others and on boards of its own, for a point that holds and one that does not."""
    shifted = replace(BEFORE, plant=("--plant-shift", "-1"), last_load=0)
    (whole,) = cut(board, "jffs2", shifted)
    last = count(whole)
    bad = select_single_cut_point(shifted, 0, last, "before", 1)
    once, again = cut(board, "jffs2", bad), cut(board, "jffs2", bad)
    assert once == again
    assert once[0].recording == whole.recording not in ("", "0")
    assert once[0].findings == whole.findings
    assert (
        classes(cut(board, "jffs2", select_single_cut_point(shifted, 0, 2, "before", 1))) == set()
    )


USUAL = CutPoints().variants


@pytest.mark.parametrize(
    ("name", "variants"), [("jffs2", USUAL), ("ubifs", ("unstable",)), ("yaffs2", ("unstable",))]
)
def test_a_point_replayed_twenty_times_gives_one_verdict(
    board: QemuBoard, name: str, variants: tuple[str, ...]
) -> None:
    """Unstable cells too. That another verdict would be told: tests/c has the journal's part, and
    "another verdict again" is a class (verdict.c). The module that tears and brings back is the
    same below each file system, so one has all ways; in each, reads change unstable cells."""
    points = CutPoints(variants=variants, last_load=0, first=1, last=1, repeat=20)
    (told,) = cut(board, name, points)
    varies = campaignresult.VERDICT_VARIES in classes([told])
    assert (told.points, varies) == (len(variants), False)
    assert name != "jffs2" or told.points == 5


def test_the_chip_is_after_all_points_as_it_was_before(board: QemuBoard) -> None:
    medium, module = on(board, "jffs2"), build_chip_module(board)
    bare = loads.parse_loads(
        "bare", "load only\ncreate a\nwrite a 0 9000\nfsync a\nunlink a\nsync\n"
    )
    words = " ".join(["cutcheck", *make_cutcheck_options(medium), "--type", "jffs2"]).replace(
        "--options ", ""
    )
    back = f"echo goto 0 before 1 > {DEBUG_FOLDER}/journal && sha256sum < {IMAGE_FILE}"
    variants = "--variant before --variant subset --variant unstable"
    steps = [make_chip_load_step(medium, module), make_module_load_step(medium)]
    steps.append(Step("cleanmarkers", "mount -t jffs2 mtd0 /mnt && settle && umount /mnt"))
    steps.append(Step("one", f"{words} --variant before --to 0 ./loads && {back}"))
    steps.append(Step("all", f"{words} {variants} --seeds 3 ./loads && {back}"))
    steps.append(
        Step("ops", f"md5sum < {DEBUG_FOLDER}/journal_ops; cat {DEBUG_FOLDER}/journal_marks")
    )
    job = Job(tuple(steps), {**module, "loads": bare.text().encode()})
    record = asyncio.run(board.run(job))
    failed = record.failed()
    assert failed is None, failed.failure()
    one, every = (record[step].stdout.splitlines()[-1] for step in ("one", "all"))
    assert one == every
    assert len(record["ops"].stdout.splitlines()) == 1 + 2 * 5


def test_a_workload_of_the_catalog_is_cut(board: QemuBoard) -> None:
    medium = on(board, "ubifs")
    of = workloads.record_workload("config files=2 rounds=1", medium, board)
    (load,) = of.loads
    assert load.calls[-6:] == (
        *("write config.000001.new 0 400", "fsync config.000001.new", "close config.000001.new"),
        *("rename config.000001.new config.000001", "fsyncdir", "sync"),
    )
    points = replace(TORN, variants=("before", "subset"), every=4)
    (told,) = asyncio.run(campaign.run_piece(Campaign(medium, of, points), points, board))
    assert (told.findings, told.points > 10) == ([], True)
    with pytest.raises(UsageError, match="config file=2: file=2: expected NAME=VALUE"):
        workloads.record_workload("config file=2", medium, board)


def test_files_that_stay_open_hold(board: QemuBoard) -> None:
    points = CutPoints(variants=("before",))
    one = Campaign(on(board, "yaffs2"), loads.make_open_file_loads(), points)
    told = asyncio.run(campaign.run_piece(one, points, board))
    assert classes(told) == set()
    assert all(each.refused is None for each in told)


@pytest.mark.parametrize(
    ("name", "chip", "option"),
    [("ubifs", "apf27", "writeback=off"), ("nftl-fat32", "nandsim-small", "write=sync")],
)
def test_one_that_is_mounted_sync_is_cut_so(
    board: QemuBoard, name: str, chip: str, option: str
) -> None:
    """Sync is a flag of mount(2), and FAT takes it as no word: each write is on flash when
    it returns, after a remount to read-only and back too."""
    part = load_noun("chips", chip, ChipModel)
    medium = on(board, name).model_copy(
        update={"chip": part, "partition_blocks": part.partition_blocks(8)}
    )
    off = medium.filesystem.resolve_values(dict([option.split("=")]), "the test")
    writes = "write x 0 100\n" * 8
    of = loads.parse_loads(
        "eight", f"create x\nload w\n{writes}sync\nload r\nreadonly\n{writes}sync\n"
    )
    points = replace(BEFORE, every=16)

    def told(medium: Medium) -> list[LoadReport]:
        return asyncio.run(campaign.run_piece(Campaign(medium, of, points), points, board))

    back, synced = told(medium), told(medium.model_copy(update={"options": off}))
    assert classes(back + synced) == set()
    more = [count(s) - count(b) for b, s in zip(back, synced, strict=True)]
    assert all(each >= 7 for each in more), more


def test_what_no_call_promised_is_not_asked_for(board: QemuBoard) -> None:
    """An O_SYNC write after one through a mapping; a rename between two names of one file."""
    text = """create x
write x 0 9000
load mapped
mwrite x 4096 2000
swrite x 0 3000
sync
load linked
link x y
rename x y
sync
"""
    points = CutPoints(variants=("before", "subset"))
    one = Campaign(on(board, "yaffs2"), loads.parse_loads("t", text), points)
    told = asyncio.run(campaign.run_piece(one, points, board))
    assert [(each.findings, each.points > 4) for each in told] == [([], True)] * 2


def test_a_load_that_cannot_be_played_is_told(board: QemuBoard) -> None:
    """A file of such loads is refused when it is read."""
    wrong = LoadSet("wrong", (), (Load("w", ("create a", "create b", "rename a b/c")),))
    one = Campaign(on(board, "jffs2"), wrong, BEFORE)
    told = asyncio.run(campaign.run_piece(one, BEFORE, board))
    assert told == [LoadReport(load="w", refused="Not a directory")]
    bad = LoadSet("gone", (), (Load("g", ("unlink a",)),))
    gone = Campaign(on(board, "jffs2"), bad, BEFORE)
    with pytest.raises(NandlabError, match="g: operation 1 is on a, "):
        asyncio.run(campaign.run_piece(gone, BEFORE, board))


def test_a_load_that_finds_no_room_says_so(board: QemuBoard) -> None:
    text = "".join(f"create f{i}\nwrite f{i} 0 1000000\n" for i in range(12))
    large = Campaign(on(board, "yaffs2"), loads.parse_loads("large", f"load l\n{text}"), BEFORE)
    told = asyncio.run(campaign.run_piece(large, BEFORE, board))
    assert told == [LoadReport(load="l", refused="No space left on device")]


def test_a_check_that_the_kernel_does_not_have_is_no_finding(board: QemuBoard) -> None:
    """It cannot be switched on: that is the catalog's mistake or the kernel's lack."""
    for words, why in (("/nosuch", "open '/nosuch'"), (f"{MASK}=0,x", f"write '{MASK}'")):
        points = replace(BEFORE, plant=("--own-check", words))
        one = Campaign(on(board, "yaffs2"), FEW, points)
        with pytest.raises(NandlabError, match=re.escape(why)):
            asyncio.run(campaign.run_piece(one, points, board))


def test_a_journal_that_is_full_is_told_and_nothing_counts(
    board: QemuBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nandlab.powercut.job.JOURNAL_MIB", 1)
    large = loads.parse_loads("large", "load l\ncreate a\nwrite a 0 900000\nsync\n")
    with pytest.raises(NandlabError, match=r"journal is full after .* shorter load"):
        asyncio.run(campaign.run_piece(Campaign(on(board, "yaffs2"), large, BEFORE), BEFORE, board))


def test_jffs2_without_a_node_is_unmountable_after_its_first_write_is_torn(
    board: QemuBoard,
) -> None:
    """It finds a block of garbage and no node, and refuses: "Cowardly refusing to erase blocks"."""
    first = loads.parse_loads("first", "load first\nmkdir d\nsync\n")
    points = CutPoints(variants=("before", "subset"))
    (told,) = asyncio.run(
        campaign.run_piece(Campaign(on(board, "jffs2"), first, points), points, board)
    )
    assert told.outcomes["before"] == ".."
    assert told.outcomes["subset"][0] == "M"
    assert [each.name for each in told.findings] == ["unmountable"]
    assert told.findings[0].what == "Input/output error, and at the next mount"
