# SPDX-License-Identifier: GPL-2.0-or-later
"""The medium of a trial or an image: a file system on a partition of a chip in a board."""

from __future__ import annotations

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.strings import Line, Word
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel, Latency, SpiBus
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import StrictModel, dump_noun_identity
from nandlab.catalog.remote import RemoteModel
from nandlab.flash.chip import image
from nandlab.plan.layout import FlashLayout
from nandlab.plan.matrix import Faults

MOUNTPOINT = "/mnt"
"""Where the board mounts the file system."""


class Medium(StrictModel):
    """A file system with its options, on a partition of a chip with its faults, in a board."""

    board: BoardModel | RemoteModel
    chip: ChipModel
    partition_blocks: int
    filesystem: FilesystemModel
    options: dict[Word, Line]
    latency: Latency = "typical"
    faults: Faults = Field(default=Faults())
    spinand: SpiBus | None = Field(
        default=None,
        description="the bus of a chip that the kernel's own driver of SPI-NAND chips drives; "
        "null: the raw NAND layer does",
    )
    seed: int = Field(default=1, description="seed of the faults and of a trial's load")
    mtd: int = Field(default=0, description="number of the partition's MTD device")
    layout: FlashLayout | None = Field(
        default=None,
        description="all MTD partitions of a simulated chip; null: the file system's is the only "
        "one, from block 0",
    )

    @property
    def is_own_board(self) -> bool:
        """Whether the board is the user's own, and the chip is real."""
        return isinstance(self.board, RemoteModel)

    @property
    def counted(self) -> bool:
        """Whether the chip tells what it does: a real one by our modules in its board's kernel."""
        return not isinstance(self.board, RemoteModel) or self.board.programs.kdir is not None

    @property
    def virtual(self) -> BoardModel:
        """The virtual board; UsageError on a user's own, which has no simulated chip."""
        if isinstance(self.board, RemoteModel):
            raise UsageError(f"board {self.board.name}: this takes the virtual board's chip")
        return self.board

    @property
    def description(self) -> str:
        """File system, partition and chip in words, for people."""
        return f"{self.filesystem.title} on {self.partition_mib:g} MiB of {self.chip.name}"

    @property
    def partition_bytes(self) -> int:
        return self.partition_blocks * self.chip.geometry.erasesize

    @property
    def partition_mib(self) -> float:
        return self.partition_bytes / MIB

    @property
    def cells_bytes(self) -> int:
        """Bytes of the cells that the board keeps, spare areas included: the partition's, or those
        up to the end of the last partition."""
        return self.chip.cells_bytes(self.layout.end if self.layout else self.partition_blocks)

    @property
    def layout_text(self) -> str:
        """The partitions in words, for people; empty: there is one."""
        return self.layout.format_text(self.chip.geometry.erasesize) if self.layout else ""

    @property
    def image_bytes(self) -> int:
        """The most bytes that an image of the chip takes."""
        pages = self.partition_blocks * self.chip.pages_per_block()
        blocks = self.chip.geometry.blocks * image.BLOCK_HEADER.size
        return self.cells_bytes + 2 * pages + blocks + MIB

    def figures(self) -> dict[str, int]:
        """Figures of the chip and partition that a file system may set bounds on."""
        return self.chip.figures(self.partition_blocks)

    def recipe(self) -> list[object]:
        """What decides an image that is made on it, beside the folder, the board and the tools."""
        fs = self.filesystem
        tools = dump_noun_identity(fs.image, "too_large", "loses")
        lost = sorted([*fs.differs, *fs.image.loses])
        commands = [fs.modules, fs.format, fs.mount_commands(self.options), fs.unmount]
        geometry = dump_noun_identity(self.chip.geometry)
        found = [fs.name, self.options, tools, lost, commands, geometry, self.partition_blocks]
        # the kernel's SPI-NAND driver has the spare area in another layout
        return [*found, *(["spinand"] if self.spinand else [])]

    def words(self) -> dict[str, str]:
        """The values of the placeholders in the catalog's commands."""
        figures = {k: str(v) for k, v in self.figures().items()}
        return figures | self.filesystem.words(
            self.options, mtd=str(self.mtd), mountpoint=MOUNTPOINT
        )

    def commands(self, *templates: str) -> str:
        """Joins commands of the file system's catalog file, with their placeholders filled in."""
        return " && ".join(templates).format(**self.words())
