# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on the fake board: what fails is a result, what is finished stays, the rest is done."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support.smallruns import (
    FILLED,
    OPERATIONS,
    PHASES,
    counts,
    execute,
    fake,
    read,
)

from nandlab.base.errors import UsageError
from nandlab.board.jobs.fake import FakeResult
from nandlab.board.jobs.job import Job
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.cli.progress import PaceEstimate, SilentWatcher, format_time_left
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import WARNINGS
from nandlab.trial import execution, outcome, runner
from nandlab.trial.steps import make_trial_job

LOG = (
    "<4>[    1.0] before the job\n<6>[    9.5] info\n<4>[    9.6] jffs2: oops\n<3>[   10.0] worse\n"
)


@pytest.fixture
def specs(tmp_path: Path) -> list[TrialSpec]:
    return study.plan_trials(read(tmp_path))


def test_every_trial_has_its_result(tmp_path: Path, specs: list[TrialSpec]) -> None:
    trials = execute(tmp_path, fake(), specs)
    assert [t.id for t in trials] == [s.id for s in specs]
    for t in trials:
        assert t.ok
        assert [(p.name, p.ns, p.sync_ns, p.chip) for p in t.phases] == [
            (name, 5, 1, None) for name in PHASES
        ]
    assert trials[0].latency_ns == dict.fromkeys(OPERATIONS)
    codes = [w.code for w in trials[0].warnings]
    assert codes == ["state_missed", "workload"]


