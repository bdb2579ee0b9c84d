# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab chip``: every part is listed, every figure shown with its unit and source."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.cli.chip import chip_app, figures


def test_every_chip_is_listed() -> None:
    lines = CliRunner().invoke(chip_app, ["list"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == catalog.names("chips")
    assert len(lines) >= 10


@pytest.mark.parametrize("name", catalog.names("chips"))
def test_every_figure_is_shown_with_its_source(name: str) -> None:
    chip = catalog.load("chips", name, ChipModel)
    shown = CliRunner().invoke(chip_app, ["show", name]).stdout
    assert f"t_prog_ns = {chip.timing.t_prog_ns:,} ns" in shown
    assert f"writesize = {chip.geometry.writesize:,} bytes" in shown
    for key in chip.sources:
        assert chip.sources[key] in shown, key
    if chip.energy.e_read_nj is None:
        assert "energy.e_read_nj = not known" in shown


def test_typical_and_maximum_latencies_are_shown() -> None:
    shown = CliRunner().invoke(chip_app, ["show", "NAND256W3A"]).stdout
    assert "timing.t_prog_ns = 200,000 ns" in shown
    assert "timing.t_prog_max_ns = 500,000 ns" in shown
    shown = CliRunner().invoke(chip_app, ["show", "S34ML01G1"]).stdout
    assert "timing.t_r_max_ns = 25,000 ns" in shown
    assert "timing.t_bers_max_ns = not known" in shown


def test_no_figure_of_a_chip_lacks_a_source() -> None:
    lacking = [
        f"{name}: {figure.key}"
        for name in catalog.names("chips")
        for figure in figures(catalog.load("chips", name, ChipModel))
        if figure.value != "not known" and not figure.source
    ]
    assert lacking == []


def test_the_catalog_has_chips_of_every_kind() -> None:
    chips = [catalog.load("chips", name, ChipModel) for name in catalog.names("chips")]
    assert {c.geometry.writesize for c in chips} >= {512, 2048, 4096, 8192}
    assert {c.cell for c in chips} == {"SLC", "MLC"}
    assert {c.geometry.bus_bits for c in chips} == {8, 16}


def test_the_optional_figures_become_parameters() -> None:
    chip = catalog.load("chips", "TC58NVG2S0H", ChipModel)
    assert chip.optional_parameters() == {
        "e_read_nj": 2475,
        "e_prog_nj": 29700,
        "e_erase_nj": 247500,
    }
    assert catalog.load("chips", "apf27", ChipModel).optional_parameters() == {}
