# SPDX-License-Identifier: GPL-2.0-or-later
"""A chart as a file that a command was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.report.charts.charts import Chart

CHART_SUFFIXES = (".svg", ".png")


def refuse_unknown_chart_suffix(option: str, to: Path | None) -> None:
    """UsageError for a file that is neither of :data:`CHART_SUFFIXES`, before any work is done."""
    if to is not None and to.suffix not in CHART_SUFFIXES:
        raise UsageError(f"{option} {to}: give a name that ends in .svg or .png")


def write_chart(to: Path, chart: Chart) -> None:
    """Writes the chart in the form that the file's name asks for."""
    from nandlab.base.files import encode_page, write_requested_file
    from nandlab.report.charts import charts

    svg = chart.svg()
    content = encode_page(svg) if to.suffix == ".svg" else charts.convert_svg_to_png(svg)
    write_requested_file(to, content)
