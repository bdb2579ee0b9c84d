# SPDX-License-Identifier: GPL-2.0-or-later
"""Makers of images that run on this machine, each in a root of packages.

mtd-utils are in the root of the board's tools, those of read-only file systems in one of their own.

They make the same bytes of the same tree each time, on every machine: what they would take from the
host's folder besides, device/host/steady.c makes a function of the tree.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_file
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.kit.kit import fetch_board_tools, fetch_image_tools
from nandlab.board.kit.root import Root
from nandlab.catalog.board import BoardModel
from nandlab.catalog.imagetools import MTD_UTILS

STEADY = DEVICE / "host" / "steady.c"
STEADY_FOLDER = "/steady"
"""Where the tools see the folder of what is loaded into them."""
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
IDENTIFIER_DIGITS = 32
PROGRAMS = ("usr/sbin", "usr/bin")
"""Where a root has programs."""


class ToolFailed(NandlabError):
    """A tool failed; the message has what it printed."""


class HostTools:
    """The makers of images, ready to run.

    see: the folders that they see, by where they see them. tree: a digest of the tree, in
    hexadecimal; file systems that have an identifier get its first digits.
    """

    def __init__(self, board: BoardModel, see: Mapping[str, Path], tree: str) -> None:
        self._board = board
        self._tools, self._files = fetch_board_tools(board)
        self._see = {**see, STEADY_FOLDER: build_steady_library(self._tools).parent}
        words = (
            f"LD_PRELOAD={STEADY_FOLDER}/steady.so",
            f"NANDLAB_TREE={tree[:IDENTIFIER_DIGITS]}",
        )
        self._before = ("env", *words)

    def run(self, line: str) -> None:
        """Runs the command line ``TOOL WORDS…``; ToolFailed has what the tool printed."""
        tool, *words = shlex.split(line)
        done = self._root_of(tool).run([*self._before, tool, *words], see=self._see)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[:6]
            raise ToolFailed(f"{tool} exited with {done.returncode}: {'; '.join(said)}")

    def version(self, package: str) -> str:
        """The file of a package that tools come from, which has its version."""
        files = self._files if package == MTD_UTILS else fetch_image_tools(self._board)[1]
        for file in files:
            if file.startswith(f"{package}_"):
                return file
        raise UsageError(f"no tools of nandlab's are of a package {package!r}")

    def _root_of(self, tool: str) -> Root:
        there = any((self._tools.path / folder / tool).exists() for folder in PROGRAMS)
        return self._tools if there else fetch_image_tools(self._board)[0]


def build_steady_library(tools: Root) -> Path:
    """The library of device/host/steady.c, built by the board's compiler."""

    def make(work: Path) -> None:
        see = {"/source": STEADY.parent, "/out": work}
        tools.checked(["gcc", *FLAGS, "-o", "/out/steady.so", f"/source/{STEADY.name}"], see=see)

    inputs = {"source": digest_file(STEADY), "tools": tools.key, "flags": FLAGS}
    return make_entry("steady", inputs, make) / "steady.so"
