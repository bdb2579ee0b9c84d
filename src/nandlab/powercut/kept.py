# SPDX-License-Identifier: GPL-2.0-or-later
"""The form of what a campaign's folder keeps: whoever reads it gets values of these types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nandlab.base.errors import UsageError
from nandlab.results.measures import Count

AGAIN = "damaged: remove it, and run the campaign again"
SEEDS_MAX = 1 << 20
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MiB = Annotated[float, Field(gt=0, allow_inf_nan=False)]
T = TypeVar("T")


class Form(BaseModel):
    """Values that are there have these types; further ones are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True)


class Points(Form):
    """Which points were asked for."""

    variants: list[str] = []
    seed: Count = 1
    seeds: Annotated[int, Field(ge=0, le=SEEDS_MAX)] = 1
    repeat: Count = 1
    bad: list[Count] = []


class Head(Form):
    """What a campaign is."""

    filesystem: str
    changed: dict[str, str]
    options: dict[str, str]
    chip: str
    forbids: dict[str, str] = {}
    partition_mib: MiB
    board: str
    kernel: str
    load: str
    points: Points = Points()
    pieces: Count


class Finding(Form):
    """A class of what was found in a load."""

    name: str = Field(alias="class")
    count: Count
    first: str = Field(pattern=r"\S")
    what: str


class Load(Form):
    """What was found in a load."""

    load: str
    points: Count
    recovery_points: Count = 0
    second_points: Count = 0
    held: Count = 0
    findings: list[Finding]
    outcomes: dict[str, str] = {}


class Tried(Load):
    """With each operation's outcome."""

    operations: Count
    kinds: str
    recording: str = ""
    outcomes: dict[str, str] = Field(description="a letter for each operation, by variant")


class Refused(Form):
    """A load that the file system does not take."""

    load: str
    refused: str


class Piece(Form):
    """A piece that is done."""

    cpu_s: Seconds
    loads: list[dict[str, Any]]


def head(path: Path) -> dict[str, Any]:
    """A campaign's head."""
    return _checked(_json(path), Head, path)


def piece(path: Path) -> dict[str, Any]:
    """A piece of a campaign."""
    found = _checked(_json(path), Piece, path)
    for load in found["loads"]:
        form = Refused if "refused" in load else Tried if "operations" in load else Load
        _checked(load, form, path)
    return found


def lines(path: Path, form: type[T], cure: str = AGAIN) -> Iterator[T]:
    """The lines of a file, each as this dataclass; one that was cut short is left out.

    cure: what is said of a file of another form, and what to do.
    """
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        if line.endswith(b"\n"):
            yield _as(_parsed(line, path, cure), form, path, cure)


def _json(path: Path) -> Any:
    return _parsed(path.read_bytes(), path)


def _parsed(text: bytes, path: Path, cure: str = AGAIN) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path}: {e}: {cure}") from None


def _checked(value: Any, form: type[Form], path: Path) -> dict[str, Any]:
    """A value of this form, as it is."""
    _as(value, form, path)
    found: dict[str, Any] = value
    return found


def _as(value: Any, form: type[T], path: Path, cure: str = AGAIN) -> T:
    try:
        return TypeAdapter(form).validate_python(value)
    except ValidationError as e:
        first = e.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {place}: {first['msg']}: {cure}") from None
