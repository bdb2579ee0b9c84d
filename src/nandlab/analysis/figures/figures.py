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
from dataclasses import dataclass
from functools import partial

from nandlab.analysis.figures import energyfigures, life, readyfigures, totals, wear, workloadwords
from nandlab.analysis.figures.durability import DURABLE_GROUP, WRITES_GROUP, expand_operation_kind
from nandlab.analysis.figures.workloadwords import PERCENTILES, Words
from nandlab.base.errors import UsageError
from nandlab.base.units import QUANTITIES, Quantity
from nandlab.catalog.instrument import InstrumentFigure, InstrumentModel, load_instruments
from nandlab.catalog.words import WorkloadWords
from nandlab.results.record import Trial

FigureReader = Callable[[Trial], float | None]
CHIP_OPERATION_TITLES = {
    "reads": "page reads",
    "programs": "page programs",
    "erases": "block erases",
}
BYTE_RATE_DIRECTIONS = {"read_per_s": "read", "written_per_s": "written"}
"""Rates of a phase in bytes, and which way they go."""
FILESYSTEM_STEPS = ("format", "mount", "settle", "unmount")
"""The steps beside the load that a file system takes time for, in order."""
QUANTITY_BY_ENDING = {"ns": "time", "off": "share", "mean": "ratio"}
"""What the quantity of an instrument's figure is where its name ends so, after an underscore."""


@dataclass(frozen=True)
class Figure:
    """A figure of a trial."""

    name: str
    title: str
    quantity: Quantity
    compute: FigureReader
    better: str = "less"
    """less, more, or nothing where neither end is better."""
    short: str = ""
    """The title where there is room for ten letters."""
    open_ended: bool = False
    """Whether it is a lower bound for a trial whose load was stopped early."""

    def __call__(self, trial: Trial) -> float | None:
        return self.compute(trial)

    def form(self, value: float) -> str:
        """A value in words."""
        return self.quantity.form(value)


def find_workload_figure(name: str, of: Words) -> Figure:
    """The figure of this name; UsageError if there is none."""
    if "+" in name:
        return _sum_figures([find_workload_figure(part, of) for part in name.split("+")])
    family, _, rest = name.partition(".")
    made = (
        FIGURE_FAMILIES[family](rest, of)
        if family in FIGURE_FAMILIES
        else _make_instrument_figure(family, rest)
    )
    if made is None:
        raise UsageError(f"no figure {name!r}: {_format_known_figures(of)}")
    return made


def _sum_figures(parts: list[Figure]) -> Figure:
    """The sum of figures, which are amounts of one quantity; None where one is not known."""
    first, *others = parts
    if any(p.quantity != first.quantity for p in others):
        each = ", ".join(f"{p.name} ({p.quantity.name})" for p in parts)
        raise UsageError(f"no sum of figures of several quantities: {each}")

    def read(trial: Trial) -> float | None:
        values = [p(trial) for p in parts]
        known = [v for v in values if v is not None]
        return sum(known) if len(known) == len(values) else None

    title = " and ".join(p.title for p in parts)
    return Figure("+".join(p.name for p in parts), title, first.quantity, read, first.better)


def check_workload_figures(told: WorkloadWords) -> list[str]:
    """What is wrong with the figures that a workload's file names, each with its place."""
    of = workloadwords.make_words_from_declaration(told)
    named = {f"figures.{name}.over": figure.over for name, figure in told.figures.items()}
    named["headline.figure"] = told.headline.figure if told.headline else ""
    found = ((place, explain_unavailable_figure(name, of)) for place, name in named.items() if name)
    return [f"{place}: {wrong}" for place, wrong in found if wrong]


def explain_unavailable_figure(name: str, of: Words) -> str | None:
    """Why a figure can be had from no trial of the workload; None: it can."""
    return next(
        (why for part in name.split("+") if (why := _explain_undeclared_part(part, of))), None
    )


