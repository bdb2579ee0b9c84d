#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an event of each kind costs, in instructions: what catalog/tracer-costs.toml says, measured.

Measures: known work (a number of calls of one kind, a number of pages) with the tracers off and on,
once with as many calls and once with twice as many. What the second pair differs by more than the
first is the price of the further events alone; how many of each type those are, the trace tells.
The costs are the least squares over all works, so a work of several kinds prices each; by how much
a work is not explained by them is its residual.
Needs: a board whose clock counts instructions (the virtual one of catalog/boards).
Costs: a minute or so a board.

Prints the board's section of the catalog's file. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip.simnand import make_chip_module_parameters
from nandlab.traced import cost
from nandlab.traced.setup import FOLDER, make_tracer_commands

EVENT_COLUMN = 7
HOOKED = {"block_erase": "kretprobe"}
"""What status does not tell: flashmon's probe; all else that it does not name is a hook."""
READAHEAD = "for b in /sys/class/bdi/*/read_ahead_kb; do echo {} > $b; done"
COLD = "sync; echo 3 > /proc/sys/vm/drop_caches"
BLANK = "flash_erase -q /dev/mtd0 0 0"
DD = "dd 2> /dev/null"
PAGES_PER_BLOCK = 64
"""Of the chip apf27."""


@dataclass(frozen=True)
class Work:
    """Commands with ``{n}`` calls or pages; what comes before them is not timed."""

    name: str
    monitor: str
    command: str
    before: str = "true"
    counts: tuple[int, int] = (1000, 2000)


FILE = "filecalls /mnt/f"
VFS = (
    Work("read nothing", "vfsmon", f"{FILE} read:{{n}}:0:0"),
    Work("read of the cache", "vfsmon", f"{FILE} read:{{n}}:0:1:0"),
    Work("write nothing", "vfsmon", f"{FILE} write:{{n}}:0:0"),
    Work("write to a dirty page", "vfsmon", f"{FILE} write:{{n}}:0:1:0", "sync"),
    Work("sync what is clean", "vfsmon", f"{FILE} fsync:{{n}}", "sync"),
    Work("read page by page", "vfsmon", f"{FILE} read:{{n}}:0:4096",
         f"{COLD}; {READAHEAD.format(0)}", (800, 2400)),
    Work("read ahead", "vfsmon", f"{FILE} read:{{n}}:0:4096",
         f"{COLD}; {READAHEAD.format(16)}", (800, 2400)),
    Work("a function", "funcmon", f"{FILE} read:{{n}}:0:0"),
    Work("a function in a function", "funcmon", f"{FILE} fsync:{{n}}", "sync"),
)  # fmt: skip
FUNCTIONS = ("vfs_read", "vfs_fsync_range", "ubifs_fsync")
"""vfs_read calls none of the others, vfs_fsync_range the third."""
FLASH = (
    Work("read a page", "flashmon", f"{DD} if=/dev/mtd0 of=/dev/null bs=2048 count={{n}}"),
    Work("read a block", "flashmon", f"{DD} if=/dev/mtd0 of=/dev/null bs=128k count={{n}}",
         counts=(16, 48)),
    Work("read a page in parts", "flashmon", f"{DD} if=/dev/mtd0 of=/dev/null bs=512 count={{n}}"),
    Work("program a page", "flashmon",
         f"{DD} if=/dev/zero of=/dev/mtd0 bs=2048 count={{n}} conv=notrunc", BLANK),
    Work("program a block", "flashmon",
         f"{DD} if=/dev/zero of=/dev/mtd0 bs=128k count={{n}} conv=notrunc", BLANK, (16, 48)),
    Work("erase", "flashmon", "flash_erase -q /dev/mtd0 0 {n}", counts=(150, 450)),
)  # fmt: skip


def steps(works: tuple[Work, ...]) -> list[Step]:
    """For each work and count: with the tracer off, then on; and what it recorded."""
    commands = []
    for w, work in enumerate(works):
        for n in work.counts:
            name = f"{w}-{n}"
            command = work.command.format(n=n)
            commands += [
                Step(f"{name}-before", f"echo stop > {FOLDER}/control; {work.before}"),
                Step(f"{name}-off", command),
                Step(f"{name}-again", f"{work.before}; echo reset > {FOLDER}/control"),
                Step(f"{name}-start", f"echo start > {FOLDER}/{work.monitor}"),
                Step(f"{name}-on", command),
                Step(f"{name}-pause", f"echo pause > {FOLDER}/{work.monitor}"),
                Step(f"{name}-status", f"cat {FOLDER}/status"),
                Step(
                    f"{name}-count",
                    f"cat {FOLDER}/control | cut -d';' -f{EVENT_COLUMN} | sort | uniq -c",
                ),
            ]
    return commands


