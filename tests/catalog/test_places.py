# SPDX-License-Identifier: GPL-2.0-or-later
"""A project's own nouns: found beside its studies, told apart in lists, never two of one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import (
    format_noun_origin,
    list_noun_names,
    load_noun,
    use_project_beside_study,
)
from nandlab.plan.study import plan_trials, read_study_file

STUDY = """
name = "own"
question = "?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark" }]
filesystems = [{ name = "jffs2" }]
chips = [{ part = "mine", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1]
"""


def own(folder: Path, kind: str, base: str, name: str) -> None:
    """A noun of a folder's catalog: a shipped one under another name."""
    text = (CATALOG / kind / f"{base}.toml").read_text()
    (folder / kind).mkdir(parents=True, exist_ok=True)
    named = text.replace(f'name = "{base}"', f'name = "{name}"', 1)
    (folder / kind / f"{name}.toml").write_text(named)


def test_a_study_finds_the_nouns_beside_it(tmp_path: Path) -> None:
    own(tmp_path / "catalog", "chips", "apf27", "mine")
    (tmp_path / "own.toml").write_text(STUDY)
    (spec,) = plan_trials(read_study_file(tmp_path / "own.toml"))
    assert spec.chip.name == "mine"
    assert spec.chip.home == tmp_path
    assert spec.board.home == CATALOG.parent
    assert "mine" not in list_noun_names("chips")
    with use_project_beside_study(tmp_path):
        assert "mine" in list_noun_names("chips")
        assert format_noun_origin("chips", "mine") == f"({tmp_path}/catalog/chips/mine.toml)"
        assert format_noun_origin("chips", "apf27") == ""


def test_the_current_folder_and_the_variable_have_nouns_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(tmp_path / "here" / "catalog", "boards", "apf27", "here")
    own(tmp_path / "there", "boards", "apf27", "there")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "there"))
    assert {"here", "there", "apf27"} <= set(list_noun_names("boards"))
    assert load_noun("boards", "there", BoardModel).name == "there"
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=r"NANDLAB_CATALOG: .*nowhere: no such folder"):
        list_noun_names("boards")


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    own(tmp_path / "catalog", "chips", "apf27", "apf27")
    with (
        use_project_beside_study(tmp_path),
        pytest.raises(UsageError, match=r"'apf27' is in .* and in .*: rename"),
    ):
        load_noun("chips", "apf27", BoardModel)
