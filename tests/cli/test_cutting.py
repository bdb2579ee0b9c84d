# SPDX-License-Identifier: GPL-2.0-or-later
"""What `nandlab powercut` and `nandlab faults` refuse before a cut, and tell of a point."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusing import ended, refused

from nandlab.base.errors import UsageError
from nandlab.base.strings import PointName
from nandlab.cli.campaigns import make_medium
from nandlab.cli.campaignsettings import CampaignSettings, open_media_board
from nandlab.cli.singlepoint import _check_by_host, _refuse_no_point
from nandlab.flash.chip.mishaps import read_fault_kinds, read_tear_ways
from nandlab.powercut import campaign
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import CampaignHead, Finding, LoadReport
from nandlab.powercut.hostcheck import PointVerdicts
from nandlab.powercut.job import CutPoints
from nandlab.powercut.loads import make_ace1_loads


def test_a_kernel_that_cannot_have_the_file_system_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    media = [
        make_medium("jffs2", [], "apf27", 8, "apf27-5.10"),
        make_medium("nftl-fat32", [], "nandsim-small", 4, "apf27-5.10"),
    ]
    config = {"LINUX": "5.10", "CONFIG_NFTL_RW": "y"}
    board: Any = SimpleNamespace(kernel_config=config)
    monkeypatch.setattr("nandlab.board.virtual.qemu.open_board", lambda model, sources: board)
    with pytest.raises(UsageError) as told:
        open_media_board(media, {})
    assert str(told.value).startswith("--board: NFTL+FAT32 cannot be: ")
    assert "apf27-5.10 is Linux 5.10, " in str(told.value)
    assert str(told.value).endswith(" 6.1 or newer")
    config["LINUX"] = "6.1.1"
    assert open_media_board(media, {}) is board


@pytest.mark.parametrize("held", [True, False])
def test_the_kernels_errors_are_told_where_a_point_does_not_hold(
    held: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = Finding(name="check fails", count=1, first="5:few:1", what="Invalid argument")
    findings = [] if held else [finding]

    async def tried(campaign: Any, only: Any, board: Any) -> PointVerdicts:
        return PointVerdicts(findings, [], "", kernel=("UBIFS error: check_leaf: too long",))

    monkeypatch.setattr("nandlab.powercut.hostcheck.try_point", tried)
    nothing: Any = None
    assert _check_by_host(nothing, CutPoints(), nothing) == []
    told = ["host: holds", "kernel: UBIFS error: check_leaf: too long"]
    assert capsys.readouterr().err.splitlines() == told[: 1 if held else 2]


def test_the_host_reads_the_chip_of_the_point_and_not_of_a_cut_of_its_recovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[CutPoints] = []

    async def tried(campaign: Any, only: CutPoints, board: Any) -> PointVerdicts:
        asked.append(only)
        return PointVerdicts([], [], "")

    monkeypatch.setattr("nandlab.powercut.hostcheck.try_point", tried)
    nothing: Any = None
    _check_by_host(nothing, CutPoints(first=5, recovery=True), nothing)
    assert asked == [CutPoints(first=5)]


@pytest.fixture
def boardless(away: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No board may be opened."""

    def opened(media: Any, sources: Any) -> None:
        raise AssertionError("a board is opened")

    for module in ("campaigns", "singlepoint"):
        monkeypatch.setattr(f"nandlab.cli.{module}.open_media_board", opened)


