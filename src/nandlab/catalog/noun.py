# SPDX-License-Identifier: GPL-2.0-or-later
"""What every noun of the catalog has, and how its file is checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """Frozen, and refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Noun(Strict):
    """What every catalog file has."""

    name: str = Field(description="the file's own name, without .toml")
    summary: str = Field(description="in a sentence: what it is and where it is met")
