# SPDX-License-Identifier: GPL-2.0-or-later
"""A command under trace as a job for the board, and what the job brings back.

The records come as cargo, the rest as output of steps.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.cargo import Cargo, make_cargo
from nandlab.board.jobs.job import Job, JobRecord, Step, escape_output
from nandlab.board.jobs.programs import find_programs_in_script
from nandlab.catalog.filesystem import CAUSES
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip import simnand
from nandlab.flash.chip.simnand import COUNTERS_FILE
from nandlab.image import tree
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.trace import copies
from nandlab.trace.copies import Copy
from nandlab.traced import cost, records
from nandlab.traced.records import Names, Recording
from nandlab.traced.setup import (
    FOLDER,
    STOP_COMMAND,
    TracedPartition,
    compute_records_file_bytes_max,
    compute_records_max,
    make_hooks_at_once_command,
    make_tracer_start_lines,
)
from nandlab.trial.mediumsteps import make_idle_wait_step, make_mount_step, make_unmount_step
from nandlab.trial.steps import (
    fill_workload_template,
    make_fill_step,
    make_state_fill_files,
    make_steps_until_mounted,
    make_workload_config_file,
)

DEADLINE_S = 24 * 3600
END_MARK = "mark command ended"
SETTLE_STEP = "settle-after"
COUNTERS_STEP, RECORDS_STEP = "chip-before", "records"
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
ENERGY_COUNTER = "energy_nj"
"""A counter that simnand has only if it was loaded with energies, which nandlab does not do: what
a chip draws is worked out after a run, by nandlab.analysis.figures.energy."""


@dataclass(frozen=True)
class TraceRequest:
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
    only: str = ""
    """The MTD partition of several that is traced; empty: the mount, and all flash."""

    def __post_init__(self) -> None:
        if self.command is None and not self.spec.workload.command:
            raise UsageError(
                f"{self.spec.workload.name} is a list of steps, and a trace is of one command: "
                "give the line of the step that you mean"
            )
        _ = self.traced_partition  # refuses a name that there is not
        board, most = self.spec.virtual, compute_records_max(self.spec.virtual)
        if not 1 <= self.records <= most:
            raise UsageError(
                f"--records {self.records}: must be 1 to {most} on board {board.name}, whose "
                f"RAM holds them beside what runs; for more take --board apf27-trace or "
                f"apf27-trace-8m, or another with more RAM"
            )

    @property
    def traced_partition(self) -> TracedPartition | None:
        """The one that ``only`` names; None: all are traced."""
        if not self.only:
            return None
        layout = self.spec.layout
        if layout is None:
            raise UsageError("--only names a partition of --mtdparts: give that too")
        try:
            number = layout.find_number(self.only)
        except UsageError as e:
            raise UsageError(f"--only: {e}") from None
        return TracedPartition(number, number == layout.chosen)


def make_trace_job(request: TraceRequest) -> Job:
    """The steps that set up, trace, and hand over."""
    spec = request.spec
    hold = _make_cargo(request, compute_records_file_bytes_max(request.records))
    steps = list(_make_steps_until_begin(request, hold))
    if request.with_mount:
        steps.append(make_mount_step(spec, "mount-traced"))
    steps += [
        _make_command_step(request),
        Step("ended", f"echo {END_MARK} > {FOLDER}/control", always=True),
    ]
    if request.with_mount:
        steps.append(make_unmount_step(spec, "unmount-traced"))
    # what the command left to background threads belongs to it too; and once that is done,
    # nothing happens between the tracers' last record and the reading of the chip's counters
    steps.append(replace(make_idle_wait_step(spec), name=SETTLE_STEP, always=True))
    return Job(
        (*steps, *_make_end_steps(hold)),
        _make_files(request, hold),
        _offset_ns(request),
        hold,
        spec.workload.home,
    )


def make_pretrace_image_job(request: TraceRequest) -> Job:
    """The traced job, but that the chip is handed over where the trace would begin.

    So the traced job is the same with and without an image. Every step keeps its place and its
    length: the board's init holds them all, and other lengths would move the clock by some ns. The
    board repeats, so the chip is the same; :func:`extract_pretrace_chip_image` checks that by each
    step's ns and output.
    """
    traced = make_trace_job(request)
    hold = _make_cargo(request, request.spec.image_bytes)
    begun = [step.name for step in traced.steps].index(COUNTERS_STEP) + 1
    instead = {RECORDS_STEP: f"cat {simnand.IMAGE_FILE} | {hold.put()}"}
    steps = [_pad_step(step, instead.get(step.name, "true")) for step in traced.steps[begun:]]
    return replace(traced, steps=(*traced.steps[:begun], *steps), cargo=hold)


def _pad_step(step: Step, command: str) -> Step:
    """The step with another command, blanks after it so that it is as long; programs stay."""
    assert len(command) <= len(step.command), f"{step.name} is too short for {command}"
    return replace(step, command=command.ljust(len(step.command)))


def extract_pretrace_chip_image(record: JobRecord, traced: JobRecord) -> bytes:
    """The chip as it was when the trace began; NandlabError if it is not known to be that."""
    step, before = record.get(RECORDS_STEP), record.get(COUNTERS_STEP)
    if step is None or before is None or not step.ok or record.cargo is None:
        failed = record.failed()
        raise NandlabError(f"no image: {failed.failure() if failed else 'none was brought'}")
    if _list_steps_until_begin(record) != _list_steps_until_begin(traced):
        raise NandlabError("no image: the board did not repeat what came before the trace")
    try:
        chipimage.decode_chip_image(record.cargo)
    except NandlabError as e:
        why = f"{e}; if a collector still worked, end --before with 'sync; settle'"
        raise NandlabError(f"no {why}") from None
    return record.cargo


def _list_steps_until_begin(record: JobRecord) -> list[tuple[str, int, str]]:
    """Name, ns and output of each step until the trace began."""
    told = [(step.step, step.ns, step.stdout) for step in record.steps]
    return told[: [name for name, *_ in told].index(COUNTERS_STEP) + 1]


def _make_steps_until_begin(request: TraceRequest, hold: Cargo) -> Iterator[Step]:
    spec = request.spec
    settle = make_idle_wait_step(spec)
    yield from make_steps_until_mounted(spec, hold.get() if spec.image is not None else None)
    if spec.aged:
        yield make_fill_step(spec)
    if request.copies:
        yield copies.make_copy_files_step()
    if request.before:
        command = f"cd {MOUNTPOINT} && sh /job/before.sh"
        yield Step(
            "before",
            command,
            DEADLINE_S,
            programs=find_programs_in_script(request.before, spec.workload.home),
        )
    if request.with_mount:
        yield make_unmount_step(spec, "unmount-before")
    if not request.at_once:
        yield Step("rest", f"sync; {settle.command}", settle.deadline_s)
    yield Step("tracers", "sh ./tracers.sh")
    yield Step(COUNTERS_STEP, f"cat {COUNTERS_FILE}")


def _make_files(request: TraceRequest, hold: Cargo) -> dict[str, bytes]:
    files = {"tracers.sh": _make_start_script(request).encode()}
    if request.copies:
        first = len(hold.contents) - len(request.copies)
        files[copies.SCRIPT] = copies.make_copy_files_script(
            request.copies, lambda i: hold.get(first + i)
        )
    if request.spec.aged:
        files |= make_state_fill_files(request.spec)
    if request.before:
        files["before.sh"] = request.before.encode()
    if request.command is not None:
        files["command.sh"] = request.command.encode()
    else:
        files |= make_workload_config_file(request.spec)
    return files


def _offset_ns(request: TraceRequest) -> int:
    return round(request.spec.phase_offset_ms * 1_000_000)


def _make_cargo(request: TraceRequest, back_bytes: int) -> Cargo:
    """What the board is given, the chip's image before the copies, and room for what it brings."""
    spec = request.spec
    contents = [copy.content for copy in request.copies]
    if spec.image is not None:
        _, begun = chipfile.read_image_files(spec.image.head().path)
        contents.insert(0, chipimage.encode_chip_image(begun))
    return make_cargo(spec.virtual, spec.cells_bytes, *contents, back_bytes=back_bytes)


