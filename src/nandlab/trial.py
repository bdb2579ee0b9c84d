# SPDX-License-Identifier: GPL-2.0-or-later
"""One trial: from its spec to a job for the board, and from the job's record to a result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from nandlab import chipfile, measured, results
from nandlab.board import chipimage
from nandlab.board.cargo import Cargo, cargo
from nandlab.board.job import ALWAYS, Board, BoardLost, Job, JobRecord, Step, printable
from nandlab.catalog import MIB, ChipModel, Latency
from nandlab.filesystem import FilesystemModel
from nandlab.measured import Unreadable
from nandlab.results import Chip, Doubt, Host, Memory, State
from nandlab.study import TrialSpec

MOUNTPOINT = "/mnt"
WORKLOAD_DOUBTS = {"fill-off-target": "state_missed"}
"""Codes of a workload's warnings that have a code of their own in results.WARNINGS."""
KERNEL_WARNING = 4
"""The kernel's log level "warning"; lower is worse."""
EXPECTED_IN_LOG = ("taints kernel.", "tainting kernel")
"""What the kernel says of any module built outside its tree, ours among them."""
MEMORY = "memory-"
"""Steps so named measure memory and are no part of the trial's own."""
FSRAM = "/sys/kernel/debug/fsram/usage"
NUMBER = re.compile(r"[0-9]{1,18}")
"""What a step counted: no more than fits a result."""
NS_PER_MS = 1_000_000
CHIP_FIFO = "/tmp/chip"
LOAD_DEADLINE_S = 3600


def chip_parameters(
    chip: ChipModel, partition_blocks: int, chip_store_phys: int, latency: Latency = "typical"
) -> dict[str, str | int]:
    """The chip module's parameters, by name; UsageError if the chip lacks a latency asked for."""
    g, t, ecc = chip.geometry, chip.timing, chip.ecc
    return {
        "id": ",".join(f"{byte:#04x}" for byte in chip.id),
        "writesize": g.writesize,
        "oobsize": g.oobsize,
        "erasesize": g.erasesize,
        "blocks": g.blocks,
        "bus_bits": g.bus_bits,
        "nop": g.nop,
        "in_order": int(g.in_order),
        **t.array_ns(latency),
        "t_rc_ns": t.t_rc_ns,
        "t_wc_ns": t.t_wc_ns,
        "ecc_strength": ecc.strength,
        "ecc_step": ecc.step,
        "partition_blocks": partition_blocks,
        "array_phys": chip_store_phys,
        **chip.optional_parameters(),
    }


def load_step(parameters: dict[str, str | int], image: Cargo | None = None) -> Step:
    """Loads the chip module; image: cargo that is the chip's image, and not an erased chip."""
    words = " ".join(["modprobe simnand", *(f"{k}={v}" for k, v in parameters.items())])
    if image is None:
        return Step("load", words)
    # The image may be larger than the board's RAM: the module reads it as it comes.
    ferried = f"mkfifo {CHIP_FIFO} && ({image.get()} > {CHIP_FIFO} &)"
    return Step("load", f"{ferried} && {words} image={CHIP_FIFO}", LOAD_DEADLINE_S)


def modules_step(fs: FilesystemModel) -> Step:
    """Loads the file system's modules."""
    return Step("modules", " && ".join(f"modprobe {m}" for m in fs.modules))


def job(spec: TrialSpec) -> Job:
    """The trial as steps for the board."""
    fs = spec.filesystem
    image = _image(spec)
    steps = [
        *setup(spec, image),
        *_memory(spec, "mounted"),
        Step("workload", filled(spec, spec.workload.command), deadline_s=24 * 3600),
        *_memory(spec, "end"),
        *([Step("counters", _commands(spec, [fs.counters]))] if fs.counters else []),
        unmount(spec),
        *_memory(spec, "unmounted"),
        Step(ALWAYS + "kernel-log", "dmesg -r"),
    ]
    offset = round(spec.phase_offset_ms * NS_PER_MS)
    return Job(tuple(steps), {spec.workload.config_file: _config(spec).encode()}, offset, image)


def _image(spec: TrialSpec) -> Cargo | None:
    """The image that the trial begins from, for the board to load."""
    if spec.image is None:
        return None
    _, image = chipfile.read(spec.image.head().path)
    cells_bytes = spec.chip.cells_bytes(spec.partition_blocks)
    return cargo(spec.board, cells_bytes, chipimage.encode(image))