GOOD = "create b\nload x\nunlink b\nsync\n"
FILES = {
    "good": GOOD,
    "gone": GOOD.replace("create b\n", ""),
    "large": "create b\nload x\nwrite b 0 1048577\n",
    "unknown": "load x\nexplode b\n",
    "folder": "mkdir A\nload x\nrename A A/b\n",
    "out": "load x\ncreate ../a\n",
    "mine.sql": "load x\nINSERT INTO t VALUES (1)\n",
}
REFUSED = [
    ("powercut", "--load gone --out o", "gone:2: unlink b: b is not there: make it before"),
    ("powercut", "--load large --out o", "large:3: write b 0 1048577: a file of 1,048,577 bytes"),
    ("powercut", "--load unknown --out o", "unknown:2: no such call: explode; known are create"),
    ("powercut", "--load folder --out o", "folder:3: rename A A/b: A/b is in A"),
    ("powercut", "--load out --out o", "out:2: create ../a: ../a is no name below"),
    ("powercut", "--load mine.sql --out o", "mine.sql:2: SQLite"),
    ("powercut", "--load good --load gone --out o", "gone:2: unlink b"),
    ("powercut", "--load good --title y --out o", "--title y: good has no such load"),
    ("powercut", "--load nowhere --out o", "--load nowhere: no such file"),
    ("powercut", "--load . --out o", "--load .: no such file"),
    ("powercut", "--load gone --title x --point 0:before:1", "gone:2: unlink b"),
    ("powercut", "--variants bogus --out o", "--variants bogus: known are before, prefix"),
    ("powercut", "--variants few,few --out o", "--variants few,few: give each once"),
    ("powercut", "--variants , --out o", "--variants ,: known are"),
    ("faults", "--load gone --out o", "gone:2: unlink b"),
    ("faults", "--load sqlite --out o", "--load sqlite: faults have no judge of SQL"),
    ("faults", "--kinds bogus --out o", "--kinds bogus: known are program, erase"),
    ("faults", "--kinds full,full --out o", "--kinds full,full: give each once"),
]
POINTS = [
    ("powercut", "0:bogus:1", "no such variant: bogus; known are before, prefix, subset, few"),
    ("powercut", "0:beyond:1", "no such variant: beyond; known are before"),
    ("faults", "0:bogus:1", "no such fault: bogus; known are program, erase, flips, beyond"),
    ("faults", "0:before:1", "no such fault: before; known are program"),
    *(
        ("powercut", point, "expected K:VARIANT:SEED, such as 5:subset:1")
        for point in (
            *("", "5", "5:subset", "5:subset:1:2", "-1:subset:1", "5:subset:-1", "x:subset:1"),
            *(
                "1e3:subset:1",
                "0x1:subset:1",
                "1.5:subset:1",
                "5:subset:x",
                "²:subset:1",
                "٣:few:1",
            ),
            *("5:SUBSET:1", " 5:subset:1", "9999999999:few:1", "1:few:99999999999999999999"),
        )
    ),
    ("faults", "x:beyond:1", "expected K:FAULT:SEED, such as 3:beyond:1"),
]
BESIDE = [("--out o", "--out"), ("--sample 3", "--sample"), ("--states", "--states")]


