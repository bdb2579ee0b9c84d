# SPDX-License-Identifier: GPL-2.0-or-later
"""All instruments, in the order of their steps at one moment."""

from __future__ import annotations

from nandlab.measure.bits import BITS
from nandlab.measure.counters import COUNTERS
from nandlab.measure.cpu import CPU
from nandlab.measure.instrument import Instrument
from nandlab.measure.memory import MEMORY
from nandlab.measure.parts import PARTS
from nandlab.measure.read_ahead import READ_AHEAD
from nandlab.measure.reads import READS
from nandlab.measure.restart import RESTART
from nandlab.measure.space import SPACE
from nandlab.measure.wear import WEAR
from nandlab.plan.trialspec import TrialSpec

INSTRUMENTS = (MEMORY, COUNTERS, READ_AHEAD, CPU, SPACE, WEAR, PARTS, READS, RESTART, BITS)


def list_trial_instruments(spec: TrialSpec) -> list[Instrument]:
    """The instruments that measure a trial."""
    return [i for i in INSTRUMENTS if i.wanted(spec)]
