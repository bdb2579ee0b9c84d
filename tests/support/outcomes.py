# SPDX-License-Identifier: GPL-2.0-or-later
"""Outcomes of jobs, kept for other tests and other runs: a job that came before is not run.

On a board that repeats, what a job gives is a function of the booted board, of all that is put into
its memory (steps, files, programs, modules and cargo, byte for byte), and of the host's code that
reads the record. An outcome is named by a hash of these, so after a change to any of them the job
runs again. Only outcomes are kept, never that a test passed: each test asserts anew.

Every virtual board of a test takes them: those of its own process, and those of commands that it
runs by commandline.py. Another program that a test starts does not. No outcome is given to a test
twice: if it runs the same job again, in whichever process, that is the job's second time, and the
outcome of a second time is another one. So a test of repetition compares two times that the board
ran. A job whose board is lost is never kept.

They are in the cache, as ``outcomes/``, and take 1 GiB at most. ``make test ANEW=1`` takes none of
another run, nor does CI (``CI`` in the environment): there a trial serves the tests of one run. A
test whose subject is that a board runs is marked ``anew``, and takes none at all.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache as cache_of_function
from pathlib import Path
from typing import Any
from uuid import uuid4

import zstandard

from nandlab.base import cache
from nandlab.base.digest import digest_bytes, digest_file, digest_json_value
from nandlab.base.paths import ROOT, find_cache_folder
from nandlab.board.jobs import stagedjob
from nandlab.board.jobs.job import Job, JobRecord, StepRecord
from nandlab.board.virtual import qemu
from nandlab.board.virtual.qemu import QemuBoard

KIND = "outcomes"
MOST_BYTES = 1 << 30
"""What they may take in the cache; those that were not used for longest are removed."""
LARGEST_BYTES = 64 << 20
"""An outcome that takes more, packed, is not kept."""
ANEW = ("ANEW", "CI")
"""Variables of the environment that want no outcome of another run, unless they are empty or 0."""
RUN = "PYTEST_XDIST_TESTRUNUID"
"""Where xdist has the name of a run, for all its workers."""
DECODING = "src/nandlab/board/jobs", "src/nandlab/board/virtual"
"""The host's code that decides what a record has, but for these."""
MAKING = {
    *("build", "cpio", "fake", "modules", "programs"),
    *("image", "kvm", "modversions", "partbuild", "partset", "shell", "yaffs2"),
}
"""Modules there that only make what a job brings and a board is booted from: files whose bytes are
among the inputs."""
TEST = "NANDLAB_TESTS_OUTCOMES"
"""Where a test's environment names the file of the outcomes that it was given; absent: it takes
none."""


