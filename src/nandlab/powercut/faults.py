# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the chip instead of power cuts: the same loads, oracle, campaign and folder."""

from __future__ import annotations

from dataclasses import replace

from nandlab.base.errors import UsageError
from nandlab.powercut import loads as of_calls
from nandlab.powercut.loads import Load, LoadSet

PROGRAM = "faultcheck"
FULL = "full"
KINDS = ("program", "erase", "flips", "beyond", "disturb", FULL)
"""What fails; device/programs/faultcheck/faults.c tells what each is."""


def append_sync_to_loads(loads: LoadSet) -> LoadSet:
    """Loads that end with a sync, so that what was not told to be lost must be there."""
    if loads.program != of_calls.PROGRAM:
        raise UsageError(f"--load {loads.name}: faults have no judge of SQL: cut the power instead")
    ended = (Load(each.title, (*each.calls, "sync")) for each in loads.loads)
    return replace(loads, loads=tuple(ended), program=PROGRAM)
