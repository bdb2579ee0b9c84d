# SPDX-License-Identifier: GPL-2.0-or-later
"""What is promised after a power cut stands beside the advice; without it nothing is taken."""

from __future__ import annotations

from typing import Any

import pytest
import samples

from nandlab.analysis import advice, groups, power
from nandlab.analysis.views import view
from nandlab.results.cuts import Cuts
from nandlab.results.measures import Counts
from nandlab.results.record import Trial

LINE = power.CUTS
UNCUT = f" What they kept here is {power.NOT_CUT}."
NOTHING = "(it promises nothing after a power cut)"
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


def advised(*trials: list[Trial]) -> advice.Advice:
    (setting,) = groups.group([t for of_one in trials for t in of_one])
    found = view(setting).advise(setting, None)
    assert found is not None
    return found


def older(filesystem: str, seconds: float) -> list[Trial]:
    """Of a run before file systems told of cuts."""
    entry = {"title": samples.TITLES[filesystem]}
    return pair(filesystem, seconds, provenance={"filesystem": entry})


def test_the_first_and_the_next_are_told_with_their_promises() -> None:
    found = advised(pair("jffs2", 10), pair("ubifs", 20), pair("yaffs2", 25))
    assert found.sentences[0].startswith("Take JFFS2: ")
    assert found.sentences[1] == f"{LINE}JFFS2 and UBIFS: {samples.POWER['promises']}.{UNCUT}"


def test_what_promises_nothing_is_not_taken_without_these_words() -> None:
    found = advised(pair("nftl-fat32", 10), pair("ubifs", 20))
    assert found.sentences[0].startswith(f"Take NFTL+FAT32 {NOTHING}: transactions take 10.0 s")
    assert found.sentences[1].startswith(f"{LINE}NFTL+FAT32: nothing is promised. UBIFS: what ")


@pytest.mark.parametrize("seconds", [10, 20])
def test_nor_is_it_named_next_or_as_not_told_apart_without_them(seconds: float) -> None:
    found = advised(pair("ubifs", 10), pair("nftl-fat32", seconds))
    assert f"NFTL+FAT32 {NOTHING}" in found.sentences[0]


def test_nor_where_it_is_the_first_to_look_into() -> None:
    found = advised(pair("nftl-fat32", 10)[:1])
    assert f"The first to look into is NFTL+FAT32 {NOTHING}: " in found.sentences[0]


def test_an_older_run_does_not_tell_and_says_so() -> None:
    found = advised(older("nftl-fat32", 10), older("jffs2", 20))
    assert found.sentences[0].startswith(f"Take NFTL+FAT32 {UNKNOWN}: ")
    assert found.sentences[1] == "After a power cut: not told by this run."


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

    told = " ".join(advised(reading("nftl-fat32", 10), reading("ubifs", 20)).sentences)
    assert "Take NFTL+FAT32: " in told
    assert "power cut" not in told


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
    found = advised([t.beside(campaigns) for t in fast], [t.beside(campaigns) for t in slow])
    held = "1,200 points at 40 of 40 flash operations (config)"
    assert found.sentences[1].endswith(
        f" Cut here: JFFS2: {held}, of which 3 did not hold: with unstable cells: unreadable 3."
        f" UBIFS: {held}, of which 5 did not hold: lost 2; with unstable cells: unreadable 3."
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


def test_who_did_not_keep_what_it_promises_is_not_taken_without_these_words() -> None:
    broken = [t.beside([cut("jffs2", lost={"lost": 1})]) for t in pair("jffs2", 10)]
    found = advised(broken, pair("ubifs", 20))
    aside = "(not all that it promises was there after power cuts)"
    assert found.sentences[0].startswith(f"Take JFFS2 {aside}: ")
    for kept in (
        cut("jffs2", lost={"lost": 1}, faulty=True),
        cut("jffs2", lost={"two names after a rename": 1}),
    ):
        beside = [t.beside([kept]) for t in pair("jffs2", 10)]
        assert aside not in advised(beside, pair("ubifs", 20)).sentences[0]
