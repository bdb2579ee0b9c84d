# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study may ask of reads, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nandlab.base.errors import UsageError
from nandlab.plan import study
from nandlab.plan.study import Study

LOAD = {"name": "readpages", "file_bytes": 65536, "updates": 10, "fit_bytes": 32768}


def told(**more: Any) -> dict[str, Any]:
    matrix = {
        "workloads": [more.pop("load", LOAD)],
        "filesystems": [{"name": more.pop("system", "jffs2")}],
        "chips": [{"part": more.pop("part", "apf27"), "partition_mib": more.pop("mib", 8)}],
        "states": [{"name": "fresh"}],
        "seeds": [3],
    }
    first = {"name": "t", "question": "q", "board": "apf27", "measure": ["reads"]}
    return {**first, "matrix": matrix, **more}


def refused(**more: Any) -> str:
    with pytest.raises(UsageError) as e:
        study.plan_trials(Study.model_validate(told(**more)))
    return str(e.value)


def test_room_and_calibration_are_in_the_trial_s_id() -> None:
    plans: list[dict[str, Any]] = [
        {},
        {"reads": {"records": 4096}},
        {"reads": {"calibrate": {"a": ["whole_in_order"]}}},
        {"measure": []},
    ]
    assert len({study.plan_trials(Study.model_validate(told(**p)))[0].id for p in plans}) == 4


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"measure": ["parts", "reads"]}, "parts and reads each bring something back"),
        ({"measure": ["reads", "space"]}, "reads and space each bring something back"),
        ({"measure": ["reads", "reads"]}, "'reads' is there 2 times"),
        ({"measure": [], "reads": {"records": 4096}}, "it is for measure"),
        ({"reads": {"records": 0}}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_together_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Study.model_validate(told(**more))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"system": "nftl-fat32", "part": "nandsim-small"},
            "NFTL+FAT32: how it reads is not modelled: each sector takes a walk",
        ),
        ({"reads": {"records": 1 << 21}}, "must be 1 to 524288 on board apf27"),
        ({"reads": {"calibrate": {"a": ["nothing"]}}}, "readpages has no step nothing; it has"),
        ({"load": {"name": "config"}}, "config has no step drop"),
    ],
)
def test_what_cannot_be_had_is_refused(more: dict[str, Any], said: str) -> None:
    assert said in refused(**more)
