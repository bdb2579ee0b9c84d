# SPDX-License-Identifier: GPL-2.0-or-later
"""The module's journal as the host reads it: what each recorded operation changed.

The layout is that of ``device/modules/powercut/journal.h``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from nandlab.base.errors import NandlabError
from nandlab.catalog.chip import Geometry
from nandlab.flash.chip.image import WORN_OUT

PROGRAM, OOB_PROGRAM, MARK_BAD, ERASE = range(4)
ENTRY = struct.Struct("<IIII")
SIDE = struct.Struct("<QQQIIIIIIQ")
ENTRY_BYTES = ENTRY.size + 2 * SIDE.size
FLIP_BYTES, STATE_BYTES, ALIGNED = 8, 2, 8
PROGRAMS = 0x7F
"""The bits of a page's state that count its programs, up to so many (chip.h of simnand)."""
assert ENTRY_BYTES == 128


@dataclass(frozen=True)
class Page:
    """A page at some moment."""

    number: int
    """In the chip."""
    state: int
    """chip.h of simnand tells what it is; 0: erased."""
    cells: bytes = field(repr=False)
    """Data and spare area; empty: erased."""


@dataclass(frozen=True)
class OperationSide:
    """Before or after an operation."""

    pages: tuple[Page, ...]
    high: int
    """Pages of the block up to the last one that is programmed."""
    flags: int


@dataclass(frozen=True)
class Operation:
    """A recorded one."""

    kind: int
    before: OperationSide
    after: OperationSide

    @property
    def erases(self) -> bool:
        return self.kind == ERASE


@dataclass(frozen=True)
class Journal:
    """The journal's memory, of which so many operations are recorded."""

    memory: bytes
    recorded: int
    geometry: Geometry

    def operations(self) -> Iterator[Operation]:
        """All, in their order; NandlabError if a checksum is wrong."""
        for index in range(self.recorded):
            at = len(self.memory) - (index + 1) * ENTRY_BYTES
            first, pages, kind, crc = ENTRY.unpack_from(self.memory, at)
            before, _ = self._side(at + ENTRY.size, first, pages)
            after, content = self._side(at + ENTRY.size + SIDE.size, first, pages)
            if zlib.crc32(content) != crc:
                raise NandlabError(f"powercut: operation {index} of the journal is damaged")
            yield Operation(kind, before, after)

    def _side(self, at: int, first: int, pages: int) -> tuple[OperationSide, memoryview]:
        """A side, and the bytes of it that its checksum is of."""
        *_, flags, _, high, flips, start = SIDE.unpack_from(self.memory, at)
        if flips:
            raise NandlabError("powercut: the chip has planted errors, which are not told apart")
        page_bytes = self.geometry.writesize + self.geometry.oobsize
        states = struct.unpack_from(f"<{pages}H", self.memory, start)
        end, side_pages = start + pages * STATE_BYTES, []
        for number, state in enumerate(states, first):
            size = page_bytes if state else 0
            side_pages.append(Page(number, state, self.memory[end : end + size]))
            end += size
        content = memoryview(self.memory)[start : -(-end // ALIGNED) * ALIGNED]
        return OperationSide(tuple(side_pages), high, flags), content


def list_broken_program_limits(operation: Operation, geometry: Geometry) -> list[str]:
    """Which figures of the geometry a program breaks: what ``ChipModel.forbids`` has words for.

    As simnand counts them as illegal (``legal.c``): the part's data sheet forbids such a program.
    """
    if operation.erases or operation.before.flags & WORN_OUT:
        return []
    (page,) = operation.before.pages
    in_block = page.number % (geometry.erasesize // geometry.writesize)
    found = ["nop"] if page.state & PROGRAMS >= geometry.nop else []
    late = geometry.in_order and in_block + 1 < operation.before.high
    return [*found, "in_order"] if late else found
