# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker answers is held against what was asked before anything of it names a file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.smallruns import fake, read

from nandlab.base.digest import digest_bytes
from nandlab.base.errors import UsageError
from nandlab.plan import study
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.results.recordparts import Artefact
from nandlab.trial import execution, runner
from nandlab.trial.workers.batch import WorkerAnswer, parse_worker_answer

CONTENT = b"a chip"
RIGHT = digest_bytes(CONTENT)
WRONG = ["../../out", "/out", "", "x", RIGHT.upper(), RIGHT[:-1], RIGHT + "\n", digest_bytes(b"")]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """The folder of a run of which no trial has ended, in a folder of its own."""
    board, asked = fake(), read(tmp_path)
    head = runner.make_run_head(asked, study.plan_trials(asked), board)
    return RunFolder.create(tmp_path / "within" / "run", head)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """A trial with an artefact, without its content."""
    spec = study.plan_trials(read(tmp_path))[0]
    result = asyncio.run(execution.run_trial(spec, fake(), "small"))
    return naming(result, RIGHT)


def naming(trial: Trial, name: str) -> Trial:
    kept = Artefact(name="chip", kind="chip image", sha256=RIGHT, bytes=len(CONTENT))
    kept = kept.model_copy(update={"sha256": name})
    return trial.model_copy(update={"artefacts": [kept]})


def answer(*trials: Trial) -> str:
    return WorkerAnswer(by="tcp://w", trials=list(trials)).model_dump_json(warnings=False)


def test_an_answer_is_its_trials_and_what_they_left(trial: Trial) -> None:
    found, brought = parse_worker_answer((answer(trial), {RIGHT: CONTENT}), [trial.id])
    assert [result.id for result in found.trials] == [trial.id]
    assert brought == {RIGHT: CONTENT}
    assert parse_worker_answer(('{"lacks": true}', {}), [trial.id])[0].lacks


@pytest.mark.parametrize("name", WRONG)
def test_an_artefact_s_name_is_the_digest_of_its_content(
    tmp_path: Path, trial: Trial, folder: RunFolder, name: str
) -> None:
    wrong = naming(trial, name)
    with pytest.raises(UsageError):
        parse_worker_answer((answer(wrong), {name: CONTENT}), [trial.id])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError):
        folder.save(wrong.add_contents({name: CONTENT}))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_keeps_an_artefact_under_its_digest(trial: Trial, folder: RunFolder) -> None:
    folder.save(trial.add_contents({RIGHT: CONTENT}))
    assert folder.artefact_path(RIGHT).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "sent", [None, "{}", b"{}", [], ("{}",), (b"{}", {}), ("{}", []), {"a": 1}]
)
def test_what_is_no_answer_is_refused(sent: Any) -> None:
    with pytest.raises(UsageError, match="is refused"):
        parse_worker_answer(sent, ["a"])


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"trials": [{}]}', '{"\x1b": 1}', "1"])
def test_what_is_no_json_of_an_answer_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_worker_answer((text, {}), ["a"])
    assert str(raised.value).isprintable()


def test_trials_that_nobody_asked_for_are_refused(trial: Trial) -> None:
    other = trial.model_copy(update={"id": "../../out"})
    brought = {RIGHT: CONTENT}
    for results in ([other], [trial, trial], [trial, other]):
        with pytest.raises(UsageError):
            parse_worker_answer((answer(*results), brought), [trial.id])
    for lost in ({}, {RIGHT: b"another"}, {RIGHT: "text"}):
        with pytest.raises(UsageError):
            parse_worker_answer((answer(trial), lost), [trial.id])
