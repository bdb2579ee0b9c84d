# SPDX-License-Identifier: GPL-2.0-or-later
"""The one registry of figures: a name, and with it title, quantity, which end is better, and how it
is read from a trial.

Tables, charts, rankings, limits, claims and papers take figures by name from
:func:`find_workload_figure`:

    phase.NAME[.sync|.per_s|.reads|.programs|.erases]   a phase of the workload, its sync included
    phase.NAME.read_per_s|written_per_s                 the bytes that it moved
    time                                                all phases that count
    step.NAME[.reads|.programs|.erases]                 a step of the trial: format, mount, ...
    chip.reads|programs|erases|amplification            the phases that count together
    wear.spread|mean|stddev|least|most                  erases per block over them
    wear.[all.]erases|mean|sd|max|min|never_share|gini  by the instrument wear, since the load's
                                                        first step; all: formatting included. Where
                                                        it measured, spread and the like are its too
    wear.own.moves|programs|erases                      what UBI did to level wear
    blocks.reads|programs|erases                        all blocks together, from their begin to
                                                        their end, with what lies between
    bytes.read|written[.per_s]                          what the workload moved
    latency.KIND.median|p95|p99|p99_9|max               of a kind of operation; KIND writes: the
                                                        greatest of those that write; KIND durable:
                                                        of those whose data is then on flash
    image.pages|bytes                                   what the image takes that it began from,
                                                        UBI's own headers apart
    state.before|valid|invalid|programmed               what the chip held when they began
    life.written|first_death|dead_blocks|amplification|wear_used|rounds|t_ns|programs|erases
    energy.OF|phase.NAME|per.KIND|...                   nandlab.analysis.figures.energyfigures
    ready.quiet|reads|cpu                               from the mount until the chip is quiet
    ready.durable                                       from a mount after the load until a record
                                                        is synced, by the instrument restart
    power.lost|points                                   of the power cuts beside the run
    bits.wrong|corrected|failed_steps|failed_pages      that read wrong in the whole trial, and what
                                                        the ECC made of them; simulated chips
    bits.scrubs                                         blocks that UBI moved because bits flipped
    own.NAME                                            the workload's own
    INSTRUMENT.KEY                                      memory.peak, counters.ubi_max_ec,
                                                        read_ahead.kib, ...
    NAME+NAME                                           the sum of figures of one quantity

A figure is None where what it needs was not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nandlab.analysis.figures import (
    chipfigures,
    energyfigures,
    life,
    readyfigures,
    totals,
    workloadwords,
)
from nandlab.analysis.figures.chipfigures import CHIP_OPERATION_TITLES
from nandlab.analysis.figures.durability import DURABLE_GROUP, WRITES_GROUP, expand_operation_kind
from nandlab.analysis.figures.figure import Figure, make_figure
from nandlab.analysis.figures.workloadwords import PERCENTILES, Words
from nandlab.base.errors import UsageError
from nandlab.base.units import QUANTITIES
from nandlab.catalog.instrument import InstrumentFigure, InstrumentModel, load_instruments
from nandlab.catalog.words import WorkloadWords
from nandlab.results.record import Trial

BYTE_RATE_DIRECTIONS = {"read_per_s": "read", "written_per_s": "written"}
"""Rates of a phase in bytes, and which way they go."""
FILESYSTEM_STEPS = ("format", "mount", "settle", "unmount")
"""The steps beside the load that a file system takes time for, in order."""
QUANTITY_BY_ENDING = {"ns": "time", "off": "share", "mean": "ratio"}
"""What the quantity of an instrument's figure is where its name ends so, after an underscore."""


def find_workload_figure(name: str, words: Words) -> Figure:
    """The figure of this name; UsageError if there is none."""
    if "+" in name:
        return _sum_figures([find_workload_figure(part, words) for part in name.split("+")])
    family, _, key = name.partition(".")
    figure = (
        FIGURE_FAMILIES[family](key, words)
        if family in FIGURE_FAMILIES
        else _make_instrument_figure(family, key)
    )
    if figure is None:
        raise UsageError(f"no figure {name!r}: {_format_known_figures(words)}")
    return figure


def _sum_figures(parts: list[Figure]) -> Figure:
    """The sum of figures, which are amounts of one quantity; None where one is not known."""
    first, *others = parts
    if any(p.quantity != first.quantity for p in others):
        amounts = ", ".join(f"{p.name} ({p.quantity.name})" for p in parts)
        raise UsageError(f"no sum of figures of several quantities: {amounts}")

    def read(trial: Trial) -> float | None:
        values = [p(trial) for p in parts]
        known = [v for v in values if v is not None]
        return sum(known) if len(known) == len(values) else None

    title = " and ".join(p.title for p in parts)
    return Figure("+".join(p.name for p in parts), title, first.quantity, read, first.better)


