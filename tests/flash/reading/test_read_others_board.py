# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads of UBIFS and YAFFS2 on the board, foretold from the chip: every call's flash pages."""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Any

import pytest
from readtraces import AT_RANDOM, DROP, IN_ORDER, PAGES, histories, packed, pieces, traced

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.reading import score, walk
from nandlab.flash.reading.reads import ReadCall
from nandlab.flash.reading.walk import ScoredCall
from nandlab.trace import reads
from nandlab.trace.folder import TraceFolder

pytestmark = pytest.mark.board

SIZES = (300, 512, 1500)
FILES = len(SIZES) + 2
YAFFS2: dict[str, Any] = {"filesystem": {"name": "yaffs2"}}
YAFFS1: dict[str, Any] = {"filesystem": {"name": "yaffs2"}, "part": "nandsim-small"}


def ubifs(compression: str, **options: str) -> dict[str, Any]:
    """UBI keeps a share of the whole chip, so its partition is larger."""
    return {
        "filesystem": {"name": "ubifs", "compression": compression, "reserve": "1", **options},
        "partition_mib": 16,
    }


def foretold(trace: TraceFolder) -> tuple[list[ScoredCall], list[ScoredCall]]:
    """Calls that read a page, and first opens; all that are known as foretold."""
    found = [
        c for c in walk.score_traced_calls(reads.make_chip_trace_from_folder(trace)) if c.is_known
    ]
    assert [(c.path, c.traced_pages, c.call.flash) for c in found if not c.same] == []
    pages = [c for c in found if isinstance(c.call, ReadCall)]
    return pages, [c for c in found if not isinstance(c.call, ReadCall)]


DROPPED = f"{IN_ORDER}; {DROP}; cat p512 > /dev/null"
"""Drops caches within the trace: the first open after it tells of that by its reads alone."""


@pytest.mark.parametrize(
    ("compression", "command"),
    [
        ("zstd", AT_RANDOM),
        ("none", DROPPED),
        pytest.param("zlib", DROPPED, marks=pytest.mark.long),
    ],
)
def test_ubifs_reads_nodes_of_its_index_on_the_way_and_again_when_caches_are_dropped(
    board: QemuBoard, tmp_path: Path, compression: str, command: str
) -> None:
    made = [*pieces(*SIZES), *packed(10)]
    pages, opens = foretold(traced(board, tmp_path / "t", made, command, **ubifs(compression)))
    assert {c.path for c in opens} == {c.path for c in pages}
    again = command == DROPPED
    assert [c.path for c in opens].count("/p512") == 1 + again
    assert not again or len(opens[-1].traced_pages) > 2
    assert len(opens) == FILES + 1 + again
    assert len(pages) == PAGES * len(opens)
    data = sum(len(c.call.pieces) for c in pages if isinstance(c.call, ReadCall))
    asked = sum(c.events.get("MTD_READ", 0) for c in pages)
    assert asked > data  # nodes of the index were among them


@pytest.mark.parametrize(
    "compression",
    [
        "zlib",
        pytest.param("none", marks=pytest.mark.long),
        pytest.param("lzo", marks=pytest.mark.long),
    ],
)
def test_ubifs_short_pages_and_opens_take_what_is_foretold(
    board: QemuBoard, tmp_path: Path, compression: str
) -> None:
    """Sizes that bench/read_model fits nothing to; a listing has read no names."""
    sizes = range(170, 4000, 210)
    made = [
        f"dd if=/bin/busybox of=s{size} bs={size} count=1 skip={2_000 // size + 240}"
        for size in sizes
    ]
    command = f"sleep 0.3; for n in {' '.join(map(str, sizes))}; do cat s$n > /dev/null; done"
    trace = traced(board, tmp_path / "t", made, command, twice=True, **ubifs(compression))
    pages, opens = foretold(trace)
    assert len(pages) == len(opens) == len(sizes)
    found = score.summarise_call_scores(reads.make_chip_trace_from_folder(trace), [*pages, *opens])
    assert found.undisturbed
    assert abs(found.undisturbed.total) < 0.005
    assert found.undisturbed.max < 0.02
    still = [abs(o.error or 0) for o in found.opens if not (o.disturbed or o.ticked)]
    assert statistics.median(still) < 0.01


@pytest.mark.parametrize(
    ("of", "command", "pages_of_flash"), [(YAFFS2, AT_RANDOM, 2), (YAFFS1, IN_ORDER, 8)]
)
def test_yaffs2_reads_the_chunks_of_a_page(
    board: QemuBoard, tmp_path: Path, of: dict[str, Any], command: str, pages_of_flash: int
) -> None:
    trace = traced(board, tmp_path / "t", pieces(*SIZES), command, twice=True, **of)
    pages, opens = foretold(trace)
    assert not opens
    assert len(pages) == PAGES * FILES
    assert {len(c.traced_pages) for c in pages} == {pages_of_flash}


@pytest.mark.parametrize(
    ("of", "files"),
    [
        pytest.param(of, files, marks=marks)
        for of in (ubifs("lzo"), YAFFS2, YAFFS1)
        for files, marks in ((6, []), (25, [pytest.mark.long]))
    ],
)
def test_random_histories(board: QemuBoard, tmp_path: Path, of: dict[str, Any], files: int) -> None:
    command = random.Random(files).choice((IN_ORDER, AT_RANDOM))
    made = list(histories(files, files))
    pages, _ = foretold(traced(board, tmp_path / "t", made, command, **of))
    assert len(pages) > files
