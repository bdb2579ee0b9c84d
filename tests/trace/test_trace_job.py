# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that traces: what it prepares, what it brings, and what is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from support.fitting import fits
from support.tracefolders import board, request, traced

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs import programs
from nandlab.board.jobs.fake import FakeResult
from nandlab.board.jobs.job import JobRecord, StepRecord
from nandlab.catalog.files import load_noun, read_noun_file
from nandlab.catalog.workload import WorkloadModel
from nandlab.cli import trace as cli_trace
from nandlab.cli.singletrial import plan_single_trial
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipImage
from nandlab.trace import job
from nandlab.trace.job import TraceRequest
from nandlab.traced import setup
from nandlab.traced.records import RECORD_BYTES


def test_a_chip_that_was_written_while_it_was_saved_is_no_image() -> None:
    shape = chipimage.ChipGeometry(2048, 64, 131072, 16)
    one, two = (chipimage.encode_chip_image(ChipImage(shape, seq, 0, 0, [])) for seq in (7, 8))
    step = StepRecord(job.COUNTERS_STEP, 0, 0, False, 0, 1, "", "")
    steps = (step, replace(step, step=job.RECORDS_STEP))
    assert job.extract_pretrace_chip_image(JobRecord(steps, cargo=one), JobRecord(steps)) == one
    torn = one[: chipimage.IMAGE_HEADER.size] + two[chipimage.IMAGE_HEADER.size :]
    with pytest.raises(NandlabError, match=r"no image: the chip was written"):
        job.extract_pretrace_chip_image(JobRecord(steps, cargo=torn), JobRecord(steps))


