# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip image that a trial begins from, and whether the trial can begin from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.board.cargo import cargo
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Strict
from nandlab.chip.file import Head
from nandlab.chip.file import head as head_of


class Start(Strict):
    """An image that a trial begins from."""

    name: str = Field(description="its path as the study gives it")
    path: Path
    sha256: str = Field(description="digest of the image and its sidecar")

    def head(self) -> Head:
        """The image's head; UsageError if the image has changed since the study was planned."""
        found = head_of(self.path)
        if found.digest() != self.sha256:
            raise UsageError(f"{self.path}: changed since the study was planned")
        return found


class Image(NamedTuple):
    """A chip image that a study names."""

    start: Start
    head: Head


def image_of(name: str, folder: Path) -> Image:
    """The image that a study in this folder names; UsageError if there is no image there."""
    path = folder / name
    found = head_of(path)
    return Image(Start(name=name, path=path, sha256=found.digest()), found)


def options_of(
    system: FilesystemModel, image: Head, choices: dict[str, Any], where: str
) -> dict[str, str]:
    """Options of a trial from an image: those that the study names, the others the image's."""
    if image.made.filesystem != system.name:
        raise UsageError(f"{image.path} is of {image.made.filesystem}, not {system.name}")
    made = image.made.options
    options = system.chosen({**made, **choices}, where, from_image=True)
    wrong = [
        f"{key} = {value!r}: {image.path} was made with {made.get(key)!r}, and it is fixed"
        for key, value in options.items()
        if (system.options[key].fixed or system.options[key].value(value).image_only)
        and value != made.get(key)
    ]
    if wrong:
        raise UsageError("\n".join(wrong))
    return options


def cannot_begin(
    image: Head, chip: ChipModel, blocks: int, bad_blocks: int, board: BoardModel | None
) -> list[str]:
    """Why a trial on this partition cannot begin from the image; empty: it can."""
    made, wrong = image.made, []
    if (made.part, made.partition_blocks) != (chip.name, blocks):
        mib = made.partition_blocks * made.chip().geometry.erasesize / MIB
        where = f'{{ part = "{made.part}", partition_mib = {mib:g} }}'
        wrong.append(f"{image.path} is of {where}, not of {chip.name} with {blocks} blocks")
    if bad_blocks:
        wrong.append(f"{image.path} has bad blocks of its own: leave faults.bad_blocks out")
    if board is not None and not wrong:
        try:
            cargo(board, chip.cells_bytes(blocks), back_bytes=image.loaded_bytes())
        except UsageError as e:
            wrong.append(f"{image.path}: {e}")
    return wrong
