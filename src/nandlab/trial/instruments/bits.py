# SPDX-License-Identifier: GPL-2.0-or-later
"""Bits that read wrong in a trial, what the ECC made of them, and the blocks that UBI moved for it.

The simulated chip counts the bits, at no cost. UBI logs each block that it has scrubbed. Both are
of the whole trial, from the chip's load to its last step. A trial without errors has zeros.
"""

from __future__ import annotations

import re

from nandlab.board.jobs.job import JobRecord, escape_output
from nandlab.flash.chip import simnand
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.instruments.instrument import Instrument, InstrumentReading

NAME = "bits"
LOG_STEP = "kernel-log"
LOG_LINE = re.compile(r"<\d{1,3}>\[ *(\d{1,9}\.\d{1,9})\] (.*)")
SCRUB_MESSAGE = re.compile(r"ubi\d+: scrubbed PEB \d+ ")
"""What UBI logs of a block that it moved because bits had flipped (drivers/mtd/ubi/wl.c)."""
NS_PER_S = 1_000_000_000


def _applies_to(spec: TrialSpec) -> bool:
    return not spec.is_own_board


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """The chip's counts and UBI's scrubs; what is not known is left out."""
    found: dict[str, int | float] = {**_sum_chip_counts(record)}
    scrubs = _count_scrubs(record) if "ubi" in spec.filesystem.modules else None
    return found if scrubs is None else {**found, "scrubs": scrubs}


def _sum_chip_counts(record: JobRecord) -> dict[str, int]:
    """Of the whole trial. A chip that is loaded anew counts from 0 again."""
    total: dict[str, int] = {}
    before: dict[str, int] = {}
    for step in record.steps:
        now = simnand.parse_bit_counts(step.counts)
        anew = any(now[key] < before.get(key, 0) for key in now)
        for key, count in now.items():
            total[key] = total.get(key, 0) + count - (0 if anew else before.get(key, 0))
        before = now or before
    return total


def _count_scrubs(record: JobRecord) -> int | None:
    """Blocks that UBI scrubbed since the job began; None: the log no longer reaches so far back."""
    log = record.get(LOG_STEP)
    if log is None or not record.steps:
        return None
    since_s = record.steps[0].start_ns / NS_PER_S
    lines = filter(None, map(LOG_LINE.fullmatch, escape_output(log.stdout).splitlines()))
    told = [(float(line[1]), line[2]) for line in lines]
    if not told or told[0][0] >= since_s:
        return None
    return sum(at >= since_s and bool(SCRUB_MESSAGE.match(text)) for at, text in told)


INSTRUMENT = Instrument(
    NAME,
    _applies_to,
    InstrumentReading(
        lambda spec, record, phases: _collect_figures(spec, record), is_left_out_empty=True
    ),
    order=10,
)
