# SPDX-License-Identifier: GPL-2.0-or-later
"""Several MTD partitions on the simulated chip, of which one has the trial's file system."""

from __future__ import annotations

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.strings import Word
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.noun import StrictModel

PARTITIONS_MAX = 16
"""As simnand has it (SIMNAND_PARTS_MAX)."""


class PartitionChoice(StrictModel):
    """An MTD partition as a study names it."""

    name: Word = Field(description="its name, which /proc/mtd shows")
    size_mib: float | None = Field(
        default=None, gt=0, description="MiB; absent: all that is left of the chip"
    )
    offset_mib: float | None = Field(
        default=None, ge=0, description="MiB from the chip's start; absent: after the one before"
    )


class MtdPart(StrictModel):
    """An MTD partition of the simulated chip."""

    name: Word
    first: int = Field(ge=0, description="its first erase block on the chip")
    blocks: int = Field(ge=1, description="erase blocks")

    @property
    def end(self) -> int:
        """The block behind its last."""
        return self.first + self.blocks


class FlashLayout(StrictModel):
    """All MTD partitions of the chip, in the order of their numbers."""

    partitions: list[MtdPart] = Field(min_length=1, max_length=PARTITIONS_MAX)
    chosen: int = Field(ge=0, description="number of the one that has the file system")

    @property
    def end(self) -> int:
        """Blocks from the chip's start to the end of the last partition."""
        return self.partitions[-1].end

    def find_number(self, name: str) -> int:
        """The MTD number of a partition; UsageError lists those there are."""
        names = [part.name for part in self.partitions]
        if name not in names:
            raise UsageError(f"no partition {name!r}; there are {', '.join(names)}")
        return names.index(name)

    def make_module_parameters(self, filesystem_name: str | None) -> dict[str, str | int]:
        """simnand's parameters. filesystem_name: what the file system's own partition must be
        called; None: as it is."""
        names = [part.name for part in self.partitions]
        names[self.chosen] = filesystem_name or names[self.chosen]
        return {
            "layout_names": ",".join(names),
            "layout_first": ",".join(str(part.first) for part in self.partitions),
            "layout_blocks": ",".join(str(part.blocks) for part in self.partitions),
            "layout_chosen": self.chosen,
        }

    def format_text(self, erasesize: int) -> str:
        """Its partitions as mtdparts has them, and which one has the file system."""
        words = [
            f"{_format_mib(part.blocks * erasesize)}@{_format_mib(part.first * erasesize)}"
            f"({part.name})"
            for part in self.partitions
        ]
        return f"{self.partitions[self.chosen].name} of {','.join(words)}"


def _format_mib(size: int) -> str:
    return f"{size // MIB}M" if size % MIB == 0 else f"{size // 1024}K"


def make_flash_layout(
    chip: ChipModel, choices: list[PartitionChoice], chosen: str | None
) -> FlashLayout | None:
    """The partitions in whole blocks; None: there is no table of them.

    UsageError if they overlap, leave the chip, or are no whole blocks.
    """
    if not choices:
        return None
    parts: list[MtdPart] = []
    for choice in choices:
        first = parts[-1].end if parts else 0
        if choice.offset_mib is not None:
            first = _count_blocks(chip, choice.offset_mib, choice.name)
        blocks_left = chip.geometry.blocks - first
        if choice.size_mib is not None:
            blocks = _count_blocks(chip, choice.size_mib, choice.name)
        else:
            blocks = blocks_left
        if not 0 < blocks <= blocks_left:
            raise UsageError(
                f"partition {choice.name}: it leaves the chip: {blocks_left} blocks are left"
            )
        if parts and first < parts[-1].end:
            raise UsageError(
                f"partition {choice.name}: it begins in {parts[-1].name}: give them in order"
            )
        parts.append(MtdPart(name=choice.name, first=first, blocks=blocks))
    names = [part.name for part in parts]
    if chosen not in names:
        raise UsageError(f"filesystem_on: no partition {chosen!r}; there are {', '.join(names)}")
    return FlashLayout(partitions=parts, chosen=names.index(chosen))


def _count_blocks(chip: ChipModel, mib: float, name: str) -> int:
    """Erase blocks of so many MiB; UsageError if they are not whole."""
    blocks = mib * MIB / chip.geometry.erasesize
    if blocks != int(blocks):
        step = f"{chip.geometry.erasesize / MIB:g} MiB"
        raise UsageError(f"partition {name}: {mib:g} MiB: must be a multiple of {step}")
    return int(blocks)
