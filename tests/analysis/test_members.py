# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that are one trial: they count once, in spreads, in orders and in what is told."""

from __future__ import annotations

import samples

from nandlab.analysis import advice, answers, groups, members
from nandlab.results.measures import StepTaken
from nandlab.results.record import Trial


def twin(trial: Trial, seed: int, **change: object) -> Trial:
    """The same trial under another seed, at the same offset."""
    update = {"id": f"{trial.id}-{seed}", "seed": seed, **change}
    return trial.model_copy(update=update)


def ensemble(*trials: Trial) -> groups.Ensemble:
    ((found,),) = (setting.ensembles for setting in groups.group(trials))
    return found


def test_trials_that_are_one_to_the_nanosecond_are_one_member() -> None:
    one = samples.trial("jffs2")
    found = ensemble(one, twin(one, 2), twin(one, 3), samples.trial("jffs2", seed=4))
    assert [t.seed for t in found.ok] == [1, 4]
    assert (found.alike, found.failed) == (2, 0)
    setting = groups.group(found.trials)[0]
    spread = found.spread(setting.headline)
    assert spread is not None
    assert spread.n == 2


def test_a_nanosecond_or_an_offset_tells_members_apart() -> None:
    one = samples.trial("jffs2")
    first, *others = one.steps
    later = [StepTaken(name=first.name, ns=first.ns + 1), *others]
    assert ensemble(one, twin(one, 2, steps=later)).alike == 0
    assert ensemble(one, twin(one, 2, phase_offset_ms=307.0)).alike == 0
    slow = [p.model_copy(update={"ns": p.ns and p.ns + 1}) for p in one.phases]
    assert ensemble(one, twin(one, 2, phases=slow)).alike == 0


def test_what_failed_or_has_no_times_is_like_no_other() -> None:
    failed = samples.failed()
    found = ensemble(failed, twin(failed, 91))
    assert (found.alike, found.failed, found.ok) == (0, 2, ())
    assert members.course(samples.trial("jffs2", phase_ns={}, sync_ns={}, step_ns={})) is None


def test_equal_members_are_told_and_rank_nothing() -> None:
    pairs = [samples.trial(fs) for fs in ("jffs2", "ubifs")]
    trials = [t for one in pairs for t in (one, twin(one, 2))]
    told = answers.caveats(samples.head(trials), trials, [])
    assert any("one trial to the nanosecond" in line and "1 instead of 2" in line for line in told)
    assert answers.singles(trials) == 2
    (setting,) = groups.group(trials)
    advised = advice.by_limits(setting)
    assert [s.fitness for s in advised.subjects] == ["unproven", "unproven"]
    assert all("one trial" in " ".join(s.doubts) for s in advised.subjects)
