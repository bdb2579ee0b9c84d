# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of `nandlab board`: of the virtual boards, and of one on the desk."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli.arguments import CatalogBoardOption
from nandlab.cli.boardmake import make
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.board.own.flashdump import DumpSummary
    from nandlab.catalog.chip import ChipModel

board_app = typer.Typer(
    no_args_is_help=True,
    help="The virtual boards and their packages; and a board of your own (docs/boards.md).",
)


class Accel(StrEnum):
    """How the board is emulated."""

    tcg = "tcg"
    kvm = "kvm"


AccelOption = Annotated[
    Accel,
    typer.Option(
        help="tcg: exact and repeatable; kvm: fast, on host time, marked as such in results"
    ),
]

EraseOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="of your own board: the partition's name once more"),
]
DiscardOption = Annotated[
    bool, typer.Option("--discard", help="what your own board's partition holds may be lost")
]


@board_app.command()
def shell(
    board: CatalogBoardOption = "apf27",
    accel: AccelOption = Accel.tcg,
    source: SourceOption = [],  # noqa: B006 - typer copies it
    patch: PatchOption = [],  # noqa: B006
) -> None:
    """Open a shell on the booted board; exit or Ctrl-A X leaves it."""
    from nandlab.board.virtual.qemu import open_board
    from nandlab.board.virtual.shell import run_interactive_shell
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    if sys.stdin is None:
        raise UsageError("board shell: standard input is closed: give it a terminal, or commands")
    run_interactive_shell(
        open_board(
            load_noun("boards", board, BoardModel),
            accel.value,
            read_source_options(source, patch),
        )
    )


