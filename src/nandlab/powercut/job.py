# SPDX-License-Identifier: GPL-2.0-or-later
"""A board's job that cuts loads at many points: chip with a journal, file system, ``cutcheck``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.jobs import build
from nandlab.board.jobs.job import Job, Step
from nandlab.board.jobs.modules import parse_module_dependencies
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import MIB
from nandlab.flash.chip.mishaps import read_fault_kinds, read_tear_ways
from nandlab.flash.chip.simnand import make_chip_module_parameters
from nandlab.plan.medium import Medium
from nandlab.powercut.campaignfolder import UNSTABLE_MOUNTS
from nandlab.powercut.loads import LoadSet
from nandlab.trial.mediumsteps import (
    make_format_steps,
    make_idle_wait_step,
    make_module_load_step,
    make_mount_step,
    make_unmount_step,
)

MODULE = "powercut"
"""Folder of device/modules whose module is the chip with a journal."""
CHIP_FILE = f"{MODULE}.ko"
CUT_STEP = "cut"
"""The step that cuts."""
FAULT_MODULE_STEP = "fault-module"
"""The first words of the steps that load modules of kinds of fault."""
DEADLINE_S = 10_000_000
"""Of the board's time, which flash operations move; the host's own limit holds before."""
JOURNAL_MIB = 256
SECOND_EVERY = 64
WORST, BAD_MAX, DIGITS_MAX = "worst", 64, 10
STATFS_RESERVE_BLOCKS = {"ubifs": 0, "nftl-fat32": 0}
"""Eraseblocks that a file system keeps for itself and statfs counts as used; of others it is not
known, and what they say of room is judged only against itself."""
SYNCHRONOUS = "sync"
AND = re.compile(r" *&& *")
MODULE_PARAMETER = re.compile(r"echo \w+ ?>/sys/module/\w+/parameters/\w+")
UBIATTACH = re.compile(r"ubiattach +-m \d+ -d 0")


def list_usual_ways() -> tuple[str, ...]:
    """The ways to tear that a campaign tries if it is not told which, each with a state of its own.

    "done" is not among them: it is the state "before" of the operation after it.
    """
    return tuple(name for name, way in read_tear_ways().items() if way.is_usual)


@dataclass(frozen=True)
class CutPoints:
    """Which points of which loads."""

    first_load: int = 0
    last_load: int | None = None
    first: int = 0
    """Flash operations before the first cut."""
    last: int | None = None
    every: int = 1
    variants: tuple[str, ...] = field(default_factory=list_usual_ways)
    seed: int = 1
    seeds: int = 1
    repeat: int = 1
    """Times that each point is judged; each must give the same verdict."""
    mounts: int = UNSTABLE_MOUNTS
    """Times that a point with unstable cells is mounted."""
    recovery: bool = False
    """Whether each operation after a cut is cut too, until the check's first sync has returned."""
    second: int = SECOND_EVERY
    """Of the operations after such a cut, one of so many is cut as well; 0: none."""
    bad: tuple[int, ...] = ()
    """Blocks of the partition that the maker marked bad."""
    leave: bool = False
    """Whether the chip is left as the last point's check left it, for the host to read."""
    plant: tuple[str, ...] = ()
    """Options of cutcheck that plant a fault, to try the checker."""

    def words(self) -> list[str]:
        """As cutcheck's options."""
        options = ["--first-load", f"{self.first_load}", "--from", f"{self.first}"]
        options += ["--every", f"{self.every}"]
        options += ["--seed", f"{self.seed}", "--seeds", f"{self.seeds}"]
        options += ["--repeat", f"{self.repeat}"]
        if self.mounts != UNSTABLE_MOUNTS:
            options += ["--mounts", f"{self.mounts}"]
        if self.last_load is not None:
            options += ["--last-load", f"{self.last_load}"]
        if self.last is not None:
            options += ["--to", f"{self.last}"]
        for variant in self.variants:
            options += ["--variant", variant]
        options += ["--second", f"{self.second}"]
        flags = {"--recovery": self.recovery, "--leave": self.leave}
        return [*options, *(flag for flag, is_set in flags.items() if is_set), *self.plant]


def parse_bad_block_words(words: Sequence[str], blocks: int) -> tuple[int, ...]:
    """Block numbers from words: a number, or ``worst``, the first two that may be bad and the last
    two of the partition. UsageError for a block that cannot be bad."""
    numbers: set[int] = set()
    for word in words:
        if word == WORST:
            numbers |= {1, 2, blocks - 2, blocks - 1}
        elif word.isdecimal() and len(word) < DIGITS_MAX and 0 < int(word) < blocks:
            numbers.add(int(word))
        else:
            raise UsageError(
                f"--bad-blocks {word}: expected {WORST}, or a block from 1 to {blocks - 1}: the "
                "maker promises that block 0 is good"
            )
    if len(numbers) > BAD_MAX:
        raise UsageError(f"--bad-blocks: at most {BAD_MAX}")
    return tuple(sorted(numbers))


