#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Do power cuts find what was wrong with Linux's JFFS2 before March 2023?

Measures: points of a load, and those that did not hold, by class, under three modules of the board
apf27: the kernel's own; one that is built from the source of that kernel; and the same source with
jffs2_write_begin() as it was before the commit 23892d383bee, "jffs2: correct logic when creating a
hole in jffs2_write_begin". It made a hole only up to the begin of the page that is written. The
second module shows that what differs comes of that one edit and of nothing else of the build. Each
point that did not hold is tried again alone on a fresh board, whose chip the host reads too.
Needs: QEMU. Debian's source package of Linux, 140 MB, is fetched from the machine's mirror into the
cache, as jffs2_before.lock has it. Costs: three minutes, the first time five.

The last line is one JSON object: by module, points, classes of those that did not hold, how many of
these are the end of a load where nothing was cut, and of how many the host says the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from nandlab.base.cache import make_entry
from nandlab.board.jobs import build
from nandlab.board.jobs.job import Job, Step
from nandlab.board.kit.apt import Suite
from nandlab.board.kit.kit import fetch_package_sets
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.board.kit.packagesets import SourceSet
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut import campaign, hostcheck, requests
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point

BOARD = CHIP = "apf27"
PARTITION_MIB = 8
LOCK = Path(__file__).with_suffix(".lock")
INSIDE = "fs/jffs2"
"""Where the file system is in the kernel's source."""
BEGINS, ENDS = "if (pos > inode->i_size) {", "inode->i_size = pos;"
"""Around what makes the hole, in jffs2_write_begin() of file.c, with the mend."""
ENDS_AT = re.compile(r"\bpos\b")
"""Where the hole ends, and what its size is counted from."""
PLACES = 5
"""How often that is between both."""
DECLARED = "pgoff_t index = pos >> PAGE_SHIFT;"
PAGE_BEGINS = "uint32_t pageofs = index << PAGE_SHIFT;"
"""What was beside that before the mend, and stood for the hole's end."""
HELD = ". "
"""Letters of outcomes that are no finding."""


def source(model: BoardModel) -> tuple[str, Path]:
    """The version of Debian's source package, and a folder with JFFS2 of it."""
    wanted = SourceSet(Suite(model.release, model.arch), "linux")
    taken, _ = fetch_package_sets(model, [wanted], path=LOCK)
    files: Files = taken[wanted.name]
    dsc = next(name for name in files if name.endswith(".dsc"))
    archive = files[next(name for name in files if ".orig.tar." in name)]

    def make(work: Path) -> None:
        (work / "jffs2").mkdir()
        with tarfile.open(make_cached_package_path(archive)) as tar:
            for member in tar:
                path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
                content = tar.extractfile(member) if str(path.parent) == INSIDE else None
                if content is not None:
                    (work / "jffs2" / path.name).write_bytes(content.read())

    version = dsc.removesuffix(".dsc").partition("_")[2]
    return version, make_entry("jffs2", {"archive": archive, "form": 1}, make) / "jffs2"


def before(text: str) -> str:
    """file.c as it was before the mend; SystemExit if what was mended is not found in it."""
    start = text.find(BEGINS)
    end = text.find(ENDS, start)
    once = all(text.count(each) == 1 for each in (BEGINS, ENDS, DECLARED))
    hole, count = ENDS_AT.subn("pageofs", text[start : end + len(ENDS)])
    if not once or not 0 <= start < end or count != PLACES:
        sys.exit("file.c of this kernel's jffs2 has another jffs2_write_begin() than is known here")
    old = text[:start] + hole + text[end + len(ENDS) :]
    return old.replace(DECLARED, f"{DECLARED}\n\t{PAGE_BEGINS}")


def built(board: QemuBoard, folder: Path) -> Path:
    """jffs2.ko from a folder of its sources, for the board's kernel."""
    kit = board.machine.kit
    # an absolute folder is none of device/modules
    (module,) = build.build_kernel_modules(kit.tools, str(folder.resolve()), kit.kernel)
    return module


