# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian's mtd-utils that run on this machine, in the version that the board has.

They need libraries that the board has no room for and this machine may not have, so they come with
their own: fetched and verified by apt, unpacked in the cache, started through their own loader.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from nandlab.board.debian import Suite, unpacked
from nandlab.errors import NandlabError

SUITE = Suite("bookworm", "amd64")
PACKAGES = [
    "mtd-utils",
    *("libc6", "liblzo2-2", "libpcre2-8-0", "libselinux1", "libssl3", "libuuid1", "libzstd1"),
    "zlib1g",
]
LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")


class ToolFailed(NandlabError):
    """A tool ended otherwise than well; the message is what it said."""


class HostTools:
    """mtd-utils, ready to run."""

    def __init__(self) -> None:
        self._root = unpacked(SUITE, PACKAGES)

    @property
    def version(self) -> str:
        """The package's file name, which has its version."""
        listing = (self._root.parent / "packages.txt").read_text().splitlines()
        return next(line.split()[0] for line in listing if line.startswith("mtd-utils"))

    def run(self, command: str) -> None:
        """Runs ``TOOL WORDS…``; ToolFailed tells what it said."""
        tool, *words = shlex.split(command)
        libraries = ":".join(str(self._root / folder) for folder in LIBRARIES)
        loader: list[str | Path] = [self._root / "lib64/ld-linux-x86-64.so.2"]
        loader += ["--library-path", libraries, self._root / "usr/sbin" / tool]
        done = subprocess.run([*loader, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            text = (done.stderr.strip() or done.stdout.strip()).replace(
                f"{self._root}/usr/sbin/", ""
            )
            said = text.splitlines()[:6]
            raise ToolFailed(f"{tool} exited with {done.returncode}: {'; '.join(said)}")
