# SPDX-License-Identifier: GPL-2.0-or-later
"""The record of a job."""

from __future__ import annotations

import asyncio
import tracemalloc

from nandlab.board.jobs.job import JobRecord

MIB = 1 << 20


def test_what_came_back_is_in_no_repr() -> None:
    """Python 3.11 takes the repr of what asyncio.run() returns: of 256 MiB one of up to a GiB."""
    record = JobRecord((), cargo=bytes(16 * MIB), returned_memory=bytes(16 * MIB))

    async def run() -> JobRecord:
        return record

    tracemalloc.start()
    assert asyncio.run(run()) is record
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < MIB
