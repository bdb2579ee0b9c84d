# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's times on another part of the same geometry, foretold from the operations it counted.

``T' = T + sum of n x (latency there - latency here)``: each read, program and erase of a phase, its
command and address cycles, and its bytes over the bus. So it holds as far as the file system would
do the same operations on the other part, in the same phases. It would not quite: a collector in
the background does more in the same time where the chip is faster. docs/reprice.md has the errors
that were seen, and each file system's catalog file the largest of its totals. What is foretold is
no result, and is never ranked with one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from nandlab.analysis.figures import totals
from nandlab.analysis.figures.groups import Ensemble
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.figures.timeparts import LOAD_STEP
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel, Geometry, Timing
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel, RepricingAccuracy
from nandlab.results.record import Trial
from nandlab.results.recordparts import ChipUsage, OperationCounts, StepResult

SHARED_GEOMETRY_FIELDS = tuple(name for name in Geometry.model_fields if name != "bus_bits")
"""Of the geometry, what must be the same: else the file system would write other pages."""
READ_COMMAND_CYCLES, PROGRAM_COMMAND_CYCLES, ERASE_COMMAND_CYCLES = 7, 9, 7
"""Cycles at tWC of an operation, without its data: commands, addresses, and before a program or
erase the command that reads the status. See docs/simnand.md, Time."""
STATUS_CYCLES = 2
"""Cycles at tRC of a program or erase: its status, and the write-protect pin's before it."""


@dataclass(frozen=True)
class PartLatencies:
    """A part's latencies as they are simulated, ns, and the width of its bus."""

    name: str
    t_r: int
    t_prog: int
    t_bers: int
    t_rc: int
    t_wc: int
    bus_bits: int

    @classmethod
    def from_timing(
        cls, name: str, geometry: Geometry, timing: Timing, latency: str
    ) -> PartLatencies:
        """latency: typical or maximum; UsageError names the maxima that are not known."""
        which = "maximum" if latency == "maximum" else "typical"
        try:
            array = timing.array_ns(which)  # type: ignore[arg-type]
        except UsageError as e:
            raise UsageError(f"chip {name}: {e}") from None
        three = array["t_r_ns"], array["t_prog_ns"], array["t_bers_ns"]
        return cls(name, *three, timing.t_rc_ns, timing.t_wc_ns, geometry.bus_bits)

    def ns(self, counts: OperationCounts, bytes_read: float, bytes_written: float) -> float:
        """What the chip takes for these operations and for these bytes over its bus."""
        cycles_out, cycles_in = (8 * n / self.bus_bits for n in (bytes_read, bytes_written))
        reads = counts.reads * (self.t_r + READ_COMMAND_CYCLES * self.t_wc)
        once = STATUS_CYCLES * self.t_rc
        programs = counts.programs * (self.t_prog + PROGRAM_COMMAND_CYCLES * self.t_wc + once)
        erases = counts.erases * (self.t_bers + ERASE_COMMAND_CYCLES * self.t_wc + once)
        return reads + programs + erases + cycles_out * self.t_rc + cycles_in * self.t_wc


def find_trial_geometry_and_timing(trial: Trial) -> tuple[Geometry, Timing]:
    """The trial's chip as the run keeps it; UsageError if it is not there."""
    told: dict[str, Any] = trial.find_source("chip")
    if "timing" not in told or "geometry" not in told:
        raise UsageError(f"{trial.id}: the run does not keep its chip's timing; run it again")
    return Geometry.model_validate(told["geometry"]), Timing.model_validate(told["timing"])


def find_trial_part_latencies(trial: Trial) -> PartLatencies:
    """The part that the trial was run on; UsageError if the kernel's SPI-NAND driver drove it."""
    if trial.chip.spinand:
        raise UsageError(
            f"{trial.id}: {trial.chip.part} was behind SPI, and only a parallel bus is modelled: "
            "run the study on the other part"
        )
    shape, timing = find_trial_geometry_and_timing(trial)
    return PartLatencies.from_timing(trial.chip.part, shape, timing, trial.chip.latency)