def having(board: QemuBoard, module: Path, folder: Path) -> QemuBoard:
    """The board with this module in place of the kernel's of that name: a job that names it brings
    it. folder: a new one, for its modules."""
    kernels = board.machine.modules
    folder.mkdir()
    for each in kernels.folder.iterdir():
        (folder / each.name).symlink_to(module if each.name == module.name else each)
    modules = replace(kernels, folder=folder)
    return QemuBoard(replace(board.machine, modules=modules), board.snapshot)


def is_kernels(board: QemuBoard) -> bool:
    """Whether the board loads the kernel's own module: any other one taints it."""
    step = Step("taint", "modprobe jffs2 && cat /sys/module/jffs2/taint")
    return not asyncio.run(board.run(Job((step,))))["taint"].stdout.strip()


def tried(trial_campaign: Campaign, board: QemuBoard) -> dict[str, Any]:
    """What a campaign finds on a board, and what the host says of each point that did not hold."""
    reports = asyncio.run(campaign.run_piece(trial_campaign, trial_campaign.points, board))
    titles = [load.title for load in trial_campaign.loads.loads]
    classes: Counter[str] = Counter()
    uncut, same, points = 0, Counter[bool | None](), 0
    for report in reports:
        points += report.points
        for finding in report.findings:
            classes[finding.name] += finding.count
            print(f"    {report.load}: {finding.first}: {finding.what}", flush=True)
        for variant, letters in report.outcomes.items():
            for k in (k for k, letter in enumerate(letters) if letter not in HELD):
                uncut += variant == "before" and k == report.operations
                point = select_single_cut_point(
                    trial_campaign.points,
                    titles.index(report.load),
                    k,
                    variant,
                    trial_campaign.points.seed,
                )
                verdicts = asyncio.run(hostcheck.try_point(trial_campaign, point, board))
                same[bool(verdicts.findings) and verdicts.verdicts_agree] += 1
    host = {"agrees": same[True], "disagrees": same[False], "cannot say": same[None]}
    return {"points": points, "did not hold": dict(classes), "of these uncut": uncut, "host": host}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--load", default="holes")
    parser.add_argument("--variants", default="before,subset")
    options = parser.parse_args()
    board = open_board(load_noun("boards", BOARD, BoardModel))
    system, chip = (
        load_noun("filesystems", "jffs2", FilesystemModel),
        load_noun("chips", CHIP, ChipModel),
    )
    medium = Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=chip.partition_blocks(PARTITION_MIB),
        filesystem=system,
        options=system.resolve_values({}, "the bench"),
    )
    points = CutPoints(variants=tuple(options.variants.split(",")))
    trial_campaign = Campaign(medium, requests.find_load_set_named(options.load), points)
    version, mended = source(board.machine.model)
    kernel = next(name for name in board.machine.kit.kernel.files if "linux-image-" in name)
    print(f"source {version}, kernel {kernel.removesuffix('.deb')}")
    outcome: dict[str, Any] = {"source": version, "kernel": kernel.split("_")[1]}
    with tempfile.TemporaryDirectory(prefix="nandlab-jffs2-") as work:
        old = Path(work) / "source"
        old.mkdir()
        for file in mended.iterdir():
            text = file.read_text()
            (old / file.name).write_text(before(text) if file.name == "file.c" else text)
        modules = {"built": built(board, mended), "before": built(board, old)}
        boards = {name: having(board, ko, Path(work) / name) for name, ko in modules.items()}
        for name, with_it in {"kernel": board, **boards}.items():
            if is_kernels(with_it) != (name == "kernel"):
                sys.exit(f"the board loads another jffs2 than {name}")
            print(f"  {name}:", flush=True)
            outcome[f"on {name}"] = tried(trial_campaign, with_it)
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
