# SPDX-License-Identifier: GPL-2.0-or-later
"""What the partition of a user's own board holds, in a file, and back from it, bit by bit.

The file is a dump as ``nanddump --noecc --oob --bb=dumpbad`` makes it: each page and its spare area
by turns, bad blocks in their places. Nothing is corrected when it is read, and nothing computed
when it is written back: ECC bytes are what they were, whoever wrote them and in whatever layout.
Pages that are erased are not written, for some chips let a page be written once only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.files import open_whole_file
from nandlab.board.own.flash import read_flash_properties, refuse_missing_tools
from nandlab.board.own.remote import make_temporary_path
from nandlab.board.own.tables import Mtd
from nandlab.board.own.transport import Transport

TOOLS = ("flash_erase", "mtdinfo", "nanddump", "nandwrite")
PIECE = 1 << 20
"""The most bytes that are carried at once, but a block at the least."""
PIECE_S = 3600
"""By a serial line it takes so long."""
BAD_BLOCK_LINE = re.compile(r"\b(\d+): [0-9a-f]{8,}\s+(?:RO\s+)?BAD")
"""A bad block in the map that mtdinfo prints."""


@dataclass(frozen=True)
class DumpSummary:
    """What a saved or restored partition is."""

    blocks: int
    bad: list[int]
    """Its bad blocks, by number."""
    sha256: str
    """Of the file."""
    pages: int
    """Pages that are not erased, of good blocks."""


@dataclass(frozen=True)
class PartitionCells:
    """A partition on a board, as its cells are read and written."""

    transport: Transport
    mtd: Mtd
    page: int
    """Bytes of a page and its spare area."""
    pages: int
    """Pages of a block."""
    piece: str = field(default_factory=make_temporary_path)
    """The file on the board with what is to be written next; nobody else can know its name."""

    @property
    def block(self) -> int:
        """Bytes of a block and its spare areas."""
        return self.page * self.pages

    @property
    def blocks(self) -> int:
        return self.mtd.size // self.mtd.erasesize

    def pieces(self) -> Iterator[range]:
        """All blocks, as many at once as can be carried."""
        step = max(1, PIECE // self.block)
        return (range(i, min(i + step, self.blocks)) for i in range(0, self.blocks, step))

    async def bad(self) -> list[int]:
        """The bad blocks, by number."""
        told = await self.transport.call(f"mtdinfo -M /dev/mtd{self.mtd.number}", limit_s=PIECE_S)
        if told.rc:
            raise NandlabError(f"{self.transport.address}: mtdinfo: {told.text}")
        return [int(number) for number in BAD_BLOCK_LINE.findall(told.text)]

    async def read(self, blocks: range) -> bytes:
        """The cells of some blocks."""
        start, size = blocks.start * self.mtd.erasesize, len(blocks) * self.mtd.erasesize
        dump = f"nanddump -q --noecc --oob --bb=dumpbad -s {start} -l {size}"
        device = f"/dev/mtd{self.mtd.number}"
        reply = await self.transport.call(f"{dump} {device} 2>/dev/null", limit_s=PIECE_S)
        if reply.rc or len(reply.out) != len(blocks) * self.block:
            raise NandlabError(
                f"{self.transport.address}: blocks {blocks.start} to {blocks.stop - 1} cannot "
                f"be read bit "
                "by bit: not every driver reads without correction"
            )
        return reply.out

    async def write(self, blocks: range, cells: bytes, bad: set[int]) -> None:
        """Writes some blocks' cells, which are erased, but for those of bad blocks."""
        put = "nandwrite -q --noecc --oob -s $3 --input-skip=$1 --input-size=$2"
        runs = [
            f"w {run.start * self.page} {len(run) * self.page} {self._offset(blocks, run.start)}"
            for run in _find_runs(self.written(blocks, cells, bad))
        ]
        if not runs:
            return
        reply = await self.transport.call(
            f"w() {{ {put} /dev/mtd{self.mtd.number} {self.piece} || exit; }}; "
            f"umask 077; set -C; cat >{self.piece} && ( {'; '.join(runs)} ); set -- $?; "
            f"rm {self.piece}; exit $1",
            cells,
            limit_s=PIECE_S,
        )
        if reply.rc:
            raise NandlabError(f"{self.transport.address}: nandwrite: {reply.text}")

    def written(self, blocks: range, cells: bytes, bad: set[int]) -> list[int]:
        """Which pages of some blocks' cells are not erased, in blocks that are not bad."""
        erased = b"\xff" * self.page
        return [
            i
            for i in range(len(blocks) * self.pages)
            if blocks[i // self.pages] not in bad and self.select_page(cells, i) != erased
        ]

    def select_page(self, cells: bytes, page: int) -> bytes:
        """A page of cells."""
        return cells[page * self.page : (page + 1) * self.page]

    def _offset(self, blocks: range, page: int) -> int:
        """Where a page of some blocks is in the partition, without spare areas."""
        size = self.mtd.erasesize
        return blocks.start * size + page * (size // self.pages)


def _find_runs(numbers: list[int]) -> Iterator[range]:
    """Ascending numbers as ranges."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            yield range(numbers[start], numbers[i - 1] + 1)
            start = i


async def open_partition_cells(on: Transport, mtd: Mtd) -> PartitionCells:
    """A partition of a board."""
    told = await read_flash_properties(on, mtd.number)
    page, oob = (told.shape[name] for name in ("writesize", "oobsize"))
    return PartitionCells(on, mtd, page + oob, mtd.erasesize // page)


async def save_partition_cells(part: PartitionCells, file: Path) -> DumpSummary:
    """Writes a partition's cells to a file, which must not be there yet."""
    await refuse_missing_tools(part.transport, TOOLS)
    bad, summed, pages = await part.bad(), hashlib.sha256(), 0
    with open_whole_file(file) as out:
        for blocks in part.pieces():
            has = await part.read(blocks)
            pages += len(part.written(blocks, has, set(bad)))
            summed.update(has)
            out.write(has)
    return DumpSummary(part.blocks, bad, summed.hexdigest(), pages)


def refuse_other_dump_size(part: PartitionCells, file: Path) -> None:
    """UsageError unless a file has as many bytes as the partition."""
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    size, wanted = file.stat().st_size, part.blocks * part.block
    if size != wanted:
        raise UsageError(
            f"{file}: {size} bytes, and {part.mtd.name!r} with its spare areas has {wanted}: it "
            "is no dump of it by nandlab board save or nanddump --oob"
        )


async def restore_partition_cells(
    part: PartitionCells, file: Path, erase: Callable[[], Awaitable[None]]
) -> DumpSummary:
    """Has a partition erased, writes a file's cells to it, and reads them back.

    NandlabError tells where it then has others. Bad blocks stay as they are.
    """
    refuse_other_dump_size(part, file)
    await refuse_missing_tools(part.transport, TOOLS)
    bad, summed, pages = await part.bad(), hashlib.sha256(), 0
    await erase()
    with file.open("rb") as given:
        for blocks in part.pieces():
            wanted = given.read(len(blocks) * part.block)
            summed.update(wanted)
            pages += len(part.written(blocks, wanted, set(bad)))
            await part.write(blocks, wanted, set(bad))
    await _verify_partition(part, file, set(bad))
    return DumpSummary(part.blocks, bad, summed.hexdigest(), pages)


async def _verify_partition(part: PartitionCells, file: Path, bad: set[int]) -> None:
    """NandlabError unless a partition's good blocks have a file's cells."""
    pages: list[int] = []
    bits = 0
    with file.open("rb") as given:
        for blocks in part.pieces():
            wanted = given.read(len(blocks) * part.block)
            has = await part.read(blocks)
            for i in range(len(blocks) * part.pages if has != wanted else 0):
                a, b = part.select_page(has, i), part.select_page(wanted, i)
                if a != b and blocks[i // part.pages] not in bad:
                    pages.append(blocks.start * part.pages + i)
                    bits += (int.from_bytes(a) ^ int.from_bytes(b)).bit_count()
    if pages:
        raise NandlabError(
            f"{len(pages)} pages differ from the file, in {bits} bits; the first is page "
            f"{pages[0] % part.pages} of block {pages[0] // part.pages}. A bit or two in a page "
            "are what ECC corrects; more: restore once more"
        )
