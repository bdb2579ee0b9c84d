# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``filetree`` on this machine: trees are drawn, made, told and deleted exactly."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from filetrees import data, digest, drawn, filetree, options, told
from native import dynamic, native

from nandlab.base.paths import TARGET
from nandlab.catalog import draws
from nandlab.trial import measured

DRY = ("--dry-run", "--digest")
SHIM = Path(__file__).parents[1] / "ffsmark" / "shim.c"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def there(top: Path) -> dict[str, int | None]:
    """Paths below the top with their sizes, folders without; the top's is empty."""
    found: dict[str, int | None] = {"": None}
    for path in top.rglob("*"):
        size = None if path.is_dir() else path.stat().st_size
        found[str(path.relative_to(top))] = size
    return found


def test_fixed_numbers_are_made_exactly(top: Path) -> None:
    found = told("make", top, *options(depth=5, dirs="2", files="64", size="750"))
    assert found["operations"] == {"mkdir": 31, "create": 1984, "write": 1984, "close": 1984}
    assert found["bytes"] == {"read": 0, "written": 1_488_000}
    exact = {"folders": 31, "files": 1984, "bytes": 1_488_000, "depth": 5}
    means = {"files_mean": 64, "dirs_mean": 2, "size_mean": 750}
    assert found["figures"] == {**exact, **means, "files_sd": 0, "dirs_sd": 0, "size_sd": 0}
    sizes = list(there(top).values())
    assert (sizes.count(None), sizes.count(750)) == (31, 1984)
    assert draws.expected(5, "2", "64", "750") == (31, 1984, 1_488_000)


@pytest.mark.parametrize(("depth", "folders"), [(1, 1), (2, 3), (6, 63)])
def test_depth_counts_the_top(top: Path, depth: int, folders: int) -> None:
    found = told("make", top, *options(depth=depth, files="3"))["figures"]
    assert (found["folders"], found["files"], found["depth"]) == (folders, 3 * folders, depth)
    assert ("dirs_mean" in found) == (depth > 1)


TREES = [
    {"depth": 3, "dirs": "norm(3,1)", "files": "norm(4,1)", "size": "norm(1024,64)"},
    {"depth": 4, "dirs": "uniform(0,3)", "files": "uniform(2,9)", "size": "uniform(0,3)"},
    {"depth": 3, "dirs": "2", "files": "5", "size": "lognormal(900,2.5)"},
    {"depth": 2, "dirs": "pow2(1,4)", "files": "pow2(8,8)", "size": "pow2(2,131072)"},
    {"depth": 2, "dirs": "9", "files": "4", "size": "table(0:7,70000:1,12:19,65536:13)"},
    {"depth": 3, "dirs": "norm(0.3,0.9)", "files": "lognormal(0.7,1)", "size": "norm(2.5,3.25)"},
]


@pytest.mark.parametrize("tree", TREES, ids=lambda t: t["size"])
@pytest.mark.parametrize("seed", [0, 1, 77])
def test_a_tree_is_what_its_documentation_says(top: Path, tree: dict[str, Any], seed: int) -> None:
    """Names, sizes, bytes, digest and moments, by another hand."""
    found = told("make", top, *options(**tree, seed=seed))
    entries = drawn(**tree, seed=seed)
    assert there(top) == dict(entries)
    take = data(seed)
    content = {path: take(size) for path, size in entries if size is not None}
    for path, expected in content.items():
        assert (top / path).read_bytes() == expected
    assert found["texts"] == {"digest": digest(entries, content.__getitem__)}
    sizes = [size for _, size in entries if size is not None]
    figures = found["figures"]
    assert (figures["files"], figures["bytes"]) == (len(sizes), sum(sizes))
    assert figures["folders"] == len(entries) - len(sizes)
    if sizes:
        assert figures["size_mean"] == pytest.approx(statistics.mean(sizes), rel=1e-8)
        assert figures["size_sd"] == pytest.approx(statistics.pstdev(sizes), rel=1e-8)


