# SPDX-License-Identifier: GPL-2.0-or-later
"""A foreign dump as a chip of the catalog, before a board has seen it."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ubimade
from support.dumpsforged import SHAPE_OF_YAFFS2, make_driver_dump, make_product_device
from support.dumpsteps import as_file
from support.flashsamples import BLOCKS, chip
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.cli.image import image_app
from nandlab.flash.chip.imagefile import PAGE_HAS_DATA
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_imported_partition
from nandlab.flash.layouts.layout import decode_file_name
from nandlab.flash.layouts.shape import Shape
from nandlab.image import importing
from nandlab.image.importing import ImportRequest, ReadyDump
from nandlab.image.tree import FileTree, TreeEntry

PARTS = {
    "jffs2": "S34ML02G1",
    "ubifs": "nandsim-small",
    "yaffs2": "S34ML02G1",
    "yaffs1": "nandsim-small",
    "nftl-fat32": "nandsim-small",
}


def shape_of(layout: str) -> Shape:
    g = chip(layout).geometry
    return Shape(g.writesize, g.erasesize, g.oobsize)


def prepare(
    folder: Path,
    data: bytes,
    shape: Shape,
    part: str | None,
    volume: str | None = None,
    mib: float | None = None,
) -> ReadyDump:
    options = FlashFileOptions(None, mib, shape, volume)
    partition = read_imported_partition(as_file(folder / "dump", data), options)
    return importing.prepare_dump(partition, shape, ImportRequest(None, part, volume))


@pytest.mark.parametrize("layout", BLOCKS)
def test_a_dump_becomes_the_chip_that_it_was(tmp_path: Path, layout: str) -> None:
    source = chip(layout)
    ready = prepare(tmp_path, source.nanddump(BLOCKS[layout]), shape_of(layout), PARTS[layout])
    assert ready.layout is not None
    again = decode_layout(Partition(ready.image, BLOCKS[layout]), ready.medium.filesystem.name)
    assert again.extents == ready.layout.extents
    written = {b.index: b.cells for b in source.blocks if b.cells and any(b.states)}
    assert {b.index: b.cells for b in ready.image.blocks} == written
    states = {b.index: [s & PAGE_HAS_DATA for s in b.states] for b in source.blocks}
    for block in ready.image.blocks:
        had = states[block.index]
        # a page of 0xff only may have been programmed: no dump tells
        assert all(s & PAGE_HAS_DATA <= h for s, h in zip(block.states, had, strict=True))
        assert any(block.states)
    assert ready.notes == ()


def test_the_volume_takes_the_name_that_is_mounted(tmp_path: Path) -> None:
    """Of a volume that had the name, both change theirs."""
    device = make_product_device()
    ready = prepare(tmp_path, device.dump(), ubimade.SHAPE, "nandsim-small")
    layout = decode_layout(Partition(ready.image, len(device.blocks)), "ubifs", "data")
    assert {v.number: v.name for v in layout.volumes} == {0: "data", 1: "rootfs"}
    assert ready.layout is not None
    assert layout.extents != []
    assert (layout.paths, layout.sizes) == (ready.layout.paths, ready.layout.sizes)
    assert len(ready.notes) == 1


def test_a_volume_without_a_file_system_is_refused(tmp_path: Path) -> None:
    dump = make_product_device().dump()
    for volume, says in (("data", "no file system"), ("none", "no UBI volume")):
        with pytest.raises(UsageError, match=says):
            prepare(tmp_path, dump, ubimade.SHAPE, "nandsim-small", volume)


def test_tags_get_the_code_that_the_core_checks(tmp_path: Path) -> None:
    """An image of a tool that wrote none is as one that did."""
    plain = bytearray(make_driver_dump("image tool", "<"))
    stride = SHAPE_OF_YAFFS2.page + SHAPE_OF_YAFFS2.oob
    for page in range(len(plain) // stride):
        begin = page * stride + SHAPE_OF_YAFFS2.page
        plain[begin + 16 : begin + 28] = b"\xff" * 12
    coded = prepare(tmp_path, make_driver_dump("image tool", "<"), SHAPE_OF_YAFFS2, "S34ML02G1")
    bare = prepare(tmp_path, bytes(plain), SHAPE_OF_YAFFS2, "S34ML02G1")
    assert bare.image == coded.image


def test_a_partition_larger_than_the_dump_is_erased_past_it(tmp_path: Path) -> None:
    dump = chip("jffs2").nanddump(BLOCKS["jffs2"])
    ready = prepare(tmp_path, dump, shape_of("jffs2"), "S34ML02G1", mib=4)
    assert ready.medium.partition_blocks == 32
    assert ready.layout is not None
    assert ready.layout.partition_bytes == 4 << 20
    assert len(ready.notes) == 1


@pytest.mark.parametrize(
    ("layout", "part", "says"),
    [
        ("ubifs", "S34ML02G1", "512|2048"),
        ("jffs2", None, "--chip"),
        ("jffs2", "nandsim-small", "pages"),
    ],
)
def test_a_part_that_is_not_the_dump_s_is_refused(
    tmp_path: Path, layout: str, part: str | None, says: str
) -> None:
    dump = chip(layout).nanddump(BLOCKS[layout])
    with pytest.raises(UsageError, match=says):
        prepare(tmp_path, dump, shape_of(layout), part)


def test_no_part_of_the_geometry_is_told_with_what_to_do(tmp_path: Path) -> None:
    dump = chip("jffs2").nanddump(BLOCKS["jffs2"])
    with pytest.raises(UsageError, match=r"docs/own/chip\.md"):
        prepare(tmp_path, dump, shape_of("jffs2")._replace(erase_block=1 << 18), None)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_dump_becomes_a_chip_or_is_refused(data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(sorted(BLOCKS)))
    dump = bytearray(chip(layout).nanddump(BLOCKS[layout]))
    for _ in range(data.draw(st.integers(1, 30))):
        at = data.draw(st.integers(0, len(dump) - 1))
        dump[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(UsageError):
        prepare(Path(folder), bytes(dump), shape_of(layout), PARTS[layout])


@pytest.mark.parametrize(
    "words",
    [
        ["no-such"],
        ["dump"],
        ["dump", "--page", "2048"],
        ["dump", "--page", "2048", "--erase-block", "128K", "--oob", "64", "--chip", "none"],
        ["dump", "--page", "512", "--erase-block", "16K", "--oob", "16"],
        ["dump", "--chip", "S34ML02G1", "--oob", "64", "--fs", "ext4"],
        ["dump", "--chip", "S34ML02G1", "--oob", "64", "--volume", "rootfs"],
        ["dump", "--chip", "S34ML02G1", "--oob", "64", "--offset", "1"],
    ],
)
def test_bad_words_are_refused_before_a_board_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    as_file(tmp_path / "dump", chip("yaffs2").nanddump(BLOCKS["yaffs2"]))
    done = CliRunner().invoke(image_app, ["import", *words, "-o", "image"])
    assert done.exit_code != 0
    assert isinstance(done.exception, (UsageError, SystemExit))
    assert not (tmp_path / "image").exists()


def test_jffs2_of_a_big_endian_processor_is_told_before_a_board_begins(tmp_path: Path) -> None:
    shape = shape_of("jffs2")
    dump = b"\x19\x85\x20\x03".ljust(shape.block_bytes * 8, b"\xff")
    with pytest.raises(UsageError, match=r"big-endian.*jffs2dump"):
        prepare(tmp_path, dump, shape, PARTS["jffs2"])


@pytest.mark.parametrize("more", [0, 1])
def test_a_ubi_in_fewer_blocks_than_its_volumes_reserve_says_how_many(
    tmp_path: Path, more: int
) -> None:
    device = make_product_device()
    blocks = len(device.blocks)
    device.list(0, "rootfs", blocks - 2 - importing.UBI_OWN_BLOCKS + more)
    mib = (blocks + 1) * ubimade.SHAPE.erase_block / (1 << 20)
    says = pytest.raises(UsageError, match=f"--partition-mib, at least {mib:g};")
    with says if more else contextlib.nullcontext():
        prepare(tmp_path, device.dump(), ubimade.SHAPE, "nandsim-small")


def test_a_packed_dump_is_told_as_packed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gzip -d"):
        prepare(tmp_path, gzip.compress(b"x"), shape_of("jffs2"), None)


@pytest.mark.parametrize("name", [b"caf\xe9", "größe".encode(), b"plain"])
def test_a_name_is_the_same_to_decoder_and_kernel_whatever_its_bytes(name: bytes) -> None:
    layout = dataclasses.replace(
        decode_layout(Partition(chip("jffs2"), BLOCKS["jffs2"]), "jffs2"),
        names={"/" + decode_file_name(name): 9},
        sizes={9: 7},
    )
    entry = TreeEntry(os.fsdecode(name), 0o100644, 0, 0, 7, 0, 9)
    assert importing.compare_listings(layout, FileTree((entry,))) == []
    longer = FileTree((dataclasses.replace(entry, size=8),))
    assert len(importing.compare_listings(layout, longer)) == 1
