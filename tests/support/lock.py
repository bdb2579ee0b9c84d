# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a mirror has not the locked packages any more, tests run on the newest; trials tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.kit import trees
from nandlab.board.opening import open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.tree import TreeModel
from nandlab.results.recordparts import Doubt


def doubts(found: Iterable[Doubt]) -> list[str]:
    """The codes of doubts but that the board is not the locked one."""
    return [doubt.code for doubt in found if doubt.code != "not_locked"]


def sentences(found: Sequence[str]) -> list[str]:
    """The same for a trace's warnings."""
    return [text for text in found if not text.startswith("not the locked board")]


def need_locked(name: str) -> None:
    """Skips a test of what holds for a locked board only."""
    board = open_board(load_noun("boards", name, BoardModel))
    if board.lock_differences:
        pytest.skip(f"the locked packages are not to be had: {board.lock_differences[0]}")


def need_locked_tree(name: str) -> None:
    """The same of what begins from a root file system."""
    tree = load_noun(trees.KIND, name, TreeModel)
    try:
        trees.fetch_tree_package_set(tree, trees.read_locked_tree_packages(tree), strictly=True)
    except UsageError as e:  # newer ones are of no use here, and a mirror may have none either
        pytest.skip(str(e))
