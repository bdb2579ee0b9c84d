# SPDX-License-Identifier: GPL-2.0-or-later
"""What the model expects of readbench's points: their requests are the program's own."""

from __future__ import annotations

import statistics
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from nandlab.analysis.curves import readpoints
from nandlab.analysis.curves.readahead import CACHE_PAGE_BYTES
from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE

MIB = 1 << 20
READBENCH, LIB = DEVICE / "programs" / "readbench", DEVICE / "programs" / "lib"


def at(pattern: str, count: int = 8, size: int = CACHE_PAGE_BYTES, **more: Any) -> dict[str, Any]:
    """A phase's attributes."""
    return {
        "pattern": pattern,
        "count": count,
        "size": size,
        "file_bytes": 5 * MIB,
        "access": "read",
        "advice": "none",
    } | more


def test_the_draws_are_splitmix64s() -> None:
    """Of its authors' program for the seed 1234567, as its other implementations quote them."""
    assert list(islice(readpoints.generate_splitmix64(1234567), 3)) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("places") / "places"
    sources = [Path(__file__).with_name("places.c"), READBENCH / "places.c", READBENCH / "point.c"]
    flags = ["-std=gnu11", "-D_FILE_OFFSET_BITS=64", f"-I{READBENCH}", f"-I{LIB}"]
    subprocess.run(
        ["gcc", *flags, *map(str, (*sources, *sorted(LIB.glob("*.c")))), "-lm", "-o", str(program)],
        check=True,
    )
    return program


@pytest.mark.parametrize(
    ("pattern", "n", "count", "size"),
    [
        ("sequential", 0, 100, 4096),
        ("backward", 0, 33, 5000),
        ("stride", 3, 50, 2048),
        ("random", 0, 300, 4096),
        ("random", 0, 7, 3000),
        ("random_replace", 0, 300, 4096),
        ("random_unaligned", 0, 300, 10000),
        ("head", 1, 0, 30000),
        ("head", 25, 0, 4096),
        ("head", 100, 0, 4096),
    ],
)
@pytest.mark.parametrize("file_seed", [(5 * MIB, 1), (1_300_001, 7), (MIB * 2, 0)])
def test_requests_are_the_programs(
    places: Path, pattern: str, n: int, count: int, size: int, file_seed: tuple[int, int]
) -> None:
    argv = [str(places), pattern, *map(str, (n, count, size, *file_seed))]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    made = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    point = at(pattern, count or len(made), size, stride=n, head=n)
    assert readpoints.list_point_read_requests(point, *file_seed) == made
    assert made


def test_a_head_reads_each_of_its_files() -> None:
    """Of four files of ten pages a quarter is 2 requests; a stream from the start reads 4 pages,
    and 8 more at its second."""
    point = at("head", 8, head=25, files=4, file_bytes=40 * CACHE_PAGE_BYTES)
    found = readpoints.model_point_reads(point, 1, 128, "6.1")
    assert found.pages == tuple(range(10)) * 4
    assert found.flash(2048) == 80
    assert len(readpoints.model_point_reads(point, 1, 0).pages) == 8
    with pytest.raises(UsageError, match="drawn sizes are not modelled"):
        readpoints.model_point_reads(point | {"file_bytes": 40 * CACHE_PAGE_BYTES + 1}, 1, 128)


def test_an_unknown_pattern_is_refused() -> None:
    with pytest.raises(UsageError, match="'spiral' of readbench is not modelled"):
        readpoints.model_point_reads(at("spiral"), 1, 128)


def test_access_and_advice_are_heeded() -> None:
    point = at("sequential", 8, access="mmap")
    assert len(readpoints.model_point_reads(point, 1, 128).pages) == 32
    assert len(readpoints.model_point_reads(point | {"advice": "madv_random"}, 1, 128).pages) == 8
    willneed = readpoints.model_point_reads(at("sequential", 40, advice="fadv_willneed"), 1, 128)
    assert (willneed.advised, willneed.pages[0]) == (32, 32)


def gains(rule: str, count: int) -> float:
    """The mean gain over 20 seeds, percent, of random requests of a page on 5 MiB."""
    point = at("random_replace", count)
    return 100 * statistics.mean(
        readpoints.compute_read_ahead_gain(point, seed, 128, rule) for seed in range(20)
    )


@pytest.mark.parametrize(
    ("count", "least", "most"),
    [(8, 0, 5), (32, 3, 16), (64, 14, 26), (256, 46, 54), (512, 51, 59), (1024, 38, 48)],
)
def test_the_old_rule_gains_as_the_paper_says(count: int, least: int, most: int) -> None:
    """Random reads; read-ahead paper (2014), section 4.1.2: 50 % at 256 requests, then less."""
    assert least < gains("2.6.37", count) < most


@pytest.mark.parametrize(
    ("count", "size", "mib", "least", "most"),
    [
        (8, 4096, 5, 27, 35),
        (32, 4096, 5, 35, 42),
        (256, 4096, 5, 50, 57),
        (1024, 4096, 5, 18, 22),
        (64, 2048, 32, 43, 51),
        (64, 4096, 32, 32, 39),
    ],
)
def test_from_any_byte_the_rule_of_32_bits_has_the_paper_s_form(
    count: int, size: int, mib: int, least: int, most: int
) -> None:
    """docs/studies/readahead-2014.md: all that the paper says of random reads, in kind."""
    point = at("random_unaligned", count) | {"size": size, "file_bytes": mib << 20}
    gain = statistics.mean(
        readpoints.compute_read_ahead_gain(point, seed, 128, "2.6.37-32bit") for seed in range(20)
    )
    assert least < 100 * gain < most


@pytest.mark.parametrize("rule", ["2.6.37", "2.6.37-32bit", "6.1"])
def test_a_file_opened_for_each_request_knows_no_stream(rule: str) -> None:
    """So it grows no window, but what is cached before a request still is a sign of one."""
    few, all_of_it = (at("sequential", count) | {"reopen": 1} for count in (8, 1280))
    pages = readpoints.model_point_reads(few, 1, 128, rule).pages
    assert pages[:4] == (0, 1, 2, 3)
    assert pages != readpoints.model_point_reads(at("sequential", 8), 1, 128, rule).pages
    assert sorted(readpoints.model_point_reads(all_of_it, 1, 128, rule).pages) == [*range(1280)]
    with pytest.raises(UsageError, match="opened for each request: not modelled"):
        readpoints.model_point_reads(few | {"advice": "fadv_random"}, 1, 128, rule)


@pytest.mark.parametrize("rule", ["5.10", "6.1", "6.12"])
def test_the_rule_of_today_does_not(rule: str) -> None:
    assert gains(rule, 256) < 6


def test_a_gain_of_nothing_is_nothing() -> None:
    assert readpoints.compute_read_ahead_gain(at("sequential", 1280), 1, 128) == 0
    assert readpoints.compute_read_ahead_gain(at("sequential", 8), 1, 128) == pytest.approx(
        1 - 8 / 28
    )
    whole = at("sequential", 8, advice="fadv_willneed")
    assert readpoints.compute_read_ahead_gain(whole, 1, 128, "2.6.37") == 0
