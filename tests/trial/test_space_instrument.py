# SPDX-License-Identifier: GPL-2.0-or-later
"""The space instrument without a board: its step, its figures, its artefact, and its doubt."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support import flashsamples
from support.smallruns import execute, fake, read
from typer.testing import CliRunner

from nandlab.analysis.figures import figures
from nandlab.analysis.figures.workloadwords import make_words_from_declaration
from nandlab.board.jobs.fake import FakeResult
from nandlab.cli import main
from nandlab.flash.chip import image as chipimage
from nandlab.flash.layouts.cells import GARBLED_PAGE
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial.instruments.space import SPACE_NAME
from nandlab.trial.steps import SAVE_CHIP_STEP, make_trial_job

PARTITION = 8 << 20


@pytest.fixture
def spec(tmp_path: Path) -> TrialSpec:
    """A trial of JFFS2 with the instrument."""
    found = next(s for s in study.plan_trials(read(tmp_path)) if s.filesystem.name == "jffs2")
    return found.model_copy(update={"measure": [SPACE_NAME]})


def run(folder: Path, spec: TrialSpec, chip: bytes | None) -> Trial:
    board = fake(**{SAVE_CHIP_STEP: FakeResult()})
    board.brings = lambda _: chip
    (trial,) = execute(folder, board, [spec])
    assert trial.status == "ok"
    return trial


def test_it_has_one_step_after_the_unmount_and_an_id_of_its_own(spec: TrialSpec) -> None:
    without = spec.model_copy(update={"measure": []})
    steps, plain = make_trial_job(spec).steps, make_trial_job(without).steps
    names = [s.name for s in steps]
    assert spec.id != without.id
    assert names.index(SAVE_CHIP_STEP) == names.index("unmount") + 1
    assert [s for s in steps if s.name != SAVE_CHIP_STEP] == list(plain)


def test_its_figures_are_the_chip_s_and_the_run_keeps_the_chip(
    tmp_path: Path, spec: TrialSpec
) -> None:
    packed = flashsamples.packed("jffs2")
    trial = run(tmp_path, spec, packed)
    told = trial.measured[SPACE_NAME]
    assert told["partition"] == PARTITION
    assert told["user"] == told["user_data"] < told["user_logical"]
    free = figures.find_workload_figure("space.free", make_words_from_declaration(spec.workload))
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
    first = replace(chip.blocks[0], states=[s | GARBLED_PAGE for s in chip.blocks[0].states])
    garbled = replace(chip, blocks=[first, *chip.blocks[1:]])
    for n, (brought, why) in enumerate(
        (
            (chipimage.encode_chip_image(garbled), "64 pages cannot be read"),
            (flashsamples.packed("ubifs"), ""),
            (b"\0" * 100, "not an image"),
            (None, "no chip came back"),
        )
    ):
        trial = run(tmp_path / str(n), spec, brought)
        assert SPACE_NAME not in trial.measured and trial.phases
        (doubt,) = (d for d in trial.warnings if d.code == "space_unread")
        assert why in doubt.text