def check_workload_figures(declaration: WorkloadWords) -> list[str]:
    """What is wrong with the figures that a workload's file names, each with its place."""
    words = workloadwords.make_words_from_declaration(declaration)
    names = {f"figures.{name}.over": figure.over for name, figure in declaration.figures.items()}
    names["headline.figure"] = declaration.headline.figure if declaration.headline else ""
    reasons = (
        (place, explain_unavailable_figure(name, words)) for place, name in names.items() if name
    )
    return [f"{place}: {wrong}" for place, wrong in reasons if wrong]


def explain_unavailable_figure(name: str, words: Words) -> str | None:
    """Why a figure can be had from no trial of the workload; None: it can."""
    return next(
        (why for part in name.split("+") if (why := _explain_undeclared_part(part, words))), None
    )


def _explain_undeclared_part(name: str, words: Words) -> str | None:
    family, _, key = name.partition(".")
    kind = key.partition(".")[0]
    operations = [o.name for o in words.operations]
    if family not in list_figure_families():
        return f"{name}: no figure begins so; they begin with {', '.join(list_figure_families())}"
    if family == "phase" and kind not in (phases := [p.name for p in words.phases]):
        return f"{name}: no phase is called {kind}; there are: {', '.join(phases) or 'none'}"
    if family == "latency" and kind == WRITES_GROUP and not any(o.writes for o in words.operations):
        return f"{name}: no operation says writes = true"
    if family == "latency" and kind not in (WRITES_GROUP, DURABLE_GROUP, *operations):
        return (
            f"{name}: no operation is called {kind}; there are: {', '.join(operations) or 'none'}"
        )
    try:
        find_workload_figure(name, words)
    except UsageError as e:
        return str(e)
    return None


def _format_known_figures(words: Words) -> str:
    phases = ", ".join(f"phase.{p.name}" for p in words.phases)
    own = ", ".join(f"own.{name}" for name in words.figures)
    return f"its workload has {', '.join(filter(None, [phases, own])) or 'no phases'}"


def make_host_memory_figure(share: float, title: str) -> Figure:
    """:func:`totals.host_memory` as a figure; it depends on the host, so no name stands for it."""
    return Figure(
        "", title, QUANTITIES["bytes"], partial(totals.find_host_memory_bytes, share=share), ""
    )


def _find_phase_figure(key: str, words: Words) -> Figure | None:
    name, _, part = key.partition(".")
    phase = words.phase(name)
    make = partial(make_figure, f"phase.{key}")
    if not part:
        return make(
            phase.title, "time", partial(totals.compute_phase_ns, phase=name), short=phase.short
        )
    if part == "sync":
        return make(f"{phase.title}'s sync", "time", partial(totals.find_phase_sync_ns, phase=name))
    if part == "per_s":

        def read(trial: Trial) -> float | None:
            operations = totals.count_phase_operations(trial, name)
            return totals.compute_rate_per_s(operations, totals.compute_phase_ns(trial, name))

        return make(f"{phase.title}, operations/s", "per_s", read, better="more")
    if part in BYTE_RATE_DIRECTIONS:
        moved = partial(
            totals.compute_phase_bytes_per_s, phase=name, way=BYTE_RATE_DIRECTIONS[part]
        )
        return make(
            f"{phase.title}, {BYTE_RATE_DIRECTIONS[part]}", "bytes_per_s", moved, better="more"
        )
    if part in CHIP_OPERATION_TITLES:
        title = f"{phase.title}: {CHIP_OPERATION_TITLES[part]}"
        return make(
            title, "count", partial(totals.count_phase_chip_operations, phase=name, operation=part)
        )
    return None


def _find_time_figure(key: str, words: Words) -> Figure | None:
    def read(trial: Trial) -> float | None:
        parts = [
            totals.compute_phase_ns(trial, name) for name in totals.list_measured_phase_names(trial)
        ]
        known = [p for p in parts if p is not None]
        return sum(known) if known and len(known) == len(parts) else None

    return None if key else make_figure("time", "time", "time", read)


def _find_step_figure(key: str, words: Words) -> Figure | None:
    name, _, operation = key.partition(".")

    def read(trial: Trial) -> float | None:
        step = trial.step(name)
        if step is None or not operation:
            return None if step is None else step.ns
        return None if step.chip is None else int(getattr(step.chip, operation))

    if operation and operation not in CHIP_OPERATION_TITLES:
        return None
    title = f"{name}: {CHIP_OPERATION_TITLES[operation]}" if operation else name
    return make_figure(f"step.{key}", title, "count" if operation else "time", read)


