# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the agent and programs for a user's own board, by the user's own compiler.

What is built is in the cache, by the hash of the sources and of what the compiler says of itself.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_file, digest_tree
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.jobs.build import OBJECTS
from nandlab.board.kit.needs import FILE

COMMON_LETTERS = 3
"""How many letters a machine's name has in common, as compilers and as kernels call it."""


@dataclass(frozen=True)
class CrossCompiler:
    """A compiler for a board, by what its programs' names begin with."""

    prefix: str

    def refuse_another(self, machine: str) -> None:
        """UsageError unless it builds for a machine, as ``uname -m`` has it."""
        builds_for = self._read_output("-dumpmachine")
        if builds_for[:COMMON_LETTERS] != machine[:COMMON_LETTERS]:
            raise UsageError(
                f"{self.prefix}gcc builds for {builds_for.strip()}, and the board is {machine}: "
                "name its compiler under [programs] cross"
            )

    def agent(self) -> Path:
        """The agent, static."""
        sources = {name: digest_tree(DEVICE / name) for name in ("agent", "init")}

        def make(work: Path) -> None:
            words = ["-C", str(DEVICE / "agent"), f"OUT={work}", f"CROSS={self.prefix}"]
            self.make(*words)
            self._run([f"{self.prefix}strip", str(work / "agent")])

        return make_entry("own-agent", {**sources, "compiler": self.version_texts}, make) / "agent"

    def program(self, folder: Path) -> Path:
        """The static program built from a folder of C sources and our ``programs/lib``."""
        if (folder / FILE).exists():
            raise UsageError(
                f"{folder.name}: it is built with packages of Debian's: on the virtual board only"
            )
        ours = DEVICE / "programs"

        def make(work: Path) -> None:
            words = [f"OUT={work}", f"FROM={folder.parent}", f"CROSS_COMPILE={self.prefix}"]
            self.make("-C", str(ours), *words, str(work / folder.name))
            self._run([f"{self.prefix}strip", str(work / folder.name)])
            shutil.rmtree(work / OBJECTS)

        inputs = {
            "name": folder.name,
            "own": digest_tree(folder),
            "lib": digest_tree(ours / "lib"),
            "rules": digest_file(ours / "Makefile"),
            "compiler": self.version_texts,
        }
        return make_entry("own-program", inputs, make) / folder.name

    def make(self, *words: str) -> None:
        """Runs make; NandlabError tells what it says where it fails."""
        self._run(["make", "-s", *words])

    @cached_property
    def version_texts(self) -> list[str]:
        """What the compiler says of itself."""
        return [self._read_output("-dumpmachine"), self._read_output("--version")]

    def _read_output(self, option: str) -> str:
        return self._run([f"{self.prefix}gcc", option])

    def _run(self, argv: list[str]) -> str:
        try:
            result = subprocess.run(argv, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise UsageError(
                f"no {argv[0]} in PATH: install a compiler for the board and name it under "
                "[programs] cross"
            ) from None
        if result.returncode:
            lines = f"{result.stdout}{result.stderr}".expandtabs().rstrip().split("\n")
            raise NandlabError(f"{' '.join(argv)} failed:", *filter(None, lines))
        return result.stdout
