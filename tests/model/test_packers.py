# SPDX-License-Identifier: GPL-2.0-or-later
"""What is packed is what the kernel packs, and unpacks to what it was."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.model import packers
from nandlab.model.lzo1x import lzo1x
from nandlab.model.reads import PAGE
from nandlab.model.unpack import COUNTED, tokens
from nandlab.onflash.packing import Unpackable, unpacked

TEXT = "".join(f"line {i} of a text, {i * i} is its square\n" for i in range(400)).encode()[:PAGE]
RANDOM = random.Random(1).randbytes(PAGE)
PAGES = st.one_of(
    st.binary(min_size=1, max_size=PAGE),
    st.lists(st.sampled_from([b"a", b"abcabcab", b"\0" * 300, b"xyz0", b"0123"]), min_size=1).map(
        lambda words: (b"".join(words) * 40)[:PAGE]
    ),
)


@pytest.mark.parametrize(
    ("packed", "size", "crc"),
    [
        (packers.jffs2(TEXT, PAGE, ["lzo"]), 995, 0x71757B9B),
        (packers.jffs2(TEXT, PAGE, ["zlib"]), 673, 0xACACFE85),
        (packers.ubifs(TEXT, "lzo"), 995, 0x71757B9B),
        (packers.ubifs(TEXT, "zlib"), 610, 0xA98C9C24),
    ],
)
def test_a_page_is_packed_as_linux_6_1_packed_it(
    packed: packers.Packed, size: int, crc: int
) -> None:
    assert (packed.plain, len(packed.data)) == (PAGE, size)
    assert zlib.crc32(packed.data) == crc


@given(PAGES, st.integers(1, PAGE), st.sampled_from(["lzo", "zlib", "rtime"]))
@example(TEXT, 600, "zlib")
@example(b"abcdefgh" * 4, PAGE, "lzo")
@example(bytes(PAGE), PAGE, "lzo")
@example(bytes(PAGE), 40, "rtime")
def test_what_jffs2_packs_fits_and_unpacks_to_its_begin(data: bytes, room: int, by: str) -> None:
    packed = packers.jffs2(data, room, [by])
    assert 0 < packed.plain <= len(data)
    assert len(packed.data) <= room
    if not packed.packing:
        assert packed.data == data[: min(room, len(data))]
        return
    assert unpacked(by, packed.data) == data[: packed.plain]
    if by in COUNTED:
        assert tokens(by, packed.data, packed.plain)


@given(PAGES, st.sampled_from(["lzo", "zlib"]))
def test_what_ubifs_packs_gains_and_unpacks_to_itself(data: bytes, by: str) -> None:
    packed = packers.ubifs(data, by)
    assert packed.plain == len(data)
    if packed.packing:
        assert len(data) >= 128
        assert len(packed.data) <= len(data) - 64
        assert unpacked(by, packed.data) == data
    else:
        assert packed.data == data


def test_jffs2_takes_the_first_that_gains() -> None:
    every = ("rtime", "zlib", "lzo")
    assert packers.jffs2(TEXT, PAGE, every).packing == "lzo"
    # LZO packs all of a page or nothing, zlib as much as there is room for
    cut = packers.jffs2(TEXT, 700, every)
    assert (cut.packing, cut.plain < PAGE) == ("zlib", True)
    assert packers.jffs2(TEXT, 700, ["lzo"]) == packers.Packed(700, TEXT[:700])
    assert packers.jffs2(RANDOM, PAGE, every) == packers.Packed(PAGE, RANDOM)
    assert packers.jffs2(b"a" * 10, PAGE, every).packing == "rtime"
    assert packers.jffs2(TEXT, PAGE, []) == packers.Packed(PAGE, TEXT)


def test_lzo_goes_on_faster_where_nothing_is_found() -> None:
    """The next place is a byte further for each 32 bytes without a match, so a short one between
    is missed."""
    head = RANDOM[:1000]
    assert len(lzo1x(head + RANDOM[500:506] + RANDOM[2000:3000])) > 2000
    assert len(lzo1x(head + head)) < 1100


def test_what_cannot_be_unpacked_is_told() -> None:
    for packing in ("lzo", "zlib", "zstd", "rtime"):
        with pytest.raises(Unpackable, match=packing):
            unpacked(packing, b"\xff\xff\xff")
    with pytest.raises(Unpackable, match="dynrubin, which the host does not read"):
        unpacked("dynrubin", b"")
