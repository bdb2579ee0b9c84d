# SPDX-License-Identifier: GPL-2.0-or-later
"""Which pages Linux reads into its cache for a list of requests: a model of its read-ahead.

It follows mm/readahead.c and mm/filemap.c of the kernels in
:mod:`nandlab.analysis.curves.readrules`, for
one open file, one process, no page of the file cached at first and none lost on the way, folios of
one page, and an uncongested device. docs/read-ahead.md explains it, and says what was checked.

The unit is the cache page of 4096 bytes. How many flash pages one costs is the file system's
affair: see :mod:`nandlab.analysis.curves.readpoints`.
"""

from __future__ import annotations

from typing import Literal

from nandlab.analysis.curves.readrules import ReadAheadRule
from nandlab.base.errors import UsageError

CACHE_PAGE_BYTES = 4096
"""Bytes of a cache page."""
LOTS_OF_MISSES = 100
"""Misses by which a mapping's misses exceed its hits once reading around stops: MMAP_LOTSAMISS."""

ReadAccess = Literal["read", "mmap"]
ADVICES = (
    "none",
    "fadv_normal",
    "fadv_random",
    "fadv_sequential",
    "fadv_willneed",
    "madv_normal",
    "madv_random",
    "madv_sequential",
    "madv_willneed",
)
"""Advice by its call: posix_fadvise(2) on the open file, madvise(2) on its mapping, each on all of
the file before the first request."""


