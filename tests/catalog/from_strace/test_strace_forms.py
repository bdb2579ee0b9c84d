# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in the forms in which people have them, made by hand and by strace itself."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from support import straces

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.events import EnterEvent
from nandlab.catalog.from_strace.lines import Trace, read_strace_file
from nandlab.catalog.from_strace.processcalls import FILELESS_CALLS
from nandlab.catalog.from_strace.workload import TraceWorkload

MS = 1_000_000
CALLS = ('openat(AT_FDCWD, "/data/a", O_WRONLY|O_CREAT, 0644) = 3', "close(3) = 0")


def read(folder: Path, *lines: str) -> Trace:
    path = folder / "x.strace"
    path.write_text("".join(f"{line}\n" for line in lines))
    return read_strace_file(path, FILELESS_CALLS)


def list_starts(trace: Trace) -> list[int]:
    return [e.call.start for e in trace.events if isinstance(e, EnterEvent)]


def list_pids(trace: Trace) -> list[int]:
    return [e.call.pid for e in trace.events if isinstance(e, EnterEvent)]


@pytest.mark.parametrize(
    ("times", "between"),
    [
        (("1700000000.100000", "1700000000.102000"), 2 * MS),
        (("1700000000.100000 (+     0.000000)", "1700000000.102000 (+     0.002000)"), 2 * MS),
        (("12:00:01.100000", "12:00:01.102000"), 2 * MS),
        (("23:59:59.999000", "00:00:00.001000"), 2 * MS),
        (("12:00:01", "12:00:02"), 1000 * MS),
        (("     0.000000", "     0.002000"), 2 * MS),
        (("     0.000000000", "     0.002000000"), 2 * MS),
    ],
)
@pytest.mark.parametrize("who", ["7     ", "7<app>     ", "[pid     7] ", ""])
def test_times_of_every_form(
    tmp_path: Path, times: tuple[str, str], between: int, who: str
) -> None:
    lines = [f"{who}{time} {call}" for time, call in zip(times, CALLS, strict=True)]
    first, second = list_starts(read(tmp_path, *lines))
    assert second - first == between


def test_a_process_has_one_number_before_and_after_its_children(tmp_path: Path) -> None:
    times = (f"{1_700_000_000 + i / 1000:.6f}" for i in itertools.count())
    lines = [
        f"{next(times)} {CALLS[0]}",
        f"{next(times)} vfork( <unfinished ...>",
        "strace: Process 9 attached",
        f"[pid     9] {next(times)} {CALLS[0]}",
        f"[pid     8] {next(times)} <... vfork resumed>) = 9",
        f"[pid     8] {next(times)} {CALLS[1]}",
        f"[pid     9] {next(times)} +++ exited with 0 +++",
        f"{next(times)} --- SIGCHLD {{si_signo=SIGCHLD}} ---",
        f"{next(times)} {CALLS[1]}",
    ]
    trace = read(tmp_path, *lines)
    assert list_pids(trace) == [0, 0, 9, 0, 0]
    assert trace.processes == {0, 9}


def test_a_message_of_strace_within_a_call_is_taken_out(tmp_path: Path) -> None:
    lines = [
        f"1700000000.100000 {CALLS[0]}",
        "1700000000.100100 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 9 attached",
        ", child_tidptr=0x7f09) = 9",
        "[pid     8] 1700000000.100200 vfork(strace: Process 10 attached",
        " <unfinished ...>",
        f"[pid    10] 1700000000.100300 {CALLS[1]}",
        "[pid     8] 1700000000.100400 <... vfork resumed>) = 10",
    ]
    trace = read(tmp_path, *lines)
    assert list_pids(trace) == [0, 0, 0, 10]
    assert trace.foreign == 0


def test_a_child_that_goes_on_alone_keeps_its_number(tmp_path: Path) -> None:
    lines = [
        f"1700000000.100000 {CALLS[0]}",
        "strace: Process 9 attached",
        f"[pid     8] 1700000000.100100 {CALLS[1]}",
        "[pid     8] 1700000000.100200 +++ exited with 0 +++",
        f"1700000000.100300 {CALLS[0]}",
    ]
    assert list_pids(read(tmp_path, *lines)) == [0, 0, 9]


