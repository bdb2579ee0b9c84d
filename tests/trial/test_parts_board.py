# SPDX-License-Identifier: GPL-2.0-or-later
"""Time in parts as an instrument, on the board: it adds up, and its counts are the chip's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import lock
from support.smalltrial import skip_where_refused

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution

pytestmark = pytest.mark.board

PARTS = (
    *("application", "file_system_in_calls", "collector_in_calls", "collector_in_threads"),
    *("other_threads", "mtd", "chip", "idle"),
)
WHAT = ("reads", "programs", "erases", "spare_programs")
BY = ("collector_in_calls", "collector_in_threads", "wear_leveling", "erase", "rest")
LOAD = {"name": "thesis-2007-gc-interleaved", "steps": 150, "rounds": 2, "fsync_every": 10}
"""150 steps of 16 KiB, three times: more is written than 4 or 6 MiB hold."""
HALF = LOAD | {"steps": 75}
"""And than 2 MiB hold, where a file system can live on so few."""
PAGES = 32
"""Of a block of nandsim-small."""


def planned(
    board: QemuBoard, load: dict[str, Any], system: dict[str, Any], mib: float, **more: Any
) -> TrialSpec:
    told = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "measure": ["parts"],
        "matrix": {
            "workloads": [load],
            "filesystems": [system],
            "chips": [{"part": "nandsim-small", "partition_mib": mib}],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
        **more,
    }
    (spec,) = study.plan_trials(study.Study.model_validate(told))
    return skip_where_refused(spec, board)


def run(board: QemuBoard, spec: TrialSpec) -> Trial:
    found = asyncio.run(execution.run_trial(spec, board, "t"))
    assert found.error is None
    return found


def counted(told: dict[str, int | float], of: str, what: str, *by: str) -> float:
    return sum(told[f"{of}.{who}.{what}"] for who in by or BY)


@pytest.mark.parametrize(
    ("system", "mib", "load"),
    [("jffs2", 2, HALF), ("ubifs", 6, LOAD), ("yaffs2", 2, HALF), ("nftl-fat32", 4, LOAD)],
    ids=["jffs2", "ubifs", "yaffs2", "nftl-fat32"],
)
def test_parts_are_the_elapsed_time_and_counts_the_chip_s(
    board: QemuBoard, system: str, mib: int, load: dict[str, Any]
) -> None:
    trial = run(board, planned(board, load, {"name": system}, mib))
    assert lock.doubts(trial.warnings) == ["parts_measured"]
    assert trial.artefacts == []
    told = trial.measured["parts"]
    phases = [p for p in trial.phases if f"phase.{p.name}.elapsed_ns" in told]
    assert [p.name for p in phases] == ["rest", "writing", "updating"]
    for of in ("whole", *(f"phase.{p.name}" for p in phases)):
        each = [told[f"{of}.{part}_ns"] for part in PARTS]
        assert min(each) >= 0
        assert sum(each) == told[f"{of}.elapsed_ns"]
    for p in phases:
        assert p.ns is not None
        assert p.chip is not None
        within = told[f"phase.{p.name}.elapsed_ns"] - p.ns
        assert 0 <= within <= max(p.ns // 1000, 500_000)
        of = f"phase.{p.name}"
        spare = counted(told, of, "spare_programs")
        assert counted(told, of, "programs") - spare == p.chip.programs
        assert counted(told, of, "erases") == p.chip.erases
    assert counted(told, "whole", "erases") > 0


def test_yaffs_collects_the_pages_that_were_counted_by_hand(board: QemuBoard) -> None:
    """Each block has 20 pages that stay and 12 that die, so it does not matter which is collected.

    The layout of YAFFS1, where each page of data is one program. 300 steps each write 20 pages of
    the large file and then all 12 of the small one, which replace its 12 of the step before:

    - The load writes 300 x 32 = 9600 pages of data, and 3 headers: one for each file as it is
      created, one of the top folder, whose time has changed. Closing comes after the phase.
    - 299 times 12 replaced pages are marked as deleted, each by a program of spare bytes: 3588.
    - Any 32 pages in a row are 20 of the large file and 12 of the small one. So a full block has 20
      live pages, or more where headers or copies lie in it. A passive collection takes blocks of at
      most 4 live pages, and in the thread of at most 16: it finds none.
    - A collection is aggressive where fewer blocks are erased than the reserve, 5, and 1. Each
      write of a page asks before it. 4 MiB are 256 blocks, so the first (256 - 6) x 32 = 8000 pages
      are written without. It takes the dirtiest, so one of 20 live pages while there is one (there
      are 250): it reads 20 pages, programs 20, and erases a block. The copied pages are not marked,
      for their block is erased next. That leaves room for 12 pages more.
    - Before the last of 9603 pages, 9602 - 8000 = 1602 were written beyond: 1602 / 12 = 133.5, so
      134 collections: 134 erases, 134 x 20 = 2680 pages read and programmed.
    """
    load = {"name": "thesis-2007-gc-interleaved", "steps": 300, "rounds": 1}
    more = {"parts": {"records": 1 << 18}}
    trial = run(board, planned(board, load, {"name": "yaffs2"}, 4, **more))
    assert lock.doubts(trial.warnings) == ["parts_measured"]
    told = trial.measured["parts"]
    data, copies, erases, marks = 300 * PAGES + 3, 134 * 20, 134, 299 * 12
    by = {who: {w: told[f"phase.writing.{who}.{w}"] for w in WHAT} for who in BY}
    nothing = dict.fromkeys(WHAT, 0)
    collector = {"reads": copies, "programs": copies, "erases": erases, "spare_programs": 0}
    reads = by["rest"].pop("reads")
    assert by == {
        "collector_in_calls": collector,
        "collector_in_threads": nothing,
        "wear_leveling": nothing,
        "erase": nothing,
        "rest": {"programs": data + marks, "erases": 0, "spare_programs": marks},
    }
    (writing,) = (p for p in trial.phases if p.name == "writing")
    assert writing.chip is not None
    assert (writing.chip.programs, writing.chip.erases) == (data + copies, erases)
    assert writing.chip.reads == reads + copies


def test_records_that_do_not_fit_leave_no_figure_and_say_what_to_do(board: QemuBoard) -> None:
    more = {"parts": {"records": 4096}}
    trial = run(board, planned(board, LOAD, {"name": "yaffs2"}, 4, **more))
    assert trial.status == "ok"
    assert "parts" not in trial.measured
    (lost,) = (w for w in trial.warnings if w.code == "parts_lost")
    assert "was for 4096; raise records of parts" in lost.text
    assert "(the board apf27-trace" in lost.text
