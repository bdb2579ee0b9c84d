# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip compiles in user space, counts exactly and fails as told (tests/c, fuzz)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support import journalled
from support.journalled import JOURNAL, STRICT, build_journalled, list_chip_sources
from support.native import BUILT, build_if_older

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "device" / "modules" / "simnand"
TESTS = ["test_chip", "test_faults", "test_records"]
JOURNALLED = ["test_journal", "test_torn"]
KERNEL_TYPES = "#include <linux/types.h>"
FUZZ_RUNS = 1000


def built(name: str, source: Path, build: Callable[[Path], None]) -> Path:
    """A program of the chip and its journal, built if it is older than what it is made of."""
    modules = [path for top in (MODULE, JOURNAL) for path in top.rglob("*") if path.is_file()]
    of = [*modules, source, Path(journalled.__file__), Path(__file__)]
    return build_if_older(BUILT / "chip" / name, of, build)


def chip(name: str, source: Path, compiler: str = "gcc", *flags: str) -> Path:
    """A program of the chip alone."""
    argv = [compiler, *STRICT, "-I", str(MODULE), *flags, str(source), *list_chip_sources()]

    def build(program: Path) -> None:
        subprocess.run([*argv, "-o", str(program)], check=True, timeout=120)

    return built(name, source, build)


@pytest.mark.parametrize("name", JOURNALLED)
def test_a_chip_goes_to_any_cut_of_its_power_and_back(name: str) -> None:
    source = ROOT / "tests" / "c" / f"{name}.c"
    program = built(name, source, partial(build_journalled, source))

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.stdout == "all well\n", result.stdout + result.stderr


@pytest.mark.parametrize("name", TESTS)
def test_the_chip_does_as_its_data_sheet_says(name: str) -> None:
    program = chip(name, ROOT / "tests" / "c" / f"{name}.c")

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "all well\n"


def test_under_warp_no_thread_that_is_ready_waits_for_added_time(tmp_path: Path) -> None:
    """At whatever point of the wait the interrupt comes that makes the thread ready.

    The kernel's headers that wait.c includes are empty here: the test has the few calls itself.
    """
    for header in re.findall(r"#include <(.*)>", (MODULE / "wait.c").read_text() + KERNEL_TYPES):
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).touch()
    program = tmp_path / "test_wait"
    source = ROOT / "tests" / "c" / "test_wait.c"
    argv = ["gcc", *STRICT, "-I", str(tmp_path), "-I", str(MODULE), str(source), "-o", str(program)]
    subprocess.run(argv, check=True, timeout=120)

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "all well\n"


def test_random_operations_agree_with_a_naive_model() -> None:
    program = chip("chip_fuzz", ROOT / "tests" / "fuzz" / "chip_fuzz.c")

    argv = [str(program), str(FUZZ_RUNS), "1"]
    result = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)

    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{FUZZ_RUNS} runs, all well\n"


def test_the_same_under_libfuzzer(tmp_path: Path) -> None:
    program = chip(
        "chip_libfuzzer",
        ROOT / "tests" / "fuzz" / "chip_fuzz.c",
        "clang",
        "-DLIBFUZZER",
        "-fsanitize=fuzzer",
    )

    argv = [str(program), f"-runs={FUZZ_RUNS}", "-seed=1", "-max_len=1024"]
    result = subprocess.run(
        argv, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )

    assert result.returncode == 0, result.stderr
