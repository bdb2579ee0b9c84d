# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign's folder says: sums over its pieces, classes, and the command for one point."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from support.fitting import fits

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.jobs.job import BoardLost
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.powercut import campaign, campaignresult, loads, requests, samplefile
from nandlab.powercut.campaignfolder import CampaignHead, LoadReport
from nandlab.powercut.job import CutPoints
from nandlab.report.charts import powercuts
from nandlab.results.sources import (
    describe_filesystem_core,
    has_patched_source,
    list_source_words,
)

HEAD = {
    **{
        "format": 1,
        "identity": "x",
        "filesystem": "jffs2",
        "changed": {"summaries": "on"},
        "chip": "apf27",
    },
    **{"partition_mib": 8.0, "board": "apf27", "kernel": "6.1", "load": "ace1", "pieces": 2},
}


def head(**changes: Any) -> CampaignHead:
    return CampaignHead.model_validate({**HEAD, **changes})


def told(title: str, before: str, torn: str, *findings: dict[str, Any]) -> dict[str, Any]:
    points = sum(letter != " " for letter in before + torn)
    bad = sum(each["count"] for each in findings)
    return {
        **{"load": title, "operations": len(before) - 1, "points": points, "held": points - bad},
        **{"recovery_points": 0, "kinds": "p" * (len(before) - 1), "findings": list(findings)},
        "outcomes": {"before": before, "subset": torn},
    }


def finding(name: str, first: str, count: int = 1) -> dict[str, Any]:
    return {"class": name, "count": count, "first": first, "what": "A is not there"}


def report(*words: Any) -> LoadReport:
    """What :func:`told` tells, as the model that the board's lines are read as."""
    return LoadReport.model_validate(told(*words))


def again(*words: Any) -> samplefile.SampledPoint:
    """By the order of its fields."""
    return samplefile.SampledPoint(
        **dict(zip(samplefile.SampledPoint.model_fields, words, strict=False))
    )


def folder(tmp_path: Path, *pieces: list[dict[str, Any]], **changes: Any) -> Path:
    (tmp_path / "powercut.json").write_text(json.dumps({**HEAD, **changes}))
    for i, each in enumerate(pieces):
        text = json.dumps({"loads": each, "cpu_s": 1.5})
        (tmp_path / f"{i:05}.json").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("core", "name"), [("core of 2012", "yaffs2 (core of 2012) on 8 MiB"), ("", "yaffs2 on 8 MiB")]
)
def test_a_campaign_on_yaffs2_tells_its_core(tmp_path: Path, core: str, name: str) -> None:
    place = folder(tmp_path, [told("a load", ". . .", ". .  ")], filesystem="yaffs2", core=core)
    found = campaignresult.read_campaign_result(place)
    assert next(campaignresult.format_campaign_result(found)).startswith(name)


def test_pieces_of_a_load_are_put_together(tmp_path: Path) -> None:
    even = told("a load", ". . .", ". .  ")
    odd = told("a load", " . L ", " . . ", finding("lost", "3:before:1"))
    result = campaignresult.read_campaign_result(folder(tmp_path, [even], [odd]))
    assert result.is_complete
    assert (result.points, result.points_held, result.cpu_s) == (9, 8, 3.0)
    assert result.outcomes["a load"] == {"before": "...L.", "subset": ".... "}
    assert (result.cut_operations, result.recorded_operations) == ({"a load": 4}, {"a load": 4})
    (one,) = result.classes.values()
    verb, *options = result.format_repeat_command(one).split(" --")
    assert verb == "nandlab powercut"
    assert dict(option.split(maxsplit=1) for option in options) == {
        **{"fs": "jffs2", "load": "ace1", "chip": "apf27", "partition-mib": "8"},
        **{"board": "apf27", "set": "summaries=on", "title": "'a load'", "point": "3:before:1"},
    }
    text = "\n".join(campaignresult.format_campaign_result(result))
    assert "operations cut: 4/4, in 1 loads" in text
    assert "lost: 1; first: a load: 3:before:1: A" in text


