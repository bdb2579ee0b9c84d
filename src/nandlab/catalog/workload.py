# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload of the catalog: what exercises a file system, and the words for what it measures."""

from __future__ import annotations

from string import Formatter
from typing import Literal

from pydantic import Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.units import QUANTITIES
from nandlab.catalog.noun import Noun, Strict

Scalar = bool | int | float | str
NAME = r"^[a-z][a-z0-9_]*$"


class Parameter(Strict):
    """A number or word that a study may set for a workload."""

    help: str = Field(description="in a sentence with unit: what it is")
    default: Scalar = Field(description="the value when a study names none; its type is the type")
    min: float | None = Field(default=None, description="least value")
    max: float | None = Field(default=None, description="greatest value")

    def check(self, value: object) -> str | None:
        """What is wrong with a value, or None."""
        wanted = type(self.default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            return f"must be of type {wanted.__name__}, is {value!r}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.min is not None and value < self.min:
                return f"must be at least {self.min:g}, is {value!r}"
            if self.max is not None and value > self.max:
                return f"must be at most {self.max:g}, is {value!r}"
        return None


class PhaseWords(Strict):
    """A phase that the workload tells of."""

    name: str = Field(pattern=NAME)
    title: str = Field(description="in a word or two, as tables and charts show it")
    short: str = Field(default="", description="the same in ten letters; empty: the title")
    timed: bool = Field(default=True, description="false: it prepares, and no total has it")
    moves_data: bool = Field(
        default=True,
        description="whether bytes a second are over its time too",
    )


class OperationWords(Strict):
    """A kind of operation that the workload tells of."""

    name: str = Field(pattern=NAME)
    title: str = Field(default="", description="as tables show it; empty: its name")
    writes: bool = Field(
        default=False, description="whether a limit on the latency of writes is about it"
    )


class OwnFigure(Strict):
    """A figure that the workload prints, or a parameter's number over a figure of time."""

    title: str = Field(description="in a few words, as tables show it")
    short: str = Field(default="", description="the same in ten letters; empty: the title")
    unit: str = Field(description="what it is an amount of: time, bytes, per_s, count, ...")
    better: Literal["less", "more", ""] = Field(
        default="", description="which end is the better one; empty: neither, it is not ranked"
    )
    parameter: str = Field(
        default="", description="it is this parameter's number; empty: the program prints it"
    )
    over: str = Field(default="", description="a figure of time: the number is per second of it")
    open_ended: bool = Field(
        default=False, description="where the load was ended before its end it is a lower bound"
    )

    @model_validator(mode="after")
    def _is_of_a_known_quantity(self) -> OwnFigure:
        if self.unit not in QUANTITIES:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(QUANTITIES)}")
        return self


class Headline(Strict):
    """The figure that file systems are ranked and advised by."""

    figure: str = Field(description="its name, such as phase.transactions or own.queries")
    noun: str = Field(description="what it is, in words: transaction time")
    best: str = Field(description="what the best one does: finishes the transactions first")
    more: str = Field(
        default="takes {r} times as long", description="what another one does; {r}: the factor"
    )
    told: str = Field(default="", description="a value of it in a sentence: transactions take {v}")


class WorkloadWords(Strict):
    """What a workload tells, in words: all of it may be left out."""

    phases: list[PhaseWords] = Field(default=[], description="in the order in which they come")
    operations: list[OperationWords] = Field(default=[], description="in the order of tables")
    figures: dict[str, OwnFigure] = Field(
        default={}, description="its own figures, by name; elsewhere they are own.NAME"
    )
    headline: Headline | None = Field(default=None, description="absent: the first timed phase")
    view: Literal["phases", "lifetime"] = Field(
        default="phases", description="how its results are read: docs/workloads.md"
    )


class WorkloadModel(Noun, WorkloadWords):
    """A program that exercises a file system, how it is configured, and what it tells.

    ``command`` and ``config`` may use the parameters by name, and ``{seed}``, ``{mountpoint}``,
    ``{valid_percent}``, ``{invalid_percent}``, ``{mix}``.
    """

    command: str = Field(description="the command, a template, run where the configuration file is")
    config_file: str = Field(description="the configuration file's name")
    config: str = Field(description="the configuration file's text, a template")
    parameters: dict[str, Parameter]

    def words(self) -> set[str]:
        """The words that its templates use."""
        parts = (part for t in (self.command, self.config) for part in Formatter().parse(t))
        return {name for _, name, _, _ in parts if name}

    def chosen(self, given: dict[str, Scalar], where: str) -> dict[str, Scalar]:
        """Every parameter with its value; UsageError lists what is wrong."""
        wrong = [
            f"{where}: {self.name} has no parameter {key!r}; it has: {', '.join(self.parameters)}"
            for key in given
            if key not in self.parameters
        ]
        for key, value in given.items():
            what = self.parameters[key].check(value) if key in self.parameters else None
            if what:
                wrong.append(f"{where}: {self.name}: {key} {what}")
        if wrong:
            raise UsageError("\n".join(wrong))
        return {key: given.get(key, p.default) for key, p in self.parameters.items()}
