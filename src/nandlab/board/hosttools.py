# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian's mtd-utils that run on this machine, in the version that the board has.

They need libraries that the board has no room for and that this machine may not have. So they come
with their own, fetched and verified by apt and unpacked in the cache; see loader.py.
"""

from __future__ import annotations

import shlex
import subprocess

from nandlab.base.errors import NandlabError
from nandlab.board.debian import Suite, unpacked
from nandlab.board.loader import command

SUITE = Suite("bookworm", "amd64")
PACKAGE = "mtd-utils"


class ToolFailed(NandlabError):
    """A tool failed; the message has what it printed."""


class HostTools:
    """mtd-utils, ready to run."""

    def __init__(self) -> None:
        self._root = unpacked(SUITE, [PACKAGE])

    @property
    def version(self) -> str:
        """The package's file name, which contains its version."""
        listing = (self._root.parent / "packages.txt").read_text().splitlines()
        return next(line.split()[0] for line in listing if line.startswith(PACKAGE))

    def run(self, line: str) -> None:
        """Runs the command line ``TOOL WORDS…``; ToolFailed has what the tool printed."""
        tool, *words = shlex.split(line)
        argv = [*command(self._root, self._root / "usr/sbin" / tool), *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            text = (done.stderr.strip() or done.stdout.strip()).replace(
                f"{self._root}/usr/sbin/", ""
            )
            said = text.splitlines()[:6]
            raise ToolFailed(f"{tool} exited with {done.returncode}: {'; '.join(said)}")
