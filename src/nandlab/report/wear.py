# SPDX-License-Identifier: GPL-2.0-or-later
"""The two wear charts: a map of erases per block, and their histogram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nandlab.analysis.groups import Setting
from nandlab.analysis.spread import spread
from nandlab.analysis.views import view
from nandlab.analysis.wear import load_erases, placed
from nandlab.base import units
from nandlab.report import layout, pngmap, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import Axis, Data, Row
from nandlab.report.specs import Drawn
from nandlab.results.record import Trial

BINS_MAX = 24
MAP_STEP = 24
"""Height in px of a map row; its trials share it."""


def drawn_map(setting: Setting) -> Drawn | None:
    """A map of erases; None when no trial kept its counts per block."""
    return _drawn(setting, _map)


def drawn_histogram(setting: Setting) -> Drawn | None:
    """Blocks by erases; None as above."""
    return _drawn(setting, _histogram)


def _drawn(
    setting: Setting, draw: Callable[[Setting, Sequence[Row], dict[str, list[Trial]]], Chart]
) -> Drawn | None:
    rows = layout.rows(setting)
    kept = {r.key: _kept(r) for r in rows}
    if not any(kept.values()):
        return None
    names = ("mean", "stddev", "least", "most", "spread")
    figures = [view(setting).erases, *(f"wear.{name}" for name in names)]
    columns = [tables.figure(setting.figure(name)) for name in figures]
    return Drawn(draw(setting, rows, kept), tables.table(setting.ensembles, columns))


def _kept(row: Row) -> list[Trial]:
    """Trials with counts per block; all of a setting have the same number of blocks."""
    blocks = row.ensemble.first.chip.blocks
    return [t for t in row.ensemble.ok if len(_erases(t)) == blocks]


def _erases(trial: Trial) -> Sequence[int]:
    """By block: as the workload told, or as the instrument wear read since the load's begin."""
    if trial.per_block:
        return trial.per_block.erases
    return placed(trial.wear, load_erases(trial.wear)) if trial.wear else []


def _map(setting: Setting, rows: Sequence[Row], kept: dict[str, list[Trial]]) -> Chart:
    """A strip a configuration, a line of pixels a trial, one colour scale for all."""
    erases = [n for trials in kept.values() for t in trials for n in _erases(t)]
    largest = max(erases)
    read = view(setting)
    least = min((n for n in erases if n), default=1) if read.worn else 1
    images, absent, step = [], [], 1
    for row in rows:
        if not kept[row.key]:
            absent.append({**row.looks(), "text": "no counts per block"})
            continue
        lines, step = pngmap.narrowed(np.array([_erases(t) for t in kept[row.key]], dtype=np.int64))
        uri = pngmap.data_uri(pngmap.png(pngmap.indexed(lines, largest, least)))
        images.append({"row": row.key, "url": uri, "block": 0, "erases": largest})

    def build(axis: Axis, width: float) -> Spec:
        view = _map_view(axis, width - axis.room - 20, setting.chip.blocks, (least, largest))
        return {
            "$schema": layout.SCHEMA,
            "config": layout.CONFIG,
            "background": "transparent",
            **view,
        }

    wide, narrow, headers = layout.both_widths(rows, build)
    coarse = f" A column is the most erased of {step} neighbouring blocks." if step > 1 else ""
    caption = (
        f"Erases of each block over {read.span}: a strip is a configuration, each line of "
        f"pixels in it a trial, left to right the blocks of the partition.{coarse} Grey was never "
        "erased."
    )
    data: Data = {"images": images, "absent": absent, **headers}
    return Chart(f"{setting.slug}-wear-map", "Wear map", caption, data, wide, narrow)


def _map_view(axis: Axis, width: float, blocks: int, ends: tuple[int, int]) -> Spec:
    least, largest = ends
    y = axis.y()
    scale = {"domain": [0, blocks], "nice": False}
    x: Spec = {
        "field": "block",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": "block of the partition", "grid": False, "format": ",d"},
    }
    image = {
        "type": "image",
        "width": width,
        "height": axis.band(MAP_STEP),
        "align": "left",
        "aspect": False,
        "smooth": False,
    }
    legend = {
        "title": "erases of a block (logarithmic)",
        "orient": "top",
        "offset": 4,
        "direction": "horizontal",
        "gradientLength": min(220, width - 20),
        "values": pngmap.ticks(largest, least),
        "format": ",d",
    }
    ramp = {"type": "log", "domain": pngmap.domain(largest, least), "range": pngmap.hex_ramp()}
    colour: Spec = {"field": "erases", "type": "quantitative", "scale": ramp, "legend": legend}
    url: Spec = {"field": "url", "type": "nominal"}

    def layer(data: str, mark: Spec, **encoding: Spec) -> Spec:
        return {"data": {"name": data}, "mark": mark, "encoding": {"y": y, **encoding}}

    return {
        "width": width,
        "height": axis.height(MAP_STEP),
        "layer": [
            layer("images", image, x=x, url=url),
            layer("images", {"type": "point", "opacity": 0}, x=x, color=colour),
            *axis.header_layers(),
            layer("absent", layout.NOTE, x={"value": 2}, text={"field": "text"}),
        ],
    }


