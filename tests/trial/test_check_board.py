# SPDX-License-Identifier: GPL-2.0-or-later
"""One extra erase, planted into YAFFS2's core, is found by the check and named."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support import lock, planted
from support.commandline import Ended, run_command


def nandlab(cwd: Path, *words: str) -> Ended:
    return run_command(*words, cwd=cwd, deadline_s=280)


def core(to: Path) -> Path:
    """The sources of the core, whose tenth erase is done twice."""
    sources = planted.read_yaffs2_core()
    to.mkdir()
    for name, text in {**sources, "yaffs_nand.c": planted.double_tenth_erase(sources)}.items():
        (to / name).write_text(text)
    return to


@pytest.mark.board
def test_one_planted_erase_is_found_and_named(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (tmp_path / "watch.toml").write_text(planted.STUDY)
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
