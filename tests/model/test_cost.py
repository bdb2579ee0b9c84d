# SPDX-License-Identifier: GPL-2.0-or-later
"""What a call costs: work counted by hand, the chip's time for a page, prices of the catalog."""

from __future__ import annotations

import re

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load, names
from nandlab.kit.kit import kernel_release
from nandlab.model import cost, lookup
from nandlab.model.cost import KINDS, Rates, ReadCosts
from nandlab.model.reads import PageBuffer, Pieces, Read, call
from nandlab.onflash.layout import HOLE, Layout, Piece

FLASH, HEADER = 2048, 68


def layout(*pieces: Piece, nodes: tuple[int, ...] = ()) -> Layout:
    told = {2: list(nodes)}
    return Layout(
        "jffs2", 1 << 20, 1 << 17, FLASH, [], {2: "/a"}, {2: 4096}, list(pieces), {}, told
    )


def work(*pieces: Piece) -> dict[str, float]:
    found = cost.work(call("jffs2", Pieces(layout(*pieces), 2), 0, PageBuffer(FLASH)))
    return {kind: count for kind, count in found.items() if count}


def test_a_page_in_one_node() -> None:
    # header, then 1980 bytes of its page, a whole page, and 68 bytes of the next
    assert work(Piece(2, 0, 4096, HEADER, 4096, 0, "", 4096)) == {
        "call": 1, "node": 1, "data": 1, "page": 3, "hit": 1,
        "buffered_byte": HEADER + 1980 + 68, "stored_byte": 4096,
    }  # fmt: skip


def test_a_part_of_a_node_and_a_gap() -> None:
    assert work(Piece(2, 100, 50, HEADER, 500, 0, "", 500)) == {
        "call": 1, "node": 1, "data": 1, "page": 1, "hit": 1, "buffered_byte": HEADER + 500,
        "stored_byte": 500, "part": 1, "part_byte": 50, "zero_byte": 4046,
    }  # fmt: skip


def test_zeroes_and_what_is_packed() -> None:
    zeroes = Piece(2, 0, 1000, HEADER, 0, 0, HOLE, 1000)
    packed = Piece(2, 1000, 3096, 8 * FLASH + HEADER, 774, 0, "lzo", 3096)
    assert work(zeroes, packed) == {
        "call": 1, "node": 2, "data": 1, "page": 2, "hit": 1, "zero_byte": 1000,
        "buffered_byte": 2 * HEADER + 774, "stored_byte": 774,
        "lzo_node": 1, "lzo_stored_byte": 774, "lzo_plain_byte": 3096,
        "lzo_saved_byte": 774 * 0.75,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("part", "ns"),
    [
        ("apf27", 7 * 35 + 25_000 + 1056 * 35),
        ("omap3evm", 182_660),
        ("nandsim-small", None),
    ],
)
def test_the_chips_time_for_a_page(part: str, ns: int | None) -> None:
    chip = load("chips", part, ChipModel)
    if ns is None:  # a command, an address of one column and its rows, 528 bytes
        t = chip.timing
        rows = 3 if chip.geometry.blocks * 32 > 65536 else 2
        ns = (2 + rows) * t.t_wc_ns + t.t_r_ns + 528 * t.t_rc_ns
    assert cost.page_ns(chip) == ns


def test_time_is_the_chips_and_the_instructions() -> None:
    rates = Rates(1000, 4, {"call": 10, "node": 2.5, "page": 7, "paper": 30})
    assert rates.ns({"call": 1, "node": 4}, 3) == 3 * 1000 + 4 * (10 + 10)
    assert rates.paper_ns(3) == 3 * 1000 + 4 * (3 * 7 + 30)
    with pytest.raises(UsageError, match="rtime_node: what it costs is not measured"):
        rates.ns({"rtime_node": 1}, 0)


def test_the_catalogs_prices_are_of_all_kinds_and_of_the_boards_kernels() -> None:
    prices = cost.read()
    for board in names("boards"):
        model = load("boards", board, BoardModel)
        assert set(prices.of(".".join(kernel_release(model).split(".")[:2]))) == set(KINDS)
    with pytest.raises(UsageError, match=r"Linux 4\.4: what reading costs there is not measured"):
        prices.of("4.4")
    with pytest.raises(ValueError, match=re.escape("kernels 6.1")):
        ReadCosts(kernels={"6.1": {"call": 1.0}})


def test_a_first_open_reads_each_node_to_the_end_of_its_page() -> None:
    far = 5 * FLASH + 100
    assert list(lookup.reads([far, 300], FLASH)) == [
        Read(far, FLASH - 100), Read(300, FLASH - 300), Read(far, HEADER),
    ]  # fmt: skip


def test_a_header_that_goes_on_in_the_next_page_is_read_there() -> None:
    # 50 bytes left: enough for what is read of an unknown node, not for an inode's
    assert list(lookup.reads([FLASH - 50], FLASH)) == [
        Read(FLASH - 50, 50), Read(FLASH, FLASH), Read(FLASH - 50, HEADER),
    ]  # fmt: skip
    # 39 bytes left: read to the end of the next page at once
    assert list(lookup.reads([FLASH - 39], FLASH)) == [
        Read(FLASH - 39, 39 + FLASH), Read(FLASH - 39, HEADER),
    ]  # fmt: skip
    assert list(lookup.reads([], FLASH)) == []


def test_work_of_a_first_open() -> None:
    opened = lookup.first_open(layout(nodes=(900, 300)), 2, PageBuffer(FLASH))
    assert [(a.page, a.hit) for a in opened] == [(0, False), (0, True), (0, True)]
    assert lookup.work(2, opened) == {"open": 1, "open_node": 2, "open_page": 1}