def test_distributions_over_two_hundred_seeds_have_their_means() -> None:
    """Within 3 standard errors."""
    tree = {"depth": 5, "dirs": "norm(3,1)", "files": "norm(4,1)", "size": "norm(1024,64)"}
    runs = [
        told("make", "nowhere", *options(**tree, seed=seed), "--dry-run")["figures"]  # type: ignore[arg-type]
        for seed in range(200)
    ]

    def pooled(name: str, weights: list[float], sd: float) -> tuple[float, float]:
        mean = sum(r[name] * w for r, w in zip(runs, weights, strict=True)) / sum(weights)
        return mean, 3 * sd / math.sqrt(sum(weights))

    folders, files = ([r[key] for r in runs] for key in ("folders", "files"))
    above = [r["folders"] - 1 for r in runs]
    mean, error = pooled("files_mean", folders, 1)
    assert abs(mean - draws.parse(tree["files"]).mean) < error  # type: ignore[arg-type]
    mean, error = pooled("size_mean", files, 64)
    assert abs(mean - 1024) < error
    # each folder but the top was drawn as one of another's
    drawn_from = [a / r["dirs_mean"] for a, r in zip(above, runs, strict=True)]
    mean, error = pooled("dirs_mean", drawn_from, 1)
    assert abs(mean - draws.parse(tree["dirs"]).mean) < error  # type: ignore[arg-type]
    expected = draws.expected(**tree)  # type: ignore[arg-type]
    for i, key in enumerate(("folders", "files", "bytes")):
        seen = [r[key] for r in runs]
        error = 3 * statistics.stdev(seen) / math.sqrt(len(seen))
        assert abs(statistics.mean(seen) - expected[i]) < error


def test_equal_seeds_give_equal_trees_and_others_do_not(tmp_path: Path) -> None:
    def made(name: str, *more: str, **asked: Any) -> str:
        words = {**TREES[0], **asked}
        found: str = told("make", tmp_path / name, *options(**words), *more)["texts"]["digest"]
        return found

    assert made("a", seed=5) == made("b", seed=5) == made("c", *DRY, seed=5)
    others = {made("d", seed=6), made("e", size="norm(1024,63)"), made("f", "--payload=postmark")}
    assert len(others | {made("a2", seed=5), made("g", "--compressibility=0.5")}) == 5


@pytest.mark.parametrize("flags", ["-O0", "-O3 -mfma"])
def test_another_compiler_and_processor_draw_the_same(tmp_path: Path, flags: str) -> None:
    """One that joins products and sums rounds otherwise: the draws must not."""
    if "fma" in flags and "fma" not in cpu_flags():
        pytest.skip("this processor has no fused multiply and add")
    argv = ["make", "-s", "-C", str(TARGET / "programs"), f"OUT={tmp_path}", "CC=gcc"]
    subprocess.run([*argv, f"CFLAGS={flags}", f"{tmp_path}/filetree"], check=True)
    for size in ("norm(100000000000,30000000000)", "lognormal(100000000,2)"):
        words = ("make", "nowhere", *options(depth=1, files="20000", size=size), "--dry-run")
        exact = ("size_mean", "size_sd", "bytes")
        ours, theirs = (
            told(*words, program=program)["figures"]
            for program in (native("filetree"), tmp_path / "filetree")
        )
        assert [ours[key] for key in exact] == [theirs[key] for key in exact]


def cpu_flags() -> list[str]:
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return found[1].split() if found else []


def test_a_table_is_dealt_to_its_exact_counts(top: Path) -> None:
    table = draws.expanded("table(irlam-1993)")
    words = options(depth=2, dirs="1", files="999", size=table, seed=3)
    found = told("make", top, *words)["figures"]
    assert found["files"] == 1998
    sizes = [size for size in there(top).values() if size is not None]
    counts = {size: sizes.count(size) for size in set(sizes)}
    assert counts == dict(draws.parse(table).bins)
    assert sum(sizes) == round(45115.0390625 * 1024)


def test_a_dry_run_tells_the_same_and_touches_nothing(top: Path) -> None:
    words = options(**TREES[0])  # type: ignore[arg-type]
    dry = told("make", top, *words, *DRY)
    assert not top.exists()
    made = told("make", top, *words)
    assert dry["figures"] == made["figures"]
    assert dry["texts"] == made["texts"]
    assert dry["operations"] == {} and dry["bytes"] == {"read": 0, "written": 0}
    assert told("make", top, *words, *DRY) == dry
    assert "texts" not in told("make", top, *words, "--dry-run")


