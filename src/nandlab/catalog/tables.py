# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the catalog: how many files of each size a tree is drawn from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from nandlab.base.strings import Line, Lines
from nandlab.catalog.noun import Noun

BINS_MAX = 1000
COUNT_MAX = 10**9
SIZE_MAX = 10**12

TABLES_FOLDER = "tables"
"""The catalog's folder of them."""


class TableModel(Noun):
    """Counts by size: a distribution that ``table(NAME)`` names."""

    title: Line = Field(min_length=1, description="as tables and charts show it")
    source: Lines = Field(
        min_length=1, description="where the counts are from, and what was left out"
    )
    counts: dict[Annotated[int, Field(strict=False)], int] = Field(
        min_length=1, max_length=BINS_MAX, description="files by their size in bytes"
    )

    @field_validator("counts")
    @classmethod
    def _can_be_drawn_from(cls, counts: dict[int, int]) -> dict[int, int]:
        for size, count in counts.items():
            if not 0 <= size <= SIZE_MAX:
                raise ValueError(f"size {size}: give bytes, 0 to {SIZE_MAX}")
            if not 1 <= count <= COUNT_MAX:
                raise ValueError(f"size {size}: its count must be 1 to {COUNT_MAX}, is {count}")
        return counts

    @property
    def text(self) -> str:
        """The table as a distribution that programs take, sizes ascending."""
        bins = ",".join(f"{size}:{count}" for size, count in sorted(self.counts.items()))
        return f"table({bins})"
