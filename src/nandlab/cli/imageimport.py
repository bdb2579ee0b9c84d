# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab image import``: a foreign dump becomes a chip image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli.arguments import CatalogBoardOption, make_name_completer
from nandlab.cli.flashfile import FlashFileArguments
from nandlab.cli.imagemedium import ImageOutputOption
from nandlab.cli.optionclasses import expand_option_classes


@dataclass(frozen=True, kw_only=True)
class DumpArguments(FlashFileArguments):
    """The options that describe a dump, whose partition may be larger."""

    partition_mib: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="MiB of the partition, erased past the dump's end; default: the dump's",
        ),
    ] = None


@expand_option_classes
def import_image(
    dump: Annotated[
        Path,
        typer.Argument(metavar="DUMP", help="a dump by nanddump, or what ubinize and others make"),
    ],
    output: ImageOutputOption,
    *,
    chip: Annotated[
        str | None,
        typer.Option(
            help="a chip of the catalog; default: the only one of this geometry",
            autocompletion=make_name_completer("chips"),
        ),
    ] = None,
    fs: Annotated[
        str | None,
        typer.Option(
            help="a file system of the catalog; default: what is on it",
            autocompletion=make_name_completer("filesystems"),
        ),
    ] = None,
    flash_file: DumpArguments,
    board: CatalogBoardOption = "apf27",
) -> None:
    """Make a chip image of a foreign dump, if the board mounts it.

    Page and erase block are those of --chip, if they are not given; --oob is not: without it the
    dump has no spare areas. Where nandlab's own decoder cannot read what was dumped, the image is
    the chip after a mount and an unmount. What is otherwise than in the dump is told on standard
    error.
    """
    from nandlab.cli.imagemedium import format_image_sizes, open_medium_board
    from nandlab.flash.chip import imagefile
    from nandlab.flash.layouts.flashfile import read_imported_partition
    from nandlab.image import importing

    options = _add_chip_geometry(flash_file, chip).parse(fs)
    if options.shape is None:
        raise UsageError("give --page and --erase-block of the dump, or its --chip")
    imagefile.refuse_image_overwrite(output)
    request = importing.ImportRequest(fs, chip, flash_file.volume, board)
    try:
        partition = read_imported_partition(dump, options)
        ready = importing.prepare_dump(partition, options.shape, request)
    except UsageError as e:
        raise e if str(e).startswith(str(dump)) else UsageError(f"{dump}: {e}") from None
    result = importing.import_dump(ready, open_medium_board(ready.medium))
    for note in result.notes:
        print_note(f"nandlab: {dump}: {note}")
    imagefile.write_image_files(output, result.image, result.description)
    for line in format_image_sizes(output, result.medium, result.image, result.description):
        print_lines(line)


def _add_chip_geometry(flash_file: FlashFileArguments, chip: str | None) -> FlashFileArguments:
    """With page and erase block of the chip, where neither is given."""
    from nandlab.image.importing import list_page_and_block

    if not chip or flash_file.page is not None or flash_file.erase_block is not None:
        return flash_file
    page, erase_block = list_page_and_block(chip)
    return replace(flash_file, page=page, erase_block=erase_block)
