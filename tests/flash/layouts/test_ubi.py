# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI as products have it: several volumes, a loss of power, blocks that are none of UBI's."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.dumpsteps import as_file
from support.ubimade import BLANK, MIB, SAMPLE, SHAPE, Device

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import ubi
from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    read_flash_file_layout,
    read_imported_partition,
)
from nandlab.flash.layouts.layout import ByteKind, Layout

KERNEL = bytes(range(255)) * 300


def layout_of(device: Device, tmp_path: Path, volume: str | None = None) -> Layout:
    path = as_file(tmp_path / "device", device.dump())
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, MIB, SHAPE, volume))
    assert sum(layout.sums().values()) == SAMPLE.bytes
    return layout


def parts(layout: Layout) -> dict[tuple[ByteKind, str], int]:
    return {(k, part): n for k, parts in layout.parts().items() for part, n in parts.items()}


def moved(tmp_path: Path, device: Device) -> dict[tuple[ByteKind, str], int]:
    """How many bytes more each part has than in the sample; what stays is left out."""
    before, after = (parts(layout_of(d, tmp_path)) for d in (Device(), device))
    change = {p: after.get(p, 0) - before.get(p, 0) for p in before | after}
    return {p: n for p, n in change.items() if n and p[0] is not ByteKind.FREE}