def setup(spec: TrialSpec, image: Cargo | None = None) -> list[Step]:
    """From a board without a chip to a file system that is mounted and at rest.

    image: that of the chip, if the trial begins from one; nothing is formatted then.
    """
    fs = spec.filesystem
    parameters = chip_parameters(
        spec.chip, spec.partition_blocks, spec.board.store_start, spec.latency
    )
    parameters |= spec.faults.parameters(spec.seed)
    parameters |= {str(key): value for key, value in fs.chip_parameters.items()}
    parameters["wait"] = spec.board.wait
    formats = fs.format and image is None
    settle = f"settle --quiet-ms {fs.settle.quiet_ms} --limit-s {fs.settle.limit_s}"
    return [
        load_step(parameters, image),
        *_memory(spec, "watch", _watch(fs.memory_of)),
        modules_step(fs),
        *([Step("format", _commands(spec, fs.format), deadline_s=3600)] if formats else []),
        *_memory(spec, "begin", f"echo > {FSRAM}"),
        mount(spec),
        Step("settle", settle, deadline_s=fs.settle.limit_s + 60),
    ]


def _memory(spec: TrialSpec, name: str, command: str = f"cat {FSRAM}") -> list[Step]:
    """A step that has to do with the memory's measuring, where that was asked for."""
    return [Step(f"{MEMORY}{name}", command)] if _measures_memory(spec) else []


def _measures_memory(spec: TrialSpec) -> bool:
    return "memory" in spec.measure and bool(spec.filesystem.memory_of)


def _watch(modules: list[str]) -> str:
    """Loads fsram; fails where one of the modules is there already, its RAM unseen."""
    loaded = f"grep -E '^({'|'.join(modules)}) ' /proc/modules >&2"
    return f"! {loaded} && modprobe fsram modules={','.join(modules)}"


def mount(spec: TrialSpec, name: str = "mount") -> Step:
    """Mounts the trial's file system, the first time and again."""
    return Step(name, _commands(spec, [spec.filesystem.mount]))


def unmount(spec: TrialSpec, name: str = "unmount") -> Step:
    """Takes the trial's file system away."""
    return Step(name, _commands(spec, spec.filesystem.unmount))


def _commands(spec: TrialSpec, templates: list[str]) -> str:
    words = spec.filesystem.words(spec.options, mtd="0", mountpoint=MOUNTPOINT)
    return " && ".join(templates).format(**words)


def _config(spec: TrialSpec) -> str:
    return filled(spec, spec.workload.config)


def filled(spec: TrialSpec, template: str) -> str:
    """A template of the workload's catalog file, its words filled in."""
    values = {k: _word(v) for k, v in spec.parameters.items()}
    values |= {
        "seed": str(spec.seed),
        "mountpoint": MOUNTPOINT,
        "valid_percent": f"{spec.state.valid * 100:g}",
        "invalid_percent": f"{spec.state.invalid * 100:g}",
        "mix": f"{spec.state.mix:g}",
    }
    return template.format(**values)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def run(
    spec: TrialSpec,
    board: Board,
    study: str,
    on_step: Callable[[str], None] | None = None,
) -> results.Trial:
    """Runs a trial; whatever becomes of the board, there is a result."""
    began = time.monotonic()
    todo = job(spec)
    common = _common(spec, study, board, todo)
    try:
        record = await board.run(todo, on_step)
    except BoardLost as lost:
        memory: tuple[int, ...] = ()
        outcome: dict[str, Any] = {
            "status": "board_lost",
            "error": lost.reason,
            "console_tail": lost.console_tail,
        }
    else:
        outcome, memory = _outcome(spec, record), record.host_memory
    doubts = list(outcome.pop("warnings", []))
    if not board.deterministic:
        doubts.insert(0, Doubt(code="not_deterministic", text="ran under KVM, on host time"))
    seconds = round(time.monotonic() - began, 3)
    host = Host(seconds=seconds, board=board.key, memory=list(memory))
    return results.Trial.model_validate({**common, **outcome, "warnings": doubts, "host": host})


def _common(spec: TrialSpec, study: str, board: Board, todo: Job) -> dict[str, Any]:
    g = spec.chip.geometry
    return {
        "id": spec.id,
        "study": study,
        "filesystem": spec.filesystem.name,
        "options": spec.options,
        "chip": Chip(
            part=spec.chip.name,
            partition_mib=spec.partition_blocks * g.erasesize / MIB,
            pages_per_block=spec.chip.pages_per_block(),
            blocks=spec.partition_blocks,
            writesize=g.writesize,
            latency=spec.latency,
            faults={k: v for k, v in spec.faults.parameters(spec.seed).items() if k != "seed"},
        ),
        "state": State(**spec.state.model_dump()),
        "image": spec.image and results.Image(name=spec.image.name, sha256=spec.image.sha256),
        "workload": spec.workload.name,
        "parameters": spec.parameters,
        "seed": spec.seed,
        "phase_offset_ms": spec.phase_offset_ms,
        "provenance": {
            **board.identity,
            "chip": spec.chip.model_dump(),
            "filesystem": spec.filesystem.model_dump(),
            "workload": spec.workload.model_dump(),
            "steps": {s.name: s.command for s in todo.steps},
            "config": _config(spec),
        },
    }


