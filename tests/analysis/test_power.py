# SPDX-License-Identifier: GPL-2.0-or-later
"""Power is a limit: who lost what it promises to keep is to be avoided, whatever its speed."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.figures import totals
from nandlab.analysis.verdicts import promises, verdictmaker
from nandlab.analysis.verdicts.criteria import VerdictCell
from nandlab.analysis.verdicts.limits import (
    Limits,
    make_limits_from_spec,
    parse_command_line_limits,
)
from nandlab.analysis.verdicts.limitsyntax import NO_LOSS_LIMIT
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.base.errors import UsageError
from nandlab.report.tables import verdicttext
from nandlab.report.tables.sheets import render_markdown_sheets
from nandlab.results.cutsummaries import CutSummary, tally_power_cuts
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts

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
    (found,) = verdictmaker.make_run_verdicts_from_trials(
        {}, every, samples.NAMING, limits or Limits()
    )
    return found


def cut_cell(found: Verdict, name: str) -> VerdictCell:
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
    assert [r.call for r in found.rows] == ["take", "next"]
    assert [(g.what, g.who) for g in found.gaps] == [("power cuts", ("JFFS2", "UBIFS"))]
    assert found.answer.startswith("Take JFFS2 (") and found.answer.endswith("; next: UBIFS.")


def test_what_promises_nothing_is_never_taken_by_default() -> None:
    found = judged(pair("nftl-fat32", 10), pair("ubifs", 20))
    assert [(r.name, r.call) for r in found.rows] == [("UBIFS", "take"), ("NFTL+FAT32", "open")]
    assert cut_cell(found, "NFTL+FAT32").text == "no promise"
    (alone,) = judged(pair("nftl-fat32", 10)).rows
    assert alone.call == "open"


def test_it_may_be_taken_where_data_may_be_lost() -> None:
    found = judged(
        pair("nftl-fat32", 10),
        pair("ubifs", 20),
        limits=parse_command_line_limits(["power may lose data"]),
    )
    assert [(r.name, r.call) for r in found.rows] == [("NFTL+FAT32", "take"), ("UBIFS", "next")]
    assert found.sentence.startswith("Take NFTL+FAT32 (it promises nothing ")
    assert not [g for g in found.gaps if g.what == "power cuts"]


@pytest.mark.parametrize("limit", ["power = no synced data lost", "power.lost < 1"])
def test_asked_for_it_decides(limit: str) -> None:
    under = parse_command_line_limits([limit])
    held = [t.add_power_cuts([cut("ubifs", excused={})]) for t in pair("ubifs", 30)]
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
    assert make_limits_from_spec({}) == Limits()
    assert make_limits_from_spec({"limits": {"power": "no synced data lost"}}).figures == (
        NO_LOSS_LIMIT,
    )
    assert make_limits_from_spec({"product": product}).figures == (NO_LOSS_LIMIT,)
    own = {"power": {"lost": "< 3"}}
    assert [x.text for x in make_limits_from_spec({"product": product, "limits": own}).figures] == [
        "power.lost < 3"
    ]
    waived = make_limits_from_spec({"product": product, "limits": {"power": "may lose data"}})
    assert (waived.figures, waived.may_lose) == ((), True)
    assert parse_command_line_limits(["power = no synced data lost"]).merge_base(
        waived
    ).figures == (NO_LOSS_LIMIT,)
    assert (
        not parse_command_line_limits(["power = no synced data lost"]).merge_base(waived).may_lose
    )
    asked = make_limits_from_spec({"product": product})
    assert parse_command_line_limits(["power = may lose data"]).merge_base(asked).figures == ()
    with pytest.raises(UsageError, match="'no synced data lost', or 'may lose"):
        make_limits_from_spec({"limits": {"power": "some"}})


def test_an_older_run_does_not_tell_and_says_so() -> None:
    found = judged(older("nftl-fat32", 10), older("jffs2", 20))
    assert found.sentence.startswith(f"Take NFTL+FAT32 {UNKNOWN}: ")


def test_an_entry_that_is_none_of_ours_tells_nothing() -> None:
    entry = {"title": "X", "power": {"keeps": "all of it"}}
    (one, _) = pair("jffs2", 1, provenance={"filesystem": entry})
    assert promises.find_trial_filesystem_promise(one, samples.NAMING) == promises.UNKNOWN_PROMISE


def test_a_terminal_has_promise_test_and_source_of_each() -> None:
    promise = samples.POWER["promises"]
    assert promises.format_promise_lines(
        [*pair("jffs2", 10), *pair("jffs2", 20)], samples.NAMING
    ) == [
        "After a power cut:",
        f"  JFFS2: {promise}; seen elsewhere (docs/power-cuts-seen.md): ten cuts: nothing lost; "
        "source: A paper, section 1.; cut here: not known: nandlab powercut runs/a",
        "",
    ]
    assert promises.format_promise_lines(older("jffs2", 10), samples.NAMING) == []


def test_of_a_load_that_only_reads_nothing_is_said_of_power_cuts() -> None:
    def reading(filesystem: str, seconds: float) -> list[Trial]:
        none = {"programs": 0, "erases": 0}
        return [
            t.model_copy(
                update={
                    "bytes": {"read": 4096},
                    "phases": [
                        p.model_copy(update={"chip": OperationCounts(reads=9, **none)})
                        for p in t.phases
                    ],
                }
            )
            for t in pair(filesystem, seconds)
        ]

    found = judged(reading("nftl-fat32", 10), reading("ubifs", 20))
    assert found.rows[0].name == "NFTL+FAT32"
    assert "power.lost" not in [c.name for c in found.criteria]


def cut(filesystem: str, **change: Any) -> CutSummary:
    told = {
        **{"filesystem": filesystem, "options": {}, "chip": samples.CHIP.part, "kernel": "6.1"},
        **{"load": "config", "faulty": False, "operations": 40, "cut": 40, "points": 1200},
        **{"excused": {"unreadable (unstable cells)": 3}, "lost": {}},
    }
    return CutSummary.model_validate({**told, **change})


def changing(trial: Trial) -> int:
    """Programs and erases of a trial's load."""
    kinds = ("programs", "erases")
    return sum(n for kind in kinds if (n := totals.count_chip_operations(trial, kind)) is not None)


