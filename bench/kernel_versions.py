#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system over versions of Linux: a table and a chart of runs of one study.

Measures: nothing; it reads runs of one study on boards of several kernels, the oldest first, such
as those of the study `kernel-versions`.
Needs: the runs' folders.

Prints a table in Markdown: a row a file system and kernel, a column a figure; what moved against
the kernel before is bold. Writes the chart of the first figure.

    bench/kernel_versions.py --chart versions.svg --figure chip.erases RUN...
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from nandlab.cli.chartfile import write_chart
from nandlab.history.commitruns import CommitRun
from nandlab.history.gittree import Commit
from nandlab.history.series import ConfigurationSeries, make_series
from nandlab.report.charts.commitchart import render_commit_series_chart
from nandlab.results.folder import RunFolder

CAPTION = (
    "Each mark is a kernel, the oldest left. A filled mark: the figure is another than on the "
    "kernel before. The axes do not begin at 0."
)


def read_version_run(path: Path) -> CommitRun:
    """A run, with its kernel's version, such as 6.1, in the place of a commit."""
    folder = RunFolder(path)
    release = str(folder.head().provenance["kernel"])
    return CommitRun(Commit(".".join(release.split(".")[:2])), folder)


def format_table(series: list[ConfigurationSeries]) -> str:
    """The figures of each file system on each kernel."""
    names = [figure.name for figure in series[0].figures]
    lines = [f"| | Linux | {' | '.join(names)} |", f"|---|---|{'---:|' * len(names)}"]
    for configuration in series:
        for row in configuration.rows:
            cells = []
            for figure in configuration.figures:
                cell = row.cells.get(figure.name)
                text = (
                    ""
                    if cell is None or cell.spread is None
                    else figure.quantity.exact(cell.spread.median)
                )
                cells.append(f"**{text}**" if cell is not None and cell.moved else text)
            lines.append(f"| {configuration.label} | {row.commit.sha} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "runs", nargs="+", type=Path, help="folders of runs, the oldest kernel first"
    )
    parser.add_argument("--figure", action="append", default=[], help="a column; may be repeated")
    parser.add_argument("--chart", type=Path, help="where the chart is written")
    options = parser.parse_args()
    series = make_series([read_version_run(path) for path in options.runs], options.figure)
    print(format_table(series))
    if options.chart:
        chart = render_commit_series_chart(series, "Linux")
        write_chart(options.chart, replace(chart, title="Figures over kernels", caption=CAPTION))


if __name__ == "__main__":
    main()
