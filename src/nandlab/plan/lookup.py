# SPDX-License-Identifier: GPL-2.0-or-later
"""What a matrix names, looked up in the catalog: workloads, file systems and chips as chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nandlab.analysis.figures import figures
from nandlab.base.errors import UsageError
from nandlab.base.nearest import suggest_nearest_name
from nandlab.board.kit.lock import Lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel, SpiBus
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.remote import RemoteModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.layout import FlashLayout, make_flash_layout
from nandlab.plan.matrix import ChipChoice, Faults, FilesystemChoice, NamedChoice, WorkloadChoice
from nandlab.plan.readonly import check_erased_chip_start
from nandlab.plan.start import (
    ImageStart,
    NamedImage,
    TreeStart,
    find_named_image,
    load_tree_start,
    merge_image_options,
)

N = TypeVar("N", bound=Noun)
F = TypeVar("F", FilesystemModel, WorkloadModel)


class MatrixSystem(NamedTuple):
    """A file system of the matrix, with a value for each of its options."""

    model: FilesystemModel
    options: dict[str, Any]
    image: NamedImage | None = None
    """What the chip holds before the first mount; None: it is erased, or there is a tree."""
    tree: TreeStart | None = None
    """What the chip's image is made of when the run begins; None: nothing."""

    @property
    def start(self) -> ImageStart | TreeStart | None:
        """What the chip holds before the first mount; None: it is erased."""
        return self.image.start if self.image else self.tree


class MatrixChip(NamedTuple):
    """A chip of the matrix and its partition."""

    chip: ChipModel
    blocks: int
    """Blocks of the partition."""
    choice: ChipChoice
    layout: FlashLayout | None = None
    """All partitions of the chip; None: one."""

    @property
    def faults(self) -> Faults:
        """Those that the study gives, and bit rot by the part's file."""
        if not self.choice.bit_rot or self.chip.retention is None:
            return self.choice.faults
        return Faults(**self.choice.faults.model_dump() | self.chip.rot_parameters())

    @property
    def spinand(self) -> SpiBus | None:
        """The bus, if the kernel's own driver of SPI-NAND chips drives the chip."""
        asked, bus = self.choice.spinand, self.chip.spi
        return asked.select_bus(bus) if asked is not None and bus is not None else None


class Lookup:
    """Looks names up, and keeps every mistake instead of stopping at the first."""

    def __init__(self, where: str, folder: Path, lock: Lock | None = None) -> None:
        self.where = where
        self.folder = folder
        """Paths of images are relative to it."""
        self.lock = lock
        """Has the packages of trees; None: the lock beside a tree's file has."""
        self.wrong: list[str] = []

    def load(self, kind: str, name: str, model: type[N], place: str) -> N | None:
        if name not in list_noun_names(kind):
            there = f"the catalog's {kind} ({', '.join(list_noun_names(kind))})"
            self.refuse(
                place, f"no {name!r} in {there}{suggest_nearest_name(name, list_noun_names(kind))}"
            )
            return None
        return load_noun(kind, name, model)

    def refuse(self, place: str, *texts: str) -> None:
        """Keeps mistakes of a place in the study file."""
        self.wrong += [f"{self.where}: {place}: {text}" for text in texts]

    def _chosen(
        self, kind: str, model: type[F], choice: NamedChoice, place: str
    ) -> tuple[F, dict[str, Any]] | None:
        """A catalog entry and a value for each of its options; None if there are mistakes."""
        noun = self.load(kind, choice.name, model, place)
        if noun is None:
            return None
        try:
            return noun, noun.resolve_values(choice.choices(), f"{self.where}: {place}")
        except UsageError as e:
            self.wrong += e.lines
            return None

    def workload(
        self, choice: WorkloadChoice, place: str
    ) -> tuple[WorkloadModel, dict[str, Any]] | None:
        """A workload as it is with its parameters, and these; None if there are mistakes."""
        chosen = self._chosen("workloads", WorkloadModel, choice, place)
        if chosen:
            noun, parameters = chosen
            chosen = noun.resolve_steps(parameters), parameters
        wrong = figures.check_workload_figures(chosen[0]) if chosen else []
        self.refuse(place, *(f"{choice.name}: {text}" for text in wrong))
        return None if wrong else chosen

    def system(self, choice: FilesystemChoice, place: str) -> MatrixSystem | None:
        """A file system, its options, and the image that the chip holds, if any; None: mistakes."""
        if choice.tree is not None:
            return self._of_tree(choice, choice.tree, place)
        if choice.image is None:
            system = self._chosen("filesystems", FilesystemModel, choice, place)
            wrong = check_erased_chip_start(system[0]) if system else None
            self.refuse(place, *([wrong] if wrong else []))
            return MatrixSystem(*system) if system and not wrong else None
        noun = self.load("filesystems", choice.name, FilesystemModel, place)
        if noun is None:
            return None
        try:
            image = find_named_image(choice.image, self.folder)
            options = merge_image_options(
                noun, image.head, choice.choices(), f"{self.where}: {place}"
            )
            return MatrixSystem(noun, options, image)
        except UsageError as e:
            self.refuse(place, *(f"image: {line}" for line in e.lines))
            return None

    def _of_tree(self, choice: FilesystemChoice, name: str, place: str) -> MatrixSystem | None:
        """A file system whose image is made from a tree when the run begins; None: mistakes."""
        noun = self.load("filesystems", choice.name, FilesystemModel, place)
        if noun is None:
            return None
        try:
            options = noun.resolve_values(
                choice.choices(), f"{self.where}: {place}", from_image=True
            )
        except UsageError as e:
            self.wrong += e.lines
            return None
        try:
            return MatrixSystem(noun, options, tree=load_tree_start(name, self.lock))
        except UsageError as e:
            self.refuse(place, *(f"tree: {line}" for line in e.lines))
            return None

    def chip(
        self, choice: ChipChoice, board: BoardModel | RemoteModel | None, place: str
    ) -> MatrixChip | None:
        """A chip, the blocks of its partition and its choice; None if there are mistakes."""
        chip = self.load("chips", choice.part, ChipModel, place)
        if chip is None:
            return None
        try:
            layout = make_flash_layout(chip, choice.partitions, choice.filesystem_on)
            blocks = (
                layout.partitions[layout.chosen].blocks
                if layout
                else chip.partition_blocks(choice.partition_mib)
            )
        except UsageError as e:
            self.refuse(place, str(e))
            return None
        store_mib = chip.cells_bytes(layout.end if layout else blocks) / MIB
        if isinstance(board, BoardModel) and store_mib > board.chip_store_mib:
            self.refuse(
                place,
                f"{chip.name} needs {store_mib:.0f} MiB of chip_store_mib for it; "
                f"board {board.name} has {board.chip_store_mib}",
            )
        most = chip.geometry.blocks // 2
        if (bad := choice.faults.bad_blocks) > most:
            self.refuse(
                place, f"faults.bad_blocks: must be at most half the chip, {most}, is {bad}"
            )
        if choice.bit_rot and chip.retention is None:
            self.refuse(
                place, f"bit_rot: {chip.name}'s file has no [retention]; docs/own/chip.md has it"
            )
        try:
            chip.timing.array_ns(choice.latency)
        except UsageError as e:
            self.refuse(place, f"{chip.name}: {e}")
        if choice.spinand is not None and chip.spi is None:
            self.refuse(place, f"spinand: {chip.name} is not behind SPI: its bus is {chip.bus}")
        return MatrixChip(chip, blocks, choice, layout)
