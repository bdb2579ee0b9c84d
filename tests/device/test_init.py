# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's init and the agent on this machine, under sanitizers.

tests/fuzz/host/ has what stands for the machine: a step is words, and waits take no time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fuzz import sanitized
from fuzz.target import write
from fuzz.targets.init import CMDLINE, COUNTS, MEMINFO

LONGEST_S = (2**63 - 1) // 32 // 10**9
"""The longest deadline; init's moment.h has it in ns."""


def records(folder: Path, steps: str, start: str = "0", kills: int = 0) -> list[dict[str, Any]]:
    """What init records of a job, on a board whose kernel has killed processes before it."""
    proc = {
        "cmdline": CMDLINE,
        "meminfo": MEMINFO,
        "vmstat": f"nr_free_pages 9\noom_kill {kills}\n".encode(),
    }
    files = {
        "tmp/before": b"",
        "job/steps": steps.encode(),
        "job/start": start.encode(),
        "root/sys/kernel/debug/simnand/counters": COUNTS,
        **{f"root/proc/{name}": text for name, text in proc.items()},
    }
    write(files, folder)
    lines = sanitized.run([sanitized.init()], folder).splitlines()
    return [json.loads(line) for line in lines if line]


def ends(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in found if each["event"] == "end"]


def test_memory_that_ran_out_before_the_job_is_not_the_jobs(tmp_path: Path) -> None:
    (load,) = ends(records(tmp_path, "load\t5\texit 3\n", kills=7))
    assert load["rc"] == 3
    assert "out_of_memory" not in load


def test_memory_that_ran_out_in_an_earlier_step_is_told_of_each_that_fails(tmp_path: Path) -> None:
    steps = "load\t5\toom 8\nmore\t5\texit 3\nalways-log\t5\texit 0\n"
    load, more, log = ends(records(tmp_path, steps, kills=7))
    assert more["out_of_memory"] is True
    assert "out_of_memory" not in load | log


def test_the_longest_deadline_passes(tmp_path: Path) -> None:
    (load,) = ends(records(tmp_path, f"load\t{LONGEST_S}\thang 1\n"))
    assert load["timed_out"] is True
    assert load["end_ns"] - load["start_ns"] >= LONGEST_S * 10**9


@pytest.mark.parametrize("deadline", [LONGEST_S + 1, 9223372037, 10**20, 0, -1])
def test_another_deadline_is_refused(tmp_path: Path, deadline: int) -> None:
    found = records(tmp_path, f"load\t{deadline}\texit 0\n")
    assert found[-1]["event"] == "failed"
    assert found[-1]["what"].startswith("malformed step: load")


@pytest.mark.parametrize("start", [2**63 // 32, -(2**63 // 32) - 1, 10**20])
def test_a_start_out_of_range_is_refused(tmp_path: Path, start: int) -> None:
    found = records(tmp_path, "load\t5\texit 0\n", start=f"{start}\n")
    assert found[-1] == {
        "event": "failed",
        "what": "job/start",
        "why": "Numerical result out of range",
    }


@pytest.mark.parametrize(
    ("period_ms", "offset_ns", "what"),
    [
        ("1000", "5", None),
        ("0", "0", "await: PERIOD_MS"),
        ("9223372036855", "0", "await: PERIOD_MS"),
        ("1000", str(2**63 // 32), "await: OFFSET_NS"),
    ],
)
def test_the_agent_awaits_a_moment_within_its_range(
    tmp_path: Path, period_ms: str, offset_ns: str, what: str | None
) -> None:
    said = sanitized.run([sanitized.agent(), "await", period_ms, offset_ns], tmp_path)
    assert [json.loads(line)["what"] for line in said.splitlines() if line] == [what] * bool(what)
