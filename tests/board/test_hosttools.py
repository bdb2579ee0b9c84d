# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's tools make is of the tree alone: not of its copy's order and times."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support import trees

from nandlab.board.kit.root import Root
from nandlab.board.virtual.hosttools import (
    STEADY_FOLDER,
    HostTools,
    ToolFailed,
    build_steady_library,
)
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

pytestmark = pytest.mark.board  # they run in the root of the board's tools
LATER_NS = 1_700_000_000_123_456_789
TREE = "0123456789abcdef" * 4
UBIFS = "mkfs.ubifs --min-io-size=512 --leb-size=15872 --max-leb-cnt=400 --root=/tree --output=/out"
JFFS2 = "mkfs.jffs2 --eraseblock=16KiB --little-endian --root=/tree --output=/out"


def made(line: str, folder: Path, tree: str = TREE) -> bytes:
    """What a tool makes of a folder."""
    out = folder.with_name("out")
    out.write_bytes(b"")
    board = load_noun("boards", "apf27", BoardModel)
    HostTools(board, {"/tree": folder, "/out": out}, tree).run(line)
    return out.read_bytes()


def copied(source: Path, to: Path) -> Path:
    """A copy that was made later, whose links are newer and whose files have been read since."""
    shutil.copytree(source, to, symlinks=True)
    shutil.rmtree(to / "dir3")
    shutil.copytree(source / "dir3", to / "dir3", symlinks=True)
    (to / "dir4/hard").unlink()
    (to / "dir4/hard").hardlink_to(to / "dir3/file3")
    for path in sorted(to.rglob("*")):
        told = (source / path.relative_to(to)).lstat()
        of_link = (LATER_NS, LATER_NS) if path.is_symlink() else (LATER_NS, told.st_mtime_ns)
        os.utime(path, ns=of_link, follow_symlinks=False)
    os.utime(to, ns=(LATER_NS, source.stat().st_mtime_ns + 5))
    return to


@pytest.mark.parametrize("line", [UBIFS, JFFS2], ids=["ubifs", "jffs2"])
def test_copies_of_a_tree_give_the_same_bytes(tmp_path: Path, line: str) -> None:
    source = tmp_path / "source"
    trees.grow(source, odd=True)
    first = made(line, source)
    assert len(first) > 1 << 20
    assert made(line, source) == first, "it was read"
    assert made(line, copied(source, tmp_path / "copy")) == first
    (source / "dir3/file3").write_bytes(b"other")
    assert made(line, source) != first


def test_ubifs_has_the_trees_identifier(tmp_path: Path) -> None:
    """fs/ubifs/ubifs-media.h: a node's header of 24 bytes, then the superblock's fields."""
    trees.grow(tmp_path / "tree", odd=False)
    found = made(UBIFS, tmp_path / "tree")
    assert found[108:124].hex() == TREE[:32]
    others = made(UBIFS, tmp_path / "tree", "f" * 64)
    assert [i for i in range(len(found)) if found[i] != others[i]] == [
        *range(4, 8),
        *range(108, 124),
    ]


def test_folders_are_told_by_name(tools: Root, tmp_path: Path) -> None:
    names = [f"{n * 7919 % 1000:03}" for n in range(300)]
    for name in names:
        (tmp_path / name).touch()
    see = {STEADY_FOLDER: build_steady_library(tools).parent, "/folder": tmp_path}
    words = ["env", f"LD_PRELOAD={STEADY_FOLDER}/steady.so", "ls", "-U", "/folder"]
    assert tools.checked(words, see=see).split() == sorted(names)


def test_no_identifier_is_no_image(tmp_path: Path) -> None:
    trees.grow(tmp_path / "tree", odd=False)
    with pytest.raises(ToolFailed, match="steady: NANDLAB_TREE"):
        made(UBIFS, tmp_path / "tree", "")
