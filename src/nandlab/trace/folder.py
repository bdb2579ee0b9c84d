# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace on disk: a folder of its events as tables, a timeline, a summary, and how it was made.

``events.parquet`` and ``events.csv`` have the same rows, ``trace.pftrace`` is for Perfetto,
``summary.json`` what the trace comes to, ``meta.json`` what was run on what; ``writer`` makes it.
Nothing here knows of a board.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nandlab.base.digest import file_digest
from nandlab.base.errors import NandlabError, UsageError
from nandlab.trace.summary import FORMAT

__all__ = ["CHIP_IMAGE", "FORMAT", "TraceFolder"]

CHIP_IMAGE = "chip.image"
"""The chip as it was when the trace began, where it was asked for."""


class TraceFolder:
    """A folder that ``writer`` made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.summary = self._json("summary.json")
        self.meta = self._json("meta.json")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.path / name).read_text())
        except OSError as e:
            raise UsageError(f"{self.path}: not a trace's folder: {name}: {e.strerror}") from None
        except ValueError as e:
            raise NandlabError(f"{self.path / name}: corrupt: {e}") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise UsageError(f"{self.path / name}: of another version; this reads {FORMAT}")
        return found

    @property
    def image(self) -> Path:
        """The chip as it was when the trace began; UsageError if it was not kept, or is another."""
        path = self.path / CHIP_IMAGE
        if not path.is_file():
            raise UsageError(f"{self.path}: no {CHIP_IMAGE} in it: trace again with --image")
        told = file_digest(path)
        if self.meta.get("chip_image", told) != told:
            raise UsageError(f"{path}: not the image of this trace: trace again with --image")
        return path

    @property
    def events(self) -> Path:
        return self.path / "events.parquet"
