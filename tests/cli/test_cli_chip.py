# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab chip``: every part is listed, every figure shown with its unit and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.cli.chip import chip_app, list_chip_figures


def test_every_chip_is_listed() -> None:
    lines = CliRunner().invoke(chip_app, ["list"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == catalog.list_noun_names("chips")
    assert len(lines) >= 10


@pytest.mark.parametrize("name", catalog.list_noun_names("chips"))
def test_every_figure_is_shown_with_its_source(name: str) -> None:
    chip = catalog.load_noun("chips", name, ChipModel)
    shown = CliRunner().invoke(chip_app, ["show", name]).stdout
    assert f"t_prog_ns = {chip.timing.t_prog_ns:,} ns" in shown
    assert f"writesize = {chip.geometry.writesize:,} bytes" in shown
    for key in chip.sources:
        assert chip.sources[key] in shown, key
    if chip.energy.read_ma is None:
        assert "energy.read_ma = not known" in shown


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
        for name in catalog.list_noun_names("chips")
        for figure in list_chip_figures(catalog.load_noun("chips", name, ChipModel))
        if figure.value != "not known" and not figure.source
    ]
    assert lacking == []


def test_the_catalog_has_chips_of_every_kind() -> None:
    chips = [
        catalog.load_noun("chips", name, ChipModel) for name in catalog.list_noun_names("chips")
    ]
    assert {c.geometry.writesize for c in chips} >= {512, 2048, 4096, 8192}
    assert {c.cell for c in chips} == {"SLC", "MLC"}
    assert {c.geometry.bus_bits for c in chips} == {8, 16}


def test_currents_are_shown_with_their_units() -> None:
    shown = CliRunner().invoke(chip_app, ["show", "NAND02GW3B2C"]).stdout
    assert "energy.supply_mv = 3,000 mV" in shown
    assert "energy.read_max_ma = 20 mA" in shown
    assert "energy.standby_ua = 10 uA" in shown


def test_the_optional_figures_become_parameters() -> None:
    chip = catalog.load_noun("chips", "NAND256W3A", ChipModel)
    marked = chip.bad_blocks.model_copy(update={"mark_pages": ["first", "last"]})
    assert chip.model_copy(update={"bad_blocks": marked}).optional_parameters() == {
        "bad_mark_pages": 5
    }
    assert chip.optional_parameters() == {}


@pytest.mark.parametrize("name", catalog.list_noun_names("chips"))
def test_what_a_chip_draws_is_no_parameter_of_the_simulated_one(name: str) -> None:
    given = catalog.load_noun("chips", name, ChipModel).optional_parameters()
    assert not [key for key in given if key.startswith("e_")]


def test_a_broken_file_is_listed_with_its_error_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chips = tmp_path / "catalog" / "chips"
    chips.mkdir(parents=True)
    (chips / "BROKEN.toml").write_text("name = ")
    listed = CliRunner().invoke(chip_app, ["list"])
    lines = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert list(lines) == catalog.list_noun_names("chips")
    assert f"not read: {chips / 'BROKEN.toml'}: " in lines["BROKEN"]
    assert "SLC" in lines["apf27"]
    assert listed.exit_code == 2
