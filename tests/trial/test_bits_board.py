# SPDX-License-Identifier: GPL-2.0-or-later
"""Bits that rot on the board, and UBI's scrubs of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan import study
from nandlab.results.record import Trial
from nandlab.trial import execution

pytestmark = pytest.mark.board


def rotten(board: QemuBoard, **words: Any) -> Trial:
    """A trial of bit rot with these parameters, on small pages whose bits rot fast."""
    study_of = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": "bit-rot", "files": 4, **words}],
            "filesystems": [{"name": "ubifs"}],
            "chips": [
                {
                    "part": "nandsim-small",
                    "partition_mib": 8,
                    "faults": {"flip_day_ppt": 100_000},
                }
            ],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(study_of))
    found = asyncio.run(execution.run_trial(spec, board, "t"))
    assert found.error is None
    return found


def test_bits_rot_with_the_days_and_a_scrubber_keeps_them(board: QemuBoard) -> None:
    new = rotten(board, days=0).measured["bits"]
    assert set(new.values()) == {0}
    old = rotten(board, days=1200).measured["bits"]
    assert old["failed_pages"] > 0
    kept = rotten(board, days=60, times=20, scrubber="volume").measured["bits"]
    assert kept["scrubs"] > 0
    assert kept["failed_pages"] < old["failed_pages"]
