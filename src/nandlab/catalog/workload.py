# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload of the catalog: what exercises a file system, and how it is told what to do."""

from __future__ import annotations

from string import Formatter

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.catalog.noun import Noun, Strict

Scalar = bool | int | float | str


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


class WorkloadModel(Noun):
    """A program that exercises a file system, and how to write its configuration.

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
