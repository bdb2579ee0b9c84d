# SPDX-License-Identifier: GPL-2.0-or-later
"""Advice on made-up trials: limits by their formulas, an order by rules, and gaps that are said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import samples
from fitting import fits
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis import advice, asked, forecast, groups, limits, power, steady
from nandlab.analysis.forecast import Forecast
from nandlab.analysis.limits import Limits
from nandlab.analysis.views import view
from nandlab.base import units
from nandlab.results.measures import Counts, Doubt, EraseSpread, State
from nandlab.results.record import Trial

S = 1_000_000_000
MIB = 1 << 20

UNCUT = f" What they kept here is {power.NOT_CUT}."


def trial(filesystem: str, seconds: float, seed: int = 1, **change: Any) -> Trial:
    """Transactions of so many seconds; 100 MiB written; a block erased 4 times, at most 8."""
    given: dict[str, Any] = {
        "phase_ns": {"transactions": int(seconds * S)},
        "sync_ns": None,
        "bytes": {"read": 1, "written": 100 * MIB},
        "erases_per_block": EraseSpread(mean=4.0, stddev=0.5, min=0, max=8),
        "provenance": {"chip": {"endurance": {"pe_cycles": 100_000}}},
        "options": {},
    }
    state = change.pop("state", samples.FRESH)
    return samples.trial(filesystem, state, seed, **{**given, **change})


def pair(
    filesystem: str, seconds: float, state: State = samples.FRESH, **change: Any
) -> list[Trial]:
    return [trial(filesystem, seconds + i / 100, i, state=state, **change) for i in (1, 2)]


def at(*limits: str) -> Limits:
    """Limits as they are written."""
    return Limits(tuple(asked.parse(text) for text in limits))


def advised(trials: list[Trial], asked: Limits | None = None) -> advice.Advice:
    (setting,) = groups.group(trials)
    found = view(setting).advise(setting, asked)
    assert found is not None
    return found


def subject(found: advice.Advice, name: str) -> advice.Subject:
    return next(s for s in found.subjects if s.name == name)


def test_a_lifetime_is_cycles_over_erases_a_byte() -> None:
    found = forecast.of(trial("jffs2", 10))
    assert isinstance(found, Forecast)
    assert found.least == pytest.approx(100_000 * 100 * MIB / (8 + steady.DUE))
    assert found.most == pytest.approx(100_000 * 100 * MIB / 4)
    assert forecast.of(trial("jffs2", 10, provenance={"chip": {"endurance": None}})) is None


@pytest.mark.parametrize(("years", "outcome"), [(2.6, "met"), (5.0, "in doubt"), (6.8, "broken")])
def test_a_lifetime_is_in_doubt_between_worst_block_and_even_wear(
    years: float, outcome: str
) -> None:
    (setting,) = groups.group(pair("jffs2", 10))  # 2.67 years by the worst block, 6.68 if even
    (judged,) = limits.judge(setting, setting.ensembles[0], Limits(years=years, daily=1 << 30))
    assert judged.outcome == outcome
    assert judged.text.startswith("lifetime at 1 GiB a day 2.67 to 6.68 years, asked ")


def test_a_load_that_is_too_short_has_no_years() -> None:
    still = {p: Counts(reads=1, programs=6400, erases=0) for p in samples.PHASES}
    short = pair("ubifs", 10, flash=still)
    (setting,) = groups.group(short)
    (judged,) = limits.judge(setting, setting.ensembles[0], Limits(years=1, daily=1 << 30))
    assert judged.outcome == "unknown"
    # 3 phases program 6400 pages of 2 KiB for 100 MiB; the partition has 800 blocks of 64 pages
    needed = units.size(round(5 * 800 * 64 * 2048 * 100 * MIB / (3 * 6400 * 2048)))
    assert judged.text.startswith("lifetime: not known: the load is too short (no block was erased")
    assert judged.text.endswith(f"; write at least {needed}")


def test_erases_of_too_short_a_load_are_no_reason_to_avoid() -> None:
    few, more = (
        {p: Counts(reads=1, programs=1, erases=n) for p in samples.PHASES} for n in (1, 47)
    )
    found = advised([*pair("jffs2", 10, flash=few), *pair("ubifs", 20, flash=more)])
    assert not subject(found, "UBIFS").avoid


def test_the_fastest_in_its_worst_state_comes_first() -> None:
    found = advised(
        [
            *pair("jffs2", 20),
            *pair("jffs2", 30, samples.AGED),
            *pair("ubifs", 10),
            *pair("ubifs", 40, samples.AGED),
        ]
    )
    assert [s.name for s in found.subjects] == ["JFFS2", "UBIFS"]
    assert found.sentences == [
        "Take JFFS2: transactions take 30.0 s at worst (aged). "
        "Next: UBIFS, transactions take 40.0 s at worst (aged).",
        f"{power.CUTS}JFFS2 and UBIFS: {samples.POWER['promises']}.{UNCUT}",
    ]


def test_what_cannot_be_told_apart_is_not_ranked() -> None:
    close = [trial("jffs2", 10, 1), trial("jffs2", 12, 2), trial("ubifs", 11, 1)]
    found = advised([*close, trial("ubifs", 13, 2)])
    assert "The trials do not tell UBIFS from it" in found.sentences[0]


def test_far_from_the_best_is_to_be_avoided_and_failing_is_unfit() -> None:
    found = advised(
        [
            *pair("jffs2", 10),
            *pair("yaffs2", 50),
            *pair("ubifs", 10),
            samples.failed("ubifs", samples.FRESH).model_copy(update={"options": {}}),
        ]
    )
    assert subject(found, "JFFS2").fitness == "fit"
    slow = subject(found, "YAFFS2")
    assert slow.fitness == "fit"
    assert slow.avoid[0].startswith("fresh: 4.99 times the transaction time of JFFS2")
    broken = subject(found, "UBIFS")
    assert broken.fitness == "unfit"
    assert "1 of 3 trials did not end well: no space left" in broken.against[0]
    assert [s.partition(":")[0] for s in found.sentences[2:]] == ["Avoid YAFFS2", "Avoid UBIFS"]


def test_what_was_not_measured_is_said_and_never_met() -> None:
    found = advised(pair("jffs2", 10), at("ram <= 4M"))
    only = found.subjects[0]
    assert only.fitness == "unproven"
    assert only.unknown == ("fresh: RAM: not measured",)
    assert found.sentences[0].startswith(
        "Not enough to say which to take. The first to look into is JFFS2"
    )
    assert found.sentences[-1] == "Cannot be judged: RAM: not measured (of JFFS2)."


def test_a_state_that_was_not_run_leaves_a_subject_unproven() -> None:
    found = advised([*pair("jffs2", 20), *pair("jffs2", 30, samples.AGED), *pair("ubifs", 10)])
    assert [(s.name, s.fitness) for s in found.subjects] == [
        ("JFFS2", "fit"),
        ("UBIFS", "unproven"),
    ]
    assert found.sentences[-1] == "Cannot be judged: UBIFS, no trial on aged flash."


def test_limits_are_met_or_broken_in_every_trial() -> None:
    (setting,) = groups.group(pair("jffs2", 10))
    ensemble = setting.ensembles[0]
    p99 = setting.figure("latency.writes.p99")
    p99s = [p for t in ensemble.ok if (p := p99(t)) is not None]
    for most, outcome in ((max(p99s), "met"), (min(p99s) - 1, "broken"), (min(p99s), "in doubt")):
        (judged,) = limits.judge(setting, ensemble, at(f"writes.p99 <= {int(most)}ns"))
        assert judged.outcome == outcome
    (judged,) = limits.judge(setting, ensemble, at("flash_reserve < 1%"))
    assert judged.outcome == "met"


def test_ram_is_judged_by_the_peak_where_a_trial_has_it() -> None:
    memory = {**samples.MEMORY, "peak": 5 * MIB, "end": 2 * MIB}
    measured = pair("jffs2", 10, memory=memory)
    for most, fitness in (("<= 5M", "fit"), ("< 5M", "unfit"), (f"<= {5 * MIB - 1}", "unfit")):
        assert advised(measured, at(f"ram {most}")).subjects[0].fitness == fitness


def test_the_command_says_it_in_words_and_in_json(tmp_path: Path) -> None:
    trials = [*pair("jffs2", 10), *pair("yaffs2", 50)]
    folder = samples.folder(tmp_path / "run", trials)
    command = [sys.executable, "-m", "nandlab", "advise", str(folder.path)]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Take JFFS2: transactions take 10.0 s at worst (fresh)." in words
    assert "Avoid YAFFS2: fresh: 4.99 times" in words
    told = fits(
        "advice",
        subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout,
    )
    assert [s["name"] for s in told[0]["subjects"]] == ["JFFS2", "YAFFS2"]
    half = subprocess.run(
        [*command, "--lifetime-years", "5"], capture_output=True, text=True, check=False
    )
    assert half.returncode == 2
    assert "go together" in half.stderr


def test_the_json_of_a_sweep_has_its_cliffs(tmp_path: Path) -> None:
    shares = [0.0, 0.2, 0.4, 0.6, 0.8]
    states = [State(name=f"v{v}", valid=v, invalid=0, mix=0) for v in shares]
    folder = samples.folder(tmp_path / "run", [samples.trial("jffs2", s, 1) for s in states])
    command = [sys.executable, "-m", "nandlab", "advise", str(folder.path)]
    words, told = (
        subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
        for more in ((), ("--json",))
    )
    (cliff,) = fits("advice", told)[0]["cliffs"]
    assert cliff.startswith("Cliff of JFFS2: ")
    assert cliff in words


def test_without_a_headline_figure_nothing_is_put_first() -> None:
    nothing: dict[str, Any] = {"phase_ns": None, "sync_ns": None}
    trials = [samples.trial(fs, samples.FRESH, 1, **nothing) for fs in ("jffs2", "ubifs")]
    (setting,) = groups.group(trials)
    told = advice.by_limits(setting)
    assert told.sentences[0] == "No transaction time was measured: none can be put first."


def test_what_is_not_judged_by_limits_is_told_so(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run", samples.lifetime_study())
    command = [sys.executable, "-m", "nandlab", "advise", str(folder.path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "not judged by limits. nandlab show " in said
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(told) == []


def test_a_single_trial_or_a_doubt_is_not_enough_to_say() -> None:
    alone = advised([trial("jffs2", 10), *pair("ubifs", 20)])
    assert subject(alone, "JFFS2").fitness == "unproven"
    assert alone.sentences[0].startswith("Take UBIFS")
    doubt = Doubt(code="state_missed", text="valid data: 50 % asked, 30 % on the chip")
    found = advised([t.model_copy(update={"warnings": [doubt]}) for t in pair("jffs2", 10)])
    assert found.sentences == [
        "Not enough to say which to take. The first to look into is JFFS2: transactions take "
        "10.0 s at worst (fresh); open: fresh: 2 of 2 trials carry the doubt state_missed: See "
        "state.obtained; try mix = 1, ask for less, or give the chip more room.",
        f"{power.CUTS}JFFS2: {samples.POWER['promises']}.{UNCUT}",
    ]


def test_a_workload_that_could_not_be_run_says_nothing_of_the_file_system() -> None:
    broken = [
        t.model_copy(update={"status": "not_measured", "error": "journal: not found", "phases": []})
        for t in pair("ubifs", 20)
    ]
    found = advised([*pair("jffs2", 10), *broken])
    other = subject(found, "UBIFS")
    assert (other.fitness, other.avoid, other.against) == ("unproven", (), ())
    assert other.doubts == (
        "fresh: 2 of 2 trials could not be measured, mend the workload: journal: not found",
    )


# what must hold of any advice, whatever the figures

SURENESS = {"Take": 2, "Not enough to say": 1, "None that was measured": 0, "No transaction": 0}
SECONDS = st.floats(min_value=0.5, max_value=500, allow_nan=False)
RUNS = st.dictionaries(
    st.sampled_from(["jffs2", "ubifs", "yaffs2", "nftl-fat32"]),
    st.lists(SECONDS, min_size=1, max_size=4),
    min_size=1,
)


def trials(run: dict[str, list[float]], factor: float = 1) -> list[Trial]:
    return [
        trial(name, seconds * factor, seed)
        for name, all_seconds in run.items()
        for seed, seconds in enumerate(all_seconds, 1)
    ]


def sureness(found: advice.Advice) -> int:
    return next(n for start, n in SURENESS.items() if found.sentences[0].startswith(start))


@given(run=RUNS)
def test_doubling_every_time_changes_no_order(run: dict[str, list[float]]) -> None:
    once, twice = advised(trials(run)), advised(trials(run, 2))
    assert [s.name for s in once.subjects] == [s.name for s in twice.subjects]
    assert [s.fitness for s in once.subjects] == [s.fitness for s in twice.subjects]


@given(run=RUNS)
def test_a_copy_under_another_name_ties_with_it(run: dict[str, list[float]]) -> None:
    name = next(iter(run))
    copy = {"provenance": {"filesystem": {"title": "Copy", "power": samples.POWER}}}
    copies = [trial("copy", s, i, **copy) for i, s in enumerate(run[name], 1)]
    found = advised([*trials(run), *copies])
    one, other = subject(found, samples.TITLES[name]), subject(found, "Copy")
    assert (one.fitness, one.worst) == (other.fitness, other.worst)
    if found.sentences[0].startswith(f"Take {one.name}"):
        assert "The trials do not tell" in found.sentences[0]
        assert "Copy" in found.sentences[0] or " others from it" in found.sentences[0]


@given(run=RUNS, data=st.data())
def test_dropping_members_never_makes_it_surer(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(run)))
    fewer = {**run, name: run[name][: data.draw(st.integers(1, len(run[name])))]}
    before, after = advised(trials(run)), advised(trials(fewer))
    title = samples.TITLES[name]
    order = advice.ORDER
    assert order.index(subject(after, title).fitness) >= order.index(subject(before, title).fitness)
    assert sureness(after) <= sureness(before)


@given(run=RUNS, data=st.data())
def test_a_doubt_added_never_leaves_a_sentence_as_it_was(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    all_trials = trials(run)
    before = advised(all_trials)
    first = before.subjects[0].name
    doubt = Doubt(code="kernel_log", text="a line")
    doubted = [
        t.model_copy(update={"warnings": [doubt]}) if t.filesystem_title == first else t
        for t in all_trials
    ]
    after = advised(doubted)
    assert after.sentences[0] != before.sentences[0]
    assert sureness(after) <= sureness(before)
