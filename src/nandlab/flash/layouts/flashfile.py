# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies on flash, from a file: an image of nandlab, a chip that a study or a trace kept, a dump
of the user's own chip, or what jffs2dump prints of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import map_chip_file, open_regular_file, read_json
from nandlab.base.strings import Line
from nandlab.catalog.files import validate_data
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.sidecar import BLOCKS_MAX
from nandlab.flash.layouts import decoders, dump, jffs2, jffs2nodes, jffs2scan, jffs2text
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.layouts.shapecheck import refuse_wrong_shape
from nandlab.results.folder import RunFolder

BEGIN_BYTES = 512
"""Bytes of a file that tell its form."""


class ChipFacts(NamedTuple):
    """What is told of a chip beside its image."""

    filesystem: str | None = None
    blocks: int | None = None
    """Of the partition."""
    ecc_strength: int = 1
    ecc_step: int = 512


class _TraceMeta(BaseModel):
    """What the meta.json of a trace tells of its chip (trace/shapes.py has all of it)."""

    filesystem: Line
    partition_blocks: int = Field(strict=True, ge=1)


class FlashFileOptions(NamedTuple):
    """What the user tells of a file."""

    filesystem: Line | None = None
    partition_mib: float | None = None
    """MiB from the chip's start; None: what the image says, or all."""
    shape: Shape | None = None
    """Of a dump, or of the chip that jffs2dump was given; None: the file says it itself."""
    volume: Line | None = None
    """Name or number of the UBI volume that is read; None: the one that has UBIFS."""
    offset: int = 0
    """Bytes of data before the partition, from the chip's start."""


def read_flash_file_layout(
    path: Path, options: FlashFileOptions, *, tolerant: bool = False
) -> tuple[Layout, list[DroppedNode]]:
    """Where everything is, and what of it could not be read.

    What a dump was taken for otherwise than it is, is in the layout's notes.

    tolerant: nodes of JFFS2 that cannot be read are dropped and told; else they are an error.
    UsageError names the file, what is wrong with it, and what to do.
    """
    begin = _read_begin(path)
    if jffs2text.is_jffs2dump_text(begin):
        return _read_text_layout(path, options, tolerant=tolerant)
    partition, recorded_filesystem = open_flash_file_partition(
        path, options.partition_mib, options.shape, options.offset
    )
    try:
        name = options.filesystem or recorded_filesystem or decoders.detect_filesystem(partition)
        decoder = decoders.find_decoder(name)
        needs_spare = bool(decoder and decoder.needs_spare)
        if options.shape and needs_spare:
            dump.refuse_block_filesystem_file(path)
        if options.shape and not options.shape.oob and needs_spare:
            raise UsageError(
                f"no file system that can be read without spare areas; {dump.DUMP_ADVICE}"
            )
        layout, dropped = _decode_partition(path, partition, name, options, tolerant=tolerant)
    except UsageError as e:
        raise _name_file_in(path, e) from None
    return replace(layout, notes=partition.notes + layout.notes), dropped


def _decode_partition(
    path: Path, partition: Partition, name: str, options: FlashFileOptions, *, tolerant: bool
) -> tuple[Layout, list[DroppedNode]]:
    if not tolerant:
        return decoders.decode_layout(partition, name, options.volume), []
    if name != "jffs2" or options.volume:
        return decoders.salvage_layout(partition, name, options.volume)
    nodes = jffs2scan.scan_partition_nodes(partition)
    if options.shape and nodes.dropped:
        refuse_wrong_shape(path, options.shape, nodes.dropped, nodes.order)
    layout, dropped = jffs2.salvage_layout_from_nodes(
        nodes, jffs2nodes.NodeGeometry.from_partition(partition)
    )
    if not options.shape:
        return layout, dropped
    page_seen = bool(options.shape.oob) or jffs2.is_page_size_sure(nodes, options.shape.page)
    return replace(layout, page_seen=page_seen), dropped + jffs2.find_missing_file_parts(layout)


