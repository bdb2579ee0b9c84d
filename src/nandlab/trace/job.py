# SPDX-License-Identifier: GPL-2.0-or-later
"""A command under trace as a job for the board, and what the job brings back.

The records come as cargo, the rest as output of steps.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.cargo import Cargo, cargo
from nandlab.board.job import Job, JobRecord, Step, printable
from nandlab.board.programs import named
from nandlab.catalog.filesystem import CAUSES
from nandlab.chip import file as chipfile
from nandlab.chip import image as chipimage
from nandlab.chip import simulated
from nandlab.chip.simulated import COUNTERS
from nandlab.image import tree
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.trace import copies
from nandlab.trace.copies import Copy
from nandlab.traced import cost, records
from nandlab.traced.records import Names, Recording
from nandlab.traced.setup import FOLDER, records_max, room, start_lines
from nandlab.trial.medium import mount, rest, unmount
from nandlab.trial.steps import config, fill, fill_files, filled, setup

DEADLINE_S = 24 * 3600
ENDED = "mark command ended"
SETTLED = "settle-after"
BEFORE, RECORDS = "chip-before", "records"
CHIP_COUNTS = (
    *("reads", "programs", "erases", "oob_reads", "oob_programs", "subpage_programs"),
    *(
        "raw_reads",
        "raw_programs",
        "buffer_hits",
        "bytes_read",
        "bytes_written",
        "busy_ns",
        "late_ns",
    ),
)
"""The chip's counters that a trace is compared with."""
ENERGY = "energy_nj"
"""A counter that simnand has only if it was loaded with energies, which nandlab does not do: what
a chip draws is worked out after a run, by nandlab.analysis.energy."""


@dataclass(frozen=True)
class Request:
    """What is to be traced."""

    spec: TrialSpec
    """Board, chip, file system and flash state; its workload runs if ``command`` is None."""
    command: str | None
    """A line for the board's shell, run in the mount's folder."""
    tracers: tuple[str, ...]
    functions: tuple[str, ...] = ()
    records: int = 1 << 17
    before: str = ""
    """A line for the shell, run before the trace begins."""
    with_mount: bool = False
    """Whether the trace begins before a mount and ends after the unmount."""
    at_once: bool = False
    """Whether the trace begins without waiting until the chip has come to rest."""
    copies: tuple[Copy, ...] = ()
    """Files that are put on the board once the file system is mounted."""

    def __post_init__(self) -> None:
        if self.command is None and not self.spec.workload.command:
            raise UsageError(
                f"{self.spec.workload.name} is a list of steps, and a trace is of one command: "
                "give the line of the step that you mean"
            )
        board, most = self.spec.virtual, records_max(self.spec.virtual)
        if not 1 <= self.records <= most:
            raise UsageError(
                f"--records {self.records}: must be 1 to {most} on board {board.name}, whose "
                f"RAM holds them beside what runs; for more take --board apf27-trace or "
                f"apf27-trace-8m, or another with more RAM"
            )


def job(request: Request) -> Job:
    """The steps that set up, trace, and hand over."""
    spec = request.spec
    hold = _hold(request, room(request.records))
    steps = list(_until_begin(request, hold))
    if request.with_mount:
        steps.append(mount(spec, "mount-traced"))
    steps += [
        _command(request),
        Step("ended", f"echo {ENDED} > {FOLDER}/control", always=True),
    ]
    if request.with_mount:
        steps.append(unmount(spec, "unmount-traced"))
    # what the command left to background threads belongs to it too; and once that is done,
    # nothing happens between the tracers' last record and the reading of the chip's counters
    steps.append(replace(rest(spec), name=SETTLED, always=True))
    return Job(
        (*steps, *_handed_over(hold)),
        _files(request, hold),
        _offset_ns(request),
        hold,
        spec.workload.home,
    )


def image_job(request: Request) -> Job:
    """The traced job, but that the chip is handed over where the trace would begin.

    So the traced job is the same with and without an image. Every step keeps its place and its
    length: the board's init holds them all, and other lengths would move the clock by some ns. The
    board repeats, so the chip is the same; :func:`image` checks that by each step's ns and output.
    """
    traced = job(request)
    hold = _hold(request, request.spec.image_bytes)
    begun = [step.name for step in traced.steps].index(BEFORE) + 1
    instead = {RECORDS: f"cat {simulated.IMAGE} | {hold.put()}"}
    steps = [_as_long(step, instead.get(step.name, "true")) for step in traced.steps[begun:]]
    return replace(traced, steps=(*traced.steps[:begun], *steps), cargo=hold)


