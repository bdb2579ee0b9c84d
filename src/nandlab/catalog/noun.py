# SPDX-License-Identifier: GPL-2.0-or-later
"""What every noun of the catalog has, and how its file is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from nandlab.base.strings import Lines, Word

Scalar = bool | int | Annotated[float, Field(allow_inf_nan=False)] | Lines
"""What a parameter may be."""


class StrictModel(BaseModel):
    """Frozen, and refuses keys that it does not know, and texts where numbers belong."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def dump_noun_identity(noun: BaseModel, *without: str) -> dict[str, Any]:
    """What a hash of a noun is of, as JSON: its fields that differ from their defaults.

    So a new field with a default moves the hash of no noun that does not use it. without: fields
    that decide nothing, such as its summary.
    """
    return noun.model_dump(mode="json", exclude_defaults=True, exclude=set(without))


class Noun(StrictModel):
    """What every catalog file has."""

    _home: Path | None = PrivateAttr(default=None)
    """The folder that has the catalog which it is from; None: it is from no file."""

    name: Word = Field(description="the file's own name, without .toml")
    summary: Lines = Field(description="in a sentence: what it is and where it is met")

    @property
    def home(self) -> Path | None:
        """The folder that has the catalog which it is from; None: it is from no file."""
        return self._home
