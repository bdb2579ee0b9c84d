# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip behind SPI under the other boards' kernels: each knows it, and UBIFS mounts on it."""

from __future__ import annotations

import asyncio

import pytest
from support import smalltrial
from support.chipsteps import numbers

from nandlab.board.jobs.job import Job, Step
from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import (
    COUNTERS_FILE,
    SPI_MODULE,
    make_chip_load_step,
    make_chip_module_parameters,
)
from nandlab.plan.matrix import ChipChoice, SpinandChoice
from nandlab.trial.execution import run_trial

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(3600)]

PART = "W25N01GV"
BLOCKS = 64


@pytest.fixture(scope="module", params=["apf27-5.10", "apf27-6.12", "apf27-arm"])
def spi_board(request: pytest.FixtureRequest) -> QemuBoard:
    model = load_noun("boards", request.param, BoardModel)
    return open_board(model, sources=parse_source_words(["spinand=package"], "--source"))


def test_the_kernel_knows_the_chip_by_its_id(spi_board: QemuBoard) -> None:
    chip = load_noun("chips", PART, ChipModel)
    start = spi_board.machine.model.store_start
    words = make_chip_module_parameters(chip, BLOCKS, start)
    steps = (
        make_chip_load_step(words, module=SPI_MODULE),
        Step("erase", "flash_erase -q /dev/mtd0 0 3"),
        Step("counts", f"cat {COUNTERS_FILE}"),
        Step("log", "dmesg"),
    )
    record = {step.step: step for step in asyncio.run(spi_board.run(Job(steps=steps))).steps}
    assert all(step.ok for step in record.values())
    log = record["log"].stdout
    assert "spi0.0: Winbond SPI NAND" in log
    assert "block size: 128 KiB, page size: 2048, OOB size: 64" in log
    counts = numbers(record["counts"].stdout)
    assert (counts["erases"], counts["programs"], counts["illegal"]) == (3, 0, 0)


def test_ubifs_mounts_on_it(spi_board: QemuBoard) -> None:
    bus = SpinandChoice(lines=1, clock_mhz=52)
    spec = smalltrial.planned(
        spi_board, "ubifs", ChipChoice(part=PART, partition_mib=8, spinand=bus)
    )
    trial = asyncio.run(run_trial(spec, spi_board, "spi"))
    assert trial.status == "ok", trial.error
    assert not {doubt.code for doubt in trial.warnings} & {"kernel_log", "kernel_finding"}
