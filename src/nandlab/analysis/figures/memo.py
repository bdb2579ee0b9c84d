# SPDX-License-Identifier: GPL-2.0-or-later
"""What is worked out of a trial is worked out once, however many tables and sentences have it.

A trial never changes, so a value of it holds for as long as the trial is there. It is kept beside
the trial and not in it: a copy with other fields has values of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from nandlab.results.record import Trial

T = TypeVar("T")
ValueByReader = dict[Callable[[Trial], Any], Any]

_VALUES_BY_TRIAL: dict[int, ValueByReader] = {}
"""Values of each trial that is there, by its id(): a trial has no hash."""


def memoize_by_trial(read: Callable[[Trial], T]) -> Callable[[Trial], T]:
    """A function of a trial that is called once for each trial; its value is never changed."""

    @wraps(read)
    def value(trial: Trial) -> T:
        known = _VALUES_BY_TRIAL.get(id(trial))
        if known is None:
            known = _VALUES_BY_TRIAL[id(trial)] = {}
            weakref.finalize(trial, _VALUES_BY_TRIAL.pop, id(trial)).atexit = False
        if read not in known:
            known[read] = read(trial)
        found: T = known[read]
        return found

    return value
