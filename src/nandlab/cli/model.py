# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab model``: what reading costs, foretold from what lies on flash."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_json, print_lines, print_note
from nandlab.cli import modelmap
from nandlab.cli.arguments import JsonOption, make_name_completer
from nandlab.cli.chartfile import (
    CHART_SUFFIXES,
    refuse_unknown_chart_suffix,
    write_chart,
)
from nandlab.cli.flashfile import FlashFileArguments, ImageArgument
from nandlab.cli.optionclasses import expand_option_classes

if TYPE_CHECKING:
    from nandlab.catalog.board import BoardModel
    from nandlab.flash.layouts.jffs2nodes import DroppedNode
    from nandlab.flash.layouts.layout import Layout
    from nandlab.flash.reading.fragments import FileMap
    from nandlab.flash.reading.reads import FilePieces, FirstOpen, ReadCall
    from nandlab.flash.reading.records import CallPricer, ModelRead
    from nandlab.flash.reading.times import PageReadTimes

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


@model_app.command("map")
@expand_option_classes
def map_(
    image: ImageArgument,
    *,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="each page of this file; default: all files")
    ] = None,
    flash_file: FlashFileArguments,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="draw --file as HTML; or .svg, .png"),
    ] = None,
) -> None:
    """Tell which nodes and flash pages each page of a file is read from, and how many: N.

    Where pages are read in order, the NAND core's buffer may still hold what the call before read:
    N in sequence counts on that, N alone does not. Nodes that cannot be read are named and left
    out; which pages of the file they belong to is unknown.
    """
    from nandlab.flash.layouts.flashfile import read_flash_file_layout
    from nandlab.flash.reading import records
    from nandlab.flash.reading.fragments import map_file_pages
    from nandlab.flash.reading.kernelstate import find_filesystem_reader
    from nandlab.flash.reading.reads import find_inode_number

    layout, dropped = read_flash_file_layout(image, flash_file.parse(), tolerant=True)
    find_filesystem_reader(layout.filesystem, image)
    if out is not None and file is None:
        raise UsageError(f"-o {out}: name the file that is to be drawn, with --file")
    owners = [find_inode_number(layout, file)] if file else list(layout.sizes)
    exact = file is not None or len(layout.pieces) <= PACKED_ANEW
    maps = [map_file_pages(layout, owner, dropped, exact=exact) for owner in owners]
    if out is not None:
        _draw_map(out, maps[0])
    if as_json:
        record = records.make_model_map(maps, dropped, page_seen=layout.page_seen)
        print_json(record.model_dump(mode="json"))
    elif file:
        modelmap.print_file_map_pages(maps[0])
    else:
        modelmap.print_file_map_totals(maps)
    _warn_of_pages(layout)
    _warn_of_losses(layout.filesystem, dropped, dumped=flash_file.page is not None)


def _warn_of_losses(filesystem: str, dropped: list[DroppedNode], *, dumped: bool) -> None:
    """Tells on standard error what of the chip could not be read, and what cannot be seen."""
    for node in dropped[:DROPPED_SHOWN]:
        whose = f"of inode {node.number}" if node.number else node.kind or "of no known kind"
        print_note(f"nandlab: {'dropped' if node.bytes else 'missing'}, {whose}: {node.why}")
    if dropped:
        print_note(
            f"nandlab: {len(dropped)} nodes could not be read: damage, or a write buffer that was "
            "not on the flash yet, as of a mounted file system; --json lists them all"
        )
    if dumped and filesystem == "jffs2":
        print_note(
            "nandlab: if the file system was mounted when it was dumped, its last writes may be "
            "missing: JFFS2 keeps them in memory until a page is full"
        )


def _warn_of_pages(layout: Layout) -> None:
    """Tells on standard error where N hangs on what the user told of the chip's pages, and what the
    file was taken for."""
    for line in layout.notes:
        print_note(f"nandlab: {line}")
    if not layout.page_seen:
        print_note(
            f"nandlab: N is right only if the chip's pages have {layout.writesize} bytes: nothing "
            "here tells that they are not larger; a dump with spare areas would"
        )


def _draw_map(to: Path, m: FileMap) -> None:
    from nandlab.base.files import encode_page, write_requested_file
    from nandlab.report.charts import fragmap

    if to.suffix in CHART_SUFFIXES:
        write_chart(to, fragmap.render_file_map_chart(m))
    else:
        write_requested_file(to, encode_page(fragmap.render_file_map_page(m)))


