# SPDX-License-Identifier: GPL-2.0-or-later
"""Failures on purpose, interruption, and tools that watch memory."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.native import sanitized

from ffsmark.fakechip import COUNTERS, ChipMaker, like_ubifs, write_chip
from ffsmark.running import TIMEOUT_S, commands, run


def test_page_cache_drop(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    control = tmp_path / "drop"
    control.write_text("")
    text = commands(
        work, drop_creation="true", drop_transactions="true", number=10, transactions=10
    )
    assert run(ffsmark, text, "--json", f"--drop-file={control}").code == 0
    assert control.read_text() == "3\n"
    done = run(ffsmark, text, "--json", f"--drop-file={tmp_path / 'none'}")
    assert (done.code, done.out) == (1, "")
    assert "page cache was not dropped" in done.err
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("buffering", ["true", "false"])
def test_nothing_that_exists_is_overwritten(ffsmark: Path, work: Path, buffering: str) -> None:
    (work / "5").write_text("precious")
    done = run(ffsmark, commands(work, buffering=buffering))
    assert done.code == 1
    assert f"cannot create '{work}/5': File exists" in done.err
    assert [file.name for file in work.iterdir()] == ["5"]
    assert (work / "5").read_text() == "precious"


@pytest.mark.parametrize("fails_at", [1, 2, 100, 1500])
def test_full_disk(dynamic: Path, shim: Path, work: Path, fails_at: int) -> None:
    env = {"LD_PRELOAD": str(shim), "FAIL_WRITE": str(fails_at)}
    text = commands(work, buffering="false", subdirectories=3)
    done = run(dynamic, text, "--json", env=env)
    assert (done.code, done.out) == (1, "")
    assert "No space left on device" in done.err
    assert "the disk is full" in done.err
    assert "may need 5000000 bytes" in done.err
    assert list(work.iterdir()) == []


def test_full_tmpfs(ffsmark: Path) -> None:
    """A real one, of 1 MiB, with stdio, where the last bytes fail in fclose()."""
    script = (
        "mount -t tmpfs -o size=1m none /mnt && printf %s "
        "'set location /mnt\nset number 400\nrun\n' | \"$0\"; code=$?; ls -A /mnt; exit $code"
    )
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, str(ffsmark)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if "mount:" in done.stderr:
        pytest.skip("no mount in a user namespace here")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "'/mnt' has 1048576 bytes in all" in done.stderr
    assert done.stdout == "Creating files\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(ffsmark: Path, work: Path, number: signal.Signals) -> None:
    text = commands(work, transactions=3_000_000, subdirectories=4)
    with subprocess.Popen(
        [str(ffsmark), "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(text)
        process.stdin.close()
        while "Performing" not in process.stderr.readline():
            pass
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 128 + number
        assert process.stdout.read() == ""
    assert list(work.iterdir()) == []


def test_location_that_is_not_there(ffsmark: Path, tmp_path: Path) -> None:
    done = run(ffsmark, commands(tmp_path / "none"))
    assert (done.code, "none" in done.err) == (1, True)


def test_long_paths(ffsmark: Path, tmp_path: Path) -> None:
    """postmark writes past its 80 bytes of path."""
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("d" * 60)
    deep.mkdir(parents=True)
    result = run(
        ffsmark, commands(deep, subdirectories=3, number=10, transactions=10), "--json"
    ).result
    assert result["config"]["locations"][0]["path"] == str(deep)


WATCHED: list[dict[str, object]] = [
    {"number": 20, "transactions": 50, "subdirectories": 3},
    {"number": 1, "transactions": 5, "buffering": "false", "size": "1"},
    {"number": 20, "bias_create": 0, "write": 70000, "report": "terse"},
]


@pytest.mark.parametrize("settings", WATCHED, ids=range(len(WATCHED)))
def test_under_valgrind(
    dynamic: Path, work: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.fail("valgrind is missing: setup/install-packages setup/apt-test.txt")
    folder = write_chip(tmp_path / "chip", COUNTERS, ["0 1 2 3", "1 1 2 3"])
    text = commands(work, flash=folder, **settings)
    arguments = ["-q", "--error-exitcode=9", "--leak-check=full", str(dynamic), "--json"]
    assert run(valgrind, text, *arguments).result["operations"]["create"] >= 1
    wrong = run(valgrind, "set location /nowhere\nset size 3 2\n", *arguments)
    assert wrong.code == 2, wrong.err


def test_under_sanitizers(work: Path, chip: ChipMaker) -> None:
    program = sanitized("ffsmark")
    env = {"UBSAN_OPTIONS": "halt_on_error=1"}
    for settings in WATCHED:
        assert run(program, commands(work, **settings), "--json", env=env).code == 0
    fake = chip(like_ubifs)
    text = commands(
        work, flash=fake.folder, fill_creation_valid=20, fill_creation_invalid=20, fill_mix=0.5
    )
    assert run(program, text, "--json", env=env).code == 0
    assert run(program, "set location +a 3\nset location -a\nset foo\n", env=env).code == 2
