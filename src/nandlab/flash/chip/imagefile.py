# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip image on disk: cells as ``nanddump --oob`` has them, and beside them what they are.

``FILE`` holds the partition's pages, data and spare area in turn: what any NAND tool reads.
``FILE.json`` holds geometry, bad blocks, wear, page states and checksums (chip/image.py), and
under ``made`` which file system it is, with which options, on which part, so that this need not be
given again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from nandlab.base.digest import digest_file, digest_json_value
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import read_json
from nandlab.base.scratch import hold_scratch_folder
from nandlab.base.strings import Line, Word
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun, validate_data
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import StrictModel
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipGeometry, ChipImage
from nandlab.flash.chip.sidecar import Sidecar

PAGE_HAS_DATA = 0x80
"""PAGE_HAS_DATA of device/modules/simnand/chip.h."""


class TreeCounts(StrictModel):
    """What was in the tree that an image was made from."""

    files: int
    hard_links: int = Field(description="further names of files")
    folders: int
    symbolic_links: int
    bytes: int = Field(description="of all files, each counted once")


class ImageDescription(StrictModel):
    """What an image holds, and what made it."""

    format: Literal[1] = 1
    filesystem: Word = Field(description="its name in the catalog")
    options: dict[Word, Line] = Field(description="all of its options, as they were made")
    part: Word = Field(description="the chip's name in the catalog")
    partition_blocks: int = Field(ge=1, description="blocks of the partition, from block 0")
    board: Word = Field(description="the board's name in the catalog")
    tools: Line | None = Field(description="package of the tools that made it; null: the board did")
    tree: TreeCounts

    def system(self) -> FilesystemModel:
        return load_noun("filesystems", self.filesystem, FilesystemModel)

    def chip(self) -> ChipModel:
        return load_noun("chips", self.part, ChipModel)


class ImageSidecar(Sidecar):
    """FILE.json beside a chip image."""

    made: ImageDescription


def make_sidecar_path(path: Path) -> Path:
    """The file beside an image that tells what it is; UsageError if the path names no file."""
    if not path.name:
        raise UsageError(f"{path}: a folder, and no image")
    return path.with_name(path.name + ".json")


@dataclass(frozen=True)
class UsedSpace:
    """How much of a chip an image takes."""

    pages: int
    """Pages that hold data."""
    blocks: int
    """Blocks with at least one programmed page."""


def measure_used_space(image: ChipImage) -> UsedSpace:
    held = [b for b in image.blocks if any(b.states)]
    return UsedSpace(sum(bool(s & PAGE_HAS_DATA) for b in held for s in b.states), len(held))


@dataclass(frozen=True)
class ImageHead:
    """What can be told of an image without reading its cells."""

    path: Path
    description: ImageDescription
    stored_blocks: int

    def digest(self) -> str:
        """Digest of the image and its sidecar; the name is not part of it."""
        return digest_json_value(
            [digest_file(self.path), digest_file(make_sidecar_path(self.path))]
        )

    def loaded_bytes(self) -> int:
        """The most bytes that the board is given to load."""
        g = self.description.chip().geometry
        pages = self.description.chip().pages_per_block()
        block = chipimage.BLOCK_HEADER.size + pages * (2 + g.writesize + g.oobsize)
        flips = 8 * 1024  # 8 bytes each; simnand keeps 1,024 at most
        return (
            chipimage.IMAGE_HEADER.size
            + g.blocks * chipimage.BLOCK_HEADER.size
            + flips
            + (self.stored_blocks * block)
        )


def refuse_image_overwrite(path: Path) -> None:
    """UsageError if an image cannot be written there."""
    for file in (path, make_sidecar_path(path)):
        if file.exists():
            raise UsageError(f"{file} is there already; remove it, or give another --output")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path.parent}: cannot be written to")


def write_image_files(path: Path, image: ChipImage, description: ImageDescription) -> None:
    """Writes both files, or leaves nothing."""
    with hold_scratch_folder(str(path.parent)) as folder:
        cells, sidecar = folder / "cells", folder / "sidecar"
        extra_keys = {"made": description.model_dump()}
        chipimage.write_cells_and_sidecar(
            image, cells, sidecar, description.partition_blocks, extra_keys
        )
        sidecar.rename(make_sidecar_path(path))
        try:
            cells.rename(path)
        except OSError:
            make_sidecar_path(path).unlink()
            raise


def read_image_head(path: Path) -> ImageHead:
    """What an image is; UsageError says what is wrong with it. The cells are not checked."""
    sidecar = make_sidecar_path(path)
    for file, what in ((path, "image"), (sidecar, "image's sidecar")):
        if not file.is_file():
            raise UsageError(f"{file}: no such {what}; nandlab image make makes both")
    sidecar_data = validate_data(read_json(sidecar), ImageSidecar, str(sidecar))
    geometry = ChipGeometry(**sidecar_data.geometry.model_dump())
    head = ImageHead(path, sidecar_data.made, sum(block.held for block in sidecar_data.blocks))
    _refuse_other_geometry(head, geometry)
    size = head.description.partition_blocks * geometry.block_bytes
    if path.stat().st_size != size:
        raise UsageError(f"{path}: {path.stat().st_size} bytes, not {size}: truncated?")
    return head


def _refuse_other_geometry(head: ImageHead, geometry: ChipGeometry) -> None:
    g = head.description.chip().geometry
    part_geometry = ChipGeometry(g.writesize, g.oobsize, g.erasesize, g.blocks)
    if geometry != part_geometry:
        raise UsageError(
            f"{head.path}: {geometry} is another geometry than that of "
            f"{head.description.part}: {part_geometry}"
        )


def read_image_files(path: Path) -> tuple[ImageDescription, ChipImage]:
    """An image with its cells; UsageError says what is wrong with it."""
    made = read_image_head(path).description
    try:
        return made, chipimage.read_cells_and_sidecar(path, make_sidecar_path(path))
    except NandlabError as e:
        raise UsageError(*e.lines) from None
