# SPDX-License-Identifier: GPL-2.0-or-later
"""A doubt stands beside each sentence that uses its trials, and beside no other."""

from __future__ import annotations

from typing import Any

import pytest
from support import lifesamples, samples

from nandlab.analysis.figures import doubts, groups
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.verdicts import caveats, limitsyntax, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.results.record import MEMBERS_MIN, WARNINGS, Trial
from nandlab.results.recordparts import Doubt, FlashState

MIB = 1 << 20
RAM = Limits((limitsyntax.parse_limit("ram <= 2M"),))


def pair(filesystem: str, seconds: float, *codes: str, **change: Any) -> list[Trial]:
    """Two trials, the first with these doubts."""
    made = [
        samples.trial(
            filesystem,
            change.get("state", samples.FRESH),
            seed,
            phase_ns={"transactions": int(seconds * 1e9) + seed},
            sync_ns=None,
            options={},
            memory={**samples.MEMORY, "peak": change.get("peak", MIB)},
        )
        for seed in (1, 2)
    ]
    told = [Doubt(code=code, text="seen") for code in codes]
    return [made[0].model_copy(update={"warnings": told}), made[1]]


def setting_of(*trials: list[Trial]) -> groups.Setting:
    (setting,) = groups.group_trials_into_settings([t for of_one in trials for t in of_one])
    return setting


def judged(limits: Limits | None, *trials: list[Trial]) -> Verdict:
    return verdictmaker.make_setting_verdict(
        {}, setting_of(*trials), limits or Limits(), samples.NAMING
    )


def calls(found: Verdict) -> dict[str, str]:
    return {row.name: row.call for row in found.rows}


def findings(*trials: list[Trial], state: str = "fresh") -> dict[str, Finding]:
    setting = setting_of(*trials)
    (here,) = [a for a in find_setting_view(setting).answers(setting) if a.state == state]
    return {f.topic: f for f in here.findings}


def test_what_is_listed_is_of_the_closed_list() -> None:
    assert set(doubts.KIND_BY_DOUBT) <= set(WARNINGS)
    assert all(
        doubts.does_doubt_concern_kinds("kernel_log", kind)
        for kind in ("times", "counts", "memory")
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("phase.transactions", "times"),
        ("phase.transactions.per_s", "times"),
        ("latency.read.p99", "times"),
        ("chip.erases", "counts"),
        ("state.before", "counts"),
        ("memory.peak", "memory"),
    ],
)
def test_a_figure_is_of_one_kind(name: str, kind: str) -> None:
    assert doubts.find_figure_kind(setting_of(pair("jffs2", 1)).figure(name)) == kind


def test_a_sentence_names_the_doubts_of_its_trials_and_who_carries_them() -> None:
    found = findings(pair("jffs2", 10, "kernel_log"), pair("ubifs", 20, "state_missed"))
    told = "kernel_log (JFFS2 1 of 2 trials); state_missed (UBIFS 1 of 2 trials)"
    assert found["Time"].doubts == found["Wear"].doubts == found["Tail latency"].doubts == told


def test_measuring_memory_stands_beside_times_and_not_beside_counts() -> None:
    found = findings(pair("jffs2", 10, "memory_measured"), pair("ubifs", 20, "memory_measured"))
    told = "memory_measured (JFFS2 1 of 2, UBIFS 1 of 2 trials)"
    assert found["Time"].doubts == found["Tail latency"].doubts == told
    assert found["Wear"].doubts == found["Evenness"].doubts == ""


def test_a_ratio_against_fresh_has_the_doubts_of_both_states() -> None:
    aged = [*pair("jffs2", 20, state=samples.AGED), *pair("ubifs", 30, state=samples.AGED)]
    found = findings(pair("jffs2", 10, "kernel_log"), pair("ubifs", 20), aged, state="aged")
    assert found["Ageing, time"].doubts == "kernel_log (JFFS2 1 of 4 trials)"
    assert found["Time"].doubts == ""


