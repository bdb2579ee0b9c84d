# SPDX-License-Identifier: GPL-2.0-or-later
"""The wear charts of blocks: a map of their erases, a histogram, and their distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.spread import compute_spread
from nandlab.analysis.figures.wear import count_load_erases_per_block, insert_zeros_for_bad_blocks
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.base import units
from nandlab.report.charts import layout, pngmap
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import ChartData, ChartRow, RowAxis
from nandlab.report.tables import tables
from nandlab.results.record import Trial

BINS_MAX = 24
COLUMNS = 256
"""Of a panel of the distribution: neighbouring blocks share one."""
MAP_STEP = 24
"""Height in px of a map row; its trials share it."""


def render_wear_map_chart(setting: Setting) -> ChartWithTable | None:
    """A map of erases; None when no trial kept its counts per block."""
    return _render_with_table(setting, _make_map_chart)


def render_wear_histogram_chart(setting: Setting) -> ChartWithTable | None:
    """Blocks by erases; None as above."""
    return _render_with_table(setting, _make_histogram_chart)


def render_wear_distribution_chart(setting: Setting) -> ChartWithTable | None:
    """Erases of the blocks in the order of the chip, a panel each configuration; None where the
    instrument wear measured no trial."""
    if not any(t.wear for e in setting.ensembles for t in e.ok):
        return None
    return _render_with_table(setting, _make_distribution_chart)


def _render_with_table(
    setting: Setting, draw: Callable[[Setting, Sequence[ChartRow], dict[str, list[Trial]]], Chart]
) -> ChartWithTable | None:
    rows = layout.make_chart_rows(setting)
    trials_by_row = {r.key: _list_counted_trials(r) for r in rows}
    if not any(trials_by_row.values()):
        return None
    names = ("mean", "stddev", "least", "most", "spread")
    figures = [find_setting_view(setting).erases, *(f"wear.{name}" for name in names)]
    columns = [tables.make_figure_column(setting.figure(name)) for name in figures]
    return ChartWithTable(
        draw(setting, rows, trials_by_row), tables.make_ensemble_table(setting.ensembles, columns)
    )


def _list_counted_trials(row: ChartRow) -> list[Trial]:
    """Trials with counts per block; all of a setting have the same number of blocks."""
    blocks = row.ensemble.first.chip.blocks
    return [t for t in row.ensemble.ok if len(_list_block_erases(t)) == blocks]


def _list_block_erases(trial: Trial) -> Sequence[int]:
    """By block: as the workload told, or as the instrument wear read since the load's begin."""
    if trial.per_block:
        return trial.per_block.erases
    return (
        insert_zeros_for_bad_blocks(trial.wear, count_load_erases_per_block(trial.wear))
        if trial.wear
        else []
    )


def _make_map_chart(
    setting: Setting, rows: Sequence[ChartRow], trials_by_row: dict[str, list[Trial]]
) -> Chart:
    """A strip a configuration, a line of pixels a trial, one colour scale for all."""
    erases = [n for trials in trials_by_row.values() for t in trials for n in _list_block_erases(t)]
    largest = max(erases)
    read = find_setting_view(setting)
    least = min((n for n in erases if n), default=1) if read.begins_at_least_worn else 1
    images, absent, step = [], [], 1
    for row in rows:
        if not trials_by_row[row.key]:
            absent.append({**row.looks(), "text": "no counts per block"})
            continue
        lines, step = pngmap.narrow_map_columns(
            np.array([_list_block_erases(t) for t in trials_by_row[row.key]], dtype=np.int64)
        )
        uri = pngmap.make_png_data_uri(
            pngmap.encode_indexed_png(pngmap.map_values_to_palette(lines, largest, least))
        )
        images.append({"row": row.key, "url": uri, "block": 0, "erases": largest})

    def build(axis: RowAxis, width: float) -> VegaSpec:
        view = _make_map_view(axis, width - axis.room - 20, setting.chip.blocks, (least, largest))
        return {
            "$schema": layout.VEGA_LITE_SCHEMA,
            "config": layout.VEGA_CONFIG,
            "background": "transparent",
            **view,
        }

    wide, narrow, headers = layout.make_specs_in_both_widths(rows, build)
    coarse = f" A column is the most erased of {step} neighbouring blocks." if step > 1 else ""
    caption = (
        f"Erases of each block over {read.span}: a strip is a configuration, each line of "
        f"pixels in it a trial, left to right the blocks of the partition.{coarse} Grey was never "
        "erased."
    )
    data: ChartData = {"images": images, "absent": absent, **headers}
    return Chart(f"{setting.slug}-wear-map", "Wear map", caption, data, wide, narrow)


