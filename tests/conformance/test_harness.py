# SPDX-License-Identifier: GPL-2.0-or-later
"""The conformance tests can fail: generator, player, comparator and shrinking, without a board."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from loads import load
from replay import files_of, shrink
from support.compare import OTHER_NUMBER, adapted, compare, for_reference, outcomes, parts
from support.native import native
from support.sequences import CUT, REMOUNT, Sequence, closed, generate


def run(program: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [native(program), *args]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def play(folder: Path, sequence: Sequence, name: str = "0") -> list[str]:
    """What fsops on this machine's own file system says to a sequence, all parts in one."""
    folder.mkdir(exist_ok=True)
    text = folder.with_suffix(".txt")
    text.write_text("\n".join([f"seq {name}", *(op for op in sequence if op != REMOUNT), ""]))
    done = run("fsops", text, folder)
    assert done.returncode == 0, done.stderr
    return outcomes(done.stdout)[name]


def test_a_seed_gives_the_same_different_sequences() -> None:
    first, again, other = generate(50, 7), generate(50, 7), generate(50, 8)
    assert first == again
    assert first != other
    assert len(set(first)) == 50
    assert generate(20, 7) == first[:20]
    played = {op.split(maxsplit=1)[0] for s in first for op in s}
    assert {"rename", "link", "unlink", "readdir", "mapread", "trunc", REMOUNT, "check"} <= played


def test_most_operations_find_what_they_name(tmp_path: Path) -> None:
    said = [x for i, s in enumerate(generate(30, 3)) for x in play(tmp_path / str(i), s)]
    errors = [x for x in said if x.isupper()]
    assert 0.1 < len(errors) / len(said) < 0.5
    assert {"ENOENT", "EEXIST", "ENOTDIR", "ENOTEMPTY", "EBADF"} <= set(errors)


def test_a_file_system_does_what_it_does_itself(tmp_path: Path) -> None:
    for i, sequence in enumerate(closed(s) for s in generate(20, 5)):
        whole = tuple(op for op in sequence if op not in ("drop", "sync"))
        a, b = (play(tmp_path / f"{i}{side}", whole) for side in "ab")
        assert compare(whole, a, b) is None


@pytest.mark.parametrize(
    ("op", "other"),
    [
        ("write 0 10 4096 3", "write 0 10 4096 4"),
        ("ftrunc 0 700", "ftrunc 0 701"),
        ("rename a d/z", "rename a d/y"),
        ("link a b", "stat a"),
        ("chmod a 600", "chmod a 640"),
        ("utime a 1111111111", "utime a 1111111112"),
        ("symlink a s", "symlink b s"),
        ("mkdir d/n 755", "stat d"),
    ],
)
def test_every_kind_of_change_is_seen(tmp_path: Path, op: str, other: str) -> None:
    before = ("open 0 a c", "write 0 0 5000 1", "mkdir d 755")
    right, wrong = closed((*before, op)), closed((*before, other))
    said, should = play(tmp_path / "said", wrong), play(tmp_path / "should", right)
    assert compare(right, said, should) is not None
    assert compare(right, should, should) is None


def test_an_open_file_lives_on_when_it_is_deleted(tmp_path: Path) -> None:
    said = play(tmp_path / "x", ("open 0 a c", "unlink a", "put 0 9 1", "read 0 0 99", "fstat 0"))
    assert said[:3] == ["0", "0", "9"]
    assert said[3].startswith("9 ")
    assert said[4] == "f 0644 0 9 now"


def test_a_file_system_that_dies_is_a_mismatch() -> None:
    found = compare(("open 0 a c", "close 0"), ["0"], ["0", "0"])
    assert found is not None
    assert (found.at, found.operation) == (1, "close 0")
    assert "ended" in found.subject


def test_outcomes_are_told_by_sequence_and_operation() -> None:
    text = "seq 4\n0\nd 0755 2\n\ta f 0644 1 0 now\nENOENT\nseq 5\n0\n"
    assert outcomes(text) == {
        "4": ["0", "d 0755 2\n\ta f 0644 1 0 now", "ENOENT"],
        "5": ["0"],
    }
    assert parts(("a", REMOUNT, "b", "c", REMOUNT)) == [("a",), ("b", "c"), ()]


