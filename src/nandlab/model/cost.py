# SPDX-License-Identifier: GPL-2.0-or-later
"""What a call that reads costs: its work by kind, each kind at its measured price.

A call takes N t + i W. N are the flash pages that the chip reads, t is what the chip takes for one,
i the board's time for an instruction, and W the call's instructions: the sum of its work by kind
times the prices of ``catalog/read-costs.toml``, which ``bench/read_model`` measures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import read_toml, validate
from nandlab.catalog.noun import Strict
from nandlab.model.reads import PAGE, Access, Call
from nandlab.onflash.layout import HOLE, Piece

SOURCE = CATALOG / "read-costs.toml"
WORK = {
    "call": "calls that read a page of a file",
    "page": "flash pages read by the chip",
    "hit": "flash pages that the NAND core's buffer had",
    "buffered_byte": "bytes copied from that buffer",
    "node": "nodes, their header read and checked",
    "data": "nodes whose data are read: all but those of zeroes",
    "stored_byte": "bytes of nodes whose checksum is worked out",
    "part": "nodes of which a part is used, so that they are read into memory of their own",
    "part_byte": "bytes copied from there",
    "zero_byte": "bytes set to zero",
    "open": "first opens of a file",
    "open_page": "flash pages read by the chip in a first open",
    "open_node": "nodes that hold, their header read and put in order",
    "paper": "calls, by the tracing paper's formula: its T_overhead",
}
"""The kinds of work of any file. One that is compressed has three more for each compressor."""
UNPACKING = {
    "node": "nodes unpacked",
    "stored_byte": "their bytes as they are stored",
    "plain_byte": "their bytes unpacked",
    "saved_byte": "their stored bytes, each times the share that compression saved of its node: "
    "data that hardly shrink are few long copies, data that shrink to nothing are too",
}
PACKERS = ("lzo", "zlib")
"""Compressors whose unpacking is measured."""
KINDS = (*WORK, *(f"{packer}_{kind}" for packer in PACKERS for kind in UNPACKING))

READING = [kind for kind in KINDS if not kind.startswith(("open", "paper"))]
"""Of calls that read a page of a file."""


class ReadCosts(Strict):
    """The catalog's file."""

    kernels: dict[str, dict[str, float]] = Field(
        description="by the kernel's series: instructions for each kind of work"
    )

    @model_validator(mode="after")
    def _a_kernel_has_all_kinds(self) -> ReadCosts:
        for kernel, prices in self.kernels.items():
            if set(prices) != set(KINDS):
                raise ValueError(f"kernels {kernel}: {sorted(set(prices) ^ set(KINDS))}")
        return self

    def of(self, kernel: str) -> Mapping[str, float]:
        """The prices on a kernel of a series; UsageError if it was not measured."""
        if kernel not in self.kernels:
            known = ", ".join(self.kernels)
            raise UsageError(
                f"Linux {kernel}: what reading costs there is not measured; known are {known}: "
                f"name a board with one of them, or measure it with bench/read_model"
            )
        return self.kernels[kernel]


@dataclass(frozen=True)
class Rates:
    """What a board and its chip take."""

    page_ns: int
    """Of the chip for a flash page, bus cycles included."""
    instruction_ns: int
    prices: Mapping[str, float]

    def ns(self, work: Mapping[str, float], pages: int) -> float:
        """Time of some work in which the chip reads so many pages; UsageError: no price."""
        unknown = sorted(set(work) - set(self.prices))
        if unknown:
            raise UsageError(f"{', '.join(unknown)}: what it costs is not measured")
        instructions = sum(count * self.prices[kind] for kind, count in work.items())
        return pages * self.page_ns + self.instruction_ns * instructions

    def paper_ns(self, pages: int) -> float:
        """The tracing paper's formula (2014, section 5) for a call: T = N T_page + T_overhead.

        T_page is that of a page at the driver, and T_overhead is one for all calls.
        """
        return self.ns({"page": pages, "paper": 1}, pages)


def read() -> ReadCosts:
    """The file, checked."""
    return validate(read_toml(SOURCE), ReadCosts, str(SOURCE))


def page_ns(chip: ChipModel) -> int:
    """What the simulated chip takes for a page with its spare area, by typical figures.

    Two commands (of a small page one), the address, tR, and the data: docs/simnand.md.
    """
    g, t = chip.geometry, chip.timing
    small = g.writesize == 512
    rows = 3 if g.blocks * chip.pages_per_block() > 1 << 16 else 2
    into = (1 + 1 if small else 2 + 2) + rows
    return into * t.t_wc_ns + t.t_r_ns + (g.writesize + g.oobsize) * 8 // g.bus_bits * t.t_rc_ns


def passed(accesses: Iterable[Access]) -> dict[str, float]:
    """The work of the MTD's reads: pages, hits, bytes through the buffer."""
    found = Counter[str]()
    for access in accesses:
        found["hit" if access.hit else "page"] += 1
        found["buffered_byte"] += 0 if access.whole else access.bytes
    return dict(found)


def work(call: Call) -> dict[str, float]:
    """The work of a call by kind."""
    begin = call.page * PAGE
    seen = [_seen(piece, begin) for piece in call.pieces]
    found: dict[str, float] = defaultdict(float, passed(call.accesses))
    found["call"] += 1
    found["node"] += len(seen)
    found["zero_byte"] += PAGE - sum(seen)
    for piece, count in zip(call.pieces, seen, strict=True):
        if piece.packing == HOLE:
            found["zero_byte"] += count
            continue
        found["data"] += 1
        found["stored_byte"] += piece.stored
        if count < piece.plain:
            found["part"] += 1
            found["part_byte"] += count
        if piece.packing:
            found[f"{piece.packing}_node"] += 1
            found[f"{piece.packing}_stored_byte"] += piece.stored
            found[f"{piece.packing}_plain_byte"] += piece.plain
            saved = 1 - piece.stored / piece.plain
            found[f"{piece.packing}_saved_byte"] += piece.stored * saved
    return dict(found)


def _seen(piece: Piece, begin: int) -> int:
    """Bytes of a piece that lie in the page of the file that begins there."""
    return min(piece.offset + piece.bytes, begin + PAGE) - max(piece.offset, begin)