def _make_map_view(axis: RowAxis, width: float, blocks: int, ends: tuple[int, int]) -> VegaSpec:
    least, largest = ends
    y = axis.y()
    scale = {"domain": [0, blocks], "nice": False}
    x: VegaSpec = {
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
        "values": pngmap.list_colour_ramp_ticks(largest, least),
        "format": ",d",
    }
    ramp = {
        "type": "log",
        "domain": pngmap.compute_colour_ramp_ends(largest, least),
        "range": pngmap.list_colour_ramp_hex(),
    }
    colour: VegaSpec = {"field": "erases", "type": "quantitative", "scale": ramp, "legend": legend}
    url: VegaSpec = {"field": "url", "type": "nominal"}

    def layer(data: str, mark: VegaSpec, **encoding: VegaSpec) -> VegaSpec:
        return {"data": {"name": data}, "mark": mark, "encoding": {"y": y, **encoding}}

    return {
        "width": width,
        "height": axis.height(MAP_STEP),
        "layer": [
            layer("images", image, x=x, url=url),
            layer("images", {"type": "point", "opacity": 0}, x=x, color=colour),
            *axis.header_layers(),
            layer("absent", layout.NOTE_MARK, x={"value": 2}, text={"field": "text"}),
        ],
    }


def _make_panel_specs(
    rows: Sequence[ChartRow],
    panel_rows: Sequence[ChartRow],
    make_view: Callable[[ChartRow, float], VegaSpec],
) -> tuple[VegaSpec, VegaSpec]:
    """The wide and the narrow form of a panel for each row that is shown; make_view takes the row
    and the panel's width in px."""

    def build(axis: RowAxis, width: float) -> VegaSpec:
        per_line, panel_width = layout.compute_panel_columns(len(panel_rows), width, 44)
        views = [make_view(row, panel_width - 20) for row in panel_rows]
        return {
            **layout.concatenate_panel_views(views, per_line),
            "bounds": "full",
            "spacing": layout.PANEL_GAP,
        }

    wide, narrow, _ = layout.make_specs_in_both_widths(rows, build)
    return wide, narrow


def _make_panel_view(
    row: ChartRow, width: float, data: str, layers: Sequence[VegaSpec]
) -> VegaSpec:
    """A panel with its title: layers of a row's part of the data."""
    return {
        "title": {"text": layout.wrap_title(row.ensemble.label, width + 30), "fontSize": 11.5},
        "width": width,
        "height": 130,
        "data": {"name": data},
        "transform": [{"filter": f"datum.row === '{row.key}'"}],
        "layer": [*layers],
    }


def _make_histogram_chart(
    setting: Setting, rows: Sequence[ChartRow], trials_by_row: dict[str, list[Trial]]
) -> Chart:
    """Blocks by erases: bars are medians over the trials, lines their ranges."""
    panel_rows = [r for r in rows if trials_by_row[r.key]]
    bins = []
    for row in panel_rows:
        bins += [
            {**row.looks(), **b}
            for b in _make_bins([_list_block_erases(t) for t in trials_by_row[row.key]])
        ]

    wide, narrow = _make_panel_specs(
        rows, panel_rows, lambda row, width: _make_histogram_view(row, width, bins)
    )
    caption = (
        "How many blocks were erased how often. A bar is the median over the trials, the line on "
        "it their range. Every panel has its own scales."
    )
    name = f"{setting.slug}-wear-histogram"
    return Chart(name, "Erases per block", caption, {"bins": bins}, wide, narrow)


