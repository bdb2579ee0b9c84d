# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the report: what stands behind each chart, and the overview above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nandlab.analysis import answers, figures, lifetime
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.results.record import OPERATIONS, Trial

RANGE_NOTE = (
    "Medians over the trials, and from the least to the greatest; each links to the trial that has"
    " it, a median to the trial nearest it."
)


@dataclass(frozen=True)
class Part:
    """Some words of a cell, and the id of the trial whose own figure they are."""

    text: str
    trial: str | None = None


@dataclass(frozen=True)
class Value:
    """What a cell says, and below it, smaller, how far the trials lie apart."""

    middle: Part
    extent: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        extent = "".join(p.text for p in self.extent)
        return f"{self.middle.text} ({extent})" if extent else self.middle.text


Cell = Callable[[Ensemble], Value]
Column = tuple[str, Cell]
MISSING = Value(Part(units.MISSING))


@dataclass(frozen=True)
class TableRow:
    subject: str
    state: str
    count: str
    cells: list[Value]
    trials: list[str]
    """Ids of the trials behind the cells."""


@dataclass(frozen=True)
class Table:
    """A row an ensemble, a column a figure."""

    head: list[str]
    rows: list[TableRow]


def table(ensembles: Sequence[Ensemble], columns: Sequence[Column]) -> Table:
    """A row an ensemble: what it is, how many trials ended well, the columns, the trials."""
    rows = [
        TableRow(
            e.subject, e.state, count(e), [cell(e) for _, cell in columns], [t.id for t in e.trials]
        )
        for e in ensembles
    ]
    return Table([title for title, _ in columns], rows)


def count(e: Ensemble) -> str:
    """Trials that ended well, and of how many where that differs."""
    return f"{len(e.ok)}" if len(e.ok) == len(e.trials) else f"{len(e.ok)} of {len(e.trials)}"


def cell(figure: Callable[[Trial], float | None], form: Callable[[float], str]) -> Cell:
    """Median and range of a figure, each with its trial; or a dash."""

    def value(e: Ensemble) -> Value:
        found = e.spread(figure)
        if found is None:
            return MISSING
        trials = {t.id: v for t in e.ok if (v := figure(t)) is not None}
        nearest = {at: min(trials, key=lambda i: abs(trials[i] - at)) for at in found.marks}
        low, middle, high = (Part(form(at), nearest[at]) for at in found.marks)
        if found.n == 1:
            return Value(middle)
        if low.text == high.text:
            return Value(middle, (Part(found.extent(form)),))
        return Value(middle, (low, Part(" to "), high))

    return value


def spread_cell(figure: Callable[[Ensemble], Spread | None], form: Callable[[float], str]) -> Cell:
    """The same of a figure that an ensemble has as a whole: no single trial has it."""
    return lambda e: spread_value(figure(e), form)


def spread_value(found: Spread | None, form: Callable[[float], str]) -> Value:
    """Median and range, or a dash."""
    if found is None:
        return MISSING
    extent = (Part(found.extent(form)),) if found.n > 1 else ()
    return Value(Part(found.middle(form)), extent)


def text_cell(text: Callable[[Ensemble], str | None]) -> Cell:
    """Words, or a dash."""
    return lambda e: Value(Part(text(e) or units.MISSING))


def overview(setting: Setting) -> Table:
    """What decides: time, wear, evenness, tail, mount, memory and ageing of each configuration.

    Where chips were worn out: how long each lived, what died, and with what wear.
    """
    if setting.lifetime:
        return table(setting.ensembles, _life_columns())
    columns: list[Column] = [*_cost_columns(), ("worst p99", _worst)]
    columns.append(("mount", cell(partial(figures.step_ns, step="mount"), units.time)))
    if setting.has_memory:
        columns += [
            (f"memory, {key}", cell(partial(figures.memory, key=key), units.size))
            for key in ("mounted", "peak")
        ]
    if answers.aged_states(setting):
        columns.append(("time against fresh", partial(_against_fresh, setting)))
    return table(setting.ensembles, columns)


def _cost_columns() -> list[Column]:
    return [
        ("transactions", cell(partial(figures.total_ns, phase="transactions"), units.time)),
        ("block erases", cell(partial(figures.chip_total, operation="erases"), units.count)),
        ("wear spread", cell(figures.wear_spread, units.count)),
    ]


def behind(setting: Setting, chart: str) -> Table:
    """The table under the chart of this name (``time``, ``flash``, ...)."""
    columns: dict[str, Callable[[], list[Column]]] = {
        "time": _time_columns,
        "throughput": _throughput_columns,
        "flash": _flash_columns,
        "latency": _latency_columns,
        "deaths": _deaths_columns,
        "wear-map": partial(_wear_columns, setting),
        "wear-histogram": partial(_wear_columns, setting),
        "ageing": lambda: _ageing_columns(setting),
        "state": _state_columns,
        "surface": lambda: [
            *_cost_columns(),
            ("write amplification", cell(figures.write_amplification, units.ratio)),
            *_state_columns(),
        ],
    }
    return table(setting.ensembles, columns[chart]())


