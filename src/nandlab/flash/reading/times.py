# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of a call that reads a page of a file: the chip's, and the processor's by what it does.

``T = N x t_page + i x sum(amount x instructions)``: t_page is a page read of the part, from its
file; i is the board's ns for an instruction. The instructions are those of catalog/read-model.toml,
which bench/read_model measures. The paper's formula is ``T = N x t_page + overhead``, with one
overhead for all calls.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pydantic import Field

from nandlab.analysis.differences.reprice import PartLatencies
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.paths import CATALOG
from nandlab.base.strings import Word
from nandlab.catalog.chip import ChipModel, Geometry
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel
from nandlab.flash.layouts.layout import HOLE, FilePiece
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, FirstOpen, FlashReading, ReadCall
from nandlab.results.recordparts import OperationCounts

HOST_ARCH = "amd64"
"""The architecture whose kernels have no addition to their names in the file."""
READ_MODEL_FILE = CATALOG / "read-model.toml"
LEAF_BITS, NODE_BITS = 4, 3
"""Of a chunk's number: what a leaf of YAFFS2's tree takes, and each level above."""


class Instructions(StrictModel):
    """What a file system on a kernel needs for each amount of a call, in instructions; 0: it has no
    such amount."""

    call: float = Field(default=0, description="a call, without anything below")
    read: float = Field(default=0, description="a page that the chip reads, without its time")
    hit: float = Field(default=0, description="a page that the NAND core's buffer has")
    index: float = Field(default=0, description="a node of the index that is not in memory yet")
    branch: float = Field(default=0, description="a branch of such a node")
    node: float = Field(default=0, description="a fragment, or of JFFS2 its header, a read of MTD")
    data: float = Field(default=0, description="JFFS2: a fragment's data; a hole's node has none")
    stored: float = Field(default=0, description="JFFS2: a byte of a node's data: its checksum")
    copied: float = Field(default=0, description="a byte that goes through the NAND core's buffer")
    part: float = Field(default=0, description="JFFS2: a fragment that is a part of its node")
    part_byte: float = Field(
        default=0,
        description="a byte that is copied from what was read of its node: JFFS2, of such a "
        "fragment; UBIFS, of one that is not compressed",
    )
    zero: float = Field(default=0, description="a byte that is set to zero")
    hole: float = Field(
        default=0,
        description="JFFS2: a fragment that is a hole, beside its node; YAFFS2: a chunk before the "
        "file's end that is not stored",
    )
    hole_order: float = Field(
        default=0, description="a hole, by each level of the tree that it is looked for in"
    )
    hole_leaf: float = Field(
        default=0, description="YAFFS2: a hole whose leaf of the tree is there, beside its levels"
    )
    unpack: dict[Word, dict[Word, float]] = Field(
        default={},
        description="by compressor: a node that is unpacked, and each of its tokens; unpack.py "
        "counts them",
    )
    tick: float = Field(default=0, description="the kernel's tick, which takes the processor")
    first_wait: float = Field(
        default=0, description="the first wait of a process for the chip, beyond other waits"
    )
    open: float = Field(default=0, description="the first open of a file, without what follows")
    open_read: float = Field(default=0, description="JFFS2: a page that the chip reads then")
    open_node: float = Field(default=0, description="a node that is read then, not of the index")
    open_order: float = Field(
        default=0, description="a node that is read then, by each level of the tree it is put into"
    )


class ReadModel(StrictModel):
    """The catalog's file."""

    filesystems: dict[Word, dict[Word, Instructions]] = Field(
        description="by the file system's name, by the kernel's series"
    )


FILE_HEAD = """\
# What a call that reads a page of a file needs, in instructions of the board's processor, by what
# it does. bench/read_model fits them to traces of the board apf27 and its other kernels, with the
# chip's time and the tracers' own taken off. The chip's time is in the part's file."""
"""The begin of the catalog's file."""


@cache
def read_instruction_counts() -> dict[str, dict[str, Instructions]]:
    """The file, checked; empty where it has nothing yet."""
    return validate_data(
        read_toml(READ_MODEL_FILE) or {"filesystems": {}}, ReadModel, str(READ_MODEL_FILE)
    ).filesystems


def find_instruction_counts(filesystem: str, kernel: str, arch: str = HOST_ARCH) -> Instructions:
    """Of a file system on a kernel's series, such as 6.1, and an architecture.

    UsageError if none were measured: another processor has other instructions for the same code.
    """
    counts_by_kernel = read_instruction_counts().get(filesystem, {})
    key = make_kernel_key(kernel, arch)
    if key not in counts_by_kernel:
        measured = f"{', '.join(counts_by_kernel)} are" if counts_by_kernel else "no kernel is"
        of_arch = "" if arch == HOST_ARCH else f" on {arch}"
        raise UsageError(
            f"{filesystem}, Linux {kernel}{of_arch}: what reads take beside the chip was not "
            f"measured; {measured} ({READ_MODEL_FILE.name}). Take the chip's time and N, or "
            f"--formula paper with an overhead of yours"
            + (f", or a board of {HOST_ARCH}" if of_arch else "")
        )
    return counts_by_kernel[key]


