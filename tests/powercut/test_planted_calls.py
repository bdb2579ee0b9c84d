# SPDX-License-Identifier: GPL-2.0-or-later
"""A fault for each call that ``ace1`` has not, planted in a folder of this machine in which the
board's own player made the calls: the judge catches each by its class. The host's oracle sees names
and content, and catches those that are of these."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_planted import ROOT, judged

from nandlab.base.paths import DEVICE
from nandlab.powercut import loads
from nandlab.powercut.oracle import Oracle

BASE = """\
mkdir A
mkdir D
create A/x
write A/x 0 9000
create D/f
write D/f 0 3000
"""
CALLS = {
    "rename": "rename D E\nfsyncdir\nfsync E/f\n",
    "noreplace": "noreplace A/x A/n\nfsyncdir A\n",
    "exchange": "exchange A D\nsync\n",
    "exchange of files": "exchange A/x D/f\nsync\n",
    "whiteout": "whiteout A/x A/n\nfsyncdir A\n",
    "symlink": "symlink A/l 40\nfsyncdir A\n",
    "tmplink": "tmplink A/t 3000\nfsync A/t\nfsyncdir A\n",
    "fdatasync": "write A/x 100 5000\nfdatasync A/x\n",
    "fallocate": "fallocate A/x 9000 500\nfsync A/x\n",
    "setxattr": "setxattr A/x 1 100\nfsync A/x\n",
    "setxattr of a folder": "setxattr D 1 100\nfsyncdir D\n",
    "removexattr": "setxattr A/x 1 100\nsync\nremovexattr A/x 1\nfsync A/x\n",
    "chmod": "chmod A/x 600\nfsync A/x\n",
    "chown": "chown A/x 7 8\nfsync A/x\n",
    "utimens": "utimens A/x 1000000000\nfsync A/x\n",
    "dropcaches": "write A/x 100 5000\ndropcaches\nsync\n",
    "link": "link A/x A/y\nsync\n",
    "tmpfile": "tmpfile A/t\nwrite A/t 0 3000\nlinktmp A/t\nfsync A/t\nfsyncdir A\n",
    "linktmp": "tmpfile A/t\nwrite A/t 0 300\nsync\nlinktmp A/t\nfsyncdir A\n",
    "beginsync": "beginsync 50\nwrite A/x 100 5000\nendsync\nsync\n",
    "wakegc": "write A/x 100 5000\nwakegc 10\nsync\n",
    "statfs": "statfs\nwrite A/x 100 5000\nsync\n",
    "open": "open A/x\nunlink A/x\nwrite A/x 0 9\nfsync A/x\nfsyncdir A\n",
}


@dataclass(frozen=True)
class Plant:
    """What is done to a folder, and what the judge and the host's oracle say of it."""

    make: Callable[[Path], object]
    board: str
    host: tuple[str, ...] = ()
    """Names of which something is wrong."""


def swap(a: Path, b: Path) -> None:
    other = a.with_name("other")
    a.rename(other)
    b.rename(a)
    other.rename(b)


def lead_elsewhere(link: Path) -> None:
    link.unlink()
    link.symlink_to("elsewhere")


PLANTS = {
    "rename": Plant(lambda m: (m / "E").rename(m / "D"), "resurrected", ("D", "E")),
    "noreplace": Plant(lambda m: (m / "A/n").rename(m / "A/x"), "resurrected", ("A/x", "A/n")),
    "exchange": Plant(
        lambda m: swap(m / "A", m / "D"), "resurrected", ("A/f", "A/x", "D/f", "D/x")
    ),
    "exchange of files": Plant(lambda m: (m / "A/x").unlink(), "lost", ("A/x",)),
    "whiteout": Plant(lambda m: (m / "A/x").unlink(), "lost", ("A/x",)),
    "symlink": Plant(lambda m: lead_elsewhere(m / "A/l"), "wrong content"),
    "tmplink": Plant(lambda m: (m / "A/t").write_bytes(b""), "lost", ("A/t",)),
    "fdatasync": Plant(lambda m: os.truncate(m / "A/x", 4000), "lost", ("A/x",)),
    "fallocate": Plant(lambda m: os.truncate(m / "A/x", 9400), "lost", ("A/x",)),
    "setxattr": Plant(lambda m: os.removexattr(m / "A/x", "user.1"), "metadata"),
    "setxattr of a folder": Plant(lambda m: os.setxattr(m / "D", "user.1", b"other"), "metadata"),
    "removexattr": Plant(lambda m: os.setxattr(m / "A/x", "user.1", b"back"), "metadata"),
    "chmod": Plant(lambda m: (m / "A/x").chmod(0o644), "metadata"),
    "chown": Plant(lambda m: os.chown(m / "A/x", 0, 8), "metadata"),
    "utimens": Plant(lambda m: os.utime(m / "A/x", (5, 5)), "metadata"),
    "dropcaches": Plant(lambda m: (m / "A/x").write_bytes(bytes(9000)), "lost", ("A/x",)),
    "link": Plant(lambda m: shutil.copyfile(m / "D/f", m / "odd"), "unknown name", ("odd",)),
    "tmpfile": Plant(lambda m: (m / "A/t").write_bytes(b""), "lost", ("A/t",)),
    "linktmp": Plant(lambda m: (m / "A/t").unlink(), "lost", ("A/t",)),
    "beginsync": Plant(lambda m: (m / "A/x").write_bytes(bytes(9000)), "lost", ("A/x",)),
    "wakegc": Plant(lambda m: (m / "A/x").write_bytes(bytes(9000)), "lost", ("A/x",)),
    "statfs": Plant(lambda m: (m / "A/x").write_bytes(bytes(9000)), "lost", ("A/x",)),
    "open": Plant(lambda m: (m / "A/x").write_bytes(b"x"), "resurrected", ("A/x",)),
}
"""A fault of each."""
COLLECTOR = "nandlab-standin"
"""Name of a process that stands for the kernel's collector; as long as a name can be."""


