# SPDX-License-Identifier: GPL-2.0-or-later
"""Images as tools make them: not padded, with a mark at the end, YAFFS2's tags elsewhere."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dumpsforged import (
    FREE_BYTES,
    SHAPE_OF_YAFFS2,
    YAFFS2,
    Pages,
    make_driver_dump,
    make_yaffs2_dump,
    put_tags,
)
from support.dumpsteps import LARGE, as_file
from support.jffs2made import made

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import yaffs2, yaffs2image
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.layout import ByteKind, Layout

ORDERS = st.sampled_from("<>")


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_image_of_jffs2_that_is_not_padded_is_erased_past_its_end(
    tmp_path: Path, order: str
) -> None:
    shape = LARGE._replace(oob=0)
    short = made(LARGE, 4, order=order).dump(oob=False).rstrip(b"\xff")
    assert len(short) % shape.erase_block
    whole = short.ljust(-(-len(short) // shape.erase_block) * shape.erase_block, b"\xff")
    mib = len(whole) / (1 << 20)
    padded, _ = read_flash_file_layout(
        as_file(tmp_path / "padded", whole), FlashFileOptions(None, mib, shape)
    )
    layout, _ = read_flash_file_layout(
        as_file(tmp_path / "short", short), FlashFileOptions(None, None, shape)
    )
    assert (layout.extents, len(layout.notes)) == (padded.extents, 1)
    assert padded.notes == ()


def test_a_mark_of_the_firmware_s_end_is_left_out(tmp_path: Path) -> None:
    whole = made(LARGE, 4).dump(oob=False)
    shape = LARGE._replace(oob=0)
    marked = as_file(tmp_path / "marked", whole + b"\xde\xad\xc0\xde")
    layout, _ = read_flash_file_layout(marked, FlashFileOptions(None, None, shape))
    bare, _ = read_flash_file_layout(
        as_file(tmp_path / "bare", whole), FlashFileOptions(None, None, shape)
    )
    assert (layout.extents, len(layout.notes)) == (bare.extents, 1)


def layout_of(tmp_path: Path, data: bytes) -> Layout:
    layout, _ = read_flash_file_layout(
        as_file(tmp_path / "dump", data), FlashFileOptions(None, None, SHAPE_OF_YAFFS2)
    )
    assert (
        sum(layout.sums().values())
        == -(-len(data) // SHAPE_OF_YAFFS2.block_bytes) * YAFFS2.erasesize
    )
    return layout


def unchanged(page: Pages) -> None:
    pass


def test_tags_from_byte_0_are_read_where_a_chip_has_them(tmp_path: Path) -> None:
    def at_0(page: Pages) -> None:
        spare = page[YAFFS2.writesize :]
        spare[:-2] = spare[2:].copy()
        spare[-2:] = 0xFF

    sound, moved = (layout_of(tmp_path, make_yaffs2_dump(change)) for change in (unchanged, at_0))
    assert moved.extents == sound.extents
    assert moved.sums()[ByteKind.BAD] == 0
    assert (len(moved.notes), sound.notes) == (1, ())


def test_blocks_of_one_sequence_number_are_taken_in_their_order(tmp_path: Path) -> None:
    """The sample was written in order, but its checkpoint."""

    def same(page: Pages) -> None:
        spare = page[YAFFS2.writesize :]
        tags = spare[yaffs2.TAGS_AT : yaffs2.TAGS_AT + yaffs2.TAGS_BYTES]
        if struct.unpack("<I", tags[:4].tobytes())[0] >= yaffs2.SEQUENCE_MIN:
            tags[:4] = np.frombuffer(struct.pack("<I", yaffs2.SEQUENCE_MIN), dtype=np.uint8)
            end = yaffs2.TAGS_AT + yaffs2.TAGS_BYTES
            spare[end : end + 12] = np.frombuffer(yaffs2._encode_tags_code(tags), dtype=np.uint8)

    sound, one = (layout_of(tmp_path, make_yaffs2_dump(change)) for change in (unchanged, same))
    assert one.paths == sound.paths
    assert one.extents == sound.extents


def test_an_image_that_ends_within_a_block_is_erased_past_its_end(tmp_path: Path) -> None:
    whole = make_yaffs2_dump(unchanged)
    stride = YAFFS2.writesize + YAFFS2.oobsize
    pages = next(
        n
        for n in range(1, YAFFS2.pages)
        if whole[n * stride : (n + 1) * stride].count(255) == stride
    )
    layout = layout_of(tmp_path, whole[: pages * stride])
    assert layout.partition_bytes == YAFFS2.erasesize
    assert len(layout.notes) == 1


ECC_SEED = 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("driver", FREE_BYTES)
def test_tags_are_seen_wherever_a_driver_puts_them(tmp_path: Path, driver: str, order: str) -> None:
    ecc = np.random.default_rng(ECC_SEED)
    sound = layout_of(tmp_path, make_yaffs2_dump(unchanged))
    moved = layout_of(
        tmp_path, make_yaffs2_dump(lambda page: put_tags(page, FREE_BYTES[driver], order, ecc))
    )
    assert moved.extents == sound.extents
    assert (moved.paths, moved.sizes) == (sound.paths, sound.sizes)
    assert len(moved.notes) == ((driver, order) != ("default", "<"))


@pytest.mark.parametrize(("driver", "order"), [("mxc", "<"), ("default", ">")])
def test_a_bad_block_is_one_wherever_a_driver_puts_tags(
    tmp_path: Path, driver: str, order: str
) -> None:
    whole = make_driver_dump(driver, order)
    index = next(i for i in range(YAFFS2.blocks) if YAFFS2.erased(i))
    at, count = index * SHAPE_OF_YAFFS2.block_bytes, SHAPE_OF_YAFFS2.block_bytes
    sound, bad = (
        layout_of(tmp_path, data)
        for data in (whole, whole[:at] + bytes(count) + whole[at + count :])
    )
    assert (sound.sums()[ByteKind.BAD], bad.sums()[ByteKind.BAD]) == (0, YAFFS2.erasesize)
    assert (bad.paths, bad.sizes) == (sound.paths, sound.sizes)


def test_tags_are_looked_for_where_the_partition_begins(tmp_path: Path) -> None:
    whole = make_driver_dump("mxc", "<")
    page = b"boot" * (YAFFS2.writesize // 4) + b"\xff\xff" + b"ecc " * 20
    stride = YAFFS2.writesize + YAFFS2.oobsize
    boot = page[:stride] * YAFFS2.pages * 2
    path = as_file(tmp_path / "chip", boot + whole)
    alone = layout_of(tmp_path, whole)
    found, _ = read_flash_file_layout(
        path, FlashFileOptions(None, None, SHAPE_OF_YAFFS2, offset=2 * YAFFS2.erasesize)
    )
    assert (found.extents, found.paths) == (alone.extents, alone.paths)


def test_the_widest_spare_area_is_looked_through_in_time() -> None:
    places = yaffs2image._list_places(2048, 1024)
    assert len(places) < 60_000
    assert len(set(places)) == len(places)


def test_tags_of_no_layout_are_not_taken_for_erased_blocks(tmp_path: Path) -> None:
    ecc = np.random.default_rng(ECC_SEED)

    def garble(page: Pages) -> None:
        page[YAFFS2.writesize :] = ecc.integers(0, 255, YAFFS2.oobsize)

    with pytest.raises(UsageError, match="YAFFS2"):
        layout_of(tmp_path, make_yaffs2_dump(garble))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_spare_area_is_read_or_refused(data: st.DataObject) -> None:
    ecc = np.random.default_rng(data.draw(st.integers(0, 99)))
    free = FREE_BYTES[data.draw(st.sampled_from(sorted(FREE_BYTES)))]
    whole = bytearray(make_yaffs2_dump(lambda page: put_tags(page, free, data.draw(ORDERS), ecc)))
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(UsageError):
        layout_of(Path(folder), bytes(whole))


def test_what_lies_behind_a_block_with_the_end_mark_is_erased_at_the_first_boot(
    tmp_path: Path,
) -> None:
    whole = made(LARGE, 4).dump(oob=False)
    shape = LARGE._replace(oob=0)
    more = b"\xde\xad\xc0\xde".ljust(shape.erase_block, b"\xff")
    older = b"an older firmware".ljust(shape.erase_block, b"\0")
    mib = 6 * shape.erase_block / (1 << 20)
    marked = as_file(tmp_path / "marked", whole + more + older)
    layout, _ = read_flash_file_layout(marked, FlashFileOptions(None, mib, shape))
    bare, _ = read_flash_file_layout(
        as_file(tmp_path / "bare", whole), FlashFileOptions(None, None, shape)
    )
    assert layout.parts()[ByteKind.OBSOLETE]["behind the end mark"] == 2 * shape.erase_block
    assert (layout.paths, layout.sizes, layout.pieces) == (bare.paths, bare.sizes, bare.pieces)


@pytest.mark.parametrize("kind", ["jffs2", "yaffs2"])
def test_a_tail_is_told_with_how_to_read_the_blocks(tmp_path: Path, kind: str) -> None:
    shape = SHAPE_OF_YAFFS2 if kind == "yaffs2" else LARGE._replace(oob=0)
    whole = make_yaffs2_dump(unchanged) if kind == "yaffs2" else made(LARGE, 4).dump(oob=False)
    path = as_file(tmp_path / "tail", whole + b"meta" * 75)
    mib = len(whole) // shape.block_bytes * shape.erase_block / (1 << 20)
    with pytest.raises(UsageError, match=f"300 bytes .*--partition-mib {mib:g}"):
        read_flash_file_layout(path, FlashFileOptions(None, None, shape))
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, mib, shape))
    assert layout.partition_bytes == mib * (1 << 20)


def test_a_ubifs_volume_is_told_whatever_its_size(tmp_path: Path) -> None:
    shape = LARGE._replace(oob=0)
    volume = b"\x31\x18\x10\x06".ljust(2 * shape.erase_block, b"\0")
    with pytest.raises(UsageError, match="ubinize"):
        read_flash_file_layout(
            as_file(tmp_path / "x.ubifs", volume), FlashFileOptions(None, None, shape)
        )
