# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that are planted in what a mount shows after a cut: both checkers catch each by name. The
board's judge names a class; the host's oracle, which has none, says which name or file is wrong.

The faults of the journal and of torn operations are in test_planted_journal.py; those that need a
kernel, a sync that lies and a chip that is operations off, are in test_cuts.py.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from nandlab.base.paths import DEVICE
from nandlab.powercut import loads
from nandlab.powercut.oracle import EXTENDED_BYTES, Oracle, undo_file_extensions

ROOT = Path(__file__).resolve().parents[2]
TEXT = """
mkdir A
mkdir D
create A/x
write A/x 0 9000
create A/y
write A/y 0 3000
load all
write A/x 4096 4096
fsync A/x
rename A/y A/z
fsyncdir A
create A/n
write A/n 0 5000
fsync A/n
fsyncdir A
unlink A/n
sync
truncate A/x 2000
fsync A/x
swrite A/z 0 100
rename A/z A/w
create D/m
fsyncdir D
rename D/m A/p
create r
fsyncdir
rename r s
"""
LOADS = loads.parse_loads("planted", TEXT)
BASE, CALLS = 7, 20
"""Calls of the base, with its sync, and of the load. Each begins with a flash operation and returns
after another."""
MARKS = "".join(
    f"{2 * i} {2 * (BASE + i)}\n{2 * i + 1} {2 * (BASE + i) + 1}\n" for i in range(CALLS)
)
ORACLE = Oracle(LOADS, LOADS.loads[0], MARKS)
Tree = dict[str, bytes | None]


def after(call: int) -> Tree:
    """What is there after so many calls of the load, all kept."""
    state = ORACLE.states[BASE + call - 1]
    return {name: state.files[number] for name, number in state.names.items()}


def cut(call: int) -> int:
    """The flash operations after which so many calls had returned, and no further had begun."""
    return 2 * call - 1


@cache
def judge() -> Path:
    """The board's judge, built for this machine."""
    import tempfile

    out = Path(tempfile.mkdtemp(prefix="nandlab-judge-")) / "judge_folder"
    lib = DEVICE / "programs" / "lib"
    names = (
        *("judge", "keeps", "sight", "metadata", "statfs", "twice"),
        *("content", "extend", "load", "names", "verdict"),
    )
    files = [lib / "cuts" / f"{name}.c" for name in names]
    files += [lib / f"{name}.c" for name in ("diag", "payload", "checked")]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-I", str(lib)]
    flags += ["-Wl,--wrap=truncate", "-Wl,--wrap=statvfs"]
    argv = ["gcc", *flags, '-DMOUNTPOINT="mnt"', str(ROOT / "tests/c/judge_folder.c")]
    subprocess.run([*argv, *map(str, files), "-o", str(out)], check=True, timeout=120)
    return out


def put(tmp_path: Path, tree: Tree, *links: tuple[str, str]) -> None:
    for name, content in sorted(tree.items()):
        path = tmp_path / "mnt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(content)
    for old, new in links:
        os.link(tmp_path / "mnt" / old, tmp_path / "mnt" / new)
    (tmp_path / "loads").write_text(TEXT)


def judged(
    tmp_path: Path,
    operations: int,
    *command: str,
    marks: str = MARKS,
    in_next: bool = False,
    **variables: str,
) -> list[str]:
    """What the board's judge says: the class, what is found, and names of longer files."""
    argv = [str(judge()), "loads", str(operations), str(int(in_next)), *command]
    done = subprocess.run(
        argv,
        input=marks,
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        env={**os.environ, **variables},
    )
    return done.stdout.splitlines()


def shown(tmp_path: Path, tree: Tree, operations: int, *links: tuple[str, str]) -> str:
    """The class that the board's judge names."""
    put(tmp_path, tree, *links)
    return judged(tmp_path, operations)[0]


def seen(tmp_path: Path) -> Tree:
    """What is there at the second mount, for the host's oracle."""
    mnt = tmp_path / "mnt"
    return {
        str(path.relative_to(mnt)): None if path.is_dir() else path.read_bytes()
        for path in mnt.rglob("*")
    }


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_what_was_kept_holds_after_each_call(call: int, tmp_path: Path) -> None:
    tree = after(call)
    assert shown(tmp_path, tree, cut(call)) == "held"
    assert ORACLE.list_violations(tree, cut(call), in_next=False) == []


def older(tree: Tree, name: str, call: int) -> None:
    tree[name] = after(call)[name]


def instead(tree: Tree, call: int) -> None:
    tree.clear()
    tree.update(after(call))


def edited(tree: Tree, name: str, change: Callable[[bytes], bytes]) -> None:
    tree[name] = change(tree[name] or b"")


def pages_swapped(content: bytes) -> bytes:
    return content[2048:4096] + content[:2048] + content[4096:]


