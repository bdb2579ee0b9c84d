# SPDX-License-Identifier: GPL-2.0-or-later
"""Which commit of nandlab this is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nandlab.base.paths import ROOT

DEADLINE_S = 30
DIRTY = "-dirty"
"""What the name of a commit ends in if the checkout's files were changed."""


def find_commit(root: Path = ROOT) -> str | None:
    """The checkout's commit, ending in -dirty if its files were changed; None: it is no checkout.

    Only ``root`` itself is asked, never a folder above it: nandlab may lie inside another project.
    """
    git = ["git", f"--git-dir={root / '.git'}", f"--work-tree={root}", "--no-optional-locks"]
    command = [*git, "describe", "--always", f"--dirty={DIRTY}", "--abbrev=12"]
    try:
        result = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False, timeout=DEADLINE_S
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return result.stdout.strip() or None if result.returncode == 0 else None
