# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that share a setup: what of them is shared, and what is their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.smallruns import TEXT, fake

from nandlab.base import cache
from nandlab.board.jobs import stagedjob
from nandlab.board.jobs.job import Board
from nandlab.board.virtual import states
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.trial import execution, runner, steps

PAIRED = 'seeds = [1, 20]\nphase_offsets_ms = [0, 97]\nensemble = "paired"'
MEMBERS = TEXT.replace("seeds = [1, 2]", PAIRED)
SHARED = f"{MEMBERS}setup_seed = 7\n"
AGED = 'states = [{ name = "aged", valid = 0.5, invalid = 0.25, mix = 1 }]'
FRESH = 'states = [{ name = "fresh" }]'


def planned(folder: Path, text: str) -> list[TrialSpec]:
    path = folder / "small.toml"
    path.write_text(text)
    return study.plan_trials(study.read_study_file(path))


def first(spec: TrialSpec) -> bytes:
    """What the board gets of a trial before its state is saved."""
    job = steps.make_trial_job(spec)
    assert job.setup is not None
    return stagedjob.make_first_piece_job(job, job.setup, spec.virtual).archive({}, {})


def test_members_and_their_parameters_share_what_leads_to_the_state(tmp_path: Path) -> None:
    text = SHARED.replace(AGED, FRESH)
    one_member, other, another_system, _ = planned(tmp_path, text)
    assert first(one_member) == first(other) != first(another_system)
    more = planned(tmp_path, text.replace("files = 10", "files = 99, transactions = 3"))
    assert first(more[1]) == first(one_member)
    assert len({spec.id for spec in (one_member, other, *more)}) == 6
    offsets = [steps.make_trial_job(spec) for spec in (one_member, other)]
    assert [job.start_offset_ns for job in offsets] == [0, 0]
    assert [job.setup and job.setup.offset_ns for job in offsets] == [0, 97_000_000]


def test_an_aged_flash_has_the_setups_seed_and_the_members_offset(tmp_path: Path) -> None:
    """A load begins at once after an ageing, so the offset comes before it: a state for each."""
    one_member, other, *_ = planned(tmp_path, SHARED)
    job = steps.make_trial_job(other)
    assert b"set seed 7\n" in job.files["fill.cfg"]
    assert b"set seed 20\n" in job.files["ffsmark.cfg"]
    assert (job.start_offset_ns, job.setup and job.setup.offset_ns) == (97_000_000, 0)
    assert first(one_member) != first(other)
    crossed = SHARED.replace(PAIRED, "seeds = [1, 20]")
    a, b, *_ = planned(tmp_path, crossed)
    assert first(a) == first(b)


def test_faults_are_drawn_with_the_setups_seed(tmp_path: Path) -> None:
    text = SHARED.replace("partition_mib = 8", "partition_mib = 8, faults = { bad_blocks = 2 }")
    loads = [steps.make_trial_job(spec).steps[0].command for spec in planned(tmp_path, text)[:2]]
    assert loads[0] == loads[1]
    assert " seed=7 " in f"{loads[0]} "


def test_without_a_setups_seed_nothing_is_otherwise(tmp_path: Path) -> None:
    assert not any(steps.make_trial_job(spec).setup for spec in planned(tmp_path, MEMBERS))
    plain, shared = planned(tmp_path, MEMBERS), planned(tmp_path, SHARED)
    board = fake()
    assert len({runner.hash_trial(spec, board) for spec in [*plain, *shared]}) == 8


def ran(folder: Path, text: str, board: Board) -> list[Trial]:
    specs = planned(folder, text)
    made = study.read_study_file(folder / "small.toml")
    run = RunFolder.create(folder / "run", runner.make_run_head(made, specs, board))
    wanted = runner.order_trials(specs, made.members())
    asyncio.run(
        runner.run_trials(run, wanted, board, runner.LocalEngine(board, 1), SilentWatcher())
    )
    return list(run.trials())


def test_a_run_goes_setup_by_setup_and_its_record_tells(tmp_path: Path) -> None:
    board = fake()
    trials = ran(tmp_path, SHARED, board)
    assert all(t.ok for t in trials)
    assert [t.setup_seed for t in trials] == [7] * 4
    assert ["jffs2" in str(job.steps) for job in board.jobs] == [True, True, False, False]
    plain = tmp_path / "plain"
    plain.mkdir()
    told = ran(plain, MEMBERS, fake())
    assert told[0].setup_seed is None


@pytest.mark.anew
@pytest.mark.board
def test_on_the_board_members_are_as_without_saved_states(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SHARED.replace(AGED, FRESH).replace("files = 10", "files = 10, transactions = 20")
    specs = planned(tmp_path, text.replace('{ name = "jffs2" }, ', "").replace("= 8", "= 16"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))

    def results() -> list[Trial]:
        return [asyncio.run(execution.run_trial(spec, board, "s")) for spec in specs]

    monkeypatch.setenv(states.LIMIT, "0")
    alone = [t.model_dump(exclude={"host"}) for t in results()]
    monkeypatch.delenv(states.LIMIT)
    assert [t.model_dump(exclude={"host"}) for t in results()] == alone
    assert [t["status"] for t in alone] == ["ok", "ok"]
    assert alone[0]["phases"] != alone[1]["phases"]
    assert len([one for one in cache.list_cache_items() if one.kind == states.KIND]) == 1
