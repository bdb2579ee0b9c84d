# SPDX-License-Identifier: GPL-2.0-or-later
"""Which one to ship: made-up trials of a product, and what must hold whatever the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import samples
from support.commandline import run_command
from support.fitting import fits
from test_limits import LOGGER, OPTIONS, logged

from nandlab.analysis.verdicts import verdictmaker
from nandlab.analysis.verdicts.criteria import VerdictCell
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.results import cutsummaries
from nandlab.results.cutsummaries import CutSummary
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt, EraseSpread, OperationCounts

MIB = 1 << 20
CHIP = {"part": samples.CHIP.part}
SPEC: dict[str, Any] = {
    "limits": {"commit": {"p99": "< 50ms"}},
    "product": {
        "ram_mib": 64,
        "years": 10,
        "chip": CHIP,
        "loads": [{"name": "logger", "daily_write": "100M"}],
    },
}


def counted(erases: int) -> OperationCounts:
    """What the chip counts where its blocks were erased half as often as the worst."""
    return OperationCounts(reads=1, programs=40_000, erases=erases * samples.CHIP.blocks // 2)


def worn(filesystem: str, commit: float, seed: int = 1, erases: int = 8, **change: Any) -> Trial:
    """A logger's trial that wrote 100 MiB and erased its worst block so often."""
    spread = EraseSpread(mean=erases / 2, stddev=0.1, min=0, max=erases)
    told = {
        "workload": LOGGER,
        "filesystem": {**samples.catalog_entry(filesystem), "options": OPTIONS},
        "chip": {"endurance": {"pe_cycles": 1_000_000}},
    }
    given: dict[str, Any] = {
        "bytes": {"read": 0, "written": 100 * MIB},
        "erases_per_block": spread,
        "per_block": None,
        "flash": {"logging": counted(erases)},
        "provenance": told,
    }
    return logged(filesystem, commit, seed, **{**given, **change})


def pair(filesystem: str, commit: float, **change: Any) -> list[Trial]:
    return [worn(filesystem, commit + i / 5, i, **change) for i in (1, 2)]


def held(trials: list[Trial]) -> list[Trial]:
    """The same where a campaign of power cuts lost nothing."""
    return [t.add_power_cuts([campaign(t)]) for t in trials]


def campaign(of: Trial) -> CutSummary:
    """A whole campaign on the trial's medium in which all held."""
    return CutSummary(
        filesystem=of.filesystem,
        options=of.options,
        chip=of.chip.part,
        kernel="6.1",
        load="logger",
        faulty=False,
        operations=40,
        cut=40,
        points=200,
        excused={},
        lost={},
    )


def judged(trials: list[Trial], spec: dict[str, Any] | None = None) -> Verdict:
    return verdictmaker.make_run_verdicts_from_trials(spec or SPEC, held(trials), samples.NAMING)[0]


def calls(found: Verdict) -> dict[str, str]:
    return {row.name: row.call for row in found.rows}


def cell(found: Verdict, name: str, title: str) -> VerdictCell:
    titles = [c.title for c in found.criteria]
    return found.row(name).cells[titles.index(title)]


def test_the_verdict_has_all_that_a_buyer_asks() -> None:
    found = judged([*pair("jffs2", 20), *pair("ubifs", 10), *pair("yaffs2", 60)])
    assert found.title.split(", ") == [
        "MT29F2G08ABAEAWP",
        "100 MiB",
        "64 MiB of RAM",
        "100 MiB a day for 10 years",
    ]
    assert calls(found) == {"UBIFS": "take", "JFFS2": "fits", "YAFFS2": "avoid"}
    asked = {c.title: c.limit for c in found.criteria if c.limit}
    assert asked == {"commit p99": "< 50ms", "power cuts": "no synced data lost", "years": ">= 10"}
    told = cell(found, "UBIFS", "commit p99")
    assert (told.text, told.state) == ("10.4 ms", "met")
    assert told.used == pytest.approx(10.4 / 50)
    assert cell(found, "UBIFS", "years").value == pytest.approx(274, rel=0.01)
    assert found.row("YAFFS2").against == ("commit p99 60.4 ms, asked < 50ms",)
    assert found.answer.split("; ") == ["Take UBIFS", "fits too: JFFS2", "avoid YAFFS2."]


def test_the_speed_of_what_no_limit_is_on_decides_nothing() -> None:
    slow = {"phase_ns": {"logging": 10**12}}
    found = judged([*pair("jffs2", 20), *pair("ubifs", 10, **slow)])
    assert calls(found) == {"UBIFS": "take", "JFFS2": "fits"}


