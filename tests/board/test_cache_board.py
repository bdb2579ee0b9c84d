# SPDX-License-Identifier: GPL-2.0-or-later
"""A flipped bit in what a board is made of: it is found, made again, and told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nandlab.base import cache
from nandlab.base.digest import digest_file
from nandlab.base.paths import find_cache_folder
from nandlab.board.virtual.qemu import QemuBoard

pytestmark = [pytest.mark.board, pytest.mark.anew, pytest.mark.timeout(1800)]
RUN = """
import asyncio, sys
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
board = open_board(load_noun("boards", sys.argv[1], BoardModel))
step = Step("it", "dmesg -r; modprobe ubifs; ferry 2>&1; cat /proc/uptime")
print(asyncio.run(board.run(Job((step,)))).steps)
"""
"""A process that opens the board and prints the steps of a job as the board saw them."""
LARGE = ("booted", "roots")
KINDS = ("archive", "emulator", "init", "initramfs", "library", "modules", "program", *LARGE)


def linked(source: str, target: str) -> None:
    """A file under another name, a copy where the two are on different disks."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def copy(board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own with what the board is made of; no file of it may be written to.

    Of other boards' roots and saved states, which have most of a cache's files, it has nothing.
    """
    kit = board.machine.kit
    own = {entry.name for entry in (board.snapshot, kit.tools.folder, kit.kernel.root.folder)}
    for kind in (*KINDS, "yaffs2", "ram"):
        if (home := find_cache_folder() / kind).exists():
            names = {path.name for path in home.iterdir()}
            others = {name for name in names if kind in LARGE and name.partition(".")[0] not in own}
            shutil.copytree(
                home,
                tmp_path / kind,
                symlinks=True,
                copy_function=linked,
                ignore=shutil.ignore_patterns("*.lock", ".part-*", *others),
            )
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    return tmp_path


def run(board: QemuBoard) -> tuple[str, list[str]]:
    """The steps of a job in a process of its own, and what of the cache it calls damaged."""
    words = [sys.executable, "-c", RUN, board.machine.model.name]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "damaged" in line]


def flip(path: Path) -> None:
    """Flips a bit in the middle of a file, whose other names keep what they have."""
    content, mode = bytearray(path.read_bytes()), path.stat().st_mode
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)
    path.chmod(mode)


def built(kind: Path, name: str, board: QemuBoard) -> list[Path]:
    """The files that are the one in the board's image: other inputs may have led to the same."""
    sha256 = board.machine.parts[name]
    return [p for p in kind.glob(f"*/{name}") if digest_file(p) == sha256]


def test_a_flipped_bit_is_found_made_again_and_reported(board: QemuBoard, copy: Path) -> None:
    machine = board.machine
    folders = {
        board.snapshot: "ram",
        machine.kit.tools.folder: f"root/usr/bin/{machine.model.arch_traits.emulator}",
    }
    files = {
        path: [copy / entry.parent.name / entry.name / path] for entry, path in folders.items()
    }
    files |= {
        name: built(copy / kind, name, board)
        for kind, name in (("modules", "doorbell.ko"), ("program", "ferry"))
    }
    whole, quiet = run(board)
    assert not quiet
    for path in (each for same in files.values() for each in same):
        flip(path)
    again, lines = run(board)
    assert again == whole
    assert len(lines) == len(files)
    for name, same in files.items():
        (line,) = (line for line in lines if f'"{name}"' in line)
        entries = [str(p.relative_to(copy)).removesuffix(f"/{name}") for p in same]
        assert any(f"{entry}: " in line for entry in entries)
    for kind, name in (("modules", "doorbell.ko"), ("program", "ferry")):
        assert built(copy / kind, name, board)
    # what was made again is whole: of the next damage alone is told
    flip(copy / machine.initrd.parent.parent.name / machine.initrd.parent.name / "initrd")
    again, (line,) = run(board)
    assert again == whole
    assert '"initrd"' in line
    # the other file of the booted board; to boot it once more would show no more
    booted = copy / board.snapshot.parent.name / board.snapshot.name
    flip(booted / "state")
    (item,) = (one for one in cache.list_cache_items() if one.path == booted)
    assert '"state"' in str(cache.remove_item_if_damaged(item))
    assert not booted.exists()
