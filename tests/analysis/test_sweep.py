# SPDX-License-Identifier: GPL-2.0-or-later
"""Surfaces of made-up trials whose cliffs are known."""

from __future__ import annotations

from pathlib import Path

from support import samples

from nandlab import report
from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import sweep, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.sweep import SweepLine
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.results.record import Trial
from nandlab.results.recordparts import FlashState

S = 1_000_000_000


def state(valid: int, invalid: int = 0, mix: float = 0) -> FlashState:
    name = f"v{valid}-i{invalid}-m{mix:g}"
    return FlashState(name=name, valid=valid / 100, invalid=invalid / 100, mix=mix)


def trial(of: FlashState, seconds: float | None, filesystem: str = "jffs2") -> Trial:
    if seconds is None:
        failed = samples.failed(filesystem, of)
        return failed.model_copy(update={"id": f"{filesystem}-{of.name}"})
    return samples.trial(filesystem, of, phase_ns={"transactions": int(seconds * S)}, sync_ns=None)


def swept() -> groups.Setting:
    """JFFS2 doubles past 60 % and has no room at 90 %; mixed with dead data it falls at 40 %."""
    times = {0: 10, 20: 11, 40: 15, 60: 20, 80: 50, 90: None}
    trials = [trial(state(v), t) for v, t in times.items()]
    trials += [trial(state(v, 25, 1), t) for v, t in {20: 12, 40: 21, 60: 90}.items()]
    trials += [trial(state(v), 10, "ubifs") for v in times]
    (setting,) = groups.group_trials_into_settings(trials)
    return setting


def test_a_cliff_is_where_time_passes_twice_the_fresh_time() -> None:
    setting = swept()
    assert sweep.is_sweep_setting(setting)
    found = {(c.subject, c.line): c for c in sweep.list_sweep_cliffs(setting)}
    alone = found["JFFS2", SweepLine(0.0, 0.0)]
    assert (alone.valid_share, alone.ratio) == (0.8, 5.0)  # 60 % is just twice
    assert alone.all_fail == sweep.FailingState(0.9, 0, 1, "no space left")
    mixed = found["JFFS2", SweepLine(0.25, 1.0)]
    assert (mixed.valid_share, mixed.ratio, mixed.all_fail) == (0.4, 2.1, None)
    assert found["UBIFS", SweepLine(0.0, 0.0)].valid_share is None


def test_cliffs_are_told_in_words_the_first_to_fall_first() -> None:
    jffs2, ubifs = sweep.list_sweep_cliff_findings(swept())
    assert jffs2.topic == "Cliff of JFFS2"
    assert (
        "from 80 % valid its transaction time" in jffs2.text and "more than 2 times" in jffs2.text
    )
    assert "at 90 % valid no trial " in jffs2.text and "(no space left)" in jffs2.text
    assert "25 % dead, mixed: from 40 % valid" in jffs2.text
    assert ubifs.text.endswith(": no cliff up to 90 % valid.")
    assert not ubifs.firm


def test_a_state_in_which_some_trials_fail_is_told_and_starred(tmp_path: Path) -> None:
    again = trial(state(60, 25, 1), None).model_copy(update={"id": "again", "seed": 2})
    trials = [t for e in swept().ensembles for t in e.trials] + [again]
    (setting,) = groups.group_trials_into_settings(trials)
    found = {(c.subject, c.line): c for c in sweep.list_sweep_cliffs(setting)}[
        "JFFS2", SweepLine(0.25, 1.0)
    ]
    assert (found.some_fail, found.all_fail) == (
        sweep.FailingState(0.6, 1, 2, "no space left"),
        None,
    )
    told = next(f.text for f in sweep.list_sweep_cliff_findings(setting) if "JFFS2" in f.topic)
    assert "at 60 % valid only 1 of 2 trials" in told and "(no space left)" in told
    page = report.write_run_report(samples.folder(tmp_path / "run", trials))
    svg = (page.parent / "ffsmark-surface.svg").read_text()
    assert ">90*<" in svg
    assert "only 1 of 2 trials end well" in page.read_text()


def test_advice_on_a_sweep_is_where_the_cliffs_are() -> None:
    setting = swept()
    found = verdictmaker.make_setting_verdict({}, setting, Limits(), samples.NAMING)
    assert not found.rows
    assert found.notes[0].startswith("Cliff of JFFS2: None dead: from 80 %")
    assert found.sentence == found.notes[0]


def test_two_states_are_no_sweep() -> None:
    (setting,) = groups.group_trials_into_settings(samples.study(seeds=2))
    assert not sweep.is_sweep_setting(setting)


def test_the_report_of_a_sweep_has_its_surface_and_no_rows_for_each_state(tmp_path: Path) -> None:
    trials = [t for e in swept().ensembles for t in e.trials]
    page = report.write_run_report(samples.folder(tmp_path / "run", trials))
    text = page.read_text()
    assert 'id="ffsmark-surface"' in text
    assert 'id="ffsmark-time"' not in text
    assert "Swept flash" in text or "swept flash" in text
    svg = (page.parent / "ffsmark-surface.svg").read_text()
    for words in ("Transaction time, s", "Write amplification", "25 % dead, mixed", "\u00d7"):
        assert words in svg


def test_where_more_is_better_a_cliff_is_a_fall_and_so_is_ageing() -> None:
    """Transactions a second as the headline: 10 s on fresh flash are 1,500, 50 s are 300."""
    words = {"figure": "own.transactions_per_s", "noun": "rate", "best": "is fastest"}
    trials = [
        t.add_sources({**t.sources, "workload": {**t.find_source("workload"), "headline": words}})
        for e in swept().ensembles
        for t in e.trials
    ]
    (setting,) = groups.group_trials_into_settings(trials)
    found = {(c.subject, c.line): c for c in sweep.list_sweep_cliffs(setting)}
    assert (
        found["JFFS2", SweepLine(0.0, 0.0)].valid_share,
        found["JFFS2", SweepLine(0.0, 0.0)].ratio,
    ) == (0.8, 0.2)
    assert found["UBIFS", SweepLine(0.0, 0.0)].valid_share is None
    told = sweep.list_sweep_cliff_findings(setting)[0].text
    assert (
        "from 80 % valid its rate " in told and "than 0.5 times that of fresh flash (0.200" in told
    )
    slow = [trial(state(v), s + i) for v, s in ((0, 10), (50, 40)) for i in (0, 0.1)]
    slow += [trial(state(v), s + i, "ubifs") for v, s in ((0, 10), (50, 11)) for i in (0, 0.1)]
    named = [t.model_copy(update={"id": f"{t.id}-{i}", "seed": i}) for i, t in enumerate(slow)]
    known = [
        t.add_sources({**t.sources, "workload": {**t.find_source("workload"), "headline": words}})
        for t in named
    ]
    (setting,) = groups.group_trials_into_settings(known)
    (ageing,) = [
        f
        for a in find_setting_view(setting).answers(setting)
        for f in a.findings
        if f.topic == "Ageing, rate"
    ]
    assert ageing.text.startswith("JFFS2 suffers most: its rate is 0.25")
