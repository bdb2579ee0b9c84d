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

from nandlab.analysis.figures import energy, powerdraw, timeparts, workloadwords
from nandlab.analysis.figures.energy import CONSUMER_TITLES, CONSUMERS_OF_SUM, EnergyUse
from nandlab.analysis.figures.workloadwords import Words
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import MIB
from nandlab.catalog.profile import EnergyProfile
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase

FigureReader = Callable[[Trial], float | None]
ENERGY_TITLES = {"total": "energy", "chip": "energy: chip"} | {
    c: f"energy: {title}" for c, title in CONSUMER_TITLES.items()
}
NS_PER_S = 1e9


@dataclass(frozen=True)
class EnergyFigure:
    """What a name stands for."""

    title: str
    compute: FigureReader
    short: str = ""


def find_energy_figure(short_name: str, words: Words) -> EnergyFigure | None:
    """The figure energy.REST; None: there is none. UsageError: not of this workload."""
    most, name = short_name.endswith(".max"), short_name.removesuffix(".max")
    aside = ", maximum currents" if most else ""
    if name in CONSUMERS_OF_SUM:
        short = "energy" if name == "total" and not most else ""
        return EnergyFigure(
            ENERGY_TITLES[name] + aside,
            partial(_compute_load_joules, consumer=name, most=most),
            short,
        )
    kind, _, tail = name.partition(".")
    item, _, consumer = tail.partition(".")
    _refuse_undeclared(kind, item, words)
    if kind == "profile" and not (most or consumer):
        return EnergyFigure(
            "energy by the measured profile", partial(compute_phase_joules_from_profile, phase=item)
        )
    consumer = consumer or "total"
    return (
        _make_partial_figure(kind, item, consumer, most, words, ENERGY_TITLES[consumer] + aside)
        if consumer in CONSUMERS_OF_SUM
        else None
    )


def _make_partial_figure(
    kind: str, item: str, consumer: str, most: bool, words: Words, consumer_title: str
) -> EnergyFigure | None:
    """A figure of a phase, of an operation, or of what was moved."""
    if kind == "phase":
        return EnergyFigure(
            f"{words.phase(item).title}: {consumer_title}",
            partial(_compute_phase_joules, item, consumer, most),
        )
    if kind == "per":
        title = f"{consumer_title} for each {words.operation(item).title or item}"
        return EnergyFigure(
            title,
            partial(_compute_joules_per_operation, item, consumer, most),
            f"J/{item}" if consumer == "total" else "",
        )
    if kind == "per_mib" and item in ("read", "written"):
        return EnergyFigure(
            f"{consumer_title} for each MiB {item}",
            partial(_compute_joules_per_mib, item, consumer, most),
        )
    return None


def _refuse_undeclared(kind: str, item: str, words: Words) -> None:
    """UsageError where the workload has no such phase or operation."""
    phases, operations = [p.name for p in words.phases], [o.name for o in words.operations]
    item_names = {"phase": phases, "profile": ["", *phases], "per": operations}.get(kind)
    if item_names is not None and item not in item_names:
        noun = "operation" if kind == "per" else "phase"
        known = ", ".join(filter(None, item_names)) or "none"
        raise UsageError(f"energy.{kind}.{item}: no {noun} is called {item}; there are: {known}")


def _sum_consumers(use: EnergyUse | None, consumer: str) -> float | None:
    return None if use is None else use.sum_joules(consumer)


def _compute_load_joules(trial: Trial, consumer: str, most: bool) -> float | None:
    return _sum_consumers(energy.compute_load_energy(trial, most=most), consumer)


def _compute_phase_joules(name: str, consumer: str, most: bool, trial: Trial) -> float | None:
    return _sum_consumers(energy.compute_phases_energy(trial, [name], most=most), consumer)


def _compute_joules_per_operation(
    kind: str, consumer: str, most: bool, trial: Trial
) -> float | None:
    """J for each operation of a kind, by all that was done where it was made.

    By the whole load only where no phase tells its idle time: that of other phases is not its own.
    """
    phases = [p for p in trial.phases if p.operations.get(kind)]
    if phases and any(_has_idle_time(p) for p in trial.phases):
        use = energy.compute_phases_energy(trial, [p.name for p in phases], most=most)
        count = sum(p.operations[kind] for p in phases)
    else:
        use, count = energy.compute_load_energy(trial, most=most), trial.operations.get(kind, 0)
    joules = _sum_consumers(use, consumer)
    return None if joules is None or not count else joules / count


def _has_idle_time(phase: Phase) -> bool:
    return phase.usage is not None and phase.usage.idle_ns is not None


def _compute_joules_per_mib(
    direction: str, consumer: str, most: bool, trial: Trial
) -> float | None:
    byte_count, joules = trial.bytes.get(direction), _compute_load_joules(trial, consumer, most)
    return None if joules is None or not byte_count else joules / (byte_count / MIB)


def compute_phase_joules_from_profile(trial: Trial, phase: str = "") -> float | None:
    """J by the powers measured under such a load; None where none were, or a phase has no row."""
    profile = powerdraw.find_energy_profile(trial)
    names = [phase] if phase else [p.name for p in _list_timed_phases(trial)]
    if profile is None or not names:
        return None
    each = [_compute_phase_joules_by_profile(trial, profile, name) for name in names]
    known = [j for j in each if j is not None]
    return sum(known) if len(known) == len(each) else None


def explain_missing_profile_joules(trial: Trial, phase: str = "") -> str:
    """Why the profile gives no energy of a trial, or of a phase; empty: it gives one."""
    profile = powerdraw.find_energy_profile(trial)
    board = powerdraw.find_board_name(trial) or "this board"
    if profile is None:
        return (
            f"no profile in catalog/{powerdraw.PROFILES_KIND} has powers of {trial.workload} on "
            f"{board}: add one, or give [power] of the board and take energy.total"
        )
    if _is_read_ahead_on(trial) is None:
        return "the trial does not say whether read-ahead was on: set the option read_ahead"
    names = [phase] if phase else [p.name for p in _list_timed_phases(trial)]
    unlisted_phases = [
        n for n in names if _compute_phase_joules_by_profile(trial, profile, n) is None
    ]
    if not names or unlisted_phases:
        phase_text = (
            f"{unlisted_phases[0]} and {len(unlisted_phases) - 1} more"
            if len(unlisted_phases) > 1
            else "".join(unlisted_phases)
        )
        return (
            f"the profile {profile.name} has no row for {trial.filesystem_title}'s "
            f"{phase_text or 'phases'}; energy.profile.PHASE has those that it knows"
        )
    return ""


def _compute_phase_joules_by_profile(
    trial: Trial, profile: EnergyProfile, name: str
) -> float | None:
    phase = trial.phase(name)
    span, ahead, load = (
        timeparts.make_phase_span(phase),
        _is_read_ahead_on(trial),
        profile.find_load_kind(trial.workload),
    )
    if phase is None or span is None or ahead is None or load is None:
        return None
    pattern = phase.at.get("pattern")
    row = profile.row(load, trial.filesystem, ahead, None if pattern is None else str(pattern))
    return None if row is None else row.watts * span.ns / NS_PER_S


def _is_read_ahead_on(trial: Trial) -> bool | None:
    """Whether read-ahead was on, as the mount read it back; None where the trial does not say."""
    kib = trial.measured.get("read_ahead", {}).get("kib")
    return None if kib is None else kib > 0


def _list_timed_phases(trial: Trial) -> list[Phase]:
    of = workloadwords.make_workload_words_for_trials([trial])
    return [p for p in trial.phases if of.phase(p.name).timed]
