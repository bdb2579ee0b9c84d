# SPDX-License-Identifier: GPL-2.0-or-later
"""All instruments, in the order of their steps at one moment."""

from __future__ import annotations

from functools import cache

from nandlab.base.registry import find_module_values
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.instruments.instrument import Instrument


@cache
def list_instruments() -> tuple[Instrument, ...]:
    """All instruments: those of this folder's modules."""
    found: list[Instrument] = [
        *find_module_values("nandlab.trial.instruments", "INSTRUMENT").values()
    ]
    return tuple(sorted(found, key=lambda one: (one.order, one.name)))


def list_trial_instruments(spec: TrialSpec) -> list[Instrument]:
    """The instruments that measure a trial."""
    return [i for i in list_instruments() if i.is_wanted(spec)]