def _explain_undeclared_part(name: str, of: Words) -> str | None:
    family, _, rest = name.partition(".")
    kind = rest.partition(".")[0]
    operations = [o.name for o in of.operations]
    if family not in list_figure_families():
        return f"{name}: no figure begins so; they begin with {', '.join(list_figure_families())}"
    if family == "phase" and kind not in (known := [p.name for p in of.phases]):
        return f"{name}: no phase is called {kind}; there are: {', '.join(known) or 'none'}"
    if family == "latency" and kind == WRITES_GROUP and not any(o.writes for o in of.operations):
        return f"{name}: no operation says writes = true"
    if family == "latency" and kind not in (WRITES_GROUP, DURABLE_GROUP, *operations):
        return (
            f"{name}: no operation is called {kind}; there are: {', '.join(operations) or 'none'}"
        )
    try:
        find_workload_figure(name, of)
    except UsageError as e:
        return str(e)
    return None


def _format_known_figures(of: Words) -> str:
    phases = ", ".join(f"phase.{p.name}" for p in of.phases)
    own = ", ".join(f"own.{name}" for name in of.figures)
    return f"its workload has {', '.join(filter(None, [phases, own])) or 'no phases'}"


def make_host_memory_figure(share: float, title: str) -> Figure:
    """:func:`totals.host_memory` as a figure; it depends on the host, so no name stands for it."""
    return Figure(
        "", title, QUANTITIES["bytes"], partial(totals.find_host_memory_bytes, share=share), ""
    )


def _find_phase_figure(rest: str, of: Words) -> Figure | None:
    name, _, what = rest.partition(".")
    said = of.phase(name)
    make = partial(_make_figure, f"phase.{rest}")
    if not what:
        return make(
            said.title, "time", partial(totals.compute_phase_ns, phase=name), short=said.short
        )
    if what == "sync":
        return make(f"{said.title}'s sync", "time", partial(totals.find_phase_sync_ns, phase=name))
    if what == "per_s":

        def read(trial: Trial) -> float | None:
            operations = totals.count_phase_operations(trial, name)
            return totals.compute_rate_per_s(operations, totals.compute_phase_ns(trial, name))

        return make(f"{said.title}, operations/s", "per_s", read, better="more")
    if what in BYTE_RATE_DIRECTIONS:
        moved = partial(
            totals.compute_phase_bytes_per_s, phase=name, way=BYTE_RATE_DIRECTIONS[what]
        )
        return make(
            f"{said.title}, {BYTE_RATE_DIRECTIONS[what]}", "bytes_per_s", moved, better="more"
        )
    if what in CHIP_OPERATION_TITLES:
        title = f"{said.title}: {CHIP_OPERATION_TITLES[what]}"
        return make(
            title, "count", partial(totals.count_phase_chip_operations, phase=name, operation=what)
        )
    return None


def _find_time_figure(rest: str, of: Words) -> Figure | None:
    def read(trial: Trial) -> float | None:
        parts = [
            totals.compute_phase_ns(trial, name) for name in totals.list_measured_phase_names(trial)
        ]
        known = [p for p in parts if p is not None]
        return sum(known) if known and len(known) == len(parts) else None

    return None if rest else _make_figure("time", "time", "time", read)


def _find_step_figure(rest: str, of: Words) -> Figure | None:
    name, _, what = rest.partition(".")

    def read(trial: Trial) -> float | None:
        step = trial.step(name)
        if step is None or not what:
            return None if step is None else step.ns
        return None if step.chip is None else int(getattr(step.chip, what))

    if what and what not in CHIP_OPERATION_TITLES:
        return None
    title = f"{name}: {CHIP_OPERATION_TITLES[what]}" if what else name
    return _make_figure(f"step.{rest}", title, "count" if what else "time", read)


def _find_chip_figure(rest: str, of: Words) -> Figure | None:
    if rest == "amplification":
        return _make_figure(
            "chip.amplification", "write amplification", "ratio", totals.compute_write_amplification
        )
    if rest not in CHIP_OPERATION_TITLES:
        return None
    read = partial(totals.count_chip_operations, operation=rest)
    return _make_figure(f"chip.{rest}", CHIP_OPERATION_TITLES[rest], "count", read, short=rest)


