# SPDX-License-Identifier: GPL-2.0-or-later
"""The medium that verbs of images name, its board, and what an image on it takes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.cli.arguments import make_name_completer
from nandlab.cli.preparation import announce_board_preparation

if TYPE_CHECKING:
    from nandlab.board.jobs.job import Board
    from nandlab.catalog.chip import ChipModel
    from nandlab.flash.chip.image import ChipImage
    from nandlab.flash.chip.imagefile import ImageDescription
    from nandlab.plan.medium import Medium

ImageChipOption = Annotated[
    str,
    typer.Option(
        help="a chip of the catalog; nandlab chip list names them",
        autocompletion=make_name_completer("chips"),
    ),
]
ImagePartitionOption = Annotated[
    float | None,
    typer.Option(
        min=0, help="MiB of the partition, from the chip's start; default: the whole chip"
    ),
]
ImageOutputOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="the image; FILE.json is written beside it"
    ),
]


def count_partition_blocks(chip: ChipModel, partition_mib: float | None) -> int:
    """Blocks of the partition that the command line asks for."""
    try:
        return chip.partition_blocks(partition_mib)
    except UsageError as e:
        raise UsageError(f"--partition-mib: {e}") from None


def open_medium_board(medium: Medium) -> Board:
    """The board of a medium; UsageError if its kernel cannot mount the file system."""
    from nandlab.board.opening import open_board
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.trial.runner import refuse_unsupported_kernel

    model = find_media_board([medium])
    with announce_board_preparation(model):
        board = open_board(model)
    refuse_unsupported_kernel([medium], board.kernel_config, "image")
    return board


def format_image_sizes(
    file: Path, medium: Medium, image: ChipImage, description: ImageDescription
) -> Iterable[str]:
    """What an image holds and takes, a line each."""
    from nandlab.catalog.leastpartition import format_block_mib
    from nandlab.flash.chip.imagefile import measure_used_space
    from nandlab.image.making import count_least_partition

    used_space = measure_used_space(image)
    pages = medium.partition_blocks * medium.chip.pages_per_block()
    least = count_least_partition(medium, image) if description.tools else None
    yield f"image   {file}: {medium.description}"
    yield f"tree    {format_tree_counts(description.tree.model_dump())}"
    blocks = f"{used_space.blocks:,} of {medium.partition_blocks:,} blocks"
    yield f"flash   {used_space.pages:,} of {pages:,} pages, {blocks}"
    if least is not None:
        mib = format_block_mib(least, medium.chip.geometry.erasesize)
        yield f"least   a partition of {mib} MiB has room for it"
    yield f"file    {file.stat().st_size:,} bytes"


def format_tree_counts(c: dict[str, int]) -> str:
    """What a tree holds, in words."""
    return (
        f"{c['files']:,} files with {c['bytes']:,} bytes, {c['folders']:,} folders, "
        f"{c['symbolic_links']:,} symbolic links, {c['hard_links']:,} hard links"
    )
