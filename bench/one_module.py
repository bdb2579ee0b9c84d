# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on two boards that differ in one kernel module alone, trial by trial to the nanosecond.

    .venv/bin/python bench/one_module.py OLD yaffs2 [STUDY]

OLD is another checkout; its device/modules/MODULE is built against the same kernel. A module's
bytes move all that comes after them in RAM, and with that any file system's figures. So both builds
are padded to one size and lie in an initramfs that is not packed: what then differs, the module
made different. Prints for each trial how much differs, and the new headline over the old one.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from nandlab.analysis.differences.compare import compare_trials
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.jobs import build
from nandlab.board.kit.kit import fetch_board_kit
from nandlab.board.virtual.image import make_initramfs, unpack_kernel_modules
from nandlab.board.virtual.machine import (
    OWN_MODULES,
    Machine,
    assemble_machine,
    build_initramfs_programs,
)
from nandlab.board.virtual.qemu import QemuBoard, boot_and_save_state
from nandlab.plan import study
from nandlab.results.record import Trial
from nandlab.trial import execution

PAGE = 4096
FOREIGN = {"yaffs2": "core"}
"""Modules that take sources of others, and the folder that they want them in."""


def built(target: Path, module: str, machine: Machine) -> Path:
    """The module from a checkout's sources, for the machine's kernel."""
    foreign = {FOREIGN[module]: machine.yaffs2.folder} if module in FOREIGN else None
    with patch.object(build, "DEVICE", target):
        (ko,) = build.build_kernel_modules(machine.kit.tools, module, machine.kit.kernel, foreign)
    return ko


def board(folder: Path, machine: Machine, module: str, content: bytes) -> QemuBoard:
    """A board with this build of the module among all others."""
    tools, kernel = machine.kit.tools, machine.kit.kernel
    others = [name for name in OWN_MODULES if name != module]
    own_modules = [ko for name in others for ko in build.build_kernel_modules(tools, name, kernel)]
    if module != "yaffs2":
        own_modules += build.build_kernel_modules(
            tools, "yaffs2", kernel, {"core": machine.yaffs2.folder}
        )
    folder.mkdir()
    ko = folder / f"{module}.ko"
    ko.write_bytes(content)
    (folder / "modules").mkdir()
    modules = unpack_kernel_modules(kernel, [*own_modules, ko], folder / "modules")
    image = make_initramfs(
        machine.kit, build_initramfs_programs(tools, machine.model.arch_traits), modules
    )
    (folder / "initrd").write_bytes(image.bytes())
    (folder / "state").mkdir()
    changed_machine = replace(machine, initrd=folder / "initrd", modules=modules)
    asyncio.run(boot_and_save_state(changed_machine, folder / "state"))
    return QemuBoard(changed_machine, folder / "state")


def headline(trial: Trial) -> float | None:
    said = workloadwords.make_workload_words_for_trials([trial])
    return find_workload_figure(said.headline.figure, said)(trial)


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    old, module = Path(sys.argv[1]) / "device", sys.argv[2]
    specs = study.plan_trials(
        study.read_study_file(study.find_study_file(sys.argv[3] if sys.argv[3:] else "quickstart"))
    )
    machine = assemble_machine(specs[0].virtual, fetch_board_kit(specs[0].virtual))
    if not (old / "modules" / module).is_dir():
        raise UsageError(f"{old}/modules/{module}: no such folder")
    kos = [built(target, module, machine).read_bytes() for target in (old, DEVICE)]
    size = -(-max(map(len, kos)) // PAGE) * PAGE
    with tempfile.TemporaryDirectory() as scratch:
        boards = [
            board(Path(scratch) / name, machine, module, ko.ljust(size, b"\0"))
            for name, ko in zip(("old", "new"), kos, strict=True)
        ]
        for spec in specs:
            before, after = (
                asyncio.run(execution.run_trial(spec, b, "one module")) for b in boards
            )
            count = sum(1 for _ in compare_trials(before, after, spec.id))
            times = headline(before), headline(after)
            ratio = times[1] / times[0] if times[0] and times[1] is not None else None
            print(f"{spec.title()}: {count} differences, {units.format_ratio(ratio)}", flush=True)


if __name__ == "__main__":
    main()
