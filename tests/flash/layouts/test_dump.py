# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps of the user's own chips: right ones are read to the byte, wrong ones make no file."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.dumpsteps import LARGE, SMALL, as_file, known_pages
from support.flashsamples import BLOCKS, chip
from support.jffs2made import Made, made

from nandlab.base.errors import UsageError
from nandlab.flash.chip.image import FACTORY_BAD
from nandlab.flash.layouts import dump, jffs2nodes
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout, detect_filesystem
from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    open_flash_file_partition,
    read_flash_file_layout,
)
from nandlab.flash.layouts.layout import ByteKind
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.reading.fragments import map_file_pages
from nandlab.flash.reading.reads import PAGE_BYTES

SOUND = made(LARGE, 4)
FINE = made(SMALL, 16, pieces=500)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("shape", "pieces"), [(LARGE, 4096), (LARGE, 700), (SMALL, 300)])
def test_a_dump_is_read_to_the_byte(tmp_path: Path, shape: Shape, pieces: int, order: str) -> None:
    of = made(shape, 32, order=order, pieces=pieces)
    pages = 3 * (32768 // PAGE_BYTES)
    whole = as_file(tmp_path / "oob", of.dump())
    assert known_pages(whole, shape, of) == pages
    bare = as_file(tmp_path / "bare", of.dump(oob=False))
    assert known_pages(bare, shape._replace(oob=0), of) == pages
    space, _ = read_flash_file_layout(bare, FlashFileOptions("jffs2", None, shape._replace(oob=0)))
    assert sum(space.sums().values()) == 32 * shape.erase_block


def test_a_bad_block_is_left_out_by_its_mark_or_by_padding(tmp_path: Path) -> None:
    shape = LARGE
    of = made(shape, 7)
    marked = as_file(tmp_path / "marked", of.dump(mark=1))
    layout, dropped = read_flash_file_layout(
        marked, FlashFileOptions(None, None, shape), tolerant=True
    )
    assert dropped == []
    assert layout.sums()[ByteKind.BAD] == shape.erase_block
    assert known_pages(marked, shape, of) == 24
    per = shape.block_bytes
    padded = bytearray(of.dump(mark=1))
    padded[per : 2 * per] = b"\xff" * per
    assert known_pages(as_file(tmp_path / "padded", bytes(padded)), shape, of) == 24


@pytest.mark.parametrize("layout", ["jffs2", "ubifs", "yaffs2", "yaffs1"])
def test_a_dump_of_each_file_system_has_what_the_chip_has(tmp_path: Path, layout: str) -> None:
    image = chip(layout)
    g = image.geometry
    shape = Shape(g.writesize, g.erasesize, g.oobsize)
    path = as_file(tmp_path / "dump", image.nanddump(BLOCKS[layout]))
    name = "yaffs2" if layout == "yaffs1" else layout
    assert not image.bad(FACTORY_BAD)
    of_chip = decode_layout(Partition(image, BLOCKS[layout]), name)
    found, dropped = read_flash_file_layout(
        path, FlashFileOptions(None, None, shape), tolerant=True
    )
    assert (found, dropped) == (of_chip, [])
    if layout in {"jffs2", "yaffs2", "ubifs"}:
        for owner, size in found.sizes.items():
            assert len(map_file_pages(found, owner).rows) == -(-size // PAGE_BYTES)
    for other in others(shape):
        try:
            wrong, _ = read_flash_file_layout(
                path, FlashFileOptions(None, None, other), tolerant=True
            )
        except UsageError:
            continue
        # where half a block is erased, blocks may as well be half as large: no page moves
        assert other == shape._replace(erase_block=g.erasesize // 2)
        assert sorted(wrong.pieces) == sorted(found.pieces)


@pytest.mark.parametrize("page", [256, 1024, 2048, 4096])
def test_ubifs_tells_its_pages_though_a_dump_has_no_spare_areas(tmp_path: Path, page: int) -> None:
    image = chip("ubifs")
    g = image.geometry
    cells = np.frombuffer(image.nanddump(BLOCKS["ubifs"]), np.uint8)
    bare = cells.reshape(-1, g.writesize + g.oobsize)[:, : g.writesize].tobytes()
    path = as_file(tmp_path / "bare", bare)
    right, dropped = read_flash_file_layout(
        path, FlashFileOptions(None, None, Shape(g.writesize, g.erasesize, 0)), tolerant=True
    )
    of_chip = decode_layout(Partition(image, BLOCKS["ubifs"]), "ubifs")
    assert (right.pieces, dropped) == (of_chip.pieces, [])
    says = f"superblock tells of pages of {g.writesize} bytes, not {page}"
    with pytest.raises(UsageError, match=says):
        read_flash_file_layout(
            path, FlashFileOptions(None, None, Shape(page, g.erasesize, 0)), tolerant=True
        )


def others(shape: Shape) -> list[Shape]:
    """Geometries that are not the chip's."""
    page, erase, oob = shape
    return [
        shape._replace(oob=0),
        shape._replace(oob=oob * 2),
        Shape(page // 4, erase // 4, oob // 4) if page > 1024 else Shape(page * 4, erase * 8, 64),
        Shape(page * 2, erase, oob),
        shape._replace(erase_block=erase // 2),
    ]


def wrongly(shape: Shape) -> st.SearchStrategy[Shape]:
    return st.builds(
        Shape,
        st.sampled_from([512, 2048, 4096]),
        st.sampled_from([4096, 8192, 16384, 32768, 65536, 131072, 262144]),
        st.sampled_from([0, 16, 64, 128, 224]),
    ).filter(lambda s: s != shape and s.oob <= s.page // 2)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.sampled_from([LARGE, SMALL]),
    pieces=st.sampled_from([40, 150, 300, 500, 1500, 4096]),
    bare=st.booleans(),
    ecc=st.booleans(),
    data=st.data(),
)
def test_another_geometry_makes_no_page_up(
    tmp_path: Path, shape: Shape, pieces: int, *, bare: bool, ecc: bool, data: st.DataObject
) -> None:
    of = made(shape, 64 if shape == SMALL else 16, pieces=pieces, kib=24)
    own = shape._replace(oob=0) if bare else shape
    path = as_file(tmp_path / "dump", of.dump(oob=not bare, ecc=ecc))
    other = data.draw(wrongly(own))
    try:
        known_pages(path, other, of, data.draw(st.sampled_from([None, 1.0])))
    except UsageError as e:
        assert "\n" not in str(e)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_makes_no_page_up(tmp_path: Path, data: st.DataObject) -> None:
    of, shape = data.draw(st.sampled_from([(SOUND, LARGE), (FINE, SMALL)]))
    cells = bytearray(of.dump())
    for at in data.draw(st.lists(st.integers(0, len(of.data) - 1), max_size=12)):
        page, column = divmod(at, shape.page)
        cells[page * (shape.page + shape.oob) + column] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(cells))))
    try:
        known_pages(as_file(tmp_path / "dump", bytes(cells[:cut])), shape, of, None)
    except UsageError as e:
        assert "\n" not in str(e)


def flipped(of: Made, times: int) -> bytes:
    cells, chance = bytearray(of.dump()), random.Random(3)
    for _ in range(times):
        cells[chance.randrange(len(cells) // 2)] ^= 1 << chance.randrange(8)
    return bytes(cells)


def test_some_wrong_bits_leave_the_rest_known(tmp_path: Path) -> None:
    # four blocks, a third of which is written
    known = known_pages(as_file(tmp_path / "dump", flipped(SOUND, 3)), LARGE, SOUND)
    assert 10 < known < 24


MISTAKES = {
    "empty": (b"", LARGE, "empty: dump it"),
    "cut": (SOUND.dump()[:-5], LARGE, "truncated, or of another geometry"),
    "erased": (b"\xff" * 4 * LARGE.block_bytes, LARGE, "every block is erased or bad"),
    "bare": (SOUND.dump(oob=False), LARGE, "--oob 0 would fit"),
    "spare": (SOUND.dump(), LARGE._replace(oob=0), "--oob 64 would fit"),
    "noise": (
        random.Random(2).randbytes(4 * LARGE.block_bytes),
        LARGE,
        "4 of 4 blocks would be marked bad",
    ),
    "zeroes": (bytes(4 * LARGE.block_bytes), LARGE, "zeros throughout"),
    "skipped": (SOUND.dump()[LARGE.block_bytes :], LARGE, "nanddump --bb=dumpbad --oob"),
}


@pytest.mark.parametrize("which", MISTAKES)
def test_what_is_no_dump_is_refused_in_a_line(tmp_path: Path, which: str) -> None:
    data, shape, says = MISTAKES[which]
    path = as_file(tmp_path / which, data)
    for tolerant in (True, False):
        with pytest.raises(UsageError) as e:
            read_flash_file_layout(path, FlashFileOptions(None, None, shape), tolerant=tolerant)
        assert str(e.value).startswith(str(path))
        assert says in str(e.value)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("of", "other", "says"),
    [
        (made(LARGE, 32), Shape(2048, 65536), "can be with --page 2048 --oob 64"),
        (SOUND, Shape(512, 65536, 16), "3 of 4 blocks would be marked bad"),
        (SOUND, Shape(2048, 32768, 64), "end past their erase block"),
        (FINE, Shape(2048, 16384), "padding nodes end within a page of 2048"),
    ],
)
def test_why_a_geometry_is_not_the_chips(tmp_path: Path, of: Made, other: Shape, says: str) -> None:
    dump = of.dump(oob=bool(other.oob) or of.shape == LARGE)
    path = as_file(tmp_path / "dump", dump)
    with pytest.raises(UsageError, match=says):
        read_flash_file_layout(
            path,
            FlashFileOptions(None, None if other.oob or of is FINE else 2.0, other),
            tolerant=True,
        )


def test_a_file_system_of_block_devices_is_named(tmp_path: Path) -> None:
    noise = bytearray(random.Random(5).randbytes(4 * BARE[0].block_bytes))
    for name, marks in dump.FOREIGN_MARKS.items():
        own = noise.copy()
        for at, mark in marks:
            own[at : at + len(mark)] = mark
        with pytest.raises(UsageError, match=rf"begins as {name} does, .* of block"):
            read_flash_file_layout(
                as_file(tmp_path / "dump", bytes(own)), FlashFileOptions(None, None, BARE[0])
            )
    with pytest.raises(UsageError, match="can be read without spare areas"):
        read_flash_file_layout(
            as_file(tmp_path / "dump", bytes(noise)), FlashFileOptions(None, None, BARE[0])
        )


BARE = [shape._replace(oob=0) for shape in (LARGE, SMALL)]


@pytest.mark.parametrize(("of", "own"), [(made(LARGE, 16, kib=200), BARE[0]), (FINE, BARE[1])])
def test_a_page_told_too_small_is_seen_by_padding(tmp_path: Path, of: Made, own: Shape) -> None:
    """Without spare areas, all nodes are there with smaller pages too, and N would be wrong."""
    path = as_file(tmp_path / "dump", of.dump(oob=False))
    layout, dropped = read_flash_file_layout(path, FlashFileOptions(None, None, own), tolerant=True)
    assert (dropped, layout.page_seen) == ([], True)
    with pytest.raises(UsageError, match=r"padding.*the chip's pages are larger"):
        read_flash_file_layout(
            path, FlashFileOptions(None, None, own._replace(page=own.page // 2)), tolerant=True
        )


def test_pages_that_may_be_larger_than_told_are_not_known(tmp_path: Path) -> None:
    """One padding node, at the end of an even page."""
    of = Made(LARGE, 4)
    of.name(2, b"file2")
    of.write(2, 0, random.Random(1).randbytes(3000))
    of.sync()
    assert len(of.data) == 2 * LARGE.page
    path = as_file(tmp_path / "dump", of.dump(oob=False))
    for page in (1024, 2048):
        own = BARE[0]._replace(page=page)
        assert not read_flash_file_layout(path, FlashFileOptions(None, None, own), tolerant=True)[
            0
        ].page_seen
    path = as_file(tmp_path / "with", of.dump())
    assert read_flash_file_layout(path, FlashFileOptions(None, None, LARGE), tolerant=True)[
        0
    ].page_seen


def summed(of: Made, block: int) -> bytes:
    """The dump without spare areas, with a summary that fills the end of a block."""
    cells, size = bytearray(of.dump(oob=False)), of.shape.erase_block
    used = cells[block * size : (block + 1) * size].rstrip(b"\xff")
    at = len(used) + 3 & ~3
    data = b"\xff" * (size - at - jffs2nodes.SUMMARY_NODE.size - 8)
    data += struct.pack("<II", at, jffs2nodes.SUMMARY_MARK)
    head = struct.pack("<HHI", jffs2nodes.MAGIC, jffs2nodes.SUMMARY, size - at)
    head += struct.pack("<IIII", jffs2nodes.compute_jffs2_crc(head), 0, 0, 0)
    node = (
        struct.pack("<II", jffs2nodes.compute_jffs2_crc(data), jffs2nodes.compute_jffs2_crc(head))
        + data
    )
    cells[block * size + at : (block + 1) * size] = head + node
    return bytes(cells)


def test_a_larger_erase_block_is_seen_by_where_summaries_lie(tmp_path: Path) -> None:
    path = as_file(tmp_path / "dump", summed(SOUND, 1))
    bare = LARGE._replace(oob=0)
    assert read_flash_file_layout(path, FlashFileOptions(None, None, bare), tolerant=True)[1] == []
    double = bare._replace(erase_block=2 * LARGE.erase_block)
    with pytest.raises(UsageError, match="1 summaries are not where they say"):
        read_flash_file_layout(path, FlashFileOptions(None, None, double), tolerant=True)


def test_wrong_bits_of_erased_blocks_do_not_tell_the_file_system(tmp_path: Path) -> None:
    erased = bytearray(b"\xff" * 4 * LARGE.block_bytes)
    for block in range(4):
        erased[(block + 1) * LARGE.block_bytes - 5000] &= 0xFB
    dump = as_file(tmp_path / "dump", bytes(erased) + SOUND.dump())
    assert detect_filesystem(open_flash_file_partition(dump, None, LARGE)[0]) == "jffs2"


def test_a_dump_shorter_than_its_partition_is_refused(tmp_path: Path) -> None:
    path = as_file(tmp_path / "dump", SOUND.dump())
    with pytest.raises(UsageError, match="4 blocks, the partition has 8"):
        read_flash_file_layout(path, FlashFileOptions(None, 0.5, LARGE), tolerant=True)


MARKER = struct.pack("<HHI", jffs2nodes.MAGIC, jffs2nodes.CLEANMARKER, 12)
MARKER += struct.pack("<I", jffs2nodes.compute_jffs2_crc(MARKER))


@pytest.mark.parametrize("tolerant", [True, False])
def test_two_clean_markers_in_a_block_tell_the_chips_block(
    tmp_path: Path, *, tolerant: bool
) -> None:
    """As mkfs.jffs2 makes an image of a chip with blocks of 16 KiB."""
    blocks = [MARKER.ljust(16384, b"\xff") for _ in range(8)]
    path = as_file(tmp_path / "image", b"".join(blocks))
    own = FlashFileOptions("jffs2", None, Shape(512, 16384))
    assert read_flash_file_layout(path, own, tolerant=tolerant)[1] == []
    for told in (32768, 65536):
        wrong = FlashFileOptions("jffs2", None, Shape(512, told))
        with pytest.raises(UsageError, match="--erase-block 16384"):
            read_flash_file_layout(path, wrong, tolerant=tolerant)
