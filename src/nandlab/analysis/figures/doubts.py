# SPDX-License-Identifier: GPL-2.0-or-later
"""What the doubts of trials touch, and the words that stand beside a sentence that uses the trials.

A doubt is held only against sentences of figures that it touches: measuring memory makes times
longer and leaves counts and bytes of RAM as they are. One that is not listed touches every figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble
from nandlab.analysis.figures.ranking import Finding
from nandlab.results.record import MEMBERS_MIN, WARNINGS, Trial

FigureKind = Literal["times", "counts", "memory"]
"""What a figure is of: the board's clock; what was counted or written; RAM that was held."""

KIND_BY_DOUBT: dict[str, FigureKind] = {
    "memory_measured": "times",
    "parts_measured": "times",
    "reads_measured": "times",
    "restart_failed": "times",
    "debug_kernel": "times",
    "memory_lost": "memory",
    "memory_series_lost": "memory",
}
"""The doubts that concern one kind of figure; every other one of the closed list concerns all."""
TIME_QUANTITIES = ("time", "per_s", "bytes_per_s")
"""Quantities of figures that are times, or something by time."""
MEMORY_PREFIX = "memory."
"""How names of figures of RAM begin."""


def find_figure_kind(figure: Figure) -> FigureKind:
    """What a figure is of."""
    if figure.name.startswith(MEMORY_PREFIX):
        return "memory"
    return "times" if figure.quantity.name in TIME_QUANTITIES else "counts"


def does_doubt_concern_kinds(code: str, *kinds: FigureKind) -> bool:
    """Whether a doubt concerns a figure of one of these kinds."""
    about = KIND_BY_DOUBT.get(code)
    return about is None or about in kinds


def list_doubt_codes(trial: Trial, *kinds: FigureKind) -> list[str]:
    """The doubts of a trial that concern figures of these kinds, each once."""
    carried = dict.fromkeys(w.code for w in trial.warnings)
    return [code for code in carried if does_doubt_concern_kinds(code, *kinds)]


KERNEL_LOG_STAMP = re.compile(r"\[ *[0-9.]+\] ?")
"""The time before a line of the kernel's log."""
QUOTED_LETTERS = 100


def format_doubt_advice(code: str, trials: Iterable[Trial]) -> str:
    """What to do about a doubt that some of these trials carry; one of the kernel's is quoted."""
    advice = WARNINGS.get(code, "See the trial files.")
    lines = _list_kernel_lines(code, trials)
    if not lines:
        return advice
    line = " ".join(KERNEL_LOG_STAMP.sub("", lines[0], count=1).split())
    quote = line if len(line) <= QUOTED_LETTERS else f"{line[: QUOTED_LETTERS - 1]}…"
    return f"The kernel: “{quote}”. {advice}"


def _list_kernel_lines(code: str, trials: Iterable[Trial]) -> list[str]:
    """What the kernel said behind a doubt, by trial; empty: it said nothing."""
    if code == "kernel_log":
        return [t.kernel_log[0] for t in trials if t.kernel_log]
    if code == "kernel_finding":
        return [doubt.text for t in trials for doubt in t.warnings if doubt.code == code]
    return []


def find_doubts_answered_by_size(e: Ensemble) -> frozenset[str]:
    """The doubts that an ensemble's size answers: on a board of the user's own no time repeats, and
    how far times spread is what its trials are for."""
    enough = len(e.ok) >= MEMBERS_MIN and e.first.own_board
    return frozenset({"not_deterministic"}) if enough else frozenset()


def list_ensemble_doubts_by_trial(e: Ensemble, *kinds: FigureKind) -> list[list[str]]:
    """For each trial that ended well, its doubts that concern figures of these kinds."""
    drop = find_doubts_answered_by_size(e)
    return [[code for code in list_doubt_codes(t, *kinds) if code not in drop] for t in e.ok]


FigureUse = tuple[Ensemble, Figure]
"""An ensemble and the figure that a sentence takes of it."""


def format_doubts_behind_figures(uses: Iterable[FigureUse]) -> str:
    """The doubts behind figures, each with who carries it: ``kernel_log (UBIFS 2 of 5 trials)``.

    Trials that do not have the figure are no part of the sentence. Empty: no trial has a doubt.
    """
    by_subject: dict[str, list[list[str]]] = {}
    for e, figure in uses:
        pairs = zip(e.ok, list_ensemble_doubts_by_trial(e, find_figure_kind(figure)), strict=True)
        trial_codes = [codes for trial, codes in pairs if figure(trial) is not None]
        by_subject.setdefault(e.subject, []).extend(trial_codes)
    who: dict[str, list[str]] = {}
    for subject, codes_by_trial in by_subject.items():
        for code in {code for codes in codes_by_trial for code in codes}:
            n = sum(code in codes for codes in codes_by_trial)
            who.setdefault(code, []).append(f"{subject} {n} of {len(codes_by_trial)}")
    return "; ".join(f"{code} ({', '.join(names)} trials)" for code, names in sorted(who.items()))


def add_doubts_to_finding(finding: Finding, used: Iterable[FigureUse]) -> Finding:
    """The finding with the doubts of the trials that its sentence uses."""
    told = format_doubts_behind_figures(used)
    return replace(finding, doubts=told) if told else finding
