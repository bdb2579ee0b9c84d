# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of Linux's read-ahead: small cases worked by hand, and what must hold of all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.curves.readahead import ADVICES, CACHE_PAGE_BYTES, OpenFile
from nandlab.analysis.curves.readpoints import ModelledReads, model_reads_of_requests
from nandlab.analysis.curves.readrules import (
    READ_AHEAD_RULES,
    find_kernel_read_ahead_rule,
    find_read_ahead_rule_named,
)
from nandlab.base.errors import UsageError

PAGES = 1280
"""Of a file of 5 MiB."""
OLD, TODAY = ["2.6.37", "2.6.37-32bit"], ["5.10", "6.1", "6.12"]
every_rule = pytest.mark.parametrize("rule", OLD + TODAY)


def read(rule: str, pages: Iterable[int], kib: int = 128, **how: str) -> list[int]:
    """The pages read for requests of one page each."""
    found = model_reads_of_requests(
        [(page * CACHE_PAGE_BYTES, CACHE_PAGE_BYTES) for page in pages],
        PAGES * CACHE_PAGE_BYTES,
        kib,
        rule,
        **how,  # type: ignore[arg-type]
    )
    return list(found.pages)


def span(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


@every_rule
def test_a_stream_from_the_files_start_doubles_its_window(rule: str) -> None:
    assert read(rule, [0]) == span(0, 3)
    assert read(rule, [0, 1]) == span(0, 11)  # page 1 is marked: 8 pages from 4
    assert read(rule, span(0, 3)) == span(0, 11)
    assert read(rule, span(0, 4)) == span(0, 27)  # and 4, the first of those: 16
    assert read(rule, span(0, 12)) == span(0, 59)  # then 32, the most
    assert read(rule, span(0, 28)) == span(0, 91)


@every_rule
def test_a_read_far_from_all_others_is_read_as_it_is(rule: str) -> None:
    assert read(rule, [100, 300, 500]) == [100, 300, 500]


@pytest.mark.parametrize(
    ("rule", "then"),
    [("5.10", [102]), ("6.1", span(102, 105)), ("6.12", span(102, 105)), ("2.6.37", [102])],
)
def test_since_5_12_the_page_after_next_counts_as_next(rule: str, then: list[int]) -> None:
    """What the first model left out: a page read to its end leaves the position on the next."""
    assert read(rule, [100, 102]) == [100, *then]
    assert read(rule, [100, 103]) == [100, 103]


@pytest.mark.parametrize(
    ("rule", "then"), [("2.6.37", [50]), ("2.6.37-32bit", span(50, 53)), ("6.1", [50])]
)
def test_on_32_bits_any_step_back_was_a_stream(rule: str, then: list[int]) -> None:
    assert read(rule, [700, 50]) == [700, *then]


@every_rule
def test_one_cached_neighbour_was_enough(rule: str) -> None:
    """1 page of history and 1 asked: a window of 4 that is all ahead, so merged with 8 more."""
    found = read(rule, [700, 50, 800, 701, 900])
    if rule not in OLD:
        assert found == [700, 50, 800, 701, 900]
    elif rule == "2.6.37":
        assert found == [700, 50, 800, *span(701, 712), 900]
    else:  # each step back is a stream's first window, of 4
        assert found == [700, *span(50, 53), 800, *span(701, 704), 900]


@pytest.mark.parametrize("rule", TODAY)
def test_today_history_must_exceed_the_request(rule: str) -> None:
    apart = [50, 700, 51, 900]
    assert read(rule, apart) == apart
    assert read(rule, [*apart, 52]) == [*apart, 52, 53, 54]
    assert read(rule, [*apart, 52, 1000, 54]) == [*apart, 52, 53, 54, 1000, *span(55, 60)]


@pytest.mark.parametrize(("rule", "last"), [("5.10", 195), ("6.1", 195), ("6.12", 195)])
def test_a_request_larger_than_the_window_is_cut_and_read_on(rule: str, last: int) -> None:
    """32 pages from 100, of which the later half is ahead; then 32 at 116, 132 and so on."""
    found = model_reads_of_requests(
        [(100 * CACHE_PAGE_BYTES, 64 * CACHE_PAGE_BYTES)], PAGES * CACHE_PAGE_BYTES, 128, rule
    )
    assert found.pages == tuple(span(100, last))


def test_the_device_may_take_more_than_a_window() -> None:
    one = [(100 * CACHE_PAGE_BYTES, 64 * CACHE_PAGE_BYTES)]
    small = model_reads_of_requests(one, PAGES * CACHE_PAGE_BYTES, 16, "6.1")
    assert small.pages == tuple(span(100, 167))
    # the limit is the request now, so that it is a small random read
    large = model_reads_of_requests(one, PAGES * CACHE_PAGE_BYTES, 16, "6.1", hardware_pages=256)
    assert large.pages == tuple(span(100, 163))
    # 48 at most, of which 24 are ahead: the mark at 124 brings the 40 that are wanted from there,
    # the mark at 148, the first of those, the 16 that are wanted from there
    some = model_reads_of_requests(one, PAGES * CACHE_PAGE_BYTES, 16, "6.1", hardware_pages=48)
    assert some.pages == tuple(span(100, 147 + 40 + 16))


@every_rule
def test_without_a_window_just_what_is_missing_is_read(rule: str) -> None:
    assert read(rule, [5, 6, 7, 6, 0, 1, 5], kib=0) == [5, 6, 7, 0, 1]
    assert read(rule, [5, 6, 7, 6, 0], kib=0, access="mmap") == [5, 6, 7, 0]


@every_rule
def test_advice_of_reads(rule: str) -> None:
    assert read(rule, span(0, 40), advice="fadv_random") == span(0, 40)
    assert read(rule, span(0, 28), advice="fadv_sequential") == span(0, 123)  # 64 at last
    assert read(rule, span(0, 28), advice="fadv_normal") == span(0, 91)
    most = model_reads_of_requests(
        [(0, CACHE_PAGE_BYTES)], PAGES * CACHE_PAGE_BYTES, 128, rule, advice="fadv_willneed"
    )
    assert most.advised == (PAGES if rule in OLD else 32)
    assert most.pages == ()


@pytest.mark.parametrize("rule", TODAY)
def test_a_fault_reads_around_and_leaves_a_mark(rule: str) -> None:
    assert read(rule, [100], access="mmap") == span(84, 115)
    assert read(rule, [100, 107, 109], access="mmap") == span(84, 115)
    assert read(rule, [100, 108], access="mmap") == span(84, 147)
    assert read(rule, [100, 108], access="mmap", advice="fadv_random") == span(84, 147)
    assert read(rule, [100], access="mmap", advice="fadv_sequential") == span(68, 131)


@every_rule
def test_advice_of_a_mapping(rule: str) -> None:
    assert read(rule, [100, 101, 102], access="mmap", advice="madv_random") == [100, 101, 102]
    assert read(rule, [100, 105], access="mmap", advice="madv_sequential") == span(100, 131)


@pytest.mark.parametrize("rule", OLD)
def test_faults_in_sequence_were_a_stream(rule: str) -> None:
    assert read(rule, span(100, 115), access="mmap") == span(84, 115)
    ahead = read(rule, span(100, 116), access="mmap")
    assert ahead[:32] == span(84, 115)
    assert ahead[32] == 116
    assert len(ahead) > 64


@pytest.mark.parametrize(("rule", "pages"), [("2.6.37", 250), ("6.1", 300)])
def test_a_mapping_that_misses_too_often(rule: str, pages: int) -> None:
    """With windows of two pages: the old kernel gives up after 100 misses more than hits."""
    assert len(read(rule, range(8, 1208, 8), kib=8, access="mmap")) == pages


@pytest.mark.parametrize(("rule", "pages"), [("2.6.37", span(0, 3)), ("2.6.37-32bit", [0, 1])])
def test_a_first_fault_at_the_start_followed_on_64_bits(rule: str, pages: list[int]) -> None:
    """Before any read the last page is -1, which 0 - 1 equals on 64 bits alone."""
    assert read(rule, [0], kib=8, access="mmap") == pages


def test_a_new_mapping_takes_its_faults_anew() -> None:
    file = OpenFile(20 * CACHE_PAGE_BYTES, 32, find_read_ahead_rule_named("6.1"))
    file.touch(0)
    assert file.read == span(0, 7)
    file.touch(6)  # marked: pages 8 to 15, of which the first is marked
    file.touch(8)
    assert file.read == span(0, 19)
    file.map_again()
    file.touch(8)
    assert file.read == span(0, 19)


def test_flash_pages_are_whole_and_the_tail_is_short() -> None:
    whole = ModelledReads(5 * CACHE_PAGE_BYTES, (0, 4))
    assert (whole.flash(2048), whole.flash(512), whole.flash(4096)) == (4, 16, 2)
    assert ModelledReads(4 * CACHE_PAGE_BYTES + 2048, (0, 4)).flash(2048) == 3
    assert ModelledReads(4 * CACHE_PAGE_BYTES + 2049, (0, 4)).flash(2048) == 4
    with pytest.raises(UsageError, match="no whole number"):
        whole.flash(8192)


def test_the_kernels_rule_and_unknown_ones() -> None:
    assert find_kernel_read_ahead_rule("6.1.0-56-amd64").name == "6.1"
    assert find_read_ahead_rule_named("2013") is READ_AHEAD_RULES["6.1"]
    with pytest.raises(UsageError, match="4-amd64 is not modelled"):
        find_kernel_read_ahead_rule("4.19.0-4-amd64")
    with pytest.raises(UsageError, match="no rule of read-ahead 'new'"):
        find_read_ahead_rule_named("new")


@pytest.mark.parametrize(
    ("request_", "kib", "advice", "said"),
    [
        ((PAGES * CACHE_PAGE_BYTES, 1), 128, "none", "must begin in the file"),
        ((0, 0), 128, "none", "not be empty"),
        ((-1, 5), 128, "none", "must begin in the file"),
        ((0, 1), 6, "none", "a multiple of 4 KiB"),
        ((0, 1), 8, "noreuse", "no advice 'noreuse'"),
    ],
)
def test_what_cannot_be_is_refused(
    request_: tuple[int, int], kib: int, advice: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        model_reads_of_requests([request_], PAGES * CACHE_PAGE_BYTES, kib, advice=advice)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    """Requests in a file, near one another often enough for windows and marks to be met."""
    file_bytes = draw(st.integers(1, 200 * CACHE_PAGE_BYTES))
    offset = st.integers(0, file_bytes - 1)
    near = st.integers(0, min(file_bytes - 1, 12 * CACHE_PAGE_BYTES))
    length = st.one_of(st.just(CACHE_PAGE_BYTES), st.integers(1, 40 * CACHE_PAGE_BYTES))
    return draw(st.lists(st.tuples(st.one_of(offset, near), length), max_size=40)), file_bytes


def asked(requests: list[tuple[int, int]], file_bytes: int) -> list[int]:
    """The distinct pages asked for, in order."""
    end = -(-file_bytes // CACHE_PAGE_BYTES)
    spans = (
        range(at // CACHE_PAGE_BYTES, min(end, -(-(at + size) // CACHE_PAGE_BYTES)))
        for at, size in requests
    )
    return list(dict.fromkeys(page for pages in spans for page in pages))


@given(
    cases(),
    st.sampled_from(sorted(READ_AHEAD_RULES)),
    st.integers(0, 32).map(lambda pages: 4 * pages),
    st.sampled_from(["read", "mmap"]),
    st.sampled_from(ADVICES),
)
def test_no_page_is_read_twice_or_beyond_the_file_and_none_is_left_out(
    case: tuple[list[tuple[int, int]], int], rule: str, kib: int, access: str, advice: str
) -> None:
    requests, file_bytes = case

    def again() -> list[int]:
        file = OpenFile(file_bytes, kib, find_read_ahead_rule_named(rule), advice)
        for offset, length in requests:
            file.request(offset, length, access)  # type: ignore[arg-type]
        return file.read

    found = again()
    assert len(found) == len(set(found))
    assert set(found) <= set(range(-(-file_bytes // CACHE_PAGE_BYTES)))
    assert set(found) >= set(asked(requests, file_bytes))
    assert again() == found
    if not kib and not advice.endswith("willneed"):
        assert found == asked(requests, file_bytes)


@every_rule
def test_a_file_opened_again_keeps_its_pages_but_no_stream(rule: str) -> None:
    file = OpenFile(PAGES * CACHE_PAGE_BYTES, 128, find_read_ahead_rule_named(rule))
    file.request(0, CACHE_PAGE_BYTES, "read")
    file.open_again()
    file.request(0, CACHE_PAGE_BYTES, "read")
    assert file.read == span(0, 3)
    file.request(100 * CACHE_PAGE_BYTES, CACHE_PAGE_BYTES, "read")
    assert file.read == [*span(0, 3), 100]  # at random: no stream leads there


@every_rule
def test_what_is_written_is_not_read_and_the_file_grows(rule: str) -> None:
    file = OpenFile(CACHE_PAGE_BYTES, 0, find_read_ahead_rule_named(rule))
    file.written(CACHE_PAGE_BYTES + 5, 10)
    file.written(9 * CACHE_PAGE_BYTES, 2 * CACHE_PAGE_BYTES)
    assert (file.bytes, file.pages) == (11 * CACHE_PAGE_BYTES, 11)
    file.request(0, 11 * CACHE_PAGE_BYTES, "read")
    assert file.read == [0, *span(2, 8)]
    with pytest.raises(UsageError, match="must not be empty"):
        file.written(0, 0)
