# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of trees: made once, before the trials that need them, and nothing is left half done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support import treemade

from nandlab.board.jobs.fake import FakeBoard
from nandlab.image import making, startimages
from nandlab.plan import study
from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.recordparts import StartImage
from nandlab.trial import execution, runner

STUDY = """
name = "rooted"
question = "?"
board = "apf27"
[matrix]
workloads = [{ name = "boot" }]
filesystems = [{ name = "jffs2", tree = "small" }, { name = "jffs2" }]
chips = [{ part = "nandsim-small", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TrialSpec]:
    """Trials of a project with a tree; its packages are in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NANDLAB_PACKAGES", str(tmp_path / "debs"))
    treemade.project(tmp_path)
    (tmp_path / "rooted.toml").write_text(STUDY)
    return study.plan_trials(study.read_study_file(tmp_path / "rooted.toml"))


class Counting:
    """Counts the trials whose images are seen to."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def ready(self, specs: Sequence[TrialSpec]) -> list[TrialSpec]:
        """See Images."""
        self.seen += [s.id for s in specs]
        return list(specs)


def test_only_trials_that_are_still_to_run_have_their_images_made(
    specs: list[TrialSpec], tmp_path: Path
) -> None:
    board = FakeBoard()
    read = study.read_study_file(tmp_path / "rooted.toml")
    folder = RunFolder.create(tmp_path / "run", runner.make_run_head(read, specs, board))
    images = Counting()
    assert runner.add_start_images(folder, specs[:2], board, images) == specs[:2]
    assert images.seen == [s.id for s in specs[:2]]


def test_a_run_tells_its_tree_s_packages_and_its_key_takes_them(specs: list[TrialSpec]) -> None:
    board = FakeBoard()
    rooted = specs[0]
    assert isinstance(rooted.image, TreeStart)
    lock = {rooted.image.set_name: rooted.image.packages}
    assert execution.collect_trial_packages(rooted, board).lock == lock
    assert execution.collect_trial_provenance(rooted, board)["packages"] == lock
    moved = rooted.image.model_copy(update={"moved": ["two: 2 -> 3"]})
    again = rooted.model_copy(update={"image": moved})
    assert execution.collect_trial_packages(again, board).lock_differences == ("two: 2 -> 3",)
    other = rooted.image.model_copy(update={"sha256": "0" * 64})
    keys = {
        runner.hash_trial(s, board) for s in (rooted, rooted.model_copy(update={"image": other}))
    }
    assert len(keys) == 2
    assert runner.hash_trial(again, board) in keys


def test_interrupted_it_leaves_nothing_and_goes_on(
    specs: list[TrialSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ready = startimages.fetch_trials_tree_packages(specs, strictly=True)
    monkeypatch.setattr(making, "make_filesystem_image", interrupted)
    monkeypatch.setattr(startimages.StartImageMaker, "_refuse_other_tools", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        startimages.StartImageMaker(FakeBoard()).ready(ready)
    left = [p for p in (tmp_path / "cache" / "images").iterdir() if p.suffix != ".lock"]
    assert left == []


def test_an_image_s_pages_are_kept_if_they_are_known() -> None:
    assert StartImage(name="x", sha256="0").model_dump()["pages"] is None
    new = StartImage(name="x", sha256="0", pages=9, own_header_pages=0, bytes=18432)
    assert StartImage.model_validate(new.model_dump()) == new
    assert new.model_dump()["own_header_pages"] == 0
