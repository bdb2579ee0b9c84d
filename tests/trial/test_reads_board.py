# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument of reads on the board: every call as foretold, its flash pages the chip's."""

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

LOAD = {
    "name": "readpages",
    "file_bytes": 131072,
    "updates": 100,
    "fit_bytes": 32768,
    "fit_updates": 20,
}
PAGES = {"whole": 32, "pieces": 32, "fit": 8}
"""Of the files that steps read, by the begin of the step's name."""


JFFS2 = {"name": "jffs2", "compression": "none", "read_ahead": 0}
UBIFS = {"name": "ubifs", "compression": "none", "reserve": "1"}
YAFFS2 = {"name": "yaffs2"}


def planned(
    board: QemuBoard, filesystem: dict[str, Any] = JFFS2, mib: int = 8, **more: Any
) -> TrialSpec:
    told = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "measure": ["reads"],
        "reads": {"calibrate": {"paper": ["whole_in_order", "pieces_in_order"]}},
        "matrix": {
            "workloads": [LOAD],
            "filesystems": [filesystem],
            "chips": [{"part": "apf27", "partition_mib": mib}],
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


@pytest.mark.parametrize(
    ("filesystem", "mib"),
    [(JFFS2, 8), (UBIFS, 16), (YAFFS2, 8)],
    ids=["jffs2", "ubifs", "yaffs2"],
)
def test_each_call_of_each_step_is_as_foretold_and_its_pages_the_chip_s(
    board: QemuBoard, filesystem: dict[str, Any], mib: int
) -> None:
    trial = run(board, planned(board, filesystem, mib))
    assert lock.doubts(trial.warnings) == ["reads_measured"]
    told = trial.measured["reads"]
    phases = [p for p in trial.phases if p.name.endswith("_reading")]
    assert len(phases) == 9
    for phase in phases:
        step = phase.name.removesuffix("_reading")
        of = f"step.{step}"
        assert told[f"{of}.differ"] == 0
        assert phase.chip is not None
        # the chip's other reads are of the file's first open, in the step and before the reads
        assert told[f"{of}.n"] == phase.chip.reads
        if step != "whole_unaligned":  # its reads may find a page that another one brought
            assert told[f"{of}.calls"] == PAGES[step.split("_")[0]]
        assert told[f"{of}.least_ns"] <= told[f"{of}.mean_ns"] <= told[f"{of}.most_ns"]
        assert told[f"{of}.median_off"] < 0.005
        # the tracers' own time is the same in both, and there is some for each call
        tracers_ns = told[f"{of}.traced_mean_ns"] - told[f"{of}.mean_ns"]
        assert tracers_ns > 1000
        assert told[f"{of}.traced_overhead_ns"] - told[f"{of}.overhead_ns"] == pytest.approx(
            tracers_ns, abs=2
        )
        # of what the tick and other threads take, 100 us each or so, a step has two at most; so a
        # step of eight calls is 9 % off, one of 32 calls 3 %
        beside = told[f"{of}.total_off"] * told[f"{of}.calls"] * told[f"{of}.mean_ns"]
        assert beside < 250_000
    # and of nine steps there is one with none of that; UBIFS's is 0.16 % off
    assert min(v for k, v in told.items() if k.endswith(".total_off")) < 0.002
    both = [told[f"step.{name}.overhead_ns"] for name in ("whole_in_order", "pieces_in_order")]
    assert told["overhead_ns.paper"] == pytest.approx(sum(both) / 2, abs=1)
    assert told["step.whole_in_order.paper_mean_ns"] - told["step.whole_in_order.mean_ns"] == (
        pytest.approx(told["overhead_ns.paper"] - both[0], abs=2)
    )


def test_records_that_do_not_fit_leave_no_figure_and_say_what_to_do(board: QemuBoard) -> None:
    trial = run(board, planned(board, reads={"records": 1024}))
    assert trial.status == "ok"
    assert "reads" not in trial.measured
    (lost,) = (w for w in trial.warnings if w.code == "reads_lost")
    assert "overwritten: raise records of reads" in lost.text