@pytest.mark.usefixtures("boardless")
@pytest.mark.parametrize(("verb", "words", "why"), REFUSED, ids=lambda each: str(each)[:40])
def test_bad_input_is_refused_before_a_board_is_opened_and_nothing_is_written(
    verb: str, words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    told = refused(capsys, [verb, "--fs", "jffs2", *words.split()])
    assert told.startswith(f"nandlab: {why}")


@pytest.mark.usefixtures("boardless")
@pytest.mark.parametrize(("verb", "point", "why"), POINTS)
def test_a_point_that_is_none_is_refused_before_a_board_is_opened(
    verb: str, point: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    title = ["--load", "ace1", "--title", make_ace1_loads().loads[0].title]
    told = refused(capsys, [verb, "--fs", "jffs2", *title, "--point", point])
    assert told.startswith(f"nandlab: --point {point}: {why}")


@pytest.mark.usefixtures("boardless")
@pytest.mark.parametrize(("words", "option"), BESIDE)
def test_what_only_a_campaign_has_is_refused_beside_a_point(
    words: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    title = ["--title", make_ace1_loads().loads[0].title, "--point", "0:before:1"]
    told = refused(capsys, ["powercut", "--fs", "jffs2", *title, *words.split()])
    assert told.startswith(f"nandlab: {option} with --point: ")


@pytest.mark.usefixtures("away")
def test_all_loads_are_made_before_the_first_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A workload is made on a board that is open; what of it cannot be cut is refused then."""

    def made(name: str, on: Any, board: Any) -> None:
        raise UsageError("config:7: a call symlink, which power cuts do not know")

    def run(*args: Any, **more: Any) -> bool:
        raise AssertionError("a load is cut")

    monkeypatch.setattr("nandlab.cli.campaigns.open_media_board", lambda media, sources: None)
    monkeypatch.setattr("nandlab.powercut.workloads.record_workload", made)
    monkeypatch.setattr(CampaignSettings, "run", run)
    words = ["--load", "ace1", "--load", "config", "--out", "o"]
    assert "config:7: a call symlink" in refused(capsys, ["powercut", "--fs", "jffs2", *words])


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize(("before", "status"), [(".", 1), ("..", 0)])
def test_loads_without_a_flash_operation_are_told_and_the_status_is_1(
    before: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine").write_text("load x\nsync\n")

    async def once(one: Campaign, points: CutPoints, board: Any) -> list[LoadReport]:
        count = len(before) - 1
        told = {"load": "x", "operations": count, "points": 1, "held": 1, "kinds": "p" * count}
        return [LoadReport.model_validate({**told, "outcomes": {"before": before}})]

    head: dict[str, Any] = {
        **{
            "identity": "x",
            "filesystem": "jffs2",
            "chip": "apf27",
            "partition_mib": 8,
            "pieces": 4,
        },
        **{"kernel": "6.1", "load": "mine", "board": "b", "changed": {}},
    }
    monkeypatch.setattr("nandlab.cli.campaigns.open_media_board", lambda media, sources: None)
    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda *_: CampaignHead(**head))
    words = ["--load", "mine", "--variants", "before", "--out", "o"]
    assert ended_with(["powercut", "--fs", "jffs2", *words]) == status
    told = capsys.readouterr().out
    assert ("no load makes a flash operation" in told) == bool(status)
    assert json.loads(Path("o/powercut.json").read_text()) == head


def ended_with(argv: list[str]) -> int:
    """The exit status of a command; typer ends a good one with status 0."""
    return int(ended(argv) or 0)


@pytest.mark.parametrize(
    ("load", "why"),
    [
        ({"load": "x", "refused": "Invalid argument"}, "does not take the load: Invalid argument"),
        ({"load": "x", "operations": 0, "points": 1}, "the load makes no flash operation"),
        ({"load": "x", "operations": 7, "kinds": "ppppppp"}, "K is 0 to 6"),
        ({"load": "x", "operations": 10, "kinds": "eppppppppp"}, "programs a page,.* 0:erase:1$"),
        ({"load": "x", "operations": 10, "kinds": "epepppppop"}, "programs a page,.* 2:erase:1$"),
        ({"load": "x", "operations": 10, "kinds": "p" * 10}, "none of the load's 10 operations"),
        ({"load": "x", "operations": 10, "kinds": "p" * 9 + "e"}, "K = 9 changed nothing"),
    ],
)
def test_why_there_is_no_such_point_is_told(load: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=rf"--point 9:erase:1: .*{why}"):
        _refuse_no_point(PointName(9, "erase", 1), [LoadReport.model_validate(load)], faulty=True)


def test_a_way_that_tears_no_erase_says_so() -> None:
    way = next(name for name, way in read_tear_ways().items() if way.block is None)
    load = LoadReport(load="x", operations=2, kinds="ep")
    with pytest.raises(UsageError, match=f"erases a block,.* 1:{way}:1$"):
        _refuse_no_point(PointName(0, way, 1), [load], faulty=False)


def test_a_finding_is_told_though_the_load_makes_no_flash_operation() -> None:
    finding = Finding(name="lost", count=1, first="0:before:1", what="A is not there")
    load = LoadReport(load="x", operations=0, points=1, findings=[finding])
    _refuse_no_point(PointName(0, "before", 1), [load], faulty=False)


@pytest.mark.parametrize(
    ("verb", "names"),
    [("powercut", tuple(read_tear_ways())), ("faults", tuple(read_fault_kinds()))],
)
def test_the_help_names_all_that_can_be_chosen_at_80_columns(
    verb: str,
    names: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert ended([verb, "--help"]) == 0
    told = capsys.readouterr().out
    assert "…" not in told
    for name in names:
        assert f" {name}," in told or f" {name};" in told
