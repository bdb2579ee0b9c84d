# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the kernel from another source, on the board: a patch and what it moves, a patch that
does not compile, JFFS2 without summaries, UBI with fastmap, and each verb once."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import lock
from support.smalltrial import medium

from nandlab.base.cache import INPUTS
from nandlab.base.paths import CATALOG, find_cache_folder
from nandlab.board.jobs.job import Job, Step
from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.opening import open_board
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.results.folder import RunFolder
from nandlab.trial.mediumsteps import (
    make_format_steps,
    make_medium_load_step,
    make_module_load_step,
    make_mount_step,
    make_unmount_step,
)

pytestmark = [pytest.mark.board, pytest.mark.anew, pytest.mark.long, pytest.mark.timeout(1800)]
STUDY = """
name = "parts"
question = "What does another source move?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 40, transactions = 1500 }]
filesystems = [{ name = "FILESYSTEM" }]
chips = [{ part = "nandsim-small", partition_mib = 16 }]
states = [{ name = "aged", valid = 0.4, invalid = 0.25, mix = 1 }]
seeds = [1]
"""
PATCH = """\
--- a/fs/ubifs/gc.c
+++ b/fs/ubifs/gc.c
@@ -886,5 +886,5 @@
 \t * wbufs are sync'd before this, which is done in 'do_commit()'.
 \t */
-\twhile (1) {
+\twhile (0) {
 \t\tlp = ubifs_fast_find_freeable(c);
 \t\tif (!lp)
"""
"""The collector leaves blocks without live data to others, where a commit had it erase them."""
DEAF = """\
--- a/fs/jffs2/file.c
+++ b/fs/jffs2/file.c
@@ -42,4 +42,3 @@
 \tinode_lock(inode);
 \t/* Trigger GC to flush any pending writes for this inode */
-\tjffs2_flush_wbuf_gc(c, inode->i_ino);
 \tinode_unlock(inode);
"""
"""JFFS2's fsync leaves the end of what was written in its buffer."""
CUTS = ("--fs", "jffs2", "--chip", "apf27", "--partition-mib", "4", "--jobs", "1")


def nandlab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    quiet = ("--progress", "none") if words[0] in ("run", "check") else ()
    argv = [sys.executable, "-m", "nandlab", *words, *quiet]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


def study(folder: Path, filesystem: str) -> str:
    (folder / "parts.toml").write_text(STUDY.replace("FILESYSTEM", filesystem))
    return "parts.toml"


