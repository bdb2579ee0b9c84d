# SPDX-License-Identifier: GPL-2.0-or-later
"""Decoders without a board: a JFFS2 written by hand, bad input, and random damage."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.flash.chip.image import FACTORY_BAD, ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.layouts import jffs2, jffs2nodes, nftl, yaffs1, yaffs2
from nandlab.flash.layouts.cells import GARBLED_PAGE, Partition
from nandlab.flash.layouts.decoders import decode_layout, detect_filesystem, list_decoders
from nandlab.flash.layouts.jffs2copies import CoveredRanges
from nandlab.flash.layouts.layout import ByteKind, LayoutCollector

PAGE, SPARE, ERASE, BLOCKS = 2048, 64, 16384, 4
SMALL = ChipGeometry(512, 16, 4096, 8)


def node(kind: int, rest: bytes, data: bytes = b"", sums: bytes = b"") -> bytes:
    """A JFFS2 node, padded to four bytes: its body without checksums, then checksums, data."""
    size = 12 + len(rest) + len(sums) + len(data)
    head = struct.pack("<HHI", jffs2nodes.MAGIC, kind, size)
    head += struct.pack("<I", jffs2nodes.compute_jffs2_crc(head))
    return head + rest + sums + data + b"\xff" * (-size % 4)


def dirent(version: int, number: int, name: bytes) -> bytes:
    rest = struct.pack("<IIIIBBH", 1, version, number, 0, len(name), 8, 0)
    whole = 12 + len(rest) + 8 + len(name)
    head = struct.pack("<HHI", jffs2nodes.MAGIC, jffs2nodes.DIRENT, whole)
    head += struct.pack("<I", jffs2nodes.compute_jffs2_crc(head))
    sums = struct.pack(
        "<II", jffs2nodes.compute_jffs2_crc(head + rest), jffs2nodes.compute_jffs2_crc(name)
    )
    return node(jffs2nodes.DIRENT, rest, name, sums)


def inode(
    number: int,
    version: int,
    offset: int,
    data: bytes,
    isize: int,
    *,
    plain: int = -1,
    compr: int = 0,
) -> bytes:
    size = len(data) if plain < 0 else plain
    rest = struct.pack(
        "<IIIHHIIIIIIIBBH",
        number, version, 0o100644, 0, 0, isize, 0, 0, 0, offset, len(data), size, compr, 0, 0,
    )  # fmt: skip
    head = struct.pack("<HHI", jffs2nodes.MAGIC, jffs2nodes.INODE, 12 + len(rest) + 8 + len(data))
    head += struct.pack("<I", jffs2nodes.compute_jffs2_crc(head))
    sums = struct.pack(
        "<II", jffs2nodes.compute_jffs2_crc(data), jffs2nodes.compute_jffs2_crc(head + rest)
    )
    return node(jffs2nodes.INODE, rest, data, sums)


def chip(data: dict[int, bytes], flags: int = 0, states: int = 0x81) -> ChipImage:
    """A chip with these blocks' data; flags: of block 3."""
    blocks = []
    for index in sorted({*data, *([3] if flags else [])}):
        whole = data.get(index, b"").ljust(ERASE, b"\xff")
        pages = (whole[i : i + PAGE] + b"\xff" * SPARE for i in range(0, ERASE, PAGE))
        marks = [states] * (ERASE // PAGE)
        own = flags if index == 3 else 0
        blocks.append(ChipBlock(index, 0, 0, own, [], marks, b"".join(pages)))
    return ChipImage(ChipGeometry(PAGE, SPARE, ERASE, BLOCKS), 0, 0, 0, blocks)


def small(pages: list[tuple[bytes, bytes]], per_block: int = 8) -> ChipImage:
    """A chip of small pages: (data, OOB) of each written page from the first block on."""
    blocks = []
    for index in range(-(-len(pages) // per_block)):
        mine = pages[index * per_block : (index + 1) * per_block]
        mine = mine + [(b"", b"")] * (per_block - len(mine))
        cells = b"".join(d.ljust(512, b"\xff") + o.ljust(16, b"\xff") for d, o in mine)
        blocks.append(ChipBlock(index, 0, 0, 0, [], [0x81] * per_block, cells))
    return ChipImage(SMALL, 0, 0, 0, blocks)


WHOLE = (
    dirent(1, 2, b"a")
    + inode(2, 1, 0, b"A" * 3000, 3000)
    + inode(2, 2, 1000, b"B" * 500, 3000)
    + dirent(2, 3, b"gone")
    + inode(3, 1, 0, b"C" * 100, 100)
    + dirent(3, 0, b"gone")
)


def test_a_file_written_over_and_a_file_deleted() -> None:
    layout = jffs2.decode_jffs2(Partition(chip({0: WHOLE})))
    sums, parts = layout.sums(), layout.parts()
    assert sum(sums.values()) == ERASE * BLOCKS
    assert (sums[ByteKind.USER], layout.logical_bytes) == (3000, 3000)
    assert parts[ByteKind.METADATA] == {
        "deletion names": 44,
        "names": 1,
        "node headers": 40 + 68 + 68,
    }
    assert parts[ByteKind.OBSOLETE] == {
        "covered data": 500, "names": 44, "nodes of deleted files": 168,
    }  # fmt: skip
    assert layout.paths == {1: "/", 2: "/a"}
    assert layout.counts["inode"] == 3 and layout.counts["dirent"] == 3
    first = 44  # after the name's node
    assert layout.nodes == {2: [first + 68 + 3000, first]}


def test_a_truncation_ends_what_older_nodes_hold() -> None:
    cut = dirent(1, 2, b"a") + inode(2, 1, 0, b"A" * 3000, 3000) + inode(2, 2, 0, b"", 1000)
    sums = jffs2.decode_jffs2(Partition(chip({0: cut}))).sums()
    assert (sums[ByteKind.USER], sums[ByteKind.OBSOLETE]) == (1000, 2000)


def test_compressed_bytes_are_user_and_stand_for_more() -> None:
    packed = dirent(1, 2, b"a") + inode(2, 1, 0, b"z" * 100, 4096, plain=4096, compr=6)
    layout = jffs2.decode_jffs2(Partition(chip({0: packed})))
    assert (layout.sums()[ByteKind.USER], layout.logical_bytes) == (100, 4096)


def test_bad_blocks_are_apart() -> None:
    sums = jffs2.decode_jffs2(Partition(chip({0: WHOLE}, FACTORY_BAD))).sums()
    assert sums[ByteKind.BAD] == ERASE and sum(sums.values()) == ERASE * BLOCKS


def test_pages_that_cannot_be_read_are_told() -> None:
    with pytest.raises(UsageError, match=r"8 pages cannot be read.*block/page 0/0"):
        Partition(chip({0: WHOLE}, states=0x81 | GARBLED_PAGE))


def test_wrong_bits_are_corrected_as_far_as_the_ecc_can() -> None:
    flips = [(1, 8 * 100), (1, 8 * 511 + 7), (1, 8 * 512)]
    one = chip({0: WHOLE})
    weak = replace(one, blocks=[replace(one.blocks[0], flips=flips), *one.blocks[1:]])
    whole = jffs2.decode_jffs2(Partition(one)).sums()
    assert jffs2.decode_jffs2(Partition(weak, ecc=2)).sums() == whole
    assert jffs2.decode_jffs2(Partition(weak, ecc=3, step=1024)).sums() == whole
    for ecc, step in ((1, 512), (2, 1024)):
        with pytest.raises(UsageError, match=r"1 pages cannot be read.*block/page 0/1\)"):
            Partition(weak, ecc=ecc, step=step)


@pytest.mark.parametrize("name", sorted(set(list_decoders()) - {"jffs2", "nftl-fat32"}))
def test_another_file_system_is_told(name: str) -> None:
    with pytest.raises(UsageError, match="another file system"):
        decode_layout(Partition(chip({0: WHOLE})), name)
    assert detect_filesystem(Partition(chip({0: WHOLE}))) == "jffs2"


def test_nftl_on_large_pages_is_refused() -> None:
    with pytest.raises(UsageError, match="512 bytes"):
        nftl.decode_nftl(Partition(chip({0: WHOLE})))


@pytest.mark.parametrize("at", range(0, len(WHOLE), 7))
def test_a_flipped_bit_in_a_node_is_told(at: int) -> None:
    broken = bytearray(WHOLE)
    broken[at] ^= 0x10
    try:
        layout = jffs2.decode_jffs2(Partition(chip({0: bytes(broken)})))
    except UsageError:
        return
    whole = jffs2.decode_jffs2(Partition(chip({0: WHOLE})))
    assert layout.sums() == whole.sums()  # a byte of padding, which nothing reads


def tags1(number: int, chunk: int, count: int, alive: bool = True, serial: int = 0) -> bytes:
    import numpy as np

    words = np.array([[chunk | serial << 20 | count << 22, number | 1 << 30]], dtype="<u4")
    words[0, 1] |= np.uint32(int(yaffs1.compute_tags_ecc(words)[0]) << 18)
    if not alive:
        words[0, 1] &= np.uint32(~(1 << 30) & 0xFFFFFFFF)
    return b"\xff" * 8 + words.tobytes()


def head1(name: bytes, size: int, parent: int = 1) -> bytes:
    page = bytearray(b"\xff" * 512)
    struct.pack_into("<IIH256s", page, 0, 1, parent, 0xFFFF, name)
    struct.pack_into("<I", page, 292, size)
    struct.pack_into("<iI", page, 504, 0, 0)
    return bytes(page)


def test_the_yaffs1_layout() -> None:
    pages = [
        (head1(b"f", 0), tags1(257, 0, 512, alive=False)),
        (b"A" * 512, tags1(257, 1, 512)),
        (b"A" * 88, tags1(257, 2, 88)),
        (head1(b"f", 600), tags1(257, 0, 512, serial=1)),
    ]
    layout = yaffs2.decode_yaffs2(Partition(small(pages)))
    sums = layout.sums()
    assert sum(sums.values()) == 8 * 4096
    assert (sums[ByteKind.USER], sums[ByteKind.SLACK], sums[ByteKind.METADATA]) == (600, 424, 512)
    assert sums[ByteKind.OBSOLETE] == 512 and layout.paths[257] == "/f"


def test_yaffs1_tags_with_a_flipped_bit_are_told() -> None:
    oob = bytearray(tags1(257, 1, 512))
    oob[8] ^= 2
    with pytest.raises(UsageError, match="tags do not fit"):
        yaffs2.decode_yaffs2(Partition(small([(b"A" * 512, bytes(oob))])))


def test_a_byte_that_nothing_accounts_for_is_an_error() -> None:
    walk = LayoutCollector()
    walk.add(0, 10, ByteKind.FREE, "x")
    with pytest.raises(UsageError, match="the partition has 11"):
        walk.finish(11)
    walk.add(9, 2, ByteKind.FREE, "x")
    with pytest.raises(UsageError, match="counted twice"):
        walk.finish(11)


@given(st.integers(0, 2**32), st.sampled_from(sorted(list_decoders())))
def test_random_damage_never_crashes_a_decoder(seed: int, name: str) -> None:
    chance = random.Random(seed)
    broken = bytearray(WHOLE)
    for _ in range(chance.randint(1, 20)):
        at = chance.randrange(len(broken))
        broken[at : at + chance.randint(1, 9)] = chance.randbytes(chance.randint(1, 9))
    try:
        layout = decode_layout(Partition(chip({0: bytes(broken)[:ERASE]})), name)
    except UsageError:
        return
    assert sum(layout.sums().values()) == ERASE * BLOCKS


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 40)), max_size=30), st.integers(0, 99))
def test_covered_ranges_agree_with_a_naive_model(writes: list[tuple[int, int]], size: int) -> None:
    covered, left = CoveredRanges(size), set(range(size))
    for start, count in writes:
        seen = {i for low, high in covered.take(start, start + count) for i in range(low, high)}
        assert seen == left & set(range(start, start + count))
        left -= seen