def _make_command_step(request: TraceRequest) -> Step:
    spec = request.spec
    if request.command is not None:
        command = f"cd {MOUNTPOINT} && exec sh /job/command.sh"
        listed = find_programs_in_script(request.command, spec.workload.home)
        return Step("command", command, DEADLINE_S, programs=listed)
    command, listed = (
        fill_workload_template(spec, spec.workload.command),
        tuple(spec.workload.programs),
    )
    return Step("command", command, DEADLINE_S, programs=listed)


def _make_start_script(request: TraceRequest) -> str:
    """A script that loads the tracers and starts them, and says what it could not do."""
    where = None if request.with_mount else MOUNTPOINT
    fs, functions = request.spec.filesystem, request.functions
    lines = make_tracer_start_lines(
        fs, where, request.tracers, functions, request.records, request.traced_partition
    )
    return "\n".join([*lines, "true\n"])


def _make_end_steps(hold: Cargo) -> Iterator[Step]:
    yield Step("pause", f"echo pause > {FOLDER}/control", always=True)
    yield Step("chip-after", f"cat {COUNTERS_FILE}", always=True)
    yield Step("status", f"cat {FOLDER}/status", always=True)
    yield Step("stop", make_hooks_at_once_command(STOP_COMMAND), always=True)
    yield Step("names", f"cat {FOLDER}/names", always=True)
    brought = f"set -o pipefail; cat {FOLDER}/records | {hold.put()}"
    yield Step(RECORDS_STEP, brought, DEADLINE_S, always=True)
    mounted = f"grep -q ' {MOUNTPOINT} ' /proc/mounts"
    command = f"! {mounted} || treelist {MOUNTPOINT}"
    yield Step("paths", command, DEADLINE_S, always=True, programs=("treelist",))
    yield Step("kernel-log", "dmesg -r", always=True)


