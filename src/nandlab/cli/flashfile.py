# SPDX-License-Identifier: GPL-2.0-or-later
"""The words by which a verb is told of a file that holds a chip: image, dump, or text of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.flash.layouts.flashfile import FlashFileOptions
    from nandlab.flash.layouts.shape import Shape

ImageArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGE",
        help="an image from nandlab image make, a chip that a study kept, chip.image of a trace "
        "made with --image; or, with --page and --erase-block, a dump by nanddump or what "
        "jffs2dump -c printed of one",
    ),
]


@dataclass(frozen=True, kw_only=True)
class FlashFileArguments:
    """The options that describe the file."""

    partition_mib: Annotated[
        float | None,
        typer.Option(min=0, help="MiB of the partition; default: what the image says, or all"),
    ] = None
    offset: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="of the chip before the partition, such as 4M"),
    ] = None
    mtdparts: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="the kernel's mtdparts= of the chip, such as 'nand0:1M(boot),-(rootfs)', in place "
            "of --offset and --partition-mib",
        ),
    ] = None
    mtdpart: Annotated[
        str | None, typer.Option(metavar="NAME", help="of --mtdparts: the partition's name")
    ] = None
    page: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="of a dump: data bytes of a page, such as 2048"),
    ] = None
    oob: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            min=0,
            help="of a dump by nanddump --oob: bytes of a spare area; else 0",
        ),
    ] = 0
    erase_block: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="of a dump: data bytes of an erase block, such as 128K"),
    ] = None
    volume: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="name or number of the UBI volume; default: the one that has UBIFS"
        ),
    ] = None

    def parse(self, fs: str | None = None) -> FlashFileOptions:
        """What they say of a file with this file system, or with what is on it."""
        from nandlab.flash.layouts.flashfile import FlashFileOptions

        partition_mib, before = self._parse_place()
        return FlashFileOptions(fs, partition_mib, self._parse_shape(), self.volume, before)

    def _parse_place(self) -> tuple[float | None, int]:
        """MiB of the partition, and bytes of the chip before it."""
        from nandlab.base import amounts
        from nandlab.catalog.chip import MIB
        from nandlab.flash.chip.mtdparts import find_mtd_partition

        if self.mtdparts is None:
            if self.mtdpart is not None:
                raise UsageError("--mtdpart names a partition of --mtdparts: give that too")
            before = amounts.parse_size(self.offset, "--offset") if self.offset else 0
            return self.partition_mib, before
        if self.offset is not None or self.partition_mib is not None:
            raise UsageError("--mtdparts has offset and size: leave --offset, --partition-mib out")
        part = find_mtd_partition(self.mtdparts, self.mtdpart)
        return part.size and part.size / MIB, part.offset

    def _parse_shape(self) -> Shape | None:
        """The geometry of a dump; None: it is none. UsageError if it is told in part."""
        from nandlab.base import amounts
        from nandlab.flash.layouts.dump import require_possible_shape
        from nandlab.flash.layouts.shape import Shape

        if self.page is None and self.erase_block is None and not self.oob:
            return None
        if self.page is None or self.erase_block is None:
            raise UsageError("of a dump give both --page and --erase-block; mtdinfo tells them")
        page = amounts.parse_size(self.page, "--page")
        erase_block = amounts.parse_size(self.erase_block, "--erase-block")
        return require_possible_shape(Shape(page, erase_block, self.oob))
