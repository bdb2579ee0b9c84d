# SPDX-License-Identifier: GPL-2.0-or-later
"""What Linux would read for the points of readbench, or for any list of requests, by its rule.

A point's requests are made here as device/programs/readbench makes them (places.c), from the
attributes of its phase and the trial's seed. So a measured point has a modelled one beside it: of
the board's own kernel, or of one that no board runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nandlab.analysis.curves.readahead import CACHE_PAGE_BYTES, OpenFile, ReadAccess
from nandlab.analysis.curves.readrules import ReadAheadRule, find_read_ahead_rule_named
from nandlab.base.errors import UsageError

PointAttributes = Mapping[str, int | float | str]
"""Attributes of a readbench phase (Phase.at): pattern, count, size, file_bytes, access, advice; of
a stride ``stride``, of a head ``head`` and ``files``, of a file that is opened for each request
``reopen``."""
ReadRequest = tuple[int, int]
"""Offset and length, bytes."""

MASK_64_BITS = (1 << 64) - 1


@dataclass(frozen=True)
class ModelledReads:
    """The cache pages that the file system is asked for."""

    file_bytes: int
    pages: tuple[int, ...]
    """For the requests, by number in the file and in order. Of several files: one after another."""
    advised: int = 0
    """How many more the advice had read before the first request (WILLNEED)."""

    def flash(self, page_bytes: int) -> int:
        """Reads of flash pages of so many bytes that the requests cost, where the file system keeps
        data in whole flash pages of their own (YAFFS2 without inband tags), the file has no holes,
        and a cache page has a whole number of them. UsageError if it has not."""
        if page_bytes <= 0 or CACHE_PAGE_BYTES % page_bytes:
            raise UsageError(
                f"flash pages of {page_bytes} bytes: a cache page of {CACHE_PAGE_BYTES} is no "
                f"whole number of"
                " them, so what it costs depends on the file system's own cache"
            )
        return sum(
            -(-min(CACHE_PAGE_BYTES, self.file_bytes - at * CACHE_PAGE_BYTES) // page_bytes)
            for at in self.pages
        )


def model_reads_of_requests(
    requests: Iterable[ReadRequest],
    file_bytes: int,
    read_ahead_kib: int,
    rule: ReadAheadRule | str = "2013",
    *,
    access: ReadAccess = "read",
    advice: str = "none",
    hardware_pages: int = 0,
    reopen: bool = False,
) -> ModelledReads:
    """What requests on one file make the kernel read, such as the list of SQLite's pread64.

    Nothing of the file is cached. It is opened once or, with ``reopen``, for each request. See
    :class:`OpenFile` for the window, the advice and ``hardware_pages``. UsageError on a request,
    advice or rule that cannot be, and on advice with ``reopen``, which is not modelled.
    """
    if reopen and advice != "none":
        raise UsageError(f"advice {advice} on a file that is opened for each request: not modelled")
    chosen = find_read_ahead_rule_named(rule) if isinstance(rule, str) else rule
    file = OpenFile(file_bytes, read_ahead_kib, chosen, advice, hardware_pages)
    for offset, length in requests:
        if reopen:
            file.open_again()
            file.map_again()
        file.request(offset, length, access)
    return ModelledReads(file_bytes, tuple(file.read[file.advised :]), file.advised)


def model_point_reads(
    attributes: PointAttributes,
    seed: int,
    read_ahead_kib: int,
    rule: ReadAheadRule | str = "2013",
    *,
    hardware_pages: int = 0,
) -> ModelledReads:
    """What one point of readbench makes the kernel read.

    ``attributes`` are its phase's, ``seed`` the trial's. Of a head of several files, all must
    have the same size. UsageError if a point cannot be modelled.
    """
    files = int(attributes.get("files", 1))
    total = int(attributes["file_bytes"])
    if total % files:
        raise UsageError(f"{files} files of {total} bytes: files of drawn sizes are not modelled")
    file_reads = model_reads_of_requests(
        list_point_read_requests(attributes, total // files, seed),
        total // files,
        read_ahead_kib,
        rule,
        access="mmap" if attributes["access"] == "mmap" else "read",
        advice=str(attributes["advice"]),
        hardware_pages=hardware_pages,
        reopen=bool(attributes.get("reopen")),
    )
    return ModelledReads(
        file_reads.file_bytes, file_reads.pages * files, file_reads.advised * files
    )


def compute_read_ahead_gain(
    attributes: PointAttributes,
    seed: int,
    on_kib: int,
    rule: ReadAheadRule | str = "2013",
    *,
    off_kib: int = 0,
) -> float:
    """The part of the cache pages read with read-ahead that turning it off saves: 1 - off/on.

    Below 0 it costs pages. On YAFFS2 that is the part of the flash reads, but for the file's tail.
    """
    off, on = (
        len(model_point_reads(attributes, seed, kib, rule).pages) for kib in (off_kib, on_kib)
    )
    return 1 - off / on if on else 0.0


# The requests, as places.c has them


def generate_splitmix64(seed: int) -> Iterator[int]:
    """SplitMix64: payload_draw of device/programs/lib, from that state on."""
    state = seed & MASK_64_BITS
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK_64_BITS
        mixed = state
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & MASK_64_BITS
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & MASK_64_BITS
        yield mixed ^ mixed >> 31


def list_point_read_requests(
    attributes: PointAttributes, file_bytes: int, seed: int
) -> list[ReadRequest]:
    """A point's requests on one file, in order; UsageError on a pattern that readbench has not."""
    size, pattern = int(attributes["size"]), str(attributes["pattern"])
    count = (
        _count_head_requests(attributes, file_bytes)
        if pattern == "head"
        else int(attributes["count"])
    )
    units = file_bytes // size
    draw = generate_splitmix64(~seed)
    if pattern in ("sequential", "head"):
        offsets = [i * size for i in range(count)]
    elif pattern == "backward":
        offsets = [(units - 1 - i) * size for i in range(count)]
    elif pattern == "stride":
        offsets = [i * int(attributes["stride"]) * size for i in range(count)]
    elif pattern == "random":
        offsets = [unit * size for unit in _shuffle_units(units, count, draw)]
    elif pattern == "random_replace":
        offsets = [next(draw) % units * size for _ in range(count)]
    elif pattern == "random_unaligned":
        offsets = [next(draw) % (file_bytes - size + 1) for _ in range(count)]
    else:
        raise UsageError(f"the pattern {pattern!r} of readbench is not modelled")
    return [(offset, min(size, file_bytes - offset)) for offset in offsets]


def _count_head_requests(at: PointAttributes, file_bytes: int) -> int:
    """Requests of a file's first percent; all of it has its tail too."""
    size, percent = int(at["size"]), int(at["head"])
    if percent == 100:
        return -(-file_bytes // size)
    return max(1, file_bytes * percent // 100 // size)


def _shuffle_units(units: int, count: int, draw: Iterator[int]) -> list[int]:
    """The first places of a file's, shuffled (Fisher and Yates)."""
    unit = list(range(units))
    for i in range(count):
        j = i + next(draw) % (units - i)
        unit[i], unit[j] = unit[j], unit[i]
    return unit[:count]
