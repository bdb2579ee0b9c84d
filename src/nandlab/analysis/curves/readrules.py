# SPDX-License-Identifier: GPL-2.0-or-later
"""How the read-ahead of one Linux differs from another's: a rule for each kernel that is modelled.

Sources are mm/readahead.c and mm/filemap.c of these kernels. The function that a field is about is
named there; docs/read-ahead.md has the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from nandlab.base.errors import UsageError


@dataclass(frozen=True)
class ReadAheadRule:
    """How one kernel decides, where the kernels differ."""

    name: str
    summary: str
    neighbour_is_enough: bool = False
    """A read behind any cached page counts as one of a stream (try_context_readahead before
    "readahead: make context readahead more conservative", 3.12)."""
    backward_is_sequential: bool = False
    """A miss anywhere before the last read counts as sequential: on 32 bits the difference of their
    pages was signed ("readahead: fix sequential read cache miss detection", 3.13)."""
    all_history_counts: bool = False
    """History as long as the window counts in full. Since 4.20 (page_cache_prev_miss) a search that
    finds no hole names the last page it looked at, so a page of it is lost."""
    full_window_cancels_mark: bool = False
    """A mark is ignored where as many pages as a window are cached behind it. From 4.20
    (page_cache_next_miss) to 6.10 the search named the last page it looked at as the hole."""
    before_clamping: bool = False
    """A window that passes the end of the file keeps its mark where it would have been; since 5.8
    (__do_page_cache_readahead) the window is cut first and the mark moves with its end."""
    window_may_exceed: bool = False
    """A window merged with the next may exceed the limit; since 4.10 (ondemand_readahead) not."""
    mapped_by_fault: bool = False
    """A fault maps one page, and a mapping has the rules of before 3.0 and 3.15
    (do_sync_mmap_readahead): faults in sequence count as sequential reads, and no mark is left."""
    position: Literal["page", "batch", "request"] = "batch"
    """The position that the next miss is compared with. ``page``: the last page read, known once
    the request is done (do_generic_file_read, to 5.11). ``batch``, ``request``: the byte after the
    last one, known after each batch of pages (filemap_read) or after the request (since 6.9). A
    read that ends with its page is thus followed by the next two pages, not by itself and one."""
    batch: int = 15
    """The most pages that a read takes from the cache at once (filemap_get_read_batch)."""
    apart: bool = False
    """A miss and a mark have each their own rules (page_cache_sync_ra, page_cache_async_ra, since
    6.11): a miss where the last window ends no longer pushes the window on."""


_RULE_BEFORE_3_12 = ReadAheadRule(
    "2.6.37",
    "Linux 2.6.31 to 3.11 on 64 bits",
    neighbour_is_enough=True,
    all_history_counts=True,
    full_window_cancels_mark=True,
    before_clamping=True,
    window_may_exceed=True,
    mapped_by_fault=True,
    position="page",
)
_KERNEL_RULES = (
    _RULE_BEFORE_3_12,
    replace(
        _RULE_BEFORE_3_12,
        name="2.6.37-32bit",
        summary="Linux 2.6.31 to 3.11 on 32 bits, as on the Omap3evm",
        backward_is_sequential=True,
    ),
    ReadAheadRule("5.10", "Linux 5.10", position="page"),
    ReadAheadRule("6.1", "Linux 6.1"),
    ReadAheadRule(
        "6.12",
        "Linux 6.12",
        full_window_cancels_mark=True,
        position="request",
        batch=31,
        apart=True,
    ),
)
READ_AHEAD_RULES = {rule.name: rule for rule in _KERNEL_RULES} | {"2013": _KERNEL_RULES[3]}
"""The rules by kernel. ``2013`` is the rule of today, as 6.1 has it."""


def find_read_ahead_rule_named(name: str) -> ReadAheadRule:
    """The rule of that name; UsageError if there is none."""
    if name not in READ_AHEAD_RULES:
        raise UsageError(f"no rule of read-ahead {name!r}: one of {', '.join(READ_AHEAD_RULES)}")
    return READ_AHEAD_RULES[name]


def find_kernel_read_ahead_rule(release: str) -> ReadAheadRule:
    """The rule of a kernel by its release, such as 6.1.0-56-amd64; UsageError if unknown."""
    series = ".".join(release.split(".")[:2])
    if series not in READ_AHEAD_RULES:
        raise UsageError(
            f"read-ahead of Linux {release} is not modelled: only {', '.join(READ_AHEAD_RULES)}"
        )
    return READ_AHEAD_RULES[series]
