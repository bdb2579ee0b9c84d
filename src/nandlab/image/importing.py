# SPDX-License-Identifier: GPL-2.0-or-later
"""Foreign dumps become chip images: a part of the catalog, page states, and a sidecar.

The kernel is the judge: an image is kept only if the board mounts it. Where the decoder cannot read
what was dumped, or a journal is to be replayed, the image is the chip as the kernel leaves it after
a mount and an unmount.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import Board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.chip.imagefile import PAGE_HAS_DATA, ImageDescription, TreeCounts
from nandlab.flash.layouts import decoders, ubi, yaffs2
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.jffs2nodes import MAGIC, MAGIC_MARKS
from nandlab.flash.layouts.layout import Layout, LayoutCollector, decode_file_name
from nandlab.flash.layouts.shape import Shape
from nandlab.image import making
from nandlab.image.tree import FileTree
from nandlab.plan.medium import Medium

MOUNTED_VOLUME = "data"
"""The UBI volume that the catalog's file systems mount."""
SQUASHFS_MARK, EROFS_MARK, EROFS_MARK_AT = b"hsqs", b"\xe2\xe1\xf5\xe0", 1024
IN_UBI = ("ubifs", "squashfs", "erofs")
"""File systems that lie in a volume of UBI."""
UBI_OWN_BLOCKS = 4
JFFS2_BIG_ENDIAN = struct.pack(">H", MAGIC)
NAMED_PATHS_MAX = 3


class ImportRequest(NamedTuple):
    """What the user tells of a dump."""

    filesystem: str | None = None
    part: str | None = None
    """The chip's name in the catalog; None: the only one of this geometry."""
    volume: str | None = None
    board: str = "apf27"


@dataclass(frozen=True)
class ImportedImage:
    """A dump that has become a chip."""

    medium: Medium
    image: ChipImage
    description: ImageDescription
    notes: tuple[str, ...]
    """What is otherwise than in the dump."""


class ReadyDump(NamedTuple):
    """A dump as a chip of the catalog, before a board has seen it."""

    medium: Medium
    image: ChipImage
    layout: Layout | None
    """None: the decoder does not read it."""
    notes: tuple[str, ...]


def prepare_dump(partition: Partition, shape: Shape, request: ImportRequest) -> ReadyDump:
    """The chip that a dump's partition becomes; UsageError says why it becomes none."""
    notes = list(partition.notes)
    name = request.filesystem or decoders.detect_filesystem(partition)
    blocks = {i: partition.cells(i) for i in range(partition.blocks) if not partition.erased(i)}
    if name in IN_UBI:
        volume, device = _find_volume(partition, request)
        _refuse_too_few_blocks(partition, device, shape)
        name = request.filesystem or _detect_volume_filesystem(partition, device, volume)
        blocks, renamed = _rename_volume(partition, blocks, device, volume)
        notes += renamed
    elif request.volume is not None:
        raise UsageError(f"--volume {request.volume}: {name} is in no volume of UBI")
    if name == "jffs2":
        _refuse_big_endian(partition, blocks)
    system = load_noun("filesystems", name, FilesystemModel)
    layout, reason = _decode_dump(partition, name, request.volume)
    if reason:
        notes.append(f"the decoder does not read it: {reason}")
    notes += layout.notes if layout else ()
    chip = find_part(shape, partition, request.part, _find_header_offset(partition, name))
    image = _make_chip(chip, partition, blocks, add_codes=name == "yaffs2")
    chosen_options = {"inband_tags": "on"} if layout and _has_inband_tags(layout, chip) else {}
    medium = Medium(
        board=load_noun("boards", request.board, BoardModel),
        chip=chip,
        partition_blocks=partition.blocks,
        filesystem=system,
        options=system.resolve_values(chosen_options, "import", from_image=True),
    )
    making.refuse_unfit_medium(medium, without_reserve=True)
    return ReadyDump(medium, image, layout, tuple(notes))


