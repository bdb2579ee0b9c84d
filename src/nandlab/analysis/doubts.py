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

from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble
from nandlab.analysis.ranking import Finding
from nandlab.results.record import MEMBERS_MIN, WARNINGS, Trial

Kind = Literal["times", "counts", "memory"]
"""What a figure is of: the board's clock; what was counted or written; RAM that was held."""

TOUCHES: dict[str, Kind] = {
    "memory_measured": "times",
    "parts_measured": "times",
    "reads_measured": "times",
    "restart_failed": "times",
    "memory_lost": "memory",
    "memory_series_lost": "memory",
}
"""The doubts that concern one kind of figure; every other one of the closed list concerns all."""
OF_TIME = ("time", "per_s", "bytes_per_s")
"""Quantities of figures that are times, or something by time."""
OF_MEMORY = "memory."
"""How names of figures of RAM begin."""


def kind(figure: Figure) -> Kind:
    """What a figure is of."""
    if figure.name.startswith(OF_MEMORY):
        return "memory"
    return "times" if figure.quantity.name in OF_TIME else "counts"


def touches(code: str, *kinds: Kind) -> bool:
    """Whether a doubt concerns a figure of one of these kinds."""
    about = TOUCHES.get(code)
    return about is None or about in kinds


def codes(trial: Trial, *kinds: Kind) -> list[str]:
    """The doubts of a trial that concern figures of these kinds, each once."""
    carried = dict.fromkeys(w.code for w in trial.warnings)
    return [code for code in carried if touches(code, *kinds)]


STAMP = re.compile(r"\[ *[0-9.]+\] ?")
"""The time before a line of the kernel's log."""
QUOTED_LETTERS = 100


def advice(code: str, trials: Iterable[Trial]) -> str:
    """What to do about a doubt that some of these trials carry; one of the kernel's is quoted."""
    what = WARNINGS.get(code, "See the trial files.")
    lines = [t.kernel_log[0] for t in trials if t.kernel_log] if code == "kernel_log" else []
    if not lines:
        return what
    line = " ".join(STAMP.sub("", lines[0], count=1).split())
    shown = line if len(line) <= QUOTED_LETTERS else f"{line[: QUOTED_LETTERS - 1]}…"
    return f"The kernel: “{shown}”. {what}"


def answered(e: Ensemble) -> frozenset[str]:
    """The doubts that an ensemble's size answers: on a board of the user's own no time repeats, and
    how far times spread is what its trials are for."""
    enough = len(e.ok) >= MEMBERS_MIN and e.first.own_board
    return frozenset({"not_deterministic"}) if enough else frozenset()


def of_ensemble(e: Ensemble, *kinds: Kind) -> list[list[str]]:
    """For each trial that ended well, its doubts that concern figures of these kinds."""
    drop = answered(e)
    return [[code for code in codes(t, *kinds) if code not in drop] for t in e.ok]


Used = tuple[Ensemble, Figure]
"""An ensemble and the figure that a sentence takes of it."""


def carried(used: Iterable[Used]) -> str:
    """The doubts behind figures, each with who carries it: ``kernel_log (UBIFS 2 of 5 trials)``.

    Trials that do not have the figure are no part of the sentence. Empty: no trial has a doubt.
    """
    by_subject: dict[str, list[list[str]]] = {}
    for e, figure in used:
        pairs = zip(e.ok, of_ensemble(e, kind(figure)), strict=True)
        found = [codes_here for trial, codes_here in pairs if figure(trial) is not None]
        by_subject.setdefault(e.subject, []).extend(found)
    who: dict[str, list[str]] = {}
    for subject, each in by_subject.items():
        for code in {code for carried_here in each for code in carried_here}:
            n = sum(code in carried_here for carried_here in each)
            who.setdefault(code, []).append(f"{subject} {n} of {len(each)}")
    return "; ".join(f"{code} ({', '.join(names)} trials)" for code, names in sorted(who.items()))


def marked(finding: Finding, used: Iterable[Used]) -> Finding:
    """The finding with the doubts of the trials that its sentence uses."""
    told = carried(used)
    return replace(finding, doubts=told) if told else finding


def aside(used: Iterable[Used]) -> str:
    """The same within a sentence; empty: no trial has a doubt."""
    told = carried(used)
    return f" [in doubt: {told}]" if told else ""