@dataclass(frozen=True)
class TraceOutcome:
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


def decode_trace_outcome(request: TraceRequest, record: JobRecord) -> TraceOutcome:
    """Decodes what came back; NandlabError if nothing was traced."""
    if record.get("command") is None:
        failed = record.failed()
        assert failed is not None
        asked = failed.step in ("tracers", copies.STEP) and failed.rc == UsageError.exit_code
        raise (UsageError if asked else NandlabError)(f"nothing was traced: {failed.failure()}")
    status = record["status"].stdout
    only = request.traced_partition
    # inodes are those of the file system that was traced, whose paths only its own mount tells
    paths_text = "" if only and not only.has_filesystem else record["paths"].stdout
    recording = records.decode_trace_records(_find_records(record), "the board's trace")
    before, after = (_parse_numbers(record[s].stdout) for s in (COUNTERS_STEP, "chip-after"))
    return TraceOutcome(
        recording,
        records.parse_trace_names(escape_output(record["names"].stdout)),
        dict(line.split(" ", 1) for line in status.splitlines() if line.count(" ") == 1),
        list_untraced_events(request, status),
        cost.parse_probe_kinds(status),
        parse_inode_paths(paths_text),
        {
            **{key: after[key] - before[key] for key in CHIP_COUNTS},
            ENERGY_COUNTER: after[ENERGY_COUNTER] - before[ENERGY_COUNTER]
            if ENERGY_COUNTER in before
            else None,
        },
    )


def _find_records(record: JobRecord) -> bytes:
    step = record[RECORDS_STEP]
    if not step.ok or record.cargo is None:
        said = "the board brought no records" if step.ok else step.failure()
        raise NandlabError(f"the trace is lost: {said}")
    return record.cargo


def _parse_numbers(text: str) -> dict[str, int]:
    split = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in split if len(words) == 2}


def parse_inode_paths(text: str) -> dict[int, str]:
    """Inode -> path below the mount, from treelist's output; the first of several names.

    A line that was cut is left out. Bytes that cannot be printed become \\xNN.
    """
    found: dict[int, str] = {}
    for entry in tree.parse_treelist(text.rpartition("\n")[0].encode()):
        found.setdefault(entry.inode, "/" + tree.escape_file_name(entry.path))
    return found


def list_untraced_events(request: TraceRequest, status: str) -> list[str]:
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


def is_command_workload_name(command: list[str], workloads: list[str]) -> bool:
    """Whether a command is the name of a workload of the catalog, and nothing else."""
    return len(command) == 1 and command[0] in workloads


def format_command_as_shell(command: list[str]) -> str:
    """One word is a line for the shell as it is; several are a program and its arguments.

    UsageError if there is no program in them.
    """
    if not command[0].strip():
        raise UsageError("the command is empty: give a line for the board's shell after --")
    return command[0] if len(command) == 1 else shlex.join(command)