class OpenFile:
    """A file just opened, with nothing cached: what each request makes the kernel read."""

    def __init__(
        self,
        file_bytes: int,
        read_ahead_kib: int,
        rule: ReadAheadRule,
        advice: str = "none",
        hardware_pages: int = 0,
    ) -> None:
        """``read_ahead_kib`` is read_ahead_kb of the file's device (bdi).

        ``hardware_pages`` is the device's largest request (bdi->io_pages), to which a request may
        exceed the window: 0 for MTD and UBIFS, max_sectors_kb / 4 for a block device.
        """
        if file_bytes <= 0 or read_ahead_kib < 0 or read_ahead_kib % 4:
            raise UsageError(
                f"read-ahead of {read_ahead_kib} KiB on a file of {file_bytes} bytes: the file must"
                " not be empty, and the window must be a multiple of 4 KiB"
            )
        if advice not in ADVICES:
            raise UsageError(f"no advice {advice!r}: one of {', '.join(ADVICES)}")
        self.bytes = file_bytes
        self.pages = -(-file_bytes // CACHE_PAGE_BYTES)
        self.rule = rule
        self.advice = advice
        self.hardware_pages = 0 if rule.window_may_exceed else hardware_pages
        self.window = (
            read_ahead_kib * 1024 // CACHE_PAGE_BYTES * (2 if advice == "fadv_sequential" else 1)
        )
        """Pages of a window at most (ra_pages); POSIX_FADV_SEQUENTIAL doubles it."""
        self.read: list[int] = []
        """Each page that was read from the file system, in the order of reading."""
        self.advised = 0
        """How many of them the advice itself made the kernel read, before the first request."""
        self._cached = bytearray(self.pages)
        self._marked: set[int] = set()
        self._mapped: set[int] = set()
        self._start = self._size = self._ahead = 0
        self._last = -1
        self._misses = 0
        if advice.endswith("_willneed"):
            self._forced(0, self.pages)
            self.advised = len(self.read)

    def open_again(self) -> None:
        """The file is opened anew: its pages stay in the cache, but no stream is known."""
        self._start = self._size = self._ahead = 0
        self._last = -1
        self._misses = 0

    def written(self, offset: int, length: int) -> None:
        """A write(2): its pages are then in the cache, and the file may be longer."""
        if offset < 0 or length <= 0:
            raise UsageError(f"a write of {length} bytes at {offset}: it must not be empty")
        self.bytes = max(self.bytes, offset + length)
        self.pages = -(-self.bytes // CACHE_PAGE_BYTES)
        self._cached.extend(bytes(self.pages - len(self._cached)))
        for page in range(offset // CACHE_PAGE_BYTES, -(-(offset + length) // CACHE_PAGE_BYTES)):
            self._cached[page] = 1

    def map_again(self) -> None:
        """A new mapping takes the place of the old: no page of it is mapped."""
        self._mapped.clear()

    def request(self, offset: int, length: int, access: ReadAccess) -> None:
        """One request, by read(2) or by touching each page of a mapping in turn."""
        if not 0 <= offset < self.bytes or length <= 0:
            raise UsageError(
                f"a request of {length} bytes at {offset} in a file of {self.bytes}: it must begin"
                " in the file and not be empty"
            )
        if access == "mmap":
            for page in range(
                offset // CACHE_PAGE_BYTES,
                min(self.pages, -(-(offset + length) // CACHE_PAGE_BYTES)),
            ):
                self.touch(page)
        elif self.rule.position == "page":
            self._read_by_page(offset, length)
        else:
            self._read_by_batch(offset, length)

    # read(2)

    def _read_by_page(self, offset: int, length: int) -> None:
        """do_generic_file_read (2.6.37), generic_file_buffered_read (5.10)."""
        end = -(-(offset + length) // CACHE_PAGE_BYTES)
        for page in range(offset // CACHE_PAGE_BYTES, min(end, self.pages)):
            if not self._cached[page]:
                self._miss(page, end - page)
                if not self._cached[page]:
                    self._fetch(page)
            if page in self._marked:
                self._mark_hit(page, end - page)
        self._last = min(end, self.pages) - 1

    def _read_by_batch(self, offset: int, length: int) -> None:
        """filemap_read with filemap_get_pages (6.1, 6.12)."""
        end = -(-(offset + length) // CACHE_PAGE_BYTES)
        stop = min(offset + length, self.bytes)
        page = offset // CACHE_PAGE_BYTES
        while page * CACHE_PAGE_BYTES < stop:
            batch = self._batch(page, end)
            if not batch:
                self._miss(page, end - page)
                batch = self._batch(page, end)
            if not batch:
                self._fetch(page)
                batch = 1
            elif page + batch - 1 in self._marked:
                self._mark_hit(page + batch - 1, end - page - batch + 1)
            page += batch
            if self.rule.position == "batch":
                self._last = min(page * CACHE_PAGE_BYTES, stop) // CACHE_PAGE_BYTES
        self._last = stop // CACHE_PAGE_BYTES

    def _batch(self, page: int, end: int) -> int:
        """How many pages one turn takes: cached ones, no further than a marked one."""
        end = min(end, page + self.rule.batch, self.pages)
        hole = self._cached.find(0, page, end)
        if hole >= 0:
            end = hole
        return next((at + 1 for at in range(page, end) if at in self._marked), end) - page

    # mmap(2)

    def touch(self, page: int) -> None:
        """A load from a mapped page: filemap_fault if the page is not mapped yet.

        Since 3.15 a fault maps the cached pages around it as well (do_fault_around), but no marked
        one. Each page so mapped counts as a hit, so misses never come to exceed hits there, and
        which neighbours are mapped does not matter to what is read.
        """
        if page in self._mapped:
            return
        heeds = self.advice != "madv_random"
        if not self._cached[page]:
            if heeds and self.window:
                self._fault_miss(page)
            if not self._cached[page]:
                self._fetch(page)
        elif heeds:
            self._misses = max(0, self._misses - 1)
            if page in self._marked:
                self._mark_hit(page, self.window)
        self._mapped.add(page)
        if self.rule.mapped_by_fault:
            self._last = page

    def _fault_miss(self, page: int) -> None:
        """do_sync_mmap_readahead: as a stream, or the window around the page."""
        follows = self.rule.mapped_by_fault and page - 1 == self._last
        if self.rule.backward_is_sequential and page == 0:
            follows = False  # 0 - 1 is no -1 where the one has 32 bits and the other 64
        if self.advice == "madv_sequential" or follows:
            self._miss(page, self.window)
            return
        self._misses += 1
        if self._misses > LOTS_OF_MISSES:
            return
        self._start, self._size = max(0, page - self.window // 2), self.window
        self._ahead = 0 if self.rule.mapped_by_fault else self.window // 4
        self._submit()
        if not self.rule.mapped_by_fault:
            self._misses -= 1  # the fault is taken again, and maps the page as a hit

    # What is read at a miss and at a mark

    def _limit(self, asked: int) -> int:
        """Pages of a window at most; a request may exceed it as far as the device takes one."""
        return max(self.window, min(asked, self.hardware_pages))

    def _miss(self, page: int, request_pages: int) -> None:
        """page_cache_sync_readahead: a page is missing, ``asked`` pages are wanted from there."""
        limit = self._limit(request_pages)
        if not self.window:
            return
        if self.advice == "fadv_random":
            self._forced(page, request_pages)
        elif page == 0:
            self._begin(page, request_pages, limit)
        elif not self.rule.apart and self._expected(page):
            self._push_on(page, limit)
        elif request_pages > limit or self._sequential(page):
            self._begin(page, request_pages, limit)
        else:
            self._by_context(page, request_pages, limit)

    def _mark_hit(self, page: int, request_pages: int) -> None:
        """page_cache_async_readahead: a marked page is used, so the next window is due."""
        limit = self._limit(request_pages)
        self._marked.discard(page)
        if page == 0 and not self.rule.apart:
            self._begin(page, request_pages, limit)
        elif self._expected(page):
            self._push_on(page, limit)
        else:
            self._by_mark(page, request_pages, limit)

    def _forced(self, page: int, asked: int) -> None:
        """force_page_cache_readahead: what is asked for, no more than a window, and no mark."""
        if not self.rule.window_may_exceed:
            asked = min(asked, max(self.hardware_pages, self.window))
        self._fetch_window(page, asked, 0)

    def _expected(self, page: int) -> bool:
        """Whether a stream would come here next: to its mark, or to the end of its window."""
        end = self._start + self._size
        return page == end - self._ahead or (page == end and not self.rule.apart)

    def _sequential(self, page: int) -> bool:
        """Whether the page is where the last read ended, or the one behind."""
        step = page - self._last
        return step <= 1 and (step >= 0 or self.rule.backward_is_sequential)

    def _begin(self, page: int, asked: int, limit: int) -> None:
        """A stream's first window: initial_readahead."""
        self._start, self._size = page, compute_initial_window_pages(asked, limit)
        if self._size > asked:
            self._ahead = self._size - asked
        else:
            self._ahead = self._size // 2 if self.rule.apart else self._size
        self._submit_merged(page, limit)

    def _push_on(self, page: int, limit: int) -> None:
        """The stream's next window."""
        self._start += self._size
        self._size = self._ahead = compute_next_window_pages(self._size, limit)
        self._submit_merged(page, limit)

    def _by_context(self, page: int, request_pages: int, limit: int) -> None:
        """try_context_readahead: do the pages cached before this one look like a stream's?"""
        hole = self._cached.rfind(0, max(0, page - limit), page)
        history = page - 1 - hole if hole >= 0 else min(page, limit)
        if not self.rule.all_history_counts:
            history = min(history, limit - 1)
        if history <= (0 if self.rule.neighbour_is_enough else request_pages):
            self._fetch_window(page, request_pages, 0)  # a small random read: as it is
            return
        if history >= page:  # cached from the file's first page
            history *= 2
        self._start = page
        if self.rule.neighbour_is_enough:
            self._size = self._ahead = compute_initial_window_pages(history + request_pages, limit)
        else:
            self._size, self._ahead = min(history + request_pages, limit), 1
        self._submit_merged(page, limit)

    def _by_mark(self, page: int, request_pages: int, limit: int) -> None:
        """A mark of another stream's window: go on behind the pages cached from here."""
        hole = self._cached.find(0, page + 1, page + 1 + limit)
        if hole < 0:  # the pages behind the file's end are never cached
            hole = min(self.pages, page + limit + (1 if self.rule.full_window_cancels_mark else 0))
        if hole - page > limit:
            return
        self._start = hole
        self._size = self._ahead = compute_next_window_pages(hole - page + request_pages, limit)
        self._submit_merged(page, limit)

    def _submit_merged(self, page: int, limit: int) -> None:
        """ondemand_readahead's readit: a window that is all ahead would meet its own mark at once,
        so the next one is merged into it."""
        if not self.rule.apart and page == self._start and self._size == self._ahead:
            more = compute_next_window_pages(self._size, limit)
            if self._size + more <= limit or self.rule.window_may_exceed:
                self._size, self._ahead = self._size + more, more
            else:
                self._size, self._ahead = limit, limit // 2
        self._submit()

    def _submit(self) -> None:
        self._fetch_window(self._start, self._size, self._ahead)

    def _fetch_window(self, start: int, size: int, ahead: int) -> None:
        """do_page_cache_ra: the pages that are missing; the first of those ahead is marked."""
        mark = start + size - ahead
        stop = min(start + size, self.pages)
        if not self.rule.before_clamping:
            mark = stop - ahead
        for page in range(start, stop):
            if not self._cached[page]:
                self._fetch(page)
                if page == mark:
                    self._marked.add(page)

    def _fetch(self, page: int) -> None:
        self._cached[page] = 1
        self.read.append(page)


def compute_initial_window_pages(asked: int, limit: int) -> int:
    """Pages of a stream's first window: get_init_ra_size."""
    size = 1 << (asked - 1).bit_length()
    if size <= limit // 32:
        return size * 4
    if size <= limit // 4:
        return size * 2
    return limit


def compute_next_window_pages(size: int, limit: int) -> int:
    """Pages of a stream's next window: get_next_ra_size."""
    return min(size * (4 if size < limit // 16 else 2), limit)
