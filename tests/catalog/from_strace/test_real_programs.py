# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs under strace, replayed under strace: the same calls, offsets and bytes.

Two traces are compared by what strace itself prints, not by nandlab's reader: with -y it names the
file of every descriptor, so a regular expression is all that it takes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import straces
from support.native import native

from nandlab.catalog.from_strace.workload import TraceWorkload

CALL = re.compile(
    r"(\d+) +[\d.]+ ([a-z_0-9]+)\((.*)\) += (-?\d+)(?:<[^>]*>)?(?: (E[A-Z]+).*)? <[\d.]+>"
)
HALF = re.compile(r"(\d+) +([\d.]+) ([a-z_0-9]+)\((.*?) ?<unfinished \.\.\.>")
REST = re.compile(r"(\d+) +[\d.]+ <\.\.\. ([a-z_0-9]+) resumed>(.*)")
FILE = re.compile(r"^\d+<([^>]*)>(?:\(deleted\))?")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?')
DATA = (
    *("read", "pread64", "readv", "write", "pwrite64", "writev", "lseek", "fsync", "fdatasync"),
    *("ftruncate", "sync_file_range", "getdents64", "fchmod", "fchown"),
)
"""Calls on a file, of which each argument is the same in the replay."""
OF_NAMES = (
    "rename",
    "renameat",
    "link",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "symlink",
)
MEANS = {"renameat": "rename", "linkat": "link", "symlinkat": "symlink", "mkdirat": "mkdir"}


def whole_lines(trace: Path) -> list[str]:
    """Lines with the calls of two lines put together, where each begins."""
    found: list[str] = []
    pending: dict[str, int] = {}
    for line in trace.read_text().splitlines():
        if half := HALF.match(line):
            pending[half[1]] = len(found)
            found.append(line[: line.rindex("<unfinished")].rstrip())
        elif rest := REST.match(line):
            at = pending.pop(rest[1])
            found[at] += rest[3] if rest[3].startswith((",", ")")) else f" {rest[3].lstrip()}"
        else:
            found.append(line)
    return found


def below(path: str, folder: Path) -> str | None:
    at = str(folder)
    return path[len(at) :].strip("/") if path == at or path.startswith(f"{at}/") else None


def on_files(trace: Path, folder: Path) -> list[tuple[str, ...]]:
    """Calls on files below a folder, in their order: name, path, numbers, what it returned."""
    found: list[tuple[str, ...]] = []
    for line in whole_lines(trace):
        call = CALL.match(line)
        if call is None or call[2] not in DATA or call[5]:
            continue
        file = FILE.match(call[3])
        path = below(file[1], folder) if file else None
        if path is None:
            continue
        words = TEXT.sub('""', call[3][file.end() :] if file else "")
        if call[2] == "getdents64":  # what an entry takes is the file system's own
            found.append((call[2], path))
        else:
            found.append((call[2], path, words, call[4]))
    return found


def on_names(trace: Path, folder: Path, cwd: Path) -> Counter[tuple[str, ...]]:
    """Calls that changed names below a folder: name, and the paths."""
    found: Counter[tuple[str, ...]] = Counter()
    for line in whole_lines(trace):
        call = CALL.match(line)
        if call is None or call[5] or not call[2].startswith(OF_NAMES):
            continue
        at = re.findall(r'(?:(?:\d+|AT_FDCWD)<([^>]*)>(?:\(deleted\))?, )?"([^"]*)"', call[3])
        paths = [below(str(Path(place or cwd) / path), folder) for place, path in at]
        name = MEANS.get(call[2], call[2])
        if name == "unlinkat":
            name = "rmdir" if "AT_REMOVEDIR" in call[3] else "unlink"
        if name == "symlink":
            paths = [at[0][1], *paths[1:]]
        if paths and paths[-1] is not None:
            found[(name, *map(str, paths))] += 1
    return found


