# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the chip at each point, as a digest of what it holds, worked out from the journal.

A second writing of ``device/modules/powercut/torn.c`` and its ways. Images that the board saves
have the same digests (``tests/powercut/test_cut_states.py``). A state is all that a reader can find
out: cells, spare area included, which pages no ECC corrects, and of unstable cells where they are,
how often they still read right, and as what they read then. Counts such as wear are no part of it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import NandlabError
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.mishaps import read_tear_ways
from nandlab.flash.layouts.cells import GARBLED_PAGE
from nandlab.powercut.journal import Operation, Page

TEAR_BITS = 9
"""The stream of random numbers (prng.h of simnand)."""
HOW, BITS, READS, _, WHERE = range(5)
STABLE_READS = 8
FEW_BITS, FEW_BYTES, FEW_STRIDE = 8, 512, 1021
KNOWN_WAYS = ("before", "prefix", "subset", "few", "unstable", "done")
"""Ways to tear that are written here a second time; the states of others are not known."""
DIGEST_BYTES = 8
WORD = (1 << 64) - 1

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def _mix(x: Words) -> Words:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def _draw_numbers(seed: int, what: int, places: Words) -> Words:
    start = _mix(np.array([(seed ^ TEAR_BITS << 56) & WORD], np.uint64))
    return _mix(_mix(start ^ np.uint64(what)) ^ places)


def _draw_below(seed: int, what: int, page: int, below: int) -> int:
    (random,) = _draw_numbers(seed, what, np.array([page], np.uint64))
    return (int(random) >> 32) * below >> 32


def _draw_bits(seed: int, places: Words, chance: int) -> Bytes:
    """A byte for each place, its bits 1 with a probability of chance / 256."""
    drawn = _draw_numbers(seed, BITS, places).astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.packbits(drawn < chance, axis=1, bitorder="little").reshape(-1)


def _erased_bytes(size: int) -> bytes:
    return b"\xff" * size


def _digest_cells(page: int, cells: bytes, *, garbled: bool) -> int:
    """Of a page; 0: it reads as erased."""
    if not garbled and cells == _erased_bytes(len(cells)):
        return 0
    head = struct.pack("<II", page, garbled)
    return int.from_bytes(hashlib.blake2b(head + cells, digest_size=DIGEST_BYTES).digest())


def _digest_page(page: Page) -> int:
    return _digest_cells(page.number, page.cells, garbled=bool(page.state & GARBLED_PAGE))


def _digest_flips(page: int, bits: Iterable[int]) -> int:
    """What wrong bits of a page add; 0: it has none."""
    told = sorted(bits)
    packed = struct.pack(f"<{1 + len(told)}I", page, *told)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=DIGEST_BYTES).digest()) * bool(told)


def digest_chip_pages(pages: Iterable[Page]) -> int:
    """Of some pages together; so of all of a chip's, the chip's."""
    found = 0
    for page in pages:
        found ^= _digest_page(page)
    return found


def digest_decoded_chip_image(chip: ChipImage) -> int:
    """Of a chip that was saved."""
    g = chip.geometry
    size = g.writesize + g.oobsize
    digest = digest_chip_pages(
        Page(b.index * g.pages_per_block + i, state, b.cells[i * size : (i + 1) * size])
        for b in chip.blocks
        for i, state in enumerate(b.states)
    )
    for b in chip.blocks:
        for page in {page for page, _ in b.flips}:
            digest ^= _digest_flips(page, (bit for at, bit in b.flips if at == page))
    return digest


def digest_operation_change(operation: Operation) -> int:
    """What the operation, not torn, changes in the chip's digest: to be XORed."""
    return digest_chip_pages(operation.before.pages) ^ digest_chip_pages(operation.after.pages)


def digest_torn_operation_change(operation: Operation, variant: str, seed: int) -> int | None:
    """What the operation, torn so, changes in the chip's digest; None: it has no such variant.

    NandlabError for a way to tear that only the board knows.
    """
    if variant not in KNOWN_WAYS:
        raise NandlabError(f"the host does not know the states of the way to tear {variant}")
    if operation.erases and read_tear_ways()[variant].block is None:
        return None
    if variant == "before":
        return 0
    if not operation.erases and not operation.after.pages[0].state:
        return 0  # a program that left its page erased
    tear = _digest_torn_erase if operation.erases else _digest_torn_program
    changed = digest_chip_pages(operation.before.pages) ^ tear(operation, variant, seed)
    return changed ^ _digest_unstable_cells(operation, seed) if variant == "unstable" else changed


def _digest_torn_program(operation: Operation, variant: str, seed: int) -> int:
    (before,), (after,) = operation.before.pages, operation.after.pages
    size, row = len(after.cells), after.number
    cells_before = np.frombuffer(before.cells or _erased_bytes(size), np.uint8)
    target = np.frombuffer(after.cells, np.uint8)
    programmed = np.full(size, 0xFF, np.uint8)
    if variant == "prefix":
        programmed[_draw_below(seed, HOW, row, size) :] = 0
    elif variant == "subset":
        chance = 1 + _draw_below(seed, HOW, row, 255)
        at = np.arange(size, dtype=np.uint64) | np.uint64(row << 32)
        programmed = _draw_bits(seed, at, chance)
    cells = cells_before & (target | ~programmed)
    incomplete = bool((cells & ~target).any())
    if incomplete and not (cells_before & ~cells).any():
        return _digest_page(before)
    digest = _digest_cells(
        row, cells.tobytes(), garbled=bool(after.state & GARBLED_PAGE) or incomplete
    )
    return (
        digest ^ _digest_missing_bits(cells_before, target, row, seed)
        if variant == "few"
        else digest
    )


def _digest_missing_bits(before: Bytes, target: Bytes, row: int, seed: int) -> int:
    """Of a stretch of the page the bits that are not cleared yet."""
    bits = 8 * FEW_BYTES
    first = bits * _draw_below(seed, WHERE, row, len(target) // FEW_BYTES)
    start, few = _draw_below(seed, BITS, row, bits), 1 + _draw_below(seed, HOW, row, FEW_BITS)
    clears = np.unpackbits(before & ~target, bitorder="little")
    order = first + (start + np.arange(bits) * FEW_STRIDE) % bits
    return _digest_flips(row, order[clears[order] == 1][:few].tolist())


def _digest_torn_erase(operation: Operation, variant: str, seed: int) -> int:
    if variant != "subset":
        return 0
    chance, digest = 1 + _draw_below(seed, HOW, operation.before.pages[0].number, 255), 0
    for page in operation.before.pages:
        if not page.state:
            continue
        at = np.arange(len(page.cells), dtype=np.uint64) | np.uint64(page.number << 32)
        cells = np.frombuffer(page.cells, np.uint8) | _draw_bits(seed, at, chance)
        digest ^= _digest_cells(page.number, cells.tobytes(), garbled=True)
    return digest


def _digest_unstable_cells(operation: Operation, seed: int) -> int:
    """What makes it another state than a chip that reads the same as yet."""
    pages = operation.before.pages
    most = STABLE_READS * (len(pages) if operation.erases else 1)
    first = pages[0].number
    reads = 1 + _draw_below(seed, READS, first, most)
    told = struct.pack("<IIIQ", first, len(pages), reads, seed)
    return int.from_bytes(hashlib.blake2b(told, digest_size=DIGEST_BYTES).digest())