def format_geometry_difference(trial: Trial, part: ChipModel) -> str:
    """How a part's geometry differs from the trial's chip's; empty: it does not."""
    here, there = find_trial_geometry_and_timing(trial)[0], part.geometry
    return ", ".join(
        f"{key} {getattr(there, key)} and not {getattr(here, key)}"
        for key in SHARED_GEOMETRY_FIELDS
        if getattr(here, key) != getattr(there, key)
    )


def make_trial_part_with_timings(trial: Trial, values: Mapping[str, int]) -> PartLatencies:
    """The trial's own part with these keys of ``[timing]`` at other values, ns.

    UsageError names a key that no timing has. ``t_r_ns`` and the like are what is simulated,
    typical or maximum.
    """
    latencies = find_trial_part_latencies(trial)
    known = {f"{key}_ns": key for key in ("t_r", "t_prog", "t_bers", "t_rc", "t_wc")}
    if wrong := [key for key in values if key not in known]:
        raise UsageError(f"{', '.join(wrong)}: no such latency; known are {', '.join(known)}")
    new = {known[key]: value for key, value in values.items()}
    words = ", ".join(f"{key}={value}" for key, value in values.items())
    told = {
        k: getattr(latencies, k) for k in ("t_r", "t_prog", "t_bers", "t_rc", "t_wc", "bus_bits")
    }
    return PartLatencies(f"{latencies.name} with {words}", **(told | new))


def predict_phase_ns_on_part(trial: Trial, phase: str, part: PartLatencies) -> float | None:
    """The phase's time on another part, its sync included, ns; None: its counts are not known."""
    trial_phase, measured = trial.phase(phase), totals.compute_phase_ns(trial, phase)
    if trial_phase is None or trial_phase.chip is None or measured is None:
        return None
    moved = _estimate_bus_bytes(trial, phase, trial_phase.chip, trial_phase.usage)
    return (
        measured
        + part.ns(trial_phase.chip, *moved)
        - find_trial_part_latencies(trial).ns(trial_phase.chip, *moved)
    )


def _estimate_bus_bytes(
    trial: Trial, phase: str, counts: OperationCounts, usage: ChipUsage | None
) -> tuple[float, float]:
    """Bytes out of the chip and into it, of a phase with these operations.

    Where the phase does not tell them, each operation moved what it did on average in the phase's
    step: a program of a part of a page moves less than a page, and a page that the chip's
    register had is moved without a read. Where the step does not tell either: whole pages.
    """
    step, shape = _find_step_of_phase(trial, phase), find_trial_geometry_and_timing(trial)[0]
    page = shape.writesize + shape.oobsize
    of, moved = (step.chip, step.usage) if step and step.chip and step.usage else (None, None)
    each_out = _divide_or_default(moved.bytes_read, of.reads, page) if of and moved else page
    each_in = _divide_or_default(moved.bytes_written, of.programs, page) if of and moved else page
    out, into = (usage.bytes_read, usage.bytes_written) if usage else (None, None)
    return (
        counts.reads * each_out if out is None else out,
        counts.programs * each_in if into is None else into,
    )


def _find_step_of_phase(trial: Trial, phase: str) -> StepResult | None:
    """The step that the phase is part of: the load's one, or that of a list with its name."""
    named = (s for s in trial.steps if phase == s.name or phase.startswith(f"{s.name}_"))
    return trial.step(LOAD_STEP) or next(named, None)


def _divide_or_default(amount: int | None, number: int, unknown: float) -> float:
    return amount / number if amount is not None and number else unknown


def predict_total_ns_on_part(trial: Trial, part: PartLatencies) -> float | None:
    """All phases that count, on another part."""
    return _sum_known(
        [
            predict_phase_ns_on_part(trial, name, part)
            for name in totals.list_measured_phase_names(trial)
        ]
    )


def compute_measured_total_ns(trial: Trial) -> float | None:
    """The same as it was measured."""
    return _sum_known(
        [totals.compute_phase_ns(trial, name) for name in totals.list_measured_phase_names(trial)]
    )


def _sum_known(parts: Sequence[float | None]) -> float | None:
    known = [p for p in parts if p is not None]
    return sum(known) if known and len(known) == len(parts) else None


FIGURE_OFF_MAX = 0.03
"""The most that totals may have been off where parts were run, for a figure; else a range alone."""


