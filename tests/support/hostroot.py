# SPDX-License-Identifier: GPL-2.0-or-later
"""A root that is this machine: commands run here, with folders at the places that they are told."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from nandlab.board.kit.root import Root


class HostRoot(Root):
    """Runs this machine's own programs."""

    def __init__(self) -> None:
        super().__init__(Path("/host"))

    def run(
        self, argv: Sequence[str], see: Mapping[str, Path] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command with each place in its words replaced by the folder seen there."""
        words = list(argv)
        for place, folder in (see or {}).items():
            words = [word.replace(place, str(folder)) for word in words]
        return subprocess.run(words, capture_output=True, text=True, check=False)
