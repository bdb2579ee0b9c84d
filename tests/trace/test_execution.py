# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab exec``: what goes to the board, what runs there, and how its end is passed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import JobRecord, StepRecord
from nandlab.cli.main import app
from nandlab.cli.singletrial import plan_single_trial
from nandlab.plan.trialspec import TrialSpec
from nandlab.trace.execution import (
    DATA_FOLDER,
    TIMED_OUT,
    Execution,
    decode_execution_outcome,
    make_execution_job,
    read_files_to_put,
)


@pytest.fixture(scope="module")
def spec() -> TrialSpec:
    return plan_single_trial(
        board="apf27",
        workload={"name": "ffsmark"},
        filesystem={"name": "jffs2"},
        chip={"part": "apf27", "partition_mib": 8},
        state={"name": "fresh"},
        seed=1,
    )


def step(name: str, rc: int = 0, **more: object) -> StepRecord:
    fields = {"signal": 0, "timed_out": False, "stdout": "", "stderr": "", **more}
    return StepRecord(step=name, rc=rc, start_ns=10**9, end_ns=2 * 10**9, **fields)  # type: ignore[arg-type]


def test_a_file_goes_where_its_word_says_or_where_its_mode_does(
    spec: TrialSpec, tmp_path: Path
) -> None:
    program, data, odd = (tmp_path / name for name in ("app", "data", "a:b"))
    for path in (program, data, odd):
        path.write_bytes(path.name.encode())
    program.chmod(0o755)
    words = [str(program), str(data), f"{data}:/mnt/in", str(odd)]
    put = read_files_to_put(words, spec)
    assert [(c.path, c.content, c.mode & 0o111 != 0) for c in put] == [
        ("/usr/bin/app", b"app", True),
        (f"{DATA_FOLDER}/data", b"data", False),
        ("/mnt/in", b"data", False),
        (f"{DATA_FOLDER}/a_b", b"a:b", False),
    ]


def test_a_folder_goes_with_all_that_is_in_it(spec: TrialSpec, tmp_path: Path) -> None:
    (tmp_path / "suite" / "sub").mkdir(parents=True)
    for name in ("suite/one", "suite/sub/two"):
        (tmp_path / name).write_text(name)
    here = read_files_to_put([str(tmp_path / "suite")], spec)
    assert [c.path for c in here] == [f"{DATA_FOLDER}/suite/one", f"{DATA_FOLDER}/suite/sub/two"]
    there = read_files_to_put([f"{tmp_path / 'suite'}:/opt/t/"], spec)
    assert [c.path for c in there] == ["/opt/t/one", "/opt/t/sub/two"]


@pytest.mark.parametrize("name", ["suite/a:b", "suite/x:/y", "a:b/c"])
def test_a_folder_with_a_colon_in_a_path_is_refused(
    spec: TrialSpec, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("x")
    folder = tmp_path / name.partition("/")[0]
    with pytest.raises(UsageError, match="no colon"):
        read_files_to_put([str(folder)], spec)


@pytest.mark.parametrize("word", ["nowhere", "empty", "file:opt/x", "file:/proc/x"])
def test_what_cannot_be_put_is_refused(
    spec: TrialSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError) as e:
        read_files_to_put([word], spec)
    assert str(e.value).startswith("--put ")


def test_the_program_runs_on_the_mounted_file_system(spec: TrialSpec, tmp_path: Path) -> None:
    """And a program of nandlab's of the same name is not brought beside it."""
    fsx = tmp_path / "fsx"
    fsx.write_bytes(b"#!/bin/sh\n")
    fsx.chmod(0o755)
    given = (
        Execution(spec, "fsx file", read_files_to_put(words, spec)) for words in ([], [str(fsx)])
    )
    bare, put = (make_execution_job(each) for each in given)
    names = [s.name for s in put.steps]
    at = names.index("mount")
    assert [n for n in names[at:] if n != "settle"] == [
        *("mount", "copies", "command", "unmount", "kernel-log")
    ]
    programs = [next(s.programs for s in job.steps if s.name == "command") for job in (bare, put)]
    assert programs == [("fsx",), ()]
    assert put.files["command.sh"] == b"fsx file"
    assert put.cargo is not None
    assert put.cargo.contents == (b"#!/bin/sh\n",)


@pytest.mark.parametrize(
    ("ended", "status", "note"),
    [
        (step("command", 3), 3, ""),
        (step("command", -1, signal=9), 137, "signal 9 (SIGKILL)"),
        (step("command", 137), 137, "signal 9 (SIGKILL)"),
        (step("command", -1, signal=9, timed_out=True), TIMED_OUT, "after 7 s"),
        (step("command", 1, disk_full=True), 1, "RAM disk"),
        (step("command", 1, out_of_memory=True), 1, "ran out of memory"),
        (
            step("command", 127, stderr="x: error while loading shared libraries: libq.so.1"),
            *(127, "lacks a shared library"),
        ),
    ],
)
def test_how_a_program_ended(spec: TrialSpec, ended: StepRecord, status: int, note: str) -> None:
    record = JobRecord((step("load"), ended, step("unmount"), step("kernel-log")))
    seen = decode_execution_outcome(Execution(spec, "x", limit_s=7), record)
    assert seen.status == status
    assert len(seen.notes) == bool(note)
    assert note in "".join(seen.notes)


def test_what_the_kernel_and_the_unmount_say_is_passed_on(spec: TrialSpec) -> None:
    log = step("kernel-log", stdout="<4>[    1.5] jffs2: odd\n<6>[    1.6] fine\n")
    busy = step("unmount", 1, stderr="busy")
    record = JobRecord((step("load"), step("command"), busy, log))
    notes = decode_execution_outcome(Execution(spec, "x"), record).notes
    assert len(notes) == 2
    assert "busy" in notes[0]
    assert "jffs2: odd" in notes[1]


def test_output_is_kept_byte_for_byte(spec: TrialSpec) -> None:
    text = b"\x00\xff\r\n".decode(errors="surrogateescape")
    record = JobRecord((step("command", stdout=text, stderr=text),))
    seen = decode_execution_outcome(Execution(spec, "x"), record)
    assert seen.stdout == seen.stderr == b"\x00\xff\r\n"


@pytest.mark.parametrize(("failed", "kind"), [("copies", UsageError), ("mount", NandlabError)])
def test_a_program_that_never_began(spec: TrialSpec, failed: str, kind: type[NandlabError]) -> None:
    record = JobRecord((step("load"), step(failed, 2, stderr="why")))
    with pytest.raises(NandlabError, match="why") as e:
        decode_execution_outcome(Execution(spec, "x"), record)
    assert type(e.value) is kind


@pytest.mark.parametrize("limit", ["0", "-1", "86401"])
def test_a_limit_that_cannot_be(limit: str) -> None:
    ended = CliRunner().invoke(app, ["exec", "--fs", "jffs2", "--limit", limit, "--", "true"])
    assert isinstance(ended.exception, UsageError)
    assert "--limit" in str(ended.exception)
