# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a board of any kind."""

from __future__ import annotations

from nandlab.base.registry import find_module_values
from nandlab.board.jobs.job import Board
from nandlab.board.kit.lock import Lock
from nandlab.board.kit.partsource import Requests
from nandlab.board.virtual.machine import NO_SOURCES
from nandlab.catalog.board import BoardModel


def open_board(
    model: BoardModel,
    accel: str = "tcg",
    sources: Requests = NO_SOURCES,
    *,
    locked: bool = False,
    lock: Lock | None = None,
) -> Board:
    """A board ready to run jobs, of the kind that its catalog file names.

    The other parameters: see qemu.open_board.
    """
    kinds = find_module_values("nandlab.board.kinds", "OPEN_BOARD")
    board: Board = kinds[model.kind](model, accel, sources, locked=locked, lock=lock)
    return board
