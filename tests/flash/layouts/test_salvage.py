# SPDX-License-Identifier: GPL-2.0-or-later
"""A JFFS2 with nodes that cannot be read: they are told, and nothing is made up of the rest."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.flashsamples import BLOCKS, chip
from test_space import PAGE, dirent, inode
from test_space import chip as chip_of

from nandlab.base.errors import UsageError
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.layouts import jffs2, jffs2nodes
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.reading.fragments import map_file_pages


def salvaged(
    image: ChipImage, blocks: int | None = None
) -> tuple[Layout, list[jffs2nodes.DroppedNode]]:
    partition = Partition(image, blocks)
    layout, dropped = jffs2.salvage_jffs2(partition)
    assert sum(layout.sums().values()) == partition.bytes
    return layout, dropped


def test_a_node_with_wrong_data_is_dropped_and_its_range_is_told() -> None:
    torn = bytearray(inode(2, 2, 4096, b"n" * 500, 8192))
    torn[100] ^= 1
    whole = dirent(1, 2, b"a") + inode(2, 1, 0, b"o" * 4096, 4096) + bytes(torn)
    layout, (lost,) = salvaged(chip_of({0: whole}))
    assert (lost.kind, lost.number, lost.offset, lost.plain) == ("inode", 2, 4096, 500)
    assert "data have a wrong checksum" in lost.why
    assert [p.offset for p in layout.pieces] == [0]
    assert lost.may_hold(2, 4096, 8192)
    assert not lost.may_hold(2, 0, 4096)


def test_a_node_that_was_torn_tells_its_file_as_far_as_it_was_written() -> None:
    begin = dirent(1, 2, b"a")
    filler = inode(2, 1, 0, b"o" * (PAGE - len(begin) - 68 - 28), 4096)
    torn = inode(3, 2, 4096, b"n" * 500, 8192)
    whole = begin + filler + torn[:28]
    assert len(whole) == PAGE
    _, (lost,) = salvaged(chip_of({0: whole}))
    # number and version were written, the offset was not
    assert (lost.number, lost.offset, lost.plain) == (3, 0, jffs2nodes.ANY_BYTES)


def test_a_node_whose_header_was_written_wrong_tells_no_file() -> None:
    """A page programmed in part has wrong bits anywhere in it, though no page after it was."""
    begin = dirent(1, 2, b"a")
    filler = inode(2, 1, 0, b"o" * (PAGE - len(begin) - 68 - 68), 4096)
    torn = bytearray(inode(2, 2, 0, b"n" * 500, 4096)[:68])
    torn[46] ^= 0x80  # of its offset
    layout, (lost,) = salvaged(chip_of({0: begin + filler + bytes(torn)}))
    assert (lost.kind, lost.number, lost.offset, lost.plain) == ("inode", 0, 0, 0)
    assert lost.may_hold(2, 0, 4096)
    assert layout.sizes == {2: 4096}


def test_what_is_no_node_may_have_been_of_any_file() -> None:
    whole = dirent(1, 2, b"a") + b"\x12\x34\x56\x78" * 5 + inode(2, 1, 0, b"o" * 100, 100)
    layout, (lost,) = salvaged(chip_of({0: whole}))
    assert (lost.kind, lost.bytes) == ("", 20)
    assert lost.may_hold(2, 0, 1)
    assert [p.bytes for p in layout.pieces] == [100]


SOUND = chip("jffs2")
WRITTEN = [b for b in SOUND.blocks if b.cells]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_page_is_made_up(data: st.DataObject) -> None:
    """With bytes of a block damaged, a page that counts as known is as it was."""
    block = data.draw(st.sampled_from(WRITTEN))
    cells = bytearray(block.cells)
    for at in data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, max_size=4)):
        cells[at] ^= data.draw(st.integers(1, 255))
    changed = replace(block, cells=bytes(cells))
    blocks = [changed if b.index == block.index else b for b in SOUND.blocks]
    image = ChipImage(SOUND.geometry, 0, 0, 0, blocks)
    before, _ = salvaged(SOUND, BLOCKS["jffs2"])
    try:
        after, dropped = salvaged(image, BLOCKS["jffs2"])
    except UsageError:
        assume(False)
    for number, size in after.sizes.items():
        if number not in before.sizes or any(d.may_hold(number, 0, max(1, size)) for d in dropped):
            continue
        assert of(after, number) == of(before, number)


def test_a_file_whose_last_node_is_lost_is_as_long_as_that_node_says() -> None:
    torn = bytearray(inode(2, 2, 4096, b"n" * 500, 4596))
    torn[60] ^= 1
    whole = dirent(1, 2, b"a") + inode(2, 1, 0, b"o" * 4096, 4096) + bytes(torn)
    layout, (lost,) = salvaged(chip_of({0: whole}))
    assert layout.sizes == {2: 4596}
    assert [r.is_known for r in map_file_pages(layout, 2, [lost]).rows] == [True, False]


def test_a_node_that_is_marked_obsolete_is_damage_on_nand() -> None:
    marked = bytearray(inode(2, 2, 0, b"n" * 500, 4096))
    marked[3] &= 0xDF
    whole = dirent(1, 2, b"a") + inode(2, 1, 0, b"o" * 4096, 4096) + bytes(marked)
    layout, (lost,) = salvaged(chip_of({0: whole}))
    assert not any(r.is_known for r in map_file_pages(layout, 2, [lost]).rows)


def of(layout: Layout, number: int) -> list[FilePiece]:
    return sorted(p for p in layout.pieces if p.owner == number)


def test_a_sound_chip_loses_nothing() -> None:
    layout, dropped = salvaged(SOUND, BLOCKS["jffs2"])
    assert dropped == []
    assert layout == jffs2.decode_jffs2(Partition(SOUND, BLOCKS["jffs2"]))
