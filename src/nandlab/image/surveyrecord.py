# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab image sizes --json`` prints: images of one folder in several file systems."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.noun import StrictModel
from nandlab.image.survey import SurveyRow
from nandlab.image.tree import FileTree


class TreeCounts(StrictModel):
    """What a folder has."""

    files: int
    hard_links: int
    folders: int
    symbolic_links: int
    bytes: int


class SizesRow(StrictModel):
    """An image of a folder; without one, why not."""

    filesystem: Line
    compression: Line | None
    pages: int | None
    own_header_pages: int | None
    pages_without_own_headers: int | None
    bytes: int | None
    saved: float | None
    """Share of the pages that compression saves."""
    least_mib: float | None
    """The smallest partition that the file system can live on, whatever it holds."""
    why_not: FreeText | None
    lost: list[FreeText]
    seconds: float | None


class Sizes(StrictModel):
    """Images of one folder in several file systems."""

    chip: Line
    partition_mib: float
    page_bytes: int
    board: Line
    tree: TreeCounts
    rows: list[SizesRow]


def make_sizes(
    chip: ChipModel, blocks: int, board: str, tree: FileTree, rows: Sequence[SurveyRow]
) -> Sizes:
    """The rows of a survey on a partition of so many blocks."""
    return Sizes(
        chip=chip.name,
        partition_mib=blocks * chip.geometry.erasesize / (1 << 20),
        page_bytes=chip.geometry.writesize,
        board=board,
        tree=TreeCounts(**tree.counts()),
        rows=[make_sizes_row(row) for row in rows],
    )


def make_sizes_row(row: SurveyRow) -> SizesRow:
    """A row for programs."""
    size = row.account
    return SizesRow(
        filesystem=row.filesystem,
        compression=row.compression,
        pages=size.pages if size else None,
        own_header_pages=size.own_header_pages if size else None,
        pages_without_own_headers=size.pages - size.own_header_pages if size else None,
        bytes=size.bytes if size else None,
        saved=None if row.saved is None else round(row.saved, 4),
        least_mib=None if row.least_mib is None else float(row.least_mib),
        why_not="\n".join(row.hindrances) or None,
        lost=list(row.lost_properties),
        seconds=row.seconds if size else None,
    )
