# SPDX-License-Identifier: GPL-2.0-or-later
"""Energies are joules that a hand can work out; what is not known stays unknown, and says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import samples

from nandlab.analysis.figures import (
    energy,
    energyfigures,
    figurenames,
    figures,
    groups,
    powerdraw,
    timeparts,
)
from nandlab.analysis.figures.energy import CONSUMER_TITLES, CONSUMERS_OF_SUM
from nandlab.analysis.figures.timeparts import TrialSpan
from nandlab.analysis.verdicts import limits, limitsyntax
from nandlab.analysis.verdicts.limits import Limits
from nandlab.base.errors import UsageError
from nandlab.catalog import files as catalog
from nandlab.catalog.profile import EnergyProfile
from nandlab.results.record import Trial
from nandlab.results.recordparts import ChipUsage, OperationCounts, Phase, StepResult

PART = samples.CHIP.part
MS, S = 1_000_000, 1_000_000_000
CHIP: dict[str, Any] = {
    "geometry": {"writesize": 2048, "oobsize": 64, "erasesize": 131072, "bus_bits": 8},
    "timing": {"t_r_ns": 25_000, "t_prog_ns": 200_000, "t_bers_ns": 2 * MS}
    | {"t_rc_ns": 25, "t_wc_ns": 50},
    "energy": {"supply_mv": 3000, "read_ma": 10, "program_ma": 20, "erase_ma": 30, "standby_ua": 50}
    | {"read_max_ma": 20, "program_max_ma": 40, "erase_max_ma": 60, "standby_max_ua": 100},
}
POWER: dict[str, Any] = {
    "cpu_active_mw": 200,
    "cpu_idle_mw": 10,
    "ram_mw": 30,
    "ram_idle_mw": 3,
    "flash_wait": "interrupt",
    "sources": dict.fromkeys(
        ("cpu_active_mw", "cpu_idle_mw", "ram_mw", "ram_idle_mw", "flash_wait"), "Measured."
    ),
}
COUNTS = OperationCounts(reads=1000, programs=100, erases=10)
# 1000 x 25 us + 2,112,000 B x 25 ns = 77.8 ms; 100 x 200 us + 211,200 x 50 = 30.56 ms; 20 ms
READ_NS, PROGRAM_NS, ERASE_NS = 77_800_000, 30_560_000, 20_000_000
BUSY_NS = READ_NS + PROGRAM_NS + ERASE_NS
USAGE = ChipUsage(
    idle_ns=509 * MS,
    busy_ns=BUSY_NS,
    warped_ns=BUSY_NS - 9 * MS,
    bytes_read=2_112_000,
    bytes_written=211_200,
)
WHOLE = Phase(name="run", ns=S, operations={"commit": 50}, chip=COUNTS, usage=USAGE)


def trial(phase: Phase = WHOLE, **about: Any) -> Trial:
    """A trial of one phase on a chip and a board that no catalog has."""
    made = samples.trial().model_copy(
        update={
            "phases": [phase],
            "operations": {"commit": 50},
            "bytes": {"read": 4 << 20, "written": 2 << 20},
            "steps": [],
        }
    )
    workload = {"phases": [{"name": "run", "title": "run"}], "operations": [{"name": "commit"}]}
    board = {"board": {"name": "no-such-board", "wait": "warp"}}
    sources = {"workload": workload, "board": board, "chip": CHIP, "power": POWER, **about}
    return made.add_sources({k: v for k, v in sources.items() if v is not None})


def figure(name: str, of: Trial) -> float | None:
    (setting,) = groups.group_trials_into_settings([of])
    return setting.figure(f"energy.{name}")(of)


def parts(idle: int, busy: int, warped: int) -> tuple[float, float, float]:
    """cpu, waiting and idle of a second, ms each."""
    usage = ChipUsage(idle_ns=idle * MS, busy_ns=busy * MS, warped_ns=warped * MS)
    found = timeparts.split_span_time(TrialSpan(S, None, usage))
    assert found is not None
    return found.cpu_ns / MS, found.waiting_ns / MS, found.idle_ns / MS


def test_the_parts_of_known_work_are_known() -> None:
    assert parts(idle=0, busy=0, warped=0) == (1000, 0, 0)
    assert parts(idle=900, busy=0, warped=0) == (100, 0, 900)
    # what was not warped is the simulator's own work: it stands in for the chip
    assert parts(idle=0, busy=400, warped=350) == (600, 400, 0)


def test_idle_time_lies_within_operations_first_but_not_beyond_what_was_not_warped() -> None:
    assert parts(idle=30, busy=400, warped=350) == (600, 400, 0)
    assert parts(idle=500, busy=400, warped=350) == (150, 400, 450)


def test_time_that_was_both_idle_and_the_chip_s_is_counted_once() -> None:
    assert parts(idle=800, busy=400, warped=399) == (0, 400, 600)
    assert parts(idle=1200, busy=1300, warped=0) == (0, 1000, 0)


BY_HAND = {
    "cpu": (S - BUSY_NS - 500 * MS) * 200e-12,
    "waiting": BUSY_NS * 10e-12,
    "idle": 0.5 * 10e-3,
    "ram": 0.5 * 30e-3 + 0.5 * 3e-3,
    "chip.read": 77.8e-3 * 0.030,
    "chip.program": 30.56e-3 * 0.060,
    "chip.erase": 20e-3 * 0.090,
    "chip.standby": (1 - 0.12836) * 150e-6,
}
"""J: 3 V, 10, 20 and 30 mA, 50 uA."""


@pytest.mark.parametrize("consumer", CONSUMER_TITLES)
def test_joules_of_known_counts_are_those_worked_out_by_hand(consumer: str) -> None:
    assert figure(consumer, trial()) == pytest.approx(BY_HAND[consumer], rel=1e-12)
    assert figure(f"phase.run.{consumer}", trial()) == figure(consumer, trial())


def test_sums_are_of_their_consumers() -> None:
    of_chip = sum(v for k, v in BY_HAND.items() if k.startswith("chip."))
    total = sum(BY_HAND.values())
    assert figure("chip", trial()) == pytest.approx(of_chip)
    assert figure("total", trial()) == pytest.approx(total)
    assert figure("per.commit", trial()) == pytest.approx(total / 50)
    assert figure("per.commit.cpu", trial()) == pytest.approx(BY_HAND["cpu"] / 50)
    assert figure("per_mib.written", trial()) == pytest.approx(total / 2)
    assert figure("per_mib.read", trial()) == pytest.approx(total / 4)
    assert figure("chip.max", trial()) == pytest.approx(2 * of_chip)


def test_a_driver_that_polls_runs_while_it_waits() -> None:
    polls = trial(power={**POWER, "flash_wait": "polling"})
    assert figure("waiting", polls) == pytest.approx(BUSY_NS * 200e-12)


def test_what_the_chip_was_busy_beyond_its_counts_is_reading() -> None:
    more = WHOLE.model_copy(update={"usage": USAGE.model_copy(update={"busy_ns": BUSY_NS + MS})})
    assert figure("chip.read", trial(more)) == pytest.approx(78.8e-3 * 0.030)


def test_bytes_that_were_not_counted_are_those_of_whole_pages() -> None:
    """1000 x 2112 B and 100 x 2112 B are what USAGE tells, too."""
    plain = trial(WHOLE.model_copy(update={"usage": None}))
    assert figure("chip.read", plain) == pytest.approx(BY_HAND["chip.read"])
    assert figure("cpu", plain) is None
    assert figure("total", plain) is None


def test_a_maximum_latency_takes_longer() -> None:
    slow = {**CHIP, "timing": {**CHIP["timing"], "t_bers_max_ns": 3 * MS}}
    slow["timing"] |= {"t_r_max_ns": 25_000, "t_prog_max_ns": 200_000}
    at_most = trial(WHOLE, chip=slow)
    chip = at_most.chip.model_copy(update={"latency": "maximum"})
    at_most = at_most.model_copy(update={"chip": chip}).add_sources(at_most.sources)
    assert figure("chip.erase", at_most) == pytest.approx(30e-3 * 0.090)


@pytest.mark.parametrize(
    ("lost", "consumers", "said"),
    [
        ("cpu_active_mw", {"cpu"}, "cpu_active_mw in [power] of catalog/boards/no-such-board.toml"),
        ("cpu_idle_mw", {"waiting", "idle"}, "cpu_idle_mw in [power]"),
        ("ram_mw", {"ram"}, "ram_mw in [power]"),
        ("flash_wait", {"waiting"}, "flash_wait in [power]"),
        (
            "read_ma",
            {"chip.read"},
            f"read_ma in [energy] of catalog/chips/{PART}.toml",
        ),
        ("standby_ua", {"chip.standby"}, "standby_ua in [energy]"),
        ("supply_mv", set(CONSUMERS_OF_SUM["chip"]), "supply_mv in [energy]"),
    ],
)
def test_an_unknown_figure_leaves_its_consumer_and_the_total_unknown(
    lost: str, consumers: set[str], said: str
) -> None:
    power = {k: v for k, v in POWER.items() if k != lost}
    power["sources"] = {k: v for k, v in POWER["sources"].items() if k != lost}
    chip = {**CHIP, "energy": {k: v for k, v in CHIP["energy"].items() if k != lost}}
    known = trial(power=power, chip=chip)
    assert {c for c in CONSUMER_TITLES if figure(c, known) is None} == consumers
    assert figure("total", known) is None
    assert energy.format_missing_energy_inputs(
        known
    ) == said or energy.format_missing_energy_inputs(known).startswith(said)
    assert energy.format_missing_energy_inputs(trial()) == ""


def test_what_had_no_time_took_nothing_whatever_it_draws() -> None:
    counts = COUNTS.model_copy(update={"erases": 0})
    busy = USAGE.model_copy(update={"busy_ns": READ_NS + PROGRAM_NS})
    chip = {**CHIP, "energy": {k: v for k, v in CHIP["energy"].items() if k != "erase_ma"}}
    quiet = trial(WHOLE.model_copy(update={"chip": counts, "usage": busy}), chip=chip)
    assert figure("chip.erase", quiet) == 0
    assert figure("total", quiet) is not None


def test_nothing_known_is_nothing_told() -> None:
    bare = trial(power=None, chip=None)
    assert all(figure(name, bare) is None for name in CONSUMERS_OF_SUM)
    assert "cpu_active_mw" in energy.format_missing_energy_inputs(bare)
    assert energy.NO_CHIP_COUNTS in energy.format_missing_energy_inputs(bare)


TIMES = st.integers(min_value=0, max_value=10**12)
MAYBE = st.none() | TIMES


@given(
    ns=TIMES,
    used=st.tuples(MAYBE, MAYBE, MAYBE),
    moved=st.tuples(MAYBE, MAYBE),
    counts=st.none() | st.tuples(*[st.integers(0, 10**6)] * 3),
    draws_=st.lists(st.none() | st.floats(0, 1e3), min_size=9, max_size=9),
)
def test_consumers_sum_to_the_total_and_none_is_below_0(
    ns: int,
    used: tuple[int | None, int | None, int | None],
    moved: tuple[int | None, int | None],
    counts: tuple[int, int, int] | None,
    draws_: list[float | None],
) -> None:
    keys = ("cpu_active_mw", "cpu_idle_mw", "ram_mw", "ram_idle_mw")
    power = {**POWER, **dict(zip(keys, draws_, strict=False))}
    currents = ("read_ma", "program_ma", "erase_ma", "standby_ua")
    drawn: dict[str, float | None] = dict(zip(currents, draws_[4:], strict=False))
    chip = {**CHIP, "energy": {"supply_mv": 3000, **drawn}}
    usage = ChipUsage(idle_ns=used[0], busy_ns=used[1], warped_ns=used[2])
    usage = usage.model_copy(update=dict(zip(("bytes_read", "bytes_written"), moved, strict=True)))
    done = counts and OperationCounts(reads=counts[0], programs=counts[1], erases=counts[2])
    span = TrialSpan(ns, done or None, usage)
    if (found := timeparts.split_span_time(span)) is not None:
        each = (found.cpu_ns, found.waiting_ns, found.idle_ns)
        assert min(each) >= 0
        assert sum(each) == pytest.approx(ns)
    spent = energy.compute_span_energy(trial(power=power, chip=chip), span)
    known = [j for j in spent.joules.values() if j is not None]
    assert min(known, default=0.0) >= 0
    total = spent.sum_joules("total")
    assert (total is None) == (len(known) < len(CONSUMER_TITLES)) == bool(spent.missing_inputs)
    if total is not None:
        assert total == pytest.approx(sum(known))


def test_the_instrument_tells_the_load_of_a_workload_whose_phases_do_not() -> None:
    plain = trial(WHOLE.model_copy(update={"usage": None, "operations": {}}))
    told = {"span_ns": S, **COUNTS.model_dump(), **USAGE.model_dump(exclude_none=True)}
    measured = plain.model_copy(update={"measured": {"cpu": told}}).add_sources(plain.sources)
    assert figure("total", measured) == pytest.approx(sum(BY_HAND.values()))
    assert figure("per.commit", measured) == pytest.approx(sum(BY_HAND.values()) / 50)
    assert figure("phase.run", measured) is None


def test_a_load_of_which_one_phase_does_not_tell_is_not_made_of_what_lies_between() -> None:
    """A point with pauses tells no idle time: the span of all, with its rests, is no load."""
    silent = WHOLE.model_copy(update={"name": "paused", "usage": None, "operations": {"slow": 16}})
    plain = trial(WHOLE)
    told = {"span_ns": 9 * S, **COUNTS.model_dump(), **USAGE.model_dump(exclude_none=True)}
    both = plain.model_copy(
        update={
            "phases": [*plain.phases, silent],
            "measured": {"cpu": told},
            "operations": {**plain.operations, "slow": 16},
        }
    ).add_sources(plain.sources)
    assert figure("total", both) is None
    assert figure("per.slow", both) is None
    assert figure("per.commit", both) == pytest.approx(sum(BY_HAND.values()) / 50)


def test_steps_tell_the_chip_s_part_where_nothing_tells_the_processor_s() -> None:
    step = StepResult(
        name="workload", ns=S, chip=COUNTS, usage=USAGE.model_copy(update={"idle_ns": None})
    )
    plain = trial(WHOLE.model_copy(update={"usage": None}))
    stepped = plain.model_copy(update={"steps": [step]}).add_sources(plain.sources)
    assert figure("chip.read", stepped) == pytest.approx(BY_HAND["chip.read"])
    assert figure("cpu", stepped) is None
    assert 'measure = ["cpu"]' in energy.format_missing_energy_inputs(stepped)


def test_today_s_catalog_goes_before_the_run_s_copy() -> None:
    part = samples.trial().chip.model_copy(update={"part": "NAND02GW3B2C"})
    on = trial().model_copy(update={"chip": part}).add_sources(trial().sources)
    assert powerdraw.find_chip_energy_parameters(on).read_ma == 10
    assert powerdraw.find_chip_energy_parameters(on).standby_ua == 10
    assert powerdraw.find_chip_energy_parameters(trial()).standby_ua == 50


def test_an_old_run_s_copy_of_a_chip_draws_nothing_that_is_known() -> None:
    old = {**CHIP, "energy": {"e_read_nj": 2475, "e_prog_nj": None, "e_erase_nj": None}}
    assert powerdraw.find_chip_energy_parameters(trial(chip=old)).list_known_figures() == []


def test_limits_may_be_energies_with_their_units() -> None:
    (setting,) = groups.group_trials_into_settings([trial()])
    assert 2e-3 < sum(BY_HAND.values()) / 50 < 2.1e-3
    for text, outcome in (("< 3mJ", "met"), ("< 1.5 mJ", "broken"), ("< 2100uJ", "met")):
        (found,) = limits.judge_ensemble_against_limits(
            setting,
            setting.ensembles[0],
            Limits((limitsyntax.parse_limit(f"energy.per.commit {text}"),)),
        )
        assert found.outcome == outcome
    wrong = limitsyntax.check_limits(
        [
            limitsyntax.parse_limit("energy.per.commit < 2ms"),
            limitsyntax.parse_limit("energy.per.select < 2mJ"),
        ],
        [("bench", setting.words)],
    )
    assert "an energy with its unit" in wrong[0]
    assert "called select; there are: commit" in wrong[1]


def test_a_limit_on_an_unknown_energy_says_what_to_give() -> None:
    (setting,) = groups.group_trials_into_settings([trial(power=None)])
    (found,) = limits.judge_ensemble_against_limits(
        setting, setting.ensembles[0], Limits((limitsyntax.parse_limit("energy.total < 1J"),))
    )
    assert found.outcome == "unknown"
    assert "takes cpu_active_mw, flash_wait, cpu_idle_mw" in found.text
    assert "[power] of catalog/boards/no-such-board.toml" in found.text


@pytest.mark.parametrize(
    "name", ["", "all", "phase", "phase.run.all", "per_mib.moved", "profile.x"]
)
def test_an_energy_that_is_none_is_refused(name: str) -> None:
    (setting,) = groups.group_trials_into_settings([trial()])
    with pytest.raises(UsageError):
        figures.find_workload_figure(f"energy.{name}", setting.words)


def test_the_paper_s_profile_gives_the_energy_of_a_phase_by_its_row() -> None:
    at: dict[str, int | float | str] = {"pattern": "sequential", "count": 64}
    phase = WHOLE.model_copy(update={"ns": 2 * S, "at": at})
    board = {"board": {"name": "omap3evm"}}
    read = trial(phase, board=board).model_copy(
        update={"workload": "readbench", "measured": {"read_ahead": {"kib": 128}}}
    )
    read = read.add_sources(trial(phase, board=board).sources)
    profile = catalog.load_noun("energy-profiles", "read-ahead-2014", EnergyProfile)
    assert profile.above_idle
    assert energyfigures.compute_phase_joules_from_profile(read) == pytest.approx(
        2 * (0.223 + 0.029)
    )
    assert figure("profile.run", read) == pytest.approx(0.504)
    off = read.model_copy(update={"measured": {"read_ahead": {"kib": 0}}}).add_sources(read.sources)
    assert figure("profile", off) == pytest.approx(2 * (0.223 + 0.024))
    default = read.model_copy(update={"measured": {}}).add_sources(read.sources)
    assert figure("profile", default) is None
    assert "read-ahead was on" in energyfigures.explain_missing_profile_joules(default)
    assert figure("profile", trial(phase)) is None


def profiled(workload: str, pattern: str) -> Trial:
    """A trial on the paper's board with read-ahead on, whose phase takes 2 s."""
    at: dict[str, int | float | str] = {"pattern": pattern, "count": 64}
    phase = WHOLE.model_copy(update={"ns": 2 * S, "at": at})
    told = trial(phase, board={"board": {"name": "omap3evm"}})
    change = {"workload": workload, "measured": {"read_ahead": {"kib": 128}}}
    return told.model_copy(update=change).add_sources(told.sources)


