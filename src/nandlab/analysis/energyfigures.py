# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures ``energy.``: what each name is of, and how it is read from a trial.

    energy.OF[.max]                     the load; OF: total, cpu, waiting, idle, ram, chip,
                                        chip.read, chip.program, chip.erase, chip.standby
    energy.phase.NAME[.OF][.max]        a phase with its sync; without OF its total
    energy.per.KIND[.OF][.max]          the phases that an operation is made in, for each made; of
                                        phases that tell no idle time the load
    energy.per_mib.read|written[.OF]    the load, for each MiB that the workload moved
    energy.profile[.NAME]               by powers measured on such a board under such a load: all
                                        phases that count, or one

``.max`` takes the chip's maximum currents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nandlab.analysis import draws, energy, timeparts, words
from nandlab.analysis.energy import CONSUMERS, SUMS, Spent
from nandlab.analysis.words import Words
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import MIB
from nandlab.catalog.profile import EnergyProfile
from nandlab.results.measures import Phase
from nandlab.results.record import Trial

Read = Callable[[Trial], float | None]
TITLES = {"total": "energy", "chip": "energy: chip"} | {
    c: f"energy: {title}" for c, title in CONSUMERS.items()
}
NS_PER_S = 1e9


@dataclass(frozen=True)
class Made:
    """What a name stands for."""

    title: str
    read: Read
    short: str = ""


def made(rest: str, of: Words) -> Made | None:
    """The figure energy.REST; None: there is none. UsageError: not of this workload."""
    most, name = rest.endswith(".max"), rest.removesuffix(".max")
    aside = ", maximum currents" if most else ""
    if name in SUMS:
        short = "energy" if name == "total" and not most else ""
        return Made(TITLES[name] + aside, partial(_load, what=name, most=most), short)
    kind, _, tail = name.partition(".")
    who, _, what = tail.partition(".")
    _refuse_undeclared(kind, who, of)
    if kind == "profile" and not (most or what):
        return Made("energy by the measured profile", partial(by_profile, phase=who))
    what = what or "total"
    return _within(kind, who, what, most, of, TITLES[what] + aside) if what in SUMS else None


def _within(kind: str, who: str, what: str, most: bool, of: Words, part: str) -> Made | None:
    """A figure of a phase, of an operation, or of what was moved."""
    if kind == "phase":
        return Made(f"{of.phase(who).title}: {part}", partial(_phase, who, what, most))
    if kind == "per":
        title = f"{part} for each {of.operation(who).title or who}"
        return Made(title, partial(_per, who, what, most), f"J/{who}" if what == "total" else "")
    if kind == "per_mib" and who in ("read", "written"):
        return Made(f"{part} for each MiB {who}", partial(_per_mib, who, what, most))
    return None


def _refuse_undeclared(kind: str, who: str, of: Words) -> None:
    """UsageError where the workload has no such phase or operation."""
    phases, operations = [p.name for p in of.phases], [o.name for o in of.operations]
    there = {"phase": phases, "profile": ["", *phases], "per": operations}.get(kind)
    if there is not None and who not in there:
        noun = "operation" if kind == "per" else "phase"
        known = ", ".join(filter(None, there)) or "none"
        raise UsageError(f"energy.{kind}.{who}: no {noun} is called {who}; there are: {known}")


def _of(found: Spent | None, what: str) -> float | None:
    return None if found is None else found.of(what)


def _load(trial: Trial, what: str, most: bool) -> float | None:
    return _of(energy.load(trial, most=most), what)


def _phase(name: str, what: str, most: bool, trial: Trial) -> float | None:
    return _of(energy.phases(trial, [name], most=most), what)


def _per(kind: str, what: str, most: bool, trial: Trial) -> float | None:
    """J for each operation of a kind, by all that was done where it was made.

    By the whole load only where no phase tells its idle time: that of other phases is not its own.
    """
    where = [p for p in trial.phases if p.operations.get(kind)]
    if where and any(_tells(p) for p in trial.phases):
        found = energy.phases(trial, [p.name for p in where], most=most)
        number = sum(p.operations[kind] for p in where)
    else:
        found, number = energy.load(trial, most=most), trial.operations.get(kind, 0)
    joules = _of(found, what)
    return None if joules is None or not number else joules / number


def _tells(phase: Phase) -> bool:
    return phase.usage is not None and phase.usage.idle_ns is not None


def _per_mib(way: str, what: str, most: bool, trial: Trial) -> float | None:
    moved, joules = trial.bytes.get(way), _load(trial, what, most)
    return None if joules is None or not moved else joules / (moved / MIB)


def by_profile(trial: Trial, phase: str = "") -> float | None:
    """J by the powers measured under such a load; None where none were, or a phase has no row."""
    profile = draws.profile(trial)
    names = [phase] if phase else [p.name for p in _timed(trial)]
    if profile is None or not names:
        return None
    each = [_by_row(trial, profile, name) for name in names]
    known = [j for j in each if j is not None]
    return sum(known) if len(known) == len(each) else None


def _by_row(trial: Trial, profile: EnergyProfile, name: str) -> float | None:
    phase = trial.phase(name)
    span, ahead, load = timeparts.phase(phase), _reads_ahead(trial), profile.load_of(trial.workload)
    if phase is None or span is None or ahead is None or load is None:
        return None
    pattern = phase.at.get("pattern")
    row = profile.row(load, trial.filesystem, ahead, None if pattern is None else str(pattern))
    return None if row is None else row.watts * span.ns / NS_PER_S


def _reads_ahead(trial: Trial) -> bool | None:
    """Whether read-ahead was on, as the mount read it back; None where the trial does not say."""
    kib = trial.measured.get("read_ahead", {}).get("kib")
    return None if kib is None else kib > 0


def _timed(trial: Trial) -> list[Phase]:
    of = words.of([trial])
    return [p for p in trial.phases if of.phase(p.name).timed]