def test_the_command_of_a_campaign_names_its_sources(tmp_path: Path) -> None:
    told_sources = {
        "ubi": {"tree": "package", "options": {"fastmap": True}, "patches": 0},
        "ubifs": {"tree": "folder", "options": {}, "patches": 1},
    }
    words = list_source_words({"sources": told_sources})
    piece = told("x", "..", "L ", finding("lost", "0:subset:1"))
    place = folder(tmp_path, [piece], sources=words, patched=True)
    result = campaignresult.read_campaign_result(place)
    (one,) = result.classes.values()
    command = "--source ubi=package,fastmap=true --source ubifs=FOLDER --patch FILE"
    assert command in result.format_repeat_command(one)
    assert has_patched_source({"sources": told_sources})
    assert (list_source_words({}), has_patched_source({})) == ([], False)
    plain, patched = ({"yaffs2_core": {"origin": f"u-boot 1{end}"}} for end in ("", ", patched"))
    assert (has_patched_source(plain), has_patched_source(patched)) == (False, True)
    assert describe_filesystem_core("yaffs2", plain) == "core of 2012"
    assert describe_filesystem_core("yaffs2", patched) == "core of 2012, patched"


def test_a_load_of_which_a_call_fails_counts_once_for_all_its_pieces(tmp_path: Path) -> None:
    failed = finding("call fails", "27:before:1")
    piece: dict[str, Any] = {"load": "a race", "points": 1, "findings": [failed]}
    result = campaignresult.read_campaign_result(folder(tmp_path, [piece], [piece]))
    (one,) = result.classes.values()
    assert (one.name, one.count, result.points, result.points_held) == ("call fails", 1, 1, 0)
    assert result.failed == {"a race"}


@pytest.mark.parametrize(("mounts", "more"), [(4, ""), (9, " --mounts 9"), (None, " --mounts 2")])
def test_the_command_of_unstable_cells_mounts_as_often(
    tmp_path: Path, mounts: int | None, more: str
) -> None:
    """A campaign of before this was asked for mounted twice."""
    points = {} if mounts is None else {"points": {"mounts": mounts}}
    piece = told("a load", ". . .", ". .  ", finding("never mounts again", "3:unstable:2"))
    result = campaignresult.read_campaign_result(folder(tmp_path, [piece], **points))
    (one,) = result.classes.values()
    assert result.format_repeat_command(one).endswith(f"--point 3:unstable:2{more}")


@pytest.mark.parametrize(
    ("name", "point", "more"),
    [
        ("lost", "5:subset:1", ""),
        ("lost", "5:subset:1 recovery 3", " --recovery"),
        ("lost", "5:subset:1 recovery 3, 17", " --recovery"),
        ("another verdict again", "5:subset:1", " --repeat 20"),
        ("another verdict alone", "5:subset:1", ""),
    ],
)
def test_the_command_of_a_point_asks_for_what_showed_it(
    name: str, point: str, more: str, tmp_path: Path
) -> None:
    """A cut of a recovery is found with the recovery cut, another verdict by trying again."""
    piece = [told("x", "..", ". ", finding(name, point))]
    result = campaignresult.read_campaign_result(folder(tmp_path, piece))
    result.head = head(points={"repeat": 20, "recovery": True})
    (one,) = result.classes.values()
    assert result.format_repeat_command(one).endswith(f" --title x --point 5:subset:1{more}")


def test_what_only_unstable_cells_show_is_a_class_of_its_own(tmp_path: Path) -> None:
    one = told("x", "..", "L ", finding("lost", "0:subset:1"))
    two = told("y", "..", "L ", finding("lost", "0:unstable:1", 3))
    result = campaignresult.read_campaign_result(folder(tmp_path, [one, two]))
    assert {name: each.count for name, each in result.classes.items()} == {
        "lost": 1,
        "lost (unstable cells)": 3,
    }
    assert "incomplete: 1 of 2 pieces" in "\n".join(campaignresult.format_campaign_result(result))
    counts = (
        f"{result.points} points at {sum(result.cut_operations.values())} of 2 flash operations"
    )
    assert result.summary.startswith(f"{counts}: 1 ")
    assert result.summary.endswith(", 3 more with unstable cells")
    assert powercuts.render_campaign_chart(result).caption.startswith(f"{result.summary}. ")


def test_letters_are_those_of_the_board() -> None:
    source = (DEVICE / "programs/lib/cuts/verdict.c").read_text()
    names = re.findall(r'"([^"]+)"', source[source.index("verdict_names") : source.index("};")])
    letters = source.partition('verdict_letters[] = "')[2].partition('"')[0]
    assert dict(zip(names, letters, strict=True)) == campaignresult.LETTERS


def test_what_other_cuts_show_too_is_not_excused_by_unstable_cells(tmp_path: Path) -> None:
    """The board tells a load's findings of a class together, by the first."""
    one = told("x", "....", "..C ", finding("check fails", "1:unstable:7", 3))
    one["outcomes"] |= {"unstable": ".CC "}
    result = campaignresult.read_campaign_result(folder(tmp_path, [one]))
    classes = {name: (each.count, str(each.point)) for name, each in result.classes.items()}
    assert classes == {
        "check fails": (1, "2:subset:7"),
        "check fails (unstable cells)": (2, "1:unstable:7"),
    }