def test_a_tree_is_listed_read_and_deleted(top: Path) -> None:
    made = told("make", top, *options(depth=4, files="7", size="70000"))
    digest = made["texts"]["digest"]
    entries = 15 + 15 * 7
    walked = {"lstat": entries, "open": 15, "readdir": 30, "close": 15}
    listed = told("list", top)
    assert listed["operations"] == walked
    assert "texts" not in listed
    exact = {k: made["figures"][k] for k in ("folders", "files", "bytes", "depth")}
    assert {k: listed["figures"][k] for k in exact} == exact
    assert told("find", top, "absent")["operations"] == walked
    read = told("read", top)
    assert read["operations"] == {**walked, "open": 120, "close": 120, "read": 105 * 3}
    assert read["bytes"] == {"read": 105 * 70000, "written": 0}
    assert read["texts"] == told("list", top, "--digest")["texts"] == {"digest": digest}
    gone = told("delete", top)
    assert gone["operations"] == {**walked, "unlink": 105, "rmdir": 15}
    assert not top.exists()


def test_every_call_has_its_latency_and_nandlab_can_read_all(top: Path) -> None:
    runs = [
        told("make", top, *options(depth=3, files="5", size="uniform(0,9)")),
        told("list", top),
        told("find", top, "x"),
        told("read", top),
        told("delete", top),
        told("fill", top, "--share=0.000001"),
    ]
    for run in runs:
        assert {k: v["count"] for k, v in run["latency_ns"].items()} == run["operations"]
        found = measured.read(json.dumps(run))
        assert found.figures == run["figures"]
        assert found.phases == []


def test_names_past_four_digits_keep_the_order(top: Path) -> None:
    made = told("make", top, *options(depth=2, dirs="101", files="1", size="0"))
    assert (top / "d100").is_dir()
    assert told("read", top)["texts"] == made["texts"]
    told("delete", top)
    made = told("make", top, *options(depth=1, files="10002", size="1"))
    assert (top / "f10001").is_file()
    assert told("read", top)["texts"] == made["texts"]


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda top: (top / "f0000").write_bytes(b"x" * 750), True),
        (lambda top: (top / "f0000").rename(top / "f000x"), True),
        (lambda top: (top / "new").mkdir(), True),
        (lambda top: (top / "f0000").chmod(0o600), False),
    ],
)
def test_the_digest_sees_names_and_bytes(top: Path, change: Any, seen: bool) -> None:
    made = told("make", top, *options(depth=2, files="2"))["texts"]
    change(top)
    assert (told("read", top)["texts"] != made) == seen


def test_finding_a_name_is_an_error(top: Path) -> None:
    told("make", top, *options(depth=3, files="2"))
    for name, first in (("f0001", "f0001"), ("d01", "d00/d01")):
        done = filetree("find", top, name)
        assert done.returncode == 1
        assert f"found '{top}/{first}', which was to be absent" in done.stderr
        assert json.loads(done.stdout)["figures"]["folders"] == 7


def test_a_list_is_read_within_the_folder(top: Path, tmp_path: Path) -> None:
    told("make", top, *options(depth=2, files="2"))
    (top / "abs").symlink_to("/d00/f0001")
    (top / "up").symlink_to("../../../../f0000")
    listed = tmp_path / "list"
    listed.write_text("f0001\n\n/d01/f0000\nabs\nup\nf0001\n")
    found = told("read", top, "--list", listed)
    assert found["operations"] == {"open": 6, "read": 10, "close": 6}
    assert found["figures"]["files"] == 5
    assert found["bytes"]["read"] == 5 * 750
    for path, why in (("f0009", "No such file"), ("d00", "Is a directory")):
        listed.write_text(path)
        done = filetree("read", top, "--list", listed)
        assert done.returncode == 1 and why in done.stderr and path in done.stderr
    (tmp_path / "outside").write_text("secret")
    listed.write_text("../outside")
    assert filetree("read", top, "--list", listed).returncode == 1
    assert filetree("read", top, "--list", tmp_path / "none").returncode == 1


