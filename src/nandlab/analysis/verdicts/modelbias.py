# SPDX-License-Identifier: GPL-2.0-or-later
"""What the model flatters, and which way a ranking leans by it.

The simulated controller is a perfect one. Its bus is as fast as the data sheet allows, its driver
costs next to nothing, and a read of the page that is still in the chip's register pays no tR. On
boards page reads were measured that take two to three times as long. What a measured controller (in
the board's catalog entry) and a plain one (tR for each hit) would add is told here beside figures,
and is in none of them. A page moved in part counts as a whole one, so what would be added is an
upper bound, by less than a page's transfer each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from nandlab.analysis.figures import chiptime, doubts, ranking, totals
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding, RankedEntry
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.base import units
from nandlab.base.units import QUANTITIES
from nandlab.catalog.board import Controller
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts

MODEL_BIAS_TOPIC = "What the model flatters"
LITTLE_FACTOR = 1.01
"""A factor below this is nothing to speak of."""
PAIRS_TOLD_MAX = 3
"""How many pairs fit a sentence."""
LOAD_STEP = "workload"
"""The step of a load that is one command; each step of a list is named after its phase."""


@dataclass(frozen=True)
class ControllerPageCosts:
    """What a measured controller takes longer than the model for a page, ns."""

    read: float
    program: float
    simulated_read: float
    """A page read as simulated, its commands and addresses included."""


def find_measured_controller(trial: Trial) -> Controller | None:
    """The measured controller of the trial's board; None where the run tells of none."""
    try:
        return Controller.model_validate(trial.find_source("controller"))
    except ValidationError:
        return None


def compute_controller_page_costs(trial: Trial) -> ControllerPageCosts | None:
    """By the bytes of a page: the chip of the trial may have another page than the measured one.

    0 where the chip's own cycles are as slow as the controller: it was fitted to it.
    """
    controller, chip = find_measured_controller(trial), trial.find_source("chip")
    chip_costs = chiptime.compute_chip_operation_costs(trial)
    if controller is None or chip_costs is None:
        return None
    g, t = chip["geometry"], chip["timing"]
    page_bytes = g["writesize"] + g["oobsize"]
    cycles = page_bytes * 8 // g["bus_bits"]
    share = page_bytes / controller.page_bytes
    bus = 7 * t["t_wc_ns"] + cycles * t["t_rc_ns"]
    read = share * (controller.read_ns - controller.t_r_ns) - bus
    program = (
        share * (controller.program_ns - controller.t_prog_ns)
        - (8 + cycles) * t["t_wc_ns"]
        - t["t_rc_ns"]
    )
    return ControllerPageCosts(max(0.0, read), max(0.0, program), chip_costs.t_r + bus)


def _list_load_counts(trial: Trial) -> list[tuple[OperationCounts | None, int | None]]:
    """Counts and hits of the steps that are the load."""
    timed = totals.list_measured_phase_names(trial)
    steps = [s for s in trial.steps if s.name == LOAD_STEP] or [
        s for s in trial.steps if any(n == s.name or n.startswith(f"{s.name}_") for n in timed)
    ]
    return [(s.chip, s.register_hits) for s in steps]


def count_page_register_hits(trial: Trial) -> int | None:
    """Reads of the load that the chip's page register answered; None where it was not kept."""
    known = [h for _, h in _list_load_counts(trial)]
    return sum(h for h in known if h is not None) if known and None not in known else None


def compute_register_hits_ns(trial: Trial) -> float | None:
    """What these reads would take with a controller that does not remember: tR each."""
    found, costs = count_page_register_hits(trial), chiptime.compute_chip_operation_costs(trial)
    return None if found is None or costs is None else found * costs.t_r


def compute_register_hits_share(trial: Trial) -> float | None:
    """The same of the time that the flash took in the load."""
    hits_ns, costs = compute_register_hits_ns(trial), chiptime.compute_chip_operation_costs(trial)
    counts = [c for c, _ in _list_load_counts(trial) if c is not None]
    if hits_ns is None or costs is None or not counts:
        return None
    flash = sum(costs.compute_ns(c) for c in counts)
    return hits_ns / flash if flash else None


def compute_controller_extra_ns(trial: Trial, phases: Sequence[str]) -> float | None:
    """What a measured controller would add to phases: for each page read and each program."""
    costs = compute_controller_page_costs(trial)
    found = [p.chip for name in phases if (p := trial.phase(name)) is not None]
    counts = [c for c in found if c is not None]
    if costs is None or not counts or len(counts) < len(phases):
        return None
    return sum(c.reads * costs.read + c.programs * costs.program for c in counts)


