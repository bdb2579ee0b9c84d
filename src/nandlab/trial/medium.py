# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps on a medium: load the chip and the modules, format, mount, come to rest, unmount."""

from __future__ import annotations

from nandlab.board.job import Step
from nandlab.chip.simulated import chip_parameters, load_step
from nandlab.plan.medium import Medium

FORMAT_DEADLINE_S = 3600


def load(on: Medium, image: str | None = None) -> Step:
    """Loads the chip.

    image: the board's command that writes the chip's image to stdout; None: the chip is erased.
    """
    parameters = chip_parameters(on.chip, on.partition_blocks, on.board.store_start, on.latency)
    parameters |= on.faults.parameters(on.seed)
    parameters |= {str(key): value for key, value in on.filesystem.chip_parameters.items()}
    parameters["wait"] = on.board.wait
    return load_step(parameters, image)


def modules(on: Medium) -> Step:
    """Loads the file system's modules."""
    return Step("modules", " && ".join(f"modprobe {m}" for m in on.filesystem.modules))


def formats(on: Medium, deadline_s: int = FORMAT_DEADLINE_S) -> list[Step]:
    """Makes the file system, unless mounting an erased chip makes it."""
    commands = on.filesystem.format
    return [Step("format", on.commands(*commands), deadline_s)] if commands else []


def mount(on: Medium, name: str = "mount") -> Step:
    """Mounts the file system, for the first time or again, and sets what its options set then."""
    return Step(name, on.commands(*on.filesystem.mount_commands(on.options)))


def unmount(on: Medium, name: str = "unmount") -> Step:
    """Unmounts the file system and detaches it from the chip."""
    return Step(name, on.commands(*on.filesystem.unmount))


def rest(on: Medium, name: str = "settle", limit_s: int = 0) -> Step:
    """Waits until background work has ended, for so long at the most; 0: as its catalog file has
    it."""
    settle = on.filesystem.settle
    most_s = limit_s or settle.limit_s
    command = f"settle --quiet-ms {settle.quiet_ms} --limit-s {most_s}"
    return Step(name, command, deadline_s=most_s + 60)