def test_the_paper_s_selects_have_the_profile_s_energy_and_updates_have_none() -> None:
    """Its load is sqlselect; sqlbench's transactions update and commit."""
    selects = profiled("sqlselect", "random")
    assert energyfigures.compute_phase_joules_from_profile(selects) == pytest.approx(
        2 * (0.24565 + 0.030188)
    )
    assert energyfigures.explain_missing_profile_joules(selects) == ""
    updates = profiled("sqlbench", "random")
    assert energyfigures.compute_phase_joules_from_profile(updates) is None
    assert "no profile" in energyfigures.explain_missing_profile_joules(updates)


@pytest.mark.parametrize(
    ("pattern", "watts"),
    [("random", 0.246), ("random_unaligned", 0.246), ("random_replace", 0.246), ("stride", None)],
)
def test_requests_at_random_have_one_row(pattern: str, watts: float | None) -> None:
    joules = energyfigures.compute_phase_joules_from_profile(profiled("readbench", pattern))
    assert joules == (None if watts is None else pytest.approx(2 * watts))


def test_what_may_be_a_limit_may_be_shown() -> None:
    read = profiled("readbench", "sequential")
    (setting,) = groups.group_trials_into_settings([read])
    names = figurenames.list_figure_names_of_settings([setting])
    assert {"energy.profile", "energy.profile.run"} <= set(names)
    lacking = profiled("readbench", "stride")
    (setting,) = groups.group_trials_into_settings([lacking])
    (found,) = limits.judge_ensemble_against_limits(
        setting, setting.ensembles[0], Limits((limitsyntax.parse_limit("energy.profile < 1J"),))
    )
    assert found.outcome == "unknown"
    assert "read-ahead-2014 has no row for jffs2's" in found.text
    assert "ram_mw" not in found.text
