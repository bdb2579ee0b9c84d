# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of jffs2dump: the same pieces as the dump has, and no file of a text that is not whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.jffs2made import Made, made
from support.jffs2texts import text_of

from nandlab.base.errors import UsageError
from nandlab.board.kit.root import Root
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.layout import ByteKind, FilePiece, Layout
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.reading.fragments import map_file_pages

SHAPE = Shape(2048, 65536)
OF = made(SHAPE, 4, pieces=1500)
TEXT = text_of(OF)


def layout(tmp_path: Path, data: bytes, shape: Shape = SHAPE) -> tuple[Layout, int]:
    path = tmp_path / "chip"
    path.write_bytes(data)
    found, dropped = read_flash_file_layout(
        path, FlashFileOptions(None, None, shape), tolerant=True
    )
    return found, len(dropped)


def content(of: Layout) -> list[FilePiece]:
    return sorted(p._replace(packing="") for p in of.pieces)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("pieces", [200, 1500, 4096])
def test_a_text_has_the_pieces_of_the_dump(tmp_path: Path, order: str, pieces: int) -> None:
    of = made(SHAPE, 4, order=order, pieces=pieces)
    told, lost = layout(tmp_path, text_of(of))
    dumped, none = layout(tmp_path, of.dump(oob=False))
    assert (lost, none) == (0, 0)
    assert content(told) == content(dumped)
    assert (told.sizes, told.paths) == (dumped.sizes, dumped.paths)
    assert sum(told.sums().values()) == told.partition_bytes
    for owner in told.sizes:
        assert map_file_pages(told, owner) == map_file_pages(dumped, owner)


@pytest.mark.parametrize("left", [4, 8, 12, 16])
@pytest.mark.parametrize("page", [3, 31])
def test_the_end_of_a_page_that_has_no_room_for_a_padding_node(
    tmp_path: Path, left: int, page: int
) -> None:
    """In the middle of a block and at its end. Zeroes of a node's 12 bytes were called damage."""
    of = Made(SHAPE, 4)
    of.name(2, b"file")
    end = (page + 1) * SHAPE.page - left
    while end - len(of.data) > 4000:
        of.write(2, 0, bytes(2000))
    of.write(2, 0, bytes(end - len(of.data) - 68))
    assert len(of.data) == end
    of.sync()
    of.write(2, 0, bytes(100))
    of.sync()
    dumped, none = layout(tmp_path, of.dump(oob=False))
    told, lost = layout(tmp_path, text_of(of))
    assert (lost, none) == (0, 0)
    assert dumped.sums()[ByteKind.SLACK] == left + SHAPE.page - 168
    assert content(told) == content(dumped)


def test_wrong_checksums_and_lines_that_are_not_there_make_pages_unknown(tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    at = next(
        i for i, line in enumerate(lines) if b"#ino      3" in line and b"offset        0" in line
    )
    place = lines[at].split(b"0x")[1][:8]
    wrong = b"Wrong data_crc at  0x%s, 0x00000001 instead of 0x00000002\n" % place
    told, lost = layout(tmp_path, b"".join([*lines[: at + 1], wrong, *lines[at + 1 :]]))
    assert lost
    path = tmp_path / "chip"
    _, dropped = read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE), tolerant=True)
    assert not map_file_pages(told, 3, dropped).rows[0].is_known
    with pytest.raises(UsageError, match="wrong data_crc: damaged"):
        read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE))
    both = [
        i for i, line in enumerate(lines) if b"#ino      4" in line and b"offset        0" in line
    ]
    path.write_bytes(b"".join(line for i, line in enumerate(lines) if i not in both))
    told, dropped = read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE), tolerant=True)
    assert not map_file_pages(told, 4, dropped).rows[0].is_known
    assert map_file_pages(told, 4, dropped).rows[2].is_known


NODE = TEXT.splitlines(keepends=True)[3]
SWAPPED = b"Wrong bitmask  at  0x00000000, 0x8519\n"


