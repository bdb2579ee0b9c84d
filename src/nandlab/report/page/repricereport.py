# SPDX-License-Identifier: GPL-2.0-or-later
"""Times foretold for other parts: as text, as JSON, and as a chart of time over part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from nandlab.analysis.differences import reprice
from nandlab.analysis.differences.reprice import TimePrediction, load_repricing_accuracy
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel
from nandlab.report.charts import layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.tables.sheets import Number, align_columns

PredictionTable = Mapping[str, Sequence[Sequence[TimePrediction]]]
"""Part -> for each ensemble of the setting what is foretold: nothing if no trial ended well."""
PREDICTION_NOTE = (
    "Predicted from the operations that were counted; nothing was run on another part."
)
BY_PHASES_NOTE = (
    "Work that runs in the background moves between phases: the sum is surer than a phase."
)
NO_PERCENTILES_NOTE = "Percentiles are not foretold: what one call did on the flash is not counted."
TABLE_HEAD = ("", "measured", "predicted", "ratio", "")
CHART_NOTE = "Full points were measured. The line through a point is the range of the members."
POINT_SHAPES = tuple(dict.fromkeys(shape for shape, _ in looks.MARK_SHAPES))
"""They tell the configurations of one file system apart: fill tells what was measured."""
NO_TRIAL_CELLS = (units.MISSING, units.MISSING, units.MISSING, "no trial ended well")


class TimeMarks(StrictModel):
    """A time over an ensemble, ns."""

    min: Number
    median: Number
    max: Number


class TimeRange(StrictModel):
    """A time that is foretold over an ensemble, ns."""

    min: Number
    median: Number | None = Field(description="null: a range alone is told")
    max: Number


class TimePredictionRecord(StrictModel):
    """A time on another part, foretold."""

    predicted: Literal[True]
    setting: FreeText
    configuration: FreeText
    part: Line
    phase: Line | None = Field(description="null: all timed phases")
    measured_ns: TimeMarks
    predicted_ns: TimeRange | None = Field(description="null: not even a range is told")
    trials: int
    ratio: float | None
    doubt: FreeText | None
    off_max_seen: float | None = Field(
        description="the most that a total was off where parts were run, a share; null: not known"
    )


def render_prediction_tables(
    setting: Setting, table: PredictionTable, *, phases: bool
) -> Iterator[str]:
    """A table for each ensemble; phases: each phase too, not only their sum."""
    yield f"{setting.title}, measured on {setting.chip.part}"
    for i, ensemble in enumerate(setting.ensembles):
        rows: list[tuple[str, ...]] = [TABLE_HEAD]
        for part, found in table.items():
            rows += [] if found[i] else [(part, *NO_TRIAL_CELLS)]
            shown = [one for one in found[i] if phases or not one.phase]
            rows += [_make_row(part, setting, one, phases=phases) for one in shown]
        yield ""
        yield ensemble.label
        yield format_prediction_doubt(ensemble)
        yield from align_columns(rows, (0, len(TABLE_HEAD) - 1))


def format_prediction_doubt(ensemble: Ensemble) -> str:
    """How far what is foretold for a configuration may be off, in a line."""
    accuracy = load_repricing_accuracy(ensemble.first.filesystem)
    if accuracy is None:
        return "How far it is off is not known: nobody ran what was foretold for this file system."
    off = _format_percent(accuracy.off)
    sentence = (
        f"Where parts were run, a total was up to {off} off: {accuracy.why}; {accuracy.source}."
    )
    if accuracy.evened is None:
        return sentence
    moments, off_crossed = accuracy.evened.moments, _format_percent(accuracy.evened.off)
    if reprice.has_enough_start_moments(ensemble):
        medians = f"The medians of {moments} moments of a seed, as here"
        return f"{sentence} {medians}, were up to {off_crossed} off."
    return (
        f"{sentence} So a range alone is told. Begin each seed at {moments} moments for a figure: "
        f'ensemble = "crossed", and {moments} phase_offsets_ms. '
        f"Then it was up to {off_crossed} off."
    )


def _format_error_in_short(ensemble: Ensemble) -> str:
    """The same on a chart."""
    seen = reprice.find_greatest_repricing_error(ensemble)
    off = f"totals were up to {_format_percent(seen)} off" if seen else "not known how far off"
    return f"{ensemble.first.filesystem_title}: {off}"


def _format_percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _make_row(
    part: str, setting: Setting, prediction: TimePrediction, *, phases: bool
) -> tuple[str, ...]:
    phase = setting.words.phase(prediction.phase).title if prediction.phase else "all"
    predicted = (
        prediction.predicted.brief(units.format_time) if prediction.figure else units.MISSING
    )
    if prediction.ranged and not prediction.figure:
        predicted = prediction.predicted.extent(units.format_time)
    measured, ratio = (
        prediction.measured.brief(units.format_time),
        units.format_ratio(prediction.ratio),
    )
    return (f"{part}: {phase}" if phases else part, measured, predicted, ratio, prediction.doubt)


def list_prediction_records(
    setting: Setting, table: PredictionTable
) -> Iterator[TimePredictionRecord]:
    """A record for each part, ensemble and phase."""
    for part, part_predictions in table.items():
        for ensemble, predictions in zip(setting.ensembles, part_predictions, strict=True):
            for prediction in predictions:
                low, middle, high = prediction.measured.marks
                yield TimePredictionRecord(
                    predicted=True,
                    setting=setting.title,
                    configuration=ensemble.label,
                    part=part,
                    phase=prediction.phase or None,
                    measured_ns=TimeMarks(min=low, median=middle, max=high),
                    predicted_ns=_make_predicted_range(prediction),
                    trials=prediction.measured.n,
                    ratio=prediction.ratio,
                    doubt=prediction.doubt or None,
                    off_max_seen=prediction.off,
                )


def _make_predicted_range(one: TimePrediction) -> TimeRange | None:
    low, middle, high = one.predicted.marks
    median = middle if one.figure else None
    return TimeRange(min=low, median=median, max=high) if one.ranged else None


def render_prediction_chart(setting: Setting, table: PredictionTable, name: str) -> Chart:
    """Time over part: full what was measured on its own part, hollow what is foretold."""
    mark_looks = looks.choose_mark_looks([(e.first.filesystem, e.label) for e in setting.ensembles])
    points = []
    for i, (ensemble, look) in enumerate(zip(setting.ensembles, mark_looks, strict=True)):
        earlier_count = sum(other.colour == look.colour for other in mark_looks[:i])
        shape = POINT_SHAPES[earlier_count % len(POINT_SHAPES)]
        look_fields = {"label": ensemble.label, "colour": look.colour, "shape": shape}
        totals = {
            part: _find_total(part_predictions[i]) for part, part_predictions in table.items()
        }
        known_totals = {part: total for part, total in totals.items() if total is not None}
        for total in list(known_totals.values())[:1]:
            points.append(
                look_fields | _make_point(f"{setting.chip.part} (measured)", total.measured)
            )
        points += [
            look_fields | _make_point(part, total.predicted, figure=total.figure)
            for part, total in known_totals.items()
            if total.ranged
        ]
    doubts = dict.fromkeys(f"{e.subject}: {format_prediction_doubt(e)}" for e in setting.ensembles)
    title, caption = (
        f"Time over part: {setting.title}",
        " ".join([PREDICTION_NOTE, CHART_NOTE, *doubts]),
    )
    offs = [*dict.fromkeys(_format_error_in_short(e) for e in setting.ensembles)]
    wide, narrow = (_make_spec(width, points, offs) for width in (layout.WIDE, layout.NARROW))
    return Chart(name, title, caption, {"points": points}, wide, narrow)


def _find_total(found: Sequence[TimePrediction]) -> TimePrediction | None:
    return next((one for one in found if not one.phase), None)


def _make_point(part: str, found: Spread, *, figure: bool = True) -> dict[str, Any]:
    """figure: else the line alone is drawn."""
    low, mid, high = (v / 1e9 for v in found.marks)
    return {"part": part, "low": low, "mid": mid if figure else None, "high": high}


def _make_spec(width: float, points: Sequence[Mapping[str, Any]], offs: Sequence[str]) -> VegaSpec:
    labels = {p["label"]: p for p in points}
    parts = [*dict.fromkeys(p["part"] for p in points)]
    legend = {"title": None, "orient": "top", "columns": 1 if width == layout.NARROW else 3}

    def by_label(of: str) -> dict[str, Any]:
        scale = {"domain": list(labels), "range": [p[of] for p in labels.values()]}
        return {"field": "label", "type": "nominal", "scale": scale, "legend": legend}

    scale = {"type": "log", "nice": False, "padding": 12}
    title = ["Time, s", "full: measured; hollow: predicted", *offs]
    x = {"type": "quantitative", "scale": scale, "title": title}
    lines_of = {"labelExpr": "split(datum.label, / with |, /)", "labelLimit": 185}
    y = {"field": "part", "type": "nominal", "sort": parts, "title": None, "axis": lines_of}
    where = {
        "y": y,
        "yOffset": {"field": "label", "sort": list(labels)},
        "color": by_label("colour"),
    }
    measured = {"condition": {"test": f"datum.part === {parts[0]!r}", **by_label("colour")}}
    point = {
        "transform": [{"filter": "isValid(datum.mid)"}],
        "mark": {"type": "point", "size": 50, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": "mid", **x},
            "shape": by_label("shape"),
            "fill": {**measured, "value": "transparent"},
            **where,
        },
    }
    rule = {
        "mark": {"type": "rule", "strokeWidth": 1.2},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, **where},
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"name": "points"},
        "width": width - 190,
        "height": {"step": 9, "for": "offset"},
        "layer": [rule, point],
        "config": layout.VEGA_CONFIG,
    }
