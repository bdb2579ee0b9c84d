# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a run: one HTML file that needs no network, and its charts as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from nandlab.analysis.battery import Battery
from nandlab.results.folder import RunFolder


def write(
    run_folder: RunFolder, out: Path | None = None, *, battery: Battery | None = None
) -> Path:
    """Writes ``index.html`` and the charts into ``out`` (RUN/report); returns the page's path.

    battery: how long it lasts is told too.
    """
    from nandlab.report import html

    return html.write(run_folder, out, battery)