@pytest.mark.parametrize(
    ("data", "shape", "says"),
    [
        (TEXT[:-1], SHAPE, "ends within a line"),
        (TEXT[: TEXT.rindex(b"offset")] + b"\n", SHAPE, r"line \d+: no line of jffs2dump"),
        (TEXT + b"and more\n", SHAPE, r"line \d+: no line of jffs2dump"),
        (TEXT, SHAPE._replace(erase_block=4096), r"line \d+: the node ends past its erase block"),
        (TEXT, None, "give the chip's --page and --erase-block"),
        (SWAPPED, SHAPE, "the other byte order: give jffs2dump -b"),
        (NODE + NODE, SHAPE, "line 2: the node begins before the last one ended"),
        (TEXT.replace(b"name file3", b"name fil"), SHAPE, "the name has another length"),
        (b"Empty space found from 0x00000000 to 0x00010000\n", SHAPE, "no node is told"),
    ],
)
def test_what_is_no_whole_text_is_refused_in_a_line(
    tmp_path: Path, data: bytes, shape: Shape | None, says: str
) -> None:
    path = tmp_path / "text"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=says) as e:
        read_flash_file_layout(path, FlashFileOptions(None, None, shape), tolerant=True)
    assert str(e.value).startswith(str(path))
    assert "\n" not in str(e.value)


def test_extended_attributes_are_summed(tmp_path: Path) -> None:
    """As jffs2dump tells those of mkfs.jffs2 --with-xattr."""
    whole, _ = layout(tmp_path, TEXT)
    end = whole.partition_bytes
    attributes = b"".join(
        b"         %s node at 0x%08x, totlen 0x%08x, xid       1, %s\n" % (kind, at, size, rest)
        for kind, at, size, rest in (
            (b"Xattr     ", end, 0x88, b"version     1, name_len     1, name a"),
            (b"Xref      ", end + 0x88, 0x1C, b"xseqno      2, #ino         8"),
        )
    )
    with_attributes, _ = layout(tmp_path, TEXT + attributes)
    parts = with_attributes.parts()[ByteKind.METADATA]
    assert parts["extended attributes"] == 0x88 + 0x1C
    assert content(with_attributes) == content(whole)


def test_a_name_may_have_the_end_of_a_line(tmp_path: Path) -> None:
    of = Made(SHAPE, 1)
    of.name(2, b"a\nb")
    of.write(2, 0, b"x" * 100)
    told, _ = layout(tmp_path, text_of(of))
    assert told.paths[2] == "/a\nb"


@pytest.mark.board
@pytest.mark.parametrize("order", ["--little-endian", "--big-endian"])
def test_jffs2dump_itself_tells_what_the_image_has(tools: Root, tmp_path: Path, order: str) -> None:
    (tmp_path / "tree" / "d").mkdir(parents=True)
    (tmp_path / "tree" / "a").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "tree" / "d" / "b c").write_bytes(b"text " * 3000)
    see = {"/in": tmp_path}
    made_by = ["mkfs.jffs2", "-r", "/in/tree", "-e", "16KiB", "-s", "4096", "-p", order]
    tools.checked([*made_by, "-o", "/in/image"], see=see)
    told = tools.checked(
        ["jffs2dump", "-c", "-b" if "big" in order else "-l", "/in/image"], see=see
    )
    (tmp_path / "text").write_text(told)
    shape = Shape(512, 16384)
    mib = (tmp_path / "image").stat().st_size / (1 << 20)
    dumped, none = read_flash_file_layout(
        tmp_path / "image", FlashFileOptions(None, mib, shape), tolerant=True
    )
    text, lost = read_flash_file_layout(
        tmp_path / "text", FlashFileOptions(None, None, shape), tolerant=True
    )
    assert (none, lost) == ([], [])
    assert content(text) == content(dumped)
    assert set(dumped.sizes.values()) == {25600, 15000}
