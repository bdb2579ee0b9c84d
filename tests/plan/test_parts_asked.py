# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study may ask of time in parts, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nandlab.base.errors import UsageError
from nandlab.plan import study
from nandlab.plan.study import Study

LOAD = {"name": "thesis-2007-gc-interleaved", "steps": 10, "rounds": 1}


def told(load: dict[str, Any], system: str = "yaffs2", **more: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "question": "q",
        "board": "apf27",
        "measure": ["parts"],
        "matrix": {
            "workloads": [load],
            "filesystems": [{"name": system}],
            "chips": [{"part": "nandsim-small", "partition_mib": 4}],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
        **more,
    }


def refused(**more: Any) -> str:
    with pytest.raises(UsageError) as e:
        study.plan_trials(Study.model_validate(told(**more)))
    return str(e.value)


def test_a_trial_with_parts_has_an_id_of_its_own_which_the_room_is_in() -> None:
    plans: list[dict[str, Any]] = [{}, {"parts": {"records": 4096}}, {"measure": []}]
    ids = [study.plan_trials(Study.model_validate(told(LOAD, **p)))[0].id for p in plans]
    assert len(set(ids)) == 3


def test_more_records_than_the_board_has_ram_are_refused() -> None:
    assert "must be 1 to 524288 on board apf27" in refused(load=LOAD, parts={"records": 1 << 21})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"measure": ["parts", "space"]}, "name one of them"),
        ({"measure": [], "parts": {"records": 4096}}, "it is for measure"),
        ({"parts": {"records": 0}}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_together_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Study.model_validate(told(LOAD, **more))


def test_a_collector_that_is_unloaded_in_the_load_is_refused() -> None:
    load = {"name": "fs-benchmarking-2012-s2", "depth": 2, "files": "2"}
    assert "its collector would not be seen" in refused(load=load, system="nftl-fat32")