def _refuse_big_endian(partition: Partition, blocks: Iterable[int]) -> None:
    """UsageError where JFFS2's first node is one of a big-endian processor."""
    begins = (partition.begin(block, len(JFFS2_BIG_ENDIAN)) for block in blocks)
    if next((b for b in begins if b in MAGIC_MARKS), b"") == JFFS2_BIG_ENDIAN:
        raise UsageError(
            "JFFS2 of a big-endian processor, which the boards' kernels do not mount: make it with "
            "mkfs.jffs2 --little-endian (jffs2dump -b -e FILE turns one round); nandlab space "
            "reads it as it is"
        )


def _refuse_too_few_blocks(partition: Partition, device: ubi.Attached, shape: Shape) -> None:
    """UsageError where a partition has not the blocks that UBI's volumes reserve.

    UBI takes four more: two of the volume table, one to level wear, one to change a block at once
    (drivers/mtd/ubi/ubi.h).
    """
    least = sum(v.reserved for v in device.volumes.values()) + UBI_OWN_BLOCKS
    good = partition.blocks - len(partition.bad)
    if least > good:
        mib = (least + len(partition.bad)) * shape.erase_block / (1 << 20)
        raise UsageError(
            f"UBI's volumes reserve {least - UBI_OWN_BLOCKS} blocks and UBI itself "
            f"{UBI_OWN_BLOCKS}, and {good} are there: give the partition's --partition-mib, at "
            f"least {mib:g}; past the dump's end it is erased"
        )


def list_page_and_block(part: str) -> tuple[str, str]:
    """Bytes of a page and of an erase block of a part, as the command line takes them."""
    geometry = load_noun("chips", part, ChipModel).geometry
    return str(geometry.writesize), str(geometry.erasesize)


def import_dump(ready: ReadyDump, board: Board) -> ImportedImage:
    """The image of a dump that the board mounts; NandlabError with the kernel's words if not."""
    medium, image, notes = ready.medium, ready.image, list(ready.notes)
    layout = ready.layout
    tree = _list_by_kernel(medium, image, board)
    unsettled = layout is None or layout.notes
    if unsettled and decoders.find_decoder(medium.filesystem.name):
        image = making.save_mounted_chip(medium, image, board)
        notes.append("the image is the chip after a mount and an unmount by the board's kernel")
        layout, reason = _decode_dump(
            Partition(image, medium.partition_blocks), medium.filesystem.name, None
        )
        notes += [f"the decoder does not read that either: {reason}"] if reason else []
    if layout is not None:
        notes += compare_listings(layout, tree)
    description = ImageDescription(
        filesystem=medium.filesystem.name,
        options=medium.options,
        part=medium.chip.name,
        partition_blocks=medium.partition_blocks,
        board=medium.board.name,
        tools=None,
        tree=TreeCounts(**tree.counts()),
    )
    return ImportedImage(medium, image, description, tuple(notes))


def _list_by_kernel(on: Medium, image: ChipImage, board: Board) -> FileTree:
    """The tree as the board reads it; UsageError with its words if it does not mount the image."""
    try:
        return making.read_image_tree(on, image, board)
    except NandlabError as e:
        raise UsageError(
            f"the board's kernel does not mount the dump: {e}",
            "give its --partition-mib if it was dumped in part: past the dump's end it is erased",
        ) from None


def compare_listings(layout: Layout, tree: FileTree) -> list[str]:
    """Where the decoder's names and sizes are not the kernel's, in a line; empty: nowhere."""
    ours = {p.strip("/"): layout.sizes.get(n) for p, n in layout.names.items()}
    theirs = {
        decode_file_name(os.fsencode(e.path)): e.size if e.is_file else None for e in tree if e.path
    }
    sized = {p: n for p, n in theirs.items() if n is not None}
    wrong = sorted(ours.keys() ^ theirs.keys())
    wrong += sorted(p for p in sized.keys() & ours.keys() if (ours[p] or 0) != sized[p])
    if not wrong:
        return []
    more = ", ..." if len(wrong) > NAMED_PATHS_MAX else ""
    shown = ", ".join(wrong[:NAMED_PATHS_MAX]) + more
    return [f"the decoder and the kernel differ in {len(wrong)} paths: {shown}"]


