# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's image as decoders read it: data and spare areas apart, bad and unreadable told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import UsageError
from nandlab.flash.chip.image import FACTORY_BAD, ChipBlock, ChipImage

GARBLED_PAGE = 0x100
"""PAGE_GARBLED of device/modules/simnand/chip.h: no ECC can correct the page."""
SMALL_PAGE = 512
NAMED_MAX = 5


def find_uncorrectable_pages(block: ChipBlock, writesize: int, ecc: int, step: int) -> set[int]:
    """Pages of the chip of which a step of ``step`` bytes has more wrong bits than ``ecc``."""
    flips = Counter((page, bit // 8 // step) for page, bit in block.flips if bit < 8 * writesize)
    return {page for (page, _), count in flips.items() if count > ecc}


def is_erased(data: bytes) -> bool:
    """Whether each byte is that of erased flash, 0xff. A compare is a hundred times as fast as
    strip()."""
    return data == _make_erased_bytes(len(data))


@lru_cache(maxsize=4)
def _make_erased_bytes(count: int) -> bytes:
    """A decoder asks of a few sizes only, of each block; to fill as many bytes anew costs more than
    the compare."""
    return b"\xff" * count


class Partition:
    """Blocks of a chip, numbered from 0. Nothing is copied but the block that is read."""

    def __init__(
        self,
        image: ChipImage,
        blocks: int | None = None,
        ecc: int = 1,
        step: int = 512,
        first: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        """blocks: None: all; ecc: wrong bits that are corrected in ``step`` bytes; first: the block
        of the chip that the partition begins with; notes: what its file was taken for."""
        self.notes = notes
        g = image.geometry
        self.writesize, self.oobsize, self.erasesize = g.writesize, g.oobsize, g.erasesize
        self.blocks = g.blocks - first if blocks is None else blocks
        self.pages = g.pages_per_block
        self.bytes = self.blocks * self.erasesize
        if first < 0 or not 0 < self.blocks <= g.blocks - first:
            if first >= g.blocks:
                raise UsageError(
                    f"a partition that begins with block {first} on a chip of {g.blocks}"
                )
            at = f" from block {first}" if first else ""
            raise UsageError(f"a partition of {self.blocks} blocks{at} on a chip of {g.blocks}")
        end = first + self.blocks
        self._blocks = {b.index - first: b for b in image.blocks if first <= b.index < end}
        self.bad = {i for i in range(self.blocks) if self._is_bad(i)}
        self._readable(ecc, step)

    def _is_bad(self, index: int) -> bool:
        block = self._blocks.get(index)
        if block is None:
            return False
        if block.flags & FACTORY_BAD:
            return True
        if not block.cells or not self.oobsize:
            return False
        marker = 5 if self.writesize == SMALL_PAGE else 0
        return any(self.spare(index)[page, marker] == 0 for page in (0, 1))

    def _readable(self, ecc: int, step: int) -> None:
        wrong = [
            p
            for i, b in self._blocks.items()
            if i not in self.bad
            for p in self._lost(b, ecc, step)
        ]
        if wrong:
            shown = ", ".join(f"{p // self.pages}/{p % self.pages}" for p in wrong[:NAMED_MAX])
            shown += ", ..." if len(wrong) > NAMED_MAX else ""
            raise UsageError(
                f"{len(wrong)} pages cannot be read, for their ECC cannot correct them "
                f"(block/page {shown}); nothing is summed"
            )

    def _lost(self, block: ChipBlock, ecc: int, step: int) -> Iterator[int]:
        first = block.index * self.pages
        garbled = {i for i, state in enumerate(block.states) if state & GARBLED_PAGE}
        weak = {page - first for page in find_uncorrectable_pages(block, self.writesize, ecc, step)}
        return (first + page for page in sorted(garbled | weak))

    def erased(self, index: int) -> bool:
        """True if the chip keeps no cells of the block."""
        block = self._blocks.get(index)
        return block is None or not block.cells

    def _pages(self, index: int) -> NDArray[np.uint8]:
        cells = np.frombuffer(self._blocks[index].cells, dtype=np.uint8)
        return cells.reshape(self.pages, self.writesize + self.oobsize)

    def cells(self, index: int) -> bytes:
        """All cells of a block, data and spare areas in turn; empty: erased."""
        return self._blocks[index].cells

    def flags(self, index: int) -> int:
        """The chip's own record of a block; a block whose mark is set is bad from the factory."""
        return self._blocks[index].flags | (FACTORY_BAD if index in self.bad else 0)

    def data(self, index: int) -> bytes:
        """All data bytes of a block that is not erased."""
        return self._pages(index)[:, : self.writesize].tobytes()

    def read_data(self, at: int, count: int) -> bytes:
        """Data bytes within a block that is not erased; at: from the start of the partition."""
        index, within = divmod(at, self.erasesize)
        first, last = within // self.writesize, (within + count - 1) // self.writesize + 1
        pages = self._pages(index)[first:last, : self.writesize].tobytes()
        return pages[within - first * self.writesize :][:count]

    def begin(self, index: int, count: int) -> bytes:
        """The first data bytes of a block that is not erased; count: at most a page's."""
        return bytes(self._blocks[index].cells[:count])

    def spare(self, index: int) -> NDArray[np.uint8]:
        """Spare areas of a block that is not erased: a row a page."""
        return self._pages(index)[:, self.writesize :]
