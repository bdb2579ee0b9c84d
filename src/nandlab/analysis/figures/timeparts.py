# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the time of a stretch of a trial went: the processor ran, waited for flash, or idled.

*Waiting* is the time that the chip worked, ``busy_ns``: its driver waits for each operation. The
simulator's own instructions within an operation (a seventh of a page read) are part of that, for
they stand in for the chip. *Idle* is what the kernel's cpuidle counted less what of it lay within
operations, *cpu* the rest. The three sum to the stretch.

Under warp an operation really sleeps where another thread is ready to run, and the processor idles
once that thread has nothing to do. So idle time counts as waiting first, up to what was not warped.
``hidden_ns`` is that much: where the processor idled outside operations only, as in a pause, so
much of cpu was idle. What another thread did within an operation is counted as waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.analysis.figures import totals
from nandlab.results.record import Trial
from nandlab.results.recordparts import ChipUsage, OperationCounts, Phase

LOAD_STEP = "workload"
"""The step of a load that is one command; each step of a list is named after its phase."""
CPU_INSTRUMENT = "cpu"
"""The instrument that tells the idle time of the load as a whole."""
UNKNOWN_USAGE = ChipUsage()


@dataclass(frozen=True)
class TrialSpan:
    """A stretch of a trial: a phase with its sync, a step, the load as a whole."""

    ns: float
    counts: OperationCounts | None
    usage: ChipUsage = UNKNOWN_USAGE


@dataclass(frozen=True)
class ProcessorTimeParts:
    """A stretch by what the processor did, ns."""

    cpu_ns: float
    waiting_ns: float
    idle_ns: float
    hidden_ns: float
    """Idle time that is taken to lie within the chip's operations; no part beside the others."""


def split_span_time(span: TrialSpan) -> ProcessorTimeParts | None:
    """The parts of a stretch; None where its idle time or its chip's is not known."""
    idle, busy, warped = span.usage.idle_ns, span.usage.busy_ns, span.usage.warped_ns
    if idle is None or busy is None or warped is None:
        return None
    idle_ns, busy_ns = min(float(idle), span.ns), min(float(busy), span.ns)
    hidden = max(min(idle_ns, busy_ns - warped), idle_ns + busy_ns - span.ns, 0.0)
    rest = idle_ns - hidden
    return ProcessorTimeParts(span.ns - busy_ns - rest, busy_ns, rest, hidden)


def make_phase_span(found: Phase | None) -> TrialSpan | None:
    """A phase with its sync; None where it was not run."""
    if found is None or found.ns is None:
        return None
    return TrialSpan(found.ns + (found.sync_ns or 0), found.chip, found.usage or UNKNOWN_USAGE)


def list_load_spans(trial: Trial) -> list[TrialSpan]:
    """The load in as few stretches as tell most of it; empty: nothing is known of it.

    The phases that count where any tells its idle time: what another does not tell is then not
    known, for all that lies between phases, such as preparing, is no part of the load. Else what
    the instrument measured of the load as a whole; else its steps, whose idle time is not known;
    else its phases, where steps were not counted.
    """
    phases = _list_phase_spans(trial)
    if any(s.usage.idle_ns is not None for s in phases):
        return phases
    return _list_measured_span(trial) or _list_step_spans(trial) or phases


def _list_phase_spans(trial: Trial) -> list[TrialSpan]:
    timed = totals.list_measured_phase_names(trial)
    found = [make_phase_span(p) for p in trial.phases if p.name in timed]
    known = [span for span in found if span is not None]
    return known if len(known) == len(found) else []


def _list_measured_span(trial: Trial) -> list[TrialSpan]:
    figures = trial.measured.get(CPU_INSTRUMENT, {})
    if not {"span_ns", "idle_ns", "busy_ns", "reads"} <= set(figures):
        return []
    counts = OperationCounts(**{key: int(figures[key]) for key in OperationCounts.model_fields})
    usage = {key: int(figures[key]) for key in ChipUsage.model_fields if key in figures}
    return [TrialSpan(figures["span_ns"], counts, ChipUsage(**usage))]


def _list_step_spans(trial: Trial) -> list[TrialSpan]:
    timed = totals.list_measured_phase_names(trial)
    steps = [s for s in trial.steps if s.name == LOAD_STEP] or [
        s for s in trial.steps if any(n == s.name or n.startswith(f"{s.name}_") for n in timed)
    ]
    counted = all(s.chip is not None for s in steps)
    return [TrialSpan(s.ns, s.chip, s.usage or UNKNOWN_USAGE) for s in steps] if counted else []