def test_output_of_the_program_is_counted_and_left_out(tmp_path: Path) -> None:
    lines = [
        "starting",
        f"1700000000.100000 {CALLS[0]}",
        "saved 5 records",
        '1700000000.100200 write(1</dev/pts/0>, "ok (1)\\n", 7ok (1)',
        ")     = 7 <0.000010>",
        '1700000000.100300 write(2, "> ", 2> ) = 2',
        f"1700000000.100400 {CALLS[1]}",
    ]
    trace = read(tmp_path, *lines)
    found = [e.call for e in trace.events if isinstance(e, EnterEvent)]
    assert [(c.name, c.result, c.args[-1]) for c in found] == [
        ("openat", 3, "0644"),
        ("write", 7, "7"),
        ("write", 2, "2"),
        ("close", 0, "3"),
    ]
    assert trace.foreign == 2
    assert trace.calls == 4


def test_a_line_within_a_write_to_a_terminal_is_taken_once(tmp_path: Path) -> None:
    lines = [
        f"     0.000000 {CALLS[0]}",
        '     0.100000 write(1</dev/pts/0>, "ok\\n", 3ok',
        "[pid     8]      0.200000 --- SIGCHLD {si_signo=SIGCHLD} ---",
        ")     = 3 <0.000010>",
        f"     0.300000 {CALLS[1]}",
    ]
    trace = read(tmp_path, *lines)
    assert (trace.end - trace.begin, trace.foreign, trace.calls) == (600_000_000, 0, 3)


def test_a_verbose_trace_has_the_names_of_its_numbers(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '7 1700000000.100000 openat(-100 /* AT_FDCWD */, "/data/a", '
        "0x241 /* O_WRONLY|O_CREAT|O_TRUNC */, 0644) = 3",
    )
    (call,) = [e.call for e in trace.events if isinstance(e, EnterEvent)]
    assert call.args == ["AT_FDCWD", '"/data/a"', "O_WRONLY|O_CREAT|O_TRUNC", "0644"]


def test_parts_of_ff_are_one_trace(tmp_path: Path) -> None:
    (tmp_path / "app.7").write_text(f"1700000000.100000 {CALLS[0]}\n1700000000.100300 {CALLS[1]}\n")
    (tmp_path / "app.8").write_text(f"1700000000.100100 {CALLS[0]}\n")
    (tmp_path / "app.old").write_text("no part\n")
    trace = read_strace_file(tmp_path / "app", FILELESS_CALLS)
    assert list_pids(trace) == [7, 8, 7]
    assert trace.processes == {7, 8}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12:00:01 close(3) = 0\n", "app.8:1: times as -t"),
        ("0.000100 close(3) = 0\n", "app.8:1: times as -r"),
        ("23:59:59.000000 close(3) = 0\n00:00:01.000000 close(4) = 0\n", "app.8:2: times as -tt"),
        ("8 1700000000.100000 close(3) = 0\n", "app.8:1: no line of a part"),
        ("hello\n", "app.8:1: no line of a part"),
    ],
)
def test_parts_without_an_order_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "app.8").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_strace_file(tmp_path / "app", FILELESS_CALLS)


SCRIPT = (
    "cd app; echo begun; (cat a >b; sync b); for i in 1 2; do echo $i >>b; done; mv b c; "
    "[ -e d ]; ls"
)
FORMS = {
    "plain": "-f -ttt -T -y",
    "no -y": "-f -ttt -T",
    "day": "-f -tt -T -y",
    "relative": "-f -r -T -y",
    "both": "-f -ttt -r -y",
    "seconds": "-f -t -y",
    "verbose": "-f -ttt -y -X verbose",
    "nanoseconds": "-f --absolute-timestamps=format:unix,precision:ns -y",
    "addresses": "-f -ttt -y -i",
    "paths": "-f -ttt -yy",
    "names": "-f -ttt -y --decode-pids=comm",
    "strings": "-f -ttt -y -s 1000 -x",
    "all hexadecimal": "-f -ttt -y -xx",
    "stacks": "-f -ttt -y -k",
}