def _find_instrument_wear_figure(rest: str) -> Figure | None:
    """Of the instrument: since the load's first step, or (all.) the first formatting included."""
    part, _, key = rest.partition(".")
    if part == "own" and key in wear.UBI_WEAR_FIGURES:
        own: FigureReader = lambda t: t.measured.get("wear", {}).get(rest)  # noqa: E731
        return _make_figure(f"wear.{rest}", wear.UBI_WEAR_FIGURES[key], "count", own)
    whole = part == "all"
    if (key if whole else rest) not in wear.EVENNESS_FIGURES:
        return None
    what = key if whole else rest
    title, quantity = wear.EVENNESS_FIGURES[what]

    def read(trial: Trial) -> float | None:
        found = (
            wear.compute_all_erase_evenness(trial)
            if whole
            else wear.compute_load_erase_evenness(trial)
        )
        value = None if found is None else getattr(found, what)
        return None if value is None else float(value)

    title += ", formatting included" if whole else ""
    better = "" if what in ("never_share", "min") else "less"
    return _make_figure(f"wear.{rest}", title, quantity, read, better=better)


def _find_wear_figure(rest: str, of: Words) -> Figure | None:
    if rest not in wear.WEAR_SPREAD_FIGURES:
        return _find_instrument_wear_figure(rest)
    return _make_wear_spread_figure(rest)


def _make_wear_spread_figure(rest: str) -> Figure:
    title, value = wear.WEAR_SPREAD_FIGURES[rest]

    def read(trial: Trial) -> float | None:
        told = wear.compute_load_erase_spread(trial) or totals.find_erase_spread(trial)
        return None if told is None else value(told)

    return _make_figure(
        f"wear.{rest}", title, "count", read, short="spread" if rest == "spread" else ""
    )


def _find_blocks_figure(rest: str, of: Words) -> Figure | None:
    if rest not in CHIP_OPERATION_TITLES:
        return None
    read = partial(totals.count_operations_of_blocks, operation=rest)
    return _make_figure(
        f"blocks.{rest}", f"{CHIP_OPERATION_TITLES[rest]} in all", "count", read, short=rest
    )


def _find_bytes_figure(rest: str, of: Words) -> Figure | None:
    direction, _, per_s = rest.partition(".")
    if direction not in ("read", "written") or per_s not in ("", "per_s"):
        return None
    if per_s:
        read = partial(totals.compute_load_bytes_per_s, direction=direction)
        return _make_figure(
            f"bytes.{rest}", f"data {direction}", "bytes_per_s", read, better="more"
        )
    return _make_figure(
        f"bytes.{rest}", f"data {direction}", "bytes", lambda t: t.bytes.get(direction), better=""
    )


def _find_latency_figure(rest: str, of: Words) -> Figure | None:
    kind, _, percentile = rest.partition(".")
    if percentile not in PERCENTILES:
        return None
    shown = percentile.replace("_", ".")
    if kind == WRITES_GROUP:
        title = f"{shown} of writes"
    elif kind == DURABLE_GROUP:
        title = f"{shown} of durable operations"
    else:
        title = f"{of.operation(kind).title or kind} {shown}"

    def read(trial: Trial) -> float | None:
        kinds = expand_operation_kind(kind, of, trial)
        found = [trial.latency_ns.get(k) for k in kinds]
        known = [float(getattr(f, percentile)) for f in found if f is not None]
        return max(known) if known and len(known) == len(kinds) else None

    return _make_figure(f"latency.{rest}", title, "time", read)


def _find_state_figure(rest: str, of: Words) -> Figure | None:
    if rest not in ("before", "valid", "invalid", "programmed"):
        return None

    def read(trial: Trial) -> float | None:
        shares = trial.state.obtained
        value = None if shares is None else getattr(shares, rest)
        return None if value is None else float(value)

    return _make_figure(f"state.{rest}", f"obtained: {rest}", "share", read, better="")


