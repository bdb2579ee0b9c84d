# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a run: one HTML file that needs no network, and its charts as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from nandlab.analysis.verdicts.battery import Battery
from nandlab.results.folder import Results


def write_run_report(
    run_folder: Results, out: Path | None = None, *, battery: Battery | None = None
) -> Path:
    """Writes ``index.html`` and the charts into ``out``; returns the page's path.

    out: None: RUN/report, or results/published/STUDY/report of a figures file.

    battery: how long it lasts is told too.
    """
    from nandlab.report.page import html

    return html.write_report_page_and_charts(run_folder, out, battery)
