# SPDX-License-Identifier: GPL-2.0-or-later
"""mtd-utils that run on this machine, in the root of the board's tools."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from nandlab.base.errors import NandlabError
from nandlab.catalog.board import BoardModel
from nandlab.kit.kit import tools_of

PACKAGE = "mtd-utils"


class ToolFailed(NandlabError):
    """A tool failed; the message has what it printed."""


class HostTools:
    """mtd-utils, ready to run; ``see``: the folders that they see, by where they see them."""

    def __init__(self, board: BoardModel, see: Mapping[str, Path]) -> None:
        self._tools, files = tools_of(board)
        self._see = see
        self.version = next(file for file in files if file.startswith(f"{PACKAGE}_"))

    def run(self, line: str) -> None:
        """Runs the command line ``TOOL WORDS…``; ToolFailed has what the tool printed."""
        tool, *words = shlex.split(line)
        done = self._tools.run([tool, *words], see=self._see)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[:6]
            raise ToolFailed(f"{tool} exited with {done.returncode}: {'; '.join(said)}")
