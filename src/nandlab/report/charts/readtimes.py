# SPDX-License-Identifier: GPL-2.0-or-later
"""What each call that reads a page of a file takes beside the chip, over the pieces that the page
is in: as it was measured, as the model foretells it, and the tracing paper's one overhead."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from nandlab.flash.reading.reads import ReadCall
from nandlab.flash.reading.score import CallTimes
from nandlab.flash.reading.times import Instructions
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec

CHART_TITLE = "What a call takes beside the chip, over its pieces"
CHART_CAPTION = (
    "Each point is a call that reads a page of a file, without the tracers' own time and without "
    "the chip's, which is N times a page read. The lines are what nandlab's model foretells, the "
    "mean of calls with so many pieces, and the paper's one overhead, the mean of all."
)
MEASURED_LABEL, MODEL_LABEL, PAPER_LABEL = "measured", "nandlab's model", "the paper's one overhead"
LABEL_COLOURS = {MEASURED_LABEL: "#94a3b8", MODEL_LABEL: "#2b6cb0", PAPER_LABEL: "#c2410c"}


def render_read_call_times_chart(
    call_times: Sequence[CallTimes], instructions: Instructions, name: str
) -> Chart:
    """The calls that read a page of a file, of one trace; first opens are left out."""
    predicted_ns: dict[int, list[float]] = defaultdict(list)
    measured_ns: dict[int, list[float]] = defaultdict(list)
    for t in call_times:
        if isinstance(t.scored.call, ReadCall):
            pieces, chip = len(t.scored.call.pieces), t.chip_ns
            measured_ns[pieces].append(t.ns - chip)
            predicted_ns[pieces].append(t.compute_predicted_ns(instructions) - chip)
    overhead = statistics.fmean(ns for values in measured_ns.values() for ns in values)
    measured_points = {
        (pieces, round(ns / 1000, 1)) for pieces, values in measured_ns.items() for ns in values
    }
    points = [_make_point(pieces, us, MEASURED_LABEL) for pieces, us in sorted(measured_points)]
    lines = [
        _make_point(n, statistics.fmean(values) / 1000, MODEL_LABEL)
        for n, values in sorted(predicted_ns.items())
    ]
    lines += [_make_point(n, overhead / 1000, PAPER_LABEL) for n in sorted(predicted_ns)]
    wide, narrow = (_make_spec(width) for width in (layout.WIDE, layout.NARROW))
    return Chart(name, CHART_TITLE, CHART_CAPTION, {"points": points, "lines": lines}, wide, narrow)


def _make_point(pieces: int, us: float, what: str) -> dict[str, Any]:
    return {"pieces": pieces, "us": round(us, 1), "what": what}


def _make_spec(width: float) -> VegaSpec:
    x = {
        "field": "pieces",
        "type": "quantitative",
        "title": "Pieces of the page",
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    y = {"field": "us", "type": "quantitative", "title": "Time beside the chip, us"}
    colour = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(LABEL_COLOURS), "range": list(LABEL_COLOURS.values())},
        "legend": {"title": None, "orient": "top", "symbolOpacity": 1},
    }
    encoding = {"x": x, "y": y, "color": colour}
    points = {"mark": {"type": "circle", "size": 12, "opacity": 0.6}, "data": {"name": "points"}}
    lines = {"mark": {"type": "line", "strokeWidth": 1.6}, "data": {"name": "lines"}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": width - 90,
        "height": 300,
        "layer": [{**points, "encoding": encoding}, {**lines, "encoding": encoding}],
        "config": layout.VEGA_CONFIG,
    }
