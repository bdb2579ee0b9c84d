# SPDX-License-Identifier: GPL-2.0-or-later
"""What the chip holds when a trial begins: an image, or one to be made from a root file system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.strings import Line, PackageFile, Sha256, Word
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.kit.lock import Lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import StrictModel
from nandlab.catalog.tree import TreeModel

if TYPE_CHECKING:
    from nandlab.flash.chip.imagefile import ImageHead


class ImageFootprint(StrictModel):
    """How much of a chip an image takes."""

    pages: int = Field(description="that hold data, UBI's headers among them")
    own_header_pages: int = Field(description="of them those with UBI's headers and nothing else")
    bytes: int = Field(description="of the pages without UBI's headers, no spare areas")


class ImageStart(StrictModel):
    """An image that a trial begins from."""

    name: Line = Field(description="its path as the study gives it")
    path: Path = Field(strict=False)
    sha256: Sha256 = Field(description="digest of the image and its sidecar")
    takes: ImageFootprint | None = Field(default=None, description="null: not looked at yet")

    def head(self) -> ImageHead:
        """The image's head; UsageError if the image has changed since the study was planned."""
        from nandlab.flash.chip.imagefile import read_image_head

        found = read_image_head(self.path)
        if found.digest() != self.sha256:
            raise UsageError(f"{self.path}: changed since the study was planned")
        return found


class TreeStart(StrictModel):
    """An image that a trial begins from, which the run makes from a root file system."""

    name: Word = Field(description="the tree's name in the catalog")
    tree: TreeModel
    packages: dict[PackageFile, Sha256] = Field(description="SHA-256 by package file")
    sha256: Sha256 = Field(description="digest of all that decides the tree's bytes")
    made: ImageStart | None = Field(default=None, description="its image; null: not made yet")
    moved: list[Line] = Field(
        default=[], description="how the packages differ from those that are locked, a line each"
    )

    def head(self) -> ImageHead:
        """Its image's head; UsageError if that has changed since it was made."""
        if self.made is None:
            raise ValueError(f"the image of {self.name} is not made yet")
        return self.made.head()

    @property
    def set_name(self) -> str:
        """The set that has its packages in a lock."""
        from nandlab.board.kit import trees

        return trees.make_tree_package_set(self.tree).name


class NamedImage(NamedTuple):
    """A chip image that a study names."""

    start: ImageStart
    head: ImageHead


def find_named_image(name: str, folder: Path) -> NamedImage:
    """The image that a study in this folder names; UsageError if there is no image there."""
    from nandlab.flash.chip.imagefile import read_image_head

    path = folder / name
    found = read_image_head(path)
    return NamedImage(ImageStart(name=name, path=path, sha256=found.digest()), found)


def load_tree_start(name: str, lock: Lock | None) -> TreeStart:
    """The tree that a study names; UsageError if there is none, or its packages are not locked.

    lock: take its packages from here; None: from the lock beside the tree's file.
    """
    from nandlab.board.kit import trees

    tree = load_noun(trees.KIND, name, TreeModel)
    packages = dict(trees.read_locked_tree_packages(tree, lock))
    return TreeStart(
        name=name, tree=tree, packages=packages, sha256=trees.digest_tree_inputs(tree, packages)
    )


def check_tree_start(
    start: TreeStart,
    system: FilesystemModel,
    options: dict[str, str],
    chip: ChipModel,
    blocks: int,
    bad_blocks: int,
) -> list[str]:
    """Why no trial on this partition can begin from a tree, as far as that is known unmade.

    How much room a compressed tree takes is seen when its image is made.
    """
    wrong, holds, room = [], start.tree.holds, blocks * chip.geometry.erasesize
    compresses = options.get("compression", "none") != "none"
    if holds is not None and holds.bytes > room and not compresses:
        wrong.append(
            f"its files take {holds.bytes} bytes, {system.title} does not compress them, and the "
            f"partition of {chip.name} has {room}: raise partition_mib"
        )
    if bad_blocks:
        wrong.append("its image is made on a chip without bad blocks: leave faults.bad_blocks out")
    return wrong


def merge_image_options(
    system: FilesystemModel, image: ImageHead, choices: dict[str, Any], where: str
) -> dict[str, str]:
    """Options of a trial from an image: those that the study names, the others the image's."""
    if image.description.filesystem != system.name:
        raise UsageError(f"{image.path} is of {image.description.filesystem}, not {system.name}")
    named_options = image.description.options
    options = system.resolve_values({**named_options, **choices}, where, from_image=True)
    image_options = {
        key: named_options.get(key, option.default) for key, option in system.options.items()
    }
    wrong = [
        f"{key} = {value!r}: {image.path} was made with {image_options[key]!r}, and it is fixed"
        for key, value in options.items()
        if (system.options[key].fixed or system.options[key].value(value).image_only)
        and value != image_options[key]
    ]
    if wrong:
        raise UsageError(*wrong)
    return options


def check_image_start(
    image: ImageHead, chip: ChipModel, blocks: int, bad_blocks: int, board: BoardModel | None
) -> list[str]:
    """Why a trial on this partition cannot begin from the image; empty: it can."""
    made, wrong = image.description, []
    if (made.part, made.partition_blocks) != (chip.name, blocks):
        mib = made.partition_blocks * made.chip().geometry.erasesize / MIB
        where = f'{{ part = "{made.part}", partition_mib = {mib:g} }}'
        wrong.append(f"{image.path} is of {where}, not of {chip.name} with {blocks} blocks")
    if bad_blocks:
        wrong.append(f"{image.path} has bad blocks of its own: leave faults.bad_blocks out")
    if board is not None and not wrong:
        try:
            make_cargo(board, chip.cells_bytes(blocks), back_bytes=image.loaded_bytes())
        except UsageError as e:
            wrong.append(f"{image.path}: {e}")
    return wrong
