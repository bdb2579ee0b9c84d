# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalog: every entry is sound, and a bad one is refused with every mistake named."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog import files as catalog
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.workload import WorkloadModel

KINDS: dict[str, type[Noun]] = {
    "boards": BoardModel,
    "chips": ChipModel,
    "filesystems": FilesystemModel,
    "workloads": WorkloadModel,
}
ENTRIES = [(kind, name) for kind in KINDS for name in catalog.names(kind)]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_entry_is_sound(kind: str, name: str) -> None:
    assert catalog.load(kind, name, KINDS[kind]).name == name


@pytest.mark.parametrize("name", catalog.names("chips"))
def test_every_figure_of_a_chip_has_its_source(name: str) -> None:
    chip = catalog.load("chips", name, ChipModel)
    for section in ("geometry", "timing", "ecc"):
        for key in getattr(chip, section).model_dump():
            assert f"{section}.{key}" in chip.sources
    assert "id" in chip.sources


def test_a_maximum_below_the_typical_figure_is_refused(tmp_path: Path) -> None:
    text = (CATALOG / "chips" / "NAND256W3A.toml").read_text()
    bad = tmp_path / "NAND256W3A.toml"
    bad.write_text(text.replace("t_prog_max_ns = 500000", "t_prog_max_ns = 199999"))
    with pytest.raises(UsageError, match="t_prog_max_ns: a maximum below the typical"):
        catalog.parse(bad, ChipModel)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = (CATALOG / "boards" / "apf27.toml").read_text()
    bad = tmp_path / "apf27.toml"
    bad.write_text(text.replace("ram_mib = 128", "ram_mib = 1\nramm = 2").replace("cpu", "cpus"))
    with pytest.raises(UsageError) as error:
        catalog.parse(bad, BoardModel)
    for place in ("ram_mib", "ramm", "cpu", "cpus"):
        assert f"{bad}: {place}:" in str(error.value)


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("name = ")
    with pytest.raises(UsageError, match=r"x\.toml: not TOML"):
        catalog.parse(tmp_path / "x.toml", BoardModel)


def test_a_board_s_memory_is_in_one_piece(tmp_path: Path) -> None:
    shipped = (CATALOG / "boards" / "apf27.toml").read_text()
    for ram_mib, fits in ((2880, True), (2944, False)):
        path = tmp_path / "apf27.toml"
        path.write_text(shipped.replace("ram_mib = 128", f"ram_mib = {ram_mib}"))
        if fits:
            assert catalog.parse(path, BoardModel).memory_bytes < 3584 << 20
            continue
        with pytest.raises(UsageError, match="chip_store_mib are 19 MiB too much: a machine of"):
            catalog.parse(path, BoardModel)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("t_r_ns = 25000", "t_r_ns = 182661", "include what the chip's array takes"),
        ("page_bytes = 2112", "page_bytes = 0", "greater than or equal to 1"),
        ('t_r_ns = "', 't_x_ns = "', "sources must have"),
    ],
)
def test_a_measured_controller_is_whole(tmp_path: Path, was: str, now: str, said: str) -> None:
    text = (CATALOG / "boards" / "apf27.toml").read_text()
    assert was in text
    bad = tmp_path / "apf27.toml"
    bad.write_text(text.replace(was, now))
    with pytest.raises(UsageError, match=said):
        catalog.parse(bad, BoardModel)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"no 'ext4'.*jffs2, .*ubifs"):
        catalog.load("filesystems", "ext4", FilesystemModel)


def test_the_workloads_template_names_only_what_is_there() -> None:
    for name in catalog.names("workloads"):
        model = catalog.load("workloads", name, WorkloadModel)
        given = dict.fromkeys(("seed", "mountpoint", *model.parameters), "")
        model.config.format(**given)
