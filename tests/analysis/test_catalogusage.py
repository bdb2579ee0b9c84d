# SPDX-License-Identifier: GPL-2.0-or-later
"""What of the catalog a trial used: a text that only tells where something is read is no change."""

from __future__ import annotations

import pytest
from support import samples

from nandlab.analysis.differences.catalogusage import select_used_catalog_entries
from nandlab.results.record import Trial


def yaffs2(**wear: object) -> Trial:
    """A trial of YAFFS2 whose catalog file has these words of its wear."""
    entry = samples.catalog_entry("yaffs2")
    sources = {"filesystem": entry | {"wear": wear}}
    return samples.trial("yaffs2").add_sources(sources)


@pytest.mark.parametrize(("key", "used"), [("source", False), ("figure", True)])
def test_where_it_is_read_is_not_what_ran(key: str, used: bool) -> None:
    one, other = (select_used_catalog_entries(yaffs2(**{key: text})) for text in ("a", "b"))
    assert (one != other) is used


def test_what_draws_and_reads_a_file_system_is_not_what_ran() -> None:
    """A colour and a decoder came to the catalog after trials that are published."""
    entry = samples.catalog_entry("yaffs2")
    before = samples.trial("yaffs2").add_sources(
        {"filesystem": {k: v for k, v in entry.items() if k not in ("colour", "decoder")}}
    )
    after = samples.trial("yaffs2").add_sources(
        {"filesystem": entry | {"colour": "#123456", "decoder": "yaffs1"}}
    )
    assert select_used_catalog_entries(before) == select_used_catalog_entries(after)
