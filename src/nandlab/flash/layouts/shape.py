# SPDX-License-Identifier: GPL-2.0-or-later
"""The geometry of a chip whose dump does not tell it."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """The chip's geometry, as its user tells it; in bytes."""

    page: int
    erase_block: int
    oob: int = 0
    """0: the dump has no spare areas."""

    @property
    def block_bytes(self) -> int:
        """Bytes of the file for an erase block."""
        return self.erase_block // self.page * (self.page + self.oob)

    def __str__(self) -> str:
        spare = f" + {self.oob}" if self.oob else ""
        return f"pages of {self.page}{spare} bytes in blocks of {self.erase_block}"