def make_kernel_key(kernel: str, arch: str) -> str:
    """What a kernel's series is called in the file: 6.1, or 6.1-armhf."""
    return kernel if arch == HOST_ARCH else f"{kernel}-{arch}"


def count_read_call_work(call: ReadCall) -> dict[str, float]:
    """What a call does, by the keys of :class:`Instructions`; ``lzo.run`` for a token of LZO."""
    amounts: dict[str, float] = defaultdict(float)
    amounts["call"] += 1
    for key, amount in _count_reads(call).items():
        amounts[key] += amount
    begin, zeroes = call.page * PAGE_BYTES, PAGE_BYTES
    for piece in call.pieces:
        end = piece.offset + piece.bytes
        wanted_bytes = min(end, begin + PAGE_BYTES) - max(piece.offset, begin)
        if piece.packing != HOLE:
            zeroes -= wanted_bytes
        if not call.file.layout.chunk_bytes:
            _add_node_amounts(amounts, piece, wanted_bytes, call)
    amounts["zero"] += zeroes
    if (met := count_call_holes(call)).holes:
        amounts |= {"hole": met.holes, "hole_order": met.order, "hole_leaf": met.leaves}
    return dict(amounts)


class Holes(NamedTuple):
    """The holes of a call."""

    holes: int
    """JFFS2: fragments; YAFFS2: chunks before the file's end that are not stored."""
    order: float
    """Levels of the tree that are gone down for all of them: JFFS2, log2 of the file's fragments,
    for the tree is balanced; YAFFS2, the nodes above the leaf that are there."""
    leaves: int = 0
    """YAFFS2: leaves that are there, in which the chunk is not."""


