# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures against hand-made numbers, and words only where data allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import lifesamples, samples

from nandlab.analysis.figures import figures, groups
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.figures.workloadwords import make_workload_words_for_trials as words_of
from nandlab.analysis.verdicts import caveats, lifetime
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts

POSITIVE = st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=1, max_size=8)


def test_derived_figures_of_one_trial() -> None:
    trial = samples.trial(
        phase_ns={"creation": 3_000_000_000, "transactions": 4_000_000_000, "deletion": None},
        sync_ns={"creation": 0, "transactions": 1_000_000_000, "deletion": None},
        parameters={"transactions": 15000},
        ops={"read": {"total": 5}, "create": {"total": 37, "creation": 30, "transactions": 7}},
        bytes={"read": 16_000, "written": 4096_000},
        flash={
            "fill": OperationCounts(reads=9, programs=9_000_000, erases=9),
            "creation": OperationCounts(reads=1, programs=1000, erases=2),
            "transactions": OperationCounts(reads=3, programs=3000, erases=5),
            "deletion": None,
        },
    )
    assert {name: figure(trial, name) for name in DERIVED} == DERIVED


DERIVED = {
    "phase.transactions": 5_000_000_000,
    "phase.transactions.sync": 1_000_000_000,
    "phase.deletion": None,
    "time": None,
    "own.transactions_per_s": 3000,
    "phase.transactions.per_s": 12 / 5,
    "phase.creation.per_s": 10,
    "bytes.read": 16_000,
    "bytes.read.per_s": 2000,
    "phase.fill.programs": 9_000_000,
    "chip.erases": 7,
    "chip.amplification": 4000 * 2048 / 4096_000,
    "step.mount": 50_000_000,
    "step.mount.erases": None,
}
"""Of the trial above; what prepares is in no total."""


def figure(trial: Trial, name: str) -> float | None:
    return figures.find_workload_figure(name, words_of([trial]))(trial)


def test_what_was_not_measured_is_none_and_never_zero() -> None:
    bare = samples.failed()
    names = [*DERIVED, "wear.spread", "latency.read.p99", "latency.writes.p99", "memory.peak"]
    assert {name: figure(bare, name) for name in names} == dict.fromkeys(names)


@pytest.mark.parametrize("name", ["", "phase.create.worst", "own.x", "chip.y", "latency.read", "z"])
def test_a_figure_that_is_none_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError, match=rf"no figure '{name}': .*phase.transactions, .*own.trans"):
        figure(samples.trial(), name)


def test_a_phase_without_words_is_called_by_its_name() -> None:
    trial = samples.trial(provenance={}, workload="mine", phase_ns={"bulk_load": 7}, sync_ns=None)
    (setting,) = groups.group_trials_into_settings([trial])
    assert setting.words.phases[0].title == "bulk load"
    assert setting.headline.name == "phase.bulk_load"
    assert figure(trial, "phase.bulk_load") == 7


def test_trials_are_grouped_by_all_but_seed_and_phase_offset() -> None:
    (setting,) = groups.group_trials_into_settings(samples.study(seeds=3))
    assert [e.label for e in setting.ensembles] == [
        f"{fs}, {state}" for fs in ("JFFS2", "UBIFS", "YAFFS2") for state in ("fresh", "aged")
    ]
    assert [len(e.ok) for e in setting.ensembles] == [3] * 6
    assert [len(e.trials) for e in setting.ensembles] == [3, 3, 3, 4, 3, 4]
    for e in setting.ensembles:
        assert len({t.configuration() for t in e.trials}) == 1


def test_only_options_that_vary_name_a_subject() -> None:
    trials = [
        samples.trial("ubifs", options={"sync": "no", "compr": "none"}),
        samples.trial("ubifs", options={"sync": "no", "compr": "lzo"}),
        samples.trial("jffs2", options={"compr": "zlib"}),
    ]
    (setting,) = groups.group_trials_into_settings(trials)
    assert setting.subjects == ("UBIFS compr=none", "UBIFS compr=lzo", "JFFS2")