@board_app.command("list")
def list_boards() -> None:
    """List the boards of the catalog."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import format_noun_origin, list_noun_names, load_noun

    for name in list_noun_names("boards"):
        summary = load_noun("boards", name, BoardModel).summary
        print_lines(f"{name:12} {summary} {format_noun_origin('boards', name)}".rstrip())


board_app.command("make")(make)


@board_app.command()
def update(
    boards: Annotated[
        list[str] | None, typer.Argument(metavar="[BOARD]...", help="default: all of the catalog")
    ] = None,
) -> None:
    """Lock the mirror's newest packages for boards; figures then belong to other boards.

    The lock is the file boards.lock beside the boards' files. What changed is printed, a line for
    each package. Results of before stay comparable with each other, and `nandlab reproduce` still
    takes the packages that they name, where these are to be had.
    """
    from nandlab.board.kit import kit, needs
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import list_noun_names, load_noun

    models = {
        name: load_noun("boards", name, BoardModel) for name in boards or list_noun_names("boards")
    }
    for path, lines in kit.update_package_locks(models, needs.list_needed_package_sets).items():
        for line in lines:
            print_lines(line)
        told = f"{len(lines)} changes: figures from now on are of other boards" if lines else "same"
        print_note(f"{path}: {told}")


@board_app.command("export")
def export_board(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the board file to write")],
    board: CatalogBoardOption = "apf27",
) -> None:
    """Write a board file: every package that runs the board and builds for it, in one file.

    It has the packages that programs are built from too: ours, and those of ./programs.

    A machine that imports it needs no mirror, no apt and no compiler. Equal boards give equal
    bytes, wherever they are exported.
    """
    from nandlab.board.kit import exchange
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    exchange.export_board_file(load_noun("boards", board, BoardModel), file)
    print_lines(file)


@board_app.command("import")
def import_board(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a board file")],
) -> None:
    """Take a board file's packages into the cache, each verified.

    A board that the catalog does not have is added to ./catalog, with its lock. A board that the
    catalog has in another form is refused.
    """
    from nandlab.board.kit import exchange

    for line in exchange.import_board_file(file):
        print_lines(line)


OwnArgument = Annotated[Path, typer.Argument(metavar="FILE", help="your board's file")]


@board_app.command()
def look(
    file: OwnArgument,
    erase: EraseOption = None,
) -> None:
    """Tell whether your own board's partition may be erased, and if not, why; nothing is erased.

    The file names the board and the partition (docs/boards.md). Any doubt refuses.
    """
    import asyncio

    from nandlab.board.own.ownboard import find_erasable_board_partition

    mtd = asyncio.run(find_erasable_board_partition(file, erase))
    blocks = mtd.size // mtd.erasesize
    print_lines(
        f"mtd{mtd.number} {mtd.name!r} may be erased: {blocks} blocks of {mtd.erasesize} bytes"
    )


@board_app.command()
def save(
    file: OwnArgument,
    erase: EraseOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DUMP", help="the file to write")
    ] = None,
) -> None:
    """Keep what your own board's partition has in a file: pages, spare areas, bad blocks.

    It is a dump without error correction, bit by bit, which `nandlab space` and any NAND tool read.
    `nandlab board restore` writes it back. The board needs mtd-utils.
    """
    import asyncio

    from nandlab.board.own import flashdump, ownboard

    if output is None:
        raise UsageError("board save: name the file to write by -o")
    if output.exists() or not output.parent.is_dir():
        raise UsageError(f"{output}: it is there already, or its folder is not")

    async def saving() -> flashdump.DumpSummary:
        async with ownboard.hold_board(file, erase) as board:
            return await flashdump.save_partition_cells(
                await flashdump.open_partition_cells(board.transport, board.mtd), output
            )

    told = asyncio.run(saving())
    _print_partition(told)
    print_lines(f"{told.sha256}  {output}")


@board_app.command()
def restore(
    file: OwnArgument,
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="what board save wrote")],
    erase: EraseOption = None,
) -> None:
    """Erase your own board's partition, write back what board save kept, and read it to compare.

    Spare areas are written as they were, with their ECC; bad blocks stay as they are, and no other
    block takes their content. The guard is asked first, as before a run.
    """
    import asyncio

    from nandlab.board.own import flashdump, ownboard

    async def restoring() -> flashdump.DumpSummary:
        async with ownboard.hold_board(file, erase) as board:
            part = await flashdump.open_partition_cells(board.transport, board.mtd)
            return await flashdump.restore_partition_cells(part, dump, board.erased)

    told = asyncio.run(restoring())
    _print_partition(told)
    print_lines(f"{told.sha256}  {dump}: the partition has it, bit by bit")


@board_app.command()
def calibrate(
    file: OwnArgument,
    erase: EraseOption = None,
    discard: DiscardOption = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="the catalog to write into")
    ] = Path("catalog"),
) -> None:
    """Measure your own board, and write a chip and a virtual board that are like it.

    Reads, programs and erases of the raw partition are timed, a loop, checksums and copies beside
    them. Both files go into ./catalog, where studies find them, and each figure says where it is
    from. A study on them repeats to the nanosecond; `nandlab compare` has it beside the run on your
    own board. The partition is erased.
    """
    import asyncio

    from nandlab.board.own import calibrate as calibrating
    from nandlab.board.own import ownboard
    from nandlab.board.own.flash import refuse_other_chip_shape
    from nandlab.cli.ownrun import load_held_board_chip

    async def measuring() -> tuple[ChipModel, calibrating.BoardMeasurement]:
        async with ownboard.hold_board(file, erase) as held_board:
            part = load_held_board_chip(held_board)
            calibrating.choose_new_catalog_paths(part, held_board.model.name, output)
            async with ownboard.prepare_held_board(held_board, discard=discard) as (
                board,
                partition,
            ):
                refuse_other_chip_shape(part, partition, held_board.mtd)
                await held_board.erased()
                name, number = held_board.model.name, held_board.mtd.number
                return part, await calibrating.measure_board(
                    board, name, partition.machine, partition.kernel, number
                )

    part, of = asyncio.run(measuring())
    for name, value in of.figures.items():
        print_note(f"{name} {value}")
    for path in calibrating.write_catalog_files(part, of, output):
        print_lines(path)


def _print_partition(told: DumpSummary) -> None:
    """Tells what a partition holds, on standard error."""
    bad = ", ".join(map(str, told.bad))
    print_note(
        f"{told.blocks} blocks, {told.pages} pages written; "
        + (f"bad blocks: {bad}" if bad else "no bad block")
    )


@board_app.command()
def unlock(file: OwnArgument) -> None:
    """Take your own board from whoever has it: for after a run that was killed."""
    import asyncio

    from nandlab.board.own.ownboard import break_own_board_lock

    print_lines(asyncio.run(break_own_board_lock(file)) or "nobody had it")
