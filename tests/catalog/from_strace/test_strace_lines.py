# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no whole trace is refused with its file and line; nothing is half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import straces
from support.commandline import Ended, run_command

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.events import EnterEvent
from nandlab.catalog.from_strace.lines import read_strace_file
from nandlab.catalog.from_strace.processcalls import FILELESS_CALLS
from nandlab.catalog.from_strace.workload import TraceWorkload

T = "1700000000.123456"
GOOD = f'7     {T} openat(AT_FDCWD, "/data/a", O_RDWR|O_CREAT, 0644) = 3\n'


def calls(path: Path) -> list[tuple[int, str, list[str], int | None, str]]:
    found = [
        e.call for e in read_strace_file(path, FILELESS_CALLS).events if isinstance(e, EnterEvent)
    ]
    return [(c.pid, c.name, c.args, c.result, c.error) for c in found]


def written(folder: Path, text: str) -> Path:
    path = folder / "x.strace"
    path.write_text(text)
    return path


def test_lines_of_every_kind_are_taken(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"strace: Process 7 attached\n"
        f"{GOOD}"
        f"[pid     8] {T} close(3</data/a>) = 0 <0.000012>\n"
        f'7<app>     {T} [ 257] lstat("b", 0x7ffc) = -1 ENOENT (No such file or directory) <0.1>\n'
        f"7     {T} read(3,  <unfinished ...>\n"
        f"8     {T} --- SIGCHLD {{si_signo=SIGCHLD}} ---\n"
        f"8     {T} exit_group(0)     = ?\n"
        f"8     {T} +++ exited with 0 +++\n"
        f'7     {T} <... read resumed>"abc", 4096) = 3 <0.000100>\n'
        f"7     {T} fcntl(3, F_GETFL) = 0x8002 (flags O_RDWR|O_LARGEFILE) <0.000002>\n"
        f"7     {T} epoll_wait(4,  <detached ...>\n",
    )
    assert calls(path) == [
        (7, "openat", ["AT_FDCWD", '"/data/a"', "O_RDWR|O_CREAT", "0644"], 3, ""),
        (8, "close", ["3</data/a>"], 0, ""),
        (7, "lstat", ['"b"', "0x7ffc"], -1, "ENOENT"),
        (7, "read", ["3", '"abc"', "4096"], 3, ""),
        (7, "fcntl", ["3", "F_GETFL"], 0x8002, ""),
    ]
    trace = read_strace_file(path, FILELESS_CALLS)
    assert (trace.timed, trace.signals, trace.processes) == (True, 1, {7, 8})


def test_a_mask_that_a_call_returns_is_octal(tmp_path: Path) -> None:
    path = written(tmp_path, f"{GOOD}7 {T} umask(077) = 022\n")
    events = read_strace_file(path, frozenset()).events
    assert [e.call.result for e in events if isinstance(e, EnterEvent)][-1] == 0o22


def test_a_call_that_its_process_s_end_cuts_off_is_none(tmp_path: Path) -> None:
    path = written(
        tmp_path, f"{GOOD}7 {T} read(3,  <unfinished ...>\n7 {T} +++ killed by SIGKILL +++\n"
    )
    assert [c for c in calls(path) if c[3] is not None] == calls(written(tmp_path, GOOD))