def test_other_parameters_or_another_chip_make_another_setting() -> None:
    small = samples.CHIP.model_copy(update={"part": "nandsim-small"})
    slow = samples.CHIP.model_copy(update={"latency": "maximum"})
    trials = [
        samples.trial(),
        samples.trial(parameters={"files": 10, "transactions": 5}),
        samples.trial(chip=small),
        samples.trial(chip=slow),
    ]
    settings = groups.group_trials_into_settings(trials)
    assert [s.slug for s in settings] == ["ffsmark", "ffsmark-2", "ffsmark-3", "ffsmark-4"]
    assert len({s.title for s in settings}) == 4
    assert "files=10" in settings[1].title
    assert "maximum latencies" in settings[3].title
    assert len({t.configuration() for t in trials}) == 4


def timed(filesystem: str, seconds: list[float]) -> list[Trial]:
    """Trials whose transactions take so long, and nothing else of note."""
    return [
        samples.trial(filesystem, seed=i, phase_ns={"transactions": int(s * 1e9)}, sync_ns=None)
        for i, s in enumerate(seconds)
    ]


def time_finding(trials: list[Trial]) -> Finding:
    (setting,) = groups.group_trials_into_settings(trials)
    return find_setting_view(setting).answers(setting)[0].findings[0]


def test_ranges_apart_give_an_order_with_factors() -> None:
    found = time_finding([*timed("jffs2", [4, 4.2]), *timed("ubifs", [2, 2.1])])
    assert found.firm
    first, after = found.text.split("Next by median, ")
    assert first.startswith("UBIFS ") and first.endswith(" first: 2.05 s. ")
    assert after == "JFFS2, takes 2 times as long."


def test_ranges_that_overlap_give_no_order() -> None:
    found = time_finding([*timed("jffs2", [2, 4]), *timed("ubifs", [1, 3])])
    assert not found.firm
    assert "UBIFS and JFFS2 cannot" in found.text
    assert "first" not in found.text


def test_single_trials_give_no_order() -> None:
    found = time_finding([*timed("jffs2", [4]), *timed("ubifs", [1])])
    assert not found.firm
    assert "too few" in found.text and "(UBIFS 1 s, JFFS2 4 s)" in found.text


def test_single_trials_are_a_caveat() -> None:
    trials = [*timed("jffs2", [4]), *timed("ubifs", [1, 2])]
    (line,) = caveats.list_caveats(samples.head(trials), trials, [])
    assert line.startswith("1 configuration has a single trial")


def test_one_single_trial_is_not_ranked_against_an_ensemble() -> None:
    found = time_finding([*timed("jffs2", [4]), *timed("ubifs", [1, 1.1])])
    assert not found.firm
    assert "JFFS2 has a single trial" in found.text


def test_the_one_measured_has_nothing_to_be_set_against() -> None:
    found = time_finding(timed("ubifs", [1, 1.1]))
    assert not found.firm
    assert found.text.startswith("Only UBIFS was measured")


def test_nothing_measured_is_said() -> None:
    found = time_finding([samples.failed()])
    assert found.text == "No transaction time was measured."


@given(st.lists(POSITIVE, min_size=2, max_size=4))
def test_an_order_is_stated_only_if_no_range_touches_the_first(times: list[list[float]]) -> None:
    trials = [t for i, ts in enumerate(times) for t in timed(f"fs{i}", [min(x, 1e6) for x in ts])]
    found = time_finding(trials)
    (setting,) = groups.group_trials_into_settings(trials)
    spreads = [e.spread(setting.headline) for e in setting.ensembles]
    order = sorted((s for s in spreads if s), key=lambda s: s.median)
    assert found.firm == all(order[0].is_distinct_from(s) for s in order[1:])


def test_ageing_names_who_suffers_most_with_its_range() -> None:
    (setting,) = groups.group_trials_into_settings(samples.study())
    fresh, aged = find_setting_view(setting).answers(setting)
    topics = ["Time", "Wear", "Evenness", "Tail latency", "Stalls"]
    assert [f.topic for f in fresh.findings] == topics
    ageing = [f for f in aged.findings if f.topic == "Ageing, time"]
    assert ageing[0].firm
    assert ageing[0].text.startswith("YAFFS2 suffers most: ")
    assert "transaction time is 14." in ageing[0].text


def test_a_figure_that_begins_at_zero_has_grown_and_is_told() -> None:
    def taking(ns: int) -> dict[str, Any]:
        return {"phase_ns": {"transactions": ns}, "sync_ns": None}

    trials = [
        samples.trial(fs, state, seed, **(taking(ns) if fs == "yaffs2" else {}))
        for fs in ("jffs2", "yaffs2")
        for state, ns in ((samples.FRESH, 0), (samples.AGED, 51_000_000))
        for seed in (1, 2)
    ]
    (setting,) = groups.group_trials_into_settings(trials)
    _, aged = find_setting_view(setting).answers(setting)
    (time,) = [f for f in aged.findings if f.topic == "Ageing, time"]
    assert not time.firm
    assert time.text.startswith("Which suffers most cannot be told")
    assert "0: YAFFS2 from 0 ns (each 0 ns)" in time.text
    assert " to 51 ms (each 51 ms); JFFS2 " in time.text


