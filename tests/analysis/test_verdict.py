# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts on made-up trials: limits by their formulas, order by rules, gaps with their edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import lifesamples, samples
from support.commandline import run_command
from support.fitting import fits

from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import (
    forecast,
    limits,
    limitsyntax,
    verdict,
    verdictmaker,
    wearsteadiness,
)
from nandlab.analysis.verdicts.criteria import VerdictCell
from nandlab.analysis.verdicts.forecast import WriteForecast
from nandlab.analysis.verdicts.gaps import VerdictGap, merge_verdict_gaps
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.base import units
from nandlab.results.record import Trial
from nandlab.results.recordparts import (
    ChipUsage,
    Doubt,
    EraseSpread,
    FlashState,
    OperationCounts,
    StepResult,
)

S = 1_000_000_000
MIB = 1 << 20


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
    filesystem: str, seconds: float, state: FlashState = samples.FRESH, **change: Any
) -> list[Trial]:
    return [trial(filesystem, seconds + i / 100, i, state=state, **change) for i in (1, 2)]


def at(*limits: str) -> Limits:
    """Limits as they are written."""
    return Limits(tuple(limitsyntax.parse_limit(text) for text in limits))


def judged(trials: list[Trial], asked: Limits | None = None, **spec: Any) -> Verdict:
    (found,) = verdictmaker.make_run_verdicts_from_trials(
        spec, trials, samples.NAMING, asked or Limits()
    )
    return found


def calls(found: Verdict) -> dict[str, str]:
    """What is said of each, in the order of the table."""
    return {row.name: row.call for row in found.rows}


def cell(found: Verdict, name: str, criterion: str) -> VerdictCell:
    names = [c.name for c in found.criteria]
    return found.row(name).cells[names.index(criterion)]


def gaps(found: Verdict) -> dict[str, tuple[tuple[str, ...], str]]:
    """Of whom each is, and the edit that closes it."""
    return {gap.what: (gap.who, gap.do) for gap in found.gaps}


def test_a_lifetime_is_cycles_over_erases_a_byte() -> None:
    found = forecast.forecast_writable_bytes(trial("jffs2", 10))
    assert isinstance(found, WriteForecast)
    assert found.least == pytest.approx(100_000 * 100 * MIB / (8 + wearsteadiness.ERASES_DUE))
    assert found.most == pytest.approx(100_000 * 100 * MIB / 4)
    assert (
        forecast.forecast_writable_bytes(
            trial("jffs2", 10, provenance={"chip": {"endurance": None}})
        )
        is None
    )


@pytest.mark.parametrize(("years", "outcome"), [(2.6, "met"), (5.0, "in doubt"), (6.8, "broken")])
def test_a_lifetime_is_in_doubt_between_worst_block_and_even_wear(
    years: float, outcome: str
) -> None:
    (setting,) = groups.group_trials_into_settings(
        pair("jffs2", 10)
    )  # 2.67 years by the worst block, 6.68 if even
    (told,) = limits.judge_ensemble_against_limits(
        setting, setting.ensembles[0], Limits(years=years, daily=1 << 30)
    )
    assert told.outcome == outcome
    assert told.text.startswith("lifetime at 1 GiB a day 2.67 to ")
    assert " to 6.68 years, asked " in told.text


def test_a_load_that_is_too_short_has_no_years() -> None:
    still = {p: OperationCounts(reads=1, programs=6400, erases=0) for p in samples.PHASES}
    short = pair("ubifs", 10, flash=still)
    (setting,) = groups.group_trials_into_settings(short)
    (told,) = limits.judge_ensemble_against_limits(
        setting, setting.ensembles[0], Limits(years=1, daily=1 << 30)
    )
    assert told.outcome == "unknown"
    # 3 phases program 6400 pages of 2 KiB for 100 MiB; the partition has 800 blocks of 64 pages
    needed = units.format_size(round(5 * 800 * 64 * 2048 * 100 * MIB / (3 * 6400 * 2048)))
    assert told.text.startswith("lifetime: not known: ")
    assert "(no block was erased" in told.text
    assert told.text.endswith(f"; write at least {needed}")