def test_a_patch_of_the_collector_is_built_run_and_its_figures_named(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "fix.diff").write_text(PATCH)
    words = ("check", study(tmp_path, "ubifs"), "--patch", "fix.diff", "--format", "csv")
    done = nandlab(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    rows = {row["figure"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert float(rows["chip.erases"]["change"]) < 0
    # the next patch begins from what is built
    (tmp_path / "fix.diff").write_text(PATCH.replace("(0)", f"(0) /* {time.time()} */"))
    began = time.monotonic()
    again = nandlab(tmp_path, *words)
    assert again.returncode == 1, again.stderr
    assert time.monotonic() - began < 180  # with its trial, beside other work


def list_ubifs_builds() -> set[Path]:
    """What the cache has built of UBIFS."""
    every = (find_cache_folder() / "part-modules").glob(f"*/{INPUTS}")
    return {path for path in every if '"part": "ubifs"' in path.read_text()}


def test_a_patch_that_does_not_compile_leaves_nothing(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "fix.diff").write_text(PATCH.replace("(0)", "(no_such)"))
    before = list_ubifs_builds()
    done = nandlab(tmp_path, "run", study(tmp_path, "ubifs"), "--patch", "fix.diff")
    assert done.returncode == 2
    assert "fs/ubifs/gc.c:888:16: error: 'no_such' undeclared" in done.stderr
    assert list_ubifs_builds() == before
    assert not (tmp_path / "results").exists()


def test_jffs2_without_summaries_mounts_and_repeats(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    words = ("run", study(tmp_path, "jffs2"), "--source", "jffs2=package,summary=false", "--anew")
    for name in ("one", "two"):
        done = nandlab(tmp_path, *words, "--out", name)
        assert done.returncode == 0, done.stderr
    one, two = (next(iter(RunFolder(tmp_path / name).trials())) for name in ("one", "two"))
    assert one.steps == two.steps
    board = open_with("jffs2=package,summary=false")
    assert "CONFIG_JFFS2_SUMMARY" not in board.kernel_config


def test_a_power_cut_finds_what_a_patch_has_fsync_leave_out(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "deaf.diff").write_text(DEAF)
    words = ("powercut", *CUTS, "--load", "config files=1 rounds=2", "--variants", "before")
    whole = nandlab(tmp_path, *words, "--source", "jffs2=package", "--out", "whole")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    deaf = nandlab(tmp_path, *words, "--patch", "deaf.diff", "--out", "deaf")
    assert deaf.returncode == 1, deaf.stdout + deaf.stderr


def test_a_chip_fails_under_another_source(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    words = ("faults", *CUTS, "--kinds", "program", "--points", "8", "--out", "faults")
    done = nandlab(tmp_path, *words, "--source", "jffs2=package,summary=false")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_trace_tells_its_sources(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    words = ("trace", "--fs", "jffs2", "--source", "jffs2=package,summary=false", "--out", "trace")
    done = nandlab(tmp_path, *words, "--", "cp", "/init", "/mnt/a")
    assert done.returncode == 0, done.stderr
    board = json.loads((tmp_path / "trace" / "meta.json").read_text())["board"]
    assert board["sources"]["jffs2"]["options"] == {"summary": False}


def test_a_file_systems_own_source_is_built_and_told(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "catalog" / "filesystems").mkdir(parents=True)
    text = (CATALOG / "filesystems" / "jffs2.toml").read_text().replace('"jffs2"', '"mine"', 1)
    mine = f'decoder = "jffs2"\nkernel_type = "jffs2"\n{text}\n[source.jffs2]\nsummary = false\n'
    (tmp_path / "catalog" / "filesystems" / "mine.toml").write_text(mine)
    done = nandlab(tmp_path, "run", study(tmp_path, "mine"), "--out", "one")
    assert done.returncode == 0, done.stderr
    told = RunFolder(tmp_path / "one").head().provenance["sources"]
    assert told["jffs2"]["options"] == {"summary": False}
    other = nandlab(tmp_path, "run", "parts.toml", "--source", "jffs2=package", "--out", "two")
    assert other.returncode == 0, other.stderr
    assert RunFolder(tmp_path / "two").head().provenance["sources"]["jffs2"]["options"] == {}


def open_with(*words: str) -> QemuBoard:
    board = open_board(
        load_noun("boards", "apf27", BoardModel), sources=parse_source_words(words, "--source")
    )
    assert isinstance(board, QemuBoard)
    return board


def test_ubi_with_fastmap_attaches_by_it() -> None:
    lock.need_locked("apf27")
    board = open_with("ubi=package,fastmap=true", "ubifs=package")
    assert board.kernel_config["CONFIG_MTD_UBI_FASTMAP"] == "y"
    on = medium(board, "ubifs", fastmap="on")
    job = Job(
        (
            make_medium_load_step(on),
            make_module_load_step(on),
            *make_format_steps(on),
            make_mount_step(on),
            make_unmount_step(on),
            make_mount_step(on, "again"),
            Step("log", "dmesg"),
        )
    )
    record = asyncio.run(board.run(job))
    assert record.failed() is None, record.failed()
    log = record["log"].stdout
    # the volume is made and then mounted twice: only the first attach finds no fastmap
    assert (log.count("scanning is finished"), log.count("attached by fastmap")) == (1, 2)
