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


def make_medium_load_step(on: Medium, image: str | None = None) -> Step:
    """Loads the chip; a user's own is there, and its partition is erased.

    image: the board's command that writes the chip's image to stdout; None: the chip is erased.
    """
    if on.is_own_board:
        counts = f" && {flashcounts.make_counting_start_command(on.mtd)}" if on.counted else ""
        return Step(
            "load",
            make_partition_erase_command(on.mtd, on.partition_blocks) + counts,
            FORMAT_DEADLINE_S,
        )
    parameters = make_chip_module_parameters(
        on.chip, on.partition_blocks, on.virtual.store_start, on.latency
    )
    parameters |= on.faults.parameters(on.seed)
    parameters |= {str(key): value for key, value in on.filesystem.chip_parameters.items()}
    if on.layout:
        name = on.filesystem.chip_parameters.get("partition_name")
        parameters["partition_blocks"] = on.layout.end
        parameters |= on.layout.make_module_parameters(None if name is None else str(name))
    parameters["wait"] = on.virtual.wait
    if on.spinand:
        parameters |= on.spinand.parameters()
    return make_chip_load_step(parameters, image, select_chip_module(on))


def select_chip_module(on: Medium) -> str:
    """The module that a medium's simulated chip is."""
    if on.layout:
        return PARTED_MODULE
    return SPI_MODULE if on.spinand else MODULE


def make_module_load_step(on: Medium) -> Step:
    """Loads the file system's modules."""
    loads = (f"modprobe {m}" for m in on.filesystem.modules)
    if on.is_own_board:
        loads = (f"{{ {MODULE_THERE.format(m)} || modprobe {m}; }}" for m in on.filesystem.modules)
    return Step("modules", " && ".join(loads))


def make_format_steps(on: Medium, deadline_s: int = FORMAT_DEADLINE_S) -> list[Step]:
    """Makes the file system, unless mounting an erased chip makes it."""
    commands = on.filesystem.format
    return [Step("format", on.commands(*commands), deadline_s)] if commands else []


def make_mount_step(on: Medium, name: str = "mount") -> Step:
    """Mounts the file system, for the first time or again, and sets what its options set then."""
    return Step(name, on.commands(*on.filesystem.mount_commands(on.options)))


def make_unmount_step(on: Medium, name: str = "unmount") -> Step:
    """Unmounts the file system and detaches it from the chip."""
    return Step(name, on.commands(*on.filesystem.unmount))


def make_detach_step(on: Medium, name: str = "detach") -> Step:
    """Unmounts the file system and frees the chip, also where an option keeps it attached over
    unmounts."""
    defaults = {key: on.filesystem.options[key].default for key in on.options}
    return make_unmount_step(on.model_copy(update={"options": defaults}), name)


def make_partition_cleanup_step(on: Medium) -> Step:
    """Leaves a user's own partition unused, wherever a trial ended."""
    command = f"umount {MOUNTPOINT}; ubidetach -m {on.mtd}"
    if on.counted:
        command += f"; {flashcounts.STOP_COMMAND}"
    return Step("put-away", f"{{ {command}; }} 2>/dev/null; true", always=True, beside=True)


def make_idle_wait_step(on: Medium, name: str = "settle", limit_s: int = 0) -> Step:
    """Waits until background work has ended, for so long at the most; 0: as its catalog file has
    it."""
    settle = on.filesystem.settle
    most_s = limit_s or settle.limit_s
    command = f"settle --quiet-ms {settle.quiet_ms} --limit-s {most_s}"
    if not on.counted:
        words = on.words()
        threads = " ".join(f"--thread {name.format(**words)}" for name in settle.threads)
        command = f"threadrest {threads} --quiet-ms {settle.quiet_ms} --limit-s {most_s}"
    return Step(name, command, deadline_s=most_s + 60)