def _histogram(setting: Setting, rows: Sequence[Row], kept: dict[str, list[Trial]]) -> Chart:
    """Blocks by erases: bars are medians over the trials, lines their ranges."""
    shown = [r for r in rows if kept[r.key]]
    bins = []
    for row in shown:
        bins += [{**row.looks(), **b} for b in _bins([_erases(t) for t in kept[row.key]])]

    def build(axis: Axis, width: float) -> Spec:
        per_line, each = layout.columns(len(shown), width, 44)
        each -= 20
        views = [_histogram_view(r, each, bins) for r in shown]
        return {**layout.concat(views, per_line), "bounds": "full", "spacing": layout.GAP}

    wide, narrow, _ = layout.both_widths(rows, build)
    caption = (
        "How many blocks were erased how often. A bar is the median over the trials, the line on "
        "it their range. Every panel has its own scales."
    )
    name = f"{setting.slug}-wear-histogram"
    return Chart(name, "Erases per block", caption, {"bins": bins}, wide, narrow)


def _bins(trials: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Bins of equal width in erases (1 where they fit), with the range of blocks in each."""
    low, high = min(map(min, trials)), max(map(max, trials))
    width = -(-(high - low + 1) // BINS_MAX)
    counts = [Counter((e - low) // width for e in erases) for erases in trials]
    bins = []
    for i in range((high - low) // width + 1):
        blocks = spread(c[i] for c in counts)
        if blocks is None:
            continue
        start, end = low + i * width, low + (i + 1) * width
        which = f"{start}" if width == 1 else f"{start} to {end - 1}"
        bins.append(
            {
                "start": start - 0.5,
                "end": end - 0.5,
                "middle": (start + end - 1) / 2,
                "zero": 0,
                "low": blocks.min,
                "mid": blocks.median,
                "high": blocks.max,
                "tip": f"{which} erases: {blocks.text(units.count)} blocks",
            }
        )
    return bins


def _histogram_view(row: Row, width: float, bins: Sequence[dict[str, Any]]) -> Spec:
    def axis(title: str, **more: object) -> Spec:
        return {"title": title, "format": ",d", **more}

    own = [b for b in bins if b["row"] == row.key]
    wide = axis("erases of a block", values=_whole_ticks(own, int(width / 34)), grid=False)
    scale = {"zero": False, "nice": False, "padding": 4}
    x: Spec = {"type": "quantitative", "scale": scale, "axis": wide}
    y: Spec = {"type": "quantitative", "axis": axis("blocks", tickCount=4)}
    fill = {"fillOpacity": 0.2 + 0.5 * row.shade, "stroke": row.colour, "strokeWidth": 0.6}
    bars: Spec = {
        "mark": {"type": "bar", "color": row.colour, **fill},
        "encoding": {
            "x": {**x, "field": "start"},
            "x2": {"field": "end"},
            "y": {**y, "field": "mid"},
            "y2": {"field": "zero"},
            "tooltip": layout.TIP,
        },
    }
    ranges: Spec = {
        "mark": {"type": "rule", "color": row.colour, "strokeWidth": 1.5},
        "encoding": {
            "x": {**x, "field": "middle"},
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "tooltip": layout.TIP,
        },
    }
    return {
        "title": {"text": layout.wrapped(row.ensemble.label, width + 30), "fontSize": 11.5},
        "width": width,
        "height": 130,
        "data": {"name": "bins"},
        "transform": [{"filter": f"datum.row === '{row.key}'"}],
        "layer": [bars, ranges],
    }


def _whole_ticks(bins: Sequence[dict[str, Any]], most: int) -> list[int]:
    """Whole erase counts to name on the axis, at most ``most`` of them."""
    low, high = int(bins[0]["start"] + 0.5), int(bins[-1]["end"] - 0.5)
    step = -(-(high - low + 1) // max(1, most))
    return list(range(low, high + 1, step))
