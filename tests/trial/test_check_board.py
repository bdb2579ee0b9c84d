# SPDX-License-Identifier: GPL-2.0-or-later
"""One extra erase, planted into YAFFS2's core, is found by the check and named."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import lock
import pytest

from nandlab.board.virtual import yaffs2
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.kit.kit import fetch_board_kit

STUDY = """
name = "watch"
question = "Does YAFFS2 still erase as much as it did?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 20, transactions = 1500 }]
filesystems = [{ name = "yaffs2" }]
chips = [{ part = "nandsim-small", partition_mib = 4 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""
ERASE = "\tresult = dev->param.erase_fn(dev, flash_block);\n"
TWICE = "\tif (dev->n_erasures == 10)\n\t\tdev->param.erase_fn(dev, flash_block);\n"


def nandlab(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "nandlab", *words]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=280)


def core(to: Path) -> Path:
    """The sources of the core, whose tenth erase is done twice."""
    model = load_noun("boards", "apf27", BoardModel)
    shutil.copytree(yaffs2.prepare_yaffs2_core(fetch_board_kit(model).yaffs2).folder, to)
    file = to / "yaffs_nand.c"
    text = file.read_text()
    assert text.count(ERASE) == 1
    file.write_text(text.replace(ERASE, TWICE + ERASE))
    return to


@pytest.mark.board
def test_one_planted_erase_is_found_and_named(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "watch.toml").write_text(STUDY)
    done = nandlab(tmp_path, "run", "watch.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr
    run = done.stdout.splitlines()[-1]
    assert nandlab(tmp_path, "publish", run, "-o", "watch.figures.json").returncode == 0
    words = ("check", "watch.toml", "--against", "watch.figures.json", "--progress", "none")
    same = nandlab(tmp_path, *words)
    assert (same.returncode, same.stdout.split(":")[0]) == (0, "No figure moved"), same.stderr
    more = ("--format", "csv", "--source", f"yaffs2={core(tmp_path / 'core')}")
    found = nandlab(tmp_path, *words, *more)
    assert found.returncode == 1, found.stderr
    assert "parts.yaffs2.ko" in found.stderr
    rows = {row["figure"]: row for row in csv.DictReader(found.stdout.splitlines())}
    for name in ("chip.erases", "phase.transactions.erases", "step.workload.erases"):
        assert (rows[name]["change"], rows[name]["trials_moved"]) == ("1", "2")
    assert not [name for name in rows if name.startswith("chip.") and name != "chip.erases"]