def count_call_holes(call: ReadCall) -> Holes:
    """Those of a page of a file. JFFS2 writes a node for a hole and finds it in the file's tree of
    fragments (jffs2_lookup_node_frag()); YAFFS2 looks for each chunk in a tree of 16 chunks a leaf
    and 8 children a node, and stops where none is (yaffs_find_tnode_0()); UBIFS has no node of a
    hole, and its index is read in any case."""
    if call.index is not None:
        return Holes(0, 0)
    size = call.file.layout.chunk_bytes
    if not size:
        count = sum(piece.packing == HOLE for piece in call.pieces)
        return Holes(count, count * math.log2(call.file.piece_count) if count else 0)
    begin = call.page * PAGE_BYTES
    end = min(begin + PAGE_BYTES, call.file.size)
    stored = {piece.offset // size for piece in call.pieces}
    absent = [c for c in range(begin // size, -(-end // size)) if c not in stored]
    steps = [_count_tree_steps(call.file, chunk + 1) for chunk in absent]
    nodes, leaves = (sum(step[i] for step in steps) for i in (0, 1))
    return Holes(len(absent), nodes, leaves)


def _count_tree_steps(file: FilePieces, chunk: int) -> tuple[int, int]:
    """Nodes of YAFFS2's tree, and leaves, that are met on the way to a chunk, of those from 1."""
    stored, level = file.chunk_numbers, 0
    while stored and stored[-1] >> (LEAF_BITS + level * NODE_BITS):
        level += 1
    if not stored or chunk >> (LEAF_BITS + level * NODE_BITS):
        return 0, 0
    for nodes in range(level):
        shift = LEAF_BITS + (level - nodes - 1) * NODE_BITS
        first = chunk >> shift << shift
        at = bisect_left(stored, first)
        if at == len(stored) or stored[at] >= first + (1 << shift):
            return nodes + 1, 0
    return level, 1


def _count_reads(reading: FlashReading) -> dict[str, float]:
    """What the reads of MTD take."""
    amounts: dict[str, float] = {
        "read": len(reading.flash),
        "hit": reading.hits,
        "copied": sum(a.bytes for a in reading.accesses if not a.bypasses_buffer),
    }
    return amounts | (
        {"index": len(reading.index), "branch": sum(reading.index)} if reading.index else {}
    )


def _add_node_amounts(
    amounts: dict[str, float], piece: FilePiece, wanted_bytes: int, call: ReadCall
) -> None:
    """A node, of which a call wants so many bytes; a chunk is none, but a page that is read. One of
    UBIFS is read at once, its checksum left alone, and unpacked or copied to its page."""
    amounts["node"] += 1
    if call.index is not None:
        amounts["part_byte"] += 0 if piece.packing else wanted_bytes
    elif piece.packing != HOLE:
        amounts["data"] += 1
        amounts["stored"] += piece.stored
        if wanted_bytes < piece.plain:
            amounts["part"] += 1
            amounts["part_byte"] += wanted_bytes
    if piece.packing not in {"", HOLE}:
        for token, count in (call.file.tokens(piece) or {"node": 1}).items():
            amounts[f"{piece.packing}.{token}"] += count


def count_operation_work(call: ReadCall | FirstOpen) -> dict[str, float]:
    """What either of them does."""
    return count_read_call_work(call) if isinstance(call, ReadCall) else count_first_open_work(call)


def count_first_open_work(opened: FirstOpen) -> dict[str, float]:
    """What the first open of a file does, by the same keys."""
    nodes = opened.nodes
    if opened.index is not None:
        return {"open": 1, "open_node": nodes} | _count_reads(opened)
    order = nodes * math.log2(nodes) if nodes else 0
    return {"open": 1, "open_read": len(opened.flash), "open_node": nodes, "open_order": order}


class PageReadTimes(NamedTuple):
    """What a page read of a part takes."""

    page_ns: float
    """Array and bus, spare area too."""
    array_ns: float = 0
    """The array's part, which a page that the register still has does without."""

    def compute_ns(self, pages: int, registered: int) -> float:
        """Of so many pages, some of them in the register."""
        return pages * self.page_ns - registered * self.array_ns


def compute_page_read_times(part: PartLatencies, geometry: Geometry) -> PageReadTimes:
    """A page read of a part."""
    one = OperationCounts(reads=1, programs=0, erases=0)
    page_ns = part.ns(one, geometry.writesize + geometry.oobsize, 0)
    return PageReadTimes(page_ns, part.t_r)


def compute_chip_page_read_times(chip: ChipModel) -> PageReadTimes:
    """A page read of a chip with its typical times."""
    return compute_page_read_times(
        PartLatencies.from_timing(chip.name, chip.geometry, chip.timing, "typical"), chip.geometry
    )


def compute_call_ns(
    call: ReadCall | FirstOpen, by: Instructions, read: PageReadTimes, instruction_ns: float
) -> float:
    """The time of a call, ns; UsageError for a compressor that was not measured."""
    instructions_by_key = flatten_instruction_counts(by)
    total = 0.0
    for key, amount in count_operation_work(call).items():
        compressor, dot, _ = key.partition(".")
        if dot and compressor not in by.unpack:
            raise UsageError(f"{compressor}: what it takes to unpack was not measured")
        total += amount * instructions_by_key.get(key, 0.0)
    return read.compute_ns(len(call.flash), call.registered) + instruction_ns * total


def split_call_instructions(
    call: ReadCall, by: Instructions, traced: Mapping[str, float]
) -> list[float]:
    """The instructions before each page that the chip reads, and after the last.

    traced: what else the call's events of each kind took. Half of what asking for a node takes
    comes before its reads, the rest where its end is read; all that is of no node comes first.
    """
    instructions_by_key, stretches = flatten_instruction_counts(by), [0.0]
    event_instructions = {key: traced[key] / max(1, n) for key, n in _count_events(call).items()}
    chunks = bool(call.file.layout.chunk_bytes)
    waiting = iter(() if chunks else call.pieces)
    piece, asking = next(waiting, None), (by.node + by.data) / 2
    begun = None
    for access in call.accesses:
        stretches[-1] += event_instructions["MTD_READ"] + (asking if piece is not begun else 0)
        begun = piece
        if access.hit:
            stretches[-1] += by.hit + event_instructions["FLASH_HIT"]
        else:
            half = (by.read + event_instructions["FLASH_READ"]) / 2
            stretches[-1] += half
            stretches.append(half)
        stretches[-1] += 0 if access.bypasses_buffer else by.copied * access.bytes
        if piece and access.page == _find_last_page(piece, call.file.layout.writesize):
            stretches[-1] += _sum_node_instructions(piece, call, instructions_by_key) - asking
            piece = next(waiting, None)
    total = sum(
        n * instructions_by_key.get(key, 0.0) for key, n in count_read_call_work(call).items()
    )
    stretches[0] += total + sum(traced[key] for key in event_instructions) - sum(stretches)
    return stretches


def _count_events(call: ReadCall) -> dict[str, int]:
    """Over how many accesses what events of a kind take is spread."""
    return {"MTD_READ": len(call.accesses), "FLASH_READ": len(call.flash), "FLASH_HIT": call.hits}


def _find_last_page(piece: FilePiece, writesize: int) -> int:
    return (piece.at + piece.stored - 1) // writesize


def _sum_node_instructions(
    piece: FilePiece, call: ReadCall, instructions_by_key: Mapping[str, float]
) -> float:
    """The instructions that a node takes beside its reads."""
    begin, amounts = call.page * PAGE_BYTES, defaultdict[str, float](float)
    wanted_bytes = min(piece.offset + piece.bytes, begin + PAGE_BYTES) - max(piece.offset, begin)
    _add_node_amounts(amounts, piece, wanted_bytes, call)
    return sum(n * instructions_by_key.get(key, 0.0) for key, n in amounts.items())


def compute_paper_call_ns(call: ReadCall | FirstOpen, t_page: float, overhead_ns: float) -> float:
    """The tracing paper's formula (2014, section 5.1)."""
    return len(call.flash) * t_page + overhead_ns


def flatten_instruction_counts(by: Instructions) -> Mapping[str, float]:
    """All instructions by key, those of tokens as ``lzo.run``."""
    found: dict[str, float] = by.model_dump(exclude={"unpack"})
    for compressor, tokens in by.unpack.items():
        found |= {f"{compressor}.{token}": each for token, each in tokens.items()}
    return found
