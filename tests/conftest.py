# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests share: the boards."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from nandlab.board.fake import FakeBoard
from nandlab.board.job import Board
from nandlab.kit.root import Root

# no deadline: a host may be busy, and how long an example takes proves nothing; the same examples
# each time: what is checked of a commit does not hang on luck. `make test-search` draws new ones
settings.register_profile("nandlab", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile("nandlab")


def _board(kind: str) -> Board:
    if kind == "fake":
        return FakeBoard()
    from nandlab.board.qemu import open_board
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load

    return open_board(load("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel))


@pytest.fixture(scope="session")
def board() -> Board:
    """The virtual board, booted once for all tests."""
    return _board("qemu")


@pytest.fixture(scope="session")
def tools() -> Root:
    """The root of the board's tools: compiler, emulator, mtd-utils."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load
    from nandlab.kit.kit import tools_of

    return tools_of(load("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel))[0]


@pytest.fixture(params=["fake", pytest.param("qemu", marks=pytest.mark.board)])
def any_board(request: pytest.FixtureRequest) -> Board:
    """Each kind of board in turn: what holds for one must hold for the other."""
    found: Board = request.getfixturevalue("board") if request.param == "qemu" else FakeBoard()
    return found