@dataclass
class EventTally:
    """Of each work, what its further events cost, and how many of each kind they are."""

    ns: list[int] = field(default_factory=list)
    events: list[Counter[str]] = field(default_factory=list)
    probes: dict[str, str] = field(default_factory=dict)

    def take(self, record: JobRecord, works: tuple[Work, ...]) -> None:
        for w, work in enumerate(works):
            extra_ns, counted = [], []
            for n in work.counts:
                name = f"{w}-{n}"
                extra_ns.append(record[f"{name}-on"].ns - record[f"{name}-off"].ns)
                lines = (line.split() for line in record[f"{name}-count"].stdout.splitlines())
                counted.append(Counter({words[1]: int(words[0]) for words in lines}))
                self.probes |= cost.parse_probe_kinds(record[f"{name}-status"].stdout)
            self.ns.append(extra_ns[1] - extra_ns[0])
            counted[1].subtract(counted[0])
            self.events.append(counted[1])


def run(board: QemuBoard, setup: list[str], works: tuple[Work, ...], tally: EventTally) -> None:
    begin = [Step(f"setup-{i}", command) for i, command in enumerate(setup)]
    record = asyncio.run(board.run(Job((*begin, *steps(works)))))
    failed = record.failed()
    if failed is not None:
        raise SystemExit(failed.failure())
    tally.take(record, works)


def measure(board: QemuBoard) -> EventTally:
    chip, fs = (
        load_noun("chips", "apf27", ChipModel),
        load_noun("filesystems", "ubifs", FilesystemModel),
    )
    parameters = make_chip_module_parameters(chip, 512, board.machine.model.store_start)
    modprobe = " ".join(["modprobe simnand", *(f"{k}={v}" for k, v in parameters.items())])
    options = fs.resolve_values({"compression": "none"}, "bench")
    words = fs.words(options, mtd="0", mountpoint="/mnt")
    mount = [
        *(f"modprobe {m}" for m in fs.modules),
        *(c.format(**words) for c in fs.format),
        fs.mount.format(**words),
        f"{FILE} write:2400:0:4096 && sync && settle --quiet-ms 500 --limit-s 120",
    ]
    stopped = f"echo stop > {FOLDER}/control"
    tally = EventTally()
    traced = make_tracer_commands(fs, "/mnt", ("vfs", "func"), FUNCTIONS)
    run(board, [modprobe, *mount, *traced, stopped], VFS, tally)
    traced = make_tracer_commands(fs, None, ("flash",))
    run(board, [modprobe, *traced, f"echo calls on > {FOLDER}/flashmon", stopped], FLASH, tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", default="apf27", help="of catalog/boards")
    options = parser.parse_args()
    model = load_noun("boards", options.board, BoardModel)
    board = open_board(model)
    tracing_costs = cost.read_tracing_costs()
    series = cost.parse_kernel_series(str(board.identity["kernel"]))
    tally = measure(board)
    kinds = list(tracing_costs.kinds)
    matrix = np.zeros((len(tally.ns), len(kinds)))
    probes = {kind: HOOKED.get(kind, "hook") for kind in kinds}
    for row, events in enumerate(tally.events):
        for event, count in events.items():
            kind = tracing_costs.find_kind(event)
            if kind is not None and count:
                matrix[row, kinds.index(kind)] += count
                probes[kind] = tally.probes.get(event, probes[kind])
    instructions = np.array(tally.ns) / (1 << model.icount_shift)
    costs, *_ = np.linalg.lstsq(matrix, instructions, rcond=None)
    explained = matrix @ costs
    for work, real, predicted, events in zip(
        (*VFS, *FLASH), instructions, explained, tally.events, strict=True
    ):
        most = ", ".join(f"{n} {e}" for e, n in sorted(events.items()) if n > 0)
        print(f"{work.name:26} {real:10.0f} instr., by costs {predicted:10.0f}  {most}")
    print(f'\n[kernels."{series}"]')
    for kind, kind_cost in zip(kinds, costs, strict=True):
        print(f'{kind} = {{ instructions = {kind_cost:.0f}, probe = "{probes[kind]}" }}')
    residual = max(abs(explained - instructions) / np.maximum(instructions, 1))
    catalog_costs = tracing_costs.kernels.get(series, {})
    off = [
        abs(kind_cost / catalog_costs[kind].instructions - 1)
        for kind, kind_cost in zip(kinds, costs, strict=True)
        if kind in catalog_costs
    ]
    summary = {"residual_pct": round(100 * residual, 1)}
    if off:
        summary["from_catalog_pct"] = round(100 * max(off), 1)
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