def tried(trial: Trial) -> str:
    """What is said of how much of a trial's load a campaign of cut() tried."""
    whole = f"a sample: a trial's load makes {changing(trial):,}"
    return f"1,200 points at 40 of 40 flash operations (config; {whole})"


def test_what_was_cut_beside_the_run_is_told_of_its_own_medium() -> None:
    campaigns = [cut("jffs2"), cut("ubifs", lost={"lost": 2}), cut("jffs2", chip="another")]
    fast, slow = pair("jffs2", 10), pair("ubifs", 20)
    found = judged(
        [t.add_power_cuts(campaigns) for t in fast], [t.add_power_cuts(campaigns) for t in slow]
    )
    unstable = "3 with unstable cells did not hold: unreadable 3"
    assert cut_cell(found, "JFFS2").state == "met"
    assert found.row("JFFS2").power.outcome_text == f"{tried(fast[0])}: {unstable}"
    assert cut_cell(found, "UBIFS").why == f"{tried(slow[0])}: 2 did not hold: lost 2; {unstable}"


def test_unstable_cells_stand_beside_the_count_in_cell_and_sentence() -> None:
    taken = [t.add_power_cuts([cut("ubifs")]) for t in pair("ubifs", 20)]
    broken = cut("jffs2", points=186, lost={"lost": 1}, excused={"lost (unstable cells)": 25})
    avoided = [t.add_power_cuts([broken]) for t in pair("jffs2", 10)]
    found = judged(taken, avoided)
    assert cut_cell(found, "UBIFS").text == "0 of 1,200 fail, +3 unstable"
    assert cut_cell(found, "JFFS2").text == "1 of 186 fail, +25 unstable"
    assert "unstable cells: UBIFS 3 of 1,200 (unreadable 3)." in found.sentence
    lost = "1 did not hold: lost 1; 25 with unstable cells did not hold: lost 25"
    assert f" of 186 points {lost}." in found.sentence.partition("Avoid JFFS2: ")[2]
    assert "a sample: 186 to 1,200 points " in found.sentence
    assert "each of the 40 flash operations" in found.sentence
    made = f" makes {changing(taken[0]):,} to {changing(avoided[0]):,}."
    assert made in found.sentence
    text = " ".join(" ".join(verdicttext.render_verdict(found)).split())
    assert "3 of 1,200 (unreadable 3)" in text
    assert "0 of 1,200 fail, +3 unstable ✓" in render_markdown_sheets(
        [verdicttext.make_verdict_sheet(found)]
    )


def test_points_with_unstable_cells_are_counted_apart_where_their_number_is_known() -> None:
    lost = {"points": 186, "unstable_points": 60, "lost": {"lost": 1}}
    broken = cut("jffs2", **lost, excused={"lost (unstable cells)": 25})
    trials = [t.add_power_cuts([broken]) for t in pair("jffs2", 10)]
    taken = [t.add_power_cuts([cut("ubifs", unstable_points=300)]) for t in pair("ubifs", 20)]
    found = judged(taken, trials)
    assert cut_cell(found, "JFFS2").text == "1 of 126 fail, 25/60 unstable"
    assert cut_cell(found, "UBIFS").text == "0 of 900 fail, 3/300 unstable"
    assert "unstable cells: UBIFS 3 of 300 (unreadable 3)." in found.sentence
    lost_text = "1 did not hold: lost 1; 25 of 60 with unstable cells did not hold: lost 25"
    assert f"Avoid JFFS2: power cuts: of 126 points {lost_text}." in found.sentence


def test_a_campaign_of_unknown_count_of_unstable_points_leaves_all_as_one() -> None:
    tried = tally_power_cuts([cut("ubifs", unstable_points=300), cut("ubifs")])
    assert tried and (tried.unstable_points, tried.stable_points) == (None, 2400)


