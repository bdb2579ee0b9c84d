# SPDX-License-Identifier: GPL-2.0-or-later
"""Which one to ship: made-up trials of a product, and what must hold whatever the figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import samples
from fitting import fits
from hypothesis import given
from hypothesis import strategies as st
from test_limits import LOGGER, OPTIONS, logged

from nandlab.analysis import advice, groups, shipping
from nandlab.analysis.limits import Limits, of_study
from nandlab.analysis.shipping import Shipping
from nandlab.results.measures import Counts, Doubt, EraseSpread
from nandlab.results.record import Trial

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


def counted(erases: int) -> Counts:
    """What the chip counts where its blocks were erased half as often as the worst."""
    return Counts(reads=1, programs=40_000, erases=erases * samples.CHIP.blocks // 2)


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


def shipped(trials: list[Trial], spec: dict[str, Any] | None = None) -> Shipping:
    spec = spec or SPEC
    found = shipping.answer(spec, groups.group(trials), of_study(spec))
    assert found is not None
    return found


def said(found: Shipping, topic: str) -> str:
    return " ".join(f.text for f in found.findings if f.topic == topic)


def test_the_answer_has_all_that_a_buyer_asks() -> None:
    found = shipped([*pair("jffs2", 20), *pair("ubifs", 10), *pair("yaffs2", 60)])
    assert found.product.title == (
        "MT29F2G08ABAEAWP, 100 MiB, 64 MiB of RAM, 100 MiB a day for 10 years, commit.p99 < 50ms"
    )
    assert [c.name for c in found.candidates] == ["UBIFS", "JFFS2", "YAFFS2"]
    assert said(found, "Ship").startswith("UBIFS: ")
    assert "commit p99 10.3 ms (10.2 ms to 10.4 ms, n = 2), within 50 ms" in said(found, "Ship")
    assert "lifetime at 100 MiB a day 274 to 684 years, asked 10" in said(found, "Ship")
    assert said(found, "Runner-up").startswith(
        "JFFS2: it costs logging 20.3 s against 10.3 s (1.97"
    )
    assert "commit p99 20.3 ms against 10.3 ms (1.97 times)" in said(found, "Runner-up")
    change = said(found, "What would change it")
    assert change.startswith(
        "The nearest limit is commit.p99 < 50ms: 10.4 ms at worst, 79.2 % under it"
    )
    assert "Asked for commit p99 under 10.4 ms: none that was run" in change
    sure = said(found, "How sure")
    assert "stands on 2 trials (fresh flash)" in sure
    assert "the trials of UBIFS and JFFS2 are told apart by headline" in sure
    assert said(found, "Not").startswith("YAFFS2: fresh: commit p99 60.3 ms")


def test_a_tighter_limit_names_who_would_come_in() -> None:
    slow = {"phase_ns": {"logging": 10**12}}
    found = shipped([*pair("jffs2", 20), *pair("ubifs", 10, **slow)])
    assert said(found, "Ship").startswith("JFFS2: ")
    assert "Asked for commit p99 under 20.4 ms: UBIFS" in said(found, "What would change it")
    assert "it gains commit p99 10.3 ms against 20.3 ms" in said(found, "Runner-up")


def test_what_only_one_limit_keeps_out_is_told() -> None:
    fast = {"phase_ns": {"logging": 10**9}}
    found = shipped([*pair("jffs2", 20), *pair("ubifs", 60, **fast)])
    change = said(found, "What would change it")
    assert "Without its one broken limit (fresh: commit p99 60.3 ms" in change
    assert change.endswith("UBIFS would come first.")


def test_a_single_trial_or_a_doubt_ships_nothing() -> None:
    doubt = Doubt(code="kernel_log", text="a line")
    for trials in ([worn("jffs2", 20)], pair("jffs2", 20, warnings=[doubt])):
        found = shipped(trials)
        assert found.candidates[0].fitness == "unproven"
        assert said(found, "Ship").startswith("Not enough to say yet. The first to look into is JF")
        assert "open: fresh: " in said(found, "Ship")
        assert not found.findings[0].firm


def test_a_lifetime_that_is_not_known_ships_nothing() -> None:
    found = shipped(pair("jffs2", 20, erases=0))
    assert said(found, "Ship").startswith("Not enough to say yet")
    assert "lifetime: " in said(found, "Ship")


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


def test_loads_weigh_by_their_share_of_a_day() -> None:
    spec = {**SPEC, "product": TWO}
    found = shipped([*both("jffs2", 20, 10), *both("ubifs", 10, 35)], spec)
    assert [round(load.share, 2) for load in found.product.loads] == [0.75, 0.25]
    # 2 to the 0.75 is 1.68, and 3.5 to the 0.25 is 1.37
    assert [c.name for c in found.candidates] == ["UBIFS", "JFFS2"]
    assert "logger: logging takes" in said(found, "Ship") or "logger: " in said(found, "Ship")
    even = {**TWO, "loads": [{**load, "daily_write": "50M"} for load in TWO["loads"]]}
    found = shipped([*both("jffs2", 20, 10), *both("ubifs", 10, 35)], {**SPEC, "product": even})
    assert [c.name for c in found.candidates] == ["JFFS2", "UBIFS"]


def test_a_lifetime_lies_between_those_of_the_loads() -> None:
    spec = {**SPEC, "product": TWO}
    met = shipped([*both("jffs2", 20, 10)], spec).candidates[0]
    assert met.fitness == "fit"
    split = shipped([*both("jffs2", 20, 10, erases=10_000)], spec).candidates[0]
    assert split.fitness == "unproven"
    assert any("or, by another load, lifetime" in text for text in split.against)


def test_a_load_that_was_not_run_leaves_it_open() -> None:
    found = shipped(pair("jffs2", 20), {**SPEC, "product": TWO})
    assert said(found, "Ship").startswith("Not enough to say yet")
    assert "1 of 2 loads were not run" in said(found, "How sure")


def test_another_chip_or_other_parameters_are_none_of_its_loads() -> None:
    chip = {**SPEC["product"], "chip": {"part": "another"}}
    settings = groups.group(pair("jffs2", 20))
    assert shipping.answer({**SPEC, "product": chip}, settings, Limits()) is None
    load = {**SPEC["product"], "loads": [{**SPEC["product"]["loads"][0], "records": 7}]}
    assert shipping.answer({**SPEC, "product": load}, settings, Limits()) is None
    assert shipping.answer({}, settings, Limits()) is None


def nandlab(*words: str) -> str:
    command = [sys.executable, "-m", "nandlab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_advise_has_it(tmp_path: Path) -> None:
    trials = [*pair("jffs2", 20), *pair("ubifs", 10)]
    folder = samples.folder(tmp_path / "run", trials, spec=SPEC)
    run = str(folder.path)
    assert "  Ship: UBIFS: " in nandlab("advise", run)
    assert "Ship: None that was measured is fit." in nandlab(
        "advise", run, "--limit", "commit.p99 < 1ms"
    )
    told = fits("advice", nandlab("advise", run, "--json"))[0]
    assert [c["name"] for c in told["candidates"]] == ["UBIFS", "JFFS2"]
    assert told["answer"][0]["topic"] == "Ship"


def test_json_has_null_where_a_candidate_was_not_measured(tmp_path: Path) -> None:
    lost = worn("yaffs2", 1).model_copy(update={"status": "board_lost", "error": "gone"})
    folder = samples.folder(tmp_path / "run", [*pair("jffs2", 20), lost], spec=SPEC)
    (told, *_) = fits("advice", nandlab("advise", str(folder.path), "--json"))
    assert [c["factor"] for c in told["candidates"]] == [1.0, None]


def test_show_and_the_report_have_it(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run", [*pair("jffs2", 20), *pair("ubifs", 10)], spec=SPEC)
    run = str(folder.path)
    assert "Ship: UBIFS: " in nandlab("show", run)
    page = Path(nandlab("report", run).strip()).read_text()
    first = page[: page.index("</header>")]
    assert "<strong>Ship:</strong> UBIFS: " in first
    assert "Take " not in first


# what must hold of any answer, whatever the figures

COMMITS = st.floats(min_value=0.5, max_value=200, allow_nan=False)
RUNS = st.dictionaries(
    st.sampled_from(["jffs2", "ubifs", "yaffs2"]),
    st.lists(COMMITS, min_size=1, max_size=3),
    min_size=1,
)
SURENESS = {"None": 0, "Not enough": 1}


def trials(run: dict[str, list[float]], factor: float = 1) -> list[Trial]:
    return [
        worn(name, commit * factor, seed)
        for name, commits in run.items()
        for seed, commit in enumerate(commits, 1)
    ]


def sureness(found: Shipping) -> int:
    text = said(found, "Ship")
    return next((n for start, n in SURENESS.items() if text.startswith(start)), 2)


def order(found: Shipping) -> list[tuple[str, str]]:
    return [(c.name, c.fitness) for c in found.candidates]


@given(run=RUNS)
def test_doubling_every_time_and_its_limit_changes_no_answer(run: dict[str, list[float]]) -> None:
    wider = {**SPEC, "limits": {"commit": {"p99": "< 100ms"}}}
    once, twice = shipped(trials(run)), shipped(trials(run, 2), wider)
    assert order(once) == order(twice)
    assert sureness(once) == sureness(twice)


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
    found = {c.name: c for c in shipped([*trials(run), *copies]).candidates}
    one, copy = found[samples.TITLES[name]], found["Copy"]
    assert (one.fitness, one.factor, one.against, one.open, one.met) == (
        *(copy.fitness, copy.factor, copy.against, copy.open, copy.met),
    )


@given(run=RUNS, data=st.data())
def test_dropping_members_never_makes_it_surer(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(run)))
    fewer = {**run, name: run[name][: data.draw(st.integers(1, len(run[name])))]}
    before, after = ({c.name: c for c in shipped(trials(r)).candidates} for r in (run, fewer))
    title = samples.TITLES[name]
    if before[title].fitness == "unproven" and len(run[name]) > 1:
        return  # members on both sides of a limit: without one, the other side is left
    index = advice.ORDER.index
    assert index(after[title].fitness) >= index(before[title].fitness)


@given(run=RUNS, data=st.data())
def test_a_doubt_added_never_leaves_the_answer_as_it_was(
    run: dict[str, list[float]], data: st.DataObject
) -> None:
    all_trials = trials(run)
    before = shipped(all_trials)
    first = next((c.name for c in before.candidates if c.fitness != "unfit"), None)
    if first is None:
        return
    doubt = Doubt(code="kernel_log", text="a line")
    doubted = [
        t.model_copy(update={"warnings": [doubt]}) if t.filesystem_title == first else t
        for t in all_trials
    ]
    after = shipped(doubted)
    assert said(after, "Ship") != said(before, "Ship")
    assert sureness(after) <= sureness(before)


@given(run=RUNS, most=COMMITS)
def test_a_tighter_limit_makes_nothing_fit_that_was_not(
    run: dict[str, list[float]], most: float
) -> None:
    before = {c.name: c for c in shipped(trials(run)).candidates}
    tight = {**SPEC, "limits": {"commit": {"p99": f"< {min(50, most)}ms"}}}
    after = {c.name: c for c in shipped(trials(run), tight).candidates}
    for name, candidate in before.items():
        if candidate.fitness != "fit":
            assert after[name].fitness != "fit"