IMAGE_FIGURES = {"pages": ("image, pages", "count"), "bytes": ("image, bytes", "bytes")}
"""What is told of an image, in which quantity."""


def _find_image_figure(rest: str, of: Words) -> Figure | None:
    if rest not in IMAGE_FIGURES:
        return None
    title, quantity = IMAGE_FIGURES[rest]

    def read(trial: Trial) -> float | None:
        image = trial.image
        if image is None or image.pages is None or image.own_header_pages is None:
            return None
        return image.pages - image.own_header_pages if rest == "pages" else image.bytes

    return _make_figure(f"image.{rest}", title, quantity, read, short="image")


def _find_life_figure(rest: str, of: Words) -> Figure | None:
    if rest not in life.LIFE_FIGURES:
        return None
    told = life.LIFE_FIGURES[rest]
    quantity = QUANTITIES[told.quantity]
    name = f"life.{rest}"
    return Figure(
        name, told.title, quantity, told.compute, told.better, told.short, told.open_ended
    )


def _find_energy_figure(rest: str, of: Words) -> Figure | None:
    made = energyfigures.find_energy_figure(rest, of)
    if made is None:
        return None
    return _make_figure(f"energy.{rest}", made.title, "energy", made.compute, short=made.short)


def _find_moment_figure(
    family: str, find_in: Callable[[str], readyfigures.MomentFigure | None], rest: str, of: Words
) -> Figure | None:
    made = find_in(rest)
    if made is None:
        return None
    return _make_figure(
        f"{family}.{rest}", made.title, made.quantity, made.compute, better=made.better
    )


def _find_own_figure(rest: str, of: Words) -> Figure | None:
    said = of.figures.get(rest)
    if said is None:
        return None
    over = find_workload_figure(said.over, of) if said.over else None

    def read(trial: Trial) -> float | None:
        value = trial.parameters.get(said.parameter) if said.parameter else trial.figures.get(rest)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return totals.compute_rate_per_s(value, over(trial)) if over else value

    quantity = QUANTITIES[said.unit]
    name = f"own.{rest}"
    return Figure(name, said.title, quantity, read, said.better, said.short, said.open_ended)


def _make_instrument_figure(instrument: str, key: str) -> Figure | None:
    def read(trial: Trial) -> float | None:
        return trial.measured.get(instrument, {}).get(key)

    if not key:
        return None
    told = load_instruments().get(instrument) or InstrumentModel(name="other", summary="")
    quantity = QUANTITY_BY_ENDING.get(key.rpartition("_")[2], told.quantity)
    figure = told.figures.get(key) or InstrumentFigure(better=told.better)
    name, title = f"{instrument}.{key}", f"{instrument}, {key}"
    return _make_figure(name, title, quantity, read, better=figure.better, short=figure.short)


def list_figure_families() -> list[str]:
    """What a figure's name may begin with: families of figures, and instruments."""
    return [*dict.fromkeys((*FIGURE_FAMILIES, *load_instruments()))]


FIGURE_FAMILIES: dict[str, Callable[[str, Words], Figure | None]] = {
    "phase": _find_phase_figure,
    "time": _find_time_figure,
    "step": _find_step_figure,
    "chip": _find_chip_figure,
    "wear": _find_wear_figure,
    "blocks": _find_blocks_figure,
    "bytes": _find_bytes_figure,
    "latency": _find_latency_figure,
    "image": _find_image_figure,
    "state": _find_state_figure,
    "life": _find_life_figure,
    "energy": _find_energy_figure,
    "ready": partial(_find_moment_figure, "ready", readyfigures.find_ready_figure),
    "power": partial(_find_moment_figure, "power", readyfigures.find_power_cut_figure),
    "own": _find_own_figure,
}


def _make_figure(
    name: str,
    title: str,
    quantity: str,
    read: FigureReader,
    *,
    better: str = "less",
    short: str = "",
) -> Figure:
    return Figure(name, title, QUANTITIES[quantity], read, better, short)