def test_absent_trials_come_first_among_the_caveats() -> None:
    trials = samples.study()
    run = samples.head(trials, deterministic=False)
    lines = caveats.list_caveats(run, trials, ["x", "y"])
    assert lines[0].startswith(f"4 of {len(trials)} trials ")
    assert all(
        part in lines[0] for part in (": 1 failed, ", " 1 lost the board, ", " 2 have not been run")
    )
    assert "not deterministic" in lines[1]
    assert any("state_missed" in line for line in lines)


def test_a_clean_run_has_no_caveats() -> None:
    trials = [samples.trial(seed=s) for s in range(3)]
    assert caveats.list_caveats(samples.head(trials), trials, []) == []


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({}, ""),
        ({"endurance": 50, "endurance_spread": 20}, ", endurance 50 ± 20 %"),
        ({"endurance": 50}, ", endurance 50"),
        ({"bad_blocks": 4, "endurance": 9}, ", endurance 9, bad_blocks=4"),
        ({"flip_ppt": 7}, ", flip_ppt=7"),
    ],
)
def test_a_setting_is_named_with_its_faults(faults: dict[str, int], words: str) -> None:
    chip = lifesamples.WORN.model_copy(update={"faults": faults})
    (setting,) = groups.group_trials_into_settings([lifesamples.lifetime_trial(chip=chip)])
    assert setting.title == f"lifetime on S34ML01G1, 16 MiB{words}"


def test_other_faults_make_another_setting() -> None:
    tougher = lifesamples.WORN.model_copy(update={"faults": {"endurance": 90}})
    settings = groups.group_trials_into_settings(
        [lifesamples.lifetime_trial(), lifesamples.lifetime_trial(chip=tougher)]
    )
    assert [s.title.partition("endurance ")[2] for s in settings] == ["50 ± 20 %", "90"]


def after(mib: int, dead: int = 0) -> dict[str, int]:
    totals = {"bytes_written": mib << 20, "programs": mib * 1024, "erases": mib * 16}
    return {"t_ns": mib, **totals, "dead_blocks": dead}


def life_of(
    rounds: list[dict[str, int]], gave_up: str | None, end: dict[str, int] | None = None
) -> dict[str, object]:
    return {"rounds": rounds, "gave_up": gave_up, "end": end}