def _time_columns() -> list[Column]:
    columns: list[Column] = []
    for phase in figures.TIMED:
        columns.append(
            (f"{phase} + sync", cell(partial(figures.total_ns, phase=phase), units.time))
        )
        columns.append((f"{phase}'s sync", cell(partial(figures.sync_ns, phase=phase), units.time)))
    columns += [(s, cell(partial(figures.step_ns, step=s), units.time)) for s in figures.STEPS]
    return columns


def _throughput_columns() -> list[Column]:
    return [
        ("transactions/s", cell(figures.transactions_per_s, units.count)),
        *(
            (f"{p}, operations/s", cell(partial(figures.operations_per_s, phase=p), units.count))
            for p in figures.TIMED
        ),
        ("read", cell(partial(figures.bytes_per_s, direction="read"), units.rate)),
        ("written", cell(partial(figures.bytes_per_s, direction="written"), units.rate)),
    ]


def _flash_columns() -> list[Column]:
    columns: list[Column] = [
        (f"{p}: {o}", cell(partial(figures.chip_operations, phase=p, operation=o), units.count))
        for p in figures.TIMED
        for o in figures.CHIP_OPERATIONS
    ]
    return [*columns, ("write amplification", cell(figures.write_amplification, units.ratio))]


def _latency_columns() -> list[Column]:
    return [
        (
            f"{o} {p.replace('_', '.')}",
            cell(partial(figures.latency_ns, operation=o, percentile=p), units.time),
        )
        for o in OPERATIONS
        for p in figures.PERCENTILES
    ]


def _life_columns() -> list[Column]:
    return [
        ("data written", spread_cell(lifetime.written, units.size)),
        ("first block dead after", spread_cell(lifetime.first_death, units.size)),
        ("dead blocks", spread_cell(lifetime.dead_blocks, units.count)),
        ("write amplification", spread_cell(lifetime.amplification, units.ratio)),
        ("wear used", spread_cell(lifetime.wear_used, units.percent)),
        ("gave up", text_cell(lifetime.ended)),
    ]


def _deaths_columns() -> list[Column]:
    return [
        *_life_columns(),
        ("whole rounds", cell(figures.rounds, units.count)),
        ("board time", cell(partial(figures.life_total, total="t_ns"), units.time)),
        ("page programs", cell(partial(figures.life_total, total="programs"), units.count)),
        ("block erases", cell(partial(figures.life_total, total="erases"), units.count)),
        *(
            (f"host memory, {when}", cell(partial(figures.host_memory, share=share), units.size))
            for when, share in (("halfway", 0.5), ("at the end", 1.0))
        ),
        ("how it ended", text_cell(lambda e: "; ".join(lifetime.endings(e)))),
    ]


def _wear_columns(setting: Setting) -> list[Column]:
    total = figures.life_total if setting.lifetime else figures.chip_total
    return [
        ("block erases", cell(lambda t: total(t, "erases"), units.count)),
        *(
            (f"per block: {name}", cell(partial(_wear, key=key), units.count))
            for key, name in (
                ("mean", "mean"),
                ("stddev", "standard deviation"),
                ("min", "least"),
                ("max", "most"),
            )
        ),
        ("wear spread", cell(figures.wear_spread, units.count)),
    ]


def _wear(trial: Trial, key: str) -> float | None:
    wear = figures.erases_per_block(trial)
    return None if wear is None else float(getattr(wear, key))


def _ageing_columns(setting: Setting) -> list[Column]:
    return [
        ("transaction time", partial(_against_fresh, setting)),
        *(
            (o, partial(_against_fresh, setting, figure=partial(figures.chip_total, operation=o)))
            for o in ("programs", "erases")
        ),
    ]


def _against_fresh(
    setting: Setting, e: Ensemble, figure: Callable[[Trial], float | None] | None = None
) -> Value:
    figure = figure or partial(figures.total_ns, phase="transactions")
    found = answers.ageing_ratio(setting, e.subject, e.state, figure)
    return spread_value(found, units.ratio)


def _worst(e: Ensemble) -> Value:
    tail = answers.worst_tail(e)
    if tail is None:
        return MISSING
    operation = tail[0]
    p99 = cell(partial(figures.latency_ns, operation=operation, percentile="p99"), units.time)(e)
    return replace(p99, middle=replace(p99.middle, text=f"{operation}: {p99.middle.text}"))


def _state_columns() -> list[Column]:
    asked: list[Column] = [
        (f"asked: {key}", text_cell(partial(_asked, key=key)))
        for key in ("valid", "invalid", "mix")
    ]
    obtained: list[Column] = [
        (f"obtained: {key}", cell(partial(_obtained, key=key), units.percent))
        for key in ("before", "valid", "invalid", "programmed")
    ]
    return [*asked, *obtained]


def _asked(e: Ensemble, key: str) -> str:
    return units.percent(getattr(e.first.state, key))


def _obtained(trial: Trial, key: str) -> float | None:
    shares = trial.state.obtained
    value = None if shares is None else getattr(shares, key)
    return None if value is None else float(value)
