# SPDX-License-Identifier: GPL-2.0-or-later
"""The page cache in a trace: how often it had the page, and how much of read-ahead was used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.traced.records import EventType, Recording
from nandlab.traced.tree import Tree

AHEAD, HIT, MISS = range(3)


@dataclass(frozen=True)
class PageCache:
    """All are numbers of pages, except ``windows``."""

    hits: int
    misses: int
    windows: int
    """Times that pages were read for a file, or read ahead."""
    ahead: int
    """Pages of these windows that no read had asked for yet."""
    used: int
    """Those of the pages ahead that a read found in the cache before they left it."""

    @property
    def hit_rate(self) -> float | None:
        asked = self.hits + self.misses
        return self.hits / asked if asked else None

    @property
    def wasted(self) -> int:
        """Pages read ahead that no read found until the end of the trace."""
        return self.ahead - self.used


def make_page_cache_counts(recording: Recording, tree: Tree) -> PageCache:
    """What a recording says of the page cache."""
    records = recording.records
    hits, misses = (
        int(recording.select_types(t)["size"].sum()) for t in (EventType.PC_HIT, EventType.PC_MISS)
    )
    windows = int(np.count_nonzero(records["type"] == EventType.RA_SUBMIT))
    ahead, used = _count_read_ahead(records, tree)
    return PageCache(hits, misses, windows, ahead, used)


def _count_read_ahead(records: NDArray[Any], tree: Tree) -> tuple[int, int]:
    """Counts pages read ahead, and those of them whose next event is a hit.

    A page of a window that the same call missed just before was asked for, not read ahead.
    """
    kind = np.full(256, -1)
    kind[[EventType.RA_SUBMIT, EventType.PC_HIT, EventType.PC_MISS]] = AHEAD, HIT, MISS
    indices = np.flatnonzero((kind[records["type"]] >= 0) & (records["size"] > 0))
    pages = records["size"][indices].astype(np.int64)
    if not len(indices):
        return 0, 0
    event = np.repeat(indices, pages)
    within = np.arange(len(event)) - np.repeat(np.cumsum(pages) - pages, pages)
    page = records["offset"][event].astype(np.int64) + within
    inode, device = records["object"][event], records["device"][event]
    order = np.lexsort((event, page, inode, device))
    event, event_kind = event[order], kind[records["type"][event[order]]]
    place = np.stack([a[order].astype(np.int64) for a in (device, inode, page)])
    same = (place[:, 1:] == place[:, :-1]).all(axis=0)
    call = tree.call[event]
    demanded = np.zeros(len(event), bool)
    demanded[1:] = same & (event_kind[:-1] == MISS) & (call[1:] == call[:-1]) & (call[1:] >= 0)
    ahead = (event_kind == AHEAD) & ~demanded
    hit_next = np.zeros(len(event), bool)
    hit_next[:-1] = same & (event_kind[1:] == HIT)
    return int(np.count_nonzero(ahead)), int(np.count_nonzero(ahead & hit_next))
