# SPDX-License-Identifier: GPL-2.0-or-later
"""From a program's system calls to the calls of the file system that follow: Linux's page cache.

A page of 4096 bytes is read from the file system once, and then is in the cache. Reading ahead is
:mod:`nandlab.analysis.curves.readahead`'s. What system calls do not tell is chosen:
a :class:`CacheChoice`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.analysis.curves.readahead import CACHE_PAGE_BYTES, OpenFile
from nandlab.analysis.curves.readrules import find_read_ahead_rule_named
from nandlab.traced.boardtraces import SystemCall

READ_AHEAD_RULE = find_read_ahead_rule_named("2.6.37-32bit")
"""Of the kernels up to 3.11, on 32 bits: the board's own is not told."""


@dataclass(frozen=True)
class CacheChoice:
    """What is chosen of a board's page cache."""

    read_ahead_kib: int
    """Of the device; 0: off."""
    forgets: bool
    """Whether the cache is emptied before an open while no file is open, as by drop_caches."""

    @property
    def words(self) -> str:
        ahead = f"{self.read_ahead_kib} KiB" if self.read_ahead_kib else "off"
        kept = "emptied" if self.forgets else "kept"
        return f"read-ahead {ahead}, cache {kept} between opens"


CACHE_CHOICES = (
    CacheChoice(128, True),
    CacheChoice(128, False),
    CacheChoice(0, True),
    CacheChoice(0, False),
)
"""Those that a score chooses among, Linux's default first: of equals the first is taken."""


def find_initial_file_sizes(calls: Sequence[SystemCall]) -> dict[str, int]:
    """File -> the bytes that it must have had at first: what was read of it and not written before.

    It may have been longer, so this is the least that agrees with the calls.
    """
    sizes: dict[str, int] = {}
    written: Counter[str] = Counter()
    for call in calls:
        end = call.offset + call.size
        if not call.size:
            continue
        if call.call == "write":
            written[call.file] = max(written[call.file], end)
        elif end > written[call.file]:
            sizes[call.file] = max(sizes.get(call.file, 0), end)
    return sizes


def count_page_reads_per_call(calls: Sequence[SystemCall], cache: CacheChoice) -> list[int]:
    """How many pages each read(2) makes the file system read; those that need none are left out."""
    sizes = find_initial_file_sizes(calls)
    files: dict[str, OpenFile] = {}
    open_counts: Counter[str] = Counter()
    page_counts: list[int] = []
    for call in calls:
        if call.call == "open":
            if cache.forgets and not open_counts.total():
                files.clear()
            if call.file in files:
                files[call.file].open_again()
            open_counts[call.file] += 1
        elif call.call == "close":
            open_counts[call.file] = max(0, open_counts[call.file] - 1)
        elif call.size:
            if call.call == "write":
                sizes[call.file] = max(sizes.get(call.file, 0), call.offset + call.size)
            if call.file not in files:
                files[call.file] = OpenFile(sizes[call.file], cache.read_ahead_kib, READ_AHEAD_RULE)
            page_counts.append(_count_pages_read(files[call.file], call))
    return [pages for pages in page_counts if pages]


def _count_pages_read(file: OpenFile, call: SystemCall) -> int:
    before = len(file.read)
    if call.call == "write":
        file.written(call.offset, call.size)
    else:
        file.request(call.offset, call.size, "read")
    return len(file.read) - before


def count_page_writes(calls: Sequence[SystemCall]) -> int:
    """How many times the writes touch a page: each begins and ends a page's write once."""
    return sum(
        (c.offset + c.size - 1) // CACHE_PAGE_BYTES - c.offset // CACHE_PAGE_BYTES + 1
        for c in calls
        if c.call == "write" and c.size
    )