def _read_begin(path: Path) -> bytes:
    """The first bytes of a file; UsageError if there are none."""
    with open_regular_file(path) as file:
        begin = file.read(BEGIN_BYTES)
    if not begin:
        raise UsageError(f"{path}: empty: {dump.DUMP_ADVICE}, or make it with nandlab image make")
    return begin


def _name_file_in(path: Path, e: NandlabError) -> UsageError:
    return UsageError(str(e) if str(e).startswith(str(path)) else f"{path}: {e}")


def _read_text_layout(
    path: Path, options: FlashFileOptions, *, tolerant: bool
) -> tuple[Layout, list[DroppedNode]]:
    if options.shape is None:
        raise UsageError(f"{path}: a text of jffs2dump: give the chip's --page and --erase-block")
    if options.filesystem not in {None, "jffs2"}:
        raise UsageError(f"{path}: a text of jffs2dump: no {options.filesystem}")
    if options.partition_mib:
        raise UsageError(f"{path}: a text of jffs2dump: --partition-mib is of images and dumps")
    nodes, shaped = jffs2text.read_jffs2dump_nodes(path, options.shape)
    if nodes.dropped and not tolerant:
        raise UsageError(f"{path}: {nodes.dropped[0].why}: damaged. Nothing is summed")
    try:
        layout, dropped = jffs2.salvage_layout_from_nodes(nodes, shaped)
        layout = replace(layout, page_seen=jffs2.is_page_size_sure(nodes, options.shape.page))
        return layout, dropped + (jffs2.find_missing_file_parts(layout) if tolerant else [])
    except UsageError as e:
        raise _name_file_in(path, e) from None


def open_flash_file_partition(
    path: Path,
    partition_mib: float | None = None,
    shape: Shape | None = None,
    offset: int = 0,
) -> tuple[Partition, str | None]:
    """The partition in a file, and its file system if it is told.

    partition_mib: its MiB; None: what is told of it, or all. shape: of a dump. offset: bytes of
    data before it. UsageError names the file.
    """
    if shape is not None:
        _refuse_own_shape(path)
        return _read_dump_partition(path, partition_mib, shape, offset), None
    is_chip_image = _has_image_magic(path)
    try:
        if is_chip_image:
            with map_chip_file(path) as cells:
                chip, facts = chipimage.decode_chip_image(cells), _read_chip_facts(path)
        elif not chipfile.make_sidecar_path(path).exists():
            raise UsageError(
                f"{path}: no image of nandlab's, for there is no {path.name}.json; of a dump of a "
                "chip, give --page, --erase-block and --oob"
            )
        else:
            description, chip = chipfile.read_image_files(path)
            ecc = description.chip().kernel_ecc
            facts = ChipFacts(
                description.filesystem, description.partition_blocks, ecc.strength, ecc.step
            )
        first = _find_first_block(offset, chip.geometry.erasesize)
        blocks = None if first else facts.blocks
        if partition_mib:
            blocks = _count_blocks(partition_mib, chip.geometry.erasesize)
            if first + blocks > chip.geometry.blocks:
                raise UsageError(
                    f"--partition-mib {partition_mib:g}: not so many whole blocks of the chip"
                )
        partition = Partition(chip, blocks, facts.ecc_strength, facts.ecc_step, first)
        return partition, None if first else facts.filesystem
    except NandlabError as e:
        raise _name_file_in(path, e) from None


def _has_image_magic(path: Path) -> bool:
    return _read_begin(path)[:4] == chipimage.IMAGE_MAGIC.to_bytes(4, "little")


def _refuse_own_shape(path: Path) -> None:
    """UsageError if a file tells its shape itself."""
    if _has_image_magic(path) or chipfile.make_sidecar_path(path).exists():
        raise UsageError(f"{path}: tells its geometry itself: leave --page and the others out")


