# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad days: a full disk, a place that is none, an interruption. One line, and nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import samples
from support.commandline import Ended, run_command

from nandlab.results.folder import RunFolder

FAKE = (
    "import sys; sys.path.insert(0, {tests!r})\n"
    "from support import smallruns; import nandlab.board.opening as o\n"
    "o.open_board = lambda *a, **k: smallruns.fake()\n"
)
"""Makes the board of a command line a fake."""
SMALL = """name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 10 }]
filesystems = [{ name = "jffs2" }, { name = "ubifs" }]
chips = [{ part = "apf27", partition_mib = 8 }]
states = [{ name = "aged", valid = 0.5, invalid = 0.25, mix = 1 }]
seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
"""
TESTS = str(Path(__file__).parents[1])


def nandlab(*argv: str | Path, cwd: Path | None = None) -> Ended:
    return run_command(*argv, cwd=cwd, first=FAKE.format(tests=TESTS), deadline_s=240)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    if os.getuid() != 0:
        pytest.skip("mounts a tmpfs, which takes root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=False)
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path, leave: int) -> None:
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "full").write_bytes(bytes(max(0, free - leave)))


def is_one_line_of_a_full_disk(done: Ended | subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("nandlab: ")]
    assert len(said) == 1, done.stderr
    assert "No space left on device: make room" in said[0]
    assert "Traceback" not in done.stderr


def test_a_report_on_a_full_disk_leaves_the_old_one_whole(small_disk: Path) -> None:
    run = samples.folder(small_disk / "run", samples.study(1))
    old = small_disk / "run" / "report"
    old.mkdir()
    (old / "index.html").write_text("the old report")
    fill(small_disk, 60_000)
    is_one_line_of_a_full_disk(nandlab("report", run.path))
    assert {p.name: p.read_text() for p in old.iterdir()} == {"index.html": "the old report"}


def test_a_run_on_a_full_disk_keeps_whole_trials_and_goes_on(
    small_disk: Path, tmp_path: Path
) -> None:
    study = tmp_path / "small.toml"
    study.write_text(SMALL)
    argv = ["run", str(study), "--out", str(small_disk / "run"), "--progress", "none", "--anew"]
    fill(small_disk, 120_000)
    is_one_line_of_a_full_disk(nandlab(*argv, cwd=tmp_path))
    run = RunFolder(small_disk / "run")
    assert 0 < len(list(run.trials())) < len(run.head().trials)
    assert not list(small_disk.rglob(".part-*"))
    (small_disk / "full").unlink()
    assert nandlab(*argv, cwd=tmp_path).returncode == 0
    assert not run.missing()


def test_a_store_on_a_full_disk_keeps_whole_trials_and_the_run_goes_on(
    small_disk: Path, tmp_path: Path
) -> None:
    study = tmp_path / "small.toml"
    study.write_text(SMALL)
    argv = ["run", str(study), "--out", "run", "--progress", "none"]
    argv += ["--store", str(small_disk)]
    fill(small_disk, 120_000)
    is_one_line_of_a_full_disk(nandlab(*argv, cwd=tmp_path))
    run = RunFolder(tmp_path / "run")
    assert 0 < len(list(run.trials())) < len(run.head().trials)
    assert not list(small_disk.rglob(".part-*"))
    (small_disk / "full").unlink()
    assert nandlab(*argv, cwd=tmp_path).returncode == 0
    assert not run.missing()


def test_other_places_that_are_full(small_disk: Path, tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study(1))
    fill(small_disk, 0)
    is_one_line_of_a_full_disk(nandlab("merge", small_disk / "merged", run.path))
    assert not list(small_disk.rglob(".part-*"))
    with Path("/dev/full").open("w") as full:
        for argv in (["show", "--json", str(run.path)], ["plan", "quickstart"], ["chip", "list"]):
            command = [sys.executable, "-m", "nandlab", *argv]
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
            )
            is_one_line_of_a_full_disk(done)
            assert done.stderr.startswith("nandlab: standard output: ")


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/nowhere"])
def test_a_run_has_no_place(out: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "small.toml").write_text(SMALL)
    done = nandlab("run", "small.toml", "--out", out, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = (text for text in done.stderr.splitlines() if text.startswith("nandlab: "))
    assert out in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("cache", ["file", "/proc/nowhere"])
def test_a_cache_has_no_place(cache: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    env = {**os.environ, "NANDLAB_CACHE": cache}
    done = run_command("run", "quickstart", env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert len([t for t in done.stderr.splitlines() if t.startswith("nandlab: ")]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.8, 1.5])
def test_ctrl_c_in_the_first_moments(after_s: float, times: int, tmp_path: Path) -> None:
    """Before all modules are there the signal itself ends the process, later nandlab does."""
    process = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "nandlab", "run", "quickstart"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after_s)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    for word in ("Traceback", "coroutine", "Exception"):
        assert word not in said


IGNORED = """
import os, signal, sys, time
from nandlab.cli.exits import run_command_line

class Signalled:
    def __del__(self):
        os.kill(os.getpid(), signal.{signal})
        time.sleep(0)

def command():
    Signalled()
    time.sleep(60)

run_command_line(command)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_code_that_passes_no_exception_on(number: signal.Signals) -> None:
    """Python, and pydantic, only show what is raised there: the command ends all the same."""
    done = subprocess.run(
        ["env", "--default-signal=INT", sys.executable, "-c", IGNORED.format(signal=number.name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 128 + number
    assert "Exception" not in done.stderr


def test_a_shell_without_input_is_refused() -> None:
    argv = ["sh", "-c", f"exec {sys.executable} -m nandlab board shell <&-"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nandlab: board shell: standard input")


@pytest.mark.parametrize("columns", ["0", "", "1", "-3", "x"])
def test_a_terminal_of_no_width_is_one_of_unknown_width(columns: str) -> None:
    done = run_command("chip", "--help", env={**os.environ, "COLUMNS": columns})
    assert (done.returncode, done.stderr) == (0, "")
    assert "".join(done.stdout.split())


def test_a_run_whose_folder_is_not_of_utf_8_has_a_report(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / os.fsdecode(b"b\xffd"), samples.study(1))
    done = nandlab("report", run.path)
    assert done.returncode == 0, done.stderr
    assert "b\\udcffd" in (run.path / "report" / "index.html").read_text()


@pytest.mark.parametrize("option", ["--lifetime-years", "--battery-wh"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e400", "-1"])
def test_what_is_no_number_of_years_or_hours_is_refused(
    tmp_path: Path, option: str, value: str
) -> None:
    run = samples.folder(tmp_path / "run", samples.study(1))
    done = nandlab("advise", run.path, option, value, "--daily-write", "1M")
    assert (done.returncode, done.stdout) == (2, "")
