# SPDX-License-Identifier: GPL-2.0-or-later
"""The words by which a verb is told of a file that holds a chip: image, dump, or text of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.flash.layouts.flashfile import FlashFileOptions

ImageArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGE",
        help="an image from nandlab image make, a chip that a study kept, chip.image of a trace "
        "made with --image; or, with --page and --erase-block, a dump by nanddump or what "
        "jffs2dump -c printed of one",
    ),
]
PartitionOption = Annotated[
    float | None,
    typer.Option(min=0, help="MiB of the partition; default: what the image says, or all"),
]
OffsetOption = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="of the chip before the partition, such as 4M"),
]
MtdpartsOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="the kernel's mtdparts= of the chip, such as 'nand0:1M(boot),-(rootfs)', in place of "
        "--offset and --partition-mib",
    ),
]
MtdpartOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="of --mtdparts: the partition's name")
]
PageOption = Annotated[
    str | None, typer.Option(metavar="BYTES", help="of a dump: data bytes of a page, such as 2048")
]
OobOption = Annotated[
    int,
    typer.Option(
        metavar="BYTES", min=0, help="of a dump by nanddump --oob: bytes of a spare area; else 0"
    ),
]
EraseBlockOption = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="of a dump: data bytes of an erase block, such as 128K"),
]
VolumeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="name or number of the UBI volume; default: the one that has UBIFS"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


def make_flash_file_options(  # noqa: PLR0913, PLR0917 - the command line's own options
    partition_mib: float | None,
    page: str | None,
    erase_block: str | None,
    oob: int,
    fs: str | None = None,
    volume: str | None = None,
    offset: str | None = None,
    mtdparts: str | None = None,
    mtdpart: str | None = None,
) -> FlashFileOptions:
    """What the options tell of a file; UsageError if a dump's geometry is told in part."""
    from nandlab.base import amounts
    from nandlab.catalog.chip import MIB
    from nandlab.flash.chip.mtdparts import find_mtd_partition
    from nandlab.flash.layouts.dump import require_possible_shape
    from nandlab.flash.layouts.flashfile import FlashFileOptions
    from nandlab.flash.layouts.shape import Shape

    before = amounts.parse_size(offset, "--offset") if offset else 0
    if mtdparts is not None:
        if offset is not None or partition_mib is not None:
            raise UsageError("--mtdparts has offset and size: leave --offset, --partition-mib out")
        part = find_mtd_partition(mtdparts, mtdpart)
        before, partition_mib = part.offset, part.size and part.size / MIB
    elif mtdpart is not None:
        raise UsageError("--mtdpart names a partition of --mtdparts: give that too")
    if page is None and erase_block is None and not oob:
        return FlashFileOptions(fs, partition_mib, None, volume, before)
    if page is None or erase_block is None:
        raise UsageError("of a dump give both --page and --erase-block; mtdinfo tells them")
    shape = Shape(
        amounts.parse_size(page, "--page"), amounts.parse_size(erase_block, "--erase-block"), oob
    )
    return FlashFileOptions(fs, partition_mib, require_possible_shape(shape), volume, before)