@contextmanager
def hold_collector(tmp_path: Path) -> Iterator[None]:
    """Such a process, which is to get the signal."""
    program = tmp_path / COLLECTOR
    shutil.copy(shutil.which("sleep") or "sleep", program)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and a child too
    with subprocess.Popen([program, "60"]) as collector:
        signal.signal(signal.SIGHUP, before)
        yield
        try:
            assert collector.wait(timeout=10) == -signal.SIGHUP
        finally:
            collector.kill()


@cache
def player() -> Path:
    """The board's player, built for this machine."""
    import tempfile

    out = Path(tempfile.mkdtemp(prefix="nandlab-player-")) / "play_folder"
    lib = DEVICE / "programs" / "lib"
    names = ("play", "calls", "beside", "collector", "load", "names", "content")
    files = [lib / "cuts" / f"{name}.c" for name in names]
    files += [lib / f"{name}.c" for name in ("diag", "payload", "checked")]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-I", str(lib)]
    flags += ['-DMOUNTPOINT="mnt"', '-DPAGECACHE_CONTROL="caches"', "-D_FILE_OFFSET_BITS=64"]
    flags += [f'-DCOLLECTOR="{COLLECTOR}"']
    argv = ["gcc", *flags, str(ROOT / "tests/c/play_folder.c"), *map(str, files), "-o", str(out)]
    subprocess.run(argv, check=True, timeout=120)
    return out


def play(tmp_path: Path, calls: str) -> tuple[Oracle, str]:
    """Makes the calls in a folder; the host's oracle, and marks by which all are kept."""
    text = f"{BASE}load all\n{calls}"
    (tmp_path / "loads").write_text(text)
    (tmp_path / "mnt").mkdir()
    (tmp_path / "caches").touch()
    argv = [str(player()), "loads"]
    with hold_collector(tmp_path) if "wakegc" in calls else nullcontext():
        done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=tmp_path)
    if done.returncode:
        pytest.skip(
            f"this machine's file system, or who runs this, has no such call: {done.stdout}"
        )
    made = loads.parse_loads("all", text)
    base = len(made.base) + 1
    marks = "".join(f"0 {2 * (base + i) + e}\n" for i in range(calls.count("\n")) for e in (0, 1))
    return Oracle(made, made.loads[0], marks), marks


def seen(folder: Path) -> dict[str, bytes | None]:
    """What the host's decoders would read: names, and what files have."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {
        name: path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for name, path in paths.items()
    }


def host_names(oracle: Oracle, folder: Path) -> set[str]:
    """Names of which the host says something."""
    told = oracle.list_violations(seen(folder), 1, in_next=False)
    return {line.partition(" ")[0].rstrip(":") for line in told if not line.startswith("what ")}


@pytest.mark.parametrize("kind", CALLS)
def test_what_a_call_did_holds_and_a_planted_fault_is_caught(kind: str, tmp_path: Path) -> None:
    oracle, marks = play(tmp_path, CALLS[kind])
    mnt, plant = tmp_path / "mnt", PLANTS[kind]
    assert judged(tmp_path, 1, marks=marks)[:2] == ["held", ""]
    assert host_names(oracle, mnt) == set()
    plant.make(mnt)
    assert judged(tmp_path, 1, marks=marks)[0] == plant.board
    assert host_names(oracle, mnt) >= set(plant.host)
    assert bool(host_names(oracle, mnt)) == bool(plant.host)


def test_every_call_that_ace1_has_not_is_planted() -> None:
    """Those of ``ace1`` and a remount are in test_planted.py, the damage is a fault's."""
    planted = {call.split()[0] for calls in CALLS.values() for call in calls.splitlines()}
    older = {call.split()[0] for call in loads.CALLS} | {"readonly", "close", "damage"}
    assert planted >= loads.KINDS.keys() - older
    assert PLANTS.keys() == CALLS.keys()


