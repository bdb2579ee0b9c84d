# SPDX-License-Identifier: GPL-2.0-or-later
"""What limits any answer of a run: trials that are in no figure, doubts, and what is not known.

Trials that failed or are missing are no part of any figure, and are named before all else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nandlab.analysis.figures import doubts, life, members
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.totals import count_chip_operations
from nandlab.analysis.verdicts import wearsteadiness
from nandlab.analysis.verdicts.gaps import ASSUMED_SOURCE_LEAD
from nandlab.base import units
from nandlab.results.record import MEMBERS_MIN, WARNINGS, Run, Trial


def _count_small_configurations(trials: Sequence[Trial]) -> int:
    """Configurations with less trials than a board that does not repeat asks for."""
    return sum(n < MEMBERS_MIN for n in members.count_members_by_configuration(trials).values())


def _format_unrepeated_times_caveat(run: Run, trials: Sequence[Trial]) -> str:
    """What is to be known of times that do not repeat."""
    if not run.own_board:
        return (
            "The board's clock was not deterministic in this run: its times carry noise "
            f"and do not repeat. {WARNINGS['not_deterministic']}"
        )
    line = "On a board of your own no time repeats: each is told with the range of its trials."
    n = min(members.count_members_by_configuration(trials).values(), default=0)
    if n < MEMBERS_MIN:
        return line
    # each trial is above the median or below it, as a coin falls
    chance = 1 - 2 ** (1 - n)
    return f"{line} Of {n} trials it holds the true median with {chance:.0%} confidence."


def list_grave_caveats(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    """What limits any answer: trials that are in no figure, and times that do not repeat."""
    lines = _list_absent_trials(run, trials, missing)
    trials = members.join_memory_trials(trials)
    if not run.deterministic:
        lines.append(_format_unrepeated_times_caveat(run, trials))
        if few := _count_small_configurations(trials):
            has = _choose_verb(few, "configuration has", "configurations have")
            lines.append(f"{few} {has} less than {MEMBERS_MIN} trials: their spread is in doubt.")
    return lines


def list_caveats(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    """What limits the answer, the gravest first; empty when nothing does."""
    lines = list_grave_caveats(run, trials, missing)
    trials = members.join_memory_trials(trials)
    lines += members.format_duplicate_trial_notes(trials)
    single = count_single_trial_configurations(trials)
    if single:
        has = _choose_verb(single, "configuration has", "configurations have")
        lines.append(
            f"{single} {has} a single trial: how far the figures spread is unknown, so there is no "
            "order to state. Give the study more seeds."
        )
    codes = Counter(code for t in trials for code in {w.code for w in t.warnings})
    codes.pop("not_deterministic", None)
    for code, n in sorted(codes.items()):
        advice = doubts.format_doubt_advice(code, trials)
        carry = _choose_verb(n, "carries", "carry")
        lines.append(
            f"{_format_trial_count(n)} of {len(trials)} {carry} the doubt {code}. {advice}"
        )
    alive = sum(t.open_ended for t in trials if t.ok and not life.has_ended_at_steady_wear(t))
    if alive:
        lines.append(
            f"{_format_trial_count(alive)} still lived when the rounds ended: what was written "
            f"until then is "
            "less than the whole life. Give the workload more rounds, or the chip less endurance."
        )
    wrote = [
        t
        for t in trials
        if t.ok and not life.has_life_rounds(t) and count_chip_operations(t, "programs") != 0
    ]
    late = [t for t in wrote if wearsteadiness.find_least_steady_wear([t])]
    if short := wearsteadiness.find_least_steady_wear(late):
        loads = _choose_verb(len(late), "load", "loads")
        lines.append(
            f"The {loads} of {_format_trial_count(len(late))} ended before wear was steady: "
            f"wear, evenness and "
            f"lifetime are not reached, times hold. For the one that lacks most, {short.advice}."
        )
    uncounted = sum(1 for t in trials if t.ok and not _has_chip_counts(t))
    if uncounted:
        has = _choose_verb(uncounted, "has", "have")
        lines.append(f"{_format_trial_count(uncounted)} {has} no counts of chip operations.")
    return lines


def format_available_ram(trials: Sequence[Trial]) -> str | None:
    """The RAM that was available as trials began: one size, or a range; None: not known."""
    known = sorted(t.available for t in trials if t.available is not None)
    if not known:
        return None
    sizes = dict.fromkeys(units.format_size(n) for n in (known[0], known[-1]))
    return f"{' to '.join(sizes)} of RAM available as a trial begins"


def _has_chip_counts(trial: Trial) -> bool:
    """Whether anything says what the chip did."""
    counts = [*(p.chip for p in trial.phases), *(s.chip for s in trial.steps)]
    return any(c is not None for c in counts) or trial.line("erases") is not None


def list_setting_assumed_chip_figures(setting: Setting) -> list[tuple[str, str]]:
    """Figures of the setting's chip that are not from a data sheet: dotted key, and the source.

    The catalog marks them; each trial holds the catalog file that it was run with.
    """
    sources: dict[str, str] = setting.ensembles[0].first.find_source("chip").get("sources", {})
    return [
        (figure, text.removeprefix(ASSUMED_SOURCE_LEAD).strip())
        for figure, text in sources.items()
        if text.startswith(ASSUMED_SOURCE_LEAD)
    ]


def count_single_trial_configurations(trials: Sequence[Trial]) -> int:
    """Configurations of which exactly one trial ended well."""
    return sum(
        n == 1
        for n in members.count_members_by_configuration(members.join_memory_trials(trials)).values()
    )


def _list_absent_trials(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    failed = sum(t.status == "trial_failed" for t in trials)
    lost = sum(t.status == "board_lost" for t in trials)
    unmeasured = sum(t.status == "not_measured" for t in trials)
    parts = [
        text
        for n, text in (
            (failed, f"{failed} failed"),
            (lost, f"{lost} lost the board"),
            (unmeasured, f"{unmeasured} could not be measured, by the workload's own fault"),
            (
                len(missing),
                f"{len(missing)} {_choose_verb(len(missing), 'has', 'have')} not been run",
            ),
        )
        if n
    ]
    absent = failed + lost + unmeasured + len(missing)
    if not absent:
        return []
    are = _choose_verb(absent, "is", "are")
    return [
        f"{absent} of {_format_trial_count(len(run.trials))} {are} not in the figures: "
        f"{', '.join(parts)}. "
        "What they would have shown is unknown."
    ]


def list_incomplete_configurations(setting: Setting) -> list[str]:
    """Configurations of which a finished trial did not end well."""
    lines = []
    for e in setting.ensembles:
        bad = e.failed
        if bad and not e.ok:
            lines.append(f"{e.label} has no trial that ended well and is not ranked.")
        elif bad:
            lines.append(
                f"{e.label} stands on {len(e.trials) - bad} of "
                f"{_format_trial_count(len(e.trials))}."
            )
    return lines


def _format_trial_count(n: int) -> str:
    return f"{n} trial" if n == 1 else f"{n} trials"


def _choose_verb(n: int, one: str, many: str) -> str:
    return one if n == 1 else many
