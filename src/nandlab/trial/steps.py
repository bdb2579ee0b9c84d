# SPDX-License-Identifier: GPL-2.0-or-later
"""From a trial to the steps that the board runs."""

from __future__ import annotations

from nandlab.board.cargo import Cargo, cargo
from nandlab.board.job import ALWAYS, Job, Step
from nandlab.catalog.chip import ChipModel, Latency
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.chip import file as chipfile
from nandlab.chip import image as chipimage
from nandlab.plan.study import TrialSpec

MOUNTPOINT = "/mnt"

MEMORY = "memory-"
"""Steps so named measure memory and are no part of the trial's own."""

FSRAM = "/sys/kernel/debug/fsram/usage"

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
    return Job(tuple(steps), {spec.workload.config_file: config(spec).encode()}, offset, image)


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
    return [Step(f"{MEMORY}{name}", command)] if measures_memory(spec) else []


def measures_memory(spec: TrialSpec) -> bool:
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


def config(spec: TrialSpec) -> str:
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
