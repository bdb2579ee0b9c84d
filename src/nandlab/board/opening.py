# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a board of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nandlab.board.job import Board
from nandlab.board.qemu import open_board as open_qemu
from nandlab.catalog.board import BoardModel


def open_board(
    model: BoardModel,
    accel: str = "tcg",
    yaffs2_source: Path | None = None,
    lock: Mapping[str, Mapping[str, str]] | None = None,
) -> Board:
    """A board ready to run jobs, of the kind that its catalog file names.

    accel, yaffs2_source: see qemu.open_board. lock: the packages to take and no others, by name of
    their set the SHA-256 of each file; None: those that the board would take today.
    """
    del lock  # not yet heeded: the board's rooms are at work on it
    return {"qemu": open_qemu}[model.kind](model, accel, yaffs2_source)