def test_where_no_collector_takes_a_signal_the_call_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loads").write_text(f"{BASE}load all\nwakegc 10\n")
    (tmp_path / "mnt").mkdir()
    argv = ["env", "ASAN_OPTIONS=detect_leaks=0", str(player()), "loads"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "7: Operation not supported\n"


def test_a_wrong_count_of_links_is_metadata(tmp_path: Path) -> None:
    """A name outside the file system stands for one that is counted and not there."""
    _, marks = play(tmp_path, CALLS["link"])
    os.link(tmp_path / "mnt/A/x", tmp_path / "elsewhere")
    assert judged(tmp_path, 1, marks=marks)[:2] == [
        "metadata",
        "A/x: it says 3 links and has 2",
    ]


@pytest.mark.parametrize(
    ("calls", "plant"),
    [
        ("chmod A/x 600\nfdatasync A/x\n", lambda m: (m / "A/x").chmod(0o640)),
        ("setxattr A/x 1 9\nfdatasync A/x\n", lambda m: os.removexattr(m / "A/x", "user.1")),
        ("chmod A/x 600\nsync\nchmod A/x 640\n", lambda m: (m / "A/x").chmod(0o600)),
        (
            "utimens A/x 1000000000\nwrite A/x 0 5\nsync\n",
            lambda m: os.utime(m / "A/x", (5, 5)),
        ),
    ],
)
def test_metadata_that_nothing_kept_may_be_older(
    calls: str, plant: Callable[[Path], object], tmp_path: Path
) -> None:
    _, marks = play(tmp_path, calls)
    plant(tmp_path / "mnt")
    assert judged(tmp_path, 1, marks=marks)[0] == "held"


def test_a_renamed_folder_may_keep_its_old_name_where_only_it_was_synced(tmp_path: Path) -> None:
    oracle, marks = play(tmp_path, "rename D E\ncreate E/n\nfsyncdir E\n")
    assert judged(tmp_path, 1, marks=marks)[0] == "held"
    (tmp_path / "mnt/E").rename(tmp_path / "mnt/D")
    (tmp_path / "mnt/D/n").rename(tmp_path / "mnt/D/f2")
    (tmp_path / "mnt/D/f2").unlink()
    board = judged(tmp_path, 1, marks=marks)
    assert (board[0], bool(host_names(oracle, tmp_path / "mnt"))) == ("lost", False)
    # that the new file has no name is said by both
    (wrong,) = oracle.list_violations(seen(tmp_path / "mnt"), 1, in_next=False)
    assert wrong.endswith(" by call 8 has no name")


def test_of_an_exchange_either_folder_may_be_where_only_one_was_synced(tmp_path: Path) -> None:
    oracle, marks = play(tmp_path, "exchange A D\nfsyncdir D\n")
    swap(tmp_path / "mnt/A", tmp_path / "mnt/D")
    assert judged(tmp_path, 1, marks=marks)[0] == "held"
    assert host_names(oracle, tmp_path / "mnt") == set()


@pytest.mark.parametrize(
    ("numbers", "reserve", "told"),
    [
        ("100 90 80", "0", ""),
        ("100 101 80", None, "statfs: 100 blocks, 101 free, 80 available"),
        ("100 90 91", None, "statfs: 100 blocks, 90 free, 91 available"),
        # 16 KiB are files, and 64 KiB may be anything
        ("100 79 79", "4096", ""),
        ("100 78 78", "4096", "statfs: 90112 bytes used, files have 16384"),
        ("100 78 78", None, ""),
    ],
)
def test_what_statfs_cannot_say_is_metadata(
    numbers: str, reserve: str | None, told: str, tmp_path: Path
) -> None:
    _, marks = play(tmp_path, "statfs\nsync\n")
    said: Any = {"STATFS": numbers} | ({"RESERVE": reserve} if reserve else {})
    assert judged(tmp_path, 1, marks=marks, **said)[:2] == ["metadata" if told else "held", told]
