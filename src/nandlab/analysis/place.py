# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a curve has a value: a trial, or a phase of it that has attributes (a point).

A place is told by names, the same that a study's curves use:

    filesystem, chip, state, image, workload, phase      what the trial or its phase is
    chip.partition_mib|latency|faults, state.shares      more of chip and state
    option.NAME, parameter.NAME                          of the file system, of the workload
    at.NAME                                              an attribute of the phase

and it has figures: ``point.NAME`` of :data:`FIGURES`, of the phase, and the registry's
(analysis/figures.py), of the trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from nandlab.analysis import totals, words
from nandlab.analysis.figures import CHIP_OPERATIONS
from nandlab.analysis.words import PERCENTILES
from nandlab.base.units import QUANTITIES, Quantity
from nandlab.results.measures import Phase
from nandlab.results.record import Trial

Scalar = bool | int | float | str
OF_PHASES = ("at.", "point.", "phase")
"""How names begin that only a phase has."""


@dataclass(frozen=True)
class Place:
    """A trial that ended well, and a phase of it; None: the trial as a whole."""

    trial: Trial
    phase: Phase | None = None

    @property
    def member(self) -> tuple[int, float]:
        """Which member of its ensemble it is of: seed and phase offset."""
        return self.trial.seed, self.trial.phase_offset_ms

    @property
    def identity(self) -> dict[str, Scalar]:
        """All that sets it apart from other places, but for its member, by name."""
        told: dict[str, Scalar] = {name: read(self.trial) for name, read in OF_TRIAL.items()}
        told |= {f"option.{k}": v for k, v in self.trial.options.items()}
        told |= {f"parameter.{k}": _scalar(v) for k, v in self.trial.parameters.items()}
        if self.phase is not None:
            told |= {f"at.{k}": v for k, v in self.phase.at.items()}
            told["phase"] = self.phase.name
        return told


OF_TRIAL: dict[str, Callable[[Trial], Scalar]] = {
    "filesystem": lambda t: t.filesystem,
    "state": lambda t: t.state.name,
    "chip": lambda t: t.chip.part,
    "workload": lambda t: t.workload,
    "image": lambda t: t.image.name if t.image else "none",
    "chip.partition_mib": lambda t: t.chip.partition_mib,
    "chip.latency": lambda t: t.chip.latency,
    "chip.faults": lambda t: json.dumps(t.chip.faults, sort_keys=True),
    "state.shares": lambda t: f"{t.state.valid:g}/{t.state.invalid:g}/{t.state.mix:g} {t.state.of}",
    "image.sha256": lambda t: t.image.sha256 if t.image else "none",
}
"""What a trial is told by, beside options and parameters."""


def places(trial: Trial, *, phases: bool) -> Iterator[Place]:
    """The trial's phases that count and have attributes, or the trial itself."""
    if not phases:
        yield Place(trial)
        return
    of = words.declared(trial)
    prepares = {p.name for p in of.phases if not p.timed}
    yield from (Place(trial, p) for p in trial.phases if p.at and p.name not in prepares)


def alike(one: object, other: object) -> bool:
    """Whether two values are the same, however they are written: 128 and "128", true and "true"."""
    return plain(one) == plain(other)


def plain(value: object) -> float | str:
    """A number, or a word; a number in words is a number."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def _scalar(value: object) -> Scalar:
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)


@dataclass(frozen=True)
class PointFigure:
    """A figure of a phase that is a point."""

    title: str
    quantity: Quantity
    read: Callable[[Trial, Phase], float | None]


def _time(trial: Trial, phase: Phase) -> float | None:
    return totals.total_ns(trial, phase.name)


def _made(trial: Trial, phase: Phase) -> float | None:
    return totals.operations(trial, phase.name)


def _moved(trial: Trial, phase: Phase) -> float | None:
    return sum(phase.bytes.values()) or None


def _divided(
    over: Callable[[Trial, Phase], float | None],
    under: Callable[[Trial, Phase], float | None],
    by: float,
    trial: Trial,
    phase: Phase,
) -> float | None:
    a, b = over(trial, phase), under(trial, phase)
    return a * by / b if a is not None and b else None


def _chip(operation: str, trial: Trial, phase: Phase) -> float | None:
    return totals.chip_operations(trial, phase.name, operation)


def _usage(name: str, trial: Trial, phase: Phase) -> float | None:
    value: int | None = getattr(phase.usage, name) if phase.usage else None
    return value


def _latency(percentile: str, trial: Trial, phase: Phase) -> float | None:
    """The greatest of its kinds of operation; None where other phases made some of them too."""
    kinds = list(phase.operations)
    others = {k for p in trial.phases if p.name != phase.name for k in p.operations}
    found = [trial.latency_ns.get(k) for k in kinds]
    known = [float(getattr(f, percentile)) for f in found if f is not None]
    whole = known and len(known) == len(kinds) and not others & set(kinds)
    return max(known) if whole else None


def _figure(title: str, quantity: str, read: Callable[[Trial, Phase], float | None]) -> PointFigure:
    return PointFigure(title, QUANTITIES[quantity], read)


FIGURES: dict[str, PointFigure] = {
    "time": _figure("time", "time", _time),
    "mean": _figure("mean time of an operation", "time", partial(_divided, _time, _made, 1)),
    "per_s": _figure("operations/s", "per_s", partial(_divided, _made, _time, 1e9)),
    "bytes_per_s": _figure("data moved", "bytes_per_s", partial(_divided, _moved, _time, 1e9)),
    **{
        p: _figure(f"{p.replace('_', '.')} of an operation", "time", partial(_latency, p))
        for p in PERCENTILES
    },
    **{o: _figure(title, "count", partial(_chip, o)) for o, title in CHIP_OPERATIONS.items()},
    "bytes_over_bus": _figure("data read over the bus", "bytes", partial(_usage, "bytes_read")),
    "register_hits": _figure("hits in the register", "count", partial(_usage, "register_hits")),
    "idle": _figure("time that the processor idled", "time", partial(_usage, "idle_ns")),
    "busy": _figure("time that the chip worked", "time", partial(_usage, "busy_ns")),
}
"""By name; elsewhere they are ``point.NAME``."""
