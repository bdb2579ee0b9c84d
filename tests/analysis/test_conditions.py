# SPDX-License-Identifier: GPL-2.0-or-later
"""Under which conditions a verdict holds, and what no trial had."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.verdicts import conditions, verdict, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.limitsyntax import parse_limit
from nandlab.analysis.verdicts.promises import CAMPAIGNS_PAGE
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.report.tables import verdicttext
from nandlab.results.record import Trial
from nandlab.results.recordparts import FlashState

ENTRY = {"options": {"compression": {"default": "zlib"}, "wbuf": {"default": "on"}}}

NFTL_PAGES = "NFTL keeps its marks in the OOB of every 512-byte sector, so a sector must be a page"


def pair(filesystem: str, state: FlashState = samples.FRESH, **change: Any) -> list[Trial]:
    entry = {**samples.catalog_entry(filesystem), **ENTRY}
    given: dict[str, Any] = {"options": {}, "provenance": {"filesystem": entry}, **change}
    return [samples.trial(filesystem, state, seed, **given) for seed in (1, 2)]


def judged(*trials: list[Trial]) -> Verdict:
    every = [t for each in trials for t in each]
    (found,) = verdictmaker.make_run_verdicts_from_trials({}, every, samples.NAMING, Limits())
    return found


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"compression": "zlib", "wbuf": "on"}, "compression=zlib"),
        ({"compression": "none", "wbuf": "off"}, "compression=none, wbuf=off"),
        ({"wbuf": "on"}, ""),
        ({"compression": "default"}, "compression=default (the kernel's)"),
    ],
)
def test_compression_is_always_told_and_what_is_not_the_default(
    options: dict[str, str], text: str
) -> None:
    (row,) = judged(pair("jffs2", options=options)).rows
    assert row.options == text


def test_an_option_that_a_run_s_catalog_did_not_have_is_no_choice_of_it() -> None:
    (row,) = judged(pair("jffs2", options={"compression": "none", "attach": "each"})).rows
    assert row.options == "compression=none"


def test_no_other_state_is_told_where_the_first_leads_in_each() -> None:
    in_states = (samples.FRESH, samples.AGED)
    every = [
        pair(name, state, phase_ns={"transactions": seconds * 10**9})
        for state in in_states
        for name, seconds in (("jffs2", 1), ("ubifs", 2))
    ]
    assert "alone counts" not in judged(*every).sentence


@pytest.mark.parametrize(
    ("filesystem", "origin", "text"),
    [
        ("yaffs2", "u-boot 2023.01+dfsg-2+deb12u3", "core of 2012"),
        ("yaffs2", "folder", "core of the user's own"),
        ("yaffs2", None, ""),
        ("jffs2", "u-boot 2023.01+dfsg-2+deb12u3", ""),
    ],
)
def test_yaffs2_is_told_with_the_year_of_its_core(
    filesystem: str, origin: str | None, text: str
) -> None:
    core = {"yaffs2_core": {"origin": origin, "sha256": "1"}} if origin else {}
    trials = [
        t.add_sources(
            {"filesystem": t.find_source("filesystem"), "board": {**t.find_source("board"), **core}}
        )
        for t in pair(filesystem)
    ]
    (row,) = judged(trials).rows
    assert [word for word in row.options.split(", ") if word.startswith("core")] == [
        word for word in [text] if word
    ]


def test_an_option_that_is_in_the_name_is_not_told_twice() -> None:
    found = judged(
        pair("jffs2", options={"compression": "zlib"}),
        pair("jffs2", options={"compression": "none"}),
    )
    assert {row.name: row.options for row in found.rows} == {
        "JFFS2 compression=zlib": "",
        "JFFS2 compression=none": "",
    }
    assert verdict.format_verdict_conditions(found) == []


def test_the_head_has_options_and_what_a_state_holds() -> None:
    none = {"options": {"compression": "none"}}
    aged = FlashState(name="aged", valid=0.45, invalid=0.25, mix=1)
    found = judged(
        *(pair(fs, state, **none) for fs in ("jffs2", "ubifs") for state in (samples.FRESH, aged)),
        *(pair("yaffs2", state) for state in (samples.FRESH, aged)),
    )
    under = ["JFFS2, UBIFS: compression=none", "aged: 45 % of the pages valid, 25 % invalid"]
    assert verdict.format_verdict_conditions(found) == under
    assert found.holding == (under[1],)
    head = " ".join(verdicttext.render_verdict(found)[:3])
    assert "; ".join(under) in head
    sheet = verdicttext.make_verdict_sheet(found)
    assert sheet.head[:3] == ("verdict", "configuration", "options")
    assert {row[1]: row[2] for row in sheet.rows} == {
        "JFFS2": "compression=none",
        "UBIFS": "compression=none",
        "YAFFS2": "",
    }


def test_conditions_of_several_settings_are_told_once() -> None:
    chip = {"chip": samples.CHIP.model_copy(update={"part": "another"})}
    aged = pair("jffs2", samples.AGED), pair("jffs2", samples.AGED, **chip)
    found = verdictmaker.make_run_verdicts_from_trials(
        {}, [t for one in aged for t in one], samples.NAMING, Limits()
    )
    assert len(found) == 2
    lines = verdicttext.render_verdicts(found)
    assert sum(line.startswith("aged: 50 % of") for line in lines) == 1
    rule = found[0].cell_rule
    assert found[1].cell_rule == rule
    assert [verdict.format_verdict_title(v, found[0]) for v in found] == [v.title for v in found]


def test_a_recorded_load_says_how_many_calls_it_has() -> None:
    replayed = [
        t.model_copy(update={"operations": {"write": 90, "fsync": 3}, "figures": {"unlike": n}})
        for n, t in enumerate(pair("jffs2"))
    ]
    assert len(judged(replayed).holding) == 1
    assert "of 93 calls, 1 returned otherwise" in judged(replayed).holding[0]
    assert judged(pair("jffs2")).holding == ()


def test_what_no_trial_had_is_open_once() -> None:
    fresh = judged(pair("jffs2"))
    state = f'add {{ name = "aged", {conditions.AGED_SHARES} }} to states'
    no_aged = (conditions.AGED_FLASH, f"in mine.toml, [matrix]: {state}")
    no_faults = (conditions.FAILING_CHIP, "nandlab faults runs/a")
    assert fresh.untested == (no_aged, no_faults)
    aged = judged(pair("jffs2"), pair("jffs2", samples.AGED))
    assert aged.untested == (no_faults,)
    (line,) = [
        x
        for x in verdicttext.format_verdict_gap_lines([fresh, aged])
        if x.startswith("not tried: ")
    ]
    assert line.startswith(f"not tried: {conditions.FAILING_CHIP} (nandlab faults runs/a)")
    failing = samples.CHIP.model_copy(update={"faults": {"bad_blocks": 4}})
    assert judged(pair("jffs2", chip=failing)).untested == (no_aged,)


def test_of_a_load_that_only_reads_nothing_is_asked_of_blocks() -> None:
    still = [
        t.model_copy(update={"bytes": {"read": 1}, "phases": [reading(p) for p in t.phases]})
        for t in pair("jffs2")
    ]
    assert judged(still).untested == ()


def reading(phase: Any) -> Any:
    """The phase, in which only reads reached the chip."""
    none = {"programs": 0, "erases": 0}
    counts = phase.chip.model_copy(update=none)
    return phase.model_copy(update={"chip": counts, "chip_sync": None})


def test_without_a_limit_nothing_fits() -> None:
    trials = [*pair("jffs2"), *pair("ubifs")]
    assert [row.call for row in judged(trials).rows] == ["take", "next"]
    limits = Limits(years=None, may_lose=True)
    (waived,) = verdictmaker.make_run_verdicts_from_trials({}, trials, samples.NAMING, limits)
    assert [row.call for row in waived.rows] == ["take", "next"]
    assert verdict.format_run_answer([waived]).endswith("next: JFFS2.")


def test_a_table_says_what_its_cells_are_of() -> None:
    fresh, aged = pair("jffs2"), pair("jffs2", samples.AGED)
    assert judged(fresh[:1]).cell_rule == ""
    assert judged(fresh).cell_rule == "median of 2 runs"
    assert "the worse of fresh and aged," in judged(fresh, aged).cell_rule
    limited, *_ = verdictmaker.make_run_verdicts_from_trials(
        {}, fresh, samples.NAMING, Limits((parse_limit("step.mount < 1s"),))
    )
    assert limited.cell_rule.split(", ")[0].endswith("the worst of 2 runs")


def test_a_file_system_that_a_chip_cannot_have_is_named_with_the_reason() -> None:
    small, large = (load_noun("chips", name, ChipModel) for name in ("nandsim-small", "S34ML01G1"))
    nftl = load_noun("filesystems", "nftl-fat32", FilesystemModel)
    every = []
    for chip in (small, large):
        part = samples.CHIP.model_copy(update={"part": chip.name})
        said = {"chip": chip.model_dump(mode="json")}
        entry = {**samples.catalog_entry("jffs2"), **ENTRY}
        every += pair("jffs2", chip=part, provenance={**said, "filesystem": entry})
        if chip is small:
            kept = {**said, "filesystem": nftl.model_dump(mode="json")}
            options = {name: option.default for name, option in nftl.options.items()}
            every += pair("nftl-fat32", chip=part, provenance=kept, options=options)
    found = verdictmaker.make_run_verdicts_from_trials({}, every, samples.NAMING, Limits())
    assert [v.absent for v in found] == [(), (f"NFTL+FAT32 was not run here: {NFTL_PAGES}.",)]


def test_what_is_not_known_of_a_change_and_of_power_is_open() -> None:
    found = judged(pair("jffs2"))
    unknown = [c.what for c in found.changes if c.turns is None]
    assert unknown
    assert [what for what, _ in verdict.list_unknown_changes([found, found])] == unknown
    lines = verdicttext.format_verdict_gap_lines([found])
    assert all(what in lines[-1] for what in unknown)
    assert any(CAMPAIGNS_PAGE in line for line in lines if line.startswith("power cuts"))