def record(folder: Path, options: str, *, parts: bool = False, mixed: bool = False) -> Path:
    data = folder / "data" / "app"
    data.mkdir(parents=True)
    (data / "a").write_text("x" * 5000)
    out = folder / "t"
    to = [] if mixed else ["-o", str(out)]
    argv = ["strace", *options.split(), *(["-ff"] if parts else []), *to, "sh", "-c", SCRIPT]
    done = subprocess.run(
        argv,
        cwd=folder / "data",
        env=straces.ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    if mixed:
        out.write_bytes(done.stdout)
    return out


def list_load(trace: Path, folder: Path) -> list[str]:
    """The load below the folder, without times."""
    return straces.load(trace, str(folder / "data"))


@pytest.fixture(scope="module")
def plain_load(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("plain")
    return list_load(record(folder, FORMS["plain"]), folder)


@pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)
def test_every_form_that_strace_writes_is_the_same_load(
    tmp_path: Path, options: str, plain_load: list[str]
) -> None:
    assert any(line.startswith("rename") for line in plain_load)
    assert list_load(record(tmp_path, options), tmp_path) == plain_load


def test_parts_and_a_terminal_are_the_same_load(tmp_path: Path, plain_load: list[str]) -> None:
    for name, kind in (("parts", {"parts": True}), ("mixed", {"mixed": True})):
        folder = tmp_path / name
        folder.mkdir()
        trace = record(folder, "-f -ttt -T -y", **kind)
        assert list_load(trace, folder) == plain_load, name
    said = TraceWorkload(trace, str(folder / "data"), "x").doubts()
    assert any("program's own output" in doubt for doubt in said)


def test_lines_of_a_serial_console_are_the_same_load(tmp_path: Path, plain_load: list[str]) -> None:
    trace = record(tmp_path, FORMS["plain"])
    trace.write_bytes(trace.read_bytes().replace(b"\n", b"\r\n"))
    assert list_load(trace, tmp_path) == plain_load


def test_what_a_form_lacks_is_a_doubt(tmp_path: Path) -> None:
    def list_doubts(*lines: str) -> str:
        path = tmp_path / "x.strace"
        path.write_text("".join(f"{line}\n" for line in lines))
        return "; ".join(TraceWorkload(path, "/data", "x").doubts())

    assert "whole seconds" in list_doubts(*(f"7 12:00:01 {call}" for call in CALLS))
    alone = [f"1700000000.100000 {call}" for call in (*CALLS, "fork() = 9")]
    assert "record with -f" in list_doubts(*alone)
    assert "record with -f" not in list_doubts(*alone[:2])


@pytest.mark.parametrize(
    ("options", "doubt"),
    [
        ("", None),
        ("-e trace=%file,%desc,%process", None),
        ("-e trace=%file,%desc", None),
        ("-Z", "-Z"),
        ("-e status=failed", "-Z"),
        ("-z", "-z"),
        ("-P {data}/app/b", "-P"),
        ("-P {data}/app", "-P"),
        ("-e trace=%file", "-e trace"),
    ],
)
def test_calls_that_strace_was_told_to_leave_out_are_a_doubt(
    tmp_path: Path, options: str, doubt: str | None
) -> None:
    data = tmp_path / "data"
    trace = record(tmp_path, f"-f -ttt -T -y {options.format(data=data)}")
    doubts = TraceWorkload(trace, str(data), "x").doubts()
    filters = [d for d in doubts if "record without" in d]
    assert len(filters) == (doubt is not None)
    assert all(f"{doubt}" in d for d in filters)


def test_a_trace_of_nothing_but_failures_says_why_it_has_no_call(tmp_path: Path) -> None:
    path = tmp_path / "x.strace"
    path.write_text('7 1700000000.100000 access("/etc/a", R_OK) = -1 ENOENT (No such file)\n')
    with pytest.raises(UsageError, match=r"below /data.*\n.*-Z"):
        TraceWorkload(path, "/data", "x")


def test_parts_with_stacks_are_one_trace(tmp_path: Path) -> None:
    (tmp_path / "app.8").write_text(f"1700000000.100000 {CALLS[0]}\n > a(b+0x1) [0x2]\n")
    assert len(list_starts(read_strace_file(tmp_path / "app", FILELESS_CALLS))) == 1