def find_part(
    shape: Shape, partition: Partition, part: str | None, header_offset: int | None = None
) -> ChipModel:
    """The part of the catalog that a dump is of; UsageError if none is, or several are.

    header_offset: of UBI's volume headers, which tells whether the chip has subpages; None: no UBI.
    """
    names = [part] if part else list_noun_names("chips")
    fitting = [
        chip
        for chip in (load_noun("chips", name, ChipModel) for name in names)
        if not list(_list_misfits(chip, shape, partition.blocks, header_offset))
    ]
    if part and not fitting:
        chip = load_noun("chips", part, ChipModel)
        wrong = "; ".join(_list_misfits(chip, shape, partition.blocks, header_offset))
        raise UsageError(f"--chip {part}: {wrong}: give the chip that was dumped")
    if not fitting:
        raise UsageError(
            f"no chip of the catalog has {partition.blocks} blocks or more with {shape}"
            f"{_format_header_offset(header_offset, shape)}: describe yours in "
            "catalog/chips/PART.toml (docs/own/chip.md) and give --chip PART"
        )
    if len(fitting) > 1:
        raise UsageError(f"several chips fit: give --chip, one of {_join(c.name for c in fitting)}")
    return fitting[0]


def _list_misfits(
    chip: ChipModel, shape: Shape, blocks: int, header_offset: int | None
) -> Iterable[str]:
    """Why a dump is not of a chip, in clauses."""
    g = chip.geometry
    if (g.writesize, g.erasesize) != (shape.page, shape.erase_block):
        yield f"its pages have {g.writesize} bytes in blocks of {g.erasesize}"
    if shape.oob and g.oobsize != shape.oob:
        yield f"its spare areas have {g.oobsize} bytes"
    if g.blocks < blocks:
        yield f"it has {g.blocks} blocks, the dump {blocks}"
    if header_offset is not None and header_offset != _compute_header_offset(chip):
        yield (
            f"its nop = {g.nop} puts UBI's volume headers at {_compute_header_offset(chip)}, the "
            f"dump has them at {header_offset}"
        )


def _compute_header_offset(chip: ChipModel) -> int:
    """Where the kernel puts UBI's volume headers: a subpage on, or a page where there are none.

    Source: Linux, drivers/mtd/nand/raw/nand_base.c, nand_scan_tail() (subpage_sft).
    """
    g, steps = chip.geometry, chip.geometry.writesize // chip.kernel_ecc.step
    if g.nop == 1:
        return g.writesize
    return max(ubi.EC_HEADER.size, g.writesize // min(4, max(1, steps)))


def _format_header_offset(offset: int | None, shape: Shape) -> str:
    if offset is None:
        return ""
    whole = " (nop = 1, or one ECC step in a page)" if offset == shape.page else ""
    return f" and UBI's volume headers at {offset}{whole}"


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)


def _find_header_offset(partition: Partition, name: str) -> int | None:
    if name not in IN_UBI:
        return None
    return ubi.attach_ubi(partition, LayoutCollector()).header_offset


def _find_volume(
    partition: Partition, request: ImportRequest
) -> tuple[ubi.UbiVolume, ubi.Attached]:
    """The volume that is mounted: the one named, or the only one with a file system."""
    device = ubi.attach_ubi(partition, LayoutCollector())
    if request.volume is not None:
        return device.find_volume(request.volume), device
    having = [
        v for v in device.volumes.values() if _find_volume_mark(partition, device, v) is not None
    ]
    if request.filesystem:
        wanted = request.filesystem
        having = [v for v in having if _find_volume_mark(partition, device, v) == wanted]
    if len(having) > 1:
        raise UsageError(
            f"{len(having)} UBI volumes have a file system ({_join(v.name for v in having)}): "
            "give --volume"
        )
    if not having:
        raise UsageError(
            f"no UBI volume has a file system; there are: {device.format_volume_names()}"
        )
    return having[0], device