def replayed(load: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Replays a load under strace; its calls, without those of its making, and its result."""
    script, at, out = folder / "load.txt", folder / "replayed", folder / "replayed.strace"
    script.write_text(load)
    at.mkdir()
    replay: list[str | Path] = [native("replay"), script, at, "--think", "0"]
    straces.take(out, replay, folder)
    lines = out.read_text().splitlines(keepends=True)
    syncs = [i for i, line in enumerate(lines) if " syncfs(" in line]
    out.write_text("".join(lines[syncs[0] + 1 : syncs[-1]]))
    again = folder / "again"
    again.mkdir()
    plain = [str(native("replay")), str(script), str(again), "--think", "0"]
    told = json.loads(subprocess.run(plain, capture_output=True, text=True, check=True).stdout)
    return out, told


def check(trace: Path, folder: Path, tmp_path: Path) -> TraceWorkload:
    """A trace's calls below a folder, and those of its replay, are equal."""
    made = TraceWorkload(trace, str(folder), "real")
    out, told = replayed(straces.config(made.text()), tmp_path)
    wanted, got = on_files(trace, folder), on_files(out, tmp_path / "replayed")
    assert len(wanted) > 30
    assert got == wanted
    names = on_names(trace, folder, tmp_path)
    assert on_names(out, tmp_path / "replayed", tmp_path) == names
    assert told["operations"] == {kind: n for kind, n in made.recorded.kinds.items() if n}
    assert told["bytes"] == {"read": made.recorded.read, "written": made.recorded.written}
    assert (told["figures"]["unlike"], told["warnings"]) == (0, [])
    moved = [c for c in wanted if "write" in c[0]]
    assert made.recorded.written == sum(int(c[3]) for c in moved)
    return made


STATEMENTS = """
create table t(a integer primary key, b text);
insert into t select value, hex(randomblob(300)) from generate_series(1, 200);
update t set b = 'changed' where a % 7 = 0;
delete from t where a % 3 = 0;
vacuum;
select count(*), sum(length(b)) from t;
"""


@pytest.mark.parametrize("journal", ["delete", "wal", "persist"])
def test_sqlite_s_shell_is_replayed(tmp_path: Path, journal: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    statements = f"pragma journal_mode={journal};\n{STATEMENTS}"
    trace = straces.take(tmp_path / "a.strace", ["sqlite3", "data/a.db"], tmp_path, statements)
    made = check(trace, data, tmp_path)
    assert made.recorded.kinds["fsync"] > 5
    assert (made.recorded.kinds["unlink"] > 0) == (journal != "persist")
    maps = {why for why in made.recorded.left_out if why.startswith("maps")}
    # the index of a WAL is written through a map: that, and nothing else, the replay has not
    assert maps == ({"maps of files that are written through"} if journal == "wal" else set())


def test_sqlite_s_shell_on_a_database_that_was_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["sqlite3", "data/a.db"], input=STATEMENTS, text=True, cwd=tmp_path, check=True)
    size = (data / "a.db").stat().st_size
    more = "update t set b = hex(randomblob(100)) where a % 5 = 0; select sum(length(b)) from t;"
    trace = straces.take(tmp_path / "a.strace", ["sqlite3", "data/a.db"], tmp_path, more)
    made = check(trace, data, tmp_path)
    assert f"file a.db {size}" in made.recorded.text
    assert made.recorded.read > size // 2


def package(folder: Path) -> Path:
    """A small Debian package."""
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "usr" / "share" / "small").mkdir(parents=True)
    control = "Package: small\nVersion: 1\nArchitecture: all\nMaintainer: n <n@example.org>\n"
    (tree / "DEBIAN" / "control").write_text(f"{control}Description: small\n")
    (tree / "usr" / "share" / "small" / "data").write_bytes(bytes(20_000))
    (tree / "usr" / "share" / "small" / "link").symlink_to("data")
    build = ["dpkg-deb", "--build", "--root-owner-group", str(tree), str(folder / "small.deb")]
    subprocess.run(build, check=True, capture_output=True)
    return folder / "small.deb"


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="this is no Debian: there is no dpkg")
def test_dpkg_s_database_is_replayed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("info", "updates"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    install = ["dpkg", f"--root={root}", "--log=/dev/null", "--force-not-root", "-i"]
    trace = straces.take(tmp_path / "d.strace", [*install, package(tmp_path)], tmp_path)
    made = check(trace, root, tmp_path)
    assert len(made.trace.processes) > 5
    assert made.recorded.kinds["rename"] > 10
    assert (tmp_path / "replayed/usr/share/small/data").stat().st_size == 20_000
    assert (tmp_path / "replayed/usr/share/small/link").is_symlink()


LOGGER = """
import os, subprocess, sys
log = os.open("log/messages", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
for i in range(20):
    os.write(log, b"<13>message %d\\n" % i * (i + 1))
    os.fdatasync(log)
    if i % 8 == 7:
        os.rename("log/messages", "log/messages.1")
        os.close(log)
        log = os.open("log/messages", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        subprocess.run(["gzip", "-f", "log/messages.1"], check=True)
"""


def test_a_log_that_rotates_through_another_program_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    trace = straces.take(tmp_path / "l.strace", ["/usr/bin/python3", "-c", LOGGER], tmp_path)
    made = check(trace, tmp_path / "log", tmp_path)
    assert made.recorded.verbs["fdatasync"] == 20
    assert (tmp_path / "replayed/messages.1.gz").exists()
    assert sorted(p.name for p in (tmp_path / "replayed").iterdir()) == [
        "messages",
        "messages.1.gz",
    ]