def make_cutcheck_options(medium: Medium) -> list[str]:
    """The file system as cutcheck's options, from the commands of its catalog file."""
    commands = AND.split(medium.commands(*medium.filesystem.mount_commands(medium.options)))
    mount_index = next(i for i, command in enumerate(commands) if command.startswith("mount "))
    _, _, kind, _, options, source, _ = commands[mount_index].split()
    module, ubi = "", False
    for command in commands[:mount_index]:
        if UBIATTACH.fullmatch(command):
            ubi = True
        elif command.startswith("modprobe ") and not module:
            module = command.removeprefix("modprobe ")
        elif MODULE_PARAMETER.fullmatch(command):
            pass  # the mount before the cuts has set it, and it stays
        elif command.startswith("ubiattach"):
            raise UsageError(f"powercut: {command}: only the default reserve of UBI can be cut")
        else:
            raise UsageError(f"powercut: {command}: not done before a mount that is cut")
    if commands[mount_index + 1 :]:
        raise UsageError(f"powercut: {commands[mount_index + 1]}: not set in a mount that is cut")
    # mount(8) makes flags of these two: only the rest is for the file system
    mount_options = options.split(",")
    words = ",".join(word for word in mount_options if word not in ("rw", SYNCHRONOUS))
    argv = ["--type", kind, "--source", source, "--options", words]
    argv += ["--synchronous"] if SYNCHRONOUS in mount_options else []
    argv += ["--ubi", "0"] if ubi else []
    argv += ["--module", module] if module else []
    power = medium.filesystem.power
    for check in power.checks if power else ():
        argv += ["--own-check", check]
    for words in power.check_says if power else ():
        argv += ["--check-says", words]
    return argv


def build_chip_module(board: QemuBoard) -> dict[str, bytes]:
    """The chip with a journal, built for a board's kernel, as files of a job."""
    kit = board.machine.kit
    chip = {"simnand": DEVICE / "modules" / "simnand"}
    (module,) = build.build_kernel_modules(kit.tools, MODULE, kit.kernel, chip)
    return {module.name: module.read_bytes()}


def build_campaign_modules(board: QemuBoard, variants: Sequence[str]) -> dict[str, bytes]:
    """The chip with a journal, and what kinds of fault among the variants need besides."""
    kit = board.machine.kit
    kinds = [read_fault_kinds()[name] for name in variants if name in read_fault_kinds()]
    needed = dict.fromkeys(kind.module for kind in kinds if kind.module is not None)
    files = [
        path
        for folder in needed
        for path in build.build_kernel_modules(kit.tools, folder, kit.kernel)
    ]
    return {**build_chip_module(board), **{path.name: path.read_bytes() for path in files}}


def _make_fault_module_steps(modules: dict[str, bytes]) -> list[Step]:
    """Loads the modules that are not the chip's; one that fails says why in the kernel's log."""
    names = [name.removesuffix(".ko") for name in modules if name != CHIP_FILE]
    return [
        Step(
            f"{FAULT_MODULE_STEP} {name}",
            f"insmod ./{name}.ko || {{ dmesg | grep -o '{name}: .*' | tail -n 1 >&2; false; }}",
        )
        for name in names
    ]


def find_journal_address(medium: Medium) -> int:
    """Physical address of the journal: behind the chip's cells."""
    return medium.virtual.store_start + -(-medium.cells_bytes // MIB) * MIB


def make_chip_load_step(medium: Medium, module: dict[str, bytes], bad: Sequence[int] = ()) -> Step:
    """Loads the chip, erased but for the maker's marks of bad blocks, with its journal behind its
    cells."""
    name, content = CHIP_FILE, module[CHIP_FILE]
    start, journal = medium.virtual.store_start, find_journal_address(medium)
    room = (medium.virtual.store_end - journal) // MIB
    if room < JOURNAL_MIB:
        raise UsageError(
            f"board {medium.board.name} has {room} MiB beside this partition, and a journal takes "
            f"{JOURNAL_MIB}: take a smaller --partition-mib"
        )
    parameters = make_chip_module_parameters(medium.chip, medium.partition_blocks, start)
    parameters |= {str(key): value for key, value in medium.filesystem.chip_parameters.items()}
    parameters |= {"journal_phys": journal, "journal_mib": JOURNAL_MIB}
    if bad:
        parameters["bad"] = ",".join(map(str, bad))
    words = " ".join(f"{key}={value}" for key, value in parameters.items())
    needs = " && ".join(
        f"modprobe {dependency}" for dependency in parse_module_dependencies(content)
    )
    return Step("load", f"{needs} && insmod ./{name} {words}")


def _make_statfs_options(medium: Medium, loads: LoadSet) -> list[str]:
    """What of the room may be used without files, where a load asks for the room."""
    blocks = STATFS_RESERVE_BLOCKS.get(medium.filesystem.name)
    if blocks is None or not any("statfs" in load.calls for load in loads.loads):
        return []
    return ["--statfs-reserve", f"{blocks * medium.chip.geometry.erasesize}"]


def make_cut_job(
    medium: Medium, loads: LoadSet, points: CutPoints, module: dict[str, bytes]
) -> Job:
    """Makes the file system, lets it come to rest, and cuts."""
    words = [loads.program, *make_cutcheck_options(medium), *_make_statfs_options(medium, loads)]
    words += [*points.words(), "./loads"]
    steps = [
        make_chip_load_step(medium, module, points.bad),
        make_module_load_step(medium),
        *_make_fault_module_steps(module),
        *make_format_steps(medium),
    ]
    steps += [make_mount_step(medium), make_idle_wait_step(medium), make_unmount_step(medium)]
    steps.append(Step(CUT_STEP, shlex.join(words), DEADLINE_S))
    return Job(tuple(steps), {**module, "loads": loads.text().encode()})


def select_single_cut_point(
    points: CutPoints, load: int, operations: int, variant: str, seed: int
) -> CutPoints:
    """The one point of these."""
    return replace(
        points,
        first_load=load,
        last_load=load,
        first=operations,
        last=operations,
        every=1,
        variants=(variant,),
        seed=seed,
        seeds=1,
    )
