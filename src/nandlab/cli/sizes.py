# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab image sizes``: a folder as each file system, with each compression."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_json, print_lines, print_note
from nandlab.cli.arguments import CatalogBoardOption, make_name_completer
from nandlab.cli.imagemedium import ImageChipOption, ImagePartitionOption
from nandlab.cli.preparation import announce_board_preparation

if TYPE_CHECKING:
    from nandlab.board.jobs.job import Board
    from nandlab.image.survey import SurveyRow, SurveySource, SurveyTask
    from nandlab.image.surveyrecord import Sizes

TABLE_HEAD = (
    "file system",
    "compression",
    "pages",
    "UBI's own",
    "others",
    "bytes",
    "saved",
    "least MiB",
)


def sizes(
    *,
    source: Annotated[
        Path, typer.Option("--from", metavar="DIR", help="the folder that images are made of")
    ],
    chip: ImageChipOption,
    partition_mib: ImagePartitionOption = None,
    fs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FS",
            help="a file system; may be repeated; default: all",
            autocompletion=make_name_completer("filesystems"),
        ),
    ] = None,
    board: CatalogBoardOption = "apf27",
    as_json: Annotated[bool, typer.Option("--json", help="print an object of JSON")] = False,
) -> None:
    """Tell how many pages a folder takes as each file system, with each compression.

    Every image is made, mounted by the board and read back, then thrown away: as many at once as
    there are cores. Pages that hold UBI's own headers are told apart; bytes and what compression
    saved are of the others. The last column is the smallest partition that has room for the
    folder. What cannot be made is a line with the reason.
    """
    from nandlab.board.opening import open_board
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import list_noun_names, load_noun
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.cli.imagemedium import count_partition_blocks
    from nandlab.image import survey, tree
    from nandlab.image.surveyrecord import make_sizes
    from nandlab.plan.mediaboard import group_filesystems_by_kernel

    names = list(dict.fromkeys(fs or list_noun_names("filesystems")))
    systems = [load_noun("filesystems", name, FilesystemModel) for name in names]
    part, model = load_noun("chips", chip, ChipModel), load_noun("boards", board, BoardModel)
    blocks = count_partition_blocks(part, partition_mib)
    content = tree.scan_folder_tree(source)
    images, cannot = list[survey.SurveyRow](), list[survey.SurveyRow]()
    for own, group in group_filesystems_by_kernel(model, systems):
        with announce_board_preparation(own):
            opened = open_board(own)
        todo, left_out = survey.plan_survey(group, model, part, blocks, opened)
        images += _make_images(todo, survey.SurveySource(source, content), opened, len(left_out))
        cannot += left_out
    rows = sorted([*images, *cannot], key=lambda row: names.index(row.filesystem))
    _print_survey(make_sizes(part, blocks, board, content, rows), rows, as_json=as_json)
    if all(row.hindrances for row in images):
        raise typer.Exit(1)


def _make_images(
    todo: Sequence[SurveyTask], source: SurveySource, board: Board, left_out: int
) -> list[SurveyRow]:
    """Makes the images, and prints each as it is done."""
    from nandlab.image.survey import make_survey_rows

    at_once = os.cpu_count() or 1
    print_note(f"{len(todo)} images to make, {at_once} at a time; {left_out} cannot be")
    numbers = itertools.count(1)

    def print_row(row: SurveyRow) -> None:
        print_note(f"[{next(numbers)}/{len(todo)}] {_format_outcome(row)} ({row.seconds:g} s)")

    return make_survey_rows(todo, source, board, at_once, print_row)


def _format_outcome(row: SurveyRow) -> str:
    name = f"{row.title} {row.compression}" if row.compression else row.title
    return (
        f"{name}: {row.account.pages:,} pages" if row.account else f"{name}: {_format_reason(row)}"
    )


def _print_survey(sizes: Sizes, rows: Sequence[SurveyRow], *, as_json: bool) -> None:
    if as_json:
        print_json(sizes.model_dump(mode="json"))
        return
    for line in dict.fromkeys(
        f"{row.title}: {lost}" for row in rows for lost in row.lost_properties
    ):
        print_note(f"warning: {line}")
    for line in _format_table(rows):
        print_lines(line)


def _format_table(rows: Sequence[SurveyRow]) -> Iterable[str]:
    """The rows in columns; a reason takes the place of the figures."""
    figures = [_format_cells(row) for row in rows]
    names = [(row.title, row.compression or "-") for row in rows]
    name_widths = [max(map(len, column)) for column in zip(TABLE_HEAD[:2], *names, strict=True)]
    figure_rows = [cells for cells in figures if cells] or [()]
    figure_widths = [
        max(map(len, column))
        for column in zip(TABLE_HEAD[2:], *filter(None, figure_rows), strict=True)
    ]
    for name, cells, row in zip(
        (TABLE_HEAD[:2], *names), (TABLE_HEAD[2:], *figures), (None, *rows), strict=True
    ):
        words = [word.ljust(width) for word, width in zip(name, name_widths, strict=True)]
        if cells:
            words += [word.rjust(width) for word, width in zip(cells, figure_widths, strict=True)]
        elif row:
            words.append(f"cannot be: {_format_reason(row)}")
        yield "  ".join(words).rstrip()


def _format_reason(row: SurveyRow) -> str:
    """Why there is no image, in a line: the first reason, and how many more."""
    first = 2 if row.hindrances[0].endswith(":") else 1
    more = [f"and {len(row.hindrances) - first} more"] if row.hindrances[first:] else []
    return "; ".join([" ".join(line.strip() for line in row.hindrances[:first]), *more])


def _format_cells(row: SurveyRow) -> tuple[str, ...]:
    """The figures of a row; empty: there are none."""
    a = row.account
    if a is None:
        return ()
    others = a.pages - a.own_header_pages
    saved = "-" if row.saved is None else f"{row.saved:.1%}".replace("%", " %")
    pages = (f"{a.pages:,}", f"{a.own_header_pages:,}", f"{others:,}")
    return (*pages, f"{a.bytes:,}", saved, row.least_mib or "-")
