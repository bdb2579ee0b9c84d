# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2 as tools and other drivers lay it out: where its tags lie is seen on the pages themselves.

mkyaffs2image writes tags from byte 0 of the spare area. A driver whose ECC bytes are spread over
the spare area puts the tags into the bytes between them. A big-endian processor writes its own byte
order. Each of them is brought into the layout of the kernel's default driver: tags from byte 2 on,
little-endian.

Sources: utils/mkyaffs2image.c of the YAFFS2 tree; yaffs_packedtags2.h (tags) and yaffs_guts.h (the
header of an object); the layouts of spare areas in Linux, drivers/mtd/nand: mxc_nand.c,
fsl_elbc_nand.c, spi/winbond.c.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nandlab.flash.layouts.shape import Shape
from nandlab.flash.layouts.yaffs2 import (
    CHECKPOINT,
    CHUNK_MAX,
    CODED_TAGS_BYTES,
    EXTRA_ALL,
    EXTRA_FLAG,
    HIGHEST,
    OBJECT_MAX,
    SEQUENCE_MIN,
    TAGS_AT,
    TAGS_BYTES,
    compute_tags_ecc,
)

Bytes = NDArray[np.uint8]
HEADER = struct.Struct("<II2s")
"""Of an object's header: its type, its parent's number, and two bytes that nobody uses."""
TYPES = range(1, 6)
HEADER_WORDS = ((0, 8), (268, 300), (460, 512))
"""Where a header has numbers of 4 bytes; what is between them are names."""
HEADER_BYTES = 512
SAMPLED_MAX = 64
"""Written pages that are looked at: as many with headers, and as many others."""
FITTING_MIN = 0.9
"""The share of them that must have tags; a loss of power spoils one or two."""
STEP = 512
"""Data bytes that an ECC step has; its share of the spare area repeats in most layouts."""
MARK_AT = 0
"""Byte of a large page's spare area that marks a bad block."""
PERIOD_MAX = 64
"""Bytes of the spare area that an ECC step and its data have, at most."""
STARTS_MAX = 9
"""Bytes at the begin of a spare area that a layout may keep for marks."""


class TagLayout(NamedTuple):
    """Where the tags lie in a spare area, and in which byte order."""

    places: tuple[int, ...]
    """Of each byte of the tags, then of their code as far as there is room for it."""
    order: str
    """``<`` or ``>``."""
    marked: bool = False
    """Whether the mark of a bad block has a byte of its own."""

    def describe(self) -> str:
        """In words, for a note; empty for the default layout."""
        first, words = self.places[0], []
        contiguous = self.places == tuple(range(first, first + len(self.places)))
        if not contiguous:
            words.append(f"YAFFS2's tags lie from byte {first} of the spare areas, in parts")
        elif first != TAGS_AT:
            by_tool = ", as image tools write them" if not first else ""
            words.append(f"YAFFS2's tags begin at byte {first} of the spare areas{by_tool}")
        if self.order == ">":
            words.append("YAFFS2 of a big-endian processor")
        return "; ".join(words)


def begins_with_object(cells: bytes) -> bool:
    """Whether a file begins with the header of an object, as an image by a tool does."""
    if len(cells) < HEADER.size:
        return False
    return any(
        kind in TYPES and 0 < parent <= OBJECT_MAX and unused == b"\xff\xff"
        for kind, parent, unused in (
            HEADER.unpack_from(cells),
            struct.unpack_from(">II2s", cells),
        )
    )


def find_tag_layout(pages: Bytes, shape: Shape) -> TagLayout | None:
    """The layout that makes tags of the sampled pages; None: there is none.

    pages: some of a dump, a row each, erased ones among them. The layout with the most tags and
    right codes is taken; of several, that with the least sequence numbers, then the usual one.
    """
    spare, headers = _sample_pages(pages, shape.page)
    if not len(spare) or (spare == 0xFF).all():
        return None
    best, score, least = None, (0, 0.0), FITTING_MIN * len(spare)
    for places in _list_places(shape.page, shape.oob):
        raw = np.ascontiguousarray(spare[:, list(places)])
        for order in "<>":
            tags = np.ascontiguousarray(raw[:, :TAGS_BYTES]).view(f"{order}u4")
            count = _count_tagged_pages(tags, headers[order], shape.page)
            if count < least:
                continue
            coded = int(_find_right_codes(raw, order).sum())
            fitness = (count + coded, -float(np.median(tags[:, 0])))
            if fitness > score:
                best, score = TagLayout(places, order, _has_marks(spare, places)), fitness
            if coded >= least:
                return best
    return best


def _sample_pages(pages: Bytes, page: int) -> tuple[Bytes, dict[str, NDArray[np.bool_]]]:
    """Spare areas of some written pages; by byte order, which of these have an object's header.

    Pages of zeros are left out: they are of bad blocks.
    """
    written = pages[(pages != 0xFF).any(axis=1) & pages.any(axis=1)]
    headed = _begin_with_headers(written, "<") | _begin_with_headers(written, ">")
    taken = np.concatenate([written[headed][:SAMPLED_MAX], written[~headed][:SAMPLED_MAX]])
    return taken[:, page:], {order: _begin_with_headers(taken, order) for order in "<>"}