TREE = "d {mode} {links}\n\ta f {mode} 1 8 at {time} 00"


@pytest.mark.parametrize(
    ("differs", "op", "said", "should", "alike"),
    [
        ("", "check", {"mode": "0755"}, {"mode": "0644"}, False),
        ("modes", "check", {"mode": "0755"}, {"mode": "0644"}, True),
        ("modes", "check", {"links": 3}, {"links": 2}, False),
        ("precise_times", "check", {"time": 1234567890}, {"time": 1234567891}, True),
        ("precise_times", "check", {"time": 1234567892}, {"time": 1234567891}, False),
        ("", "check", {"time": 1234567890}, {"time": 1234567891}, False),
    ],
)
def test_a_declared_difference_excuses_itself_alone(
    differs: str, op: str, said: dict[str, str], should: dict[str, str], alike: bool
) -> None:
    usual = {"mode": "0755", "links": 2, "time": 1234567890}
    a, b = TREE.format(**usual | said), TREE.format(**usual | should)
    assert (compare((op,), [a], [b], {differs}) is None) == alike


@pytest.mark.parametrize(
    ("differs", "op", "said", "should", "alike"),
    [
        ("hard_links", "link a b", "EPERM", "0", True),
        ("hard_links", "link a b", "0", "0", False),
        ("hard_links", "link a b", "ENOENT", "ENOENT", True),
        ("hard_links", "symlink a b", "EPERM", "0", False),
        ("attributes", "setxattr a p 1 1", "EOPNOTSUPP", "0", True),
        ("attributes", "setxattr a p 1 1", "EPERM", "0", False),
        ("symbolic_links", "symlink a b", "EPERM", "0", True),
        ("modes", "chmod a 600", "EPERM", "0", True),
        ("modes", "chmod a 600", "EIO", "0", False),
        ("steady_directories", "enddir 0", "read repeated:a", "read", True),
        ("steady_directories", "enddir 0", "read missing:a repeated:b", "read", True),
        ("steady_directories", "enddir 0", "read never-was:a", "read", False),
        ("", "enddir 0", "read repeated:a", "read", False),
        ("folder_links", "stat e", "d 0755 4", "d 0755 3", True),
        ("folder_links", "stat e", "f 0755 4 1", "f 0755 3 1", False),
        ("inode_numbers", "check", f"d\n\ta{OTHER_NUMBER}\n\ta f", "d\n\ta f", True),
        ("", "check", f"d\n\ta{OTHER_NUMBER}\n\ta f", "d\n\ta f", False),
    ],
)
def test_a_declared_refusal_is_demanded(
    differs: str, op: str, said: str, should: str, alike: bool
) -> None:
    assert (compare((op,), [said], [should], {differs}) is None) == alike


TIMES = ("open 0 a c", "link a b", "rename d e", "chmod a 600", "symlink a s", "check")


@pytest.mark.parametrize(
    ("differs", "said", "should", "alike"),
    [
        ("name_times", "f 0644 2 9 m0 c0", "f 0644 2 9 m0 c1", True),
        ("", "f 0644 2 9 m0 c0", "f 0644 2 9 m0 c1", False),
        ("name_times", "f 0644 2 9 m0 c2", "f 0644 2 9 m0 c1", False),  # it was not left
        ("name_times", "f 0644 2 9 m0 c0", "f 0644 2 9 m1 c1", False),  # of modification
        ("name_times", "f 0600 1 9 m0 c0", "f 0600 1 9 m0 c3", False),  # no operation on a name
        ("name_times", "d 0755 2 m0 c0", "d 0755 2 m0 c2", True),  # it was renamed itself
        ("name_times", "d 0755 2 m0 c0", "d 0755 2 m2 c2", False),  # it had the entry
        ("name_times", "d 0755 2 m0 c0", "d 0755 2 m0 c1", False),
        ("symbolic_links", "d 0755 2 m0 c0", "d 0755 2 m4 c4", True),  # none was made there
        ("symbolic_links modes folder_links", "d 0755 2 m0 c0", "d 0700 3 m4 c4", True),
        ("symbolic_links", "d 0755 2 m0 c0", "d 0755 2 m1 c1", False),
        ("folder_times", "d 0755 2 m0 c0", "d 0755 2 m2 c2", True),
        ("folder_times", "d 0755 2 m0 c0", "d 0755 2 m1 c1", False),
        ("folder_times", "f 0644 1 9 m0 c0", "f 0644 1 9 m0 c2", False),
        ("change_times", "f 0644 1 9 m0 c-22", "f 0644 1 9 m0 c3", True),
        ("change_times", "f 0644 1 9 m0 c0", "f 0644 1 9 m3 c3", False),
        ("change_times", "f 0644 0 9 m3 c3", "f 0644 0 9 m0 c3", True),  # it has no name
    ],
)
def test_a_time_that_may_be_left_is_an_earlier_one(
    differs: str, said: str, should: str, alike: bool
) -> None:
    a = [*["0"] * 4, "EPERM" if "symbolic_links" in differs else "0", f"d 0755 3\n\ta {said}"]
    b = [*["0"] * 5, f"d 0755 3\n\ta {should}"]
    assert (compare(TIMES, a, b, differs.split()) is None) == alike