Plant = Callable[[Tree], object]
OTHER_X = ["A/x: is no file that it may be", "what was made by call 2 has no name"]
N_IS_BACK = ["A/n: is no file that it may be"]
STILL_Y = [
    *("A/y: is no file that it may be", "A/z: is not there"),
    "what was made by call 4 has no name",
]
PLANTED: dict[str, tuple[int, str, list[str], Plant]] = {
    "an fsync that was not waited for: content": (2, "lost", OTHER_X, lambda t: older(t, "A/x", 0)),
    "an fsync that was not waited for: a new file": (
        *(7, "lost", ["what was made by call 11 has no name"]),
        lambda t: t.pop("A/n"),
    ),
    "a sync that is a call late": (10, "resurrected", N_IS_BACK, lambda t: instead(t, 8)),
    "the last three calls dropped": (4, "resurrected", STILL_Y, lambda t: instead(t, 1)),
    "O_SYNC that is none": (
        *(13, "lost", ["A/z: is no file that it may be", "what was made by call 4 has no name"]),
        lambda t: older(t, "A/z", 12),
    ),
    "a deleted file is back after sync": (
        *(10, "resurrected", N_IS_BACK),
        lambda t: t.update({"A/n": b"n"}),
    ),
    "a host's parse that ignores deletions": (
        *(11, "resurrected", N_IS_BACK),
        lambda t: older(t, "A/n", 8),
    ),
    "a rename that is forgotten": (
        *(4, "resurrected", STILL_Y),
        lambda t: t.update({"A/y": t.pop("A/z")}),
    ),
    "a rename that lost both names": (
        *(4, "lost", ["A/z: is not there", "what was made by call 4 has no name"]),
        lambda t: t.pop("A/z"),
    ),
    "a rename that lost both names of a file whose folder alone was synced": (
        *(17, "lost", ["what was made by call 21 has no name"]),
        lambda t: t.pop("A/p"),
    ),
    "an fsync of the root that was not waited for": (
        *(19, "lost", ["r: is not there", "what was made by call 24 has no name"]),
        lambda t: t.pop("r"),
    ),
    "a rename at the root that lost both names": (
        *(20, "lost", ["what was made by call 24 has no name"]),
        lambda t: t.pop("s"),
    ),
    "a folder that is lost": (
        *(4, "lost", ["D: is not there", "what was made by call 1 has no name"]),
        lambda t: t.pop("D"),
    ),
    "a folder that became a file": (
        *(4, "resurrected"),
        ["D: is no file that it may be", "what was made by call 1 has no name"],
        lambda t: t.update({"D": b""}),
    ),
    "a file that became a folder": (4, "resurrected", OTHER_X, lambda t: t.update({"A/x": None})),
    "a name that never was": (
        *(4, "unknown name", ["A/odd never was"]),
        lambda t: t.update({"A/odd": b""}),
    ),
    "pages swapped": (2, "wrong content", OTHER_X, lambda t: edited(t, "A/x", pages_swapped)),
    "a page that reads as zeros": (
        *(2, "lost", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[:2048] + bytes(2048) + c[4096:]),
    ),
    "a page that reads as erased": (
        *(2, "wrong content", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[:2048] + b"\xff" * 2048 + c[4096:]),
    ),
    "a stale page among new ones after a remount": (
        *(2, "lost", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[:6144] + (after(0)["A/x"] or b"")[6144:]),
    ),
    "one bit that flipped behind good ECC": (
        *(2, "wrong content", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[:100] + bytes([c[100] ^ 8]) + c[101:]),
    ),
    "bytes that are one off": (
        *(2, "wrong content", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[1:] + c[:1]),
    ),
    "the content of another file": (
        *(2, "wrong content", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: (t["A/y"] or b"").ljust(9000, b"y")),
    ),
    "a file that is a byte too short": (
        *(2, "lost", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c[:-1]),
    ),
    "a file that is a byte too long": (
        *(2, "wrong content", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: c + b"\0"),
    ),
    "stale bytes after a truncation": (12, "lost", OTHER_X, lambda t: older(t, "A/x", 10)),
    "an empty file where content was synced": (
        *(2, "lost", OTHER_X),
        lambda t: edited(t, "A/x", lambda c: b""),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_both_checkers_catch_what_is_planted(name: str, tmp_path: Path) -> None:
    call, caught, told, plant = PLANTED[name]
    tree = after(call)
    plant(tree)
    assert shown(tmp_path, tree, cut(call)) == caught
    assert ORACLE.list_violations(tree, cut(call), in_next=False) == told


def test_one_file_under_both_names_of_a_rename_is_told(tmp_path: Path) -> None:
    """While it may be under either; only the board's judge sees that it is one file."""
    assert shown(tmp_path, after(3), cut(3), ("A/z", "A/y")) == "two names after a rename"
    assert set(seen(tmp_path)) == {*after(3), "A/y"}
    assert ORACLE.list_violations(seen(tmp_path), cut(3), in_next=False) == []


def test_older_bytes_are_lost_where_the_o_sync_write_returned_before_any_operation(
    tmp_path: Path,
) -> None:
    """As nandlab faults has it: all calls have returned at 0."""
    tree = after(13)
    older(tree, "A/z", 12)
    put(tmp_path, tree)
    marks = "".join(f"0 {2 * (BASE + i) + end}\n" for i in range(13) for end in (0, 1))
    told = judged(tmp_path, 1 << 30, marks=marks)
    assert told[:2] == ["lost", f"A/z: byte 0 of 3000 is {(after(12)['A/z'] or b'')[0]}"]


REMOUNTED = """
mkdir A
create A/x
load all
write A/x 0 300
readonly
"""


def test_a_remount_that_kept_nothing_is_told_by_both(tmp_path: Path) -> None:
    """Read-only and writable again keeps all, whatever the next call is."""
    (tmp_path / "mnt/A").mkdir(parents=True)
    (tmp_path / "mnt/A/x").write_bytes(b"")
    (tmp_path / "loads").write_text(REMOUNTED)
    made = loads.parse_loads("remounted", REMOUNTED)
    marks = "0 6\n1 7\n2 8\n3 9\n"
    oracle = Oracle(made, made.loads[0], marks)
    for operations, verdict in ((2, "held"), (3, "lost")):
        assert judged(tmp_path, operations, marks=marks)[0] == verdict
        told = oracle.list_violations({"A": None, "A/x": b""}, operations, in_next=False)
        assert bool(told) == (verdict == "lost")


SIZE = 9000
"""Of A/x after two calls of the load."""
LONG = SIZE + EXTENDED_BYTES
LONGER: dict[str, tuple[str, str, str, str]] = {
    "a stale byte behind the end": (
        "stale bytes",
        f"printf s | dd of=mnt/A/x bs=1 seek={SIZE} conv=notrunc status=none",
        f"A/x: made longer, byte {SIZE} of {LONG} is 115, not 0",
        f"A/x: made longer, byte {SIZE} of {LONG} is 115, not 0",
    ),
    "a stale last byte": (
        "stale bytes",
        f"printf s | dd of=mnt/A/x bs=1 seek={LONG - 1} conv=notrunc status=none",
        f"A/x: made longer, byte {LONG - 1} of {LONG} is 115, not 0",
        f"A/x: made longer, byte {LONG - 1} of {LONG} is 115, not 0",
    ),
    "a file that is not stored as long as it was made": (
        "not writable",
        f"truncate -s {SIZE} mnt/A/x",
        f"A/x: made longer to {LONG} bytes, it has {SIZE}",
        f"A/x: made longer, byte {SIZE - EXTENDED_BYTES} of {SIZE} is 125, not 0",
    ),
}


@pytest.mark.parametrize("name", LONGER)
def test_both_checkers_see_what_is_behind_the_end_of_a_file_made_longer(
    name: str, tmp_path: Path
) -> None:
    verdict, plant, what, by_host = LONGER[name]
    put(tmp_path, after(2))
    named, told, *longer = judged(tmp_path, cut(2), plant)
    assert (named, told, longer) == (verdict, what, ["A/x", "A/y"])
    _, wrong = undo_file_extensions(seen(tmp_path), longer)
    assert wrong == [by_host]


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_a_file_made_longer_holds_by_both_and_once_for_all_its_names(
    call: int, tmp_path: Path
) -> None:
    tree = after(call)
    put(tmp_path, tree)
    verdict, _, *longer = judged(tmp_path, cut(call), "true")
    assert verdict == "held"
    assert set(longer) == {name for name, content in tree.items() if content is not None}
    found = seen(tmp_path)
    assert all(len(found[n] or b"") == len(tree[n] or b"") + EXTENDED_BYTES for n in longer)
    assert undo_file_extensions(found, longer) == (tree, [])


def test_a_file_of_two_names_is_made_longer_once(tmp_path: Path) -> None:
    put(tmp_path, after(2), ("A/x", "A/z"))
    _, _, *longer = judged(tmp_path, cut(3), "true")
    assert set(longer) == {"A/x", "A/y", "A/z"}
    assert (tmp_path / "mnt/A/x").stat().st_size == LONG


@pytest.mark.parametrize(
    ("error", "verdict"), [(errno.ENOSPC, "held"), (errno.EIO, "not writable")]
)
def test_where_no_room_is_left_a_file_stays_as_it_was(
    error: int, verdict: str, tmp_path: Path
) -> None:
    tree = after(2)
    put(tmp_path, tree)
    told = judged(tmp_path, cut(2), "true", NO_LONGER=str(error))
    assert (told[0], told[2:]) == (verdict, [])
    assert seen(tmp_path) == tree
