# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab model map`` prints: a file's pages, or all files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nandlab.base.printer import print_lines, print_note, print_text

if TYPE_CHECKING:
    from nandlab.flash.reading.fragments import FileMap

FILES_SHOWN = 40


def print_file_map_pages(m: FileMap) -> None:
    """Each page of a file as CSV; on standard error what they come to."""
    rows = []
    for r in m.rows:
        alone, flash = (r.n_alone, " ".join(map(str, r.flash))) if r.is_known else ("unknown", "")
        together = "unknown" if r.n_in_sequence is None else r.n_in_sequence
        rows.append((r.page, r.nodes, alone, together, flash))
    print_csv_rows(("page", "nodes", "n_alone", "n_in_sequence", "flash_pages"), rows)
    unknown = f"; {m.unknown} pages are unknown" if m.unknown else ""
    unknown += f"; {format_rewrite_estimate_note(m.estimated)}" if m.estimated else ""
    print_note(
        f"{m.path}: {m.size:,} bytes, {m.live_bytes:,} live and {_format_count(m.dead_bytes)} "
        f"dead on "
        f"flash; N {_format_n(m.mean)} in sequence, {_format_n(m.rewritten)} if rewritten{unknown}"
    )


def print_csv_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows of numbers as CSV."""
    to = io.StringIO()
    csv.writer(to).writerows([head, *rows])
    print_text(to.getvalue())


def print_file_map_totals(maps: list[FileMap]) -> None:
    """A line a file, that of the greatest N first."""
    heads = ("bytes", "live", "dead", "N", "rewritten", "unknown")
    print_lines("".join(f"{head:>12}" for head in heads) + "  file")
    for m in sorted(maps, key=lambda m: -(m.mean or 0))[:FILES_SHOWN]:
        row = (
            *(_format_count(m.size), _format_count(m.live_bytes), _format_count(m.dead_bytes)),
            *(_format_n(m.mean), _format_n(m.rewritten), _format_count(m.unknown)),
        )
        print_lines("".join(f"{cell:>12}" for cell in row) + f"  {m.path}")
    if len(maps) > FILES_SHOWN:
        print_lines(f"... and {len(maps) - FILES_SHOWN} more files of less N; --json has them all")
    pages = sum(m.estimated for m in maps)
    if pages:
        print_note(f"nandlab: {format_rewrite_estimate_note(pages)}")


def format_rewrite_estimate_note(pages: int) -> str:
    """Of how many pages a file written anew is not known exactly."""
    return f"if rewritten, {pages} pages are taken to be packed as well as their pieces are now"


def _format_n(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.2f}"


def _format_count(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
