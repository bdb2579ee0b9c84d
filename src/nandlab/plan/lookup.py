# SPDX-License-Identifier: GPL-2.0-or-later
"""What a matrix names, looked up in the catalog: workloads, file systems and chips as chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nandlab.analysis import figures
from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load, names
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.matrix import ChipChoice, FilesystemChoice, WithChoices, WorkloadChoice
from nandlab.plan.start import Image, image_of, options_of

N = TypeVar("N", bound=Noun)
F = TypeVar("F", FilesystemModel, WorkloadModel)


class Collector:
    """Looks names up, and keeps every mistake instead of stopping at the first."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.wrong: list[str] = []

    def load(self, kind: str, name: str, model: type[N], place: str) -> N | None:
        if name not in names(kind):
            there = f"the catalog's {kind} ({', '.join(names(kind))})"
            self.wrong.append(f"{self.where}: {place}: no {name!r} in {there}")
            return None
        return load(kind, name, model)

    def keep(self, error: UsageError) -> None:
        self.wrong += str(error).splitlines()


class System(NamedTuple):
    """A file system of the matrix, with a value for each of its options."""

    model: FilesystemModel
    options: dict[str, Any]
    image: Image | None = None
    """What the chip holds before the first mount; None: it is erased."""


class Place(NamedTuple):
    """A chip of the matrix and its partition."""

    chip: ChipModel
    blocks: int
    """Blocks of the partition."""
    choice: ChipChoice


def _chosen(
    c: Collector, kind: str, model: type[F], choice: WithChoices, place: str
) -> tuple[F, dict[str, Any]] | None:
    """A catalog entry and a value for each of its options; None if the collector has mistakes."""
    noun = c.load(kind, choice.name, model, place)
    if noun is None:
        return None
    try:
        return noun, noun.chosen(choice.choices(), f"{c.where}: {place}")
    except UsageError as e:
        c.keep(e)
        return None


def workload_of(
    c: Collector, choice: WorkloadChoice, place: str
) -> tuple[WorkloadModel, dict[str, Any]] | None:
    """A workload and its parameters; None if the collector has mistakes."""
    chosen = _chosen(c, "workloads", WorkloadModel, choice, place)
    wrong = figures.mistakes(chosen[0]) if chosen else []
    c.wrong += [f"{c.where}: {place}: {choice.name}: {text}" for text in wrong]
    return None if wrong else chosen


def system_of(c: Collector, choice: FilesystemChoice, folder: Path, place: str) -> System | None:
    """A file system, its options, and the image that the chip holds, if any; None: mistakes."""
    if choice.image is None:
        system = _chosen(c, "filesystems", FilesystemModel, choice, place)
        return System(*system) if system else None
    noun = c.load("filesystems", choice.name, FilesystemModel, place)
    if noun is None:
        return None
    try:
        image = image_of(choice.image, folder)
        options = options_of(noun, image.head, choice.choices(), f"{c.where}: {place}")
        return System(noun, options, image)
    except UsageError as e:
        c.wrong += [f"{c.where}: {place}: image: {line}" for line in str(e).splitlines()]
        return None


def chip_of(c: Collector, choice: ChipChoice, board: BoardModel | None, place: str) -> Place | None:
    """A chip, the blocks of its partition and its choice; None if the collector has mistakes."""
    chip = c.load("chips", choice.part, ChipModel, place)
    if chip is None:
        return None
    try:
        blocks = chip.partition_blocks(choice.partition_mib)
    except UsageError as e:
        c.wrong.append(f"{c.where}: {place}: {e}")
        return None
    store_mib = chip.cells_bytes(blocks) / MIB
    if board is not None and store_mib > board.chip_store_mib:
        c.wrong.append(
            f"{c.where}: {place}: {chip.name} needs {store_mib:.0f} MiB of chip_store_mib for it; "
            f"board {board.name} has {board.chip_store_mib}"
        )
    try:
        chip.timing.array_ns(choice.latency)
    except UsageError as e:
        c.wrong.append(f"{c.where}: {place}: {chip.name}: {e}")
    return Place(chip, blocks, choice)
