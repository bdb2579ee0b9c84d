# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace on disk: a folder of its events as tables, a timeline, a summary, and how it was made.

``events.parquet`` and ``events.csv`` have the same rows, ``trace.pftrace`` is for Perfetto,
``summary.json`` what the trace comes to, ``meta.json`` what was run on what; ``writer`` makes it.
Nothing here knows of a board.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nandlab.base.digest import digest_file
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_json
from nandlab.catalog.files import validate_data
from nandlab.trace.shapes import TraceMeta, TraceSummary
from nandlab.trace.summary import FORMAT

__all__ = ["CHIP_IMAGE", "FORMAT", "TraceFolder"]

CHIP_IMAGE = "chip.image"
"""The chip as it was when the trace began, where it was asked for."""


class TraceFolder:
    """A folder that ``writer`` made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.summary = self._json("summary.json", TraceSummary)
        self.meta = self._json("meta.json", TraceMeta)

    def _json(self, name: str, model: type[BaseModel]) -> dict[str, Any]:
        path = self.path / name
        if not path.exists():
            raise UsageError(f"{self.path}: not a trace's folder: it has no {name}")
        found = read_json(path)
        if isinstance(found, dict) and found.get("format") != FORMAT:
            raise UsageError(f"{path}: of another version; this reads {FORMAT}")
        return validate_data(found, model, str(path)).model_dump()

    @property
    def image(self) -> Path:
        """The chip as it was when the trace began; UsageError if it was not kept, or is another."""
        path = self.path / CHIP_IMAGE
        if not path.is_file():
            raise UsageError(f"{self.path}: no {CHIP_IMAGE} in it: trace again with --image")
        told = digest_file(path)
        if (self.meta["chip_image"] or told) != told:
            raise UsageError(f"{path}: not the image of this trace: trace again with --image")
        return path

    @property
    def events(self) -> Path:
        return self.path / "events.parquet"
