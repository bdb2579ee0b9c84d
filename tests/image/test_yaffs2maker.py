# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2 images of our own maker: their bytes against the format that YAFFS2's tool writes.

The offsets below are those of struct yaffs_obj_hdr (yaffs_guts.h) and of the packed tags
(yaffs_packedtags2.h), written down a second time.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from nandlab.base.errors import NandlabError
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.layouts.yaffs2image import begins_with_object, find_tag_layout
from nandlab.image.tree import FileTree, scan_folder_tree
from nandlab.image.yaffs2maker import TOOL_TAGS_AT, PageShape, make_yaffs2_image

SHAPE = PageShape(page=2048, oob=64, pages_per_block=64, tags_at=TOOL_TAGS_AT)
STRIDE = SHAPE.page + SHAPE.oob
FILE, SYMLINK, DIRECTORY, HARDLINK = 1, 2, 3, 4
BLANK = 0xFFFFFFFF


class Tags(NamedTuple):
    sequence: int
    owner: int
    chunk: int
    held: int


def make_folder(path: Path) -> FileTree:
    (path / "dir" / "deep").mkdir(parents=True)
    (path / "dir" / "deep" / "whole").write_bytes(bytes(range(256)) * 16)  # two pages
    (path / "dir" / "odd").write_bytes(b"x" * 5000)  # three, the last of 904 bytes
    (path / "dir.c").write_bytes(b"")
    (path / "blank").write_bytes(b"\xff" * 2048)
    (path / "link").symlink_to("dir/odd")
    os.link(path / "dir" / "odd", path / "second")
    os.utime(path / "dir" / "odd", (1, 86_400))
    (path / "dir" / "odd").chmod(0o640)
    return scan_folder_tree(path)


def split_pages(image: bytes) -> list[tuple[bytes, Tags]]:
    """The data and tags of each page."""
    assert len(image) % STRIDE == 0
    pages = [image[at : at + STRIDE] for at in range(0, len(image), STRIDE)]
    return [(p[: SHAPE.page], Tags(*struct.unpack_from("<4I", p, SHAPE.page))) for p in pages]


def word(page: bytes, at: int) -> int:
    return int(struct.unpack_from("<I", page, at)[0])


def name(page: bytes) -> str:
    return page[10:266].split(b"\0", 1)[0].decode()


def test_an_image_is_what_the_tool_writes(tmp_path: Path) -> None:
    content = make_folder(tmp_path)
    pages = split_pages(make_yaffs2_image(content, tmp_path, SHAPE, padded=False))
    headers = [(data, tags) for data, tags in pages if tags.chunk == 0]
    # each object has one header and each file its data once: nothing is dead
    assert len(pages) == 8 + (2 + 3 + 0 + 1)
    assert {tags.sequence for _, tags in pages} == {0x1000}
    assert [tags.owner for _, tags in headers] == list(range(257, 265))
    assert {tags.held for _, tags in headers} == {0xFFFF}
    told = [(name(data), word(data, 0), word(data, 4)) for data, _ in headers]
    assert told == [
        ("blank", FILE, 1),
        ("dir", DIRECTORY, 1),
        ("deep", DIRECTORY, 258),
        ("whole", FILE, 259),
        ("odd", FILE, 258),
        ("dir.c", FILE, 1),
        ("link", SYMLINK, 1),
        ("second", HARDLINK, 1),
    ]
    by_name = {name(data): data for data, _ in headers}
    odd = by_name["odd"]
    assert odd[8:10] == b"\xff\xff"  # a sum that nobody uses
    assert (word(odd, 268), word(odd, 284)) == (0o100640, 86_400)  # mode, time of change
    assert (word(odd, 292), word(odd, 496)) == (5000, 0)  # size, its high half
    assert {word(odd, at) for at in (296, 504, 508)} == {BLANK}  # stands for, shadows, shrinks
    assert word(by_name["second"], 296) == 261
    assert word(by_name["second"], 268) == BLANK  # a name has no mode of its own
    assert by_name["link"][300:460] == b"dir/odd".ljust(160, b"\0")
    assert word(by_name["dir.c"], 292) == 0
    assert all(data[512:] == b"\xff" * (SHAPE.page - 512) for data, _ in headers)


def test_data_follow_their_header_and_are_filled_up(tmp_path: Path) -> None:
    content = make_folder(tmp_path)
    pages = split_pages(make_yaffs2_image(content, tmp_path, SHAPE, padded=False))
    first = next(i for i, (data, t) in enumerate(pages) if t.chunk == 0 and name(data) == "odd")
    data = pages[first + 1 : first + 4]
    assert [tags for _, tags in data] == [
        Tags(0x1000, 261, 1, 2048),
        Tags(0x1000, 261, 2, 2048),
        Tags(0x1000, 261, 3, 904),
    ]
    assert b"".join(d for d, _ in data) == b"x" * 5000 + b"\xff" * (3 * 2048 - 5000)


def test_spare_areas_are_where_the_tool_and_the_driver_have_them(tmp_path: Path) -> None:
    content = make_folder(tmp_path)
    whole = make_yaffs2_image(content, tmp_path, SHAPE, padded=True)
    assert len(whole) == 64 * STRIDE  # one block
    assert begins_with_object(whole)
    rows = np.frombuffer(whole, dtype=np.uint8).reshape(-1, STRIDE)
    assert (rows[14:] == 0xFF).all()
    assert (rows[:14, SHAPE.page + 28 :] == 0xFF).all()
    layout = find_tag_layout(rows, Shape(page=2048, oob=64, erase_block=64 * 2048))
    # with the tags' right codes, or it would not be the first of the layouts
    assert layout is not None
    assert layout.places == tuple(range(28))
    there = make_yaffs2_image(content, tmp_path, PageShape(2048, 64, 64), padded=True)
    moved = np.frombuffer(there, dtype=np.uint8).reshape(-1, STRIDE)
    assert (moved[:, 2048:2050] == 0xFF).all()  # the mark of a bad block
    assert (moved[:, 2050:2078] == rows[:, 2048:2076]).all()


def test_a_file_that_changed_is_no_image(tmp_path: Path) -> None:
    content = make_folder(tmp_path)
    (tmp_path / "blank").write_bytes(b"more" * 1000)
    with pytest.raises(NandlabError, match="changed"):
        make_yaffs2_image(content, tmp_path, SHAPE, padded=False)
