# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a job file of fio: its sections, what [global] gives them, and what is no part of ours."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_text
from nandlab.catalog.from_fio.mixtures import list_request_sizes, parse_request_sizes, parse_zones
from nandlab.catalog.from_fio.options import (
    ALIASES,
    FIXED_OPTIONS,
    IGNORED_OPTIONS,
    OPTIONS,
    QUEUING_ENGINES,
    REFUSAL_REASONS,
    SAME_ENGINES,
    VALUELESS_OPTIONS,
    parse_fio_size,
)
from nandlab.catalog.from_fio.waits import arrange_exits, arrange_waits

GLOBAL = "global"
BYTES_MAX = 1 << 20
SECTION = re.compile(r"\[([^\]\[]+)\]")
NAME_MAX = 40
COMMAND_LINE = ("fio --", "--")
MIXTURES = ("bssplit", "bsrange", "random_distribution")
RANGED, SPLIT = "bsrange", "bssplit"
"""In a section fio takes bs, then bsrange, then bssplit, in whatever order they are written; over
what [global] says, each of them holds."""
KINDS = ("read", "write", "write_sync", "fsync", "fdatasync")


@dataclass
class JobSection:
    """A job: its name, the line of its section, and its options as the board's program has them."""

    name: str
    line: int
    options: dict[str, str]

    @property
    def rw(self) -> str:
        return self.options["rw"]

    @property
    def reads(self) -> bool:
        return self.rw not in ("write", "randwrite")

    @property
    def writes(self) -> bool:
        return self.rw not in ("read", "randread")

    @property
    def stonewall(self) -> bool:
        return self.options.get("stonewall") == "1"

    @property
    def files(self) -> int:
        return self.read_number("nrfiles") or 1

    def read_number(self, name: str) -> int:
        """A number of its options; 0: it is not given."""
        return int(self.options.get(name, "0"))

    @property
    def paced(self) -> bool:
        """Whether its time is set by the job file and not by the flash."""
        return any(
            self.options.get(name, "0").strip("0,")
            for name in ("rate", "rate_iops", "thinktime", "runtime", "startdelay")
        )

    def kinds(self) -> list[str]:
        """The kinds of operations that it has, as the board's program tells them."""
        synced = self.options.get("sync", "none") != "none"
        requested = {
            "read": self.reads,
            "write": self.writes and not synced,
            "write_sync": self.writes and synced,
            "fsync": self.writes
            and any(self.read_number(name) for name in ("fsync", "end_fsync", "fsync_on_close")),
            "fdatasync": self.writes and bool(self.read_number("fdatasync")),
        }
        return [kind for kind in KINDS if requested[kind]]


@dataclass
class JobFile:
    """A job file as it was read."""

    path: Path
    jobs: list[JobSection] = field(default_factory=list)
    overrides: dict[str, str] = field(default_factory=dict)
    """Options that all jobs have, whatever the file says."""
    notes: list[str] = field(default_factory=list)
    """What it says that changes nothing, each in a sentence."""

    def groups(self) -> list[list[JobSection]]:
        """Jobs that run at once, in order."""
        groups: list[list[JobSection]] = []
        for job in self.jobs:
            if not groups or job.stonewall:
                groups.append([])
            groups[-1].append(job)
        return groups


def read_fio_job_file(path: Path, overrides: dict[str, str] | None = None) -> JobFile:
    """A job file; UsageError lists all that is wrong or no part of what can be done, with lines.

    Options of *overrides* stand in every job, instead of what the file says.
    """
    text = read_text(path, BYTES_MAX)
    lines = [re.split(r"[;#]", line, maxsplit=1)[0].strip() for line in text.splitlines()]
    reader = _JobFileReader(path, overrides or {})
    written = [(number, line) for number, line in enumerate(lines, 1) if line]
    if written and written[0][1].startswith(COMMAND_LINE):
        written = list(_expand_command_line(path, written))
    for number, line in written:
        reader.take(number, line)
    return reader.ended()


