# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of the chip at each point, as a digest of what it holds, worked out from the journal.

A second writing of ``target/modules/powercut/torn.c``; images that the board saves have the same
digests (``tests/powercut/test_cut_states.py``). A state is all that a reader can find out: cells,
spare area included, which pages no ECC corrects, and of unstable cells where they are, how often
they still read right, and as what they read then. Counts such as wear are no part of it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nandlab.chip.image import ChipImage
from nandlab.onflash.cells import GARBLED
from nandlab.powercut.journal import Operation, Page

TEAR_BITS = 9
"""The stream of random numbers (prng.h of simnand)."""
HOW, BITS, READS = range(3)
STABLE_READS = 8
DIGEST_BYTES = 8
WORD = (1 << 64) - 1

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def _mix(x: Words) -> Words:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def _draw(seed: int, what: int, places: Words) -> Words:
    start = _mix(np.array([(seed ^ TEAR_BITS << 56) & WORD], np.uint64))
    return _mix(_mix(start ^ np.uint64(what)) ^ places)


def _below(seed: int, what: int, below: int) -> int:
    (random,) = _draw(seed, what, np.zeros(1, np.uint64))
    return (int(random) >> 32) * below >> 32


def _some_bits(seed: int, places: Words, chance: int) -> Bytes:
    """A byte for each place, its bits 1 with a probability of chance / 256."""
    drawn = _draw(seed, BITS, places).astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.packbits(drawn < chance, axis=1, bitorder="little").reshape(-1)


def _erased(size: int) -> bytes:
    return b"\xff" * size


def _digest(page: int, cells: bytes, *, garbled: bool) -> int:
    """Of a page; 0: it reads as erased."""
    if not garbled and cells == _erased(len(cells)):
        return 0
    head = struct.pack("<II", page, garbled)
    return int.from_bytes(hashlib.blake2b(head + cells, digest_size=DIGEST_BYTES).digest())


def _of(page: Page) -> int:
    return _digest(page.number, page.cells, garbled=bool(page.state & GARBLED))


def of_pages(pages: Iterable[Page]) -> int:
    """Of some pages together; so of all of a chip's, the chip's."""
    found = 0
    for page in pages:
        found ^= _of(page)
    return found


def of_image(chip: ChipImage) -> int:
    """Of a chip that was saved."""
    g = chip.geometry
    size = g.writesize + g.oobsize
    return of_pages(
        Page(b.index * g.pages_per_block + i, state, b.cells[i * size : (i + 1) * size])
        for b in chip.blocks
        for i, state in enumerate(b.states)
    )


def change(operation: Operation) -> int:
    """What the operation, not torn, changes in the chip's digest: to be XORed."""
    return of_pages(operation.before.pages) ^ of_pages(operation.after.pages)


def torn(operation: Operation, variant: str, seed: int) -> int | None:
    """What the operation, torn so, changes in the chip's digest; None: it has no such variant."""
    if operation.erases and variant == "prefix":
        return None
    if variant == "before":
        return 0
    if not operation.erases and not operation.after.pages[0].state:
        return 0  # a program that left its page erased
    tear = _torn_erase if operation.erases else _torn_program
    changed = of_pages(operation.before.pages) ^ tear(operation, variant, seed)
    return changed ^ _unstable(operation, seed) if variant == "unstable" else changed


def _torn_program(operation: Operation, variant: str, seed: int) -> int:
    (before,), (after,) = operation.before.pages, operation.after.pages
    size = len(after.cells)
    cells = np.frombuffer(before.cells or _erased(size), np.uint8)
    wanted = np.frombuffer(after.cells, np.uint8)
    done = np.full(size, 0xFF, np.uint8)
    if variant == "prefix":
        done[_below(seed, HOW, size) :] = 0
    elif variant == "subset":
        chance = 1 + _below(seed, HOW, 255)
        done = _some_bits(seed, np.arange(size, dtype=np.uint64), chance)
    cells = cells & (wanted | ~done)
    garbled = bool(after.state & GARBLED) or bool((cells & ~wanted).any())
    return _digest(after.number, cells.tobytes(), garbled=garbled)


def _torn_erase(operation: Operation, variant: str, seed: int) -> int:
    if variant != "subset":
        return 0
    chance, found = 1 + _below(seed, HOW, 255), 0
    for page in operation.before.pages:
        if not page.state:
            continue
        at = np.arange(len(page.cells), dtype=np.uint64) | np.uint64(page.number << 32)
        cells = np.frombuffer(page.cells, np.uint8) | _some_bits(seed, at, chance)
        found ^= _digest(page.number, cells.tobytes(), garbled=True)
    return found


def _unstable(operation: Operation, seed: int) -> int:
    """What makes it another state than a chip that reads the same as yet."""
    pages = operation.before.pages
    most = STABLE_READS * (len(pages) if operation.erases else 1)
    told = struct.pack("<IIIQ", pages[0].number, len(pages), 1 + _below(seed, READS, most), seed)
    return int.from_bytes(hashlib.blake2b(told, digest_size=DIGEST_BYTES).digest())
