# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials that begin from a tree, on the board: its files are there, and it is made once."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest
from support import treemade

from nandlab.base.errors import UsageError
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.image.startimages import StartImageMaker, fetch_trials_tree_packages
from nandlab.plan import study
from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import execution, runner

pytestmark = pytest.mark.board

STUDY = """
name = "rooted"
question = "?"
board = "{board}"
[matrix]
workloads = [{{ name = "boot" }}]
filesystems = [{filesystems}]
chips = [{{ part = "nandsim-small", partition_mib = {mib} }}]
states = [{{ name = "fresh" }}]
seeds = [1]
"""
UBIFS = '{ name = "ubifs", compression = "favor-lzo", tree = "small" }'
JFFS2 = '{ name = "jffs2", compression = "zlib", tree = "small" }'
LISTED, LISTED_BYTES = ("bin/tool", "etc/conf"), 40_000 + 8
"""What the tree's etc/boot.list names."""


def planned(board: QemuBoard, home: Path, mib: float, *filesystems: str) -> list[TrialSpec]:
    treemade.project(home, treemade.UNMERGED)
    (home / "rooted.toml").write_text(
        STUDY.format(board=board.machine.model.name, mib=mib, filesystems=", ".join(filesystems))
    )
    return fetch_trials_tree_packages(
        study.plan_trials(study.read_study_file(home / "rooted.toml")), strictly=True
    )


def test_a_trial_begins_from_a_tree_that_is_made_once_and_the_same_each_time(
    board: QemuBoard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("NANDLAB_PACKAGES", str(tmp_path / "debs"))
    specs = planned(board, tmp_path, 8, UBIFS, JFFS2)
    ready = StartImageMaker(board).ready(specs)
    capfd.readouterr()
    assert [runner.hash_trial(s, board) for s in ready] == [
        runner.hash_trial(s, board) for s in specs
    ]
    results = [asyncio.run(execution.run_trial(spec, board, "test")) for spec in ready]
    for spec, result in zip(ready, results, strict=True):
        assert (result.status, result.error, result.kernel_log) == ("ok", None, [])
        for name in ("read", "read_again"):
            phase = result.phase(name)
            assert phase is not None
            assert phase.bytes["read"] == LISTED_BYTES
            assert result.figures[f"{name}_files"] == len(LISTED)
        assert isinstance(spec.image, TreeStart)
        assert spec.image.made is not None
        assert result.image is not None
        assert (result.image.name, result.image.tree) == ("small", spec.image.sha256)
        assert result.image.pages is not None
        assert result.image.own_header_pages is not None
        # 40,000 random bytes and a tenth of them again do not compress
        own = result.image.pages - result.image.own_header_pages
        assert own * 512 == result.image.bytes
        assert 49_000 < own * 512 < 8 << 20
    assert results[0].image is not None
    assert results[0].image.own_header_pages

    for spec in ready:  # made anew, it is the same
        assert isinstance(spec.image, TreeStart)
        assert spec.image.made is not None
        shutil.rmtree(spec.image.made.path.parent)
    assert [s.image for s in StartImageMaker(board).ready(specs)] == [s.image for s in ready]
    assert "making image 2 of 2: JFFS2 on 8 MiB" in capfd.readouterr().err
    assert [s.image for s in StartImageMaker(board).ready(specs)] == [s.image for s in ready]
    assert capfd.readouterr().err == ""


def test_a_tree_that_does_not_fit_is_refused_before_the_first_trial(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_PACKAGES", str(tmp_path / "debs"))
    least_mib = 0.078125
    large = f'"etc/large" = "{random.Random(1).randbytes(30_000).hex()}"\n'
    monkeypatch.setattr(treemade, "UNMERGED", treemade.UNMERGED + large)
    (jffs2,) = planned(board, tmp_path, least_mib, JFFS2)
    with pytest.raises(UsageError, match="the tree does not fit: JFFS2"):
        StartImageMaker(board).ready([jffs2])
