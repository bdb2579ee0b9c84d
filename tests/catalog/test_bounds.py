# SPDX-License-Identifier: GPL-2.0-or-later
"""Bounds and patterns in models: pydantic obeys the last of two, which is the type's own."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, Field
from support import strfields

from nandlab.base.strings import Line

Count = Annotated[int, Field(ge=0)]


def twice_bounded(model: type[BaseModel]) -> list[str]:
    """Fields with two bounds of one kind, or two patterns."""
    found = []
    for name, info in model.model_fields.items():
        kinds: Counter[type] = Counter(
            type(mark) for mark in info.metadata if isinstance(mark, Ge | Gt | Le | Lt)
        )
        kinds[str] = sum(getattr(mark, "pattern", None) is not None for mark in info.metadata)
        if any(count > 1 for count in kinds.values()):
            found.append(name)
    return found


class Wrong(BaseModel):
    width: Count = Field(ge=1)
    height: Count = Field(default=1, description="fine")
    name: Line = Field(pattern="^a")


def test_a_second_bound_is_seen() -> None:
    assert twice_bounded(Wrong) == ["width", "name"]
    assert Wrong(width=0, name="b").name == "b"  # what makes it a mistake


@pytest.mark.parametrize(
    "model", strfields.models(), ids=lambda model: f"{model.__module__}.{model.__name__}"
)
def test_no_field_of_a_model_has_two_bounds_of_a_kind(model: type[BaseModel]) -> None:
    assert twice_bounded(model) == []
