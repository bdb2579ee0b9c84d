# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the chip instead of power cuts: the same loads, oracle, campaign and folder.

Each kind is a file of ``device/programs/faultcheck/kinds``, which alone adds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nandlab.base.errors import UsageError
from nandlab.flash.chip.mishaps import FAULT_PROGRAM, read_fault_kinds
from nandlab.powercut import loads as of_calls
from nandlab.powercut.loads import Load, LoadSet


def split_fault_campaigns(kinds: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The kinds of each campaign: those that share one, then each that needs its own."""
    shared = tuple(kind for kind in kinds if not read_fault_kinds()[kind].is_alone)
    alone = [(kind,) for kind in kinds if read_fault_kinds()[kind].is_alone]
    return [*([shared] if shared else []), *alone]


def end_fault_loads(loads: LoadSet, kinds: Sequence[str] = ()) -> LoadSet:
    """Loads that end with a sync, so that what was not told to be lost must be there; and with a
    statfs, so that the room is judged, where the kernel has no memory for a call."""
    if loads.program != of_calls.PROGRAM:
        raise UsageError(f"--load {loads.name}: faults have no judge of SQL: cut the power instead")
    more = ("statfs",) if any(read_fault_kinds()[kind].module for kind in kinds) else ()
    ended = (Load(each.title, (*each.calls, *more, "sync")) for each in loads.loads)
    return replace(loads, loads=tuple(ended), program=FAULT_PROGRAM)
