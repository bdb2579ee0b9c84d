# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that are one trial: they count once, in spreads, in orders and in what is told."""

from __future__ import annotations

from support import samples

from nandlab.analysis.differences import figurechanges
from nandlab.analysis.differences.compare import Difference
from nandlab.analysis.figures import groups, members
from nandlab.analysis.verdicts import caveats, limitsyntax, verdictmaker
from nandlab.analysis.verdicts.limits import Limits, judge_ensemble_against_limits
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt, Series, StepResult


def twin(trial: Trial, seed: int, **change: object) -> Trial:
    """The same trial under another seed, at the same offset."""
    update = {"id": f"{trial.id}-{seed}", "seed": seed, **change}
    return trial.model_copy(update=update)


def ensemble(*trials: Trial) -> groups.Ensemble:
    ((found,),) = (setting.ensembles for setting in groups.group_trials_into_settings(trials))
    return found


def test_trials_that_are_one_to_the_nanosecond_are_one_member() -> None:
    one = samples.trial("jffs2")
    found = ensemble(one, twin(one, 2), twin(one, 3), samples.trial("jffs2", seed=4))
    assert [t.seed for t in found.ok] == [1, 4]
    assert (found.alike, found.failed) == (2, 0)
    setting = groups.group_trials_into_settings(found.trials)[0]
    spread = found.spread(setting.headline)
    assert spread is not None
    assert spread.n == 2


def test_a_nanosecond_or_an_offset_tells_members_apart() -> None:
    one = samples.trial("jffs2")
    first, *others = one.steps
    later = [StepResult(name=first.name, ns=first.ns + 1), *others]
    assert ensemble(one, twin(one, 2, steps=later)).alike == 0
    assert ensemble(one, twin(one, 2, phase_offset_ms=307.0)).alike == 0
    slow = [p.model_copy(update={"ns": p.ns and p.ns + 1}) for p in one.phases]
    assert ensemble(one, twin(one, 2, phases=slow)).alike == 0


def test_what_failed_or_has_no_times_is_like_no_other() -> None:
    failed = samples.failed()
    found = ensemble(failed, twin(failed, 91))
    assert (found.alike, found.failed, found.ok) == (0, 2, ())
    assert (
        members.make_trial_timing_key(samples.trial("jffs2", phase_ns={}, sync_ns={}, step_ns={}))
        is None
    )


def test_equal_members_are_told_and_rank_nothing() -> None:
    pairs = [samples.trial(fs) for fs in ("jffs2", "ubifs")]
    trials = [t for one in pairs for t in (one, twin(one, 2))]
    told = caveats.list_caveats(samples.head(trials), trials, [])
    assert any("one trial to the nanosecond" in line and "1 instead of 2" in line for line in told)
    assert caveats.count_single_trial_configurations(trials) == 2
    (setting,) = groups.group_trials_into_settings(trials)
    found = verdictmaker.make_setting_verdict({}, setting, Limits(), samples.NAMING)
    assert [row.call for row in found.rows] == ["open", "open"]
    (gap,) = [gap for gap in found.gaps if gap.what == "a single trial"]
    assert gap.do.startswith("in mine.toml, [matrix]: leave out phase_offsets_ms")


MEASURED = Doubt(code="memory_measured", text="slow")
LOST = Doubt(code="memory_lost", text="3 allocations")


def apart(trial: Trial, peak: int, **change: object) -> Trial:
    """The trial of the same member that measures memory, and takes longer."""
    slow = [p.model_copy(update={"ns": p.ns and 2 * p.ns}) for p in trial.phases]
    update = {
        "id": f"{trial.id}-ram",
        "phases": slow,
        "measure": ["memory"],
        "measured": {"memory": {"peak": peak}},
        "series": [Series(name="memory.bytes", unit="bytes", t_ns=[1], values=[peak])],
        "warnings": [MEASURED],
    }
    return trial.model_copy(update={**update, **change})


def three() -> list[Trial]:
    """Three members, of two of which RAM was measured apart."""
    trials = [samples.trial("jffs2", seed=seed) for seed in (1, 2, 3)]
    return [*trials, apart(trials[0], 1 << 20), apart(trials[1], 2 << 20)]


def test_ram_measured_apart_joins_the_times_and_leaves_no_doubt_on_them() -> None:
    trials = three()
    found = ensemble(*trials)
    assert [t.id for t in found.trials] == [t.id for t in trials[:3]]
    assert [t.phases for t in found.trials] == [t.phases for t in trials[:3]]
    (setting,) = groups.group_trials_into_settings(trials)
    peak = found.spread(setting.figure("memory.peak"))
    assert peak is not None
    assert (peak.n, peak.min, peak.max) == (2, 1 << 20, 2 << 20)
    assert not any(t.warnings for t in found.trials)
    assert found.trials[0].line("memory.bytes") is not None
    assert caveats.list_caveats(samples.head(trials), trials, []) == []


def test_a_verdict_joins_latency_and_ram() -> None:
    (setting,) = groups.group_trials_into_settings(three())
    limits = Limits(tuple(map(limitsyntax.parse_limit, ("ram < 4M", "read.p99 < 999s"))))
    judged = judge_ensemble_against_limits(setting, setting.ensembles[0], limits)
    assert [j.outcome for j in judged] == ["met", "met"]
    assert [
        row.call
        for row in verdictmaker.make_setting_verdict({}, setting, limits, samples.NAMING).rows
    ] == ["take"]


def test_doubts_about_ram_come_with_it_and_what_failed_apart_is_not_known() -> None:
    one, *others = three()
    lost = apart(one, 5, warnings=[MEASURED, LOST])
    assert [w.code for w in members.join_memory_trials([one, lost])[0].warnings] == ["memory_lost"]
    failed = apart(one, 5, status="trial_failed", measured={}, series=[])
    (setting,) = groups.group_trials_into_settings([one, *others[:2], failed])
    limits = Limits((limitsyntax.parse_limit("ram < 4M"),))
    assert [
        j.outcome for j in judge_ensemble_against_limits(setting, setting.ensembles[0], limits)
    ] == ["unknown"]
    assert setting.ensembles[0].failed == 0
    (caveat,) = caveats.list_caveats(samples.head([one, failed]), [one, *others[:2], failed], [])
    assert "1 failed" in caveat


def test_a_study_of_memory_alone_is_as_it_was() -> None:
    trials = [apart(samples.trial("jffs2", seed=seed), 7) for seed in (1, 2)]
    assert members.split_off_memory_trials(trials) == (trials, [])
    assert members.join_memory_trials(trials) == trials


def test_what_moved_in_a_trial_apart_is_told() -> None:
    trials = three()
    now = [*trials[:4], apart(trials[1], 3 << 20)]
    unlike = figurechanges.summarize_differences({trials[4].id: [Difference("measured", {}, {})]})
    found = figurechanges.list_configuration_changes(
        list(zip(trials, now, strict=True)), unlike, ["memory.peak"]
    )
    assert [bool(one.changed_figures) for one in found] == [False, True]
    assert [len(one.trials) for one in found] == [3, 2]