def test_the_picture_has_a_cell_for_each_cut(tmp_path: Path) -> None:
    one = told("x", "..", "L ", finding("lost", "0:subset:1"))
    single = powercuts.render_campaign_chart(
        campaignresult.read_campaign_result(folder(tmp_path, [one]))
    )
    assert len(single.datasets["cells"]) == 3
    assert "<svg" in single.svg()
    both = powercuts.render_campaign_chart(
        campaignresult.read_campaign_result(folder(tmp_path, [told("held", "...", ".. "), one]))
    )
    rows = [cell["row"] for cell in both.datasets["cells"]]
    assert rows == ["x", "x", "held", "held", "held"]
    assert both.datasets["cells"][0]["outcome"] == "lost"


def test_what_a_part_forbids_is_told_and_which_cuts_it_makes_unphysical(tmp_path: Path) -> None:
    one = {**told("x", "...", ".. "), "kinds": "po"}
    result = campaignresult.read_campaign_result(folder(tmp_path, [one]))
    mlc, slc = (load_noun("chips", part, ChipModel) for part in ("K9GAG08U0M", "apf27"))
    for part, apart in ((mlc, True), (slc, False)):
        result.head = head(forbids=part.forbids(), nop=part.geometry.nop)
        text = "\n".join(campaignresult.format_campaign_result(result))
        assert "after a later page" in text
        assert ("not physical: cuts at 1 programs " in text) == apart
    forbidden = load_noun("chips", "nandsim-small", ChipModel).forbids()
    assert forbidden.keys() == {"nop"} and "more than 10 times" in forbidden["nop"]


def test_a_load_that_contradicts_its_oracle_without_a_cut_is_told(tmp_path: Path) -> None:
    one = told("x", "..L", ".. ", finding("lost", "2:before:1"))
    result = campaignresult.read_campaign_result(folder(tmp_path, [one, told("y", ".L.", ".. ")]))
    assert {n: (c.count, c.load, str(c.point)) for n, c in result.classes.items()} == {
        "the load contradicts its oracle": (1, "x", "2:before:1"),
        "lost": (1, "x", "2:before:1"),
    }
    assert "nothing was cut" in "\n".join(campaignresult.format_campaign_result(result))


def test_checkers_that_disagree_are_a_finding_of_its_own(tmp_path: Path) -> None:
    out = folder(tmp_path, [told("x", "...", ".. ")])
    kept = samplefile.SampleFile(tmp_path / "sample-1.jsonl")
    kept.add(again("x", "0:before:1", "held", "held", "holds", True))
    kept.add(again("x", "1:subset:1", "held", "held", "y: is not there", False))
    kept.add(again("x", "1:before:1", "held", "lost", "unread", None))
    with kept.path.open("a") as file:
        file.write('{"load": "cut sho')
    result = campaignresult.read_campaign_result(out)
    assert {n: (c.count, str(c.point), c.message) for n, c in result.classes.items()} == {
        "checkers disagree": (1, "1:subset:1", "board: held; host: y: is not there"),
        "another verdict alone": (1, "1:before:1", "there: held; alone: lost"),
    }
    assert len(result.faults) == 2
    kept.add(again("x", "0:subset:1", "held", "held", "holds", True, True, "FATs differ"))
    assert (
        campaignresult.read_campaign_result(out).classes["check fails on this machine"].message
        == "FATs differ"
    )
    for line in kept.path.read_text().splitlines():
        fits("powercut-sample", line)
    more = samplefile.SampleFile(kept.path)
    more.add(again("x", "2:before:1", "held", "held", "holds", True))
    assert len(samplefile.SampleFile(kept.path).every) == 5


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no powercut\.json"):
        campaignresult.read_campaign_result(tmp_path)
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        campaign.prepare_campaign_folder(tmp_path, head())


class Dying:
    """Stands for a board whose kernel dies at certain points."""

    def __init__(self, *deadly: tuple[int, int]) -> None:
        self.deadly = deadly
        self.asked: list[tuple[int, int | None, int, int | None]] = []

    async def run(self, points: Any) -> Any:
        last = points.last_load
        self.asked.append((points.first_load, last, points.first, points.last))
        for each, k in self.deadly:
            inside = points.first <= k and (points.last is None or k <= points.last)
            if points.first_load <= each <= last and inside:
                console = ["noise", f"cut {FEW.loads[each].title}: {k}:subset:1", "BUG: at"]
                console += ["---[ end trace", *("Call Trace of the next one" for _ in range(200))]
                raise BoardLost("the board's kernel panicked: Oops", console)
        return None


