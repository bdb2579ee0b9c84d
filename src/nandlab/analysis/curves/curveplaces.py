# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a curve has a value: a trial, or a phase of it that has attributes (a point).

A place is told by names, the same that a study's curves use:

    filesystem, chip, state, image, workload, phase      what the trial or its phase is
    chip.partition_mib|latency|faults, state.shares      more of chip and state
    option.NAME, parameter.NAME                          of the file system, of the workload
    at.NAME                                              an attribute of the phase

and it has figures: ``point.NAME`` of :data:`PHASE_FIGURES`, of the phase, and the registry's
(analysis/figures/figures.py), of the trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from nandlab.analysis.figures import totals, workloadwords
from nandlab.analysis.figures.chipfigures import CHIP_OPERATION_TITLES
from nandlab.analysis.figures.workloadwords import PERCENTILES
from nandlab.base.units import QUANTITIES, Quantity
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase

AttributeValue = bool | int | float | str
PHASE_NAME_PREFIXES = ("at.", "point.", "phase")
"""How names begin that only a phase has."""


@dataclass(frozen=True)
class CurvePlace:
    """A trial that ended well, and a phase of it; None: the trial as a whole."""

    trial: Trial
    phase: Phase | None = None

    @property
    def member(self) -> tuple[int, float]:
        """Which member of its ensemble it is of: seed and phase offset."""
        return self.trial.seed, self.trial.phase_offset_ms

    @property
    def identity(self) -> dict[str, AttributeValue]:
        """All that sets it apart from other places, but for its member, by name."""
        attributes: dict[str, AttributeValue] = {
            name: read(self.trial) for name, read in TRIAL_ATTRIBUTES.items()
        }
        attributes |= {f"option.{k}": v for k, v in self.trial.options.items()}
        attributes |= {f"parameter.{k}": _make_scalar(v) for k, v in self.trial.parameters.items()}
        if self.phase is not None:
            attributes |= {f"at.{k}": v for k, v in self.phase.at.items()}
            attributes["phase"] = self.phase.name
        return attributes


TRIAL_ATTRIBUTES: dict[str, Callable[[Trial], AttributeValue]] = {
    "filesystem": lambda t: t.filesystem,
    "state": lambda t: t.state.name,
    "chip": lambda t: t.chip.part,
    "workload": lambda t: t.workload,
    "image": lambda t: t.image.name if t.image else "none",
    "chip.partition_mib": lambda t: t.chip.partition_mib,
    "chip.latency": lambda t: t.chip.latency,
    "chip.faults": lambda t: json.dumps(t.chip.faults, sort_keys=True),
    "chip.spinand": lambda t: t.chip.spinand.text if t.chip.spinand else "",
    "chip.layout": lambda t: t.chip.layout,
    "state.shares": lambda t: f"{t.state.valid:g}/{t.state.invalid:g}/{t.state.mix:g} {t.state.of}",
    "image.sha256": lambda t: t.image.sha256 if t.image else "none",
}
"""What a trial is told by, beside options and parameters."""


def list_curve_places(trial: Trial, *, phases: bool) -> Iterator[CurvePlace]:
    """The trial's phases that count and have attributes, or the trial itself."""
    if not phases:
        yield CurvePlace(trial)
        return
    of = workloadwords.find_declared_workload_words(trial)
    prepares = {p.name for p in of.phases if not p.timed}
    yield from (CurvePlace(trial, p) for p in trial.phases if p.at and p.name not in prepares)


def are_attribute_values_alike(one: object, other: object) -> bool:
    """Whether two values are the same, however they are written: 128 and "128", true and "true"."""
    return parse_number_or_word(one) == parse_number_or_word(other)


def parse_number_or_word(value: object) -> float | str:
    """A number, or a word; a number in words is a number."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def _make_scalar(value: object) -> AttributeValue:
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)


@dataclass(frozen=True)
class PhaseFigure:
    """A figure of a phase that is a point."""

    title: str
    quantity: Quantity
    compute: Callable[[Trial, Phase], float | None]


def _compute_phase_ns(trial: Trial, phase: Phase) -> float | None:
    return totals.compute_phase_ns(trial, phase.name)


def _count_phase_operations(trial: Trial, phase: Phase) -> float | None:
    return totals.count_phase_operations(trial, phase.name)


def _count_phase_bytes(trial: Trial, phase: Phase) -> float | None:
    return sum(phase.bytes.values()) or None


def _divide_figures(
    over: Callable[[Trial, Phase], float | None],
    under: Callable[[Trial, Phase], float | None],
    by: float,
    trial: Trial,
    phase: Phase,
) -> float | None:
    a, b = over(trial, phase), under(trial, phase)
    return a * by / b if a is not None and b else None


def _count_chip_operations(operation: str, trial: Trial, phase: Phase) -> float | None:
    return totals.count_phase_chip_operations(trial, phase.name, operation)


def _find_usage_value(name: str, trial: Trial, phase: Phase) -> float | None:
    value: int | None = getattr(phase.usage, name) if phase.usage else None
    return value


def _find_phase_latency(percentile: str, trial: Trial, phase: Phase) -> float | None:
    """The greatest of its kinds of operation; None where other phases made some of them too."""
    kinds = list(phase.operations)
    others = {k for p in trial.phases if p.name != phase.name for k in p.operations}
    found = [trial.latency_ns.get(k) for k in kinds]
    known = [float(getattr(f, percentile)) for f in found if f is not None]
    whole = known and len(known) == len(kinds) and not others & set(kinds)
    return max(known) if whole else None


def _make_phase_figure(
    title: str, quantity: str, read: Callable[[Trial, Phase], float | None]
) -> PhaseFigure:
    return PhaseFigure(title, QUANTITIES[quantity], read)


PHASE_FIGURES: dict[str, PhaseFigure] = {
    "time": _make_phase_figure("time", "time", _compute_phase_ns),
    "mean": _make_phase_figure(
        "mean time of an operation",
        "time",
        partial(_divide_figures, _compute_phase_ns, _count_phase_operations, 1),
    ),
    "per_s": _make_phase_figure(
        "operations/s",
        "per_s",
        partial(_divide_figures, _count_phase_operations, _compute_phase_ns, 1e9),
    ),
    "bytes_per_s": _make_phase_figure(
        "data moved",
        "bytes_per_s",
        partial(_divide_figures, _count_phase_bytes, _compute_phase_ns, 1e9),
    ),
    **{
        p: _make_phase_figure(
            f"{p.replace('_', '.')} of an operation", "time", partial(_find_phase_latency, p)
        )
        for p in PERCENTILES
    },
    **{
        o: _make_phase_figure(title, "count", partial(_count_chip_operations, o))
        for o, title in CHIP_OPERATION_TITLES.items()
    },
    "bytes_over_bus": _make_phase_figure(
        "data read over the bus", "bytes", partial(_find_usage_value, "bytes_read")
    ),
    "register_hits": _make_phase_figure(
        "hits in the register", "count", partial(_find_usage_value, "register_hits")
    ),
    "idle": _make_phase_figure(
        "time that the processor idled", "time", partial(_find_usage_value, "idle_ns")
    ),
    "busy": _make_phase_figure(
        "time that the chip worked", "time", partial(_find_usage_value, "busy_ns")
    ),
}
"""By name; elsewhere they are ``point.NAME``."""
