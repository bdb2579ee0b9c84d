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

from nandlab.base.digest import digest, file_digest
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import read_json
from nandlab.base.scratch import scratch
from nandlab.base.strings import Line, Word
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load, validate
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Strict
from nandlab.chip import image as chipimage
from nandlab.chip.image import ChipImage, Geometry
from nandlab.chip.sidecar import Sidecar

HAS_DATA = 0x80
"""PAGE_HAS_DATA of target/modules/simnand/chip.h."""


class Counts(Strict):
    """What was in the tree that an image was made from."""

    files: int
    hard_links: int = Field(description="further names of files")
    folders: int
    symbolic_links: int
    bytes: int = Field(description="of all files, each counted once")


class Made(Strict):
    """What an image holds, and what made it."""

    format: Literal[1] = 1
    filesystem: Word = Field(description="its name in the catalog")
    options: dict[Word, Line] = Field(description="all of its options, as they were made")
    part: Word = Field(description="the chip's name in the catalog")
    partition_blocks: int = Field(ge=1, description="blocks of the partition, from block 0")
    board: Word = Field(description="the board's name in the catalog")
    tools: Line | None = Field(description="package of the tools that made it; null: the board did")
    tree: Counts

    def system(self) -> FilesystemModel:
        return load("filesystems", self.filesystem, FilesystemModel)

    def chip(self) -> ChipModel:
        return load("chips", self.part, ChipModel)


class ImageSidecar(Sidecar):
    """FILE.json beside a chip image."""

    made: Made


def sidecar_of(path: Path) -> Path:
    """The file beside an image that tells what it is; UsageError if the path names no file."""
    if not path.name:
        raise UsageError(f"{path}: a folder, and no image")
    return path.with_name(path.name + ".json")


@dataclass(frozen=True)
class Used:
    """How much of a chip an image takes."""

    pages: int
    """Pages that hold data."""
    blocks: int
    """Blocks with at least one programmed page."""


def used(image: ChipImage) -> Used:
    held = [b for b in image.blocks if any(b.states)]
    return Used(sum(bool(s & HAS_DATA) for b in held for s in b.states), len(held))


@dataclass(frozen=True)
class Head:
    """What can be told of an image without reading its cells."""

    path: Path
    made: Made
    held_blocks: int

    def digest(self) -> str:
        """Digest of the image and its sidecar; the name is not part of it."""
        return digest([file_digest(self.path), file_digest(sidecar_of(self.path))])

    def loaded_bytes(self) -> int:
        """The most bytes that the board is given to load."""
        g = self.made.chip().geometry
        pages = self.made.chip().pages_per_block()
        block = chipimage.BLOCK.size + pages * (2 + g.writesize + g.oobsize)
        flips = 8 * 1024  # 8 bytes each; simnand keeps 1,024 at most
        return (
            chipimage.HEADER.size
            + g.blocks * chipimage.BLOCK.size
            + flips
            + (self.held_blocks * block)
        )


def refuse_to_overwrite(path: Path) -> None:
    """UsageError if an image cannot be written there."""
    for file in (path, sidecar_of(path)):
        if file.exists():
            raise UsageError(f"{file} is there already; remove it, or give another --output")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path.parent}: cannot be written to")


def write(path: Path, image: ChipImage, made: Made) -> None:
    """Writes both files, or leaves nothing."""
    with scratch(str(path.parent)) as folder:
        cells, sidecar = folder / "cells", folder / "sidecar"
        more = {"made": made.model_dump()}
        chipimage.split(image, cells, sidecar, made.partition_blocks, more)
        sidecar.rename(sidecar_of(path))
        try:
            cells.rename(path)
        except OSError:
            sidecar_of(path).unlink()
            raise


def head(path: Path) -> Head:
    """What an image is; UsageError says what is wrong with it. The cells are not checked."""
    sidecar = sidecar_of(path)
    for file, what in ((path, "image"), (sidecar, "image's sidecar")):
        if not file.is_file():
            raise UsageError(f"{file}: no such {what}; nandlab image make makes both")
    told = validate(read_json(sidecar), ImageSidecar, str(sidecar))
    geometry = Geometry(**told.geometry.model_dump())
    found = Head(path, told.made, sum(block.held for block in told.blocks))
    _same_geometry(found, geometry)
    size = found.made.partition_blocks * geometry.block_bytes
    if path.stat().st_size != size:
        raise UsageError(f"{path}: {path.stat().st_size} bytes, not {size}: truncated?")
    return found


def _same_geometry(found: Head, geometry: Geometry) -> None:
    g = found.made.chip().geometry
    wanted = Geometry(g.writesize, g.oobsize, g.erasesize, g.blocks)
    if geometry != wanted:
        raise UsageError(
            f"{found.path}: {geometry} is another geometry than that of {found.made.part}: {wanted}"
        )


def read(path: Path) -> tuple[Made, ChipImage]:
    """An image with its cells; UsageError says what is wrong with it."""
    made = head(path).made
    try:
        return made, chipimage.join(path, sidecar_of(path))
    except NandlabError as e:
        raise UsageError(*e.lines) from None
