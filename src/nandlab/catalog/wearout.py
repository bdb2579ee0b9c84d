# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file system meets the wear of its chip: which block it writes next, how many may die."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Empty, Lines, Word
from nandlab.catalog.noun import StrictModel


class Wear(StrictModel):
    """What a file system does as blocks wear out, as far as its end depends on it.

    Give one of spare, spare_per_1024 and kept.
    """

    next_block: Literal["chance", "kept"] = Field(
        description="which free block is written next. chance: they take turns, and only chance "
        "makes their erases differ; kept: one that was passed over may be so again and again"
    )
    spare: int | None = Field(default=None, description="blocks that may die, in all")
    spare_per_1024: int | None = Field(
        default=None, description="blocks that may die, in 1024 of the whole chip"
    )
    option: Word | Empty = Field(
        default="", description="an option that gives spare_per_1024 where its value is a number"
    )
    kept: int | None = Field(
        default=None, description="blocks that must live, beside those that hold data"
    )
    kept_percent: float = Field(
        default=0, description="further ones that must live, in percent of the partition"
    )
    moves_static_after: int | None = Field(
        default=None,
        description="erases for each block after which data that stays has been moved once, so "
        "that the blocks under it wear too; absent: it is never moved",
    )
    why: Lines = Field(description="in a sentence or two: what it does, and with which number")
    source: Lines = Field(description="where that is to be read")

    @model_validator(mode="after")
    def _one_of_them(self) -> Wear:
        if sum(n is not None for n in (self.spare, self.spare_per_1024, self.kept)) != 1:
            raise ValueError("give one of spare, spare_per_1024 and kept")
        return self

    def count_spare_blocks(
        self, options: Mapping[str, str], blocks: int, chip_blocks: int, static: int
    ) -> int:
        """Blocks of a partition that may die before the file system gives up.

        static: blocks that hold data which stays.
        """
        if self.spare is not None:
            return self.spare
        if self.kept is not None:
            percent = math.ceil(self.kept_percent * blocks / 100)
            return max(0, blocks - self.kept - percent - static)
        chosen = options.get(self.option, "")
        each = int(chosen) if chosen.isdecimal() else self.spare_per_1024 or 0
        return math.ceil(each * chip_blocks / 1024)
