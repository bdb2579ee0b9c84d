# SPDX-License-Identifier: GPL-2.0-or-later
"""An option of a file system: its named values, a number that the kernel is given, or a layout.

A named value adds words to commands. A number is written to a file of the kernel's after each
mount, and read back: read-ahead is one. A layout names UBI volumes beside the file system's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from nandlab.base.strings import Command, Line, Lines, MountWords, Word
from nandlab.catalog.noun import StrictModel
from nandlab.catalog.volumelayout import VolumeLayout

ChipFigure = Literal[
    "writesize", "oobsize", "erasesize", "nop", "in_order", "cell_bits", "partition_blocks",
    "partition_per_1024", "chip_blocks",
]  # fmt: skip
"""Figures of a chip and its partition that a file system may bound, by ChipModel.figures."""


KernelNeed = Annotated[str, Field(pattern=r"^!?[A-Za-z0-9_]+$|^LINUX>=[0-9]+(\.[0-9]+)*$")]
"""A symbol that the kernel must have set, with ! must not; or the oldest version that will do."""


class ChipBound(StrictModel):
    """The chips of which one figure lies within bounds."""

    figure: ChipFigure = Field(
        description="geometry's key (in_order is 0 or 1), cell_bits (SLC 1, MLC 2), or the "
        "partition's blocks, in all or in 1024 of the chip, or the chip's blocks"
    )
    min: int | None = Field(default=None, description="least that will do")
    max: int | None = Field(default=None, description="greatest that will do")

    def holds(self, figures: Mapping[str, int]) -> bool:
        """Whether a chip of these figures is among them."""
        has = figures[self.figure]
        return (self.min is None or has >= self.min) and (self.max is None or has <= self.max)


class ChipNeed(ChipBound):
    """A bound on the chips that a file system, or an option's value, works on."""

    why: Lines = Field(description="in a clause: what happens otherwise")

    def unmet(self, figures: Mapping[str, int]) -> str | None:
        """What is wrong with a chip of these figures, or None."""
        has = figures[self.figure]
        if self.min is not None and has < self.min:
            return f"{self.figure} is {has}, must be at least {self.min}: {self.why}"
        if self.max is not None and has > self.max:
            return f"{self.figure} is {has}, must be at most {self.max}: {self.why}"
        return None


class OptionValue(StrictModel):
    """A value of an option; in a file, a string alone is its ``mount``."""

    mount: MountWords = Field(default="", description="words for mount -o")
    words: Command = Field(default="", description="what the option's name stands for in commands")
    tool: Command = Field(default="", description="the same in the commands that make an image")
    help: Lines = Field(default="", description="in a sentence, where the name does not say it")
    kernel: list[KernelNeed] = Field(
        default=[],
        description="symbols that the kernel must have set (y, m), with ! must not; or LINUX>=6.1, "
        "the oldest version that will do",
    )
    parts: list[Word] = Field(
        default=[],
        description="parts of the kernel that a board has only if a source of them is named",
    )
    chip_needs: list[ChipNeed] = Field(default=[], description="bounds on the chip")
    refused: Lines = Field(default="", description="why no kernel offers it; empty: it is offered")
    image_only: bool = Field(
        default=False, description="only the tool that makes an image can set it, no mount"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, data: Any) -> Any:
        return {"mount": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core)]}


class OptionNumber(StrictModel):
    """Whole numbers that a mounted file system can be given, through a file of the kernel's."""

    min: int = Field(ge=0, description="least")
    max: int = Field(ge=0, description="greatest")
    step: int = Field(ge=1, description="a value is a multiple of it")
    unit: str = Field(pattern=r"^[A-Za-z]+$", description="of the number, such as KiB")
    file: Command = Field(
        min_length=1,
        description="where it is written after each mount, and read back: a template as commands",
    )
    kernel_default: int = Field(
        ge=0, description="what a mount finds there if nobody writes; tested on the board"
    )

    @model_validator(mode="after")
    def _has_values(self) -> OptionNumber:
        if self.min % self.step or self.max % self.step or self.min > self.max:
            raise ValueError(f"min and max must be multiples of step ({self.step}), in order")
        return self

    def explain_mistake(self, text: str) -> str | None:
        """What is wrong with a value, in a clause; None: nothing."""
        if re.fullmatch(r"0+[0-9]{1,17}", text):
            return f"must be written {int(text)}"
        if not re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text):
            return f"is no whole number from {self.min} to {self.max} {self.unit}"
        number = int(text)
        if not self.min <= number <= self.max:
            return f"must be from {self.min} to {self.max} {self.unit}"
        if number % self.step:
            return f"must be a multiple of {self.step}"
        return None

    def make_measure_name(self, option: str) -> str:
        """What a mount's step calls the number that the kernel took: ``read_ahead_kib``."""
        return f"{option}_{self.unit.lower()}"

    def command(self, option: str, value: str) -> str:
        """A template of the command that writes the value, reads it back and prints it.

        It fails, with a sentence, if the kernel took another.
        """
        took = f"{option} = {value}: the kernel took $took {self.unit} instead: {self.file}"
        return (
            f"echo {value} > {self.file} && read -r took < {self.file} && "
            f"echo {self.make_measure_name(option)} $took && "
            f'if [ "$took" != {value} ]; then echo "{took}" >&2; exit 1; fi'
        )


class Option(StrictModel):
    """A choice that a file system offers."""

    help: Lines = Field(description="in a sentence: what it changes")
    default: Line = Field(description="the value when a study names none")
    fixed: bool = Field(
        default=False,
        description="made into the file system: an image has the one it was made with",
    )
    values: dict[Line, OptionValue] = Field(description="by name: what the value adds, and needs")
    number: OptionNumber | None = Field(
        default=None, description="numbers that it takes beside the values; absent: none"
    )
    layout: VolumeLayout | None = Field(
        default=None, description="UBI volumes that it takes beside the values; absent: none"
    )

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Option:
        if self.default not in self.values:
            raise ValueError(f"default {self.default!r} is none of {sorted(self.values)}")
        return self

    @model_validator(mode="after")
    def _a_name_is_no_number(self) -> Option:
        if self.number is not None and (clash := [n for n in self.values if n.isdecimal()]):
            raise ValueError(f"number: the values {sorted(clash)} have numbers as names")
        return self

    def value(self, name: str) -> OptionValue:
        """What a value adds and needs; a number adds no words."""
        if self.layout is not None and self.is_layout(name):
            return OptionValue(words=self.layout.make_commands(name))
        return self.values[name] if name in self.values else OptionValue()

    def is_layout(self, name: str) -> bool:
        """Whether a value is a layout of UBI volumes."""
        return self.layout is not None and name not in self.values

    def is_number(self, name: str) -> bool:
        """Whether a value is a number, which is written after each mount."""
        return self.number is not None and name not in self.values

    def explain_mistake(self, name: str) -> str | None:
        """Why there is no such value, in a clause; None: there is."""
        if name in self.values:
            why = self.values[name].refused
            return f"cannot be: {why}" if why else None
        if self.layout is not None:
            return self.layout.explain_mistake(name)
        offered = [known for known, value in self.values.items() if not value.refused]
        if self.number is None:
            return f"is none of {', '.join(offered)}"
        why = self.number.explain_mistake(name) or ""
        return f"{why} (or {', '.join(offered)})" if why.startswith("is no") else why or None
