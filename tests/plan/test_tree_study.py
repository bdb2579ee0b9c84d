# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials that begin from a tree are planned without its packages, and depend on what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import treemade

from nandlab.base.errors import UsageError
from nandlab.plan import study
from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec

STUDY = """
name = "rooted"
question = "?"
board = "apf27"
[matrix]
workloads = [{ name = "boot" }]
filesystems = [{ name = "ubifs", compression = "favor-lzo", tree = "small" }]
chips = [{ part = "nandsim-small", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1]
"""
HOLDS = "[holds]\nfolders = 8\nfiles = 7\nlinks = 2\nbytes = {bytes}\n[links]"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a tree; nothing can be fetched, and the cache is empty."""
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    treemade.project(tmp_path)
    return tmp_path


def planned(home: Path, old: str = "", new: str = "") -> TrialSpec:
    assert old in STUDY
    path = home / "rooted.toml"
    path.write_text(STUDY.replace(old, new, 1))
    (spec,) = study.plan_trials(study.read_study_file(path))
    return spec


def with_tree(home: Path, old: str, new: str) -> None:
    assert old in treemade.TREE
    treemade.project(home, treemade.TREE.replace(old, new, 1))


def test_a_plan_needs_no_package_and_takes_options_of_images(home: Path) -> None:
    (home / "debs/one_1_amd64.deb").unlink()
    spec = planned(home)
    assert isinstance(spec.image, TreeStart)
    assert spec.image.made is None
    assert spec.options["compression"] == "favor-lzo"
    assert "from small" in spec.title()
    assert not (home / "cache").exists()


def test_a_trial_s_id_takes_what_the_tree_is_made_of_and_no_words(home: Path) -> None:
    first = planned(home)
    with_tree(home, "A tree for tests", "Another sentence")
    assert planned(home).id == first.id
    with_tree(home, "[links]", HOLDS.format(bytes=49_053))
    assert planned(home).id == first.id
    with_tree(home, '"**/*.a"', '"**/*.b"')
    left = planned(home)
    treemade.project(home, files={**treemade.packages(home / "debs"), "two_2_amd64.deb": "0" * 64})
    other = planned(home)
    assert len({first.id, left.id, other.id}) == 3
    assert planned(home, '"favor-lzo", tree = "small"', '"lzo"').id not in {
        first.id,
        left.id,
        other.id,
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"small"', '"none"', r"filesystems\.0: tree: no 'none' in catalog/trees; there are: "),
        ('tree = "small"', 'tree = "small", image = "x"', "image and tree: both say"),
        ('"favor-lzo"', '"best"', "compression = 'best'"),
        ("partition_mib = 8", "partition_mib = 8, faults = { bad_blocks = 2 }", "faults.bad_bl"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    home: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        planned(home, old, new)


def test_a_tree_that_is_larger_than_the_partition_is_refused_unless_it_may_be_compressed(
    home: Path,
) -> None:
    with_tree(home, "[links]", HOLDS.format(bytes=9 << 20))
    assert planned(home)
    said = r"tree: its files take 9437184 bytes, UBIFS does not compress them, .* has 8388608"
    with pytest.raises(UsageError, match=said):
        planned(home, "favor-lzo", "none")
    with pytest.raises(UsageError, match="YAFFS2 does not compress"):
        planned(home, '"ubifs", compression = "favor-lzo"', '"yaffs2"')


def test_a_tree_without_a_lock_is_told_with_what_to_do(home: Path) -> None:
    (home / "catalog/trees/trees.lock").unlink()
    with pytest.raises(UsageError, match="set of it: `bench/rootfs small --update`"):
        planned(home)


def test_a_study_tells_its_tree(home: Path) -> None:
    path = home / "rooted.toml"
    path.write_text(STUDY)
    told = study.read_study_file(path).model_dump(mode="json")["matrix"]["filesystems"][0]
    assert told["tree"] == "small"
    path.write_text(
        STUDY.replace('compression = "favor-lzo", tree = "small"', 'journal = "default"')
    )
    told = study.read_study_file(path).model_dump(mode="json")["matrix"]["filesystems"][0]
    assert told == {
        **{"name": "ubifs", "journal": "default", "on": [], "image": None, "tree": None},
    }


def test_a_run_s_own_packages_are_taken_before_the_catalog_s(home: Path) -> None:
    first = planned(home)
    assert isinstance(first.image, TreeStart)
    of_run = {first.image.set_name: first.image.packages}
    treemade.project(home, files={**first.image.packages, "two_2_amd64.deb": "0" * 64})
    read = study.read_study_file(home / "rooted.toml")
    assert study.plan_trials(read, lock=of_run)[0].id == first.id
    assert study.plan_trials(read)[0].id != first.id
    with pytest.raises(UsageError, match="the run's packages has no set"):
        study.plan_trials(read, lock={})
