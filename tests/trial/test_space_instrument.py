# SPDX-License-Identifier: GPL-2.0-or-later
"""The space instrument without a board: its step, its figures, its artefact, and its doubt."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import flashsamples
import pytest
from test_run import execute, fake, read
from typer.testing import CliRunner

from nandlab.analysis import figures
from nandlab.analysis.words import said
from nandlab.board.fake import Answer
from nandlab.chip import image as chipimage
from nandlab.cli import main
from nandlab.measure.space import NAME
from nandlab.onflash.cells import GARBLED
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial.steps import CHIP_SAVED, job

PARTITION = 8 << 20


@pytest.fixture
def spec(tmp_path: Path) -> TrialSpec:
    """A trial of JFFS2 with the instrument."""
    found = next(s for s in study.plan(read(tmp_path)) if s.filesystem.name == "jffs2")
    return found.model_copy(update={"measure": [NAME]})


def run(folder: Path, spec: TrialSpec, chip: bytes | None) -> Trial:
    board = fake(**{CHIP_SAVED: Answer()})
    board.brings = lambda _: chip
    (trial,) = execute(folder, board, [spec])
    assert trial.status == "ok"
    return trial


def test_it_has_one_step_after_the_unmount_and_an_id_of_its_own(spec: TrialSpec) -> None:
    without = spec.model_copy(update={"measure": []})
    steps, plain = job(spec).steps, job(without).steps
    names = [s.name for s in steps]
    assert spec.id != without.id
    assert names.index(CHIP_SAVED) == names.index("unmount") + 1
    assert [s for s in steps if s.name != CHIP_SAVED] == list(plain)


def test_its_figures_are_the_chip_s_and_the_run_keeps_the_chip(
    tmp_path: Path, spec: TrialSpec
) -> None:
    packed = flashsamples.packed("jffs2")
    trial = run(tmp_path, spec, packed)
    told = trial.measured[NAME]
    assert told["partition"] == PARTITION
    assert told["user"] == told["user_data"] < told["user_logical"]
    free = figures.find("space.free", said(spec.workload))
    assert (free(trial), free.better, free.quantity.name) == (told["free"], "more", "bytes")
    (kept,) = trial.artefacts
    path = tmp_path / "run" / "artefacts" / kept.sha256
    assert path.read_bytes() == packed
    done = CliRunner().invoke(main.app, ["space", str(path), "--json"], catch_exceptions=False)
    again = json.loads(done.stdout)
    assert {key: again[key] for key in ("partition", "user", "free")} == {
        key: told[key] for key in ("partition", "user", "free")
    }


def test_a_chip_that_cannot_be_read_is_a_doubt(tmp_path: Path, spec: TrialSpec) -> None:
    chip = flashsamples.chip("jffs2")
    first = replace(chip.blocks[0], states=[s | GARBLED for s in chip.blocks[0].states])
    garbled = replace(chip, blocks=[first, *chip.blocks[1:]])
    for n, (brought, why) in enumerate(
        (
            (chipimage.encode(garbled), "64 pages cannot be read"),
            (flashsamples.packed("ubifs"), ""),
            (b"\0" * 100, "not an image"),
            (None, "no chip came back"),
        )
    ):
        trial = run(tmp_path / str(n), spec, brought)
        assert NAME not in trial.measured and trial.phases
        (doubt,) = (d for d in trial.warnings if d.code == "space_unread")
        assert why in doubt.text
