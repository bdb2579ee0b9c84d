# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan says that it cannot answer, before anything runs, and the one edit for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import straces

from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.wearsteadiness import STEADY_ERASES_MIN
from nandlab.catalog.demands import WrittenData
from nandlab.catalog.from_strace.workload import TraceWorkload
from nandlab.plan import outlook, study
from nandlab.plan.study import Study

LOGGER = {"name": "logger", "daily_write": "60M", "record_bytes": 256}


def product(*loads: dict[str, Any], mib: float = 16, **change: Any) -> Study:
    told: dict[str, Any] = {
        "name": "t",
        "question": "q",
        "board": "apf27",
        "product": {
            "chip": {"part": "S34ML01G1", "partition_mib": mib},
            "years": 10,
            "loads": list(loads or [LOGGER]),
        },
        "matrix": {
            "filesystems": [{"name": "jffs2"}, {"name": "ubifs"}],
            "states": [{"name": "fresh"}],
            "seeds": [1, 2],
        },
    }
    told["matrix"] |= change.pop("matrix", {})
    return Study.model_validate(told | change)


def gaps(of: Study) -> dict[str, VerdictGap]:
    return {gap.what: gap for gap in outlook.find_verdict_gaps(of, study.plan_trials(of))}


def test_a_load_too_short_for_years_is_told_with_its_one_edit() -> None:
    gap = gaps(product())["years"]
    assert gap.who == ("logger",)
    name, value = re.fullmatch(r"(\w+) = (\d+)", gap.do).groups()  # type: ignore[union-attr]
    assert name == "records"
    pages = 16 * 1024 // 2
    assert (STEADY_ERASES_MIN + 1) * pages <= int(value) <= 1.2 * (STEADY_ERASES_MIN + 1) * pages
    assert "years" not in gaps(product(LOGGER | {name: int(value)}))
    # of two records a commit, a page is programmed for each two
    twice = gaps(product(LOGGER | {"commit_every": 2}))["years"].do
    assert int(twice.removeprefix("records = ")) == pytest.approx(2 * int(value), rel=0.1)


def test_what_lies_there_already_takes_no_more_writing() -> None:
    full = LOGGER | {"records": 27_000, "history": 12, "keep": 13, "file_bytes": 1 << 20}
    assert "years" in gaps(product(LOGGER | {"records": 27_000}))
    assert "years" not in gaps(product(full))
    aged = {"name": "aged", "valid": 0.5, "invalid": 0.4, "mix": 1}
    state = {"states": [aged]}
    assert "years" not in gaps(product(LOGGER | {"records": 27_000}, matrix=state))


def test_what_tells_no_erases_or_no_endurance_is_told() -> None:
    update = {"name": "update", "daily_write": "1M"}
    assert gaps(product(update))["years"].do == 'measure = ["wear"]'
    assert "wear" not in gaps(product(update, measure=["wear"]))["years"].do
    small = {"part": "nandsim-small", "partition_mib": 16}
    unknown = product()
    assert unknown.product is not None
    words = unknown.model_dump(mode="json")
    words["product"]["chip"] = words["matrix"]["chips"][0] = small
    assert "pe_cycles" in gaps(Study.model_validate(words))["years"].do
    assert "years" not in gaps(product({"name": "lifetime", "daily_write": "1M"}))
    told = gaps(product({"name": "ffsmark", "daily_write": "1M"}))["years"]
    assert "--members 1" in told.do


def test_one_member_and_members_that_are_one_are_told() -> None:
    assert gaps(product(matrix={"seeds": [4]}))["one member"].do == "seeds = [4, 5, 6]"
    assert not {"one member", "members"} & gaps(product()).keys()
    alike = gaps(product(matrix={"phase_offsets_ms": [0]}))["members"]
    assert "phase_offsets_ms" in alike.do
    ffsmark = {"name": "ffsmark", "daily_write": "1M"}
    assert "members" not in gaps(product(ffsmark, matrix={"phase_offsets_ms": [0]}))


def test_ram_beside_times_is_answered_or_told() -> None:
    ram = {"ram": "< 4M"}
    assert not {"RAM", "times without a doubt"} & gaps(product(limits=ram)).keys()
    together = product(limits=ram, measure=["memory"], memory_trials="all")
    assert "memory_trials" in gaps(together)["times without a doubt"].do
    unmeasured = product(limits=ram, memory_trials="all")
    assert "memory_trials" in gaps(unmeasured)["RAM"].do


def test_a_limit_that_nothing_measures_is_told() -> None:
    space = gaps(product(limits={"space.free": "> 1M"}, measure=["wear"]))["space.free"]
    assert space.do == "measure = ['wear', 'space']"
    assert "space.free" not in gaps(product(limits={"space.free": "> 1M"}, measure=["space"]))
    of = product(limits={"energy.total": "< 1J"})
    found = [
        gap.do
        for gap in outlook.find_verdict_gaps(of, study.plan_trials(of))
        if gap.what == "energy"
    ]
    assert [do.split()[0] for do in found] == ["[power]", "[energy]"]
    chip = product(limits={"energy.chip": "< 1J"})
    assert gaps(chip)["energy"].do.startswith("[energy]")


def test_a_recorded_load_too_short_for_years_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "catalog" / "workloads"
    folder.mkdir(parents=True)
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "catalog"))
    made = TraceWorkload(straces.recording("dpkg"), "/srv/build", "dpkg")
    (folder / "dpkg.toml").write_text(made.text())
    load = {"name": "dpkg", "daily_write": "1M"}
    told = gaps(product(load))["years"]
    assert told.do.endswith("record the program for longer")


def test_the_count_and_the_minutes_are_told() -> None:
    of = product(limits={"ram": "< 4M"})
    first = outlook.format_plan_outlook(of, study.plan_trials(of), 2)[0]
    assert first.startswith("8 trials, 4 of them for RAM; about ")
    long = product(LOGGER | {"records": 2_000_000})
    lines = [outlook.format_plan_outlook(long, study.plan_trials(long), jobs)[0] for jobs in (1, 4)]
    minutes = [int(re.findall(r"about (\d+) min", line)[0]) for line in lines]
    assert minutes[0] > 3 * minutes[1] > 10


def test_a_load_of_unknown_size_has_its_least_minutes_alone() -> None:
    of = product({"name": "thesis-2007-postmark", "daily_write": "1M"})
    first = outlook.format_plan_outlook(of, study.plan_trials(of), 2)[0]
    assert re.findall(r"about (\d+) min", first) == []
    assert re.findall(r"least (\d+) min", first) == ["1"]
    assert "thesis-2007-postmark" in first


def test_pages_of_what_is_written() -> None:
    records = WrittenData(count="n", times={"size": 1}, synced_every="every")
    assert records.pages({"n": 100, "size": 256, "every": 1}, 2048) == 100
    assert records.pages({"n": 100, "size": 256, "every": 30}, 2048) == 4 * 3
    assert records.pages({"n": 10, "size": 8192, "every": 1}, 2048) == 40
    assert records.pages({"n": 10, "size": 8192, "every": 10**12}, 2048) == 40
    assert WrittenData(bytes=1 << 20).pages({}, 2048) == 512
    assert WrittenData(bytes=100, syncs=7).pages({}, 2048) == 7