def list_model_bias_figures(setting: Setting) -> list[Figure]:
    """What the model leaves out, as figures of a table."""
    time, count, share = (QUANTITIES[q] for q in ("time", "count", "share"))
    noun, phases = _find_ranked_phases(setting)

    def added(trial: Trial) -> float | None:
        return compute_controller_extra_ns(trial, phases)

    return [
        Figure("", "page reads of the load", count, _count_load_reads, ""),
        Figure("", "answered by the register", count, count_page_register_hits, ""),
        Figure("", "tR of these", time, compute_register_hits_ns, ""),
        Figure("", "of its flash time", share, compute_register_hits_share, ""),
        Figure("", f"{noun}, a measured controller adds", time, added, ""),
    ]


def _count_load_reads(trial: Trial) -> int | None:
    counts = [c for c, _ in _list_load_counts(trial)]
    known = [c.reads for c in counts if c is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _find_ranked_phases(setting: Setting) -> tuple[str, list[str]]:
    """The time that is looked at, in words, and its phases: the headline's, or all that count."""
    family, _, phase = setting.headline.name.partition(".")
    if family == "phase" and phase in [p.name for p in setting.words.phases]:
        return setting.words.headline.noun, [phase]
    return "time of its phases", [p.name for p in setting.words.timed]


@dataclass(frozen=True)
class ControllerEffect:
    """A subject's time as simulated, and as it would be with a measured controller."""

    name: str
    simulated: Spread
    with_controller: Spread

    @property
    def factor(self) -> float:
        return self.with_controller.median / self.simulated.median if self.simulated.median else 1.0


def list_controller_effects(
    setting: Setting, ensembles: Sequence[Ensemble]
) -> list[ControllerEffect]:
    """The subjects of which both times are known, the fastest as simulated first."""
    _, phases = _find_ranked_phases(setting)
    effects = []
    for e in ensembles:
        pairs = [(_sum_phase_ns(t, phases), compute_controller_extra_ns(t, phases)) for t in e.ok]
        known = [(now, now + more) for now, more in pairs if now is not None and more is not None]
        now, then = (compute_spread(pair[i] for pair in known) for i in (0, 1))
        if now is not None and then is not None:
            effects.append(ControllerEffect(e.subject, now, then))
    return sorted(effects, key=lambda x: x.simulated.median)


def _sum_phase_ns(trial: Trial, phases: Sequence[str]) -> float | None:
    parts = [totals.compute_phase_ns(trial, name) for name in phases]
    known = [p for p in parts if p is not None]
    return sum(known) if known and len(known) == len(parts) else None


EffectPair = tuple[ControllerEffect, ControllerEffect]
"""Two subjects that the trials tell apart: first the one that is faster as simulated."""


def _list_distinct_pairs(found: Sequence[ControllerEffect]) -> list[EffectPair]:
    return [
        (a, b)
        for i, a in enumerate(found)
        for b in found[i + 1 :]
        if a.simulated.is_distinct_from(b.simulated)
    ]


def list_reversed_effect_pairs(found: Sequence[ControllerEffect]) -> list[EffectPair]:
    """Pairs that a measured controller would tell apart the other way round."""
    return [
        (a, b)
        for a, b in _list_distinct_pairs(found)
        if b.with_controller.median < a.with_controller.median
        and a.with_controller.is_distinct_from(b.with_controller)
    ]


def list_indistinguishable_effect_pairs(found: Sequence[ControllerEffect]) -> list[EffectPair]:
    """Pairs that it would no longer tell apart."""
    return [
        (a, b)
        for a, b in _list_distinct_pairs(found)
        if not a.with_controller.is_distinct_from(b.with_controller)
    ]


def list_ensembles_model_bias_findings(
    setting: Setting, ensembles: Sequence[Ensemble]
) -> list[Finding]:
    """The finding of one flash state; none where the run does not know its chip's latencies, nor
    where its chip is real."""
    if all(
        e.first.own_board or chiptime.compute_chip_operation_costs(e.first) is None
        for e in ensembles
    ):
        return []
    effects = list_controller_effects(setting, ensembles)
    moved = list_reversed_effect_pairs(effects) or list_indistinguishable_effect_pairs(effects)
    noun, phases = _find_ranked_phases(setting)
    parts = (
        [_format_unchanged_order(ensembles, effects, noun)]
        if _list_distinct_pairs(effects) and not moved
        else []
    )
    parts = parts or [
        _format_controller_effect(setting, ensembles, effects),
        _format_hit_savings(ensembles),
    ]
    figure = Figure("", noun, QUANTITIES["time"], lambda t: _sum_phase_ns(t, phases))
    used = [(e, figure) for e in ensembles]
    finding = Finding(MODEL_BIAS_TOPIC, " ".join(parts), firm=not moved)
    return [doubts.add_doubts_to_finding(finding, used)]


def _format_unchanged_order(
    ensembles: Sequence[Ensemble], found: Sequence[ControllerEffect], noun: str
) -> str:
    """A slower controller does not change the order: in a line."""
    of, most = find_measured_controller(ensembles[0].first), max(found, key=lambda x: x.factor)
    like = f" like that of {of.measured}" if of else ""
    return (
        f"A slower controller{like} does not change the order: the {noun} would grow most with "
        f"{most.name}, to {units.format_ratio(most.factor)} times."
    )


def _format_controller_effect(
    setting: Setting, ensembles: Sequence[Ensemble], effects: Sequence[ControllerEffect]
) -> str:
    first = next(
        (e.first for e in ensembles if compute_controller_page_costs(e.first)), ensembles[0].first
    )
    controller, page = find_measured_controller(first), compute_controller_page_costs(first)
    if controller is None or page is None:
        return "What a measured controller would add is not told by this run."
    noun, _ = _find_ranked_phases(setting)
    if not effects:
        return f"What a measured controller would add to the {noun} is not known: no counts."
    if max(x.factor for x in effects) < LITTLE_FACTOR:
        return "The chip's cycles are as slow as the measured controller: that adds nothing."
    clauses = [
        f"{x.name} {units.format_time(x.with_controller.median - x.simulated.median)} longer "
        f"({units.format_ratio(x.factor)} times as long)"
        for x in _select_leading_effects(effects)
    ]
    reads = f"a page read {units.format_time(page.simulated_read + page.read)} at its driver"
    text = (
        f"With a controller like that of {controller.measured} ({reads}, "
        f"{units.format_time(page.simulated_read)} "
        f"here) the "
        f"{noun} would be: {', '.join(clauses)}."
    )
    return f"{text} {_format_order_change(effects)}"


def _format_order_change(effects: Sequence[ControllerEffect]) -> str:
    """Whether the order holds, and for whom it leans."""
    if not _list_distinct_pairs(effects):
        return "There is no order that could turn."
    most, least = (pick(effects, key=lambda x: x.factor) for pick in (max, min))
    leans = (
        f", which leans towards {most.name} and against {least.name}"
        if most.factor > least.factor * LITTLE_FACTOR
        else ""
    )
    round_ = [
        f"{b.name} ({units.format_time(b.with_controller.median)}) before {a.name} "
        f"({units.format_time(a.with_controller.median)})"
        for a, b in list_reversed_effect_pairs(effects)
    ]
    alike = [f"{a.name} and {b.name}" for a, b in list_indistinguishable_effect_pairs(effects)]
    if not round_ and not alike:
        return f"That would not turn the order{leans}."
    parts = [f"turn the order{leans}: {'; '.join(round_[:PAIRS_TOLD_MAX])}"] if round_ else []
    if alike:
        parts.append(
            f"no longer tell apart {'; '.join(alike[:PAIRS_TOLD_MAX])}{'' if round_ else leans}"
        )
    return f"That would {', and '.join(parts)}."


def _format_hit_savings(ensembles: Sequence[Ensemble]) -> str:
    """What reads from the register save, the most first."""
    savings = [
        (e.subject, ns, share)
        for e in ensembles
        if (ns := _compute_median(e, compute_register_hits_ns)) is not None
        and (share := _compute_median(e, compute_register_hits_share)) is not None
    ]
    if not savings:
        return "How many reads the chip's page register answered was not kept by this run."
    savings.sort(key=lambda k: -k[2])
    ends = savings if len(savings) <= 3 else [savings[0], savings[-1]]
    clauses = [
        f"{name} {units.format_time(ns)} ({units.format_percent(share)})"
        for name, ns, share in ends
    ]
    return (
        "Reads that the chip's page register answers pay no tR, as with a controller that "
        "remembers its page; a plain one would add in the whole load, and of its flash time: "
        f"{', '.join(clauses)}."
    )


def _compute_median(e: Ensemble, read: Callable[[Trial], float | None]) -> float | None:
    found = compute_spread(read(t) for t in e.ok)
    return None if found is None else found.median


def _select_leading_effects(effects: Sequence[ControllerEffect]) -> list[ControllerEffect]:
    """As many as fit a sentence; of more, the first, the most flattered and the least."""
    shown = ranking.select_entries_for_sentence([RankedEntry(x.name, x.simulated) for x in effects])
    if len(shown) == len(effects):
        return list(effects)
    most, least = (pick(effects, key=lambda x: x.factor) for pick in (max, min))
    return [x for x in effects if x in (effects[0], most, least)]
