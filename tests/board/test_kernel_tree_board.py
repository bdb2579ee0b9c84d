# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built from a tree: they boot, repeat, are the same bytes twice, and find planted faults.

The tree is the whole source of apf27's own kernel, Debian's package linux-source.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import smalltrial
from support.treesmade import unpack_locked_tree

from nandlab.base.digest import digest_file
from nandlab.board.kit import kernelbuild, newboard
from nandlab.board.kit.kernelbuild import build_kernel_packages, make_kernel_request
from nandlab.board.kit.kit import (
    fetch_kernel_builders,
    make_tool_package_set,
    read_board_package_lock,
)
from nandlab.board.kit.ownkernel import KernelPackages
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli.boardmake import boot_new_board
from nandlab.results.record import Trial
from nandlab.trial.execution import run_trial

pytestmark = [
    pytest.mark.board,
    pytest.mark.anew,
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("kernel-tree"),
]
SYNC = (
    "#ifdef CONFIG_JFFS2_FS_WRITEBUFFER\n\tif (jffs2_is_writebuffered(c))\n"
    "\t\tcancel_delayed_work_sync(&c->wbuf_dwork);\n"
)
"""Of jffs2_sync_fs() in fs/jffs2/super.c."""
USE_AFTER_FREE = (
    "\t{\n\t\tchar *p = kmalloc(64, GFP_KERNEL);\n\n\t\tkfree(p);\n\t\tWRITE_ONCE(p[8], 1);\n\t}\n"
)
LOCK_ORDER = (
    "\t{\n\t\tstatic DEFINE_MUTEX(one);\n\t\tstatic DEFINE_MUTEX(two);\n\n"
    "\t\tmutex_lock(&one);\n\t\tmutex_lock(&two);\n"
    "\t\tmutex_unlock(&two);\n\t\tmutex_unlock(&one);\n"
    "\t\tmutex_lock(&two);\n\t\tmutex_lock(&one);\n"
    "\t\tmutex_unlock(&one);\n\t\tmutex_unlock(&two);\n\t}\n"
)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def like() -> BoardModel:
    return load_noun("boards", "apf27", BoardModel)


@pytest.fixture(scope="module")
def tree(like: BoardModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_locked_tree(like, tmp_path_factory.mktemp("source"))


@pytest.fixture
def planted(tree: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The tree with a fault in JFFS2, for as long as a test runs."""
    path = tree / "fs/jffs2/super.c"
    before = path.read_text()
    assert before.count(SYNC) == 1
    path.write_text(before.replace(SYNC, request.param + SYNC))
    yield tree
    path.write_text(before)


def make_board(name: str, like: BoardModel, tree: Path, *fragments: str) -> QemuBoard:
    """A board as `nandlab board make` makes it, opened as a study opens it."""
    new = newboard.make_tree_board(name, like, tree, fragments)
    boot_new_board(new)
    newboard.write_new_board(new)
    return open_board(load_noun("boards", name, BoardModel))


def run_once(board: QemuBoard) -> Trial:
    trial = asyncio.run(run_trial(smalltrial.planned(board, "jffs2"), board, "tree"))
    assert trial.status == "ok", trial.error
    return trial


def list_times(trial: Trial) -> list[tuple[str, int]]:
    return [(step.name, step.ns) for step in trial.steps]


@contextmanager
def move_folder(folder: Path, elsewhere: Path) -> Iterator[Path]:
    """It is elsewhere within."""
    try:
        yield folder.rename(elsewhere)
    finally:
        elsewhere.rename(folder)


def build(like: BoardModel, tree: Path) -> KernelPackages:
    tools = read_board_package_lock(like)[make_tool_package_set(like).name]
    request = make_kernel_request(tree, [], like.arch)
    return build_kernel_packages(request, fetch_kernel_builders(like, tools))


@pytest.mark.parametrize("like_name", ["apf27", "apf27-arm"])
def test_a_kernel_of_a_tree_boots_and_a_trial_repeats(like_name: str, tree: Path) -> None:
    board = make_board("lean", load_noun("boards", like_name, BoardModel), tree)
    assert board.identity["kernel"].endswith("-lean")
    first = run_once(board)
    assert list_times(run_once(board)) == list_times(first)
    assert {"debug_kernel", "kernel_finding"}.isdisjoint(doubt.code for doubt in first.warnings)


def test_two_clean_builds_give_the_same_bytes(
    like: BoardModel, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(like, tree)
    monkeypatch.setattr(kernelbuild, "FORM", -kernelbuild.FORM)
    with move_folder(tree, tmp_path / "another") as elsewhere:
        second = build(like, elsewhere)
    assert second.image != first.image
    for one, other in ((first.image, second.image), (first.headers, second.headers)):
        assert digest_file(other) == digest_file(one)


@pytest.mark.parametrize(
    ("planted", "fragment", "words"),
    [
        (USE_AFTER_FREE, "kasan", ("KASAN", "use-after-free", "jffs2_sync_fs")),
        (LOCK_ORDER, "lockdep", ("possible circular locking dependency",)),
    ],
    indirect=["planted"],
    ids=["kasan", "lockdep"],
)
def test_a_planted_fault_is_a_finding_and_the_run_is_marked(
    like: BoardModel, planted: Path, fragment: str, words: tuple[str, ...]
) -> None:
    board = make_board(fragment, like, planted, fragment)
    doubts = {doubt.code: doubt.text for doubt in run_once(board).warnings}
    assert fragment.lower() in doubts["debug_kernel"].lower()
    assert all(word in doubts["kernel_finding"] for word in words)
