# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of one setting. A chart whose data was not measured is left out, never drawn empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nandlab.analysis import answers, figures
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.report import deaths, latency, layout, surface, wear
from nandlab.report.charts import Chart
from nandlab.report.layout import Panel, Row
from nandlab.results.record import Trial

Figure = Callable[[Trial], float | None]

PHASE_TITLES = {"creation": "Creation", "transactions": "Transactions", "deletion": "Deletion"}
OPERATION_TITLES = {"reads": "page reads", "programs": "page programs", "erases": "block erases"}
RANGE = "Each point is a trial, the line their range, the bar across it their median (written out)."


def charts(setting: Setting) -> list[Chart]:
    """The charts that the trials of this setting have data for, in the order of the report.

    Of a sweep over many states, its surface alone: rows for each state would fill metres.
    """
    swept = surface.chart(setting)
    if swept is not None:
        return [swept]
    rows = layout.rows(setting)
    built = [
        _times(setting, rows),
        _throughput(setting, rows),
        _flash(setting, rows),
        latency.chart(setting, rows),
        deaths.chart(setting, rows),
        *wear.charts(setting, rows),
        _ageing(setting, rows),
        _states(setting, rows),
    ]
    return [chart for chart in built if chart is not None]


@dataclass(frozen=True)
class About:
    """What stands round a chart; ``name`` also names its files."""

    name: str
    title: str
    caption: str


def _chart(
    setting: Setting, rows: Sequence[Row], panels: Sequence[Panel], about: About
) -> Chart | None:
    wide, narrow, data = layout.panels_chart(rows, panels)
    if not data["summary"]:
        return None
    return Chart(f"{setting.slug}-{about.name}", about.title, about.caption, data, wide, narrow)


def in_unit(rows: Sequence[Row], panel: Panel, sizes: units.Units) -> Panel:
    """The panel, its ns or bytes in the unit that fits the largest; ``{u}`` in ``axis`` is it."""
    values = [v for r in rows for t in r.ensemble.ok if (v := panel.figure(t)) is not None]
    unit, name = units.unit_for(max(values, default=0), sizes)
    return replace(
        panel,
        axis=panel.axis.format(u=name),
        figure=_scaled(panel.figure, unit),
        form=lambda v: panel.form(v * unit),
        part=_scaled(panel.part, unit) if panel.part else None,
    )


def _scaled(figure: Figure, unit: float) -> Figure:
    def value(trial: Trial) -> float | None:
        v = figure(trial)
        return None if v is None else v / unit

    return value


def plain(key: str, title: str, axis: str, figure: Figure) -> Panel:
    return Panel(key, title, axis, figure, units.count)


def _times(setting: Setting, rows: list[Row]) -> Chart | None:
    panels = [
        Panel(
            phase,
            title,
            "board time, {u}",
            partial(figures.total_ns, phase=phase),
            units.time,
            part=partial(figures.sync_ns, phase=phase),
        )
        for phase, title in PHASE_TITLES.items()
    ]
    caption = f"Time of each phase with its sync; the darker end of a bar is the sync. {RANGE}"
    panels = [in_unit(rows, p, units.TIME_UNITS) for p in panels]
    return _chart(setting, rows, panels, About("time", "Phase times", caption))


def _throughput(setting: Setting, rows: list[Row]) -> Chart | None:
    data = [
        Panel(key, title, "{u}/s", partial(figures.bytes_per_s, direction=key), units.rate)
        for key, title in (("read", "Data read"), ("written", "Data written"))
    ]
    panels = [
        plain("transactions", "Transactions", "transactions per s", figures.transactions_per_s),
        *(in_unit(rows, p, units.BYTE_UNITS) for p in data),
    ]
    caption = (
        "Per second of the board's clock. Transactions over the transactions phase; data over "
        f"creation and transactions; syncs included. {RANGE}"
    )
    return _chart(setting, rows, panels, About("throughput", "Throughput", caption))


def _flash(setting: Setting, rows: list[Row]) -> Chart | None:
    panels = [
        plain(
            f"{phase}-{operation}",
            f"{title}: {words}",
            words,
            partial(figures.chip_operations, phase=phase, operation=operation),
        )
        for phase, title in PHASE_TITLES.items()
        for operation, words in OPERATION_TITLES.items()
    ]
    caption = (
        "What the chip did in each phase, its sync included. Every panel has its own scale. "
        f"{RANGE}"
    )
    return _chart(setting, rows, panels, About("flash", "Flash operations", caption))


def _states(setting: Setting, rows: list[Row]) -> Chart | None:
    """Obtained shares as points; what was asked is written in the row's value."""
    if not any(t.state.obtained for r in rows for t in r.ensemble.ok):
        return None
    panels = [
        Panel(
            part,
            f"{part.capitalize()} pages",
            "% of the partition's pages",
            partial(_obtained, part=part),
            units.count,
            room=150,
            top=100,
        )
        for part in ("valid", "invalid")
    ]
    wide, narrow, data = layout.panels_chart(rows, panels)
    by_key = {r.key: r.ensemble.first.state for r in rows}
    for item in data["summary"]:
        asked = getattr(by_key[item["row"]], item["panel"]) * 100
        item["text"] = f"{item['mid']:.1f} %, asked {asked:g} %"
    caption = (
        "What the chip held before the timed phases, beside what was asked. The figures belong to "
        f"the obtained state. {RANGE}"
    )
    return Chart(f"{setting.slug}-state", "Asked and obtained state", caption, data, wide, narrow)


def _obtained(trial: Trial, part: str) -> float | None:
    shares = trial.state.obtained
    return None if shares is None else float(getattr(shares, part)) * 100


def _ageing(setting: Setting, rows: list[Row]) -> Chart | None:
    """Ratios have no trials of their own: a range that the two ensembles' ranges allow."""
    if not answers.aged_states(setting):
        return None
    aged = [r for r in rows if not r.ensemble.reference]
    panels = [
        Panel(
            name,
            title,
            "times the fresh figure",
            _no_trial,
            units.ratio,
            whole=_ratio_of(setting, figure),
        )
        for name, title, figure in (
            ("time", "Transaction time", partial(figures.total_ns, phase="transactions")),
            ("programs", "Page programs", partial(figures.chip_total, operation="programs")),
            ("erases", "Block erases", partial(figures.chip_total, operation="erases")),
        )
    ]
    caption = (
        "Each figure over the same file system's figure on fresh flash; 1 is no change. The line "
        "is the widest range that both ensembles allow, the bar across it the ratio of the medians."
    )
    return _chart(setting, aged, panels, About("ageing", "Ageing", caption))


def _ratio_of(setting: Setting, figure: Figure) -> Callable[[Ensemble], Spread | None]:
    return lambda e: answers.ageing_ratio(setting, e.subject, e.state, figure)


def _no_trial(_: Trial) -> float | None:
    return None
