# SPDX-License-Identifier: GPL-2.0-or-later
"""A batch of cases in a process of its own, which tells of each before it begins and as it ends.

So a case that ends the process, for time, for memory or by a crash, is known. A case that
hangs without work is ended by who waits for the batch.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from fuzz import corpus
from fuzz.target import Files, Target, case, targets, write
from nandlab.base.errors import NandlabError

MEMORY_MIB = 200
"""Most that a case may take beside what the process has."""
ADDRESSES_MIB = 4096
"""What a case may map at most; more fails in it as memory that is not there."""
OWN = "/nandlab/"
"""Of the paths of nandlab's own files."""
LOG = "log"
MEMORY = Path("/dev/shm")
QUIET_S = 60
"""A case that says nothing for so long hangs."""

Label = int | str
"""A case: its seed, or the file's name of a kept one."""


@dataclass
class Finding:
    """A case that neither succeeded nor was refused as it should."""

    target: str
    case: Label
    kind: str
    """Alike for cases of one cause: the error and the last place in nandlab."""
    what: str
    """A traceback, or what the process said as it ended."""


@dataclass
class Batch:
    """A running batch, and what it has told so far."""

    target: str
    cases: Sequence[Label]
    pid: int
    out: int
    """The pipe's end that it is heard by."""
    folder: Path
    """Where cases lie, and what the process says; gone as it has ended."""
    done: int = 0
    running: Label | None = None
    heard: float = field(default_factory=time.monotonic)
    findings: list[Finding] = field(default_factory=list)
    rest: Sequence[Label] = ()
    """What is left to try of cases, as one has ended the process."""
    _partly: bytes = b""
    _abandoned: bool = False

    def hear(self) -> bool:
        """Takes what was told; False: the process has ended, with all that it began."""
        told = os.read(self.out, 1 << 16)
        self.heard = time.monotonic()
        *lines, self._partly = (self._partly + told).split(b"\n")
        for line in lines:
            self._take(*json.loads(line))
        if not told:
            self._end()
        return bool(told)

    def _take(self, label: Label, wrong: list[str] | None) -> None:
        if self.running is None:
            self.running = label
            return
        self.running, self.done = None, self.done + 1
        if wrong:
            self.findings.append(Finding(self.target, label, *wrong))

    @property
    def hangs(self) -> bool:
        return time.monotonic() - self.heard > QUIET_S

    def stop(self) -> None:
        """Ends the process and all that it began."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def abandon(self) -> None:
        """Ends it, whatever it is at; that case is not counted."""
        self._abandoned = True
        self.stop()
        while self.hear():
            pass

    def _end(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.stop()
        os.close(self.out)
        said = (self.folder / LOG).read_text(errors="replace")
        shutil.rmtree(self.folder, ignore_errors=True)
        how = os.waitstatus_to_exitcode(status)
        if self._abandoned or (self.running is None and not how):
            return
        name = signal.Signals(-how).name if how < 0 else f"exit {how}"
        where = next((line.strip() for line in said.splitlines() if OWN in line), "")
        self.findings.append(Finding(self.target, self.running or "", f"{name} {where}", said))
        self.done += 1
        if self.running is not None:
            self.rest = self.cases[self.cases.index(self.running) + 1 :]


def begin(name: str, cases: Sequence[Label], seconds: float) -> Batch:
    """Begins a batch; after so many seconds it takes no further case."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None  # most cases write, and sync
    folder = Path(tempfile.mkdtemp(prefix="nandlab-fuzz-", dir=memory))
    end, out = os.pipe()
    pid = os.fork()
    if pid:
        os.close(out)
        return Batch(name, cases, pid, end, folder)
    status = 1
    try:
        os.close(end)
        os.setsid()
        os.dup2(os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        told = os.fdopen(out, "w", buffering=1)
        _try(name, cases, told, folder, time.monotonic() + seconds)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _try(name: str, cases: Iterable[Label], out: TextIO, folder: Path, until: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.register(signal.SIGPROF, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = _mapped() + (ADDRESSES_MIB << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for label in cases:
        if time.monotonic() > until:
            return
        out.write(f"{json.dumps([label, None])}\n")
        wrong = _one(targets()[name], name, label, folder)
        out.write(f"{json.dumps([label, wrong])}\n")


def files(name: str, label: Label) -> Files:
    """The files of a case, drawn or kept."""
    if isinstance(label, int):
        return case(name, label)
    return corpus.read(corpus.FOLDER / name / f"{label}.tar.xz")


def _one(target: Target, name: str, label: Label, folder: Path) -> tuple[str, str] | None:
    """What is wrong with a case: its kind, and all of it."""
    at = folder / "case"
    at.mkdir()
    try:
        write(files(name, label), at)
        os.chdir(at)
        before = _peak_anew()
        signal.setitimer(signal.ITIMER_PROF, target.cpu_s)
        with contextlib.suppress(NandlabError):
            target.take(at)
    except BaseException as e:
        return _raised(e)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir(folder)
        shutil.rmtree(at)
    grown = _status("VmHWM") - before
    told = f"took {grown >> 10} MiB of memory"
    return ("memory", told) if grown > MEMORY_MIB << 10 else None


def _raised(error: BaseException) -> tuple[str, str]:
    """Kind and traceback of what was raised, without the frames of libraries."""
    found = traceback.TracebackException.from_exception(error)
    own = [frame for frame in found.stack if "site-packages" not in frame.filename]
    found.stack = traceback.StackSummary.from_list(own)
    last = next((f for f in reversed(own) if OWN in f.filename), own[-1])
    where = f"{last.filename.rpartition(OWN)[2]}, {last.name}"
    return f"{type(error).__name__} in {where}", "".join(found.format(chain=False))


def _peak_anew() -> int:
    """Begins a new peak of memory; KiB that are held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(key: str) -> int:
    """KiB of a line of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def _mapped() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