@dataclass(frozen=True)
class TimePrediction:
    """A time of an ensemble, measured here and foretold for another part, ns."""

    phase: str
    """A phase's name; empty: all that count."""
    measured: Spread
    predicted: Spread
    """The median of each is that of the seeds, each seed's being that of its moments."""
    off: float | None
    """By which share a total of the file system was off, at most, where parts were run; None:
    nobody ran them."""

    @property
    def figure(self) -> bool:
        """Whether a figure is foretold, and not only where it will lie."""
        return self.off is None or self.off <= FIGURE_OFF_MAX

    @property
    def ranged(self) -> bool:
        """Whether there is a range at least."""
        return self.figure or self.measured.n > 1

    @property
    def ratio(self) -> float | None:
        """The medians' quotient; None where nothing was measured, or no figure is foretold."""
        return self._quotient if self.figure else None

    @property
    def _quotient(self) -> float | None:
        here = self.measured.median
        return self.predicted.median / here if here else None

    @property
    def doubt(self) -> str:
        """Why the difference may be none; empty: it is more than chance and than known errors."""
        if self.measured.n < 2:
            return "one trial: no range is known"
        if not self.measured.is_distinct_from(self.predicted):
            return "within the members' range"
        small = self._quotient is not None and abs(self._quotient - 1) < (self.off or 0)
        return "smaller than the errors seen" if small else ""


def load_repricing_accuracy(filesystem: str) -> RepricingAccuracy | None:
    """How far totals of a file system were off where parts were run; None: nobody ran them."""
    try:
        return load_noun("filesystems", filesystem, FilesystemModel).repriced
    except UsageError:
        return None  # a run of another time's catalog


def has_enough_start_moments(ensemble: Ensemble) -> bool:
    """Whether each seed began at so many moments that what hangs on the moment evens out."""
    seen = load_repricing_accuracy(ensemble.first.filesystem)
    if seen is None or seen.evened is None or not ensemble.ok:
        return False
    return min(len(of) for of in _group_by_moment(ensemble).values()) >= seen.evened.moments


def find_greatest_repricing_error(ensemble: Ensemble) -> float | None:
    """By which share totals were off, at most, of ensembles like this; None: nobody ran them."""
    seen = load_repricing_accuracy(ensemble.first.filesystem)
    if seen is None:
        return None
    return seen.evened.off if seen.evened and has_enough_start_moments(ensemble) else seen.off


def _group_by_moment(ensemble: Ensemble) -> dict[int, dict[float, Trial]]:
    """By seed, the trials that ended well by the moment at which they began."""
    found: dict[int, dict[float, Trial]] = {}
    for trial in ensemble.ok:
        found.setdefault(trial.seed, {})[trial.phase_offset_ms] = trial
    return found


def _compute_seed_spread(
    ensemble: Ensemble, figure: Callable[[Trial], float | None]
) -> Spread | None:
    """All members' range, and the median of the seeds' medians."""
    found = compute_spread(figure(t) for t in ensemble.ok)
    if found is None:
        return None
    each = (compute_spread(map(figure, of.values())) for of in _group_by_moment(ensemble).values())
    return replace(found, median=median(one.median for one in each if one))


def _select_measured_ns(trial: Trial, phase: str) -> float | None:
    return totals.compute_phase_ns(trial, phase) if phase else compute_measured_total_ns(trial)


def _select_predicted_ns(trial: Trial, phase: str, part: PartLatencies) -> float | None:
    return (
        predict_phase_ns_on_part(trial, phase, part)
        if phase
        else predict_total_ns_on_part(trial, part)
    )


def list_part_time_predictions(ensemble: Ensemble, part: PartLatencies) -> list[TimePrediction]:
    """Each phase that counts, then their sum; a time that is not known is left out."""
    if not ensemble.ok:
        return []
    predictions, greatest_error = [], find_greatest_repricing_error(ensemble)
    for name in [*totals.list_measured_phase_names(ensemble.first), ""]:
        here = _compute_seed_spread(ensemble, partial(_select_measured_ns, phase=name))
        there = _compute_seed_spread(ensemble, partial(_select_predicted_ns, phase=name, part=part))
        if here is not None and there is not None:
            predictions.append(TimePrediction(name, here, there, greatest_error))
    return predictions
