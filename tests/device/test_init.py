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
from fuzz.targets.init import CMDLINE, COUNTS, MEMINFO, MEMORY

from nandlab.board.jobs.cargo import HEAD, HEAD_BYTES, MAGIC
from nandlab.board.jobs.cpio import Archive

LONGEST_S = (2**63 - 1) // 32 // 10**9
"""The longest deadline; init's moment.h has it in ns."""
EVENTS = "ready", "begin"


def records(
    folder: Path, steps: str, start: str = "0", kills: int = 0, memory: bytes = MEMORY
) -> list[dict[str, Any]]:
    """What init records of a job, on a board whose kernel has killed processes before it.

    memory: where the host leaves what is to be unpacked.
    """
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
        "root/dev/mem": memory,
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


def left(content: bytes) -> bytes:
    """The board's memory where the host has left a content."""
    return HEAD.pack(MAGIC, len(content)).ljust(HEAD_BYTES, b"\0") + content


def test_a_file_is_unpacked_byte_for_byte_and_the_first_step_waits_for_the_second_second(
    tmp_path: Path,
) -> None:
    cpio, content = Archive(), bytes(range(256)) * 41 + b"end"
    cpio.file("job/deep/f", content)
    found = records(tmp_path, "load\t5\texit 0\n", memory=left(cpio.bytes()))
    assert (tmp_path / "tmp/unpacked").read_bytes() == content
    ready, load = (next(each for each in found if each["event"] == name) for name in EVENTS)
    assert load["t_ns"] // 10**9 == ready["t_ns"] // 10**9 + 2


def linked() -> bytes:
    cpio = Archive()
    cpio.link("job/f", "g")
    return cpio.bytes()


ARCHIVE = MEMORY[HEAD_BYTES:]
NO_ARCHIVE = "the job is no archive of files and folders"


@pytest.mark.parametrize(
    ("memory", "what"),
    [
        (bytes(9000), "the host left no job"),
        (left(b""), "the host left no job"),
        (left(ARCHIVE[:109]), NO_ARCHIVE),
        (left(ARCHIVE[:-200]), NO_ARCHIVE),
        (left(ARCHIVE.replace(b"%08X" % 5000, b"FFFFFFFF", 1)), NO_ARCHIVE),
        (left(linked()), NO_ARCHIVE),
    ],
    ids=["nothing", "empty", "no head", "cut off", "too large", "a link"],
)
def test_what_is_no_job_is_refused(tmp_path: Path, memory: bytes, what: str) -> None:
    last = records(tmp_path, "load\t5\texit 0\n", memory=memory)[-1]
    assert (last["event"], last["what"]) == ("failed", what)


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
