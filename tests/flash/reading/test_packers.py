# SPDX-License-Identifier: GPL-2.0-or-later
"""What is packed is what the kernel packs, and unpacks to what it was."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.flash.layouts.unpacking import UnpackError, unpack_node_data
from nandlab.flash.reading import packers
from nandlab.flash.reading.lzo1x import pack_lzo1x
from nandlab.flash.reading.reads import PAGE_BYTES
from nandlab.flash.reading.tokencount import TOKEN_COUNTERS, count_node_tokens

TEXT = "".join(f"line {i} of a text, {i * i} is its square\n" for i in range(400)).encode()[
    :PAGE_BYTES
]
RANDOM = random.Random(1).randbytes(PAGE_BYTES)
PAGES = st.one_of(
    st.binary(min_size=1, max_size=PAGE_BYTES),
    st.lists(st.sampled_from([b"a", b"abcabcab", b"\0" * 300, b"xyz0", b"0123"]), min_size=1).map(
        lambda words: (b"".join(words) * 40)[:PAGE_BYTES]
    ),
)


@pytest.mark.parametrize(
    ("packed", "size", "crc"),
    [
        (packers.pack_for_jffs2(TEXT, PAGE_BYTES, ["lzo"]), 995, 0x71757B9B),
        (packers.pack_for_jffs2(TEXT, PAGE_BYTES, ["zlib"]), 673, 0xACACFE85),
        (packers.pack_for_ubifs(TEXT, "lzo"), 995, 0x71757B9B),
        (packers.pack_for_ubifs(TEXT, "zlib"), 610, 0xA98C9C24),
    ],
)
def test_a_page_is_packed_as_linux_6_1_packed_it(
    packed: packers.PackedData, size: int, crc: int
) -> None:
    assert (packed.plain, len(packed.data)) == (PAGE_BYTES, size)
    assert zlib.crc32(packed.data) == crc


@given(PAGES, st.integers(1, PAGE_BYTES), st.sampled_from(["lzo", "zlib", "rtime"]))
@example(TEXT, 600, "zlib")
@example(b"abcdefgh" * 4, PAGE_BYTES, "lzo")
@example(bytes(PAGE_BYTES), PAGE_BYTES, "lzo")
@example(bytes(PAGE_BYTES), 40, "rtime")
def test_what_jffs2_packs_fits_and_unpacks_to_its_begin(data: bytes, room: int, by: str) -> None:
    packed = packers.pack_for_jffs2(data, room, [by])
    assert 0 < packed.plain <= len(data)
    assert len(packed.data) <= room
    if not packed.packing:
        assert packed.data == data[: min(room, len(data))]
        return
    assert unpack_node_data(by, packed.data) == data[: packed.plain]
    if by in TOKEN_COUNTERS:
        assert count_node_tokens(by, packed.data, packed.plain)


@given(PAGES, st.sampled_from(["lzo", "zlib"]))
def test_what_ubifs_packs_gains_and_unpacks_to_itself(data: bytes, by: str) -> None:
    packed = packers.pack_for_ubifs(data, by)
    assert packed.plain == len(data)
    if packed.packing:
        assert len(data) >= 128
        assert len(packed.data) <= len(data) - 64
        assert unpack_node_data(by, packed.data) == data
    else:
        assert packed.data == data


def test_jffs2_takes_the_first_that_gains() -> None:
    every = ("rtime", "zlib", "lzo")
    assert packers.pack_for_jffs2(TEXT, PAGE_BYTES, every).packing == "lzo"
    # LZO packs all of a page or nothing, zlib as much as there is room for
    cut = packers.pack_for_jffs2(TEXT, 700, every)
    assert (cut.packing, cut.plain < PAGE_BYTES) == ("zlib", True)
    assert packers.pack_for_jffs2(TEXT, 700, ["lzo"]) == packers.PackedData(700, TEXT[:700])
    assert packers.pack_for_jffs2(RANDOM, PAGE_BYTES, every) == packers.PackedData(
        PAGE_BYTES, RANDOM
    )
    assert packers.pack_for_jffs2(b"a" * 10, PAGE_BYTES, every).packing == "rtime"
    assert packers.pack_for_jffs2(TEXT, PAGE_BYTES, []) == packers.PackedData(PAGE_BYTES, TEXT)


def test_lzo_goes_on_faster_where_nothing_is_found() -> None:
    """The next place is a byte further for each 32 bytes without a match, so a short one between
    is missed."""
    head = RANDOM[:1000]
    assert len(pack_lzo1x(head + RANDOM[500:506] + RANDOM[2000:3000])) > 2000
    assert len(pack_lzo1x(head + head)) < 1100


def test_what_cannot_be_unpacked_is_told() -> None:
    for packing in ("lzo", "zlib", "zstd", "rtime"):
        with pytest.raises(UnpackError, match=packing):
            unpack_node_data(packing, b"\xff\xff\xff")
    with pytest.raises(UnpackError, match="dynrubin, which the host"):
        unpack_node_data("dynrubin", b"")