def test_the_image_of_another_trace_is_refused(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t", image=b"a chip")
    fits("trace-meta", trace.meta)
    assert trace.image.read_bytes() == b"a chip"
    trace.image.write_bytes(b"another")
    with pytest.raises(UsageError, match="not the image of this trace"):
        _ = trace.image


def test_a_trace_ages_the_chip_for_any_workload() -> None:
    spec = plan_single_trial(
        board="apf27",
        workload={"name": "lifetime"},
        filesystem={"name": "jffs2"},
        chip={"part": "apf27", "partition_mib": 16},
        state={"name": "aged", "valid": 0.5, "invalid": 0.25, "mix": 1.0},
        seed=1,
    )
    steps = [s.name for s in job.make_trace_job(TraceRequest(spec, None, ("flash",))).steps]
    assert steps.index("fill") < steps.index("command")


def test_what_cannot_be_traced_is_an_error_of_its_own() -> None:
    record = asyncio.run(
        board(tracers=FakeResult(stderr="no function x", rc=2)).run(job.make_trace_job(request()))
    )
    with pytest.raises(UsageError, match=r"nothing was traced: .*: no function x"):
        job.decode_trace_outcome(request(), record)
    record = asyncio.run(board(mount=FakeResult(rc=1)).run(job.make_trace_job(request())))
    with pytest.raises(NandlabError, match="step mount exited"):
        job.decode_trace_outcome(request(), record)
    full = board(records=FakeResult(stderr="no room", rc=1))
    with pytest.raises(NandlabError, match=r"trace is lost: .*: no room"):
        job.decode_trace_outcome(request(), asyncio.run(full.run(job.make_trace_job(request()))))
    silent = board()
    silent.brings = lambda job: None
    with pytest.raises(NandlabError, match=r"trace is lost: .* no records"):
        job.decode_trace_outcome(request(), asyncio.run(silent.run(job.make_trace_job(request()))))


def test_the_job_prepares_the_state_before_it_traces() -> None:
    wanted = request(before="echo x > a", with_mount=True, functions=("jffs2_scan_medium",))
    aged = wanted.spec.model_copy(
        update={"state": wanted.spec.state.model_copy(update={"valid": 0.5, "mix": 1.0})}
    )
    todo = job.make_trace_job(
        TraceRequest(aged, None, ("flash",), with_mount=True, before="echo x > a")
    )
    names = [s.name for s in todo.steps]
    order = ["settle", "fill", "before", "unmount-before", "tracers", "mount-traced", "command",
             "ended", "unmount-traced", "settle-after", "pause",
             "records"]  # fmt: skip
    assert [n for n in names if n in order] == order
    assert b"fill creation valid 50\n" in todo.files["fill.cfg"]
    assert b"fill" not in todo.files["ffsmark.cfg"]
    assert "vfsmon" not in todo.files["tracers.sh"].decode()
    assert "jffs2_scan_medium" in job.make_trace_job(wanted).files["tracers.sh"].decode()


def test_a_trace_runs_the_programs_of_its_workload_s_project(tmp_path: Path) -> None:
    source = tmp_path / "programs/mylog/mylog.c"
    source.parent.mkdir(parents=True)
    source.write_text("int main(void) { return 0; }")
    noun = tmp_path / "catalog/workloads/log.toml"
    noun.parent.mkdir(parents=True)
    noun.write_text('name = "log"\nsummary = "?"\ncommand = "mylog"\nprograms = ["mylog"]\n')
    workload = read_noun_file(noun, WorkloadModel)
    workload._home = tmp_path
    spec = request().spec.model_copy(update={"workload": workload})
    for command in (None, "mylog x"):
        todo = job.make_trace_job(TraceRequest(spec, command, ("flash",), before="mylog before"))
        wanted = {s.name: s.programs for s in todo.steps if s.name in ("before", "command")}
        assert wanted == {"before": ("mylog",), "command": ("mylog",)}
        assert programs.find_job_program_folders(todo)["mylog"] == source.parent


def test_a_trace_may_begin_as_soon_as_the_flash_has_its_state() -> None:
    names = [s.name for s in job.make_trace_job(request()).steps]
    assert "rest" in names
    at_once = [s.name for s in job.make_trace_job(request(at_once=True)).steps]
    assert at_once == [n for n in names if n != "rest"]


def test_all_records_that_may_be_asked_for_have_room_or_are_refused() -> None:
    small = request().spec
    most = setup.compute_records_max(small.virtual)
    assert most == 1 << 19  # twice as many take 64 MiB, of 128: programs were killed
    hold = job.make_trace_job(request(records=most)).cargo
    assert hold is not None
    assert hold.room >= (most + 1) * RECORD_BYTES
    with pytest.raises(UsageError, match=f"be 1 to {most} on board {small.board.name}"):
        request(records=most + 1)
    small = small.model_copy(
        update={"board": small.board.model_copy(update={"chip_store_mib": 40})}
    )
    with pytest.raises(UsageError, match="keeps 40 MiB for the chip"):
        job.make_trace_job(TraceRequest(small, "true", ("flash",), records=most))


def test_a_workload_without_a_configuration_file_is_traced_too() -> None:
    logger = replace(request(), command=None)
    told = load_noun("workloads", "logger", WorkloadModel)
    parameters = told.resolve_values({}, "here")
    spec = logger.spec.model_copy(update={"workload": told, "parameters": parameters})
    made = job.make_trace_job(replace(logger, spec=spec))
    assert "" not in made.files
    assert made.archive({}, {})
    assert any(s.command.startswith("logwriter /mnt") for s in made.steps)


def test_a_list_of_steps_is_no_command_to_trace() -> None:
    one = request()
    steps = one.spec.workload.model_copy(update={"command": "", "name": "reboot"})
    with pytest.raises(UsageError, match="reboot is a list of steps"):
        replace(one, command=None, spec=one.spec.model_copy(update={"workload": steps}))


def test_a_parameter_that_is_a_text_takes_a_number_as_a_text() -> None:
    given = {"points": "8", "files": "3", "verify": "true"}
    assert cli_trace._parse_parameters("readbench", given) == {
        "points": "8",
        "files": 3,
        "verify": True,
    }
