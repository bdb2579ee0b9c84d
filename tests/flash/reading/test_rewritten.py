# SPDX-License-Identifier: GPL-2.0-or-later
"""A file written anew: pages are packed as the kernel would, and laid one after the other."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nandlab.flash.layouts.layout import HOLE, FilePiece, Layout
from nandlab.flash.reading import packers, rewrite
from nandlab.flash.reading.fragments import map_file_pages
from nandlab.flash.reading.reads import PAGE_BYTES
from nandlab.flash.reading.rewrite import RewrittenFile
from nandlab.flash.reading.tokencount import count_node_tokens

FILE, BLOCK = 5, 1 << 17
CHANCE = random.Random(1)
TEXT = b" ".join(CHANCE.randbytes(CHANCE.choice((2, 30))) + b"a word" for _ in range(10_000))
"""Which LZO packs to some two thirds."""


def chip(stored: dict[int, bytes]) -> Layout:
    def bytes_at(at: int, count: int) -> bytes:
        return stored[at][:count]

    of = {FILE: "/a"}, {FILE: 0}
    return Layout("jffs2", 1 << 20, BLOCK, 2048, [], *of, [], {}, read_data=bytes_at)


def in_pieces(
    data: bytes, size: int, tried: tuple[str, ...] = ("lzo",), of: str = "jffs2"
) -> Layout:
    """A file in pieces of so many bytes, each packed by itself, or as it is."""
    stored, pieces, at = {}, [], 68
    for offset in range(0, len(data), size):
        packed = packers.pack_for_jffs2(data[offset : offset + size], PAGE_BYTES, tried)
        stored[at] = packed.data
        count = len(packed.data)
        pieces.append(
            FilePiece(FILE, offset, packed.plain, at, count, 0, packed.packing, packed.plain)
        )
        at += count + 100
    return replace(chip(stored), pieces=pieces, sizes={FILE: len(data)}, filesystem=of)


def anew(of: Layout) -> RewrittenFile:
    found = rewrite.lay_file_out_alone(of, FILE)
    assert isinstance(found, RewrittenFile)
    return found


def test_pages_are_put_together_and_packed() -> None:
    data = TEXT[: 3 * PAGE_BYTES + 100]
    found = anew(in_pieces(data, 1000))
    wanted = [
        packers.pack_for_jffs2(data[i : i + PAGE_BYTES], PAGE_BYTES, ["lzo"])
        for i in range(0, len(data), PAGE_BYTES)
    ]
    nodes = found.layout.pieces
    assert [(p.stored, p.packing) for p in nodes] == [(len(w.data), w.packing) for w in wanted]
    assert [p.at for p in nodes][:2] == [68, 68 + -(-nodes[0].stored // 4) * 4 + 68]
    assert [found.tokens(p) for p in nodes[:3]] == [
        count_node_tokens("lzo", w.data, PAGE_BYTES) for w in wanted[:3]
    ]
    assert found.estimated == 0


@pytest.mark.parametrize(("tried", "cut"), [(("lzo",), ""), (("lzo", "zlib"), "zlib")])
def test_a_node_that_its_block_cuts_is_what_its_kernel_makes_of_it(
    tried: tuple[str, ...], cut: str
) -> None:
    """LZO packs all of a page or nothing of it; zlib, which JFFS2 tries next, what fits."""
    of = in_pieces(TEXT, 500, tried)
    if cut:
        # so that the chip shows that its kernel has zlib
        packed = of.pieces[0]._replace(owner=FILE + 1, packing="zlib")
        of = replace(of, pieces=[*of.pieces, packed])
    found = anew(of)
    nodes = found.layout.pieces
    last = next(i for i, p in enumerate(nodes) if p.at // BLOCK == 1) - 1
    before, after = nodes[last], nodes[last + 1]
    assert after.at == BLOCK + 68
    assert after.offset == before.offset + before.bytes
    assert before.packing == cut
    assert BLOCK - 4 - 12 * bool(cut) <= before.at + before.stored <= BLOCK
    assert sum(p.bytes for p in nodes) == len(TEXT)
    counted = found.tokens(before)
    assert (counted is not None) == bool(cut)


def test_a_summary_takes_room_from_its_block() -> None:
    of = in_pieces(CHANCE.randbytes(40 * PAGE_BYTES), PAGE_BYTES)
    bare, summed = (
        [p for p in anew(each).layout.pieces if p.at < BLOCK]
        for each in (of, replace(of, counts={"summary": 1}))
    )
    end = bare[-1].at + bare[-1].stored
    assert end == BLOCK
    # a summary of 32 entries of 18 bytes, and 40 bytes more, at a multiple of 4
    assert summed[-1].at + summed[-1].stored == BLOCK - 616


def test_holes_of_whole_pages_stay_and_others_are_zeroes() -> None:
    of = in_pieces(TEXT[: 3 * PAGE_BYTES], PAGE_BYTES)
    first, _, last = of.pieces
    hole = FilePiece(FILE, PAGE_BYTES, PAGE_BYTES, 7, 0, 0, HOLE, PAGE_BYTES)
    found = anew(replace(of, pieces=[first._replace(bytes=100), hole, last]))
    wanted = packers.pack_for_jffs2(TEXT[:100] + bytes(PAGE_BYTES - 100), PAGE_BYTES, ["lzo"])
    assert [(p.offset, p.bytes) for p in found.layout.pieces] == [
        (0, PAGE_BYTES),
        (2 * PAGE_BYTES, PAGE_BYTES),
    ]
    assert found.layout.pieces[0].stored == len(wanted.data)


def test_where_the_content_is_not_known_its_pieces_tell() -> None:
    of = in_pieces(TEXT[: 2 * PAGE_BYTES], 1000)
    unread = replace(of, read_data=None)
    foreign = replace(of, pieces=[of.pieces[0]._replace(packing="rubinmips"), *of.pieces[1:]])
    first = [p for p in of.pieces if p.offset < PAGE_BYTES]
    share = [min(p.bytes, PAGE_BYTES - p.offset) / p.plain for p in first]
    stored = sum(s * p.stored for s, p in zip(share, first, strict=True))
    for each in (unread, foreign):
        found = anew(each)
        assert found.estimated == 2
        assert found.layout.pieces[0].stored == round(stored)
        assert map_file_pages(each, FILE).estimated == 2
    damaged = anew(replace(of, read_data=lambda at, count: b"\xff" * count))
    assert damaged.estimated == 2
    # a page that is one node would be that node again
    assert (
        anew(replace(in_pieces(TEXT[: 2 * PAGE_BYTES], PAGE_BYTES), read_data=None)).estimated == 0
    )
    # what is not packed needs no content
    assert anew(replace(in_pieces(TEXT, 700, ()), read_data=None)).estimated == 0


def test_a_map_of_many_files_packs_nothing() -> None:
    of = in_pieces(TEXT[: 2 * PAGE_BYTES], 1000)
    assert map_file_pages(of, FILE, exact=False).estimated == 2
    assert map_file_pages(of, FILE).estimated == 0
