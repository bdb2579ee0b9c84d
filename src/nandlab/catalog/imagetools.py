# SPDX-License-Identifier: GPL-2.0-or-later
"""How an image of a file system is made from a folder, as its catalog file says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Command, Line, Lines, PackageName, Word
from nandlab.catalog.noun import StrictModel

MTD_UTILS = "mtd-utils"
IMAGE_WORDS = ("tree", "work", "out", "out_bytes")
"""Words of an image's commands: the tree's folder, one for the tools' files, their output."""
Loss = Literal["root", "folder_times"]
"""root: owner, permissions and time of the top folder."""


class ImageTools(StrictModel):
    """How an image is made by tools of the host; without ``make`` the board writes the files."""

    package: PackageName = Field(
        default=MTD_UTILS, description="Debian package of the tool that writes the files"
    )
    prepare: Command = Field(
        default="", description="board command that runs on an erased chip before those of probe"
    )
    probe: dict[Word, Command] = Field(
        default={}, description="words for make: for each the board command that prints it"
    )
    files: dict[Word, Command] = Field(
        default={}, description="files that the tools read in {work}: templates, by name"
    )
    make: list[Command] = Field(
        default=[], description="commands of the host that make {out} of the folder {tree}"
    )
    maker: Literal["", "yaffs2"] = Field(
        default="",
        description="nandlab's own maker of pages with spare areas, where no package has a tool; "
        "for media that it cannot make the board writes the files",
    )
    also: dict[Word, list[Command]] = Field(
        default={},
        description="further commands after make, by the option: where its value says what its "
        "name stands for in them",
    )
    flash: Command = Field(
        default="", description="board command that puts {out}, its input, on an erased /dev/mtd"
    )
    too_large: list[Line] = Field(
        default=[], description="patterns of what a tool says when the tree does not fit"
    )
    loses: dict[Loss, Lines] = Field(
        default={}, description="what an image loses beside what differs says, in a sentence"
    )

    def commands(self, words: Mapping[str, str]) -> list[str]:
        """The commands that make the image, filled in; words: what their templates name."""
        also = [line for option, lines in self.also.items() if words[option] for line in lines]
        return [line.format(**words) for line in (*self.make, *also)]

    @model_validator(mode="after")
    def _what_is_made_is_flashed(self) -> ImageTools:
        if self.make and self.maker:
            raise ValueError("make and maker exclude each other: give one")
        if bool(self.make or self.maker) != bool(self.flash):
            raise ValueError("flash belongs to make or maker: give both or neither")
        return self
