# SPDX-License-Identifier: GPL-2.0-or-later
"""The claims' tables in docs/studies: what the report prints of the published figures.

A page has them between two comments.
``PYTHONPATH=src:tests python tests/report/claimtables.py`` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from support.commandline import run_command

from nandlab.base.paths import ROOT

PAGES = ROOT / "docs" / "studies"
BLOCK = re.compile(
    r"<!-- nandlab show ([\w-]+) --paper --format markdown -->\n\n(.*?)\n<!-- end -->\n", re.DOTALL
)


def print_claims(study: str) -> str:
    """What the command of a block prints, in a process of its own."""
    done = run_command("show", study, "--paper", "--format", "markdown", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def list_page_blocks(page: Path) -> list[tuple[str, str]]:
    """The studies of a page's blocks, each with the table that stands there."""
    return BLOCK.findall(page.read_text())


def write_page_blocks(page: Path) -> None:
    """Puts what the report prints into each block of a page."""
    text = page.read_text()
    new = BLOCK.sub(
        lambda m: (
            f"<!-- nandlab show {m[1]} --paper --format markdown -->\n\n{print_claims(m[1])}\n"
            "<!-- end -->\n"
        ),
        text,
    )
    if new != text:
        page.write_text(new)


if __name__ == "__main__":
    for path in sorted(PAGES.glob("*.md")):
        write_page_blocks(path)
