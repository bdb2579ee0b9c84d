# SPDX-License-Identifier: GPL-2.0-or-later
"""A job's record."""

from __future__ import annotations

from dataclasses import replace

from nandlab.board.jobs.job import JobRecord

MIB = 1 << 20


def test_its_text_leaves_out_memory_that_it_brought_back_and_its_equality_does_not() -> None:
    record = JobRecord((), available=7, cargo=bytes(MIB), returned_memory=bytes(MIB))
    assert repr(record) == "JobRecord(steps=(), host_memory=(), available=7)"
    assert record != replace(record, cargo=bytes(MIB - 1))
    assert record != replace(record, returned_memory=bytes(MIB - 1))
