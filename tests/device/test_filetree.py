# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``filetree`` on this machine: trees are drawn, made, told and deleted exactly."""

from __future__ import annotations

import json
import math
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from filetrees import TREES, data, digest, drawn, filetree, options, there, told
from support.native import BUILT, make, native

from nandlab.catalog import distributions
from nandlab.trial import workloadresult

DRY = ("--dry-run", "--digest")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def test_fixed_numbers_are_made_exactly(top: Path) -> None:
    found = told("make", top, *options(depth=5, dirs="2", files="64", size="750"))
    assert found["operations"] == {"mkdir": 31, "create": 1984, "write": 1984, "close": 1984}
    assert found["bytes"] == {"read": 0, "written": 1_488_000}
    exact = {"folders": 31, "files": 1984, "bytes": 1_488_000, "depth": 5}
    means = {"files_mean": 64, "dirs_mean": 2, "size_mean": 750}
    assert found["figures"] == {**exact, **means, "files_sd": 0, "dirs_sd": 0, "size_sd": 0}
    sizes = list(there(top).values())
    assert (sizes.count(None), sizes.count(750)) == (31, 1984)
    assert distributions.compute_expected_tree(5, "2", "64", "750") == (31, 1984, 1_488_000)


@pytest.mark.parametrize(("depth", "folders"), [(1, 1), (2, 3), (6, 63)])
def test_depth_counts_the_top(top: Path, depth: int, folders: int) -> None:
    found = told("make", top, *options(depth=depth, files="3"))["figures"]
    assert (found["folders"], found["files"], found["depth"]) == (folders, 3 * folders, depth)
    assert ("dirs_mean" in found) == (depth > 1)


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
    assert abs(mean - distributions.parse_distribution(tree["files"]).mean) < error  # type: ignore[arg-type]
    mean, error = pooled("size_mean", files, 64)
    assert abs(mean - 1024) < error
    # each folder but the top was drawn as one of another's
    drawn_from = [a / r["dirs_mean"] for a, r in zip(above, runs, strict=True)]
    mean, error = pooled("dirs_mean", drawn_from, 1)
    assert abs(mean - distributions.parse_distribution(tree["dirs"]).mean) < error  # type: ignore[arg-type]
    expected = distributions.compute_expected_tree(**tree)  # type: ignore[arg-type]
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
def test_another_compiler_and_processor_draw_the_same(flags: str) -> None:
    """One that joins products and sums rounds otherwise: the draws must not."""
    if "fma" in flags and "fma" not in cpu_flags():
        pytest.skip("this processor has no fused multiply and add")
    out = BUILT / "".join(flags.split())
    other = make(out, "filetree", "CC=gcc", f"CFLAGS={flags}")
    for size in ("norm(100000000000,30000000000)", "lognormal(100000000,2)"):
        words = ("make", "nowhere", *options(depth=1, files="20000", size=size), "--dry-run")
        exact = ("size_mean", "size_sd", "bytes")
        ours, theirs = (
            told(*words, program=program)["figures"] for program in (native("filetree"), other)
        )
        assert [ours[key] for key in exact] == [theirs[key] for key in exact]


def cpu_flags() -> list[str]:
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return found[1].split() if found else []


def test_a_table_is_dealt_to_its_exact_counts(top: Path) -> None:
    table = distributions.expand_distribution("table(irlam-1993)")
    words = options(depth=2, dirs="1", files="999", size=table, seed=3)
    found = told("make", top, *words)["figures"]
    assert found["files"] == 1998
    sizes = [size for size in there(top).values() if size is not None]
    counts = {size: sizes.count(size) for size in set(sizes)}
    assert counts == dict(distributions.parse_distribution(table).bins)
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
        found = workloadresult.parse_workload_result(json.dumps(run))
        assert found.figures == run["figures"]
        assert found.phases == []


@pytest.mark.parametrize(
    ("names", "files"),
    [
        ("f0000", ["f0000", "f0009", "f0010"]),
        ("F0000000", ["F0000000", "F0000009", "F0000010"]),
        ("a0", ["a0", "a9", "a10"]),
        (f"z{19 * '0'}", [f"z{i:019}" for i in (0, 9, 10)]),
    ],
)
def test_files_are_named_as_asked(top: Path, names: str, files: list[str]) -> None:
    words = options(depth=2, dirs="1", files="11", size="0")
    assert filetree("make", str(top), *words, f"--names={names}").returncode == 0
    for folder in (top, top / "d00"):
        found = sorted((p.name for p in folder.iterdir() if p.is_file()), key=lambda n: (len(n), n))
        assert [found[0], found[9], found[10]] == files


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
        assert f"found '{top}/{first}', which was to" in done.stderr
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
