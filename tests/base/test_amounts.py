# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts as people write them."""

from __future__ import annotations

import pytest

from nandlab.base.amounts import parse_amount, parse_size
from nandlab.base.errors import UsageError


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("20ms", "time", 20e6),
        ("1.5s", "time", 1.5e9),
        ("7 us", "time", 7e3),
        ("7μs", "time", 7e3),
        ("2mJ", "energy", 2e-3),
        ("4096", "bytes", 4096),
        ("8mb", "bytes", 8 << 20),
        ("512K", "bytes", 512 << 10),
        ("8MiB", "bytes", 8 << 20),
        ("2M/s", "bytes_per_s", 2 << 20),
        ("5%", "share", 0.05),
        ("0.05", "share", 0.05),
        ("100%", "share", 1),
        (".5", "ratio", 0.5),
        ("3", "count", 3),
    ],
)
def test_an_amount_is_read_with_its_unit(text: str, quantity: str, value: float) -> None:
    assert parse_amount(text, quantity, "here") == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        *[("8 apples", "bytes"), ("0", "bytes"), ("-1", "bytes"), ("1e3", "bytes")],
        *[("20", "time"), ("ms", "time"), ("1.2.3s", "time"), ("5", "share"), ("x", "share")],
        *[("5 Ms", "time"), ("5MS", "time"), ("5S", "time"), ("2MJ", "energy"), ("2Nj", "energy")],
        *[("200Mb", "bytes"), ("1Gib", "bytes"), ("2Mb/s", "bytes_per_s")],
        *[("5ms", "count"), ("", "count"), ("nan", "count"), ("inf", "ratio")],
    ],
)
def test_what_is_no_amount_is_refused_with_an_example(text: str, quantity: str) -> None:
    with pytest.raises(UsageError, match=r"here .*such as"):
        parse_amount(text, quantity, "here")


def test_bytes_are_whole() -> None:
    assert [parse_size(t, "--it") for t in ("1.5G", "0.1", "1k")] == [3 << 29, 1, 1024]
