# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps on a medium: load the chip and the modules, format, mount, come to rest, unmount."""

from __future__ import annotations

from nandlab.board.jobs.job import Step
from nandlab.board.own import flashcounts
from nandlab.board.own.flash import MODULE_THERE, make_partition_erase_command
from nandlab.flash.chip.simnand import (
    MODULE,
    PARTED_MODULE,
    SPI_MODULE,
    make_chip_load_step,
    make_chip_module_parameters,
)
from nandlab.plan.medium import MOUNTPOINT, Medium

FORMAT_DEADLINE_S = 3600


def make_medium_load_step(medium: Medium, image: str | None = None) -> Step:
    """Loads the chip; a user's own is there, and its partition is erased.

    image: the board's command that writes the chip's image to stdout; None: the chip is erased.
    """
    if medium.is_own_board:
        counts = (
            f" && {flashcounts.make_counting_start_command(medium.mtd)}" if medium.counted else ""
        )
        return Step(
            "load",
            make_partition_erase_command(medium.mtd, medium.partition_blocks) + counts,
            FORMAT_DEADLINE_S,
        )
    parameters = make_chip_module_parameters(
        medium.chip, medium.partition_blocks, medium.virtual.store_start, medium.latency
    )
    parameters |= medium.faults.parameters(medium.seed)
    parameters |= {str(key): value for key, value in medium.filesystem.chip_parameters.items()}
    if medium.layout:
        name = medium.filesystem.chip_parameters.get("partition_name")
        parameters["partition_blocks"] = medium.layout.end
        parameters |= medium.layout.make_module_parameters(None if name is None else str(name))
    parameters["wait"] = medium.virtual.wait
    if medium.spinand:
        parameters |= medium.spinand.parameters()
    return make_chip_load_step(parameters, image, select_chip_module(medium))


def select_chip_module(medium: Medium) -> str:
    """The module that a medium's simulated chip is."""
    if medium.layout:
        return PARTED_MODULE
    return SPI_MODULE if medium.spinand else MODULE


def make_module_load_step(medium: Medium) -> Step:
    """Loads the file system's modules."""
    loads = (f"modprobe {m}" for m in medium.filesystem.modules)
    if medium.is_own_board:
        loads = (
            f"{{ {MODULE_THERE.format(m)} || modprobe {m}; }}" for m in medium.filesystem.modules
        )
    return Step("modules", " && ".join(loads))


def make_format_steps(medium: Medium, deadline_s: int = FORMAT_DEADLINE_S) -> list[Step]:
    """Makes the file system, unless mounting an erased chip makes it."""
    commands = medium.filesystem.format
    return [Step("format", medium.commands(*commands), deadline_s)] if commands else []


def make_mount_step(medium: Medium, name: str = "mount") -> Step:
    """Mounts the file system, for the first time or again, and sets what its options set then."""
    return Step(name, medium.commands(*medium.filesystem.mount_commands(medium.options)))


def make_unmount_step(medium: Medium, name: str = "unmount") -> Step:
    """Unmounts the file system and detaches it from the chip."""
    return Step(name, medium.commands(*medium.filesystem.unmount))


def make_detach_step(medium: Medium, name: str = "detach") -> Step:
    """Unmounts the file system and frees the chip, also where an option keeps it attached over
    unmounts."""
    defaults = {key: medium.filesystem.options[key].default for key in medium.options}
    return make_unmount_step(medium.model_copy(update={"options": defaults}), name)


def make_partition_cleanup_step(medium: Medium) -> Step:
    """Leaves a user's own partition unused, wherever a trial ended."""
    command = f"umount {MOUNTPOINT}; ubidetach -m {medium.mtd}"
    if medium.counted:
        command += f"; {flashcounts.STOP_COMMAND}"
    return Step("put-away", f"{{ {command}; }} 2>/dev/null; true", always=True, beside=True)


def make_idle_wait_step(medium: Medium, name: str = "settle", limit_s: int = 0) -> Step:
    """Waits until background work has ended, for so long at the most; 0: as its catalog file has
    it."""
    settle = medium.filesystem.settle
    most_s = limit_s or settle.limit_s
    command = f"settle --quiet-ms {settle.quiet_ms} --limit-s {most_s}"
    if not medium.counted:
        words = medium.words()
        threads = " ".join(f"--thread {name.format(**words)}" for name in settle.threads)
        command = f"threadrest {threads} --quiet-ms {settle.quiet_ms} --limit-s {most_s}"
    return Step(name, command, deadline_s=most_s + 60)
