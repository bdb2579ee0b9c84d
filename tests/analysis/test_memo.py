# SPDX-License-Identifier: GPL-2.0-or-later
"""What is worked out of a trial is worked out once, and never of another."""

from __future__ import annotations

import gc

from support import samples

from nandlab.analysis.figures import memo
from nandlab.results.record import Trial


def test_each_trial_is_read_once_and_a_copy_anew() -> None:
    calls: list[int] = []

    @memo.memoize_by_trial
    def seed(trial: Trial) -> int:
        calls.append(trial.seed)
        return trial.seed

    trial = samples.trial(seed=1)
    copy = trial.model_copy(update={"seed": 2})
    assert [seed(trial), seed(trial), seed(copy), seed(trial)] == [1, 1, 2, 1]
    assert calls == [1, 2]


def test_a_trial_that_is_gone_leaves_nothing() -> None:
    seed = memo.memoize_by_trial(lambda trial: trial.seed)
    before = len(memo._VALUES_BY_TRIAL)
    trial = samples.trial(seed=3)
    assert seed(trial) == 3
    assert len(memo._VALUES_BY_TRIAL) == before + 1
    del trial
    gc.collect()
    assert len(memo._VALUES_BY_TRIAL) <= before