def pieces(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@pytest.mark.parametrize("static", [True, False])
def test_a_volume_beside_the_file_system_is_summed_apart(tmp_path: Path, static: bool) -> None:
    device = Device()
    contents = pieces(KERNEL, device.leb_bytes)
    device.put(3, contents, static=static)
    device.list(3, "kernel", len(contents) + 2, static=static)
    layout = layout_of(device, tmp_path)
    assert parts(layout)[ByteKind.USER, "volume kernel"] == len(KERNEL)
    assert (
        parts(layout)[ByteKind.USER, "data"]
        == parts(layout_of(Device(), tmp_path))[ByteKind.USER, "data"]
    )
    assert layout.paths == layout_of(Device(), tmp_path).paths
    (kernel,) = [v for v in layout.volumes if v.name == "kernel"]
    assert kernel == (3, "kernel", static, len(contents) + 2, len(contents))


def twice() -> Device:
    """The sample's volume, and the same as another volume."""
    device = Device()
    headers = map(device.header, range(SAMPLE.blocks))
    logicals = sorted({h.logical for h in headers if h and h.volume == 0})
    for logical in logicals:
        content = device.blocks[device.held(0, logical)][device.data_at :]
        device.write(device.free()[-1], device.named(1, logical), content)
    device.list(1, "other", logicals[-1] + 1)
    return device


def test_of_two_file_systems_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--volume"):
        layout_of(twice(), tmp_path)
    by_name, by_number = (layout_of(twice(), tmp_path, word) for word in ("other", "1"))
    assert by_name.paths == by_number.paths == layout_of(Device(), tmp_path).paths
    assert by_name.sizes == layout_of(Device(), tmp_path).sizes
    assert any(part.startswith("volume ") for part in by_name.parts()[ByteKind.USER])


@pytest.mark.parametrize(("word", "says"), [("none", "no UBI volume"), ("raw", "has no UBIFS")])
def test_a_volume_that_cannot_be_read_is_refused(tmp_path: Path, word: str, says: str) -> None:
    device = Device()
    device.put(1, [KERNEL[:100]])
    device.list(1, "raw", 1)
    with pytest.raises(UsageError, match=says):
        layout_of(device, tmp_path, word)


def test_a_device_without_ubifs_is_summed_by_its_volumes(tmp_path: Path) -> None:
    device = Device()
    for block in range(SAMPLE.blocks):
        header = device.header(block)
        if header and header.volume == 0:
            device.blocks[block] = BLANK
    device.put(1, [KERNEL[:100]])
    device.list(1, "raw", 1)
    layout = layout_of(device, tmp_path)
    assert (layout.filesystem, layout.paths) == ("ubi", {})
    assert layout.sums()[ByteKind.USER] == 100


def test_a_whole_copy_holds_and_a_torn_one_does_not(tmp_path: Path) -> None:
    for whole, part in ((True, "UBI's older copies"), (False, "torn copies")):
        device = Device()
        device.copy(device.held(0, 0), whole=whole)
        lost = {
            (ByteKind.OBSOLETE, part): device.leb_bytes,
        }
        change = moved(tmp_path, device)
        headers = change.pop((ByteKind.METADATA, "UBI headers"), 0)
        assert change == lost
        assert headers in (0, device.data_at), "a free block may have had its header"


def test_a_newer_block_that_is_no_copy_holds_unchecked(tmp_path: Path) -> None:
    device = Device()
    block = device.held(0, 0)
    content = device.blocks[block][device.data_at :]
    device.write(device.free()[-1], device.named(0, 0, content, checksum=1), content)
    assert moved(tmp_path, device)[ByteKind.OBSOLETE, "UBI's older copies"] == device.leb_bytes


def test_blocks_of_a_loss_of_power_are_summed(tmp_path: Path) -> None:
    device = Device()
    torn_header, garbled, counted, uncounted, foreign = device.free()[-5:]
    device.write(torn_header, b"UBI!" + bytes(60), b"")
    device.write(garbled, b"UBI!" + bytes(60), b"x" * 99)
    device.write(counted, b"\xff" * 64, b"x" * 99)
    device.blocks[uncounted] = b"UBI#".ljust(64, b"\0").ljust(SAMPLE.erasesize, b"\xff")
    device.blocks[foreign] = b"x" * SAMPLE.erasesize
    change = moved(tmp_path, device)
    size, leb = SAMPLE.erasesize, device.leb_bytes
    assert change[ByteKind.OBSOLETE, "blocks cut off by a loss of power"] == leb + size
    assert change[ByteKind.OBSOLETE, "damaged blocks"] == leb
    assert change[ByteKind.OBSOLETE, "blocks with data and no volume header"] == leb
    assert change[ByteKind.OBSOLETE, "blocks without a UBI header"] == size


@pytest.mark.parametrize(("many", "held"), [(11, True), (12, False)])
def test_a_chip_that_the_kernel_would_not_attach_is_refused(
    tmp_path: Path, many: int, held: bool
) -> None:
    """It takes less than a twentieth of the blocks as damaged, 11 of 256."""
    device = Device()
    for block in device.free()[-many:]:
        device.write(block, b"UBI!" + bytes(60), b"x" * 99)
    if held:
        assert (
            moved(tmp_path, device)[ByteKind.OBSOLETE, "damaged blocks"] == many * device.leb_bytes
        )
    else:
        with pytest.raises(UsageError, match=f"{many} blocks are damaged"):
            layout_of(device, tmp_path)


def test_a_table_of_bad_blocks_at_the_end_is_told(tmp_path: Path) -> None:
    device = Device()
    last = SAMPLE.blocks - 1
    assert last in device.free()
    device.blocks[last] = b"Bbt0\1".ljust(SAMPLE.erasesize, b"\xff")
    assert moved(tmp_path, device)[ByteKind.METADATA, "bad block table"] == SAMPLE.erasesize


@pytest.mark.parametrize(
    ("volume", "compatible", "kind", "part"),
    [
        (ubi.INTERNAL_VOLUMES + 1, 1, ByteKind.METADATA, "fastmap"),
        (ubi.INTERNAL_VOLUMES + 2, 1, ByteKind.METADATA, "fastmap"),
        (ubi.INTERNAL_VOLUMES + 9, 1, ByteKind.OBSOLETE, "removed volumes"),
        (ubi.INTERNAL_VOLUMES + 9, 4, ByteKind.METADATA, "unknown volumes of UBI's own"),
        (77, 0, ByteKind.OBSOLETE, "removed volumes"),
    ],
)
def test_blocks_of_no_listed_volume(
    tmp_path: Path, volume: int, compatible: int, kind: ByteKind, part: str
) -> None:
    device = Device()
    device.write(device.free()[-1], device.named(volume, 0, compatible=compatible), b"x" * 99)
    assert moved(tmp_path, device)[kind, part] == device.leb_bytes


def test_the_second_copy_of_the_volume_table_serves_if_the_first_is_damaged(
    tmp_path: Path,
) -> None:
    device = Device()
    block = device.held(ubi.LAYOUT_VOLUME, 0)
    data = bytearray(device.blocks[block])
    data[device.data_at] ^= 1
    device.blocks[block] = bytes(data)
    assert moved(tmp_path, device) == {}


def test_the_flag_of_mkfs_ubifs_F_changes_nothing(tmp_path: Path) -> None:
    device = Device()
    device.flag(0x04)
    assert moved(tmp_path, device) == {}


@pytest.mark.parametrize(("flag", "says"), [(0x10, "encrypted"), (0x20, "authenticated")])
def test_what_cannot_be_read_is_told_by_its_name(tmp_path: Path, flag: int, says: str) -> None:
    device = Device()
    device.flag(flag)
    with pytest.raises(UsageError, match=says):
        layout_of(device, tmp_path)


def test_a_tail_is_told_and_left_out_by_the_partition_s_size(tmp_path: Path) -> None:
    path = as_file(tmp_path / "tail", Device().dump() + b"meta" * 75)
    with pytest.raises(UsageError, match=f"300 bytes .*--partition-mib {MIB:g}"):
        read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE))
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, MIB, SHAPE))
    assert parts(layout) == parts(layout_of(Device(), tmp_path))