def normalise_tags(block: bytes, shape: Shape, layout: TagLayout) -> bytes:
    """A block with its tags where the default layout has them, and little-endian."""
    pages = np.frombuffer(block, dtype=np.uint8).reshape(-1, shape.page + shape.oob).copy()
    spare = pages[:, shape.page :]
    coded = len(layout.places) == CODED_TAGS_BYTES
    tags = spare[:, list(layout.places[: None if coded else TAGS_BYTES])]
    if layout.order == ">":
        written_pages = (pages != 0xFF).any(axis=1)
        tags = _swap_tags(tags)
        _swap_headers(pages[:, : shape.page], written_pages)
    marks = spare[:, MARK_AT].copy()
    spare[:] = 0xFF
    if layout.marked:
        spare[:, MARK_AT] = marks
    count = min(tags.shape[1], shape.oob - TAGS_AT)
    spare[:, TAGS_AT : TAGS_AT + count] = tags[:, :count]
    return pages.tobytes()


@lru_cache(maxsize=8)
def _list_places(page: int, oob: int) -> tuple[tuple[int, ...], ...]:
    """Where tags may lie, the usual first."""
    places = dict.fromkeys(_list_contiguous_places(oob))
    share = min(PERIOD_MAX, max(2, oob // max(1, page // STEP)))
    for period in (share, share // 2):
        for length, begin, start in product(range(1, period), range(period), range(STARTS_MAX)):
            free = _list_free_bytes(oob, period, range(begin, begin + length), start)
            if len(free) >= TAGS_BYTES:
                places.setdefault(free)
    return tuple(places)


def _list_contiguous_places(oob: int) -> Iterator[tuple[int, ...]]:
    starts = [TAGS_AT, 0, *range(oob - TAGS_BYTES + 1)]
    for start in dict.fromkeys(starts):
        if 0 <= start <= oob - TAGS_BYTES:
            yield tuple(range(start, min(oob, start + CODED_TAGS_BYTES)))


def _list_free_bytes(oob: int, period: int, taken: range, start: int) -> tuple[int, ...]:
    """The first bytes from ``start`` on that are no ECC's; taken: within each period."""
    ecc = {at % period for at in taken}
    free = (at for at in range(start, oob) if at % period not in ecc)
    return tuple(islice(free, CODED_TAGS_BYTES))


def _has_marks(spare: Bytes, places: tuple[int, ...]) -> bool:
    """Whether the byte of a bad block's mark is no tag's, and blank in nearly all pages."""
    blank = int(np.count_nonzero(spare[:, MARK_AT] == 0xFF))
    return MARK_AT not in places and blank >= FITTING_MIN * len(spare)


def _begin_with_headers(pages: Bytes, order: str) -> NDArray[np.bool_]:
    """Which pages begin as the header of an object does."""
    words = np.ascontiguousarray(pages[:, :8]).view(f"{order}u4")
    typed = (words[:, 0] >= TYPES.start) & (words[:, 0] < TYPES.stop)
    # the root's own parent is 0
    inside = words[:, 1] <= OBJECT_MAX
    begun: NDArray[np.bool_] = typed & inside & (pages[:, 8:10] == 0xFF).all(axis=1)
    return begun


def _count_tagged_pages(tags: NDArray[Any], headed: NDArray[np.bool_], page: int) -> int:
    """How many rows are a chunk's tags; headed: which pages begin with an object's header."""
    sequence, number, chunk, count = (tags[:, i] for i in range(4))
    ordered = (sequence >= SEQUENCE_MIN) & (sequence <= HIGHEST)
    is_header = ordered & ((chunk == 0) | (chunk & np.uint32(EXTRA_FLAG) != 0))
    number = number & ~np.uint32(EXTRA_ALL)
    numbered = (number > 0) & (number <= OBJECT_MAX)
    is_data = (chunk <= CHUNK_MAX) & (count <= page)
    sound = ordered & numbered & ((is_header & headed) | (~is_header & is_data))
    if headed.any() and not (is_header & headed).any():
        return 0
    return int((sound | (sequence == CHECKPOINT)).sum()) if sound.any() else 0


def _find_right_codes(tags: Bytes, order: str) -> NDArray[np.bool_]:
    """Which rows of tags have their own code behind them."""
    if tags.shape[1] < CODED_TAGS_BYTES:
        return np.zeros(len(tags), dtype=np.bool_)
    code = np.ascontiguousarray(tags[:, TAGS_BYTES:])
    stored = code.view(f"{order}u4").astype(np.uint32)
    computed = compute_tags_ecc(tags[:, :TAGS_BYTES])
    # the column's parity is the first byte of a word, whatever the order of the others
    stored[:, 0], computed[:, 0] = code[:, 0], computed[:, 0] & 0xFF
    right: NDArray[np.bool_] = (stored == computed).all(axis=1)
    return right


def _swap_tags(tags: Bytes) -> Bytes:
    """Big-endian tags as little-endian ones; a code that was wrong stays wrong."""
    words = np.ascontiguousarray(tags[:, :TAGS_BYTES])
    swapped = words.view("<u4").byteswap().view(np.uint8).reshape(words.shape)
    if tags.shape[1] < CODED_TAGS_BYTES:
        return swapped
    blank = (tags[:, TAGS_BYTES:] == 0xFF).all(axis=1)
    wrong = ~_find_right_codes(tags, ">") & ~blank
    code = compute_tags_ecc(swapped).astype("<u4").view(np.uint8).reshape(len(tags), -1).copy()
    code[wrong] = ~code[wrong]
    code[blank] = 0xFF
    return np.concatenate([swapped, code], axis=1)


def _swap_headers(data: Bytes, used: NDArray[np.bool_]) -> None:
    """Brings the numbers of objects' headers into the other byte order, in place."""
    headed = used & _begin_with_headers(data, ">")
    for begin, end in HEADER_WORDS:
        words = np.ascontiguousarray(data[headed, begin:end]).view("<u4").byteswap()
        data[headed, begin:end] = words.view(np.uint8).reshape(-1, end - begin)
