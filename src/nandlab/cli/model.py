# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab model``: what reading costs, foretold from what lies on flash."""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import note, write_json, write_lines
from nandlab.cli import modelmap
from nandlab.cli.drawing import DRAWN, draw, refuse_other_names, write
from nandlab.cli.flashfile import (
    EraseBlockOption,
    ImageArgument,
    JsonOption,
    OffsetOption,
    OobOption,
    PageOption,
    PartitionOption,
    VolumeOption,
    asked,
)
from nandlab.cli.words import named

if TYPE_CHECKING:
    from nandlab.model.fragments import FileMap
    from nandlab.model.reads import Call, FirstOpen, Pieces
    from nandlab.onflash.jffs2nodes import Dropped
    from nandlab.onflash.layout import Layout

model_app = typer.Typer(
    no_args_is_help=True,
    help="What reading a file costs, foretold from what lies on flash: JFFS2's, UBIFS's and "
    "YAFFS2's flash pages call by call, and their time. Nothing is run.",
)
MountedOption = Annotated[
    bool,
    typer.Option(
        "--mounted",
        help="the file system was mounted after the file was written: the first open goes through "
        "its nodes in another order",
    ),
]
DROPPED_SHOWN = 3
PACKED_ANEW = 1 << 14
"""Pieces of all files of which each page is packed as if it were rewritten: a page takes some ms.
"""
Told = dict[str, int | None]


@model_app.command("map")
def map_(  # noqa: PLR0913, PLR0917 - the command line's own options
    image: ImageArgument,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="each page of this file; default: all files")
    ] = None,
    partition_mib: PartitionOption = None,
    offset: OffsetOption = None,
    page: PageOption = None,
    oob: OobOption = 0,
    erase_block: EraseBlockOption = None,
    volume: VolumeOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="draw --file as HTML; or .svg, .png"),
    ] = None,
) -> None:
    """Tell which nodes and flash pages each page of a file is read from, and how many: N.

    N in sequence is with what the call before left in the NAND core's buffer, N alone without.
    Nodes that cannot be read are dropped and told; the pages that they may touch are unknown.
    """
    from nandlab.model.every import reader_of
    from nandlab.model.fragments import file_map
    from nandlab.model.reads import owner_of
    from nandlab.onflash.opened import read as read_layout

    layout, dropped = read_layout(
        image, asked(partition_mib, page, erase_block, oob, None, volume, offset), tolerant=True
    )
    reader_of(layout.filesystem, image)
    if out is not None and file is None:
        raise UsageError(f"-o {out}: name the file that is to be drawn, with --file")
    owners = [owner_of(layout, file)] if file else list(layout.sizes)
    exact = file is not None or len(layout.pieces) <= PACKED_ANEW
    maps = [file_map(layout, owner, dropped, exact=exact) for owner in owners]
    if out is not None:
        _draw(out, maps[0])
    if as_json:
        write_json(modelmap.records(maps, dropped, page_seen=layout.page_seen))
    elif file:
        modelmap.print_pages(maps[0])
    else:
        modelmap.print_files(maps)
    _warn_of_pages(layout)
    _warn(layout.filesystem, dropped, dumped=page is not None)


def _warn(filesystem: str, dropped: list[Dropped], *, dumped: bool) -> None:
    """Tells on standard error what of the chip could not be read, and what cannot be seen."""
    for node in dropped[:DROPPED_SHOWN]:
        whose = f"of inode {node.number}" if node.number else node.kind or "of no known kind"
        note(f"nandlab: {'dropped' if node.bytes else 'missing'}, {whose}: {node.why}")
    if dropped:
        note(
            f"nandlab: {len(dropped)} nodes could not be read: damage, or a write buffer that was "
            "not on the flash yet, as of a mounted file system; --json lists them all"
        )
    if dumped and filesystem == "jffs2":
        note(
            "nandlab: if the file system was mounted when it was dumped, its last writes may be "
            "missing: JFFS2 keeps them in memory until a page is full"
        )


def _warn_of_pages(layout: Layout) -> None:
    """Tells on standard error where N hangs on what the user told of the chip's pages, and what the
    file was taken for."""
    for line in layout.notes:
        note(f"nandlab: {line}")
    if not layout.page_seen:
        note(
            f"nandlab: N is right only if the chip's pages have {layout.writesize} bytes: nothing "
            "here tells that they are not larger; a dump with spare areas would"
        )


def _draw(to: Path, m: FileMap) -> None:
    from nandlab.report import fragmap

    if to.suffix in DRAWN:
        draw(to, fragmap.chart(m))
    else:
        write(to, fragmap.page(m).encode())


