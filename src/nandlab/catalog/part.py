# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of the kernel that a board may have from another source, and which source that is.

``catalog/parts/NAME.toml`` says where the part is in a kernel's tree, which modules it makes, and
which options it can be built with. A board or a file system names a source of it:

    [source.ubi]
    tree = "package"
    fastmap = true

The tree is ``package``, the locked source of the board's own kernel, or a folder. Patches are
applied to a copy of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.strings import Empty, Line, Lines, Word
from nandlab.catalog.noun import Noun, StrictModel

KIND = "parts"
PACKAGE = "package"
"""The tree of the locked source package."""
TREE_PATH = r"^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$"
TreePath = Annotated[str, Field(pattern=TREE_PATH, max_length=120)]
"""A path below the top of a kernel's tree."""
FilePattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.*\[\]-]+$", max_length=60)]
"""A pattern of file names, as a shell has it."""
ConfigSymbol = Annotated[str, Field(pattern=r"^CONFIG_[A-Z0-9_]+$", max_length=80)]
ModuleName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=60)]
"""A kernel module, as its file is called."""
Setting = str
"""What a symbol of the kernel's configuration is set to: y, m, n, or a number."""
PartValue = bool | int
"""What an option of a part is given: an option that takes numbers takes no truth value."""


class NumberRange(StrictModel):
    """Whole numbers, as the kernel's Kconfig bounds them."""

    min: int = Field(description="the least")
    max: int = Field(description="the greatest")


class PartOption(StrictModel):
    """A symbol of the kernel's configuration by which a part is built in one way or another."""

    help: Lines = Field(
        description="in a sentence: what it does when it is true, or what it counts"
    )
    symbol: ConfigSymbol = Field(description="the symbol that it sets or clears")
    default: bool | None = Field(
        default=None,
        description="its value if nobody gives one; null: as the board's kernel has it",
    )
    number: NumberRange | None = Field(
        default=None, description="the numbers that it takes; null: it takes true and false"
    )

    def describe_values(self) -> str:
        """What it takes, for people."""
        number = self.number
        return "true or false" if number is None else f"a number from {number.min} to {number.max}"

    def has_value(self, value: PartValue) -> bool:
        """Whether it takes a value."""
        if self.number is None or isinstance(value, bool):
            return self.number is None and isinstance(value, bool)
        return self.number.min <= value <= self.number.max

    def format_setting(self, value: PartValue) -> Setting:
        """What its symbol is set to by a value."""
        if isinstance(value, bool):
            return "y" if value else "n"
        return str(value)


class PartBuild(StrictModel):
    """A folder of the kernel's tree and the modules that are built from it."""

    folder: TreePath = Field(description="below the top of a kernel's tree")
    modules: list[ModuleName] = Field(min_length=1, description="what its Makefile calls them")
    mark: FilePattern = Field(description="a file by which the folder is known")
    files: list[FilePattern] = Field(
        default=["*.c", "*.h", "Makefile"], description="what is taken of the folder"
    )


class PartModel(Noun):
    """A part of the kernel that is made of modules."""

    builds: list[PartBuild] = Field(min_length=1)
    headers: list[TreePath] = Field(
        default=[], description="headers outside of its folders that are its alone"
    )
    config: dict[ConfigSymbol, Literal["y", "m"]] = Field(
        default={}, description="symbols that it is built with, whatever the board's kernel has"
    )
    options: dict[Word, PartOption] = Field(default={})
    after: list[Word] = Field(
        default=[], description="parts whose functions it calls: they are built before it"
    )
    port: Word | Empty = Field(
        default="",
        description="folder of device/modules that the sources are built in; empty: their own "
        "Makefile builds them",
    )

    @property
    def modules(self) -> list[str]:
        """All modules that it makes."""
        return [name for build in self.builds for name in build.modules]

    @property
    def folders(self) -> list[str]:
        """Its folders in a kernel's tree."""
        return [build.folder for build in self.builds]

    def settings(self, options: Mapping[str, PartValue]) -> dict[str, Setting]:
        """What the symbols are set to that are not left as the board's kernel has them."""
        settings: dict[str, Setting] = dict(self.config)
        for name, option in self.options.items():
            value = options.get(name, option.default)
            if value is not None:
                settings[option.symbol] = option.format_setting(value)
        return settings

    def refuse_bad_options(self, options: Mapping[str, PartValue], where: str) -> None:
        """UsageError for an option that it does not have, or a value that the option does not
        take."""
        for name, value in options.items():
            if name not in self.options:
                there = ", ".join(self.options) or "none"
                near = suggest_nearest_name(name, self.options)
                raise UsageError(f"{where}: {self.name} has no option {name!r}: {there}{near}")
            if not self.options[name].has_value(value):
                takes = self.options[name].describe_values()
                raise UsageError(f"{where}: {name} is {takes}, not {str(value).lower()}")


class PartSource(StrictModel):
    """Where a part is built from, and with which of its options, which stand beside the keys."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[Word, PartValue] = Field(init=False)

    tree: Line = Field(
        default=PACKAGE,
        min_length=1,
        description="package: the locked source of the board's kernel; else a folder, from the "
        "catalog's own folder: a kernel's tree, or the part's folder of one",
    )
    patch: list[Line] = Field(
        default=[], description="patch files, from there too, that are applied to a copy, in order"
    )

    @property
    def options(self) -> dict[str, PartValue]:
        """The part's options, by name."""
        return dict(self.__pydantic_extra__ or {})

    @model_validator(mode="after")
    def _has_a_tree(self) -> PartSource:
        if not self.tree.strip():
            raise ValueError("tree: it is blank")
        return self


Sources = dict[Word, PartSource]
"""The parts of a board's kernel that have another source, by name."""