def test_what_cannot_be_mounted_did_not_hold() -> None:
    lost = cut("ubifs", excused={"unmountable (unstable cells)": 4})
    found = judged([t.add_power_cuts([lost]) for t in pair("ubifs", 20)])
    assert found.row("UBIFS").power.outcome_text.endswith(": unmountable 4")
    assert "UBIFS 4 of 1,200 (unmountable 4)." in found.sentence
    bad = cut("ubifs", excused={}, lost={"unmountable": 1})
    assert judged([t.add_power_cuts([bad]) for t in pair("ubifs", 20)]).rows[0].call == "avoid"


def test_what_held_here_is_told_apart_from_what_was_seen_elsewhere() -> None:
    """That each point held is of this load on this medium, and stands beside no other campaign."""
    (one, _) = [t.add_power_cuts([cut("ubifs", excused={})]) for t in pair("ubifs", 20)]
    (line,) = [x for x in promises.format_promise_lines([one], samples.NAMING) if "UBIFS" in x]
    elsewhere, here = line.split("cut here: ")
    assert here == f"{tried(one)}: each held"
    assert f"seen elsewhere (docs/power-cuts-seen.md): {samples.POWER['tested']}" in elsewhere


def test_a_campaign_is_told_to_be_a_sample_of_a_longer_load_alone() -> None:
    (one, _) = pair("ubifs", 20)
    many = cut("ubifs", operations=changing(one), cut=40, excused={})
    kept = promises.find_trial_filesystem_promise(
        one.add_power_cuts([many]), samples.NAMING
    ).outcome_text
    assert kept.startswith(f"1,200 points at 40 of {changing(one):,} ")
    assert kept.endswith(" (config): each held")


def test_a_campaign_that_is_not_done_says_so() -> None:
    (one, _) = pair("ubifs", 20)
    going = cut("ubifs", pieces=4, done=3, excused={})
    assert (
        "1 unfinished"
        in promises.find_trial_filesystem_promise(
            one.add_power_cuts([going]), samples.NAMING
        ).outcome_text
    )


def test_loads_without_a_flash_operation_tell_nothing_of_what_is_kept() -> None:
    nothing = cut("jffs2", operations=0, cut=0, points=1, excused={})
    for campaigns, words in [
        ([nothing], "cut here: not known: nandlab powercut runs/a"),
        ([nothing, cut("jffs2")], "1,200 points at 40 of 40"),
    ]:
        (fast, *_) = [t.add_power_cuts(campaigns) for t in pair("jffs2", 10)]
        assert words in promises.format_promise_lines([fast], samples.NAMING)[1]
    lost = [
        t.add_power_cuts([cut("jffs2", operations=0, excused={}, lost={"lost": 1})])
        for t in pair("jffs2", 10)
    ]
    assert ": 1 did not hold: lost 1" in promises.format_promise_lines(lost, samples.NAMING)[1]


def test_who_is_faster_and_promises_nothing_is_told_why_it_is_not_taken() -> None:
    found = judged(pair("nftl-fat32", 10), pair("ubifs", 20))
    *_, faster = found.sentence.rpartition("NFTL+FAT32 takes 0.500 times ")
    assert "but promises nothing" in faster
    assert found.sentence == f"{found.lead} {found.sentence_without_lead}"
    assert found.lead == (
        "Take UBIFS (power cuts not tried): transactions take 20.0 s (fresh; 2 runs: each 20.0 s)."
    )
    slower = judged(pair("nftl-fat32", 30), pair("ubifs", 20))
    assert "NFTL+FAT32" not in slower.sentence
    single = judged(pair("jffs2", 10)[:1], pair("ubifs", 20))
    assert "JFFS2" not in single.sentence  # of one trial it is not known whether it is faster


def test_who_did_not_keep_what_it_promises_is_to_be_avoided_whatever_its_speed() -> None:
    broken = [t.add_power_cuts([cut("jffs2", lost={"lost": 1})]) for t in pair("jffs2", 1)]
    found = judged(broken, pair("ubifs", 20))
    assert [(r.name, r.call) for r in found.rows] == [("UBIFS", "take"), ("JFFS2", "avoid")]
    (against,) = found.row("JFFS2").against
    assert against.startswith("power cuts: of 1,200 points 1 ")
    assert ": lost 1; 3 with unstable cells " in against and against.endswith(": unreadable 3")
    for kept in (
        cut("jffs2", lost={"lost": 1}, faulty=True),
        cut("jffs2", lost={"two names after a rename": 1}),
    ):
        beside = [t.add_power_cuts([kept]) for t in pair("jffs2", 10)]
        assert judged(beside, pair("ubifs", 20)).row("JFFS2").call == "take"


def test_a_campaign_that_goes_on_has_not_shown_that_all_holds() -> None:
    going = [t.add_power_cuts([cut("jffs2", pieces=4, done=3)]) for t in pair("jffs2", 10)]
    assert cut_cell(judged(going), "JFFS2").state == "open"
    losing = cut("jffs2", pieces=4, done=3, lost={"lost": 1})
    assert cut_cell(judged([t.add_power_cuts([losing]) for t in going]), "JFFS2").state == "broken"