def _find_volume_mark(
    partition: Partition, device: ubi.Attached, volume: ubi.UbiVolume
) -> str | None:
    """The file system that a volume begins as; None: none that is known."""
    block = volume.blocks.get(0)
    if block is None:
        return None
    begin = partition.data(block)[device.data_offset :]
    if begin.startswith(struct.pack("<I", 0x06101831)):
        return "ubifs"
    if begin.startswith(SQUASHFS_MARK):
        return "squashfs"
    return "erofs" if begin[EROFS_MARK_AT:].startswith(EROFS_MARK) else None


def _detect_volume_filesystem(
    partition: Partition, device: ubi.Attached, volume: ubi.UbiVolume
) -> str:
    name = _find_volume_mark(partition, device, volume)
    if name is None:
        raise UsageError(f"UBI volume {volume.name} has no file system that nandlab mounts")
    if name != "ubifs" and volume.number:
        raise UsageError(
            f"{name} is in UBI volume {volume.number}, {volume.name}: only one in volume 0 is "
            "mounted"
        )
    return name


def _rename_volume(
    partition: Partition, blocks: dict[int, bytes], device: ubi.Attached, volume: ubi.UbiVolume
) -> tuple[dict[int, bytes], list[str]]:
    """The blocks with the volume named as the catalog mounts it, and what is told of that."""
    if volume.name == MOUNTED_VOLUME:
        return blocks, []
    names = {volume.number: MOUNTED_VOLUME}
    names |= {v.number: volume.name for v in device.volumes.values() if v.name == MOUNTED_VOLUME}
    changed = dict(blocks)
    stride = partition.writesize + partition.oobsize
    for block in device.table_blocks:
        data = bytearray(partition.data(block))
        for number, name in names.items():
            ubi.rename_volume(data, device.data_offset, number, name)
        pages = np.frombuffer(blocks[block], dtype=np.uint8).reshape(-1, stride).copy()
        pages[:, : partition.writesize] = np.frombuffer(data, dtype=np.uint8).reshape(
            -1, partition.writesize
        )
        changed[block] = pages.tobytes()
    return changed, [f"UBI volume {volume.name} is named {MOUNTED_VOLUME}, as nandlab mounts it"]


def _decode_dump(
    partition: Partition, name: str, volume: str | None
) -> tuple[Layout | None, str | None]:
    """The layout, or why there is none; neither for a file system without a decoder."""
    if decoders.find_decoder(name) is None:
        return None, None
    try:
        return decoders.decode_layout(partition, name, volume), None
    except UsageError as e:
        return None, str(e)


def _has_inband_tags(layout: Layout, chip: ChipModel) -> bool:
    return layout.filesystem == "yaffs2" and layout.chunk_bytes == (
        chip.geometry.writesize - yaffs2.TAGS_BYTES
    )


def _make_chip(
    chip: ChipModel, partition: Partition, blocks: dict[int, bytes], *, add_codes: bool
) -> ChipImage:
    """The partition's cells on a chip, from its block 0 on, with the state of each page."""
    g = chip.geometry
    chip_blocks = []
    for index, cells in sorted(blocks.items()):
        pages = np.frombuffer(cells, dtype=np.uint8)
        pages = pages.reshape(-1, partition.writesize + partition.oobsize).copy()
        if partition.oobsize < g.oobsize:
            rest = np.full((len(pages), g.oobsize - partition.oobsize), 0xFF, dtype=np.uint8)
            pages = np.concatenate([pages, rest], axis=1)
        if add_codes and g.writesize >= 1024:
            yaffs2.add_tags_codes(pages[:, g.writesize :])
        states = _list_page_states(pages, g.writesize)
        flags = partition.flags(index)
        chip_blocks.append(ChipBlock(index, 0, 0, flags, [], states, pages.tobytes()))
    geometry = ChipGeometry(g.writesize, g.oobsize, g.erasesize, g.blocks)
    return ChipImage(geometry, 0, 0, 0, chip_blocks)


def _list_page_states(pages: np.ndarray, writesize: int) -> list[int]:
    """The state of each page, as if it had been programmed once."""
    data = (pages[:, :writesize] != 0xFF).any(axis=1)
    spare = (pages[:, writesize:] != 0xFF).any(axis=1)
    return [1 | PAGE_HAS_DATA if d else int(s) for d, s in zip(data, spare, strict=True)]
