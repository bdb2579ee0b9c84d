# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of commits' runs: what it is of, and why sources do not build; values changed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz import values
from fuzz.target import Files, Target
from nandlab.base.errors import UsageError
from nandlab.history.commitruns import read_commits_head, read_unbuilt_content

HEAD = {"format": 1, "identity": "0123abcd", "study": "watch"}
UNBUILT = {"format": 1, "commit": "89abcdef", "reason": ["make failed:", "gc.c:7: error: no"]}


def draw(chance: Random) -> Files:
    return {
        "commits.json": values.as_json(values.changed(HEAD, chance), chance),
        "unbuilt.json": values.as_json(values.changed(UNBUILT, chance), chance),
    }


def take(folder: Path) -> None:
    try:
        read_commits_head(folder)
    except UsageError:
        read_unbuilt_content(folder / "unbuilt.json")


DEVICE = Target(draw, take)