def test_unfinished_calls_of_a_trace_that_was_detached_are_no_cut(tmp_path: Path) -> None:
    path = written(
        tmp_path, f"{GOOD}7 {T} futex(0x1,  <unfinished ...>\n8 {T} poll(  <detached ...>\n"
    )
    assert len([c for c in calls(path) if c[3] is not None]) == 1


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "it is empty; take it with: strace -f -ttt"),
        (GOOD[:-20], 1, "cut short: its last line has no end"),
        (GOOD + GOOD[:-1], 2, "head -n 1"),
        (GOOD[:-20] + "\n", 1, "no result: the line is cut short"),
        (f"{GOOD}7 {T} read(3,  <unfinished ...>\n{GOOD.replace('7', '9', 1)}", 2, "unfinished"),
        ('7 openat(AT_FDCWD, "/a", O_RDONLY) = 3\n', 1, "-ttt"),
        ('openat(AT_FDCWD, "/a", O_RDONLY) = 3\n', 1, "-ttt"),
        ("hello\n" + GOOD, 1, "no line of strace"),
        ("hello\n" * 1001, 1001, "no line of strace"),
        (f"{GOOD}hello, this is the program's own output\n", 2, "no line of strace"),
        (f"{GOOD}7 {T} gibberish\n", 2, "no call, signal or exit"),
        (f'7 {T} <... read resumed>"abc", 3) = 3\n', 1, "has not begun it"),
        (f"7 {T} read(3,  <unfinished ...>\n{GOOD}", 2, "begins before read of line 1"),
        (f'{GOOD}7 {T} pwrite64(3, "x", 1, {"9" * 23}) = 1\n', 2, "which no system call takes"),
        ("\x7fELF\0\0\0\0", 1, "no text"),
        (f'7 {T} openat(-100, "/a", 0x241, 0666) = 3\n', 1, "-X raw"),
        (f"7 {T} +++ exited with 0 +++\n", None, "it has no call"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int | None, said: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_strace_file(path, FILELESS_CALLS)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def nandlab(*argv: str | Path, cwd: Path) -> Ended:
    return run_command("workload", "from-strace", *argv, cwd=cwd)


def test_the_command_writes_a_workload_and_tells_what_is_lost(tmp_path: Path) -> None:
    done = nandlab(straces.recording("sqlite-wal"), "--name", "wal", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "catalog/workloads/wal.toml\n")
    assert "1 x maps of files " in done.stderr
    assert "below /data/e are replayed" in done.stderr
    home = tmp_path / "catalog" / "workloads"
    head = (home / "wal.toml").read_text()
    assert "# - 1 x maps of files " in head
    done = nandlab(straces.recording("sqlite-wal"), cwd=tmp_path)
    assert done.stdout == "catalog/workloads/sqlite-wal.toml\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "there.toml"], "there.toml: it is there already"),
        (["-o", "no/where.toml"], "there is no folder no"),
        (["-o", "load.txt"], "a workload's file ends in .toml"),
        (["--name", "a b"], "letters, digits"),
        (["--name", "x", "-o", "y.toml"], "has its name: x.toml"),
        (["--name", "logger"], "a workload of nandlab's own"),
        (["--below", "/elsewhere"], "no call of the trace is below /elsewhere"),
        (["--below", "../.."], "leads out"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "there.toml").write_text("mine")
    done = nandlab(straces.recording("sqlite-wal"), *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["there.toml"]
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_a_trace_that_is_cut_leaves_nothing(tmp_path: Path) -> None:
    whole = straces.recording("sqlite-wal").read_bytes()
    (tmp_path / "cut.strace").write_bytes(whole[: len(whole) // 2])
    done = nandlab("cut.strace", cwd=tmp_path)
    assert done.returncode == 2
    assert "cut.strace:" in done.stderr and "cut short" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["cut.strace"]
    assert nandlab("nowhere.strace", cwd=tmp_path).returncode == 2


def test_help_teaches() -> None:
    command = [sys.executable, "-m", "nandlab", "workload", "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}
    )
    for words in ("strace -f -ttt -T -y -o", "from-strace", "docs/replay.md"):
        assert words in done.stdout


SOME = [
    line
    for name in ("sqlite-wal", "dpkg")
    for line in straces.recording(name).read_text().splitlines()
]
WORD = st.sampled_from(
    [
        *("AT_FDCWD", '"/data/a"', '"/data/b/c"', '"d"', '""', "NULL", "3", "4", "5", "-1", "0644"),
        *("O_RDWR|O_CREAT", "O_RDONLY", "[{iov_len=5}]", "{st_mode=S_IFREG|0644, st_size=9}"),
        *("SEEK_END", "99999999999", "0x7f", '"cut"...', "AT_REMOVEDIR", "3</data/z>", "..."),
    ]
)
NAME = st.sampled_from(
    [
        *("openat", "open", "creat", "close", "read", "pread64", "write", "writev", "pwritev2"),
        *("lseek", "_llseek", "fsync", "rename", "renameat2", "link", "symlink", "symlinkat"),
        *("unlinkat", "rmdir", "mkdir", "ftruncate", "truncate", "fallocate", "newfstatat", "stat"),
        *("statx", "readlink", "dup2", "fcntl", "clone", "vfork", "chdir", "fchdir", "execve"),
        *("mmap", "sendfile", "copy_file_range", "getdents64", "fchmodat", "utimensat", "pipe2"),
        *("close_range", "sync_file_range", "fadvise64", "ioctl", "fchownat", "openat2", "statfs"),
    ]
)
RESULT = st.sampled_from(
    ["0", "3", "4", "8", "-1 ENOENT (No)", "-1 EEXIST (x)", "-1 ENOTEMPTY (x)", "-1 EIO (x)", "?"]
)
CALL = st.builds(
    lambda pid, name, words, result: f"{pid} {T} {name}({', '.join(words)}) = {result}",
    st.integers(7, 9),
    NAME,
    st.lists(WORD, max_size=5),
    RESULT,
)
CHANGED = st.builds(
    lambda line, at, put: line[: at % len(line)] + put + line[at % len(line) + 1 :],
    st.sampled_from(SOME),
    st.integers(0, 500),
    st.text(st.characters(codec="latin-1"), max_size=3),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(CALL, CHANGED, st.sampled_from(SOME)), max_size=12), st.sampled_from("\n ")
)
def test_any_lines_are_a_load_or_a_clear_error(tmp_path: Path, lines: list[str], end: str) -> None:
    path = tmp_path / "any.strace"
    path.write_bytes(("\n".join(lines) + end).encode("latin-1"))
    try:
        text = TraceWorkload(path, "/data", "any").text()
    except UsageError as refused:
        assert str(refused).startswith(str(path))
        return
    assert "\ncalls\n" in straces.config(text)


def test_a_control_character_of_a_line_is_told_in_letters(tmp_path: Path) -> None:
    odd = f'7 {T} openat(AT_FDCWD</data>, "/data/a", O\x1fRDWR|O_CREAT, 0644) = 3</data/a>\n'
    path = written(tmp_path, odd)
    try:
        text = TraceWorkload(path, "/data", "any").text()
    except UsageError as refused:
        assert "\x1f" not in str(refused)
        return
    assert "O\\x1fRDWR" in text
    assert "\x1f" not in text
