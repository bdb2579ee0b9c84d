# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts behind SPI, as Linux's own tables have them: geometry, spare area, ECC, ids, sub-pages."""

from __future__ import annotations

import pytest

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun

MIB = 1 << 20
PARTS = {
    "W25N01GV": ((0xEF, 0xAA, 0x21), 64, 128, 1),
    "W25N02KV": ((0xEF, 0xAA, 0x22), 128, 256, 8),
    "MX35LF1GE4AB": ((0xC2, 0x12), 64, 128, 4),
    "GD5F1GQ4UA": ((0xC8, 0xF1), 64, 128, 8),
    "TC58CVG0S3": ((0x98, 0xC2), 128, 128, 8),
    "MT29F1G01": ((0x2C, 0x14), 128, 128, 8),
}
UBI_HEADERS = 2


def test_each_part_behind_spi_has_its_bus_and_no_sub_pages() -> None:
    chips = [load_noun("chips", name, ChipModel) for name in list_noun_names("chips")]
    behind = {chip.name: chip for chip in chips if chip.bus == "spi"}
    assert behind.keys() == {*PARTS, "F50L1G41A"}
    assert {chip.geometry.nop for chip in behind.values()} == {1}
    for chip in behind.values():
        assert {"bus", "spi.lines", "spi.clock_mhz", "spi.controller_ns"} < chip.sources.keys()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_as_the_kernel_has_it(name: str) -> None:
    chip = load_noun("chips", name, ChipModel)
    ids, oob, mib, strength = PARTS[name]
    g = chip.geometry
    assert tuple(chip.id) == ids
    assert (g.writesize, g.oobsize, g.erasesize) == (2048, oob, 128 << 10)
    assert g.blocks * g.erasesize == mib * MIB
    assert (chip.ecc.strength, chip.ecc.step) == (strength, 512)
    assert g.nop == 1
    assert chip.bus == "spi"
    assert chip.spi is not None
    assert chip.spi.lines == 4
    # no sub-pages: each of UBI's headers takes a page
    assert g.erasesize - UBI_HEADERS * g.writesize == 126_976
    assert "drivers/mtd/nand/spi/" in chip.sources["geometry.oobsize"]
    for figure in ("t_r_ns", "t_prog_ns", "t_bers_ns"):
        assert chip.sources[f"timing.{figure}"].startswith(("Assumed:", "GigaDevice"))
