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

from nandlab.analysis import totals
from nandlab.results.measures import Counts, Phase, Usage
from nandlab.results.record import Trial

LOAD = "workload"
"""The step of a load that is one command; each step of a list is named after its phase."""
INSTRUMENT = "cpu"
"""The instrument that tells the idle time of the load as a whole."""
NOT_TOLD = Usage()


@dataclass(frozen=True)
class Span:
    """A stretch of a trial: a phase with its sync, a step, the load as a whole."""

    ns: float
    counts: Counts | None
    usage: Usage = NOT_TOLD


@dataclass(frozen=True)
class Parts:
    """A stretch by what the processor did, ns."""

    cpu_ns: float
    waiting_ns: float
    idle_ns: float
    hidden_ns: float
    """Idle time that is taken to lie within the chip's operations; no part beside the others."""


def parts(span: Span) -> Parts | None:
    """The parts of a stretch; None where its idle time or its chip's is not known."""
    idle, busy, warped = span.usage.idle_ns, span.usage.busy_ns, span.usage.warped_ns
    if idle is None or busy is None or warped is None:
        return None
    idle_ns, busy_ns = min(float(idle), span.ns), min(float(busy), span.ns)
    hidden = max(min(idle_ns, busy_ns - warped), idle_ns + busy_ns - span.ns, 0.0)
    rest = idle_ns - hidden
    return Parts(span.ns - busy_ns - rest, busy_ns, rest, hidden)


def phase(found: Phase | None) -> Span | None:
    """A phase with its sync; None where it was not run."""
    if found is None or found.ns is None:
        return None
    return Span(found.ns + (found.sync_ns or 0), found.chip, found.usage or NOT_TOLD)


def load(trial: Trial) -> list[Span]:
    """The load in as few stretches as tell most of it; empty: nothing is known of it.

    The phases that count where any tells its idle time: what another does not tell is then not
    known, for all that lies between phases, such as preparing, is no part of the load. Else what
    the instrument measured of the load as a whole; else its steps, whose idle time is not known;
    else its phases, where steps were not counted.
    """
    phases = _phases(trial)
    if any(s.usage.idle_ns is not None for s in phases):
        return phases
    return _measured(trial) or _steps(trial) or phases


def _phases(trial: Trial) -> list[Span]:
    timed = totals.timed(trial)
    found = [phase(p) for p in trial.phases if p.name in timed]
    known = [span for span in found if span is not None]
    return known if len(known) == len(found) else []


def _measured(trial: Trial) -> list[Span]:
    told = trial.measured.get(INSTRUMENT, {})
    if not {"span_ns", "idle_ns", "busy_ns", "reads"} <= set(told):
        return []
    counts = Counts(**{key: int(told[key]) for key in Counts.model_fields})
    usage = {key: int(told[key]) for key in Usage.model_fields if key in told}
    return [Span(told["span_ns"], counts, Usage(**usage))]


def _steps(trial: Trial) -> list[Span]:
    timed = totals.timed(trial)
    steps = [s for s in trial.steps if s.name == LOAD] or [
        s for s in trial.steps if any(n == s.name or n.startswith(f"{s.name}_") for n in timed)
    ]
    counted = all(s.chip is not None for s in steps)
    return [Span(s.ns, s.chip, s.usage or NOT_TOLD) for s in steps] if counted else []
