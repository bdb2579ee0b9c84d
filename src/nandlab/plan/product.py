# SPDX-License-Identifier: GPL-2.0-or-later
"""A product, as a study file tells it: its RAM, its chip, what it writes in a day, for how long.

The study's matrix follows from it: its chip and its loads need not be said again.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from nandlab.base import amounts
from nandlab.base.errors import UsageError
from nandlab.base.strings import Line
from nandlab.catalog.board import BoardModel
from nandlab.catalog.noun import StrictModel
from nandlab.plan.matrix import ChipChoice, WorkloadChoice


class ProductLoad(WorkloadChoice):
    """A workload, and how much of a day it is."""

    daily_write: Line = Field(description="bytes that the product writes with it in a day: 100M")

    @field_validator("daily_write")
    @classmethod
    def _is_an_amount(cls, text: str) -> str:
        try:
            amounts.parse_size(text, "")
        except UsageError as e:
            raise ValueError(str(e).strip()) from None
        return text


class Product(StrictModel):
    """What is to be built."""

    ram_mib: int | None = Field(
        default=None, ge=1, description="RAM, MiB; the study's board must offer no more"
    )
    chip: ChipChoice = Field(description="the chip, and the partition that the file system gets")
    years: float = Field(gt=0, description="how long the chip must last")
    loads: list[ProductLoad] = Field(
        min_length=1, description="what it writes, and how much in a day"
    )

    @model_validator(mode="after")
    def _loads_are_distinct(self) -> Product:
        known = [(load.name, load.choices()) for load in self.loads]
        if any(one in known[:i] for i, one in enumerate(known)):
            raise ValueError("loads: two are the same workload with the same parameters")
        return self

    def too_large(self, board: BoardModel) -> str | None:
        """Why the board is none of this product's."""
        offered = board.available_mib or board.ram_mib or 0
        if self.ram_mib is None or offered <= self.ram_mib:
            return None
        return f"ram_mib: board {board.name} has {offered} MiB, the product {self.ram_mib}"


def fill_matrix_from_product(table: dict[str, Any]) -> dict[str, Any]:
    """A study's data with the parts of its matrix that follow from its product.

    ValueError where the matrix says another thing than the product.
    """
    product, matrix = table.get("product"), table.get("matrix", {})
    if not isinstance(product, dict) or not isinstance(matrix, dict):
        return table
    follows = {}
    if isinstance(product.get("chip"), dict):
        follows["chips"] = [product["chip"]]
    if isinstance(product.get("loads"), list):
        loads = [load for load in product["loads"] if isinstance(load, dict)]
        follows["workloads"] = [
            {k: v for k, v in load.items() if k != "daily_write"} for load in loads
        ]
    twice = [key for key, value in follows.items() if matrix.get(key, value) != value]
    if twice:
        raise ValueError(f"matrix.{twice[0]}: it follows from [product]; leave it out")
    return {**table, "matrix": {**follows, **matrix}}