def _expand_command_line(path: Path, written: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines of a job file that say what a command line of fio does, each with its line."""
    joined = " ".join(line.removesuffix("\\").strip() for _, line in written)
    first = written[0][0]
    try:
        words = shlex.split(joined)
    except ValueError as e:
        raise UsageError(f"{path}:{first}: no command line of a shell: {e}") from None
    yield first, f"[{GLOBAL}]"
    index = 1 if words[0] == "fio" else 0
    while index < len(words):
        word, following = words[index], words[index + 1 : index + 2]
        key, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise UsageError(f"{path}:{first}: {word}: expected --OPTION=VALUE")
        index += 1
        if (
            not equals
            and key not in VALUELESS_OPTIONS
            and following
            and not following[0].startswith("--")
        ):
            value = following[0]
            index += 1
        if key == "name":
            yield first, f"[{value}]"
        else:
            yield first, f"{key}={value}" if value else key


class _JobFileReader:
    """Takes lines, and keeps every mistake."""

    def __init__(self, path: Path, overrides: dict[str, str]) -> None:
        self.path = path
        self.file = JobFile(path, overrides=overrides)
        self.wrong: list[str] = []
        self.shared: dict[str, str] = {}
        self.size_options: set[str] = set()
        """Of sizes those that the section itself gives."""
        self.into: dict[str, str] | None = None
        """Options of the section that is being read; None: none has begun."""
        self._apply_overrides(overrides)

    def _apply_overrides(self, overrides: dict[str, str]) -> None:
        self.overridden: set[str] = set()
        self.into = self.shared
        for key, value in overrides.items():
            self._option(0, key, value)
        self.overridden = {_name_family(key) for key in overrides}
        self.into = None

    def refuse(self, line: int, why: str) -> None:
        self.wrong.append(f"{self.path}:{line}: {why}" if line else f"--set {why}")

    def take(self, number: int, line: str) -> None:
        if not line:
            return
        if section := SECTION.fullmatch(line):
            self._begin(number, section[1].strip())
        elif self.into is None:
            self.refuse(number, "expected [global] or a job's [NAME]")
            self.into = {}
        else:
            key, equals, value = (part.strip() for part in line.partition("="))
            self._option(number, key, value if equals else None)

    def _begin(self, number: int, section: str) -> None:
        self.size_options = set()
        if section == GLOBAL:
            self.into = self.shared
            return
        name = make_section_job_name(section)
        self.into = dict(self.shared)
        same = next((job for job in self.file.jobs if job.name == name), None)
        if not name:
            self.refuse(number, f"[{section}]: a job's name has a letter or a digit")
        elif same is not None:
            self.refuse(number, f"[{section}]: is called {name} here, as that of line {same.line}")
        self.file.jobs.append(JobSection(name, number, self.into))

    def _option(self, number: int, key: str, value: str | None) -> None:
        assert self.into is not None
        name = ALIASES.get(key, key)
        if name == "include" or key.startswith("include "):
            self.refuse(number, f"include: {REFUSAL_REASONS['include']}")
        elif _name_family(key) in self.overridden:
            self._note(f"line {number}: {key}: --set has another for all jobs")
        elif name in IGNORED_OPTIONS and (value is not None or name in VALUELESS_OPTIONS):
            self._note(f"line {number}: {key}: {IGNORED_OPTIONS[name]}")
        elif value is None and name not in VALUELESS_OPTIONS:
            known = f"expected {key}=VALUE" if name in OPTIONS else self._unknown(key)
            self.refuse(number, known)
        elif value is not None and "$" in value:
            self.refuse(number, f"{key}={value}: no variables: write the value itself")
        elif name in FIXED_OPTIONS:
            self._only(number, key, "1" if value is None else value)
        elif name in MIXTURES:
            self._mixture(number, key, value or "")
        elif name not in OPTIONS:
            self.refuse(number, self._unknown(key))
        else:
            self._check_option(number, key, "1" if value is None else value)

    def _check_option(self, number: int, key: str, value: str) -> None:
        assert self.into is not None
        name = ALIASES.get(key, key)
        if name == "buffered":
            name, value = "direct", {"0": "1", "1": "0"}.get(value, value)
        try:
            if name == "rw":
                value = self._take_step(value)
            value_text = OPTIONS[name](value)
            if name == "bs":
                if RANGED in self.size_options:
                    self._note(f"line {number}: {key}={value}: bsrange holds, as in fio")
                    return
                self._fix_size()
            self.into[name] = value_text
            if name == "filename" and "/" in value:
                self._note(
                    f"line {number}: {key}={value}: its folder changes nothing: files are in "
                    "the mountpoint"
                )
        except ValueError as e:
            more = f"; {REFUSAL_REASONS[name]}" if name in REFUSAL_REASONS else ""
            self.refuse(number, f"{key}={value}: {e}{more}")

    def _fix_size(self) -> None:
        """One size holds over what [global] mixes."""
        assert self.into is not None
        self.into.pop("bs_max", None)
        if SPLIT not in self.size_options:
            self.into.pop(SPLIT, None)

    def _take_step(self, value: str) -> str:
        """Takes what ``rw=read:-8k`` skips after each request; the value without it."""
        assert self.into is not None
        direction, colon, step = value.partition(":")
        self.into.pop("seq_add", None)
        if colon and direction.startswith("rand"):
            raise ValueError("a random place is drawn for each request: leave the number out")
        if colon:
            sign = "-" if step.startswith("-") else ""
            self.into["seq_add"] = f"{sign}{parse_fio_size(step.removeprefix('-'))}"
        return direction

    def _mixture(self, number: int, key: str, value: str) -> None:
        assert self.into is not None
        try:
            if key == "random_distribution":
                self.into.pop("zones", None)
                self.into.update(parse_zones(value))
            else:
                sizes = parse_request_sizes(key, value)
                if key == RANGED:
                    self.into.pop("bs_max", None)
                    if "bs_max" not in sizes:
                        self._fix_size()
                self.size_options.add(key)
                self.into.update(sizes)
        except ValueError as e:
            self.refuse(number, f"{key}={value}: {e}")

    def _only(self, number: int, key: str, value: str) -> None:
        can, why = FIXED_OPTIONS[key]
        if value != can:
            self.refuse(number, f"{key}={value}: only {key}={can} can be done: {why}")
        else:
            self._note(f"line {number}: {key}={value}: {why}")

    def _note(self, text: str) -> None:
        self.file.notes.append(text)

    def _unknown(self, key: str) -> str:
        if key in REFUSAL_REASONS:
            return f"{key}: cannot be done: {REFUSAL_REASONS[key]}"
        known = [*OPTIONS, *MIXTURES, *ALIASES, *IGNORED_OPTIONS, *FIXED_OPTIONS]
        near = difflib.get_close_matches(key, known, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        return f"{key}: {meant}is no option that can be done here; docs/fio.md lists those"

    def ended(self) -> JobFile:
        if not self.file.jobs and not self.wrong:
            self.wrong.append(f"{self.path}: has no job: begin one with [NAME]")
        before = list(self.wrong)  # what was misread fits nothing
        waits = [
            (job, make_section_job_name(job.options.pop("wait_for", ""))) for job in self.file.jobs
        ]
        for job, why in [*arrange_waits(waits), *arrange_exits(self.file.jobs)]:
            self.refuse(job.line, f"[{job.name}]: {why}")
        for job in self.file.jobs:
            _complete_options(job)
            if not before:
                for why in _check_job(job):
                    self.refuse(job.line, f"[{job.name}]: {why}")
            self._use_engine(job)
            job.options.pop("filesize", None)
        if self.wrong:
            raise UsageError(*self.wrong)
        return self.file

    def _use_engine(self, job: JobSection) -> None:
        """Takes an engine's queue of requests out, where it changes nothing."""
        engine = job.options.get("ioengine", "psync")
        depth = int(job.options.pop("iodepth", "1"))
        if engine in SAME_ENGINES:
            job.options["ioengine"] = SAME_ENGINES[engine]
            self._note(
                f"[{job.name}]: ioengine={engine} is {SAME_ENGINES[engine]} here: a list of one "
                "buffer is that buffer"
            )
        elif engine in QUEUING_ENGINES:
            job.options["ioengine"] = "psync"
            why = "through the page cache the kernel does its requests one after the other"
            if job.options.get("direct", "0") != "0":
                why = "it has one request at a time"
            self._note(f"[{job.name}]: ioengine={engine} is psync here: {why}")
        elif depth > 1:
            self._note(
                f"[{job.name}]: iodepth={depth}: ioengine={engine} has one request at a time"
            )


def _name_family(key: str) -> str:
    """The option that a key sets, as do its other names and its contrary."""
    name = ALIASES.get(key, key)
    return {"bssplit": "bs", "bsrange": "bs", "buffered": "direct"}.get(name, name)


def make_section_job_name(section: str) -> str:
    """A section's name as figures can bear it: lower-case letters, digits and _."""
    words = "_".join(re.findall(r"[a-z0-9]+", section.lower()))[:NAME_MAX].strip("_")
    taken = words in ("layout", "") or re.fullmatch(r"group_\d+", words) or words[0].isdigit()
    return f"job_{words}" if words and taken else words


def _complete_options(job: JobSection) -> None:
    """Fills in what follows from other options."""
    options = job.options
    options.setdefault("rw", "read")
    if "bssplit" in options:
        options.pop("bs", None)
        options.pop("bs_max", None)
    if "rwmixwrite" in options:
        options.setdefault("rwmixread", str(100 - int(options["rwmixwrite"])))
        del options["rwmixwrite"]
    if "filesize" in options:
        options.setdefault("size", str(job.read_number("filesize") * job.files))


def _check_job(job: JobSection) -> Iterator[str]:
    """Why a job cannot be done as a whole, each in a sentence."""
    options, file_bytes = job.options, job.read_number("size") // job.files
    if not job.read_number("size"):
        yield "size is missing"
        return
    if "filesize" in options and job.read_number("filesize") != file_bytes:
        yield "size is not filesize times nrfiles: leave one of the two out"
    reads, writes = list_request_sizes(options)
    sizes = reads * job.reads + writes * job.writes
    if max(sizes) > file_bytes:
        yield f"bs {max(sizes):,} is more than a file's {file_bytes:,} bytes"
    yield from _check_places(job, file_bytes)
    if "filename" in options and job.files > 1:
        yield "filename is of one file: leave nrfiles out"
    queued = options.get("ioengine") in QUEUING_ENGINES and int(options.get("iodepth", "1")) > 1
    if queued and options.get("direct") == "1":
        yield (
            f"ioengine={options['ioengine']} with direct=1: a queue of requests is not made; "
            "with --set direct=0 they go through the page cache, one after the other"
        )
    if options.get("ioengine") == "vsync" and int(options.get("iodepth", "1")) > 1:
        yield "ioengine=vsync with iodepth: neighbouring requests are not joined"
    if options.get("time_based") == "1" and not job.read_number("runtime"):
        yield "time_based needs a runtime"
    mapped = options.get("norandommap") != "1"
    if job.rw == "randrw" and min(reads) != min(writes) and mapped:
        yield "a random mix of two block sizes needs norandommap"


def _check_places(job: JobSection, each: int) -> Iterator[str]:
    """Why its requests have no place, each in a sentence."""
    options, mapped = job.options, job.options.get("norandommap") != "1"
    if "seq_add" in options and (job.read_number("offset") or abs(int(options["seq_add"])) > each):
        yield "rw with a step needs a step within the file, and no offset"
    for name, option in (("zones", "random_distribution"), ("blockalign", "blockalign")):
        if name in options and (mapped or not job.rw.startswith("rand")):
            yield f"{option} needs random requests and norandommap"
    if job.read_number("offset") and "filesize" in options:
        yield "offset with filesize: give size instead"
    if job.read_number("number_ios") and options.get("time_based") == "1":
        yield "number_ios with time_based: leave one of the two out"
    if job.read_number("number_ios") and job.read_number("loops") > 1:
        yield "number_ios with loops: leave one of the two out"
