# SPDX-License-Identifier: GPL-2.0-or-later
"""What was measured on a board, as files of the catalog: they load, and say where they are from."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.own import calibrate
from nandlab.board.own.calibrate import BoardMeasurement
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun

PAGE = 2048 + 64
CYCLE, T_R, T_PROG, T_BERS = 40, 30_000, 250_000, 1_900_000
"""What a board is made to take, ns."""
TOLD = {
    "read_ns": T_R + PAGE * CYCLE,
    "read_max_ns": 400_000,
    "spare_read_ns": T_R + 64 * CYCLE,
    "spare_read_max_ns": 90_000,
    "program_ns": T_PROG + PAGE * CYCLE,
    "program_max_ns": 900_000,
    "erase_ns": T_BERS,
    "erase_max_ns": 3_000_000,
    "loop_ps": 14_000,
    "checksum_bytes_per_s": 70_000_000,
    "copy_bytes_per_s": 300_000_000,
}


def measured(machine: str = "armv7l", ram_mib: int = 250, **change: int) -> BoardMeasurement:
    return BoardMeasurement("mine", machine, "Linux 6.1", ram_mib, {**TOLD, **change}, "2026-11-25")


@pytest.fixture
def part() -> ChipModel:
    return load_noun("chips", "S34ML01G1", ChipModel)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "catalog"


def test_latencies_are_those_of_the_board(part: ChipModel, project: Path) -> None:
    calibrate.write_catalog_files(part, measured(), project)
    chip = load_noun("chips", "S34ML01G1-mine", ChipModel)
    t = chip.timing
    assert (t.t_r_ns, t.t_prog_ns, t.t_bers_ns, t.t_rc_ns) == (T_R, T_PROG, T_BERS, CYCLE)
    assert chip.geometry == part.geometry and chip.endurance == part.endurance
    figures = ("t_r_ns", "t_prog_ns", "t_bers_ns", "t_rc_ns")
    assert all("Measured on mine, Linux 6.1" in chip.sources[f"timing.{f}"] for f in figures)
    assert chip.sources["geometry.nop"] == part.sources["geometry.nop"]


def test_a_driver_that_reads_whole_pages_tells_no_cycle(part: ChipModel) -> None:
    made = calibrate.make_measured_chip_model(part, measured(spare_read_ns=TOLD["read_ns"] - 5))
    assert made.timing.t_rc_ns == part.timing.t_rc_ns
    assert made.timing.t_r_ns == TOLD["read_ns"] - PAGE * part.timing.t_rc_ns
    assert made.sources["timing.t_rc_ns"].startswith("Of S34ML01G1")


def test_files_that_are_there_are_not_written_over(part: ChipModel, project: Path) -> None:
    calibrate.write_catalog_files(part, measured(), project)
    with pytest.raises(UsageError, match=r"S34ML01G1-mine.toml is there already"):
        calibrate.write_catalog_files(part, measured(), project)


def test_a_bus_is_no_slower_than_what_was_measured_in_all(part: ChipModel) -> None:
    made = calibrate.make_measured_chip_model(
        part, measured(read_ns=38_000, spare_read_ns=42_000)
    ).timing
    assert made.t_rc_ns == 17
    assert made.t_r_ns + made.t_rc_ns * PAGE == 38_000


@pytest.mark.parametrize(
    ("machine", "arch", "loop_ps", "shift"),
    [
        ("armv7l", "armhf", 14_000, 2),
        ("armv5tejl", "armhf", 31_000, 3),
        ("x86_64", "amd64", 1_200, 0),
        ("mips", "amd64", 10**9, 10),
    ],
)
def test_a_board_has_the_pace_that_was_measured(
    part: ChipModel, project: Path, machine: str, arch: str, loop_ps: int, shift: int
) -> None:
    calibrate.write_catalog_files(part, measured(machine, loop_ps=loop_ps), project)
    board = load_noun("boards", "mine-model", BoardModel)
    assert (board.arch, board.icount_shift, board.ram_mib) == (arch, shift, 250)
    assert board.controller is not None
    assert board.controller.read_ns == TOLD["read_ns"]
    assert board.controller.measured == "mine"
