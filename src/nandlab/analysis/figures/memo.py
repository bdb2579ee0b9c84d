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
    def read_once(trial: Trial) -> T:
        values_by_reader = _VALUES_BY_TRIAL.get(id(trial))
        if values_by_reader is None:
            values_by_reader = _VALUES_BY_TRIAL[id(trial)] = {}
            weakref.finalize(trial, _VALUES_BY_TRIAL.pop, id(trial)).atexit = False
        if read not in values_by_reader:
            values_by_reader[read] = read(trial)
        trial_value: T = values_by_reader[read]
        return trial_value

    return read_once
