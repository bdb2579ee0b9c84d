# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip of each maker: what the kernel asks of a maker's chips is answered, and it complains of
nothing."""

from __future__ import annotations

import pytest
from support.cases import UNLOAD, Cases, run_cases
from support.chipsteps import modprobe

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters

pytestmark = pytest.mark.board

MAKERS = {
    "Macronix": ("MX30LF1G18AC", [0xC2, 0xF1, 0x80, 0x95, 0x02]),
    "Micron": ("MT29F1G08ABAEA", [0x2C, 0xF1, 0x80, 0x95, 0x04]),
    "Toshiba": ("TC58NVG0S3E", [0x98, 0xD1, 0x90, 0x15, 0x76, 0x14]),
    "Toshiba, newer": ("TC58NVG0S3HTA00", [0x98, 0xF1, 0x80, 0x15, 0x72, 0x16]),
    "Winbond": ("W29N01HV", [0xEF, 0xF1, 0x80, 0x95, 0x00]),
    "Samsung": ("K9F1G08U0D", [0xEC, 0xF1, 0x00, 0x95, 0x40]),
    "Hynix": ("H27U1G8F2B", [0xAD, 0xF1, 0x80, 0x1D]),
    "ESMT": ("F59L1G81A", [0x92, 0xF1, 0x80, 0x95, 0x40]),
    "Spansion": ("S34ML01G2", [0x01, 0xF1, 0x80, 0x1D]),
}
"""A part and its id, by maker; the id's maker is what the kernel goes by."""


@pytest.fixture(scope="module")
def loaded(board: QemuBoard) -> Cases:
    """One job that loads a chip of each maker, one after another, and programs a page of it."""
    like = catalog.load_noun("chips", "S34ML01G1", ChipModel)

    def case(part: str, chip_id: list[int]) -> list[Step]:
        chip = like.model_copy(update={"id": chip_id})
        words = make_chip_module_parameters(chip, 16, board.machine.model.store_start) | {
            "name": part
        }
        return [
            Step("clear", "dmesg -c > /dev/null"),
            modprobe(words),
            Step("known", "cat /proc/mtd && dmesg"),
            Step("program", "dd if=/dev/urandom of=/dev/mtd0 bs=2048 count=1 conv=notrunc"),
            Step("log", "dmesg -r | grep '^<[0-4]>' || true"),
            UNLOAD,
        ]

    return run_cases(board, {maker: case(*of) for maker, of in MAKERS.items()})


@pytest.mark.xdist_group("makers")
@pytest.mark.parametrize("maker", MAKERS)
def test_the_kernel_complains_of_no_maker_s_chip(loaded: Cases, maker: str) -> None:
    record = loaded[maker]
    assert f"Manufacturer ID: {MAKERS[maker][1][0]:#04x}" in record["known"].stdout
    assert record["log"].stdout == ""