def test_power_that_nobody_cut_leaves_a_product_open() -> None:
    found = verdictmaker.make_run_verdicts_from_trials(SPEC, pair("jffs2", 20), samples.NAMING)[0]
    assert calls(found) == {"JFFS2": "open"}
    assert [(g.what, g.do) for g in found.gaps] == [("power cuts", "nandlab powercut runs/a")]


def test_a_single_trial_or_a_doubt_ships_nothing() -> None:
    doubt = Doubt(code="kernel_log", text="a line")
    for trials in ([worn("jffs2", 20)], pair("jffs2", 20, warnings=[doubt])):
        found = judged(trials)
        assert calls(found) == {"JFFS2": "open"}
        assert found.gaps
        assert found.sentence.startswith("Not enough to say yet")


def test_a_lifetime_that_is_not_known_ships_nothing() -> None:
    found = judged(pair("jffs2", 20, erases=0))
    assert calls(found) == {"JFFS2": "open"}
    assert cell(found, "JFFS2", "years").state == "open"


TWO = {
    **SPEC["product"],
    "loads": [
        {"name": "logger", "daily_write": "75M"},
        {"name": "ffsmark", "daily_write": "25M", "files": 5000},
    ],
}


def other(filesystem: str, seconds: float, seed: int, erases: int = 8) -> Trial:
    told = {"chip": {"endurance": {"pe_cycles": 1_000_000}}}
    return samples.trial(
        filesystem,
        samples.FRESH,
        seed,
        options={"writeback": "on"},
        phase_ns={"transactions": int(seconds * 1e9)},
        sync_ns=None,
        bytes={"read": 1, "written": 100 * MIB},
        erases_per_block=EraseSpread(mean=erases / 2, stddev=0.1, min=0, max=erases),
        per_block=None,
        flash={"transactions": counted(erases)},
        flash_sync=None,
        provenance=told,
    )


def both(filesystem: str, commit: float, seconds: float, erases: int = 8) -> list[Trial]:
    second = [other(filesystem, seconds + i / 100, i, erases) for i in (1, 2)]
    return [*pair(filesystem, commit), *second]


def test_each_load_has_its_criteria_and_years_are_of_all() -> None:
    spec = {**SPEC, "product": TWO}
    found = judged([*both("jffs2", 20, 10), *both("ubifs", 10, 35)], spec)
    titles = [c.title for c in found.criteria]
    assert {"logger: commit p99", "ffsmark: transact.", "years", "power cuts"} <= set(titles)
    assert titles.count("years") == 1
    assert calls(found) == {"UBIFS": "take", "JFFS2": "fits"}


def years(daily: dict[str, str], erases: int = 8) -> VerdictCell:
    """Of JFFS2 under both loads, with these bytes a day."""
    loads = [{**load, "daily_write": daily[load["name"]]} for load in TWO["loads"]]
    spec = {**SPEC, "product": {**TWO, "loads": loads}}
    return cell(judged(both("jffs2", 20, 10, erases=erases), spec), "JFFS2", "years")


def test_loads_wear_the_chip_each_by_its_own_bytes_of_a_day() -> None:
    one, other = (
        years({"logger": a, "ffsmark": b}).value or 0 for a, b in (("75M", "1"), ("1", "25M"))
    )
    together = years({"logger": "75M", "ffsmark": "25M"})
    assert one and other
    assert together.state == "met"
    assert together.value == pytest.approx(1 / (1 / one + 1 / other), rel=1e-5)
    light = years({"logger": "75M", "ffsmark": "25k"}, erases=10_000)
    heavy = years({"logger": "75M", "ffsmark": "25M"}, erases=10_000)
    assert (light.state, heavy.state) == ("met", "broken")
    assert calls(judged(both("jffs2", 20, 10, erases=10_000), {**SPEC, "product": TWO})) == {
        "JFFS2": "avoid"
    }


def test_a_load_of_which_wear_is_not_known_leaves_years_open_or_broken() -> None:
    even = {"logger": "75M", "ffsmark": "25M"}
    assert years(even, erases=0).state == "open"
    assert years({**even, "logger": "750G"}, erases=0).state == "broken"


def test_a_load_that_was_not_run_leaves_it_open() -> None:
    found = judged(pair("jffs2", 20), {**SPEC, "product": TWO})
    assert calls(found) == {"JFFS2": "open"}
    assert "1 of the product's loads" in [g.what for g in found.gaps]


def test_another_chip_or_other_parameters_are_none_of_its_loads() -> None:
    chip = {**SPEC["product"], "chip": {"part": "another"}}
    load = {**SPEC["product"], "loads": [{**SPEC["product"]["loads"][0], "records": 7}]}
    for product in (chip, load):
        (found,) = verdictmaker.make_run_verdicts_from_trials(
            {**SPEC, "product": product}, pair("jffs2", 20), samples.NAMING
        )
        assert found.title.startswith("logger on ")
        assert "years" not in [c.title for c in found.criteria]


