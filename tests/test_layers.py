# SPDX-License-Identifier: GPL-2.0-or-later
"""What is made of results and traces knows of no board: CONTRIBUTING.md's table, held to."""

from __future__ import annotations

import json
import subprocess
import sys

IMPORTED = """
import importlib, json, pkgutil, sys
import nandlab.analysis, nandlab.report, nandlab.show
for package in (nandlab.analysis, nandlab.report):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(json.dumps([name for name in sys.modules if name.startswith("nandlab.")]))
"""
LATER = ("nandlab.board", "nandlab.trial", "nandlab.run", "nandlab.imaging", "nandlab.cli")


def test_analysis_and_report_import_no_board() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    imported: list[str] = json.loads(done.stdout)
    assert "nandlab.report.trace" in imported
    assert [name for name in imported if name.startswith(LATER)] == []
