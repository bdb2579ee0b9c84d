# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab model``: what reading a file costs, foretold from a chip's image and from a trace."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.model.cost import Rates
    from nandlab.model.foretell import Foretold
    from nandlab.model.score import Scored
    from nandlab.onflash.jffs2 import Dropped
    from nandlab.onflash.layout import Layout

model_app = typer.Typer(
    no_args_is_help=True,
    help="Foretell what reading a file costs, from where its bytes lie on flash. docs/model.md",
)
ImageArgument = Annotated[
    Path, typer.Argument(metavar="IMAGE", help="a chip's image, as nandlab space takes it")
]
PathOption = Annotated[
    str, typer.Option("--file", metavar="PATH", help="a file in the image, from its root")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON, times in ns")]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="write a line for each call")
]
READ_HEAD = ("file", "page", "n", "hits", "nodes", "ns", "flash_pages")
SCORE_HEAD = (
    *("event", "file", "page", "n", "n_foretold", "same_pages", "known", "disturbed"),
    *("ns", "foretold_ns", "paper_ns"),
)


@model_app.command()
def read(  # noqa: PLR0913, PLR0917 - the command line's own options
    image: ImageArgument,
    file: PathOption,
    chip: Annotated[str, typer.Option(metavar="PART", help="a chip of the catalog")],
    board: Annotated[str, typer.Option(metavar="NAME", help="a board of the catalog")],
    order: Annotated[
        str,
        typer.Option(help="sequential; random:SEED, each page once; or a trace's folder"),
    ] = "sequential",
    formula: Annotated[
        Literal["nandlab", "paper"],
        typer.Option(help="paper: T = N T_page + T_overhead, of the tracing paper"),
    ] = "nandlab",
    partition_mib: Annotated[
        float | None,
        typer.Option(min=0, help="MiB from the chip's start; default: what the image says, or all"),
    ] = None,
    to: CsvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Foretell flash pages and time of each call that reads a page of a file.

    The first open is apart: the kernel then reads the header of each of the file's nodes.
    """
    from nandlab.model import foretell, reads

    layout, dropped = _jffs2(image, partition_mib, chip)
    rates = _rates(chip, board)
    path = "/" + file.strip("/")
    owner = reads.owner_of(layout, path)
    asked = foretell.order_of(order, reads.Pieces(layout, owner).pages, path)
    calls = list(foretell.calls(layout, dropped, owner, asked, rates, formula))
    if to is not None:
        _write_csv(to, READ_HEAD, map(foretell.printer(path), calls))
    told = _told(calls) | {"file": path, "order": order, "chip": chip, "board": board}
    told |= {"formula": formula, "dropped_nodes": len(dropped)}
    if as_json:
        print(json.dumps(told | {"calls": [_call(call) for call in calls[1:]]}, indent=1))
    else:
        print("\n".join(_read_lines(told)))


@model_app.command()
def score(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="a trace's folder")],
    image: Annotated[
        Path | None,
        typer.Option(help="the chip when the trace began; default: what trace --image kept"),
    ] = None,
    to: CsvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a trace with what the model foretells, call by call.

    The exit status is 1 if N or the order of pages differs in a call that the image tells.
    """
    from nandlab.model import score as scoring
    from nandlab.trace.folder import TraceFolder

    folder = TraceFolder(trace)
    calls, rates = scoring.calls(folder, image), scoring.rates_of(folder)
    if to is not None:
        _write_csv(to, SCORE_HEAD, (_score_row(call, rates) for call in calls))
    told = scoring.summary(calls, rates)
    print(json.dumps(told, indent=1) if as_json else "\n".join(_score_lines(told)))
    if told["mismatches"]:
        raise typer.Exit(1)


def _jffs2(image: Path, partition_mib: float | None, chip: str) -> tuple[Layout, Sequence[Dropped]]:
    """What lies on a chip; UsageError if it is no JFFS2, or not of that part's geometry."""
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load
    from nandlab.cli.space import opened
    from nandlab.model import reads
    from nandlab.onflash import jffs2
    from nandlab.onflash.every import found

    shape = load("chips", chip, ChipModel).geometry
    partition, told = opened(image, partition_mib)
    if (partition.writesize, partition.erasesize) != (shape.writesize, shape.erasesize):
        raise UsageError(
            f"{image}: pages of {partition.writesize} bytes in blocks of {partition.erasesize}, "
            f"but {chip} has {shape.writesize} in {shape.erasesize}: name its own part with --chip"
        )
    try:
        reads.model_of(told or found(partition))
        return jffs2.salvage(partition)
    except UsageError as e:
        raise UsageError(f"{image}: {e}") from None


def _rates(chip: str, board: str) -> Rates:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load
    from nandlab.kit.kit import kernel_release
    from nandlab.model import cost
    from nandlab.traced.cost import series

    model, part = load("boards", board, BoardModel), load("chips", chip, ChipModel)
    prices = cost.read().of(series(kernel_release(model)))
    return cost.Rates(cost.page_ns(part), 1 << model.icount_shift, prices)


def _write_csv(to: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    from nandlab.base.files import write_whole

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    try:
        write_whole(to, text.getvalue().encode())
    except OSError as e:
        raise UsageError(f"{to}: cannot be written: {e.strerror}") from None


def _call(call: Foretold) -> dict[str, Any]:
    n = len(call.flash) if call.known else None
    ns = None if call.ns is None else round(call.ns)
    hits, flash = (call.hits, call.flash) if call.known else (None, None)
    return {"page": call.page, "n": n, "hits": hits, "nodes": call.nodes, "ns": ns, "flash": flash}


def _told(calls: Sequence[Foretold]) -> dict[str, Any]:
    known = [call for call in calls[1:] if call.known]
    return {
        "first_open": _call(calls[0]),
        "pages": len(calls) - 1,
        "unknown_pages": len(calls) - 1 - len(known),
        "n": sum(len(call.flash) for call in known),
        "hits": sum(call.hits for call in known),
        "ns": round(sum(call.ns or 0 for call in known)),
    }


def _read_lines(told: dict[str, Any]) -> list[str]:
    from nandlab.base.units import time

    opened, known = told["first_open"], told["pages"] - told["unknown_pages"]
    n = "not known" if opened["n"] is None else f"{opened['n']:,} flash pages"
    lines = [
        f"{told['file']}, {told['pages']:,} pages, {told['order']}, predicted",
        f"first open  {n}, {time(opened['ns'])}",
        f"reading     {told['n']:,} flash pages, {told['hits']:,} hits, {time(told['ns'])}",
    ]
    if known:
        lines.append(f"a call      N {told['n'] / known:.3f}, {time(told['ns'] / known)}")
    if told["dropped_nodes"]:
        lines.append(
            f"warning: {told['dropped_nodes']} nodes cannot be read; "
            f"{told['unknown_pages']:,} pages that they may hold are not known and in no sum"
        )
    return lines


def _score_row(call: Scored, rates: Rates) -> list[object]:
    page = "" if call.page is None else call.page
    paper = "" if call.page is None else round(rates.paper_ns(len(call.flash)))
    told, foretold = len(call.told), len(call.flash)
    marks = [int(call.same), int(call.known), int(call.disturbed)]
    times = [round(call.ns), round(call.foretold_ns(rates)), paper]
    return [call.event, call.path, page, told, foretold, *marks, *times]


def _score_lines(told: dict[str, Any]) -> list[str]:
    calls = told["calls"]
    lines = [
        f"{calls:,} calls that read a page; N {told['n']:,}, foretold {told['n_foretold']:,}",
        f"{told['mismatches']:,} differ in N or the order of flash pages",
        f"{told['unknown']:,} read what the image does not tell, and are not scored",
        f"{told['disturbed']:,} had something else run before they ended",
        f"{'error of time':30}{'total':>10}{'median':>10}{'p99':>10}{'max':>10}",
    ]
    for title, key in (
        ("all calls", "errors"),
        ("undisturbed calls", "errors_undisturbed"),
        ("the paper's formula", "errors_paper"),
    ):
        if told[key]:
            lines.append(f"{title:30}" + _errors(told[key]))
    for opened in told["opens"]:
        same = "as foretold" if opened["same"] else f"foretold {opened['n_foretold']:,}"
        lines.append(f"first open of {opened['file']}: {opened['n']:,} flash pages, {same}; time "
                     f"{opened['error']:+.3%}")  # fmt: skip
    return lines


def _errors(told: dict[str, Any]) -> str:
    cells = (f"{told['total']:+.3%}", *(f"{told[k]:.3%}" for k in ("median", "p99", "most")))
    return "".join(f"{cell:>10}" for cell in cells)