def test_delete_follows_no_link(top: Path, tmp_path: Path) -> None:
    told("make", top, *options(depth=2, files="2"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("precious")
    (top / "d00" / "link").symlink_to(outside)
    (top / "dangling").symlink_to("nowhere")
    (tmp_path / "to").symlink_to(top)
    done = filetree("delete", tmp_path / "to")
    assert done.returncode == 1 and "a link, which is not followed" in done.stderr
    told("delete", top)
    assert not top.exists()
    assert (outside / "kept").read_text() == "precious"


def test_delete_may_keep_the_top(top: Path) -> None:
    told("make", top, *options(depth=2, files="2"))
    (top / "lost+found").mkdir()  # YAFFS2 has one that cannot be removed
    assert told("delete", top, "--keep-top")["operations"]["rmdir"] == 2
    assert list(there(top)) == ["", "lost+found"]
    (top / "lost+found").rmdir()
    made = told("make", top, *options(depth=2, files="2"))
    assert made["operations"]["mkdir"] == 2  # the top was there
    assert made["figures"]["folders"] == 3


USAGE = [
    ((), "a command is missing"),
    (("grow", "x"), "unknown command 'grow'"),
    (("make",), "make needs DIR"),
    (("find", "x"), "find needs DIR and NAME"),
    (("list", "x", "y"), "'y' is one argument too many"),
    (("make", "x"), "make needs --depth"),
    (("make", "x", *options()[:4]), "make needs --seed"),
    (("list", "x", "--depth=2"), "--depth is not of list"),
    (("make", "x", *options(depth=0)), "--depth '0': 0 is out of range: give 1 to 2048"),
    (("make", "x", "--depth=-1"), "is not a whole number"),
    (("make", "x", *options(), "--payload=zeros"), "give random or postmark"),
    (("make", "x", *options(), "--compressibility=1.5"), "give a share from 0 to 1"),
    (("fill", "x", "--share=0"), "give a share above 0"),
    (("fill", "x", "--share=nan"), "give a share above 0"),
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
    assert f"made {folders} of 7 folders, {fails_at} of 63 files" in done.stderr
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


CALLS = {
    "mkdir": r"mkdir(?:at)?\(.*TOP",
    "create": r"open(?:at)?\(.*TOP.*O_CREAT",
    "open": r"open(?:at)?\((?!.*O_CREAT).*TOP",
    "write": r"write\((?!1,|2,)",
    "read": r"read\((?!.*/proc)",
    "readdir": r"getdents64\(",
    "lstat": r"(?:newfstatat|lstat|statx|fstatat64)\((?!.*STATX_TYPE).*TOP",  # but delete's look
    "close": r"close\(",
    "unlink": r"unlink(?:at)?\((?!.*AT_REMOVEDIR)",
    "rmdir": r"(?:rmdir\(|unlinkat\(.*AT_REMOVEDIR)",
    "fsync": r"fsync\(",
}


def test_what_is_told_is_what_the_kernel_was_asked(top: Path, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if not strace:
        pytest.fail("strace is missing: setup/install-packages setup/apt-test.txt")
    log = tmp_path / "strace"
    traced = [strace, "-o", str(log), str(native("filetree"))]
    if subprocess.run([*traced, "--help"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    make = options(depth=3, dirs="norm(3,1)", files="norm(9,3)", size="lognormal(9000,2)")
    for words in (["make", *make], ["list"], ["find", "x"], ["read"], ["delete"]):
        argv = [*traced, words[0], str(top), *words[1:]]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        lines = [line for line in log.read_text().splitlines() if " = -1 " not in line]
        calls = {k: p.replace("TOP", re.escape(str(top))) for k, p in CALLS.items()}
        seen = {k: sum(bool(re.match(p, line)) for line in lines) for k, p in calls.items()}
        assert {k: n for k, n in seen.items() if n} == json.loads(done.stdout)["operations"]


def test_under_sanitizers(tmp_path: Path, top: Path) -> None:
    argv = ["make", "-s", "-C", str(TARGET / "programs"), f"OUT={tmp_path}", "CC=gcc", "STATIC="]
    extra = "EXTRA=-fsanitize=address,undefined -fno-sanitize-recover"
    subprocess.run([*argv, extra, f"{tmp_path}/filetree"], check=True)
    for tree in TREES:
        made = told("make", top, *options(**tree), program=tmp_path / "filetree")  # type: ignore[arg-type]
        assert told("read", top, program=tmp_path / "filetree")["texts"] == made["texts"]
        told("find", top, "none", program=tmp_path / "filetree")
        told("delete", top, program=tmp_path / "filetree")
    told("fill", top, "--share=0.000001", program=tmp_path / "filetree")
    for words, said in USAGE:
        done = filetree(*words, program=tmp_path / "filetree")
        assert done.returncode == 2 and said in done.stderr
