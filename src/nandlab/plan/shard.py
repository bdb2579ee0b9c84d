# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of a run's trials, for one of several machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from nandlab.base.errors import UsageError

T = TypeVar("T")


class Shard(NamedTuple):
    """Part ``number`` of ``total``; the parts have no trial in common and leave none out."""

    number: int
    total: int

    @classmethod
    def parse(cls, words: str) -> Shard:
        """Reads ``I/N``, 1 to N of N; UsageError if it is no such thing."""
        told = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", words)
        if told is None or int(told[1]) > int(told[2]):
            raise UsageError(f"--shard {words}: give I/N, such as 1/3, where I is 1 to N")
        return cls(int(told[1]), int(told[2]))

    def part(self, trials: Sequence[T]) -> list[T]:
        """Every ``total``-th trial, so that slow and fast configurations are shared out."""
        return list(trials[self.number - 1 :: self.total])
