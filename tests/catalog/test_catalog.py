# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalog: every entry is sound, and a bad one is refused with every mistake named."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog import files as catalog
from nandlab.catalog.board import UNSIMULATED_KEYS, BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.profile import EnergyProfile, compute_energy_saving_share
from nandlab.catalog.tables import TableModel
from nandlab.catalog.workload import WorkloadModel

KINDS: dict[str, type[Noun]] = {
    "boards": BoardModel,
    "chips": ChipModel,
    "energy-profiles": EnergyProfile,
    "filesystems": FilesystemModel,
    "tables": TableModel,
    "workloads": WorkloadModel,
}
ENTRIES = [(kind, name) for kind in KINDS for name in catalog.list_noun_names(kind)]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_entry_is_sound(kind: str, name: str) -> None:
    assert catalog.load_noun(kind, name, KINDS[kind]).name == name


@pytest.mark.parametrize("name", catalog.list_noun_names("chips"))
def test_every_figure_of_a_chip_has_its_source(name: str) -> None:
    chip = catalog.load_noun("chips", name, ChipModel)
    for section in ("geometry", "timing", "ecc"):
        for key in getattr(chip, section).model_dump():
            assert f"{section}.{key}" in chip.sources
    assert "id" in chip.sources


def test_a_maximum_below_the_typical_figure_is_refused(tmp_path: Path) -> None:
    text = (CATALOG / "chips" / "NAND256W3A.toml").read_text()
    bad = tmp_path / "NAND256W3A.toml"
    bad.write_text(text.replace("t_prog_max_ns = 500000", "t_prog_max_ns = 199999"))
    with pytest.raises(UsageError, match="t_prog_max_ns: a maximum below the typical"):
        catalog.read_noun_file(bad, ChipModel)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = (CATALOG / "boards" / "apf27.toml").read_text()
    bad = tmp_path / "apf27.toml"
    bad.write_text(text.replace("ram_mib = 128", "ram_mib = 1\nramm = 2").replace("cpu", "cpus"))
    with pytest.raises(UsageError) as error:
        catalog.read_noun_file(bad, BoardModel)
    for place in ("ram_mib", "ramm", "cpu", "cpus"):
        assert f"{bad}: {place}:" in str(error.value)


def test_an_unknown_kind_of_board_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "apf27.toml"
    text = (CATALOG / "boards" / "apf27.toml").read_text()
    bad.write_text(text.replace('name = "apf27"\n', 'name = "apf27"\nkind = "quemu"\n'))
    with pytest.raises(UsageError, match=r"kind: .*'quemu'; there are: qemu"):
        catalog.read_noun_file(bad, BoardModel)


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("name = ")
    with pytest.raises(UsageError, match=r"x\.toml: not TOML"):
        catalog.read_noun_file(tmp_path / "x.toml", BoardModel)


@pytest.mark.parametrize(
    ("board", "fits", "over", "said"),
    [
        ("apf27", 2880, 2944, "19 MiB too much: a machine of more than 3583 MiB"),
        ("apf27-arm", 2368, 2432, "18 MiB too much: a machine of more than 3072 MiB"),
    ],
)
def test_a_board_s_memory_is_in_one_piece(
    tmp_path: Path, board: str, fits: int, over: int, said: str
) -> None:
    shipped = (CATALOG / "boards" / f"{board}.toml").read_text()
    path = tmp_path / f"{board}.toml"
    path.write_text(shipped.replace("ram_mib = 128", f"ram_mib = {fits}"))
    model = catalog.read_noun_file(path, BoardModel)
    assert model.memory_bytes <= model.arch_traits.memory_max
    path.write_text(shipped.replace("ram_mib = 128", f"ram_mib = {over}"))
    with pytest.raises(UsageError, match=f"chip_store_mib are {said}"):
        catalog.read_noun_file(path, BoardModel)


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
        catalog.read_noun_file(bad, BoardModel)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"no 'ext4'.*jffs2, .*ubifs"):
        catalog.load_noun("filesystems", "ext4", FilesystemModel)


def test_the_workloads_template_names_only_what_is_there() -> None:
    for name in catalog.list_noun_names("workloads"):
        model = catalog.load_noun("workloads", name, WorkloadModel)
        given = dict.fromkeys(("seed", "mountpoint", *model.parameters), "")
        model.config.format(**given)


def edited(tmp_path: Path, kind: str, name: str, was: str, now: str) -> Path:
    """A copy of a shipped file with one passage replaced."""
    text = (CATALOG / kind / f"{name}.toml").read_text()
    assert was in text
    bad = tmp_path / f"{name}.toml"
    bad.write_text(text.replace(was, now))
    return bad


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("read_ma = 10\n", "read_ma = 21\n", "read_max_ma: a maximum below the typical"),
        ("standby_ua = 10\n", "standby_ua = 51\n", "standby_max_ua: a maximum below"),
        ('"energy.erase_ma" = ', '"energy.erased" = ', r"energy\.erase_ma: no source: .*\[sources"),
        ("read_ma = 10\n", "e_read_nj = 10\n", "energy.e_read_nj: there is no such key"),
    ],
)
def test_a_current_is_sound_and_has_its_source(
    tmp_path: Path, was: str, now: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        catalog.read_noun_file(edited(tmp_path, "chips", "NAND02GW3B2C", was, now), ChipModel)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('"retention.read_ppt" = ', '"retention.reads" = ', r"retention\.read_ppt: no source"),
        ("read_ppt = 9\n", "", "retention.read_ppt: must be given"),
        ("[endurance]\npe_cycles = 100000\n", "", "retention: it goes by the rated endurance"),
    ],
)
def test_retention_is_whole_and_has_its_sources(
    tmp_path: Path, was: str, now: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        catalog.read_noun_file(edited(tmp_path, "chips", "apf27", was, now), ChipModel)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            "cpu_active_mw = 223\n",
            "cpu_active_mw = 223\nram_mw = 5\n",
            "power: .*ram_mw: no source",
        ),
        ("cpu_active_mw = 223\n", "cpu_active_mw = -1\n", "power.cpu_active_mw: .*greater than"),
        ('flash_wait = "polling"', 'flash_wait = "dma"', "power.flash_wait: .*'interrupt' or"),
        ('cpu_idle_mw = "By', 'cpu_sleep_mw = "By', "cpu_idle_mw: no source"),
    ],
)
def test_a_power_is_sound_and_has_its_source(tmp_path: Path, was: str, now: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        catalog.read_noun_file(edited(tmp_path, "boards", "omap3evm", was, now), BoardModel)


def test_what_a_board_draws_is_no_part_of_its_identity() -> None:
    assert "power" in UNSIMULATED_KEYS


@pytest.mark.parametrize(
    ("filesystem", "ratio", "seen"),
    [
        ("jffs2", 1.0010, {0.095: 0.094, 0.44: 0.439}),
        ("yaffs2", 1.0089, {0.05: 0.042, 0.25: 0.243}),
    ],
)
def test_the_read_ahead_paper_s_energy_gains_do_not_follow_from_its_table(
    filesystem: str, ratio: float, seen: dict[float, float]
) -> None:
    profile = catalog.load_noun("energy-profiles", "read-ahead-2014", EnergyProfile)
    on, off = (profile.row("selects", filesystem, ahead, "random") for ahead in (True, False))
    assert on is not None and off is not None
    assert round(off.watts / on.watts, 4) == ratio
    for time, energy in seen.items():
        assert round(compute_energy_saving_share(on, off, time), 3) == energy
        assert f"{energy * 100:.1f} %" in profile.differs
