# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON file beside a chip image: geometry, bad blocks, wear, page states and checksums."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

BLOCKS_MAX = 1 << 18
"""More than any chip has."""
Byte2 = Annotated[int, Field(strict=True, ge=0, lt=1 << 16)]
Byte4 = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
Size4 = Annotated[int, Field(strict=True, ge=1, lt=1 << 32)]
Byte8 = Annotated[int, Field(strict=True, ge=0, lt=1 << 64)]
"""Numbers as wide as those of the image that the board loads."""


class _SidecarModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SidecarGeometry(_SidecarModel):
    """A chip's shape, in MTD's words."""

    writesize: Size4
    oobsize: Byte4
    erasesize: Size4
    blocks: int = Field(strict=True, ge=1, le=BLOCKS_MAX)

    @model_validator(mode="after")
    def _has_whole_pages(self) -> SidecarGeometry:
        if self.erasesize % self.writesize:
            raise ValueError("erasesize must be a multiple of writesize")
        return self


class SidecarBlock(_SidecarModel):
    """A block that is not as new."""

    index: Byte4
    wear: Byte4
    disturb: Byte4
    flags: Byte4
    flips: list[tuple[Byte4, Byte4]]
    states: list[Byte2]
    held: bool = Field(strict=True, description="whether the image has cells of it")


class Sidecar(BaseModel):
    """FILE.json beside a chip image; further keys are its maker's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: Literal[1]
    geometry: SidecarGeometry
    op_seq: Byte8
    programs: Byte8
    erases: Byte8
    factory_bad: list[Byte4]
    worn_out: list[Byte4]
    cells_bytes: Byte8
    cells_crc32: Byte4
    blocks: list[SidecarBlock]

    @model_validator(mode="after")
    def _blocks_are_the_chips(self) -> Sidecar:
        pages = self.geometry.erasesize // self.geometry.writesize
        if len({block.index for block in self.blocks}) != len(self.blocks):
            raise ValueError("a block is in blocks twice")
        for block in self.blocks:
            if block.index >= self.geometry.blocks:
                raise ValueError(f"the chip has no block {block.index}")
            if len(block.states) not in (0, pages):
                raise ValueError(f"block {block.index} has not a state for each of {pages} pages")
        return self
