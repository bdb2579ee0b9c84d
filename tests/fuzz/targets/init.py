# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's init under sanitizers: its jobs and what the kernel tells it, changed.

host/ has what stands for the machine: steps are no shell commands, waits take no time.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz import sanitized, texts
from fuzz.target import Files, Target
from nandlab.board.jobs.cargo import HEAD, HEAD_BYTES, MAGIC
from nandlab.board.jobs.job import Job, Step

STEPS = b"""format\t60\tout 20
mount\t5\terr 9 exit 0
load\t1\torphan 300 out 5000 sleep 900
hangs\t1\thang 1
fails\t10\traise 11
always-log\t60\tout 9000 err 100 exit 3
"""
WORDS = (
    *(
        b"\t",
        b"always-x",
        b"out 8400000",
        b"out 70000",
        b"raise 9",
        b"raise 19",
        b"hang 1",
        b"exit 255",
    ),
    *(
        b"orphan 9000",
        b"9223372036",
        b"9223372037",
        b"288230377",
        b"oom 3",
        b"-1",
        b"99999999999999999999",
        b'a"b',
        b"x" * 200,
    ),
)
CMDLINE = b"console=ttyS0 mem=128M nandlab.exact nandlab.job=0x10000000 quiet\n"
MEMINFO = b"MemTotal: 60000 kB\nMemFree: 50000 kB\nMemAvailable:   54000 kB\n"
VMSTAT = b"nr_free_pages 9\noom_kill 0\npgfault 1\n"
COUNTS = b"reads 5\nprograms 5\n\xff\n"


def steps(chance: Random) -> Files:
    """A job's steps, and how long after a whole second the first begins."""
    start = chance.choice((b"0", b"12345678\n", b"999999999", b"-5", b"x", b""))
    return {
        "job/steps": texts.lines_changed(STEPS, chance, WORDS),
        "job/start": texts.lines_changed(start, chance) if chance.random() < 0.3 else start,
    }


def _memory() -> bytes:
    """A job as the host leaves it in the board's memory."""
    archive = Job((Step("run", "true"),), {"f": b"x" * 5000}).archive({}, {})
    return HEAD.pack(MAGIC, len(archive)).ljust(HEAD_BYTES, b"\0") + archive


MEMORY = _memory()


def machine(chance: Random) -> Files:
    """Files of the kernel's, now and then changed."""
    told = {
        "cmdline": CMDLINE,
        "meminfo": MEMINFO,
        "vmstat": VMSTAT,
    }
    found = {f"root/proc/{name}": text for name, text in told.items()}
    found["root/sys/kernel/debug/simnand/counters"] = COUNTS
    for name, text in found.items():
        found[name] = texts.lines_changed(text, chance) if chance.random() < 0.15 else text
    found["root/dev/mem"] = texts.bytes_changed(MEMORY, chance) if chance.random() < 0.3 else MEMORY
    for name in ("busy", "slow"):
        if chance.random() < 0.02:
            found[f"root/proc/{name}"] = b""
    return found


def draw(chance: Random) -> Files:
    return {"tmp/before": b"", **machine(chance), **steps(chance)}


def take(folder: Path) -> None:
    sanitized.run([sanitized.BUILT / "init"], folder)


DEVICE = Target(draw, take, prepare=sanitized.init, cases=8)
