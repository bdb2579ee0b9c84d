# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab image``: makes chip images from folders, lists them, and extracts them."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_lines, print_note
from nandlab.cli.arguments import (
    CatalogBoardOption,
    SetOption,
    make_name_completer,
    parse_name_value_pairs,
)
from nandlab.cli.imageimport import import_image
from nandlab.cli.imagemedium import (
    ImageChipOption,
    ImageOutputOption,
    ImagePartitionOption,
    count_partition_blocks,
    format_image_sizes,
    format_tree_counts,
    open_medium_board,
)
from nandlab.cli.sizes import sizes

if TYPE_CHECKING:
    from nandlab.board.jobs.job import Board
    from nandlab.flash.chip.image import ChipImage
    from nandlab.image.tree import TreeEntry
    from nandlab.plan.medium import Medium

DEVICES_SHOWN = 10
"""Names of devices that were left out which are printed."""

image_app = typer.Typer(
    no_args_is_help=True,
    help="Chip images: a folder as a file system on flash, and back.\n\n"
    "An image is two files. FILE holds the partition's pages with their spare areas, as "
    "nanddump --oob writes them. FILE.json holds the chip, file system, options, wear and "
    "checksums.\n\n"
    "nandlab image make --fs ubifs --chip apf27 --partition-mib 16 --from rootfs -o rootfs.nand\n\n"
    "nandlab image ls rootfs.nand\n\n"
    "nandlab image import mtd3.dump --chip S34ML01G1 --oob 64 -o product.nand\n\n"
    "nandlab image sizes --chip apf27 --partition-mib 64 --from rootfs\n\n"
    'A study starts from an image with filesystems = [{ name = "ubifs", image = "rootfs.nand" }].',
)

image_app.command()(sizes)
image_app.command("import")(import_image)

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="an image from nandlab image make")
]
BoardOption = Annotated[
    str | None,
    typer.Option(
        help="a board of the catalog; default: the one that made the image",
        autocompletion=make_name_completer("boards"),
    ),
]


@image_app.command()
def make(
    *,
    fs: Annotated[
        str,
        typer.Option(
            help="a file system of the catalog, such as ubifs",
            autocompletion=make_name_completer("filesystems"),
        ),
    ],
    chip: ImageChipOption,
    source: Annotated[
        Path, typer.Option("--from", metavar="DIR", help="the folder that becomes the image's root")
    ],
    output: ImageOutputOption,
    set_: SetOption = [],  # noqa: B006 - typer copies it
    partition_mib: ImagePartitionOption = None,
    board: CatalogBoardOption = "apf27",
) -> None:
    """Make a chip image from a folder, and print its size.

    JFFS2 is made by mkfs.jffs2, UBIFS by mkfs.ubifs and ubinize, squashfs and EROFS by their own
    tools and ubinize, and the board flashes what they made. YAFFS2 and NFTL+FAT32 are written by
    the board's own kernel. The image is kept only if the board mounts it and reads back every file
    with its checksum.

    Names, owners, permissions, links and times (to the second) are kept as far as the file system
    can keep them; what is lost is told on standard error. Devices, FIFOs and sockets are refused.
    """
    from nandlab.flash.chip import imagefile as chipfile
    from nandlab.image import making as imaging
    from nandlab.image import tree

    medium = _make_medium(fs, set_, chip, partition_mib, board)
    imaging.refuse_unfit_medium(medium)
    chipfile.refuse_image_overwrite(output)
    scanned_tree = tree.scan_folder_tree(source)
    content, warnings = tree.drop_unstorable_content(scanned_tree, medium.filesystem)
    tree.refuse_unstorable_names(content, medium.filesystem)
    for warning in warnings:
        print_note(f"warning: {warning}")
    image, description = imaging.make_filesystem_image(
        medium, source, content, open_medium_board(medium)
    )
    chipfile.write_image_files(output, image, description)
    for line in format_image_sizes(output, medium, image, description):
        print_lines(line)


@image_app.command("ls")
def list_files(file: FileArgument, board: BoardOption = None) -> None:
    """List what is in an image, as the board reads it: mode, owner, bytes, time (UTC), path."""
    from nandlab.image import making as imaging

    on, image, opened = _read_image(file, board)
    for entry in imaging.read_image_tree(on, image, opened):
        if entry.path:
            print_lines(_format_entry(entry))


@image_app.command()
def extract(
    file: FileArgument,
    to: Annotated[Path, typer.Option(metavar="DIR", help="an empty folder, or one to make")],
    set_id: Annotated[
        bool, typer.Option("--set-id", help="keep set-user-ID and set-group-ID bits")
    ] = False,
    board: BoardOption = None,
) -> None:
    """Read all files of an image into a folder, through the board.

    Permissions and times are restored, owners only for root. Set-user-ID and set-group-ID bits are
    left out: a program of a stranger's image must not run as its owner here. Devices and FIFOs are
    left out, too, and named.
    """
    from nandlab.image import making as imaging

    imaging.refuse_extraction_folder(to)
    on, image, opened = _read_image(file, board)
    extracted, devices = imaging.extract_image_files(on, image, opened, to, set_id)
    print_lines(format_tree_counts(extracted.counts()))
    if devices:
        print_note(
            f"left out, as devices and FIFOs are: {len(devices)}", *sorted(devices)[:DEVICES_SHOWN]
        )


def _make_medium(
    fs: str, settings: list[str], part: str, partition_mib: float | None, board: str
) -> Medium:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load_noun
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.plan.medium import Medium

    system = load_noun("filesystems", fs, FilesystemModel)
    chip = load_noun("chips", part, ChipModel)
    blocks = count_partition_blocks(chip, partition_mib)
    options = system.resolve_values(
        parse_name_value_pairs(settings, "--set"), "--set", from_image=True
    )
    return Medium(
        board=load_noun("boards", board, BoardModel),
        chip=chip,
        partition_blocks=blocks,
        filesystem=system,
        options=options,
    )


def _read_image(file: Path, board: str | None) -> tuple[Medium, ChipImage, Board]:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun
    from nandlab.flash.chip import imagefile as chipfile
    from nandlab.image import making as imaging

    made, image = chipfile.read_image_files(file)
    on = imaging.make_image_medium(made, load_noun("boards", board or made.board, BoardModel))
    return on, image, open_medium_board(on)


def _format_entry(entry: TreeEntry) -> str:
    from nandlab.image.tree import escape_file_name

    when = datetime.fromtimestamp(entry.mtime_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    owner = f"{entry.uid}:{entry.gid}"
    points = "" if entry.target is None else f" -> {escape_file_name(entry.target)}"
    mode = stat.filemode(entry.mode)
    return f"{mode} {owner:>9} {entry.size:>10} {when} {escape_file_name(entry.path)}{points}"