def test_a_sequence_is_numbered_through_its_parts() -> None:
    asked = ("open 0 a c", REMOUNT, "stat a", "stat b")
    files = files_of([asked, ("check",)], "play", numbered=True)
    assert files["play-0"].decode().split("\n") == ["seq 0 0", "open 0 a c", "seq 1 0", "check", ""]
    assert files["play-1"].decode().split("\n") == ["seq 0 2", "stat a", "stat b", ""]


def test_what_the_subject_refuses_leaves_the_reference_unchanged(tmp_path: Path) -> None:
    asked = ("open 0 a c", "link a b", "link nowhere c", "link a a", "symlink a s", "check")
    played = for_reference(asked, {"hard_links", "symbolic_links"})
    said = play(tmp_path / "x", played)
    assert said[:5] == ["0", "0", "ENOENT", "EEXIST", "0"]
    assert len(said[5].splitlines()) == 2


def test_names_and_times_are_adapted_for_both() -> None:
    assert adapted(("open 0 Aa cx",), {"case"}) == ("open 0 aa cx",)
    assert adapted(("write 0 4 0 7",), {"empty_writes"}) == ("write 0 4 1 7",)
    assert adapted(("trunc a 9",), {"truncate_times"}) == ("trunc a 9", "utime a 1234567890")


def test_a_directory_read_wrongly_is_told(tmp_path: Path) -> None:
    """What this machine's file system does right shows that the verdict is not a constant."""
    make = tuple(f"open 0 {name} c" for name in "abcdefgh")
    change = ("opendir 1 .", "readdir 1 2", "unlink a", "open 0 i c", "rename b j", "enddir 1")
    assert play(tmp_path / "x", (*make, *change))[-1] == "read"


def test_shrinking_finds_the_few_that_matter() -> None:
    sequence = tuple(f"op {i}" for i in range(50))
    asked = 0

    def failing(ways: list[Sequence]) -> list[bool]:
        nonlocal asked
        asked += 1
        return [{"op 7", "op 31", "op 32"} <= set(way) for way in ways]

    assert shrink(sequence, failing) == ("op 7", "op 31", "op 32")
    assert asked < 40


@pytest.mark.parametrize(
    "line", ["open 0 a", "open 9 a c", "write 0 x 1 1", "frobnicate", "close 0 1", "?stat a"]
)
def test_a_line_that_cannot_be_played_is_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "s").write_text(f"seq 1\n{line}\n")
    done = run("fsops", tmp_path / "s", tmp_path)
    assert done.returncode == 1
    assert "line 2 cannot be played" in done.stderr