@dataclass
class Test:
    """The test that runs now.

    Its file has the name of the one run of the tests whose outcomes it takes, or nothing where it
    takes those of all runs, and then a line for each outcome that it was given, or has made.
    """

    file: Path | None = None
    """None: it takes no outcome."""

    def begin(self, file: Path, of_run: str | None, *, anew: bool) -> None:
        """Another test begins; anew: it is about how boards run, and takes no outcome."""
        file.write_text(f"{of_run or ''}\n")
        self.file = None if anew else file
        os.environ.pop(TEST, None)
        if not anew:
            os.environ[TEST] = str(file)

    def read_run(self) -> str | None:
        """The name of the one run of the tests whose outcomes it takes; None: of all runs."""
        assert self.file
        return self.file.read_text().partition("\n")[0] or None

    def count_job(self, name: str) -> int:
        """How often it ran this job before, in all its processes."""
        assert self.file
        with self.file.open("a+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            before = f.read().split("\n")[1:].count(name)
            f.write(f"{name}\n")
        return before


now = Test()


def run_of(environment: Mapping[str, str] = os.environ) -> str | None:
    """The name of this run of the tests, if it takes no outcome of others; None: it does."""
    if all(environment.get(name, "") in ("", "0") for name in ANEW):
        return None
    return environment.get(RUN) or uuid4().hex


_run = QemuBoard.run
"""How a board runs a job."""


@cache_of_function
def _decoding() -> str:
    """A digest of the host's code that decides what a record has."""
    code = sorted(path for folder in DECODING for path in (ROOT / folder).rglob("*.py"))
    decides = [path for path in code if path.stem not in MAKING]
    assert len(code) - len(decides) == len(MAKING)
    return digest_json_value([[path.name, digest_file(path)] for path in decides])


def inputs(board: QemuBoard, job: Job) -> dict[str, Any]:
    """All that a job's outcome is a function of; UsageError, NandlabError as run() has them."""
    first = (
        stagedjob.make_first_piece_job(job, job.setup, board.machine.model) if job.setup else None
    )
    carried = board._carried(job, first)
    if job.setup:
        carried[stagedjob.compute_second_piece_address(board.machine.model)] = (
            stagedjob.make_second_piece_archive(job, job.setup)
        )
    hold = job.cargo
    return {
        "run": now.read_run(),
        "code": _decoding(),
        "booted": qemu._list_inputs(board.machine),
        "given": {f"{at:#x}": digest_bytes(content) for at, content in carried.items()},
        "setup": bool(job.setup),
        "back": [hold.back_address, hold.returned_memory and list(hold.returned_memory)]
        if hold
        else None,
    }


async def _run_or_take(
    board: QemuBoard, job: Job, on_step: Callable[[str], None] | None = None
) -> JobRecord:
    """Runs a job as the board does, if it must."""
    if not job.steps or not board.deterministic or now.file is None:
        return await _run(board, job, on_step)
    decides = inputs(board, job)
    before = now.count_job(digest_json_value(decides))
    if before:
        decides["before"] = before
    record = _found(decides)
    if record is not None:
        if on_step:
            for step in record.steps:
                on_step(step.step)
        return record
    record = await _run(board, job, on_step)
    _keep(decides, record)
    return record


def take_outcomes() -> None:
    """From here on no virtual board of this process runs a job whose outcome is kept.

    In a process that a test began, the test is that of the environment.
    """
    named = os.environ.get(TEST)
    now.file = Path(named) if named else None
    setattr(QemuBoard, _run.__name__, _run_or_take)


@contextmanager
def without_outcomes() -> Iterator[None]:
    """Meanwhile boards of this process run all jobs, as in a test that is marked ``anew``."""
    file, now.file = now.file, None
    try:
        yield
    finally:
        now.file = file


def _found(decides: Any) -> JobRecord | None:
    with cache.hold_entry(KIND, decides) as folder:
        return None if folder is None else decoded((folder / "record").read_bytes())


def _keep(decides: Any, record: JobRecord) -> None:
    content = encoded(record)
    if len(content) > LARGEST_BYTES or cache.has_entry(KIND, decides):
        return
    with cache.fill_entry(KIND, decides) as work:
        if work is not None:
            (work / "record").write_bytes(content)


def encoded(record: JobRecord) -> bytes:
    """A record in bytes: JSON of its steps, a line, then what it brought and what it left."""
    blobs = (record.cargo, record.returned_memory)
    head = {
        "steps": [asdict(step) for step in record.steps],
        "host_memory": list(record.host_memory),
        "available": record.available,
        "sizes": [None if blob is None else len(blob) for blob in blobs],
    }
    told = json.dumps(head).encode() + b"\n"
    return zstandard.compress(b"".join([told, *(blob or b"" for blob in blobs)]), 3)


def decoded(content: bytes) -> JobRecord:
    """The record that encoded() wrote."""
    whole = zstandard.decompress(content)
    end = whole.index(b"\n")
    head, at = json.loads(whole[:end]), end + 1
    blobs: list[bytes | None] = []
    for size in head["sizes"]:
        blobs.append(None if size is None else whole[at : at + size])
        at += size or 0
    steps = tuple(StepRecord(**step) for step in head["steps"])
    return JobRecord(steps, tuple(head["host_memory"]), blobs[0], head["available"], blobs[1])


def trim() -> None:
    """Removes outcomes that were not used for longest, until they take MOST_BYTES at most."""
    there = (find_cache_folder() / KIND).glob("*/*")
    try:
        taken = sum(path.stat().st_size for path in there if path.is_file())
    except FileNotFoundError:  # another process moves one meanwhile; it looks at the end, too
        return
    if taken > MOST_BYTES:
        cache.trim_cache_kind(KIND, MOST_BYTES)