def test_the_edit_for_too_short_a_load_is_its_parameter() -> None:
    still = {p: OperationCounts(reads=1, programs=6400, erases=0) for p in samples.PHASES}
    found = judged(pair("ubifs", 10, flash=still), Limits(years=1, daily=1 << 30))
    # 15,000 transactions wrote 100 MiB, 1,333 MiB are needed: two figures, rounded up
    assert cell(found, "UBIFS", "lifetime").state == "open"
    assert gaps(found)["years"] == (("UBIFS",), "in mine.toml, ffsmark: transactions = 200000")
    assert calls(found) == {"UBIFS": "open"}


def test_erases_of_too_short_a_load_are_open_and_leave_the_rest() -> None:
    few, more = (
        {p: OperationCounts(reads=1, programs=1, erases=n) for p in samples.PHASES} for n in (1, 47)
    )
    found = judged([*pair("jffs2", 10, flash=few), *pair("ubifs", 20, flash=more)])
    assert cell(found, "UBIFS", "chip.erases").state == "open"
    assert calls(found) == {"JFFS2": "take", "UBIFS": "next"}
    assert gaps(found)["block erases"][0] == ("JFFS2", "UBIFS")


def test_the_fastest_in_its_worst_state_comes_first() -> None:
    found = judged(
        [
            *pair("jffs2", 20),
            *pair("jffs2", 30, samples.AGED),
            *pair("ubifs", 10),
            *pair("ubifs", 40, samples.AGED),
        ]
    )
    assert calls(found) == {"JFFS2": "take", "UBIFS": "next"}
    assert cell(found, "JFFS2", "phase.transactions") == VerdictCell(
        "30.0 s", value=30.015 * S, where="aged"
    )
    assert found.sentence == (
        "Take JFFS2 (power cuts not tried): transactions take 30.0 s (aged, the worse state; "
        "2 runs: each 30.0 s). "
        "UBIFS takes 1.33 times as long. If fresh alone counts: UBIFS 10.0 s against 20.0 s."
    )
    assert found.row("JFFS2").state_leaders == (("fresh", "UBIFS"),)
    assert found.answer == "Take JFFS2 (power cuts not tried; fresh alone: UBIFS); next: UBIFS."


def test_what_cannot_be_told_apart_is_not_ranked() -> None:
    close = [trial("jffs2", 10, 1), trial("jffs2", 12, 2), trial("ubifs", 11, 1)]
    found = judged([*close, trial("ubifs", 13, 2)])
    assert found.row("JFFS2").as_good == ("UBIFS",)
    assert "As good (not told apart): UBIFS." in found.sentence


def test_slow_is_no_reason_to_avoid_and_failing_is() -> None:
    found = judged(
        [
            *pair("jffs2", 10),
            *pair("yaffs2", 50),
            *pair("ubifs", 10),
            samples.failed("ubifs", samples.FRESH).model_copy(update={"options": {}}),
        ]
    )
    assert calls(found) == {"JFFS2": "take", "YAFFS2": "next", "UBIFS": "avoid"}
    assert "YAFFS2 takes 4.99 times as long" in found.sentence
    assert found.row("YAFFS2").against == ()
    (why,) = found.row("UBIFS").against
    assert why.startswith("fresh: 1 of 3 trials ") and why.endswith(": no space left")


def test_faster_than_needed_is_worth_nothing() -> None:
    """The first has least time to spare and most RAM: the nearest limit decides, not the speed."""
    small, large = ({**samples.MEMORY, "peak": n * MIB} for n in (1, 7))
    trials = [*pair("jffs2", 10, memory=small), *pair("ubifs", 1, memory=large)]
    found = judged(trials, at("phase.transactions < 20s", "ram < 8M"))
    assert calls(found) == {"JFFS2": "take", "UBIFS": "fits"}
    assert cell(found, "UBIFS", "memory.peak").used == pytest.approx(7 / 8)
    assert cell(found, "JFFS2", "phase.transactions").used == pytest.approx(10.02 / 20)
    assert "UBIFS meets them both" in found.sentence


