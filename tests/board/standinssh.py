# SPDX-License-Identifier: GPL-2.0-or-later
"""The stand-in of standin.py as a user has it: by ssh, a compiler in PATH, and a board's file."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import armhf, standin

from nandlab.base.paths import DEVICE, find_cache_folder
from nandlab.board.own.transport import connect_ssh

SLOW_S = 180
"""Emulated, beside other work."""


SSH = f'ssh = "{standin.HOST}"'


def board_file(folder: Path, part: str = "S34ML01G1", *, reach: str = SSH, more: str = "") -> Path:
    """The file of a stand-in; more: of ``[programs]``."""
    path = folder / "my.toml"
    path.write_text(
        f'name = "mine"\nsummary = "a stand-in"\nkind = "remote"\n'
        f"[reach]\n{reach}\n"
        f'[partition]\nname = "{standin.DATA}"\nsize = {standin.DATA_BYTES}\n'
        f'erasesize = 131072\npart = "{part}"\n'
        f'[programs]\ncross = "{armhf.CROSS}"\n{more}'
    )
    return path


@dataclass(frozen=True)
class There:
    """A stand-in that has booted and answers to ssh."""

    board: standin.StandIn
    mine: Path
    """Its board's file."""

    def says(self, command: str) -> str:
        """What a command on it prints; it must end well."""
        told = asyncio.run(connect_ssh(standin.HOST).call(command, limit_s=SLOW_S))
        assert told.rc == 0, told.text
        return told.text

    def cells(self, number: int) -> str:
        """The digest of a partition's cells, spare areas and bad blocks included."""
        dump = f"nanddump -q --noecc --oob --bb=dumpbad /dev/mtd{number}"
        return self.says(f"{dump} 2>/dev/null | sha256sum")


def _kernel_make(folder: Path) -> None:
    """Has ``make`` of a folder of PATH build modules for the stand-in's kernel."""
    script = folder / "make"
    words = armhf.kernel_make(find_cache_folder())
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *" M="*) exec {words};; esac\nexec {shutil.which("make")} "$@"\n'
    )
    script.chmod(0o755)


@contextmanager
def reached(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> Iterator[There]:
    """A stand-in that has booted, which ``ssh`` of PATH reaches, as it finds the compiler."""
    programs = folder / "programs"
    programs.mkdir()
    armhf.on_path(programs, DEVICE, find_cache_folder())
    _kernel_make(programs)
    real = shutil.which("ssh")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with standin.board(folder) as board:
        script = programs / "ssh"
        script.write_text(f'#!/bin/sh\nexec {real} -F {board.config} "$@"\n')
        script.chmod(0o755)
        yield There(board, board_file(folder, more=more))
