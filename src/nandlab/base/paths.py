# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the checkout that nandlab was installed from, and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The checkout: catalog, studies and the sources of what runs on the board."""

CATALOG = ROOT / "catalog"
STUDIES = ROOT / "studies"
TARGET = ROOT / "target"
RESULTS = Path("results")


def cache_dir() -> Path:
    """Holds what can be made again: packages, builds, snapshots. ``NANDLAB_CACHE`` moves it."""
    given = os.environ.get("NANDLAB_CACHE")
    if given:
        return Path(given).resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "nandlab"