def _as_long(step: Step, command: str) -> Step:
    """The step with another command, blanks after it so that it is as long; programs stay."""
    assert len(command) <= len(step.command), f"{step.name} is too short for {command}"
    return replace(step, command=command.ljust(len(step.command)))


def image(record: JobRecord, traced: JobRecord) -> bytes:
    """The chip as it was when the trace began; NandlabError if it is not known to be that."""
    step, before = record.get(RECORDS), record.get(BEFORE)
    if step is None or before is None or not step.ok or record.cargo is None:
        failed = record.failed()
        raise NandlabError(f"no image: {failed.failure() if failed else 'none was brought'}")
    if _to_begin(record) != _to_begin(traced):
        raise NandlabError("no image: the board did not repeat what came before the trace")
    try:
        chipimage.decode(record.cargo)
    except NandlabError as e:
        why = f"{e}; if a collector still worked, end --before with 'sync; settle'"
        raise NandlabError(f"no {why}") from None
    return record.cargo


def _to_begin(record: JobRecord) -> list[tuple[str, int, str]]:
    """Name, ns and output of each step until the trace began."""
    told = [(step.step, step.ns, step.stdout) for step in record.steps]
    return told[: [name for name, *_ in told].index(BEFORE) + 1]


def _until_begin(request: Request, hold: Cargo) -> Iterator[Step]:
    spec = request.spec
    settle = rest(spec)
    yield from setup(spec, hold.get() if spec.image is not None else None)
    if spec.aged:
        yield fill(spec)
    if request.copies:
        yield copies.step()
    if request.before:
        command = f"cd {MOUNTPOINT} && sh /job/before.sh"
        yield Step(
            "before", command, DEADLINE_S, programs=named(request.before, spec.workload.home)
        )
    if request.with_mount:
        yield unmount(spec, "unmount-before")
    if not request.at_once:
        yield Step("rest", f"sync; {settle.command}", settle.deadline_s)
    yield Step("tracers", "sh ./tracers.sh")
    yield Step(BEFORE, f"cat {COUNTERS}")


def _files(request: Request, hold: Cargo) -> dict[str, bytes]:
    files = {"tracers.sh": _start(request).encode()}
    if request.copies:
        first = len(hold.contents) - len(request.copies)
        files[copies.SCRIPT] = copies.script(request.copies, lambda i: hold.get(first + i))
    if request.spec.aged:
        files |= fill_files(request.spec)
    if request.before:
        files["before.sh"] = request.before.encode()
    if request.command is not None:
        files["command.sh"] = request.command.encode()
    else:
        files |= config(request.spec)
    return files


def _offset_ns(request: Request) -> int:
    return round(request.spec.phase_offset_ms * 1_000_000)


def _hold(request: Request, back_bytes: int) -> Cargo:
    """What the board is given, the chip's image before the copies, and room for what it brings."""
    spec = request.spec
    contents = [copy.content for copy in request.copies]
    if spec.image is not None:
        _, begun = chipfile.read(spec.image.head().path)
        contents.insert(0, chipimage.encode(begun))
    return cargo(spec.virtual, spec.cells_bytes, *contents, back_bytes=back_bytes)


def _command(request: Request) -> Step:
    spec = request.spec
    if request.command is not None:
        command = f"cd {MOUNTPOINT} && exec sh /job/command.sh"
        listed = named(request.command, spec.workload.home)
        return Step("command", command, DEADLINE_S, programs=listed)
    command, listed = filled(spec, spec.workload.command), tuple(spec.workload.programs)
    return Step("command", command, DEADLINE_S, programs=listed)


def _start(request: Request) -> str:
    """A script that loads the tracers and starts them, and says what it could not do."""
    where = None if request.with_mount else MOUNTPOINT
    fs, functions = request.spec.filesystem, request.functions
    lines = start_lines(fs, where, request.tracers, functions, request.records)
    return "\n".join([*lines, "true\n"])


