# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: what nandlab reads besides its code, and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SHARE = PACKAGE / "share"
"""What a wheel carries beside the code; a checkout has none."""
INSTALLED = SHARE.is_dir()
"""Whether this nandlab is a wheel's, and not a checkout."""
ROOT = SHARE if INSTALLED else PACKAGE.parents[1]
"""Has catalog, studies and the sources of what runs on the board: the checkout, or a wheel's share.

Of a wheel nothing is ever written there; in a checkout `nandlab board update` does.
"""

CATALOG = ROOT / "catalog"
STUDIES = ROOT / "studies"
DEVICE = ROOT / "device"
DOCS = ROOT / "docs"
"""The pages that help and messages name, as docs/NAME.md."""
PUBLISHED = DOCS / "studies"
"""The figures files of published studies."""
REPORT_TEMPLATES = PACKAGE / "report" / "templates"
"""What pages are rendered from."""
RESULTS = Path("results")


def find_cache_folder() -> Path:
    """Holds what can be made again: packages, builds, snapshots. ``NANDLAB_CACHE`` moves it."""
    given = os.environ.get("NANDLAB_CACHE")
    if given:
        return Path(given).resolve()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))  # which is none unless it is absolute
    return (base if base.is_absolute() else Path.home() / ".cache") / "nandlab"