def _find_bytes_figure(key: str, words: Words) -> Figure | None:
    direction, _, per_s = key.partition(".")
    if direction not in ("read", "written") or per_s not in ("", "per_s"):
        return None
    if per_s:
        read = partial(totals.compute_load_bytes_per_s, direction=direction)
        return make_figure(f"bytes.{key}", f"data {direction}", "bytes_per_s", read, better="more")
    return make_figure(
        f"bytes.{key}", f"data {direction}", "bytes", lambda t: t.bytes.get(direction), better=""
    )


def _find_latency_figure(key: str, words: Words) -> Figure | None:
    kind, _, percentile = key.partition(".")
    if percentile not in PERCENTILES:
        return None
    shown_percentile = percentile.replace("_", ".")
    if kind == WRITES_GROUP:
        title = f"{shown_percentile} of writes"
    elif kind == DURABLE_GROUP:
        title = f"{shown_percentile} of durable operations"
    else:
        title = f"{words.operation(kind).title or kind} {shown_percentile}"

    def read(trial: Trial) -> float | None:
        latency = trial.latency_ns.get(kind)
        return None if latency is None else float(getattr(latency, percentile))

    def read_greatest(trial: Trial) -> float | None:
        kinds = expand_operation_kind(kind, words, trial)
        latencies = [trial.latency_ns.get(k) for k in kinds]
        known = [float(getattr(f, percentile)) for f in latencies if f is not None]
        return max(known) if known and len(known) == len(kinds) else None

    has_several = kind in (WRITES_GROUP, DURABLE_GROUP)
    return make_figure(f"latency.{key}", title, "time", read_greatest if has_several else read)


def _find_life_figure(key: str, words: Words) -> Figure | None:
    if key not in life.LIFE_FIGURES:
        return None
    declared = life.LIFE_FIGURES[key]
    quantity = QUANTITIES[declared.quantity]
    name = f"life.{key}"
    return Figure(
        name,
        declared.title,
        quantity,
        declared.compute,
        declared.better,
        declared.short,
        declared.open_ended,
    )


def _find_energy_figure(key: str, words: Words) -> Figure | None:
    figure = energyfigures.find_energy_figure(key, words)
    if figure is None:
        return None
    return make_figure(f"energy.{key}", figure.title, "energy", figure.compute, short=figure.short)


def _find_moment_figure(
    family: str, find_in: Callable[[str], readyfigures.MomentFigure | None], key: str, words: Words
) -> Figure | None:
    figure = find_in(key)
    if figure is None:
        return None
    return make_figure(
        f"{family}.{key}", figure.title, figure.quantity, figure.compute, better=figure.better
    )


def _find_own_figure(key: str, words: Words) -> Figure | None:
    declared = words.figures.get(key)
    if declared is None:
        return None
    over = find_workload_figure(declared.over, words) if declared.over else None

    def read(trial: Trial) -> float | None:
        value = (
            trial.parameters.get(declared.parameter)
            if declared.parameter
            else trial.figures.get(key)
        )
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return totals.compute_rate_per_s(value, over(trial)) if over else value

    quantity = QUANTITIES[declared.unit]
    name = f"own.{key}"
    return Figure(
        name, declared.title, quantity, read, declared.better, declared.short, declared.open_ended
    )


def _make_instrument_figure(instrument: str, key: str) -> Figure | None:
    def read(trial: Trial) -> float | None:
        return trial.measured.get(instrument, {}).get(key)

    if not key:
        return None
    declared = load_instruments().get(instrument) or InstrumentModel(name="other", summary="")
    quantity = QUANTITY_BY_ENDING.get(key.rpartition("_")[2], declared.quantity)
    figure = declared.figures.get(key) or InstrumentFigure(better=declared.better)
    name, title = f"{instrument}.{key}", f"{instrument}, {key}"
    return make_figure(name, title, quantity, read, better=figure.better, short=figure.short)


def list_figure_families() -> list[str]:
    """What a figure's name may begin with: families of figures, and instruments."""
    return [*dict.fromkeys((*FIGURE_FAMILIES, *load_instruments()))]


FIGURE_FAMILIES: dict[str, Callable[[str, Words], Figure | None]] = {
    "phase": _find_phase_figure,
    "time": _find_time_figure,
    "step": _find_step_figure,
    "chip": chipfigures.find_chip_figure,
    "wear": chipfigures.find_wear_figure,
    "blocks": chipfigures.find_blocks_figure,
    "bytes": _find_bytes_figure,
    "latency": _find_latency_figure,
    "image": chipfigures.find_image_figure,
    "state": chipfigures.find_state_figure,
    "life": _find_life_figure,
    "energy": _find_energy_figure,
    "ready": partial(_find_moment_figure, "ready", readyfigures.find_ready_figure),
    "power": partial(_find_moment_figure, "power", readyfigures.find_power_cut_figure),
    "own": _find_own_figure,
}
