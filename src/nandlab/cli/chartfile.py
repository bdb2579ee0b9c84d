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
    from nandlab.report.charts import charts

    svg = chart.svg()
    write_chart_bytes(to, svg.encode() if to.suffix == ".svg" else charts.convert_svg_to_png(svg))


def write_chart_bytes(to: Path, content: bytes) -> None:
    """UsageError where the file cannot be written."""
    from nandlab.base.files import write_whole_file

    try:
        write_whole_file(to, content)
    except OSError as e:
        raise UsageError(f"{to}: cannot be written: {e.strerror}") from None
