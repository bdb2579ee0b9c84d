# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine."""

from __future__ import annotations

from nandlab.board.virtual.qemu import open_board

OPEN_BOARD = open_board
