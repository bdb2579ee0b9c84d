# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip compiles in user space, counts exactly and fails as told (tests/c, fuzz)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.journalled import STRICT, build_journalled, list_chip_sources

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "device" / "modules" / "simnand"
TESTS = ["test_chip", "test_faults", "test_records"]
JOURNALLED = ["test_journal", "test_torn"]
FUZZ_RUNS = 1000


def build(source: Path, program: Path, compiler: str = "gcc", *flags: str) -> None:
    argv = [compiler, *STRICT, "-I", str(MODULE), *flags, str(source), *list_chip_sources()]
    subprocess.run([*argv, "-o", str(program)], check=True, timeout=120)


@pytest.mark.parametrize("name", JOURNALLED)
def test_a_chip_goes_to_any_cut_of_its_power_and_back(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    build_journalled(ROOT / "tests" / "c" / f"{name}.c", program)

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.stdout == "all well\n", result.stdout + result.stderr


@pytest.mark.parametrize("name", TESTS)
def test_the_chip_does_as_its_data_sheet_says(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    build(ROOT / "tests" / "c" / f"{name}.c", program)

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "all well\n"


def test_random_operations_agree_with_a_naive_model(tmp_path: Path) -> None:
    program = tmp_path / "chip_fuzz"
    build(ROOT / "tests" / "fuzz" / "chip_fuzz.c", program)

    argv = [str(program), str(FUZZ_RUNS), "1"]
    result = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)

    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{FUZZ_RUNS} runs, all well\n"


def test_the_same_under_libfuzzer(tmp_path: Path) -> None:
    program = tmp_path / "chip_libfuzzer"
    build(
        ROOT / "tests" / "fuzz" / "chip_fuzz.c",
        program,
        "clang",
        "-DLIBFUZZER",
        "-fsanitize=fuzzer",
    )

    argv = [str(program), f"-runs={FUZZ_RUNS}", "-seed=1", "-max_len=1024"]
    result = subprocess.run(
        argv, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )

    assert result.returncode == 0, result.stderr
