# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's mtdparts=: partitions one after the other, at offsets, and what is refused."""

from __future__ import annotations

import pytest

from nandlab.base.errors import UsageError
from nandlab.cli.flashfile import FlashFileArguments
from nandlab.flash.chip.mtdparts import MtdPartition, find_mtd_partition, parse_mtdparts

KIB, MIB = 1 << 10, 1 << 20
WORDS = "mtdparts=spi0.0:256k(boot)ro,0x40000(env),4M@1M(kernel)lk,-(rootfs)"


def test_partitions_follow_each_other_as_in_the_kernel() -> None:
    assert parse_mtdparts(WORDS) == [
        MtdPartition("boot", 0, 256 * KIB),
        MtdPartition("env", 256 * KIB, 256 * KIB),
        MtdPartition("kernel", MIB, 4 * MIB),
        MtdPartition("rootfs", 5 * MIB, None),
    ]


def test_each_device_begins_anew_and_ids_may_have_colons() -> None:
    found = parse_mtdparts("a.nand:1m(x);10:20:2g(y),512(z)")
    assert [(p.name, p.offset, p.size) for p in found] == [
        ("x", 0, MIB),
        ("y", 0, 2 << 30),
        ("z", 2 << 30, 512),
    ]


def test_a_partition_without_a_name_is_called_by_its_offset() -> None:
    assert [p.name for p in parse_mtdparts("n:1M,-")] == ["Partition_000", "Partition_100000"]


@pytest.mark.parametrize(
    "line",
    [
        "console=ttyS0,115200 mtdparts=n:1M(a b),-(c:d) ubi.mtd=c:d",
        "cmdlinepart.mtdparts=n:1M(a b),-(c:d)\troot=x",
        '"mtdparts=n:1M(a b),-(c:d)" quiet',
        'mtdparts="n:1M(a b),-(c:d)"',
        "n:1M(a b),-(c:d)",
        "1M(a b),-(c:d)",
    ],
)
def test_the_word_is_taken_from_a_command_line_and_needs_no_device(line: str) -> None:
    assert parse_mtdparts(line) == [MtdPartition("a b", 0, MIB), MtdPartition("c:d", MIB, None)]


@pytest.mark.parametrize(
    ("words", "name", "why"),
    [
        (WORDS, None, "4 partitions: give --mtdpart, of boot, env, kernel, rootfs"),
        (WORDS, "data", "no partition 'data'; it has boot"),
        ("a:1m(x);b:1m(x)", "x", "2 partitions 'x'"),
        (":1m(x)", None, "expected DEVICE:SIZE"),
        ("x", None, "expected SIZE"),
        ("n:", None, "expected SIZE"),
        ("n:1q(x)", None, "expected SIZE"),
        ("n:0(x)", None, "more than 0 bytes"),
        ("n:-(x),1m(y)", "y", "the partition before takes all"),
    ],
)
def test_what_is_no_partition_is_refused(words: str, name: str | None, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        find_mtd_partition(words, name)


def test_the_options_of_a_file_take_place_and_size_of_it() -> None:
    told = FlashFileArguments(mtdparts=WORDS, mtdpart="kernel").parse()
    assert (told.offset, told.partition_mib) == (MIB, 4)
    rest = FlashFileArguments(mtdparts=WORDS, mtdpart="rootfs").parse()
    assert (rest.offset, rest.partition_mib) == (5 * MIB, None)
    with pytest.raises(UsageError, match="leave --offset"):
        FlashFileArguments(partition_mib=1.0, mtdparts="n:1m(x)").parse()
    with pytest.raises(UsageError, match="give that too"):
        FlashFileArguments(mtdpart="x").parse()
