# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls: told with their figures where the longest is far above nearly all, and not elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt, Latency

MS = 1_000_000


def latency(p99_ms: float, longest_ms: float) -> Latency:
    p99 = int(p99_ms * MS)
    return Latency(
        count=7500,
        min=1,
        median=p99 // 9,
        p95=p99 // 3,
        p99=p99,
        p99_9=p99 * 2,
        max=int(longest_ms * MS),
    )


def trial(filesystem: str, seed: int, p99_ms: float, longest_ms: float, **change: Any) -> Trial:
    steady = latency(1, 2)
    kinds = dict.fromkeys(("read", "append", "delete"), steady)
    latencies = {"create": latency(p99_ms, longest_ms), **kinds}
    return samples.trial(filesystem, samples.AGED, seed, latency_ns=latencies, **change)


def stalls(*trials: Trial) -> list[Finding]:
    (setting,) = groups.group_trials_into_settings(trials)
    (answer,) = find_setting_view(setting).answers(setting)
    return [f for f in answer.findings if f.topic == "Stalls"]


def test_a_stall_is_told_with_its_figures() -> None:
    (found,) = stalls(
        trial("ubifs", 1, 3, 560), trial("ubifs", 2, 3, 639), trial("jffs2", 1, 3, 20)
    )
    assert found.firm
    assert found.text.startswith("UBIFS: the longest of 7,500 create ")
    assert " 560 ms to 639 ms (n = 2), " in found.text
    assert found.text.endswith(" 213 times their p99 (3 ms).")


@pytest.mark.parametrize(("p99", "longest"), [(3, 99), (20, 199), (500, 900)])
def test_what_is_short_or_near_its_p99_is_no_stall(p99: float, longest: float) -> None:
    assert stalls(trial("ubifs", 1, p99, longest), trial("ubifs", 2, p99, longest)) == []


def test_a_stall_of_one_trial_is_told_and_a_single_trial_is_not_firm() -> None:
    (rare,) = stalls(*(trial("ubifs", i, 3, 600 if i == 1 else 9) for i in (1, 2, 3)))
    assert " 9 ms to 600 ms (n = 3), up to 200 times" in rare.text
    (found,) = stalls(trial("ubifs", 1, 3, 600))
    assert not found.firm


def test_the_doubts_of_its_trials_stand_beside_it() -> None:
    doubt = [Doubt(code="kernel_log", text="a line")]
    (found,) = stalls(trial("ubifs", 1, 3, 600, warnings=doubt), trial("ubifs", 2, 3, 600))
    assert found.doubts == "kernel_log (UBIFS 1 of 2 trials)"