def test_a_life_s_and_a_sweep_s_sentences_have_theirs() -> None:
    told = [Doubt(code="kernel_log", text="seen")]
    lives = [t.model_copy(update={"warnings": told}) for t in lifesamples.lifetime_study()]
    (answer,) = find_setting_view(setting_of(lives)).answers(setting_of(lives))
    assert {f.doubts for f in answer.findings} == {"kernel_log (JFFS2 3 of 3, UBIFS 3 of 3 trials)"}
    shares = [0.0, 0.2, 0.4, 0.6, 0.8]
    states = [FlashState(name=f"v{v}", valid=v, invalid=0, mix=0) for v in shares]
    swept = [samples.trial("jffs2", s).model_copy(update={"warnings": told}) for s in states]
    (cliff,) = judged(None, swept).notes
    assert cliff.endswith(" In doubt: kernel_log (JFFS2 5 of 5 trials).")


def test_a_limit_of_ram_is_judged_beside_times_in_doubt() -> None:
    both = [pair("jffs2", 10, "memory_measured"), pair("ubifs", 20, "memory_measured", peak=2000)]
    assert calls(judged(RAM, *both)) == {"UBIFS": "take", "JFFS2": "fits"}


def test_the_only_one_within_the_limits_is_taken() -> None:
    large = pair("ubifs", 5, "memory_measured", peak=9 * MIB)
    found = judged(RAM, pair("jffs2", 10, "memory_measured"), large)
    assert calls(found) == {"JFFS2": "take", "UBIFS": "avoid"}
    assert found.row("UBIFS").against == ("RAM 9 MiB, asked <= 2M",)


def test_without_limits_a_doubt_of_times_is_not_enough_to_say() -> None:
    assert calls(judged(None, pair("jffs2", 10, "memory_measured"))) == {"JFFS2": "open"}


def test_memory_that_was_lost_is_held_against_ram_and_not_against_times() -> None:
    lost = pair("jffs2", 10, "memory_lost")
    assert calls(judged(None, lost)) == {"JFFS2": "take"}
    found = judged(RAM, lost)
    assert calls(found) == {"JFFS2": "open"}
    assert "doubt memory_lost" in found.gaps[0].why


def test_a_doubt_of_the_kernel_s_quotes_its_line() -> None:
    line = "[   12.026465] Block protection check failed"
    doubt = [Doubt(code="kernel_log", text="x")]
    told: dict[str, Any] = {"kernel_log": [line, "[   13.0] more"], "warnings": doubt}
    trials = [samples.trial("jffs2", seed=1), samples.trial("jffs2", seed=2, **told)]
    assert "“Block protection check failed”" in doubts.format_doubt_advice("kernel_log", trials)
    assert "“" not in doubts.format_doubt_advice("state_missed", trials)
    (caveat,) = caveats.list_caveats(samples.head(trials), trials, [])
    assert "“Block protection check failed”" in caveat
    long = samples.trial("jffs2", kernel_log=["x" * 500], warnings=doubt)
    assert len(doubts.format_doubt_advice("kernel_log", [long])) < 300


@pytest.mark.parametrize(("letters", "shown"), [(100, "x" * 100), (101, "x" * 99 + "…")])
def test_a_line_of_the_kernel_is_quoted_up_to_a_hundred_letters(letters: int, shown: str) -> None:
    trial = pair("jffs2", 1, "kernel_log")[0]
    trial = trial.model_copy(update={"kernel_log": [f"[    9.6] {'x' * letters}"]})
    advice = doubts.format_doubt_advice("kernel_log", [trial])
    assert advice.split("“")[1].split("”")[0] == shown


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_enough_trials_of_an_own_board_answer_that_it_does_not_repeat(more: int) -> None:
    """The least number that is enough is MEMBERS_MIN itself."""
    many = [
        samples.trial(
            "jffs2",
            samples.FRESH,
            seed,
            phase_ns={"transactions": seed},
            sync_ns=None,
            provenance={"kind": "remote"},
        )
        for seed in range(1, MEMBERS_MIN + more + 1)
    ]
    (ensemble,) = setting_of(many).ensembles
    answered = doubts.find_doubts_answered_by_size(ensemble)
    assert answered == ({"not_deterministic"} if more >= 0 else set())
