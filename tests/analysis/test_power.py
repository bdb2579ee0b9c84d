# SPDX-License-Identifier: GPL-2.0-or-later
"""Power is a limit: who lost what it promises to keep is to be avoided, whatever its speed."""

from __future__ import annotations

from typing import Any

import pytest
import samples

from nandlab.analysis import judging, power
from nandlab.analysis.asked import POWER
from nandlab.analysis.criteria import Cell
from nandlab.analysis.limits import Limits, given, of_study
from nandlab.analysis.verdict import Verdict
from nandlab.base.errors import UsageError
from nandlab.results.cuts import Cuts
from nandlab.results.measures import Counts
from nandlab.results.record import Trial

UNKNOWN = "(what it keeps after a power cut is not told)"


def pair(filesystem: str, seconds: float, **change: Any) -> list[Trial]:
    return [
        samples.trial(
            filesystem,
            seed=seed,
            phase_ns={"transactions": int(seconds * 1e9) + seed},
            sync_ns=None,
            options={},
            **change,
        )
        for seed in (1, 2)
    ]


def judged(*trials: list[Trial], limits: Limits | None = None) -> Verdict:
    every = [t for of_one in trials for t in of_one]
    (found,) = judging.of_run({}, every, limits or Limits(), "runs/a")
    return found


def cut_cell(found: Verdict, name: str) -> Cell:
    """What is said of power cuts."""
    names = [c.name for c in found.criteria]
    return found.row(name).cells[names.index("power.lost")]


def older(filesystem: str, seconds: float) -> list[Trial]:
    """Of a run before file systems told of cuts."""
    entry = {"title": samples.TITLES[filesystem]}
    return pair(filesystem, seconds, provenance={"filesystem": entry})


def test_power_is_a_limit_of_itself_where_something_is_promised() -> None:
    found = judged(pair("jffs2", 10), pair("ubifs", 20))
    cell = cut_cell(found, "JFFS2")
    assert (cell.text, cell.state, cell.do) == ("not tried", "open", "nandlab powercut runs/a")
    assert [r.call for r in found.rows] == ["take", "fits"]
    assert [(g.what, g.who) for g in found.gaps] == [("power cuts", ("JFFS2", "UBIFS"))]
    assert found.answer == "Take JFFS2 (power cuts not tried); fits too: UBIFS."


def test_what_promises_nothing_is_never_taken_by_default() -> None:
    found = judged(pair("nftl-fat32", 10), pair("ubifs", 20))
    assert [(r.name, r.call) for r in found.rows] == [("UBIFS", "take"), ("NFTL+FAT32", "open")]
    assert cut_cell(found, "NFTL+FAT32").text == "no promise"
    (alone,) = judged(pair("nftl-fat32", 10)).rows
    assert alone.call == "open"


def test_it_may_be_taken_where_data_may_be_lost() -> None:
    found = judged(pair("nftl-fat32", 10), pair("ubifs", 20), limits=given(["power may lose data"]))
    assert [(r.name, r.call) for r in found.rows] == [("NFTL+FAT32", "take"), ("UBIFS", "fits")]
    assert found.sentence.startswith("Take NFTL+FAT32 (it promises nothing after a power cut): ")
    assert not [g for g in found.gaps if g.what == "power cuts"]


@pytest.mark.parametrize("limit", ["power = no synced data lost", "power.lost < 1"])
def test_asked_for_it_decides(limit: str) -> None:
    under = given([limit])
    held = [t.beside([cut("ubifs", excused={})]) for t in pair("ubifs", 30)]
    found = judged(pair("jffs2", 10), held, pair("nftl-fat32", 5), limits=under)
    assert {r.name: r.call for r in found.rows} == {
        "UBIFS": "take",
        "JFFS2": "open",
        "NFTL+FAT32": "avoid",
    }
    assert cut_cell(found, "UBIFS").text == "0 of 1,200 fail"
    assert cut_cell(found, "UBIFS").state == "met"


def test_limits_on_power_are_read_from_a_study() -> None:
    product = {
        "years": 10,
        "chip": {"part": "x"},
        "loads": [{"name": "logger", "daily_write": "1M"}],
    }
    assert of_study({}) == Limits()
    assert of_study({"limits": {"power": "no synced data lost"}}).figures == (POWER,)
    assert of_study({"product": product}).figures == (POWER,)
    own = {"power": {"lost": "< 3"}}
    assert [x.text for x in of_study({"product": product, "limits": own}).figures] == [
        "power.lost < 3"
    ]
    waived = of_study({"product": product, "limits": {"power": "may lose data"}})
    assert (waived.figures, waived.may_lose) == ((), True)
    assert given(["power = no synced data lost"]).over(waived).figures == (POWER,)
    assert not given(["power = no synced data lost"]).over(waived).may_lose
    asked = of_study({"product": product})
    assert given(["power = may lose data"]).over(asked).figures == ()
    with pytest.raises(UsageError, match="write power = 'no synced data lost', or 'may lose data'"):
        of_study({"limits": {"power": "some"}})