def fsx(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    drop = folder / "drop"  # root alone may drop this machine's caches
    drop.write_text("")
    return run("fsx", "--remount", "true", "--drop-control", drop, *more, folder / "file")


def test_fsx_counts_what_it_does_and_repeats(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    how = ("--operations", "1009", "--seed", "3")
    first, again = (fsx(tmp_path / name, *how) for name in ("one", "two"))
    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert sum(json.loads(first.stdout)["done"].values()) == 1009
    assert (tmp_path / "one/file").read_bytes() == (tmp_path / "two/file").read_bytes()


def test_fsx_finds_a_spoiled_byte(tmp_path: Path) -> None:
    done = fsx(tmp_path, "--operations", "211", "--spoil", "211")
    assert done.returncode == 1
    assert "fsx: operation 211, " in done.stderr
    assert ": 1 of " in done.stderr
    assert "  expected " in done.stderr
    assert "fsx: seed 1; the last operations:" in done.stderr
    assert len(done.stderr.splitlines()) == 4 + 16


def test_fsx_demands_that_shared_writes_are_refused(tmp_path: Path) -> None:
    done = fsx(tmp_path, "--no-map-write")
    assert done.returncode == 1
    assert "was to be refused" in done.stderr


def test_fsx_tells_when_it_cannot_remount(tmp_path: Path) -> None:
    done = fsx(tmp_path, "--remount", "false")
    assert done.returncode == 1
    assert "the command of --remount failed" in done.stderr


def test_diskfull_finds_what_was_lost(tmp_path: Path) -> None:
    told = json.loads(run("diskfull", "fill", "--limit", "7", tmp_path).stdout)
    assert (told["files"], told["bytes"], told["error"]) == (7, 7 * 20011, None)
    check = ("diskfull", "verify", "--files", "7", tmp_path)
    assert run(*check).returncode == 0
    victim = tmp_path / "f000004"
    good = victim.read_bytes()
    for bad in (good[:-1], good + b"x", good[:9] + b"?" + good[10:]):
        victim.write_bytes(bad)
        done = run(*check)
        assert done.returncode == 1
        assert "f000004" in done.stderr
    told = json.loads(run("diskfull", "empty", tmp_path).stdout)
    assert (told["deleted"], told["readings"]) == (7, 1)


def test_diskfull_refuses_fewer_files_than_its_limit(tmp_path: Path) -> None:
    """Else what it did not write counts as lost later."""
    (tmp_path / "f000003").touch()
    done = run("diskfull", "fill", "--limit", "7", tmp_path)
    assert done.returncode == 1
    assert "3 of 7 files" in done.stderr
    done = run("diskfull", "fill", tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (0, "EEXIST")


def test_a_load_ends_its_parts_with_one_kind_of_work(tmp_path: Path) -> None:
    """And each operation does something: else the cut after it proves nothing."""
    first, again, other = load(7, 48), load(7, 48), load(8, 48)
    assert first == again
    assert first != other
    asked = tuple(op for op in first if op not in ("drop", "sync", CUT, REMOUNT))
    said = play(tmp_path / "x", asked)
    last = [i - 1 for i, op in enumerate(asked) if op == "check"]
    assert {asked[i].split()[0] for i in last} >= {"put", "mapwrite", "setxattr", "unlink", "mkdir"}
    assert [
        f"{asked[i]}: {said[i]}" for i in last if said[i] != "0" and not said[i].isdecimal()
    ] == []
    assert not any(outcome.isupper() for outcome in said)


@pytest.mark.parametrize(
    ("op", "other"),
    [
        ("put 0 100 3", "fstat 0"),
        ("mapwrite 0 100 7 3", "fstat 0"),
        ("setxattr a p 17 3", "stat a"),
        ("setxattr a p 17 3", "setxattr a p 17 4"),
        ("setxattr d p 17 3", "stat d"),
    ],
)
def test_what_was_synced_and_is_not_there_is_seen(tmp_path: Path, op: str, other: str) -> None:
    before = ("open 0 a c", "write 0 0 5000 1", "mkdir d 755")
    said = play(tmp_path / "said", (*before, other, "check"))
    should = play(tmp_path / "should", (*before, op, "check"))
    assert compare(("check",), said[-1:], should[-1:]) is not None


def test_the_reference_keeps_its_power() -> None:
    asked = ("mapwrite 0 0 9 1", "setxattr a p 1 1", CUT)
    assert for_reference(asked, {"attributes"}) == ("mapwrite 0 0 9 1", "?setxattr a p 1 1", "sync")
    assert adapted(asked, {"shared_writable_maps"})[0] == "write 0 0 9 1"
