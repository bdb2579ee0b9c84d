# SPDX-License-Identifier: GPL-2.0-or-later
"""Which campaigns a run cuts by itself, and how many of a load's operations."""

from __future__ import annotations

from typing import Any

import pytest

from nandlab.catalog.files import validate_data
from nandlab.cli import runcuts
from nandlab.plan.study import Study
from nandlab.powercut import runcampaigns, sql
from nandlab.powercut.loads import Load, LoadSet


def study(limits: dict[str, Any] | None = None, **change: Any) -> Study:
    told: dict[str, Any] = {
        "name": "mine",
        "question": "Which?",
        "board": "apf27",
        "limits": limits or {},
        "matrix": {
            "workloads": [{"name": "logger", "records": 2000}],
            "filesystems": [{"name": "jffs2"}, {"name": "ubifs"}],
            "chips": [{"part": "apf27", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [1, 2],
        },
    }
    return validate_data({**told, **change}, Study, "mine")


PRODUCT: dict[str, Any] = {
    "product": {
        "years": 10,
        "chip": {"part": "apf27", "partition_mib": 16},
        "loads": [{"name": "logger", "daily_write": "60M", "records": 2000}],
    },
    "matrix": {
        "filesystems": [{"name": "jffs2"}, {"name": "ubifs"}],
        "states": [{"name": "fresh"}],
        "seeds": [1],
    },
}


def test_a_product_asks_and_another_study_when_it_says_so() -> None:
    assert not runcampaigns.does_study_request_power_cuts(study())
    assert runcampaigns.does_study_request_power_cuts(study({"power": "no synced data lost"}))
    assert runcampaigns.does_study_request_power_cuts(study(**PRODUCT))
    assert not runcampaigns.does_study_request_power_cuts(
        study({"power": "may lose data"}, **PRODUCT)
    )


def test_a_sample_is_each_load_on_each_medium_once() -> None:
    wanted = runcampaigns.make_sample_campaign_request(study(**PRODUCT))
    pairs = [(on.filesystem.name, on.partition_mib, name) for on, name in wanted.pairs()]
    assert pairs == [("jffs2", 16, "logger"), ("ubifs", 16, "logger")]
    assert runcampaigns.estimate_campaign_minutes(wanted, jobs=1) == 3
    line = runcuts.format_power_cut_plan(study(**PRODUCT), jobs=2)
    assert "2 campaigns" in line
    assert "2 min" in line
    assert runcuts.format_power_cut_plan(study(), jobs=2) == ""


def test_what_promises_nothing_is_not_cut() -> None:
    matrix = {
        "workloads": [{"name": "logger"}],
        "filesystems": [{"name": "nftl-fat32"}],
        "chips": [{"part": "nandsim-small", "partition_mib": 16}],
        "states": [{"name": "fresh"}],
        "seeds": [1],
    }
    assert list(runcampaigns.make_sample_campaign_request(study(matrix=matrix)).pairs()) == []


def test_without_a_small_form_the_usual_load_is_cut() -> None:
    matrix = study().model_dump(mode="json")["matrix"] | {"workloads": [{"name": "lifetime"}]}
    assert runcampaigns.make_sample_campaign_request(study(matrix=matrix)).loads == [
        runcampaigns.DEFAULT_LOAD
    ]


def test_sqlite_is_cut_in_the_journal_mode_of_the_study() -> None:
    def under(**parameters: str) -> Study:
        loads = [*PRODUCT["product"]["loads"], {"name": "sqlbench", "daily_write": "2M"}]
        loads[1] |= parameters
        return study(**{**PRODUCT, "product": {**PRODUCT["product"], "loads": loads}})

    wal = under(journal="wal", locking="exclusive")
    assert runcampaigns.make_sample_campaign_request(wal).loads == ["logger", "sqlite"]
    assert (
        runcampaigns.find_cut_load_title(wal, "sqlite"),
        runcampaigns.find_cut_load_title(wal, "logger"),
    ) == (
        "wal, full",
        None,
    )
    assert runcampaigns.find_cut_load_title(under(), "sqlite") == "delete, full"
    assert runcampaigns.make_sample_campaign_request(under(synchronous="off")).loads == ["logger"]
    titles = [load.title for load in sql.make_sql_loads().loads]
    assert {"wal, full", "delete, full"} <= set(titles)


@pytest.mark.parametrize(("calls", "every"), [(0, 1), (200, 1), (201, 2), (5000, 25)])
def test_a_long_load_is_cut_at_each_so_many_operations(calls: int, every: int) -> None:
    loads = LoadSet("x", (), (Load("a", ("sync",) * calls),))
    assert runcampaigns.select_sample_cut_points(loads).every == every


def test_progress_of_a_campaign_tells_what_is_left() -> None:
    lines: list[str] = []
    progress = runcuts.Progress("power cuts, UBIFS under logger", lines.append, began=-1e9)
    progress.note_piece(3, 4, [])
    progress.note_piece(4, 4, [])
    assert [line.split(": ")[1].split(",")[0] for line in lines] == ["3/4 parts", "4/4 parts"]
    assert progress.before == 2