def lived(filesystem: str, *lives: int, alive: tuple[int, ...] = ()) -> list[Trial]:
    """Trials that wrote so many MiB, the last quarter of them with dead blocks."""
    return [
        lifesamples.lifetime_trial(
            filesystem,
            i,
            lifetime=life_of(
                [after(mib // 2), after(mib * 3 // 4, 2), after(mib, 5)],
                None if mib in alive else "no  room\nleft",
            ),
        )
        for i, mib in enumerate(lives)
    ]


def test_figures_of_a_life() -> None:
    (trial,) = lived("jffs2", 400)
    assert figure(trial, "life.written") == 400 << 20
    assert figure(trial, "life.first_death") == 300 << 20
    assert figure(trial, "life.dead_blocks") == 5
    assert figure(trial, "life.amplification") == 2
    assert figure(trial, "life.wear_used") == 400 * 16 / (128 * 50)
    assert figure(trial, "wear.spread") is not None
    assert figure(trial.model_copy(update={"chip": samples.CHIP}), "life.wear_used") is None


def test_the_round_that_fails_counts_but_for_its_bytes() -> None:
    (trial,) = lived("jffs2", 400)
    rounds = [after(200), after(300, 2), after(400, 5)]
    end = {**rounds[-1], "programs": 999_999, "dead_blocks": 42}
    longer = lifesamples.lifetime_trial("jffs2", 0, lifetime=life_of(rounds, "no room", end))
    assert figure(longer, "life.dead_blocks") == 42
    assert figure(longer, "life.programs") == 999_999
    for name in ("life.written", "life.amplification", "life.rounds"):
        assert figure(longer, name) == figure(trial, name)


def test_a_life_without_a_whole_round_wrote_nothing() -> None:
    none = lifesamples.lifetime_trial(lifetime=life_of([], "no room"))
    assert figure(none, "life.written") == 0
    assert figure(none, "life.erases") is None
    assert figure(none, "life.amplification") is None
    end = after(0, 7)
    none = lifesamples.lifetime_trial(lifetime=life_of([], "no room", end))
    assert figure(none, "life.dead_blocks") == 7
    assert figure(none, "life.first_death") == 0
    assert figure(samples.trial(), "life.written") is None
    found = life_finding([none, *lived("ubifs", 4, 5)], "Block deaths")
    assert "first block dies after 0 B;" in found.text and "7 blocks of 128" in found.text


def life_finding(trials: list[Trial], topic: str) -> Finding:
    (setting,) = groups.group_trials_into_settings(trials)
    (answer,) = find_setting_view(setting).answers(setting)
    (found,) = [f for f in answer.findings if f.topic == topic]
    return found


def test_the_longest_life_comes_first_with_its_range() -> None:
    trials = [*lived("jffs2", 200, 220), *lived("ubifs", 400, 440)]
    found = life_finding(trials, "Lifetime")
    assert found.firm
    first, after = found.text.split("Next by median, ")
    assert first.startswith("UBIFS lives longest: 420 MiB (400 MiB to 440 MiB)")
    assert after.startswith("JFFS2, lives for 210 MiB (200 MiB to 220 MiB), 0.500 ")
    deaths = life_finding(trials, "Block deaths").text
    ubifs, jffs2 = deaths.split(" JFFS2: ")
    assert ubifs.startswith("UBIFS: ") and "315 MiB (300 MiB to 330 MiB);" in ubifs
    assert "5 (each 5) blocks of 128" in ubifs and jffs2
    assert not life_finding([*lived("jffs2", 2, 5), *lived("ubifs", 4, 6)], "Lifetime").firm


def test_one_that_still_lived_may_be_first_and_is_never_last() -> None:
    first = life_finding(
        [*lived("jffs2", 200, 220), *lived("ubifs", 400, 440, alive=(400, 440))], "Lifetime"
    )
    assert first.firm
    assert "least 420 MiB (400 MiB to 440 MiB or" in first.text
    assert "at most 0.500 times as long" in first.text
    last = life_finding(
        [*lived("jffs2", 200, 220, alive=(200,)), *lived("ubifs", 400, 440)], "Lifetime"
    )
    assert not last.firm
    assert "of JFFS2 had not come to" in last.text


def test_how_it_ended_is_in_one_line_and_cut() -> None:
    found = life_finding(lived("jffs2", 1, 2, 3, alive=(2,)), "How it ends")
    assert found.text.startswith("JFFS2: 2 of 3 gave up")
    assert "“no room left”; 1 of 3 still lived " in found.text
    said = ["write f000123: ENOSPC", "write f000987: ENOSPC", "error 28", "error 30"]
    trials = [
        lifesamples.lifetime_trial(seed=i, lifetime=life_of([after(1)], text))
        for i, text in enumerate(said)
    ]
    (setting,) = groups.group_trials_into_settings(trials)
    assert lifetime.format_life_endings(setting.ensembles[0]) == [
        "2 of 4 gave up with “write f000123: ENOSPC”",
        "1 of 4 gave up with “error 28”",
        "1 of 4 gave up with “error 30”",
    ]
    assert len(lifetime.shorten_text("x" * 500)) == lifetime.GAVE_UP_LETTERS


def test_a_life_that_goes_on_is_a_caveat_and_missing_phases_are_none() -> None:
    trials = lived("jffs2", 1, 2, 3, alive=(2,))
    (line,) = caveats.list_caveats(samples.head(trials), trials, [])
    assert line.startswith("1 trial still lived")


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1234, "1.23 µs"), (45_600_000, "45.6 ms"), (3.69e11, "369 s")],
)
def test_times_are_written_in_three_figures(ns: float, text: str) -> None:
    assert units.format_time(ns) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_ratio_that_is_not_one_is_not_written_as_one(value: float) -> None:
    if abs(value - 1) > 1e-8:
        assert float(units.format_ratio(value).replace(",", "")) != 1


def test_missing_is_a_dash() -> None:
    assert (
        units.format_time(None)
        == units.format_count(None)
        == units.format_rate(None)
        == units.MISSING
    )
