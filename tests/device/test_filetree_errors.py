# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``filetree`` as things go wrong: wrong words, full disks, folders that cannot go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from filetrees import TREES, filetree, options, there, told
from support.native import dynamic, native, sanitized

SHIM = Path(__file__).parents[1] / "ffsmark" / "shim.c"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path / "tree"


USAGE = [
    ((), "a command is missing"),
    (("grow", "x"), "unknown command 'grow'"),
    (("make",), "make needs DIR"),
    (("find", "x"), "find needs DIR and NAME"),
    (("list", "x", "y"), "'y' is one argument too many"),
    (("make", "x"), "make needs --depth"),
    (("make", "x", *options()[:4]), "make needs --seed"),
    (("list", "x", "--depth=2"), "--depth is not of list"),
    (("make", "x", *options(depth=0)), "--depth: 0 is out of range: give 1 to 2048"),
    (("make", "x", "--depth=-1"), "is not a whole number"),
    (("make", "x", *options(), "--names="), "--names '': give a letter and 1 to 19 zeros"),
    (("make", "x", *options(), "--names=f12"), "--names 'f12': give a letter and 1 to 19 zeros"),
    (("make", "x", *options(), f"--names=f{20 * '0'}"), "give a letter and 1 to 19 zeros"),
    (("list", "x", "--names=f0"), "--names is not of list"),
    (("make", "x", *options(), "--payload=zeros"), "give one of random, postmark"),
    (("make", "x", *options(), "--compressibility=1.5"), "give a share from 0 to 1"),
    (("fill", "x", "--share=0"), "give a share above 0"),
    (("fill", "x", "--share=nan"), "give a share from 0 to 1"),
    (("make", "x", *options(size="")), "--size '': expected a number"),
    (("make", "x", *options(size="norm(4,-1)")), "a number is negative at '-1)'"),
    (("make", "x", *options(size="norm(nan,1)")), "expected a number at 'nan,1)'"),
    (("make", "x", *options(size="norm(4,inf)")), "expected a number at 'inf)'"),
    (("make", "x", *options(files="uniform(5,4)")), "must not be above the second"),
    (("make", "x", *options(dirs="-2")), "--dirs '-2': a number is negative"),
    (("make", "x", *options(size="pow2(3,8)")), "powers of two"),
    (("make", "x", *options(size="table()")), "expected a number at ')'"),
    (("make", "x", *options(size="table(irlam-1993)")), "give table(SIZE:COUNT"),
    (("make", "x", *options(size="lognormal(0,1)")), "the median must be above 0"),
    (("make", "x", *options(size="gauss(0,1)")), "lognormal(MEDIAN,SIGMA)"),
]


