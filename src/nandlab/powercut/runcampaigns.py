# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaigns that a run cuts by itself: those of a product, or of a study that limits power.

They are a sample: the small form of each of the study's loads that has one, on the study's own
media, at each flash operation or, of a long recorded load, at each so many. What promises nothing
is not cut, for nothing that it could show would change what is said of it. Workloads of SQLite have
no small form: transactions of ours are cut, in their journal mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.verdicts.limits import make_limits_from_spec as limits_of
from nandlab.plan.study import Study, plan_trials
from nandlab.plan.trialspec import TrialSpec
from nandlab.powercut import requests, sql, workloads
from nandlab.powercut.job import CutPoints
from nandlab.powercut.loads import LoadSet
from nandlab.powercut.requests import Request

DEFAULT_LOAD = "small-files"
"""The load where none of the study's has a small form."""
CALLS_CUT_EACH_MAX = 200
"""Calls of a load up to which each flash operation is cut; of a longer one, each so many."""
CAMPAIGN_S = 90
"""Processor seconds of a campaign, of the host: 37 to 77 were seen of `logger` on 64 MiB."""


def does_study_request_power_cuts(study: Study) -> bool:
    """Whether a study asks what is lost when the power goes."""
    figures = limits_of(study.model_dump(mode="json")).figures
    return any(limit.figure == LOST_FIGURE for limit in figures)


def make_sample_campaign_request(study: Study) -> Request:
    """The media and loads of a study's sample; none where nothing is written or promised."""
    specs = [spec for spec in plan_trials(study) if not spec.filesystem.read_only]
    small = [
        spec.workload.name for spec in specs if workloads.has_workload_few_calls(spec.workload)
    ]
    small += [sql.SET_NAME] * bool(_modes(specs))
    names = list(dict.fromkeys(small)) or [DEFAULT_LOAD]
    if not specs:
        return Request([], [])
    media = [
        on
        for on in requests.make_study_campaign_request(study, names).media
        if _keeps_synced_data(on.filesystem.power)
    ]
    return Request(media, names)


def find_cut_load_title(study: Study, name: str) -> str | None:
    """The one of a campaign's loads that is cut; None: all of them."""
    modes = _modes(plan_trials(study)) if name == sql.SET_NAME else set()
    return modes.pop() if len(modes) == 1 else None


def _modes(specs: Sequence[TrialSpec]) -> set[str]:
    """Journal modes of the trials' SQLite that promise something, as loads of ours are called."""
    pairs = ((s.parameters.get("journal"), s.parameters.get("synchronous")) for s in specs)
    return {f"{journal}, {synchronous}" for journal, synchronous in pairs} & sql.MODES.keys()


def _keeps_synced_data(power: object) -> bool:
    return getattr(power, "keeps", "") == "synced"


def select_sample_cut_points(loads: LoadSet) -> CutPoints:
    """The points of a load that are a sample of it."""
    calls = max((len(load.calls) for load in loads.loads), default=0)
    return CutPoints(every=max(1, math.ceil(calls / CALLS_CUT_EACH_MAX)))


def estimate_campaign_minutes(wanted: Request, jobs: int) -> int:
    """What a sample takes of the host, about."""
    return math.ceil(len(list(wanted.pairs())) * CAMPAIGN_S / max(1, jobs) / 60)
