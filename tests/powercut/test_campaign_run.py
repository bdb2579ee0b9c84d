# SPDX-License-Identifier: GPL-2.0-or-later
"""A campaign that is run, without a board: its pieces, a kernel that dies, folders of others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from campaignmade import (
    FEW,
    make_head,
    make_load_line,
    make_load_report,
    write_campaign_folder,
)

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import BoardLost
from nandlab.powercut import campaign, campaignresult, requests
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import CutPoints


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
        return [make_load_report("a", ".", " ")]

    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: make_head(pieces=4))
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
    out = write_campaign_folder(tmp_path, [make_load_line("x", ". .", "L  ")])
    campaign.prepare_campaign_folder(out, make_head())
    with pytest.raises(UsageError, match="of another campaign"):
        campaign.prepare_campaign_folder(out, make_head(pieces=64))


@pytest.mark.parametrize("kept", ["00003.json", "sample-1.jsonl", "states.jsonl"])
def test_a_folder_of_another_campaign_is_free_if_nothing_is_found_in_it(
    kept: str, tmp_path: Path
) -> None:
    """Such as that of a load of which no piece could be done."""
    another = make_head(identity="another")
    campaign.prepare_campaign_folder(write_campaign_folder(tmp_path), another)
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
        return [make_load_report("a", ".", " ")]

    def run(identity: str) -> None:
        mine = make_head(identity=identity, pieces=4)
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
        write_campaign_folder(tmp_path, [make_load_line("x", ". .", "L  ")])
        return [make_load_report("a", ".", " ")]

    mine = make_head(identity="mine", pieces=4)
    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: mine)
    one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
    with pytest.raises(UsageError, match="of another campaign"):
        asyncio.run(campaign.run_campaign(one, cast(Any, None), tmp_path, 1, lambda *told: None))
    assert campaignresult.read_campaign_result(tmp_path).outcomes.keys() == {"x"}


def test_time_of_pieces_done_at_once_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that ends while others are under way takes no time of theirs."""
    used = [0.0]

    async def once(one: Any, points: CutPoints, board: Any) -> list[LoadReport]:
        await asyncio.sleep(0.01 * points.first)  # they begin together, and end in order
        used[0] += 10 + points.first
        return [make_load_report("a", ".", " ")]

    monkeypatch.setattr(campaign, "run_piece", once)
    monkeypatch.setattr(campaign, "make_campaign_head", lambda one, board: make_head(pieces=4))
    monkeypatch.setattr(campaign, "_measure_children_cpu_s", lambda: used[0])
    one = campaign.Campaign(cast(Any, None), FEW, CutPoints(last_load=0))
    asyncio.run(campaign.run_campaign(one, cast(Any, None), tmp_path, 4, lambda *told: None))
    every = [json.loads(path.read_text())["cpu_s"] for path in sorted(tmp_path.glob("0*.json"))]
    assert every == [10, 11, 12, 13]