@dataclass(frozen=True, kw_only=True)
class ReadTimeArguments:
    """The options that say what a call takes."""

    chip: Annotated[
        str,
        typer.Option(
            metavar="PART",
            help="a part of the catalog",
            autocompletion=make_name_completer("chips"),
        ),
    ] = "apf27"
    board: Annotated[
        str,
        typer.Option(
            help="a board of the catalog: its ns of an instruction",
            autocompletion=make_name_completer("boards"),
        ),
    ] = "apf27"
    kernel: Annotated[
        str | None, typer.Option(help="the kernel's series; default: the board's")
    ] = None
    formula: Annotated[
        Literal["nandlab", "paper"],
        typer.Option(help="paper: N pages and one overhead, --overhead-ns, for each call"),
    ] = "nandlab"
    overhead_ns: Annotated[
        float, typer.Option(min=0, help="of the paper's formula; its own mean is 45060")
    ] = 45060.0

    def make_pricer(
        self, layout: Layout, page_read: PageReadTimes, calls: Sequence[ReadCall | FirstOpen]
    ) -> CallPricer:
        """The time of each of the calls, ns."""
        from nandlab.flash.reading import times

        if self.formula == "paper":
            return lambda call: round(
                times.compute_paper_call_ns(call, page_read.page_ns, self.overhead_ns)
            )
        return self._make_model_pricer(layout.filesystem, page_read, calls)

    def _make_model_pricer(
        self, filesystem: str, page_read: PageReadTimes, calls: Sequence[ReadCall | FirstOpen]
    ) -> CallPricer:
        """Where what a call takes beside the chip was not measured, it is an error if a kernel was
        named; else its time is not known, and standard error has why."""
        from nandlab.flash.reading import times

        instruction_ns = float(1 << self._load_board().icount_shift)
        try:
            by = times.find_instruction_counts(
                filesystem, self.kernel or self._find_kernel_series(), self._load_board().arch
            )
            for call in calls:
                times.compute_call_ns(call, by, page_read, instruction_ns)
        except UsageError as e:
            if self.kernel:
                raise
            print_note(f"nandlab: no ns, but chip_ns, the chip's part of it: {e}")
            return lambda call: None
        return lambda call: round(times.compute_call_ns(call, by, page_read, instruction_ns))

    def find_page_read_times(self, layout: Layout) -> PageReadTimes:
        """What reading a page of the part takes; UsageError if its pages are not the image's."""
        from nandlab.analysis.differences.reprice import PartLatencies
        from nandlab.catalog.chip import ChipModel
        from nandlab.catalog.files import load_noun
        from nandlab.flash.reading import times

        part = load_noun("chips", self.chip, ChipModel)
        if part.geometry.writesize != layout.writesize:
            raise UsageError(
                f"--chip {self.chip}: pages of {part.geometry.writesize} bytes, the image's have "
                f"{layout.writesize}"
            )
        of = PartLatencies.from_timing(self.chip, part.geometry, part.timing, "typical")
        return times.compute_page_read_times(of, part.geometry)

    def _load_board(self) -> BoardModel:
        from nandlab.catalog.board import BoardModel
        from nandlab.catalog.files import load_noun

        return load_noun("boards", self.board, BoardModel)

    def _find_kernel_series(self) -> str:
        """The series of the board's locked kernel."""
        from nandlab.board.kit.kit import read_locked_kernel_release
        from nandlab.traced.cost import parse_kernel_series

        return parse_kernel_series(read_locked_kernel_release(self._load_board()))


@model_app.command()
@expand_option_classes
def read(
    image: ImageArgument,
    *,
    file: Annotated[str, typer.Option(metavar="PATH", help="the file that is read")],
    order: Annotated[
        str, typer.Option(help="sequential, random:SEED, or a trace's folder: its calls in order")
    ] = "sequential",
    read_times: ReadTimeArguments,
    rewritten: Annotated[
        bool, typer.Option("--rewritten", help="as if the file were written anew, in order")
    ] = False,
    mounted: MountedOption = False,
    flash_file: FlashFileArguments,
    as_json: JsonOption = False,
) -> None:
    """Foretell the flash pages and the time of each call that reads a page of a file.

    Prints CSV: the page, N, hits in the NAND core's buffer, ns, and chip_ns, which is the chip's
    part of ns. Where the processor's part was not measured, ns is empty. The first open is not a
    line but a note: JFFS2 then reads the header of every live node of the file, UBIFS its name and
    its inode.
    """
    from nandlab.flash.layouts.flashfile import read_flash_file_layout
    from nandlab.flash.reading import rewrite
    from nandlab.flash.reading.fragments import foretell_read_calls
    from nandlab.flash.reading.kernelstate import KernelState, find_filesystem_reader
    from nandlab.flash.reading.records import make_model_read

    layout, dropped = read_flash_file_layout(image, flash_file.parse(), tolerant=True)
    find_filesystem_reader(layout.filesystem, image)
    _warn_of_pages(layout)
    pieces = _read_pieces(image, file, layout, dropped)
    if rewritten:
        pieces = rewrite.lay_file_out_alone(layout, pieces.owner)
    pages = _read_page_order(order, image, pieces, pieces.owner)
    page_read = read_times.find_page_read_times(pieces.layout)
    state = KernelState(pieces.layout, mounted=mounted)
    first = state.first_open(pieces.owner)
    calls = list(foretell_read_calls(pieces.layout, pieces, pages, state))
    pricer = read_times.make_pricer(pieces.layout, page_read, [*calls, first])
    prediction = make_model_read(first, calls, pricer, page_read, pieces.estimated)
    if as_json:
        print_json(prediction.model_dump(mode="json"))
    else:
        _print_calls(prediction)