def _handed_over(hold: Cargo) -> Iterator[Step]:
    yield Step("pause", f"echo pause > {FOLDER}/control", always=True)
    yield Step("chip-after", f"cat {COUNTERS}", always=True)
    yield Step("status", f"cat {FOLDER}/status", always=True)
    yield Step("stop", f"echo stop > {FOLDER}/control", always=True)
    yield Step("names", f"cat {FOLDER}/names", always=True)
    brought = f"set -o pipefail; cat {FOLDER}/records | {hold.put()}"
    yield Step(RECORDS, brought, DEADLINE_S, always=True)
    mounted = f"grep -q ' {MOUNTPOINT} ' /proc/mounts"
    command = f"! {mounted} || treelist {MOUNTPOINT}"
    yield Step("paths", command, DEADLINE_S, always=True, programs=("treelist",))
    yield Step("kernel-log", "dmesg -r", always=True)


@dataclass(frozen=True)
class Outcome:
    """What a job gave: the trace, and what is needed to read it."""

    recording: Recording
    names: Names
    status: dict[str, str]
    """Figures of /proc/tracers/status."""
    absent: list[str]
    """What no probe could be set for, each in a sentence."""
    probes: dict[str, str]
    """By event, how it was seen."""
    paths: dict[int, str]
    chip: dict[str, int | None]
    """What the chip counted while the trace went on; energy_nj may be null."""


def outcome(request: Request, record: JobRecord) -> Outcome:
    """Decodes what came back; NandlabError if nothing was traced."""
    if record.get("command") is None:
        failed = record.failed()
        assert failed is not None
        asked = failed.step in ("tracers", copies.STEP) and failed.rc == UsageError.exit_code
        raise (UsageError if asked else NandlabError)(f"nothing was traced: {failed.failure()}")
    status = record["status"].stdout
    recording = records.decode(_brought(record), "the board's trace")
    before, after = (_numbers(record[s].stdout) for s in (BEFORE, "chip-after"))
    return Outcome(
        recording,
        records.names(printable(record["names"].stdout)),
        dict(line.split(" ", 1) for line in status.splitlines() if line.count(" ") == 1),
        absent(request, status),
        cost.probe_kinds(status),
        paths(record["paths"].stdout),
        {
            **{key: after[key] - before[key] for key in CHIP_COUNTS},
            ENERGY: after[ENERGY] - before[ENERGY] if ENERGY in before else None,
        },
    )


def _brought(record: JobRecord) -> bytes:
    step = record[RECORDS]
    if not step.ok or record.cargo is None:
        said = "the board brought no records" if step.ok else step.failure()
        raise NandlabError(f"the trace is lost: {said}")
    return record.cargo


def _numbers(text: str) -> dict[str, int]:
    split = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in split if len(words) == 2}


def paths(text: str) -> dict[int, str]:
    """Inode -> path below the mount, from treelist's output; the first of several names.

    A line that was cut is left out. Bytes that cannot be printed become \\xNN.
    """
    found: dict[int, str] = {}
    for entry in tree.listed(text.rpartition("\n")[0].encode()):
        found.setdefault(entry.inode, "/" + tree.shown(entry.path))
    return found


def absent(request: Request, status: str) -> list[str]:
    """What the trace cannot show on this kernel, for lack of a function to probe."""
    lines = status.splitlines()
    gone = [line.split(" ", 2) for line in lines if line.startswith("absent ")]
    missing = [f"event {event}: {why}" for _, event, why in gone]
    probed = {w[2] for w in (line.split() for line in lines) if w[:2] == ["probe", "FUNC"]}
    symbols: Mapping[str, list[str]] = request.spec.filesystem.symbols  # type: ignore[assignment]
    if "func" in request.tracers:
        for cause in CAUSES:
            listed = symbols.get(cause, [])
            if listed and not probed & set(listed):
                missing.append(f"cause {cause}: the kernel has none of {', '.join(listed)}")
    return missing


def is_workload(command: list[str], workloads: list[str]) -> bool:
    """Whether a command is the name of a workload of the catalog, and nothing else."""
    return len(command) == 1 and command[0] in workloads


def shell_line(command: list[str]) -> str:
    """One word is a line for the shell as it is; several are a program and its arguments.

    UsageError if there is no program in them.
    """
    if not command[0].strip():
        raise UsageError("the command is empty: give a line for the board's shell after --")
    return command[0] if len(command) == 1 else shlex.join(command)
