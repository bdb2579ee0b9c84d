# SPDX-License-Identifier: GPL-2.0-or-later
"""A file's pages against the flash pages that hold them: a page of HTML that needs nothing else."""

from __future__ import annotations

from html import escape
from string import Template
from typing import Any

from nandlab.base.paths import REPORT_TEMPLATES
from nandlab.flash.reading.fragments import FileMap
from nandlab.flash.reading.reads import PAGE_BYTES
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec

PAGE_TEMPLATE = REPORT_TEMPLATES / "fragmap.html"
AXIS_ROOM = 100
"""Px beside the panels for the axis and its title."""
MAP_CAPTION = (
    "Above: each flash page that a read of a page of the file asks for; what was written in order "
    "rises, block by block. Below: N, the flash pages of a read in sequence."
)
MIB = 1 << 20
DOTS_WIDE, DOTS_HIGH = 400, 200
"""Dots beside and above each other that can be told apart."""


def render_file_map_page(m: FileMap) -> str:
    """The page of a file's map."""
    wide, narrow = (render_file_map_chart(m, width).svg() for width in (layout.WIDE, layout.NARROW))
    about = f"{m.size:,} bytes in {len(m.rows):,} pages."
    if m.mean is not None and m.rewritten is not None:
        about += (
            f" A page takes {m.mean:.2f} reads of the flash in sequence; if the file were written "
            f"anew, {m.rewritten:.2f}."
        )
    if m.unknown:
        about += f" {m.unknown} of the pages are unknown: a node could not be read."
    rows = (f"<tr><td>{n}</td><td>{count:,}</td></tr>" for n, count in m.distribution().items())
    return Template(PAGE_TEMPLATE.read_text()).substitute(
        title=escape(f"{m.path}: where its pages lie"),
        about=escape(about),
        caption=escape(MAP_CAPTION),
        wide=wide,
        narrow=narrow,
        rows="".join(rows),
    )


def render_file_map_chart(m: FileMap, width: int = layout.WIDE) -> Chart:
    """A file's map as a chart, px wide."""
    spec = _make_spec(width)
    return Chart(f"fragmap-{width}", m.path, MAP_CAPTION, _list_dots(m), spec, spec)


def _list_dots(m: FileMap) -> dict[str, list[dict[str, Any]]]:
    """What is drawn: of dots that would lie on each other, one."""
    flash = {(r.page, page) for r in m.rows if r.is_known for page in r.flash}
    reads = {(r.page, n) for r in m.rows if (n := r.n_in_sequence) is not None}
    return {
        "flash": [
            {"at": x * PAGE_BYTES / MIB, "flash": y} for x, y in _thin_out_dots(flash, DOTS_HIGH)
        ],
        "reads": [
            {"at": x * PAGE_BYTES / MIB, "n": y} for x, y in _thin_out_dots(reads, DOTS_HIGH)
        ],
    }


def _thin_out_dots(points: set[tuple[int, int]], high: int) -> list[tuple[int, int]]:
    """One of all points that fall into the same cell of a grid over them."""
    if not points:
        return []
    columns, rows = zip(*points, strict=True)
    wide = max(1, max(columns) / DOTS_WIDE)
    first, tall = min(rows), max(1, (max(rows) - min(rows)) / high)
    cells = {(int(x / wide), int((y - first) / tall)): (x, y) for x, y in sorted(points)}
    return sorted(cells.values())


def _make_spec(width: float) -> VegaSpec:
    x = {"field": "at", "type": "quantitative", "title": "Offset in the file, MiB"}
    inner = width - AXIS_ROOM
    axis = {"titlePadding": 16}  # a browser's font may be wider than that of the layout
    flash = {"field": "flash", "type": "quantitative", "title": "Flash page", "axis": axis}
    reads = {"field": "n", "type": "quantitative", "title": "N"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "vconcat": [
            _make_panel("flash", inner, 300, {"x": x, "y": flash | {"scale": {"zero": False}}}),
            _make_panel("reads", inner, 120, {"x": x, "y": reads}),
        ],
        "config": layout.VEGA_CONFIG,
    }


def _make_panel(name: str, width: float, height: float, encoding: dict[str, Any]) -> VegaSpec:
    mark = {"type": "circle", "size": 9, "opacity": 0.7, "color": "#2b6cb0"}
    return {
        "data": {"name": name},
        "width": width,
        "height": height,
        "mark": mark,
        "encoding": encoding,
    }
