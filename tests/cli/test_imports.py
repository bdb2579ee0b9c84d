# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line loads what a verb needs when it is called, and no more."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"asyncio", "duckdb", "numpy", "perfetto", "pydantic", "vl_convert"}


def loaded(code: str) -> set[str]:
    """The names of the modules that are there after some code."""
    argv = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_the_command_line_alone_loads_nothing_heavy() -> None:
    assert loaded("import nandlab.cli.main") & HEAVY == set()


def test_a_published_study_is_shown_without_what_only_boards_and_reports_need() -> None:
    code = (
        "from nandlab.trial.publishedrun import open_results\nimport nandlab.report.page.terminal"
    )
    found = loaded(code)
    assert found & HEAVY == {"pydantic"}
    assert {
        "nandlab.board.virtual.qemu",
        "nandlab.board.kit.kit",
        "nandlab.report.charts.layout",
        "nandlab.trial.runner",
        "nandlab.report.page.html",
    } & found == set()