def test_an_older_run_does_not_tell_and_says_so() -> None:
    found = judged(older("nftl-fat32", 10), older("jffs2", 20))
    assert found.sentence.startswith(f"Take NFTL+FAT32 {UNKNOWN}: ")


def test_an_entry_that_is_none_of_ours_tells_nothing() -> None:
    entry = {"title": "X", "power": {"keeps": "all of it"}}
    (one, _) = pair("jffs2", 1, provenance={"filesystem": entry})
    assert power.of_trial(one) == power.NOT_TOLD


def test_a_terminal_has_promise_test_and_source_of_each() -> None:
    promise = samples.POWER["promises"]
    assert power.lines([*pair("jffs2", 10), *pair("jffs2", 20)]) == [
        "After a power cut:",
        f"  JFFS2: {promise}; ten cuts: nothing lost; source: A paper, section 1.; "
        f"cut here: {power.NOT_CUT}",
        "",
    ]
    assert power.lines(older("jffs2", 10)) == []


def test_of_a_load_that_only_reads_nothing_is_said_of_power_cuts() -> None:
    def reading(filesystem: str, seconds: float) -> list[Trial]:
        none = {"programs": 0, "erases": 0}
        return [
            t.model_copy(
                update={
                    "bytes": {"read": 4096},
                    "phases": [
                        p.model_copy(update={"chip": Counts(reads=9, **none)}) for p in t.phases
                    ],
                }
            )
            for t in pair(filesystem, seconds)
        ]

    found = judged(reading("nftl-fat32", 10), reading("ubifs", 20))
    assert found.rows[0].name == "NFTL+FAT32"
    assert "power.lost" not in [c.name for c in found.criteria]


def cut(filesystem: str, **change: Any) -> Cuts:
    told = {
        **{"filesystem": filesystem, "options": {}, "chip": samples.CHIP.part, "kernel": "6.1"},
        **{"load": "config", "faulty": False, "operations": 40, "cut": 40, "points": 1200},
        **{"excused": {"unreadable (unstable cells)": 3}, "lost": {}},
    }
    return Cuts.model_validate({**told, **change})


def test_what_was_cut_beside_the_run_is_told_of_its_own_medium() -> None:
    campaigns = [cut("jffs2"), cut("ubifs", lost={"lost": 2}), cut("jffs2", chip="another")]
    fast, slow = pair("jffs2", 10), pair("ubifs", 20)
    found = judged([t.beside(campaigns) for t in fast], [t.beside(campaigns) for t in slow])
    held = "1,200 points at 40 of 40 flash operations (config)"
    assert cut_cell(found, "JFFS2").state == "met"
    assert found.row("JFFS2").power.kept == (
        f"{held}, of which 3 did not hold: with unstable cells: unreadable 3"
    )
    assert cut_cell(found, "UBIFS").why == (
        f"{held}, of which 5 did not hold: lost 2; with unstable cells: unreadable 3"
    )
    well = [cut("jffs2", excused={})]
    assert f"cut here: {held}, all held" in power.lines([t.beside(well) for t in fast])[1]


def test_loads_without_a_flash_operation_tell_nothing_of_what_is_kept() -> None:
    nothing = cut("jffs2", operations=0, cut=0, points=1, excused={})
    for campaigns, told in [
        ([nothing], f"cut here: {power.NOT_CUT}"),
        ([nothing, cut("jffs2")], "1,200 points at 40 of 40"),
    ]:
        (fast, *_) = [t.beside(campaigns) for t in pair("jffs2", 10)]
        assert told in power.lines([fast])[1]
    lost = [
        t.beside([cut("jffs2", operations=0, excused={}, lost={"lost": 1})])
        for t in pair("jffs2", 10)
    ]
    assert "of which 1 did not hold" in power.lines(lost)[1]


def test_who_did_not_keep_what_it_promises_is_to_be_avoided_whatever_its_speed() -> None:
    broken = [t.beside([cut("jffs2", lost={"lost": 1})]) for t in pair("jffs2", 1)]
    found = judged(broken, pair("ubifs", 20))
    assert [(r.name, r.call) for r in found.rows] == [("UBIFS", "take"), ("JFFS2", "avoid")]
    assert found.row("JFFS2").against == ("power cuts: 1 of 1,200 fail: lost 1",)
    for kept in (
        cut("jffs2", lost={"lost": 1}, faulty=True),
        cut("jffs2", lost={"two names after a rename": 1}),
    ):
        beside = [t.beside([kept]) for t in pair("jffs2", 10)]
        assert judged(beside, pair("ubifs", 20)).row("JFFS2").call == "take"


def test_a_campaign_that_goes_on_has_not_shown_that_all_holds() -> None:
    going = [t.beside([cut("jffs2", pieces=4, done=3)]) for t in pair("jffs2", 10)]
    assert cut_cell(judged(going), "JFFS2").state == "open"
    losing = cut("jffs2", pieces=4, done=3, lost={"lost": 1})
    assert cut_cell(judged([t.beside([losing]) for t in going]), "JFFS2").state == "broken"