@pytest.mark.parametrize(("words", "said"), USAGE, ids=range(len(USAGE)))
def test_what_is_wrong_is_said_and_nothing_is_done(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = filetree(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_teaches() -> None:
    done = filetree("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("make DIR", "--dry-run", "lognormal(MEDIAN,SIGMA)", "--keep-top", "--list FILE"):
        assert word in done.stdout


def test_what_is_there_is_left_alone(top: Path) -> None:
    top.mkdir()
    (top / "kept").write_text("precious")
    done = filetree("make", top, *options())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{top}' is not empty" in done.stderr
    assert list(there(top)) == ["", "kept"]
    done = filetree("fill", top / "kept")
    assert done.returncode == 1 and "File exists" in done.stderr
    assert (top / "kept").read_text() == "precious"
    for command in ("list", "read", "delete"):
        done = filetree(command, top / "kept")
        assert done.returncode == 1 and "is no folder" in done.stderr
        assert filetree(command, top / "none").returncode == 1


@pytest.mark.parametrize("place", ["/", ".", "..", "tree/.", "/proc"])
def test_what_cannot_be_removed_is_refused_before_anything_is_deleted(
    top: Path, place: str
) -> None:
    top.mkdir()
    (top / "kept").write_text("precious")
    done = filetree("delete", place, cwd=top if place in (".", "..") else top.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be removed" in done.stderr and "--keep-top" in done.stderr
    assert (top / "kept").read_text() == "precious"


@pytest.mark.parametrize("name", ["a/b", "", "/"])
def test_a_name_with_a_slash_is_found_nowhere_so_it_is_refused(top: Path, name: str) -> None:
    top.mkdir()
    done = filetree("find", top, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "without a slash" in done.stderr


def test_a_line_of_a_list_that_cannot_be_read_is_told(top: Path, tmp_path: Path) -> None:
    top.mkdir()
    (top / "a").write_text("x")
    (tmp_path / "list").write_text("a\n\na\r\n")
    done = filetree("read", top, "--list", tmp_path / "list")
    assert done.returncode == 1
    assert "line 3" in done.stderr


def test_a_path_that_is_too_long_is_refused_before_anything_is_made(top: Path) -> None:
    for depth in (1030, 2048):
        done = filetree("make", top, *options(depth=depth, dirs="1", files="1", size="1"))
        assert done.returncode == 2
        assert "a path is longer than 4095 bytes" in done.stderr
        assert not top.exists()
    deep = told("make", top, *options(depth=900, dirs="1", files="1", size="1"))
    assert deep["figures"]["folders"] == deep["figures"]["depth"] == 900
    assert told("read", top)["texts"] == deep["texts"]
    assert told("delete", top)["operations"]["rmdir"] == 900


def test_a_tree_without_end_is_refused(top: Path) -> None:
    done = filetree("make", top, *options(depth=40, dirs="9", files="9"))
    assert done.returncode == 2
    assert "over 10000000 folders and files" in done.stderr
    assert not top.exists()


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    argv = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM), "-ldl"]
    subprocess.run(argv, check=True)
    return library


@pytest.mark.parametrize("fails_at", [1, 2, 39])
def test_a_full_disk_leaves_what_was_made(top: Path, shim: Path, fails_at: int) -> None:
    env = {**os.environ, "LD_PRELOAD": str(shim), "FAIL_WRITE": str(fails_at)}
    words = options(depth=3, files="9", size="100")
    done = filetree("make", top, *words, program=dynamic("filetree"), env=env)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    made = json.loads(done.stdout)
    figures = made["figures"]
    folders = -(-fails_at // 9)
    assert (figures["folders"], figures["files"]) == (folders, fails_at)
    assert figures["bytes"] == made["bytes"]["written"] == 100 * (fails_at - 1)
    assert f" {folders} of 7 folders, {fails_at} of 63" in done.stderr
    assert "texts" not in made
    sizes = list(there(top).values())
    assert (sizes.count(None), len(sizes)) == (folders, folders + fails_at)
    told("delete", top)
    assert not top.exists()


def in_small_tmpfs(script: str) -> subprocess.CompletedProcess[str]:
    """A script's run, with 1 MiB on /mnt that is its own; $0 is the program."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    argv = ["unshare", "-Urm", "sh", "-c"]
    text = f"mount -t tmpfs -o size=1m none /mnt || exit; cd /mnt; {script}"
    done = subprocess.run(
        [*argv, text, str(native("filetree"))], capture_output=True, text=True, check=False
    )
    if "mount:" in done.stderr:
        pytest.skip("no mount in a user namespace here")
    return done


def test_a_real_full_disk_is_told_filled_and_emptied() -> None:
    done = in_small_tmpfs(
        f'"$0" make t {" ".join(options(depth=2, files="200", size="5000"))}; echo $?; '
        '"$0" delete t > /dev/null; echo $?; "$0" fill full; echo $?; rm full; '
        '"$0" fill half --share=0.5; echo $?'
    )
    made, code, deleted, filled, full, half, done_half = done.stdout.splitlines()
    assert (code, deleted, full, done_half) == ("1", "0", "0", "0")
    assert "No space left on device" in done.stderr
    assert "of 600 files" in done.stderr
    found = json.loads(made)
    assert 0 < found["figures"]["bytes"] < 1 << 20
    assert f"{found['figures']['bytes']} of 3000000 bytes" in done.stderr
    found = json.loads(filled)
    assert found["operations"]["fsync"] == 1
    assert found["figures"]["bytes"] == found["bytes"]["written"] == 1 << 20
    assert json.loads(half)["figures"]["bytes"] == 1 << 19


def test_delete_stays_on_its_file_system() -> None:
    done = in_small_tmpfs(
        f'"$0" make t {" ".join(options(depth=2, files="1", size="5"))} > /dev/null; '
        "mount -t tmpfs none t/d01; echo precious > t/d01/kept; "
        '"$0" delete t; echo $?; cat t/d01/kept; "$0" delete t/d00 > /dev/null; umount t/d01; '
        '"$0" delete t | wc -l; ls'
    )
    found, code, kept, lines = done.stdout.splitlines()
    assert (code, kept, lines) == ("1", "precious", "1")
    assert "'t/d01' is on another file system" in done.stderr
    assert json.loads(found)["operations"]["unlink"] == 2  # the top's, and d00's


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_interrupted_tells_what_it_made(top: Path, number: signal.Signals) -> None:
    argv = [str(native("filetree")), "make", str(top), *options(depth=6, dirs="9", files="9")]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True) as process:
        deadline = time.monotonic() + 60
        while not (top / "d00").exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"stopped by signal {number.value}" in err
    figures = json.loads(out)["figures"]
    assert f"made {figures['folders']} of 66430 folders, {figures['files']} of" in err
    sizes = list(there(top).values())
    assert sizes.count(None) == figures["folders"] < 66430
    assert len(sizes) - sizes.count(None) == figures["files"]
    told("delete", top)


def test_under_sanitizers(top: Path) -> None:
    program = sanitized("filetree")
    for tree in TREES:
        made = told("make", top, *options(**tree), program=program)  # type: ignore[arg-type]
        assert told("read", top, program=program)["texts"] == made["texts"]
        told("find", top, "none", program=program)
        told("delete", top, program=program)
    told("fill", top, "--share=0.000001", program=program)
    for words, said in USAGE:
        done = filetree(*words, program=program)
        assert done.returncode == 2 and said in done.stderr