def test_bad_marks_behind_the_partition_are_none_of_its(tmp_path: Path) -> None:
    """More zeros than a chip has bad blocks: firmware's, behind the partition."""
    whole = Device().dump()
    tail = bytes(len(whole) // 2)
    layout, _ = read_flash_file_layout(
        as_file(tmp_path / "long", whole + tail), FlashFileOptions(None, MIB, SHAPE)
    )
    assert parts(layout) == parts(layout_of(Device(), tmp_path))


@pytest.mark.parametrize("mib", [float("inf"), float("nan"), 1e15])
def test_a_partition_of_no_possible_size_is_refused(tmp_path: Path, mib: float) -> None:
    path = as_file(tmp_path / "dump", Device().dump())
    with pytest.raises(UsageError, match="--partition-mib"):
        read_flash_file_layout(path, FlashFileOptions(None, mib, SHAPE))
    with pytest.raises(UsageError, match="--partition-mib"):
        read_imported_partition(path, FlashFileOptions(None, mib, SHAPE))


def test_a_file_that_tells_its_shape_is_no_dump(tmp_path: Path) -> None:
    path = as_file(tmp_path / "image", Device().dump())
    (tmp_path / "image.json").write_text("{}")
    for mib in (None, MIB, 2 * MIB):
        with pytest.raises(UsageError, match="itself"):
            read_imported_partition(path, FlashFileOptions(None, mib, SHAPE))


def test_a_partition_may_begin_within_the_chip(tmp_path: Path) -> None:
    before = 3 * SHAPE.erase_block
    path = as_file(tmp_path / "chip", b"boot" * (before // 4) + Device().dump())
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE, offset=before))
    assert parts(layout) == parts(layout_of(Device(), tmp_path))
    with pytest.raises(UsageError, match="no whole number of blocks"):
        read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE, offset=before + 1))


@pytest.mark.parametrize(("spare", "behind"), [(0, 0), (0, 5), (16, 0), (16, 5)])
def test_what_lies_before_a_partition_is_told_with_its_offset(
    tmp_path: Path, spare: int, behind: int
) -> None:
    """A bootloader, and a whole number of blocks or the power of two that a chip has."""
    before = 3 * SHAPE.erase_block
    chip = b"boot" * (before // 4) + Device().dump() + BLANK * behind
    path = as_file(
        tmp_path / "chip", b"".join(page + b"\xff" * spare for page in pieces(chip, SHAPE.page))
    )
    shape = SHAPE._replace(oob=spare)
    with pytest.raises(UsageError, match=f"block 3, .*--offset {before},"):
        read_flash_file_layout(path, FlashFileOptions(None, None, shape))
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, MIB, shape, offset=before))
    assert parts(layout) == parts(layout_of(Device(), tmp_path))


def test_a_logical_block_that_is_in_no_block_is_named(tmp_path: Path) -> None:
    """That of the index's root."""
    device = Device()
    index = layout_of(device, tmp_path).index
    assert index is not None
    root = index.root // SAMPLE.erasesize
    header = device.header(root)
    assert header is not None
    device.blocks[root] = device.counter_only()
    with pytest.raises(UsageError, match=f"logical block {header.logical},"):
        layout_of(device, tmp_path)


def test_a_ubifs_volume_alone_is_told(tmp_path: Path) -> None:
    device = Device()
    volume = device.blocks[device.held(0, 0)][device.data_at :]
    with pytest.raises(UsageError, match="ubinize"):
        read_flash_file_layout(
            as_file(tmp_path / "x.ubifs", volume[:4100]), FlashFileOptions(None, None, SHAPE)
        )


def test_a_file_of_ubinize_needs_no_partition(tmp_path: Path) -> None:
    """Any number of blocks, where each has a header of UBI and was erased as often as the others;
    of a dump of so many, nanddump may have left bad blocks out."""
    device = Device()
    written = [*device.blocks, device.counter_only()]
    alike = [device.counter + block[len(device.counter) :] for block in written]
    path = as_file(tmp_path / "made", b"".join(alike))
    layout, _ = read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE))
    assert layout.partition_bytes == len(alike) * SHAPE.erase_block
    assert len(layout.notes) == 1
    assert layout.sums()[ByteKind.USER] == layout_of(Device(), tmp_path).sums()[ByteKind.USER]
    for blocks in (written, [*alike, BLANK]):
        used = as_file(tmp_path / "used", b"".join(blocks))
        with pytest.raises(UsageError, match="no whole chip"):
            read_flash_file_layout(used, FlashFileOptions(None, None, SHAPE))


@pytest.mark.parametrize("spare", [16, 64])
def test_spare_areas_that_were_not_told_are_told(tmp_path: Path, spare: int) -> None:
    pages = pieces(Device().dump(), SHAPE.page)
    path = as_file(tmp_path / "dump", b"".join(page + b"\xff" * spare for page in pages))
    for other in {0, 16, 64, 128} - {spare}:
        with pytest.raises(UsageError, match=f"--oob {spare}"):
            read_flash_file_layout(path, FlashFileOptions(None, None, SHAPE._replace(oob=other)))


def test_a_partition_past_the_end_is_told_with_its_block(tmp_path: Path) -> None:
    path = as_file(tmp_path / "dump", Device().dump())
    with pytest.raises(UsageError, match="block 8192 "):
        read_flash_file_layout(
            path, FlashFileOptions(None, None, SHAPE, offset=8192 * SHAPE.erase_block)
        )