def nandlab(*words: str) -> str:
    done = run_command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(folder: Path, trials: list[Trial]) -> Path:
    """A run with its campaigns beside it."""
    made = samples.folder(folder, trials, spec=SPEC)
    every = {t.filesystem: campaign(t) for t in trials}
    (made.path / cutsummaries.CUTS_FOLDER).mkdir()
    cutsummaries.write_cut_summaries(made.path / cutsummaries.CUTS_FOLDER, list(every.values()))
    return made.path


def test_advise_show_and_the_report_have_it(tmp_path: Path) -> None:
    run = str(kept(tmp_path / "run", [*pair("jffs2", 20), *pair("ubifs", 10)]))
    answer = "Take UBIFS; fits too: JFFS2."
    assert nandlab("advise", run).splitlines()[-1] == answer
    assert nandlab("show", run).splitlines()[-1] == answer
    none = nandlab("advise", run, "--limit", "commit.p99 < 1ms").splitlines()[-1]
    assert none == "None is fit; avoid UBIFS, JFFS2."
    (told,) = fits("advice", nandlab("advise", run, "--json"))
    assert [(r["name"], r["call"]) for r in told["rows"]] == [("UBIFS", "take"), ("JFFS2", "fits")]
    page = Path(nandlab("report", run).strip()).read_text()
    assert answer in page[: page.index("</header>")]


# what must hold of any answer, whatever the figures

COMMITS = st.floats(min_value=0.5, max_value=200, allow_nan=False)
RUNS = st.dictionaries(
    st.sampled_from(["jffs2", "ubifs", "yaffs2"]),
    st.lists(COMMITS, min_size=1, max_size=3),
    min_size=1,
)
SURE = {"take": 0, "fits": 0, "open": 1, "avoid": 2}


def trials(run: dict[str, list[float]], factor: float = 1) -> list[Trial]:
    return [
        worn(name, commit * factor, seed)
        for name, commits in run.items()
        for seed, commit in enumerate(commits, 1)
    ]


@given(run=RUNS)
def test_doubling_every_time_and_its_limit_changes_no_answer(run: dict[str, list[float]]) -> None:
    wider = {**SPEC, "limits": {"commit": {"p99": "< 100ms"}}}
    once, twice = judged(trials(run)), judged(trials(run, 2), wider)
    assert list(calls(once).items()) == list(calls(twice).items())


@given(run=RUNS)
def test_a_copy_under_another_name_is_as_good(run: dict[str, list[float]]) -> None:
    name = next(iter(run))
    told = {
        "workload": LOGGER,
        "filesystem": {"title": "Copy", "power": samples.POWER, "options": OPTIONS},
        "chip": {"endurance": {"pe_cycles": 1_000_000}},
    }
    copies = [
        worn(name, commit, i, provenance=told).model_copy(update={"filesystem": "copy"})
        for i, commit in enumerate(run[name], 1)
    ]
    found = judged([*trials(run), *copies])
    one, copy = found.row(samples.TITLES[name]), found.row("Copy")
    assert (one.cells, one.against) == (copy.cells, copy.against)
    assert SURE[one.call] == SURE[copy.call]


@given(run=RUNS, data=st.data())
def test_dropping_members_never_makes_it_surer(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(run)))
    fewer = {**run, name: run[name][: data.draw(st.integers(1, len(run[name])))]}
    before, after = calls(judged(trials(run))), calls(judged(trials(fewer)))
    title = samples.TITLES[name]
    if before[title] == "avoid":
        return  # the trial that broke the limit may be the one that was dropped
    assert SURE[after[title]] >= SURE[before[title]]


@given(run=RUNS, data=st.data())
def test_a_doubt_added_never_leaves_the_answer_as_it_was(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    all_trials = trials(run)
    before = judged(all_trials)
    first = before.rows[0]
    if first.call == "avoid":
        return
    doubt = Doubt(code="kernel_log", text="a line")
    doubted = [
        t.model_copy(update={"warnings": [doubt]}) if t.filesystem_title == first.name else t
        for t in all_trials
    ]
    after = judged(doubted)
    assert after.row(first.name).call == "open"
    assert (after.sentence, after.gaps) != (before.sentence, before.gaps)


@given(run=RUNS, most=COMMITS)
def test_a_tighter_limit_makes_nothing_fit_that_was_not(
    run: dict[str, list[float]], most: float
) -> None:
    before = calls(judged(trials(run)))
    tight = {**SPEC, "limits": {"commit": {"p99": f"< {min(50, most)}ms"}}}
    after = calls(judged(trials(run), tight))
    assert all(SURE[after[name]] >= SURE[call] for name, call in before.items())