FEW = loads.parse_loads("few", "load a\ncreate x\nload b: c\ncreate x\nload d\ncreate x\n")


def test_a_dead_kernel_is_a_finding_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Dying((1, 7))

    class Record:
        def failed(self) -> None:
            return None

        def __getitem__(self, step: str) -> Any:
            return type("Step", (), {"stdout": '{"load": "some", "points": 1, "findings": []}\n'})()

    async def run(job: Any) -> Any:
        await board.run(job)
        return Record()

    monkeypatch.setattr(campaign, "make_cut_job", lambda on, loads, points, module: points)
    monkeypatch.setattr(campaign, "build_campaign_modules", lambda board, variants: {})
    medium = cast(Any, type("Medium", (), {"description": "here"}))
    one = campaign.Campaign(medium, FEW, CutPoints())
    points = CutPoints(last_load=2)
    fake = type("Board", (), {"run": staticmethod(run)})()
    result = asyncio.run(campaign.run_piece(one, points, fake))
    assert result[0].load == "b: c"
    (found,) = result[0].findings
    assert (found.name, found.first, found.console) == ("kernel crash", "7:subset:1", ["BUG: at"])
    assert board.asked == [
        *((0, 2, 0, None), (0, 0, 0, None), (1, 1, 0, 6)),
        *((1, 1, 8, None), (2, 2, 0, None)),
    ]


def test_a_campaign_that_is_killed_in_a_piece_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done stays; the piece that was under way is done anew, whatever it left."""
    begun: list[int] = []
    dies = [True]

    async def once(one: Any, points: CutPoints, board: Any) -> list[LoadReport]:
        begun.append(points.first)
        if dies[0] and len(begun) == 3:
            (tmp_path / "00002.part").write_text('{"loads": [{"lo')
            raise KeyboardInterrupt
        return [report("a", ".", " ")]

    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: head(pieces=4))
    one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(campaign.run_campaign(one, cast(Any, None), tmp_path, 1, lambda *told: None))
    assert (
        campaignresult.read_campaign_result(tmp_path).pieces_done,
        campaignresult.read_campaign_result(tmp_path).is_complete,
    ) == (2, False)
    dies[0] = False
    ready: list[int] = []
    asyncio.run(
        campaign.run_campaign(one, cast(Any, None), tmp_path, 1, lambda *t: ready.append(t[0]))
    )
    assert begun == [0, 1, 2, 2, 3]
    assert (ready, campaignresult.read_campaign_result(tmp_path).is_complete) == ([3, 4], True)


def test_a_board_that_is_lost_before_a_cut_is_an_error() -> None:
    with pytest.raises(NandlabError, match="lost before a cut: dead"):
        campaign._find_lost_point(BoardLost("dead", ["noise"]), FEW)


def cut_by_pieces(name: str, points: CutPoints) -> list[set[tuple[int, int]]]:
    """Loads and operations of each piece, of loads of 400 operations."""
    return [
        {
            (number, k)
            for number in range(piece.first_load, (piece.last_load or 0) + 1)
            for k in range(piece.first, 401, piece.every)
        }
        for piece in campaign.Campaign(
            cast(Any, None), requests.find_load_set_named(name), points
        ).pieces()
    ]


@pytest.mark.parametrize("name", ["ace1", "small-files"])
def test_more_seeds_make_smaller_pieces_with_the_same_points(name: str) -> None:
    few, many = (cut_by_pieces(name, CutPoints(seeds=seeds)) for seeds in (1, 12))
    assert set().union(*few) == set().union(*many)
    assert sum(map(len, many)) == len(requests.find_load_set_named(name).loads) * 401  # none twice
    assert max(map(len, many)) * 12 <= max(map(len, few)) * 1.2


@pytest.mark.parametrize("name", ["ace1", "small-files"])
@pytest.mark.parametrize("every", [1, 4])
def test_recovery_makes_smaller_pieces_with_the_same_points(name: str, every: int) -> None:
    """A point of UBIFS is some two hundred with its recovery, and a board that does not answer
    within its deadline counts as one that hangs."""
    plain = cut_by_pieces(name, CutPoints(every=every))
    small = cut_by_pieces(name, CutPoints(every=every, recovery=True))
    assert set().union(*small) == set().union(*plain)
    assert sum(map(len, small)) == sum(map(len, plain))
    assert max(map(len, small)) * 7 <= max(map(len, plain))


def test_a_folder_whose_pieces_are_others_is_refused(tmp_path: Path) -> None:
    """Else points would count twice."""
    out = folder(tmp_path, [told("x", ". .", "L  ")])
    campaign.prepare_campaign_folder(out, head())
    with pytest.raises(UsageError, match="of another campaign"):
        campaign.prepare_campaign_folder(out, head(pieces=64))


@pytest.mark.parametrize("kept", ["00003.json", "sample-1.jsonl", "states.jsonl"])
def test_a_folder_of_another_campaign_is_free_if_nothing_is_found_in_it(
    kept: str, tmp_path: Path
) -> None:
    """Such as that of a load of which no piece could be done."""
    another = head(identity="another")
    campaign.prepare_campaign_folder(folder(tmp_path), another)
    (tmp_path / kept).write_text("{}")
    with pytest.raises(UsageError, match="of another campaign"):
        campaign.prepare_campaign_folder(tmp_path, another)


def test_what_fails_before_a_piece_is_done_claims_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load is mended then, and its campaign is another one."""
    out, fails = tmp_path / "out", [True]

    async def once(one: Any, points: CutPoints, board: Any) -> list[LoadReport]:
        if fails[0]:
            raise NandlabError("no such operation")
        return [report("a", ".", " ")]

    def run(identity: str) -> None:
        mine = head(identity=identity, pieces=4)
        monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: mine)
        one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
        asyncio.run(campaign.run_campaign(one, cast(Any, None), out, 1, lambda *told: None))

    monkeypatch.setattr(campaign, "run_piece", once)
    with pytest.raises(NandlabError, match="no such operation"):
        run("bad")
    assert list(out.iterdir()) == []
    fails[0] = False
    run("good")
    assert (
        campaignresult.read_campaign_result(out).head.identity,
        campaignresult.read_campaign_result(out).is_complete,
    ) == ("good", True)
    with pytest.raises(UsageError, match="of another campaign"):
        run("bad")