def test_what_takes_long_to_read_keeps_no_other_trial_waiting(
    tmp_path: Path, specs: list[TrialSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board that starts must be answered within seconds, and a trace may take minutes to read."""
    both = threading.Barrier(2)

    def slowly(*given: Any) -> Any:
        both.wait(timeout=60)
        return outcome.make_trial_outcome(*given)

    monkeypatch.setattr(execution, "make_trial_outcome", slowly)
    assert all(t.ok for t in execute(tmp_path, fake(), specs[:2]))


def test_the_state_is_what_the_chip_holds_when_the_load_begins(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    """The file system has erased invalid blocks since the fill looked."""
    filled = f"{json.dumps(FILLED)}\n"
    (t,) = execute(tmp_path, fake(fill=FakeResult(filled, counts=counts(5, 600))), specs[:1])
    assert t.state.obtained is not None
    assert t.state.obtained.programmed == 0.6
    assert t.state.obtained.valid == 0.51
    assert t.state.obtained.invalid == pytest.approx(0.09)
    (missed,) = [w.text for w in t.warnings if w.code == "state_missed"]
    assert missed.startswith("invalid data: 25.0% asked, 9.0% ")
    still = fake(fill=FakeResult(filled, counts=counts(5, 720)))
    (t,) = execute(tmp_path / "still", still, specs[:1])
    assert t.state.obtained is not None and t.state.obtained.invalid == 0.21


def test_each_step_has_what_the_chip_did_in_it(tmp_path: Path, specs: list[TrialSpec]) -> None:
    answers = {
        "load": FakeResult(counts=counts(0, 0)),
        "mount": FakeResult(counts=counts(1, 0)),
        "settle": FakeResult('{"settled":true}\n', counts=counts(1, 0)),
        "fill": FakeResult(f"{json.dumps(FILLED)}\n", counts=counts(11, 720)),
    }
    (t,) = execute(tmp_path, fake(**answers), specs[:1])
    did = {s.name: s.chip and s.chip.reads for s in t.steps}
    assert did["load"] == 0
    assert (did["settle"], did["fill"], did["workload"]) == (0, 10, None)
    assert [s.chip and s.chip.erases for s in t.steps if s.name == "fill"] == [30]
    erased = {s.name: s.blocks_erased for s in t.steps}
    assert (erased["load"], erased["fill"], erased["workload"]) == (7, 18, None)


def test_each_step_has_the_reads_that_the_page_register_answered(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    def hits(n: int) -> str:
        return f"{counts(n, 720)}buffer_hits {n}\n"

    answers = {
        "load": FakeResult(counts=hits(2)),
        "modules": FakeResult(counts=hits(2)),
        "mount": FakeResult(counts=hits(7)),
        "settle": FakeResult('{"settled":true}\n', counts=hits(1)),
        "fill": FakeResult(f"{json.dumps(FILLED)}\n", counts=counts(1, 720)),
    }
    (t,) = execute(tmp_path, fake(**answers), specs[:1])
    did = {s.name: s.register_hits for s in t.steps}
    assert (did["load"], did["modules"], did["mount"]) == (2, 0, 5)
    assert (did["settle"], did["fill"], did["workload"]) == (None, None, None)


def test_what_is_only_told_of_a_board_is_with_the_trial_and_not_in_its_key(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    one = specs[0]
    bare = one.model_copy(update={"board": one.board.model_copy(update={"controller": None})})
    (told,) = execute(tmp_path / "told", fake(), [one])
    (older,) = execute(tmp_path / "older", fake(), [bare])
    assert one.virtual.controller is not None
    assert told.find_source("controller") == one.virtual.controller.model_dump()
    assert older.find_source("controller") == {}
    assert runner.hash_trial(one, fake()) == runner.hash_trial(bare, fake())


def test_the_latencies_asked_for_reach_the_chip_and_the_result(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    chip = catalog.load_noun("chips", "NAND256W3A", ChipModel)
    (typical, maximum) = (
        specs[0].model_copy(update={"chip": chip, "latency": which})
        for which in ("typical", "maximum")
    )
    assert (
        " t_r_ns=12000 t_prog_ns=200000 t_bers_ns=2000000 "
        in make_trial_job(typical).steps[0].command
    )
    assert (
        " t_r_ns=12000 t_prog_ns=500000 t_bers_ns=3000000 "
        in make_trial_job(maximum).steps[0].command
    )
    results = execute(tmp_path, fake(), [typical, maximum])
    assert [t.chip.latency for t in results] == ["typical", "maximum"]


def test_a_failed_step_is_a_failed_trial_with_its_reason(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    board = fake(workload=FakeResult(stderr="ffsmark: disk full\n", rc=1))
    trials = execute(tmp_path, board, specs[:1])
    assert trials[0].status == "trial_failed"
    assert str(trials[0].error).split(": ") == [
        "step workload exited with 1",
        "ffsmark",
        "disk full",
    ]
    assert trials[0].phases == []


def test_a_lost_board_is_a_result_and_the_run_goes_on(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    board = fake()
    board.loss_step = "mount"
    trials = execute(tmp_path, board, specs)
    assert [t.status for t in trials] == ["board_lost"] * len(specs)
    assert trials[0].console_tail == ["fake console"]


def test_the_kernels_warnings_of_this_job_are_kept(tmp_path: Path, specs: list[TrialSpec]) -> None:
    board = fake(**{"kernel-log": FakeResult(LOG)})
    (trial,) = execute(tmp_path, board, specs[:1])
    assert trial.kernel_log == ["[    9.6] jffs2: oops", "[   10.0] worse"]
    assert "kernel_log" in [w.code for w in trial.warnings]


def test_a_report_of_the_kernels_checks_is_a_finding_and_a_debug_kernel_is_marked(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    said = (
        "<3>[    9.6] BUG: KASAN: use-after-free in jffs2_x+0x1/0x2 [jffs2]\n"
        "<3>[    9.7] Read of size 4\n"
        "<4>[    9.8] WARNING: CPU: 0 PID: 61 at fs/jffs2/fs.c:9 jffs2_y+0x1/0x2 [jffs2]\n"
    )
    board = fake(**{"kernel-log": FakeResult(said)})
    board.kernel_config = {"CONFIG_KASAN": "y"}
    (trial,) = execute(tmp_path, board, specs[:1])
    doubts = {doubt.code: doubt.text for doubt in trial.warnings}
    assert doubts["debug_kernel"] == "it has KASAN"
    head = "BUG: KASAN: use-after-free in jffs2_x+0x1/0x2 [jffs2]"
    assert doubts["kernel_finding"] == f"{head}, and 1 more"
    assert {"debug_kernel", "kernel_finding"} <= set(WARNINGS)
    (plain,) = execute(tmp_path / "plain", fake(), specs[:1])
    assert {"debug_kernel", "kernel_finding"}.isdisjoint(doubt.code for doubt in plain.warnings)


def test_what_is_no_text_is_kept_in_a_form_that_is(tmp_path: Path, specs: list[TrialSpec]) -> None:
    said = b"<4>[    9.6] jffs2: \xc3\xa9 \xff\n".decode(errors="surrogateescape")
    board = fake(
        **{"kernel-log": FakeResult(said), "workload": FakeResult(stderr="no \udcff", rc=1)}
    )
    (trial,) = execute(tmp_path, board, specs[:1])
    assert trial.kernel_log == ["[    9.6] jffs2: é \\xff"]
    assert trial.error == "step workload exited with 1: no \\xff"
    counters = next(s for s in specs if s.filesystem.name == "ubifs")
    board = fake(counters=FakeResult("a\udcff 7\n"))
    (trial,) = execute(tmp_path / "counters", board, [counters])
    assert trial.measured["counters"] == {"a\\xff": 7}


def test_output_that_was_cut_is_a_doubt(tmp_path: Path, specs: list[TrialSpec]) -> None:
    log = FakeResult(stdout="x", stdout_bytes=9_000_000)
    (trial,) = execute(tmp_path, fake(**{"kernel-log": log}), specs[:1])
    assert trial.ok
    (doubt,) = [w for w in trial.warnings if w.code == "output_cut"]
    assert doubt.code in WARNINGS
    assert "step kernel-log printed 9000000 bytes" in doubt.text


def test_a_board_that_does_not_repeat_is_doubted(tmp_path: Path, specs: list[TrialSpec]) -> None:
    board = fake()
    board.deterministic = False
    assert execute(tmp_path, board, specs[:1])[0].warnings[0].code == "not_deterministic"


def test_a_run_resumes_with_what_is_missing_and_rewrites_nothing(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    execute(tmp_path, fake(), specs)
    folder = RunFolder(tmp_path / "run")
    kept = folder.trial_path(specs[0].id)
    before = kept.stat().st_mtime_ns
    folder.trial_path(specs[2].id).unlink()
    board = fake()
    execute(tmp_path, board, specs)
    assert len(board.jobs) == 1
    assert kept.stat().st_mtime_ns == before
    assert not folder.missing()
    with pytest.raises(FileExistsError):
        folder.save(next(folder.trials()))


def test_a_folder_of_another_run_is_refused(tmp_path: Path, specs: list[TrialSpec]) -> None:
    execute(tmp_path, fake(), specs)
    other = fake()
    other.kernel = "newer"
    with pytest.raises(UsageError, match="holds another run"):
        execute(tmp_path, other, specs)


def test_the_job_says_what_the_study_asked(specs: list[TrialSpec]) -> None:
    made: Job = make_trial_job(specs[0])
    config = made.files["ffsmark.cfg"].decode().splitlines()
    assert {"set number 10", "set seed 1"} <= set(config)
    fill = made.files["fill.cfg"].decode().splitlines()
    assert {"set fill creation valid 50", "set fill mix 1", "set seed 1"} <= set(fill)
    commands = {s.name: s.command for s in made.steps}
    assert "partition_blocks=64" in commands["load"]
    assert commands["mount"] == "mount -t jffs2 -o rw mtd0 /mnt"
    assert all("{" not in command for command in commands.values())


def test_members_are_run_one_after_another_and_the_rest_stays_to_be_run(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    members = read(tmp_path).members()
    assert members == [(1, 0.0), (2, 307.0)]
    assert [s.seed for s in runner.order_trials(specs, members)] == [1, 1, 2, 2]
    trials = execute(tmp_path, fake(), runner.order_trials(specs, members[:1]))
    assert [t.seed for t in trials] == [1, 1]
    folder = runner.open_run_folder(
        runner.make_run_head(read(tmp_path), specs, fake()), tmp_path / "whole"
    )
    asyncio.run(
        runner.run_trials(folder, specs[:1], fake(), runner.LocalEngine(fake(), 1), SilentWatcher())
    )
    assert folder.missing() == [s.id for s in specs[1:]]


def test_the_time_left_goes_by_what_the_same_configuration_took(specs: list[TrialSpec]) -> None:
    jffs2, jffs2_again, ubifs, ubifs_again = specs
    pace = PaceEstimate(specs, {}, jobs=1)
    assert pace.left_s(0.0) is None
    pace.begins(jffs2, 0.0)
    pace.ends(jffs2, 10.0)
    assert pace.left_s(10.0) == 30.0  # the only one that is known stands for all
    pace.begins(ubifs, 10.0)
    assert pace.left_s(14.0) == 26.0  # 6 of this one and two more
    pace.ends(ubifs, 90.0)
    assert pace.left_s(100.0) == 10.0 + 90.0
    pace.begins(jffs2_again, 100.0)
    assert pace.left_s(200.0) == 0.1 * 100.0 + 90.0  # late: never done at once
    resumed = PaceEstimate([ubifs_again], {ubifs.configuration(): [80.0]}, jobs=2)
    assert resumed.left_s(0.0) == 80.0  # one trial keeps one core busy
    assert format_time_left(80.0) == "about 80 s left"
    assert format_time_left(3900.0) == "about 1 h 5 min left"
    assert format_time_left(None) == "time left unknown"


def test_a_folder_is_run_by_one_process_at_a_time(tmp_path: Path, specs: list[TrialSpec]) -> None:
    folder = runner.open_run_folder(
        runner.make_run_head(read(tmp_path), specs, fake()), tmp_path / "run"
    )
    other = RunFolder(folder.path)
    with folder.hold_lock(), pytest.raises(UsageError, match="another nandlab"), other.hold_lock():
        pytest.fail("held twice")
    with other.hold_lock():
        assert other.missing()


USAGE = "bytes {0}\npeak_bytes 900\nslab_bytes 1\nkmalloc_bytes 2\nvmalloc_bytes 3\nlost {1}\n"


def test_memory_is_measured_where_asked_for_and_its_cost_is_a_doubt(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    spec = specs[0].model_copy(update={"measure": ["memory"]})
    assert spec.id != specs[0].id
    names = [s.name for s in make_trial_job(spec).steps]
    assert names.index("memory-watch") < names.index("modules")
    assert names.index("memory-begin") == names.index("mount") - 1
    assert names.index("memory-end") < names.index("unmount") < names.index("memory-unmounted")
    board = fake(
        **{
            "memory-watch": FakeResult(),
            "memory-begin": FakeResult(),
            "memory-mounted": FakeResult(USAGE.format(700, 0)),
            "memory-end": FakeResult(USAGE.format(800, 5)),
            "memory-unmounted": FakeResult(USAGE.format(100, 5)),
        }
    )
    (trial,) = execute(tmp_path, board, [spec])
    assert list(trial.measured["memory"].values()) == [700, 900, 800, 100, 1, 2, 3]
    assert {"memory_measured", "memory_lost"} <= {w.code for w in trial.warnings}
    assert not any(step.startswith("memory") for step in (s.name for s in trial.steps))


def test_memory_that_was_not_told_leaves_the_trial_unmeasured(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    spec = specs[0].model_copy(update={"measure": ["memory"]})
    names = ("watch", "begin", "mounted", "end", "unmounted")
    board = fake(**{f"memory-{n}": FakeResult(f"bytes {'9' * 30}\n") for n in names})
    (trial,) = execute(tmp_path, board, [spec])
    assert trial.status == "not_measured"
    assert trial.error == "step memory-mounted: printed no bytes"


def test_memory_of_a_file_system_whose_modules_are_not_known_is_null(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    unknown = specs[0].filesystem.model_copy(update={"memory_of": []})
    spec = specs[0].model_copy(update={"measure": ["memory"], "filesystem": unknown})
    (trial,) = execute(tmp_path, fake(), [spec])
    assert (trial.status, trial.measured) == ("ok", {})
    assert not any(w.code.startswith("memory") for w in trial.warnings)


def test_what_a_file_system_counts_is_kept_and_what_it_does_not_is_null(
    tmp_path: Path, specs: list[TrialSpec]
) -> None:
    board = fake(counters=FakeResult("collections 7\nnot a counter\n"))
    trials = execute(tmp_path, board, specs)
    assert {t.filesystem: t.measured for t in trials} == {
        "jffs2": {},
        "ubifs": {"counters": {"collections": 7}},
    }


def test_a_run_with_other_steps_is_another_run(tmp_path: Path, specs: list[TrialSpec]) -> None:
    """Steps hang on the catalog too: trials of an old one are not gone on with by a new one."""

    def changed(**to: object) -> list[TrialSpec]:
        fs = specs[0].filesystem
        return [specs[0].model_copy(update={"filesystem": fs.model_copy(update=to)}), *specs[1:]]

    def run_id(planned: list[TrialSpec]) -> str:
        return runner.make_run_head(read(tmp_path), planned, fake()).id

    settle = specs[0].filesystem.settle
    longer = changed(settle=settle.model_copy(update={"limit_s": settle.limit_s + 1}))
    reworded = changed(summary="said in other words")
    assert [s.id for s in longer] == [s.id for s in specs]
    assert run_id(longer) != run_id(specs) == run_id(reworded)


@pytest.mark.parametrize(
    ("step", "rc", "status"),
    [
        ("workload", 1, "trial_failed"),  # as when the disk is full
        ("workload", 127, "not_measured"),
        ("workload", 126, "not_measured"),
        ("workload", 128 + 11, "not_measured"),
        ("workload", 128 + 9, "trial_failed"),  # killed, for lack of memory perhaps
        ("mount", 127, "trial_failed"),
    ],
)
def test_a_workload_s_own_fault_is_not_the_file_system_s(
    tmp_path: Path, specs: list[TrialSpec], step: str, rc: int, status: str
) -> None:
    (trial,) = execute(tmp_path, fake(**{step: FakeResult(rc=rc)}), specs[:1])
    assert trial.status == status