def _make_distribution_chart(
    setting: Setting, rows: Sequence[ChartRow], trials_by_row: dict[str, list[Trial]]
) -> Chart:
    """A panel for each configuration: the most and the mean erases of each column of blocks."""
    panel_rows = [r for r in rows if trials_by_row[r.key]]
    columns = [
        {**row.looks(), **column}
        for row in panel_rows
        for column in _make_columns(_find_middle_trial(trials_by_row[row.key]))
    ]

    wide, narrow = _make_panel_specs(
        rows,
        panel_rows,
        lambda row, width: _make_distribution_view(row, width, setting.chip.blocks),
    )
    step = -(-setting.chip.blocks // COLUMNS)
    coarse = f"{step} neighbouring blocks share a column: " if step > 1 else ""
    caption = (
        f"Erases of the blocks in the order of the chip. {coarse}the bar is its most erased block, "
        "the dark line their mean. A panel is the trial with the middle mean of its configuration, "
        "and every panel has its own scale."
    )
    name = f"{setting.slug}-wear-distribution"
    return Chart(name, "Erases over the chip", caption, {"columns": columns}, wide, narrow)


def _find_middle_trial(trials: Sequence[Trial]) -> Sequence[int]:
    """The erases of the trial with the middle mean."""
    counted = sorted((_list_block_erases(t) for t in trials), key=sum)
    return counted[(len(counted) - 1) // 2]


def _make_columns(erases: Sequence[int]) -> list[dict[str, Any]]:
    """Neighbouring blocks together, so that there are at most :data:`COLUMNS`."""
    step = -(-len(erases) // COLUMNS)
    columns = []
    for first in range(0, len(erases), step):
        blocks = erases[first : first + step]
        mean, most = sum(blocks) / len(blocks), max(blocks)
        end = first + len(blocks)
        block_text = f"block {first}" if step == 1 else f"blocks {first} to {end - 1}"
        tip = f"{block_text}: {units.format_count(most)} erases at the most, {mean:.2f} in the mean"
        ends = {"first": first, "end": end, "zero": 0}
        columns.append({**ends, "most": most, "mean": mean, "tip": tip})
    return columns


def _make_distribution_view(row: ChartRow, width: float, blocks: int) -> VegaSpec:
    x: VegaSpec = {
        "field": "first",
        "type": "quantitative",
        "scale": {"domain": [0, blocks], "nice": False},
        "axis": {"title": "block of the partition", "format": ",d", "grid": False, "tickCount": 4},
    }
    y: VegaSpec = {
        "type": "quantitative",
        "axis": {"title": "erases of a block", "format": ",d", "tickCount": 4},
    }
    ends: VegaSpec = {"x": x, "x2": {"field": "end"}}
    bars: VegaSpec = {
        "mark": {"type": "bar", "color": row.colour, "fillOpacity": 0.35},
        "encoding": {
            **ends,
            "y": {**y, "field": "most"},
            "y2": {"field": "zero"},
            "tooltip": layout.TIP_ENCODING,
        },
    }
    means: VegaSpec = {
        "mark": {"type": "rule", "color": row.colour, "strokeWidth": 1.5},
        "encoding": {**ends, "y": {**y, "field": "mean"}},
    }
    return _make_panel_view(row, width, "columns", [bars, means])


def _make_bins(trials: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Bins of equal width in erases (1 where they fit), with the range of blocks in each."""
    low, high = min(map(min, trials)), max(map(max, trials))
    width = -(-(high - low + 1) // BINS_MAX)
    counts = [Counter((e - low) // width for e in erases) for erases in trials]
    bins = []
    for i in range((high - low) // width + 1):
        blocks = compute_spread(c[i] for c in counts)
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
                "tip": f"{which} erases: {blocks.text(units.format_count)} blocks",
            }
        )
    return bins


def _make_histogram_view(row: ChartRow, width: float, bins: Sequence[dict[str, Any]]) -> VegaSpec:
    def axis(title: str, **more: object) -> VegaSpec:
        return {"title": title, "format": ",d", **more}

    own = [b for b in bins if b["row"] == row.key]
    wide = axis("erases of a block", values=_list_whole_ticks(own, int(width / 34)), grid=False)
    scale = {"zero": False, "nice": False, "padding": 4}
    x: VegaSpec = {"type": "quantitative", "scale": scale, "axis": wide}
    y: VegaSpec = {"type": "quantitative", "axis": axis("blocks", tickCount=4)}
    fill = {"fillOpacity": 0.2 + 0.5 * row.shade, "stroke": row.colour, "strokeWidth": 0.6}
    bars: VegaSpec = {
        "mark": {"type": "bar", "color": row.colour, **fill},
        "encoding": {
            "x": {**x, "field": "start"},
            "x2": {"field": "end"},
            "y": {**y, "field": "mid"},
            "y2": {"field": "zero"},
            "tooltip": layout.TIP_ENCODING,
        },
    }
    ranges: VegaSpec = {
        "mark": {"type": "rule", "color": row.colour, "strokeWidth": 1.5},
        "encoding": {
            "x": {**x, "field": "middle"},
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "tooltip": layout.TIP_ENCODING,
        },
    }
    return _make_panel_view(row, width, "bins", [bars, ranges])


def _list_whole_ticks(bins: Sequence[dict[str, Any]], most: int) -> list[int]:
    """Whole erase counts to name on the axis, at most ``most`` of them."""
    low, high = int(bins[0]["start"] + 0.5), int(bins[-1]["end"] - 0.5)
    step = -(-(high - low + 1) // max(1, most))
    return list(range(low, high + 1, step))