def test_one_trial_beyond_a_limit_breaks_it() -> None:
    found = judged(pair("jffs2", 10), at("phase.transactions < 10015ms"))
    assert cell(found, "JFFS2", "phase.transactions").state == "broken"
    assert calls(found) == {"JFFS2": "avoid"}
    assert found.answer == "None is fit; avoid JFFS2."


@pytest.mark.parametrize(
    ("figure", "limit", "state"),
    [
        ("timing.t_prog_ns", "phase.transactions < 20s", "open"),
        ("timing.t_wc_ns", "phase.transactions < 20s", "met"),
        ("timing.t_prog_ns", "phase.transactions < 5s", "broken"),
        ("timing.t_prog_ns", "chip.erases < 100000", "met"),
    ],
)
def test_times_of_an_assumed_chip_are_never_met(figure: str, limit: str, state: str) -> None:
    chip = {"endurance": {"pe_cycles": 100_000}, "sources": {figure: "Assumed: 250 us."}}
    found = judged(pair("jffs2", 10, provenance={"chip": chip}), at(limit))
    assert cell(found, "JFFS2", limit.partition(" ")[0]).state == state


@pytest.mark.parametrize(
    ("source", "state"), [("Page 1.", "met"), ("Assumed.", "met"), ("Assumed: 100,000.", "open")]
)
def test_years_of_an_assumed_endurance_are_never_met(source: str, state: str) -> None:
    chip = {
        "endurance": {"pe_cycles": 100_000},
        "sources": {"endurance.pe_cycles": source},
    }
    long = EraseSpread(mean=40.0, stddev=0.5, min=38, max=41)
    trials = pair("jffs2", 10, provenance={"chip": chip}, erases_per_block=long)
    found = judged(trials, Limits(years=1, daily=MIB))
    assert cell(found, "JFFS2", "lifetime").state == state


def test_what_was_not_measured_is_open_with_its_edit() -> None:
    found = judged(pair("jffs2", 10), at("ram <= 4M"))
    assert calls(found) == {"JFFS2": "open"}
    assert cell(found, "JFFS2", "memory.peak").state == "open"
    assert gaps(found)["RAM"] == (("JFFS2",), 'in mine.toml: measure = ["memory"]')
    assert found.sentence.startswith("Not enough to say yet: JFFS2 ")
    assert "; open: RAM." in found.sentence


def test_a_usual_criterion_that_nobody_measured_is_told_once() -> None:
    found = judged([*pair("jffs2", 10), *pair("ubifs", 10)])
    edit = 'in mine.toml: measure = ["memory", "restart", "space"]'
    assert found.unmeasured == (("RAM", edit), ("free space", edit), ("first synced", edit))
    assert "memory.peak" not in [c.name for c in found.criteria]


def test_a_state_that_was_not_run_leaves_it_open() -> None:
    trials = [*pair("jffs2", 20), *pair("jffs2", 30, samples.AGED), *pair("ubifs", 10)]
    found = judged(trials, name="mine")
    assert calls(found) == {"JFFS2": "take", "UBIFS": "open"}
    assert gaps(found)["not run"] == (("UBIFS",), "nandlab run mine.toml --out runs/a")


def test_a_gap_of_several_is_told_once_with_its_largest_edit() -> None:
    one, other = (
        VerdictGap("years", (n,), n, f"records = {v}") for n, v in (("A", 900), ("B", 27000))
    )
    third = VerdictGap("years", ("C",), "C", "other = 5")
    assert merge_verdict_gaps([one, other, third]) == [
        VerdictGap("years", ("A", "B"), "A; B", "records = 27000"),
        third,
    ]


def test_when_it_is_ready_is_told_without_the_time_that_settle_waits() -> None:
    settled = {"settle": {"quiet_ms": 500, "limit_s": 9}, **samples.catalog_entry("jffs2")}
    used = ChipUsage(warped_ns=300_000_000)
    steps = [
        StepResult(
            name="mount",
            ns=50_000_000,
            chip=OperationCounts(reads=243, programs=0, erases=0),
            usage=ChipUsage(warped_ns=0),
        ),
        StepResult(
            name="settle",
            ns=2 * S,
            chip=OperationCounts(reads=12213, programs=0, erases=0),
            usage=used,
        ),
    ]
    found = judged(
        [
            t.model_copy(update={"steps": steps})
            for t in pair("jffs2", 10, provenance={"filesystem": settled})
        ]
    )
    told = {n: cell(found, "JFFS2", f"ready.{n}").value for n in ("quiet", "reads", "cpu")}
    assert told == {"quiet": 1_550_000_000, "reads": 12_456, "cpu": 1_250_000_000}


