# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload's file refuses is refused before anything runs, with its place and a cure."""

from __future__ import annotations

from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.demands import Need, StoredData
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec


def planned(fs: str, **words: Any) -> list[TrialSpec]:
    workload = {"name": "sqlbench", **words}
    told = {
        "name": "t",
        "question": "q",
        "board": "apf27",
        "matrix": {
            "workloads": [workload],
            "filesystems": [{"name": fs}],
            "chips": [{"part": "S34ML01G1", "partition_mib": 32}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    return study.plan_trials(study.Study.model_validate(told), "here")


def test_a_wal_that_others_may_use_is_refused_on_jffs2_alone() -> None:
    with pytest.raises(UsageError) as refused:
        planned("jffs2", journal="wal")
    assert str(refused.value).startswith("here: matrix.workloads.0: sqlbench on JFFS2: ")
    assert 'set locking = "exclusive"' in str(refused.value)
    assert len(planned("jffs2", journal="wal", locking="exclusive")) == 1
    assert len(planned("ubifs", journal="wal")) == 1
    with pytest.raises(UsageError, match="set exclusive = true"):
        planned("jffs2", name="speedtest1", journal="wal")
    assert len(planned("jffs2", name="speedtest1", journal="wal", exclusive=True)) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"journal": "wall"}, "journal must be one of delete, truncate, "),
        ({"page_size": 3000}, "page_size must be one of 512, 1024, "),
        ({"rows": 0}, "rows must be at least 1, is 0"),
        ({"update": 0}, "give one of select, insert, update and delete more than 0"),
        ({"rows": 200000}, "its files take 60200000 bytes or more, and the partition of"),
        ({"name": "sqlselect", "selects": "1,,2"}, "selects must be numbers from 1 up"),
        ({"name": "sqlselect", "selects": "0"}, "'0' in it"),
    ],
)
def test_what_cannot_be_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        planned("ubifs", **words)
    assert str(refused.value).startswith("here: matrix.workloads.0: ")


def test_a_list_of_counts_reaches_its_program_without_blanks() -> None:
    (spec,) = planned("ubifs", name="sqlselect", selects="1, 10,\t100")
    value = spec.parameters["selects"]
    assert spec.workload.parameters["selects"].word(value) == "1,10,100"


def test_a_need_holds_where_all_its_values_do() -> None:
    need = Need(when={"a": 1, "b": "x"}, not_differs="case", why="no", cure="do")
    assert need.unmet({"a": 1, "b": "y"}, {"case"}) is None
    assert need.unmet({"a": 1, "b": "x"}, {"modes"}) is None
    assert need.unmet({"a": 1, "b": "x"}, {"case"}) == "a = 1 with b = 'x': no; do"
    always = Need(not_differs="case", why="no", cure="do")
    assert always.unmet({"a": 1}, {"case"}) == "no; do"
    assert always.unmet({"a": 1}, {"modes"}) is None
    with pytest.raises(ValueError, match="nowhere"):
        Need(why="no", cure="do")


def test_what_is_stored_is_counted() -> None:
    stores = StoredData(count="rows", bytes=10, times={"text": 5})
    assert stores.least({"rows": 3, "text": 2}) == 60