@model_app.command()
def read(  # noqa: PLR0913, PLR0917 - the command line's own options
    image: ImageArgument,
    file: Annotated[str, typer.Option(metavar="PATH", help="the file that is read")],
    order: Annotated[
        str, typer.Option(help="sequential, random:SEED, or a trace's folder: its calls in order")
    ] = "sequential",
    chip: Annotated[
        str,
        typer.Option(metavar="PART", help="a part of the catalog", autocompletion=named("chips")),
    ] = "apf27",
    board: Annotated[
        str,
        typer.Option(
            help="a board of the catalog: its ns of an instruction", autocompletion=named("boards")
        ),
    ] = ("apf27"),
    kernel: Annotated[
        str | None, typer.Option(help="the kernel's series; default: the board's")
    ] = None,
    formula: Annotated[
        Literal["nandlab", "paper"],
        typer.Option(help="paper: N pages and one overhead, --overhead-ns, for each call"),
    ] = "nandlab",
    overhead_ns: Annotated[
        float, typer.Option(min=0, help="of the paper's formula; its own mean is 45060")
    ] = 45060.0,
    rewritten: Annotated[
        bool, typer.Option("--rewritten", help="as if the file were written anew, in order")
    ] = False,
    mounted: MountedOption = False,
    partition_mib: PartitionOption = None,
    offset: OffsetOption = None,
    page: PageOption = None,
    oob: OobOption = 0,
    erase_block: EraseBlockOption = None,
    volume: VolumeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Foretell the flash pages and the time of each call that reads a page of a file.

    Prints CSV: the page, N, hits in the NAND core's buffer, ns, and chip_ns, the chip's part of
    that; there is no ns where what a call takes beside the chip was not measured. The first open is
    apart: JFFS2 reads the header of every live node of the file, UBIFS its name and its inode.
    """
    from nandlab.model import rewritten as anew
    from nandlab.model.every import State, reader_of
    from nandlab.model.fragments import calls
    from nandlab.onflash.opened import read as read_layout

    layout, dropped = read_layout(
        image, asked(partition_mib, page, erase_block, oob, None, volume, offset), tolerant=True
    )
    reader_of(layout.filesystem, image)
    _warn_of_pages(layout)
    pieces = _pieces(image, file, layout, dropped)
    if rewritten:
        pieces = anew.pieces(layout, pieces.owner)
        layout = pieces.layout
    pages = _order(order, image, pieces, pieces.owner)
    t_page, instruction_ns = _costs(chip, board, layout)
    state = State(layout, mounted=mounted)
    opened = state.first_open(pieces.owner)
    each = list(calls(layout, pieces, pages, state))
    ns = (
        _paper(t_page, overhead_ns)
        if formula == "paper"
        else _ours(layout.filesystem, kernel, board, t_page, instruction_ns, [*each, opened])
    )

    def row(call: Call | FirstOpen) -> Told:
        n = len(call.flash)
        return {"n": n, "hits": call.hits, "ns": ns(call), "chip_ns": round(n * t_page)}

    told = [{"page": c.page, **row(c)} for c in each]
    _tell(row(opened), told, pieces.estimated, as_json=as_json)


def _pieces(image: Path, file: str, layout: Layout, dropped: Sequence[Dropped]) -> Pieces:
    """A file's content; UsageError where some of it could not be read."""
    from nandlab.model.fragments import unknown_pages
    from nandlab.model.reads import Pieces, owner_of

    pieces = Pieces(layout, owner_of(layout, file))
    if unknown_pages(pieces, pieces.owner, dropped):
        raise UsageError(
            f"{image}: nodes of {file} could not be read: nandlab model map tells which"
        )
    return pieces


def _paper(t_page: float, overhead_ns: float) -> Callable[[Call | FirstOpen], int | None]:
    """The paper's time of a call, ns."""
    from nandlab.model import times

    return lambda call: round(times.paper_ns(call, t_page, overhead_ns))


def _ours(
    filesystem: str,
    kernel: str | None,
    board: str,
    t_page: float,
    instruction_ns: float,
    each: Sequence[Call | FirstOpen],
) -> Callable[[Call | FirstOpen], int | None]:
    """The time of a call, ns. Where what it takes beside the chip was not measured, it is an error
    if a kernel was named; else it is None, and standard error has why."""
    from nandlab.model import times

    try:
        by = times.instructions(filesystem, kernel or _series(board))
        for call in each:
            times.ns(call, by, t_page, instruction_ns)
    except UsageError as e:
        if kernel:
            raise
        note(f"nandlab: no ns, but chip_ns, the chip's part of it: {e}")
        return lambda call: None
    return lambda call: round(times.ns(call, by, t_page, instruction_ns))


def _tell(first: Told, told: list[Told], estimated: int, *, as_json: bool) -> None:
    """Prints the calls, and the first open apart from them."""
    known = first["ns"] is not None
    if as_json:
        found = {"predicted": True, "first_open": first, "calls": told}
        totals = {"pages_estimated": estimated, "total_ns": _sum(told, "ns") if known else None}
        totals["total_chip_ns"] = _sum(told, "chip_ns")
        write_json(found | totals)
        return
    columns = ("page", "n", "hits", "ns", "chip_ns")
    modelmap.print_csv(columns, ([call[c] for c in columns] for call in told))
    key, of_chip = ("ns", "") if known else ("chip_ns", " of the chip")
    if estimated:
        note(f"nandlab: {modelmap.estimated(estimated)}")
    note(
        f"predicted: {len(told)} calls, N {_sum(told, 'n')}, {_sum(told, key) / 1e6:.3f} ms"
        f"{of_chip}; the first open before them, N {first['n']}, {_sum([first], key) / 1e6:.3f} ms"
    )


def _sum(told: list[Told], key: str) -> int:
    return sum(one[key] or 0 for one in told)


def _order(order: str, image: Path, of: Pieces, owner: int) -> list[int]:
    from random import Random

    from nandlab.model.walk import pages_read
    from nandlab.trace.folder import CHIP_IMAGE, TraceFolder

    pages = of.pages
    if not Path(order).is_dir() and len(of.listed) < pages:
        raise UsageError(
            f"--order {order}: the file is mostly holes, and has {pages:,} pages: give a trace's "
            "folder, of calls that read it"
        )
    if order == "sequential":
        return list(range(pages))
    kind, colon, seed = order.partition(":")
    if kind == "random" and colon:
        if not seed.isdecimal():
            raise UsageError(f"--order {order}: the seed must be a whole number")
        found = list(range(pages))
        Random(int(seed)).shuffle(found)
        return found
    if not Path(order).is_dir():
        raise UsageError(f"--order {order}: give sequential, random:SEED or a trace's folder")
    kept = Path(order) / CHIP_IMAGE
    if kept.is_file() and not filecmp.cmp(kept, image, shallow=False):
        raise UsageError(f"--order {order}: its {CHIP_IMAGE} is not {image}: it is another's trace")
    found = pages_read(TraceFolder(Path(order)).events, owner)
    if not found or max(found) >= pages:
        raise UsageError(f"--order {order}: its calls are not of this file")
    return found


def _series(board: str) -> str:
    """The series of a board's locked kernel."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load
    from nandlab.kit.kit import kernel_release
    from nandlab.traced.cost import series

    return series(kernel_release(load("boards", board, BoardModel)))


def _costs(chip: str, board: str, layout: Layout) -> tuple[float, float]:
    """ns of a page read and of an instruction."""
    from nandlab.analysis.reprice import Part
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load
    from nandlab.model import times

    part = load("chips", chip, ChipModel)
    if part.geometry.writesize != layout.writesize:
        raise UsageError(
            f"--chip {chip}: pages of {part.geometry.writesize} bytes, the image's have "
            f"{layout.writesize}"
        )
    of = Part.of(chip, part.geometry, part.timing, "typical")
    shift = load("boards", board, BoardModel).icount_shift
    return times.page_ns(of, part.geometry), float(1 << shift)


@model_app.command()
def score(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="a trace's folder, made with --image")
    ],
    mounted: MountedOption = False,
    as_json: JsonOption = False,
    chart: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw each call's time over its pieces: .svg or .png"),
    ] = None,
) -> None:
    """Set a trace's reads beside what the model foretells: flash pages call by call, then times.

    The model is given the chip as it was when the trace began, and from the trace which page of
    the file each call reads. The exit status is 1 if N or the order of pages differs in any call.
    """
    from nandlab.model import score as scorer
    from nandlab.model import times, walk
    from nandlab.report import readtimes
    from nandlab.trace.folder import TraceFolder
    from nandlab.trace.reads import traced

    refuse_other_names("--chart", chart)
    of = traced(TraceFolder(trace), mounted=mounted)
    each = walk.calls(of)
    found = scorer.summary(of, each)
    if as_json:
        write_json(found)
    else:
        write_lines(*scorer.lines(found))
    if chart is not None:
        told = scorer.times_of(of, each)
        draw(
            chart, readtimes.chart(told, times.instructions(of.filesystem, of.kernel), "read-times")
        )
    if found["differ"]:
        raise typer.Exit(1)