def test_limits_are_met_or_broken_in_every_trial() -> None:
    (setting,) = groups.group_trials_into_settings(pair("jffs2", 10))
    ensemble = setting.ensembles[0]
    p99 = setting.figure("latency.writes.p99")
    p99s = [p for t in ensemble.ok if (p := p99(t)) is not None]
    for most, outcome in ((max(p99s), "met"), (min(p99s) - 1, "broken"), (min(p99s), "in doubt")):
        (told,) = limits.judge_ensemble_against_limits(
            setting, ensemble, at(f"writes.p99 <= {int(most)}ns")
        )
        assert told.outcome == outcome
    (told,) = limits.judge_ensemble_against_limits(setting, ensemble, at("flash_reserve < 1%"))
    assert told.outcome == "met"


def test_ram_is_judged_by_the_peak_where_a_trial_has_it() -> None:
    memory = {**samples.MEMORY, "peak": 5 * MIB, "end": 2 * MIB}
    measured = pair("jffs2", 10, memory=memory)
    for most, call in (("<= 5M", "take"), ("< 5M", "avoid"), (f"<= {5 * MIB - 1}", "avoid")):
        assert calls(judged(measured, at(f"ram {most}"))) == {"JFFS2": call}


def said(*words: str | Path, status: int = 0) -> str:
    done = run_command(*words)
    assert done.returncode == status, done.stderr
    return done.stdout if not status else done.stderr


def test_the_command_says_it_in_words_and_in_json(tmp_path: Path) -> None:
    trials = [*pair("jffs2", 10), *pair("yaffs2", 50)]
    folder = samples.folder(tmp_path / "run", trials)
    lines = said("advise", folder.path).splitlines()
    assert lines[-1].startswith("Take JFFS2 (") and lines[-1].endswith("; next: YAFFS2.")
    (told,) = fits("advice", said("advise", folder.path, "--json"))
    assert [(r["name"], r["call"]) for r in told["rows"]] == [("JFFS2", "take"), ("YAFFS2", "next")]
    assert told["answer"] == lines[-1]
    assert said("show", folder.path).splitlines()[-1] == lines[-1]
    assert lines[-1] in said("show", folder.path, "--format", "markdown").replace("\\", "")
    assert "go together" in said("advise", folder.path, "--lifetime-years", "5", status=2)


def test_the_advice_on_nine_trials_and_more_fits_a_screen(tmp_path: Path) -> None:
    small: dict[str, Any] = {"chip": samples.CHIP.model_copy(update={"part": "nandsim-small"})}
    trials = [
        t
        for fs in ("jffs2", "ubifs", "yaffs2")
        for state in (samples.FRESH, samples.AGED)
        for change in ({}, small)
        for t in pair(fs, 10, state, **change)
    ]
    trials += pair("nftl-fat32", 5, **small)
    named = [t.model_copy(update={"id": f"t{i}"}) for i, t in enumerate(trials)]
    folder = samples.folder(tmp_path / "run", named)
    for verb in ("advise", "show"):
        lines = said(verb, folder.path).splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines[:-1])) <= 80
        assert lines[-1].endswith("Power cuts not tried.")
        assert len(said(verb, folder.path, "--all").splitlines()) > len(lines)


def test_the_json_of_a_sweep_has_its_cliffs(tmp_path: Path) -> None:
    shares = [0.0, 0.2, 0.4, 0.6, 0.8]
    states = [FlashState(name=f"v{v}", valid=v, invalid=0, mix=0) for v in shares]
    folder = samples.folder(tmp_path / "run", [samples.trial("jffs2", s, 1) for s in states])
    (cliff,) = fits("advice", said("advise", folder.path, "--json"))[0]["notes"]
    assert cliff.startswith("Cliff of JFFS2: ")
    assert cliff in " ".join(said("advise", folder.path).split())


