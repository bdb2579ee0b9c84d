# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for what a workload reports: its phases, operations, figures and attributes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Empty, FigureName, Line, Word
from nandlab.base.units import QUANTITIES
from nandlab.catalog.noun import Scalar, StrictModel

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
"""What phases and operations may be called."""
WordName = Annotated[str, Field(pattern=NAME_PATTERN)]


class PhaseWords(StrictModel):
    """A phase that the workload reports."""

    name: WordName
    title: Line = Field(description="in a word or two, as tables and charts show it")
    short: Line = Field(default="", description="the same in ten letters; empty: the title")
    timed: bool = Field(default=True, description="false: it prepares, and no total includes it")
    moves_data: bool = Field(
        default=True,
        description="whether rates in bytes per second count its time",
    )


class OperationWords(StrictModel):
    """A kind of operation that the workload reports."""

    name: WordName
    title: Line = Field(default="", description="as tables show it; empty: its name")
    writes: bool = Field(default=False, description="whether it writes: the kind writes has it")
    durable: bool = Field(
        default=False,
        description="whether what it returns from is on flash: an fsync, a commit, an O_SYNC write",
    )
    durable_unless: list[dict[Word, Scalar]] = Field(
        default=[], description="values of parameters with which it is not durable all the same"
    )


def _check_unit(unit: str) -> None:
    """ValueError if there is no such quantity."""
    if unit not in QUANTITIES:
        raise ValueError(f"unit {unit!r} is none of {', '.join(QUANTITIES)}")


class OwnFigure(StrictModel):
    """A figure that the workload prints, or a parameter's number over a figure of time."""

    title: Line = Field(description="in a few words, as tables show it")
    short: Line = Field(default="", description="the same in ten letters; empty: the title")
    unit: Word = Field(description="what it is an amount of: time, bytes, per_s, count, ...")
    better: Literal["less", "more", ""] = Field(
        default="", description="which end is the better one; empty: neither, it is not ranked"
    )
    parameter: Word | Empty = Field(
        default="", description="it is this parameter's number; empty: the program prints it"
    )
    over: FigureName | Empty = Field(
        default="", description="a figure of time: the number is per second of it"
    )
    open_ended: bool = Field(
        default=False, description="where the load was stopped early, it is a lower bound"
    )

    @model_validator(mode="after")
    def _is_of_a_known_quantity(self) -> OwnFigure:
        _check_unit(self.unit)
        return self


class AttributeWords(StrictModel):
    """An attribute by which phases of the workload are set apart, and curves are drawn."""

    title: Line = Field(description="in a few words, as the axis of a chart shows it")
    unit: Word = Field(
        default="count", description="what its numbers are amounts of; of words it says nothing"
    )

    @model_validator(mode="after")
    def _is_of_a_known_quantity(self) -> AttributeWords:
        _check_unit(self.unit)
        return self


class Headline(StrictModel):
    """The figure that file systems are ranked and advised by."""

    figure: FigureName = Field(description="its name, such as phase.transactions or own.queries")
    noun: Line = Field(description="what it is, in words: transaction time")
    best: Line = Field(description="what the best one does: finishes the transactions first")
    more: Line = Field(
        default="takes {r} times as long", description="what another one does; {r}: the factor"
    )
    told: Line = Field(default="", description="a value of it in a sentence: transactions take {v}")


class WorkloadWords(StrictModel):
    """The words for what a workload reports; all of them may be left out."""

    phases: list[PhaseWords] = Field(default=[], description="in the order in which they come")
    operations: list[OperationWords] = Field(default=[], description="in the order of tables")
    figures: dict[Word, OwnFigure] = Field(
        default={}, description="its own figures, by name; elsewhere they are own.NAME"
    )
    at: dict[Word, AttributeWords] = Field(
        default={}, description="attributes that its phases may have, by name: docs/workloads.md"
    )
    headline: Headline | None = Field(
        default=None,
        description='absent: the first timed phase; with view = "points" all of them together',
    )
    view: Literal["phases", "lifetime", "points"] = Field(
        default="phases", description="how its results are read: docs/workloads.md"
    )