def test_a_folder_that_another_campaign_took_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def once(one: Any, points: CutPoints, board: Any) -> list[LoadReport]:
        folder(tmp_path, [told("x", ". .", "L  ")])
        return [report("a", ".", " ")]

    mine = head(identity="mine", pieces=4)
    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: mine)
    one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
    with pytest.raises(UsageError, match="of another campaign"):
        asyncio.run(campaign.run_campaign(one, cast(Any, None), tmp_path, 1, lambda *told: None))
    assert campaignresult.read_campaign_result(tmp_path).outcomes.keys() == {"x"}


def test_a_campaign_without_a_flash_operation_is_told_and_does_not_hold(tmp_path: Path) -> None:
    """But one of its loads may be without one, and one that is not over says nothing yet."""
    refused = {"load": "y", "points": 0, "refused": "Not a directory", "findings": []}
    none, some = told("x", ".", " "), told("z", "..", ". ")
    died = {"load": "w", "points": 1, "findings": [finding("kernel crash", "0:subset:1")]}
    for pieces, nothing in [
        *(([[none], [refused]], True), ([[none], [some]], False)),
        *(([[none]], False), ([[none], [died]], False)),
    ]:
        for left in tmp_path.glob("*"):
            left.unlink()
        result = campaignresult.read_campaign_result(folder(tmp_path, *pieces))
        assert result.has_no_operations == nothing
        assert (
            "nothing was tried: no load makes"
            in "\n".join(campaignresult.format_campaign_result(result))
        ) == nothing


def test_a_sample_of_an_older_form_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, [told("x", "...", ".. ")])
    old = {"load": "x", "point": "0:before:1", "campaign_held": True, "alone_held": True}
    (tmp_path / "sample-1.jsonl").write_text(json.dumps(old) + "\n")
    with pytest.raises(UsageError, match="campaign: must be given"):
        campaignresult.read_campaign_result(tmp_path)


def test_time_of_pieces_done_at_once_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that ends while others are under way takes no time of theirs."""
    used = [0.0]

    async def once(one: Any, points: CutPoints, board: Any) -> list[LoadReport]:
        await asyncio.sleep(0.01 * points.first)  # they begin together, and end in order
        used[0] += 10 + points.first
        return [report("a", ".", " ")]

    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: head(pieces=4))
    monkeypatch.setattr(campaign, "_measure_children_cpu_s", lambda: used[0])
    one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
    asyncio.run(campaign.run_campaign(one, cast(Any, None), tmp_path, 4, lambda *told: None))
    every = [json.loads(path.read_text())["cpu_s"] for path in sorted(tmp_path.glob("0*.json"))]
    assert every == [10, 11, 12, 13]