def test_without_a_headline_figure_nothing_is_put_first() -> None:
    nothing: dict[str, Any] = {"phase_ns": None, "sync_ns": None}
    trials = [samples.trial(fs, samples.FRESH, i, **nothing) for fs in ("jffs2", "ubifs")
              for i in (1, 2)]  # fmt: skip
    found = judged(trials)
    assert calls(found) == {"JFFS2": "open", "UBIFS": "open"}
    assert gaps(found)["transaction time"][0] == ("JFFS2", "UBIFS")


def test_a_life_is_told_and_not_judged(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run", lifesamples.lifetime_study())
    (told,) = fits("advice", said("advise", folder.path, "--json"))
    assert (told["rows"], told["criteria"]) == ([], [])
    assert any("UBIFS lives longest" in note for note in told["notes"])


def test_a_single_trial_or_a_doubt_is_not_enough_to_say() -> None:
    alone = judged([trial("jffs2", 10), *pair("ubifs", 20)], matrix={"seeds": [1]})
    assert calls(alone) == {"UBIFS": "take", "JFFS2": "open"}
    assert gaps(alone)["a single trial"] == (("JFFS2",), "in mine.toml, [matrix]: seeds = [1, 2]")
    doubt = Doubt(code="state_missed", text="valid data: 50 % asked, 30 % on the chip")
    found = judged([t.model_copy(update={"warnings": [doubt]}) for t in pair("jffs2", 10)])
    assert calls(found) == {"JFFS2": "open"}
    why = cell(found, "JFFS2", "phase.transactions").why
    assert why.startswith("fresh: 2 of 2 trials ") and why.endswith(" state_missed")
    assert gaps(found)["transact."][1].startswith("See state.obtained; try mix = 1")


def test_a_workload_that_could_not_be_run_says_nothing_of_the_file_system() -> None:
    broken = [
        t.model_copy(update={"status": "not_measured", "error": "journal: not found", "phases": []})
        for t in pair("ubifs", 20)
    ]
    found = judged([*pair("jffs2", 10), *broken])
    assert calls(found) == {"JFFS2": "take", "UBIFS": "open"}
    assert found.row("UBIFS").against == ()
    assert gaps(found)["the workload failed"][0] == ("UBIFS",)


def test_the_last_line_of_several_settings_tells_each_by_what_differs() -> None:
    other: dict[str, Any] = {"chip": samples.CHIP.model_copy(update={"part": "another"})}
    every = [*pair("jffs2", 10), *pair("ubifs", 5, **other)]
    found = verdictmaker.make_run_verdicts_from_trials({}, every, samples.NAMING, Limits())
    assert [v.short for v in found] == ["MT29F2G08ABAEAWP", "another"]
    first, second, cuts = verdict.format_run_answer(found).split(". ")
    assert (first, second) == ("MT29F2G08ABAEAWP: take JFFS2", "another: take UBIFS")
    assert cuts == "Power cuts not tried."
    assert verdict.format_run_answer([]).startswith("No trial of this run ")


# what must hold of any advice, whatever the figures


FIRST_WRITE = {"advice": "let it format first", "source": "docs/studies/first-boot.md"}


def with_first_write(name: str, seconds: float, first: dict[str, str]) -> Trial:
    entry = {"title": samples.TITLES[name], "power": samples.POWER, "first_write": first}
    return trial(name, seconds, provenance={"filesystem": entry})


def test_what_must_come_before_a_first_durable_write_stands_once() -> None:
    waiting = with_first_write("jffs2", 1, FIRST_WRITE)
    lines = ["JFFS2: let it format first (docs/studies/first-boot.md)"]
    assert verdict.list_first_write_lines([judged([waiting, trial("ubifs", 2)])] * 2) == lines
    assert verdict.list_first_write_lines([judged([trial("jffs2", 1)])]) == []
    other = with_first_write("jffs2", 1, {"words": "of another nandlab"})
    assert verdict.list_first_write_lines([judged([other])]) == []