def _outcome(spec: TrialSpec, record: JobRecord) -> dict[str, Any]:
    log = kernel_log(spec, record)
    outcome: dict[str, Any] = {
        "status": "ok",
        "kernel_log": log,
        "step_ns": {s.step: s.ns for s in record.steps if not s.step.startswith((ALWAYS, MEMORY))},
        "warnings": [Doubt(code="output_cut", text=text) for text in record.cut()],
    }
    if log:
        text = f"{len(log)} lines, the first: {log[0]}"
        outcome["warnings"].append(Doubt(code="kernel_log", text=text))
    failed = record.failed()
    if failed is not None:
        return outcome | {"status": "trial_failed", "error": failed.failure()}
    try:
        return outcome | _figures(spec, record, outcome["warnings"])
    except Unreadable as e:
        return outcome | {"status": "trial_failed", "error": str(e)}


def _figures(spec: TrialSpec, record: JobRecord, doubts: list[Doubt]) -> dict[str, Any]:
    """What was measured, as fields of a result, and its doubts; Unreadable if it was not told."""
    try:
        settled = measured.settled(record["settle"].stdout)
    except Unreadable as e:
        raise Unreadable(f"step settle: {e}") from None
    if not settled:
        text = f"the chip was still busy after {spec.filesystem.settle.limit_s} s"
        doubts.append(Doubt(code="not_settled", text=text))
    try:
        told = measured.read(record["workload"].stdout)
    except Unreadable as e:
        name = spec.workload.name
        raise Unreadable(f"{name} printed no result that nandlab understands: {e}") from None
    state = State(**spec.state.model_dump(), obtained=told.obtained)
    figures: dict[str, Any] = {**told.figures(), "state": state}
    doubts += _doubts(told.warnings)
    if _measures_memory(spec):
        figures["memory"] = _held(record)
        doubts += _memory_doubts(record)
    if spec.filesystem.counters:
        figures["counters"] = _numbers(record, "counters")
    return figures


def _numbers(record: JobRecord, step: str) -> dict[str, int]:
    """A step's lines ``name value``; what is otherwise is left out."""
    rows = (line.split() for line in printable(record[step].stdout).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and NUMBER.fullmatch(row[1])}


def _number(record: JobRecord, step: str, name: str) -> int:
    """One of a step's numbers; Unreadable if it printed none of the name."""
    found = _numbers(record, step)
    if name not in found:
        raise Unreadable(f"step {step}: printed no {name}")
    return found[name]


def _held(record: JobRecord) -> Memory:
    mounted, end, unmounted = (
        partial(_number, record, MEMORY + step) for step in ("mounted", "end", "unmounted")
    )
    return Memory(
        mounted=mounted("bytes"),
        peak=end("peak_bytes"),
        end=end("bytes"),
        unmounted=unmounted("bytes"),
        slab=end("slab_bytes"),
        kmalloc=end("kmalloc_bytes"),
        vmalloc=end("vmalloc_bytes"),
    )


def _memory_doubts(record: JobRecord) -> list[Doubt]:
    found = [Doubt(code="memory_measured", text="each allocation of the kernel was looked at")]
    lost = _number(record, MEMORY + "end", "lost")
    if lost:
        text = f"{lost} allocations found the table full"
        found.append(Doubt(code="memory_lost", text=text))
    return found


def _doubts(warnings: list[str]) -> list[Doubt]:
    """The workload's own warnings, each ``code: sentence``, in the words of results.WARNINGS."""
    split = [text.partition(": ") for text in warnings]
    return [
        Doubt(code=WORKLOAD_DOUBTS.get(code, "workload"), text=f"{code}: {text}")
        for code, _, text in split
    ]


def kernel_log(spec: TrialSpec, record: JobRecord) -> list[str]:
    """The kernel's lines of warning and worse since the job began."""
    log = record.get(ALWAYS + "kernel-log")
    if log is None:
        return []
    harmless = re.compile("|".join(spec.filesystem.harmless_log) or r"(?!)")
    since_s = record.steps[0].start_ns / 1e9
    found = []
    for line in printable(log.stdout).splitlines():
        level, _, rest = line.removeprefix("<").partition(">")
        stamp, _, said = rest.removeprefix("[").partition("]")
        try:
            told = int(level) & 7 <= KERNEL_WARNING and float(stamp.strip()) >= since_s
        except ValueError:
            continue  # a line of a message's continuation
        expected = said.endswith(EXPECTED_IN_LOG) or harmless.match(said.strip())
        if told and not expected:
            found.append(rest)
    return found