def read_imported_partition(path: Path, options: FlashFileOptions) -> Partition:
    """The partition in a dump whose shape is given; one larger than the dump is erased past it.

    UsageError if the file tells its shape itself.
    """
    mib, shape = options.partition_mib, options.shape
    if mib is None or shape is None:
        return open_flash_file_partition(path, mib, shape, options.offset)[0]
    blocks = _count_blocks(mib, shape.erase_block)
    first = _find_first_block(options.offset, shape.erase_block)
    whole_blocks = -(-path.stat().st_size // shape.block_bytes)
    if first + blocks <= whole_blocks or first >= whole_blocks:
        return open_flash_file_partition(path, mib, shape, options.offset)[0]
    _refuse_own_shape(path)
    chip, notes = dump.read_flash_dump(path, dump.require_possible_shape(shape), first=first)
    dump_blocks = chip.geometry.blocks
    note = f"the {first + blocks - dump_blocks} blocks past the dump's end are taken as erased"
    chip = replace(chip, geometry=replace(chip.geometry, blocks=first + blocks))
    return Partition(chip, blocks, first=first, notes=(*notes, note))


def _read_dump_partition(
    path: Path, partition_mib: float | None, shape: Shape, offset: int
) -> Partition:
    """The partition in a dump; UsageError if some of its blocks may have been left out.

    nanddump skips bad blocks by itself, and the dump does not tell.
    """
    dump.require_possible_shape(shape)
    first = _find_first_block(offset, shape.erase_block)
    blocks = _count_blocks(partition_mib, shape.erase_block) if partition_mib else None
    needed_blocks = None if blocks is None else first + blocks
    chip, notes = dump.read_flash_dump(path, shape, needed_blocks, first)
    dump_blocks = chip.geometry.blocks
    if blocks is not None and first + blocks > dump_blocks:
        raise UsageError(
            f"{path}: {dump_blocks} blocks, the partition has {first + blocks}: the dump was cut "
            f"off, or nanddump skipped bad blocks: {dump.DUMP_ADVICE}"
        )
    is_dump = path.stat().st_size % shape.block_bytes == 0
    if blocks is None and not first and is_dump and dump_blocks & (dump_blocks - 1):
        partition = Partition(chip)
        if dump.is_as_ubinize_makes_it(partition):
            note = "are taken for a file of ubinize: the rest of its partition is not summed"
            partition.notes = (*notes, f"{dump_blocks} blocks erased equally often {note}")
            return partition
        try:
            decoders.refuse_late_begin(partition)
        except UsageError as e:
            raise _name_file_in(path, e) from None
        size = dump_blocks * shape.erase_block / (1 << 20)
        raise UsageError(
            f"{path}: {dump_blocks} blocks are no whole chip: if nanddump skipped bad blocks, "
            f"{dump.DUMP_ADVICE}; if that is the partition, give --partition-mib {size:g}"
        )
    return Partition(chip, blocks, first=first, notes=notes)


def _find_first_block(offset: int, erasesize: int) -> int:
    """The block that a partition begins with."""
    if offset % erasesize:
        raise UsageError(f"--offset {offset}: no whole number of blocks of {erasesize} bytes")
    return offset // erasesize


def _count_blocks(partition_mib: float, erasesize: int) -> int:
    """The blocks of so many MiB."""
    blocks = partition_mib * (1 << 20) / erasesize
    if not 0 < blocks <= BLOCKS_MAX or blocks != int(blocks):
        raise UsageError(f"--partition-mib {partition_mib:g}: not so many whole blocks of the chip")
    return int(blocks)


def _read_chip_facts(path: Path) -> ChipFacts:
    """What the trial or the trace tells that kept a chip, if it lies in its folder."""
    traced = path.absolute().parent / "meta.json"
    if traced.is_file():
        meta = validate_data(read_json(traced), _TraceMeta, str(traced))
        return ChipFacts(meta.filesystem, meta.partition_blocks)
    run = path.absolute().parents[1]
    if path.absolute().parent.name != "artefacts" or not (run / "run.json").is_file():
        return ChipFacts()
    for trial in RunFolder(run).trials():
        if any(kept.sha256 == path.name for kept in trial.artefacts):
            ecc = trial.find_source("chip").get("ecc", {})
            strength, step = ecc.get("strength", 1), ecc.get("step", 512)
            return ChipFacts(trial.filesystem, trial.chip.blocks, strength, step)
    return ChipFacts()