def _read_pieces(
    image: Path, file: str, layout: Layout, dropped: Sequence[DroppedNode]
) -> FilePieces:
    """A file's content; UsageError where some of it could not be read."""
    from nandlab.flash.reading.fragments import find_unknown_pages
    from nandlab.flash.reading.reads import FilePieces, find_inode_number

    pieces = FilePieces(layout, find_inode_number(layout, file))
    if find_unknown_pages(pieces, pieces.owner, dropped):
        raise UsageError(
            f"{image}: nodes of {file} could not be read: nandlab model map tells which"
        )
    return pieces


def _print_calls(prediction: ModelRead) -> None:
    """Prints the calls, and the first open apart from them."""
    first = prediction.first_open
    columns = ("page", "n", "hits", "ns", "chip_ns")
    rows = ([getattr(call, column) for column in columns] for call in prediction.calls)
    modelmap.print_csv_rows(columns, rows)
    if prediction.pages_estimated:
        print_note(f"nandlab: {modelmap.format_rewrite_estimate_note(prediction.pages_estimated)}")
    if prediction.total_ns is None or first.ns is None:
        total_ns, first_ns, time_suffix = prediction.total_chip_ns, first.chip_ns, " of the chip"
    else:
        total_ns, first_ns, time_suffix = prediction.total_ns, first.ns, ""
    n = sum(call.n for call in prediction.calls)
    total = f"{len(prediction.calls)} calls, N {n}, {total_ns / 1e6:.3f} ms{time_suffix}"
    print_note(
        f"predicted: {total}; the first open before them, N {first.n}, {first_ns / 1e6:.3f} ms"
    )


def _read_page_order(order: str, image: Path, pieces: FilePieces, owner: int) -> list[int]:
    from random import Random

    from nandlab.flash.reading.walk import list_traced_file_pages
    from nandlab.trace.folder import CHIP_IMAGE, TraceFolder

    pages = pieces.pages
    if not Path(order).is_dir() and len(pieces.listed) < pages:
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
        numbers = list(range(pages))
        Random(int(seed)).shuffle(numbers)
        return numbers
    if not Path(order).is_dir():
        raise UsageError(f"--order {order}: give sequential, random:SEED or a trace's folder")
    traced_image = Path(order) / CHIP_IMAGE
    if traced_image.is_file() and not filecmp.cmp(traced_image, image, shallow=False):
        raise UsageError(f"--order {order}: its {CHIP_IMAGE} is not {image}: it is another's trace")
    numbers = list_traced_file_pages(TraceFolder(Path(order)).events, owner)
    if not numbers or max(numbers) >= pages:
        raise UsageError(f"--order {order}: its calls are not of this file")
    return numbers


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
    """Compare a trace's reads with the model's prediction: flash pages call by call, then times.

    The model is given the chip as it was when the trace began, and from the trace which page of
    the file each call reads. The exit status is 1 if N or the order of pages differs in any call.
    """
    from nandlab.flash.reading import score as scorer
    from nandlab.flash.reading import times, walk
    from nandlab.report.charts import readtimes
    from nandlab.trace.folder import TraceFolder
    from nandlab.trace.reads import make_chip_trace_from_folder

    refuse_unknown_chart_suffix("--chart", chart)
    chip_trace = make_chip_trace_from_folder(TraceFolder(trace), mounted=mounted)
    scored_calls = walk.score_traced_calls(chip_trace)
    summary = scorer.summarise_call_scores(chip_trace, scored_calls)
    if as_json:
        print_json(summary.model_dump(mode="json", exclude_unset=True))
    else:
        print_lines(*scorer.format_score_summary(summary))
    if chart is not None:
        call_times = scorer.list_call_times(chip_trace, scored_calls)
        write_chart(
            chart,
            readtimes.render_read_call_times_chart(
                call_times,
                times.find_instruction_counts(
                    chip_trace.filesystem, chip_trace.kernel, chip_trace.arch
                ),
                "read-times",
            ),
        )
    if summary.differ:
        raise typer.Exit(1)
