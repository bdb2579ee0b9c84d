# SPDX-License-Identifier: GPL-2.0-or-later
"""Which parts `nandlab reproduce` builds by itself: of the locked package, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nandlab.board.kit.partsource import SourceRequest
from nandlab.trial.reproduction import Reproduction


def find_sources(sources: object) -> dict[str, SourceRequest]:
    head = SimpleNamespace(provenance={"sources": sources})
    before = SimpleNamespace(head=head, path=Path("run"))
    return Reproduction.find_package_sources(cast(Any, SimpleNamespace(baseline=before)))


def test_parts_of_the_package_are_built_again_with_their_options() -> None:
    told = {"tree": "package", "options": {"fastmap": True}, "patches": 0}
    found = find_sources({"ubi": told})
    assert (found["ubi"].tree, found["ubi"].options) == (None, {"fastmap": True})


@pytest.mark.parametrize("more", [{"tree": "folder"}, {"patches": 1}])
def test_folders_and_patches_are_left_to_the_user(more: dict[str, object]) -> None:
    assert find_sources({"ubi": {"tree": "package", "options": {}, "patches": 0, **more}}) == {}


def test_no_option_of_a_foreign_run_names_a_folder_or_a_patch(tmp_path: Path) -> None:
    hostile = {"tree": str(tmp_path), "patch": [str(tmp_path / "x.diff")], "fastmap": True}
    found = find_sources({"ubi": {"tree": "package", "options": hostile}})
    assert (found["ubi"].tree, found["ubi"].patches) == (None, ())
    assert found["ubi"].options == {"fastmap": True}
