#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracers cost, in the board's own time: FFSMark with and without them.

Measures: the time of FFSMark on JFFS2 and on UBIFS, which is instructions and flash time, with no
tracer, with flashmon alone, with all three, and with tracefs kprobe events at the same functions
(an entry and a return each, with the arguments as they are). Each is an ensemble: a run for each
of some phase offsets, each with a seed of its own, the same ones for all. The load begins at the
same second of the board's clock and the run's offset whatever was loaded before it, and the
offsets are swept. Now and then a write-back or a collector moves from after a load into it, or out,
and changes its time by far more than tracing does; so the figure is the median of the runs' own
percents, and their range and the percent of the sums are beside it.
Needs: a board (the virtual one of catalog/boards).
Costs: some minutes; --offsets scales it.

The table has each file system's own figure and the cost of an event. The last line is one JSON
object; its figures are the greater of both file systems.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass, field
from statistics import median

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.flash.chip.simnand import make_chip_module_parameters
from nandlab.traced.setup import make_tracer_commands

CASES = ("none", "flashmon", "all", "tracefs")
START_S = 40
"""Second of the board's clock when loads begin: all is mounted, settled and loaded by then."""
WAIT = "awk '{ t = %.3f - $1; if (t < 0) exit 1; print int(t * 1e6) }' /proc/uptime"
"""Prints how many microseconds are left until then."""
OFFSET_MS = 377
"""Step of the phase offset: no multiple of a tick, a flush or a commit interval."""
FLASH_FUNCTIONS = (
    *("nand_read_oob", "nand_write_oob", "nand_erase", "nand_erase_op"),
    *("simnand:read_page", "simnand:write_page", "simnand:write_subpage"),
    *("nand_read_oob_std", "nand_write_oob_std"),
)
"""Where tracefs sees what flashmon sees."""
INSTANT = {"SYNC_RA", "ASYNC_RA", "RA_SUBMIT"}
"""Events that have no return."""
TRACEFS = "/sys/kernel/tracing"


@dataclass
class Sums:
    """Of a case on a file system: each run's time, and the events that were recorded.

    tracefs makes an event of an entry and another of a return.
    """

    ns: list[int] = field(default_factory=list)
    events: int = 0


def tracefs_commands(probes: list[tuple[str, str]]) -> list[str]:
    """kprobe events at functions; those that cannot be probed are left out."""
    lines = [f"mount -t tracefs tracefs {TRACEFS} 2>/dev/null"]
    for n, (kind, function) in enumerate(probes):
        at = f"{TRACEFS}/kprobe_events"
        arguments = "a=%di b=%si c=%dx d=%cx"
        lines.append(f"echo 'p:nl/e{n} {function} {arguments}' >> {at} 2>/dev/null")
        if kind not in INSTANT:
            lines.append(f"echo 'r:nl/r{n} {function} ret=$retval' >> {at} 2>/dev/null")
    return [*lines, f"echo 1 > {TRACEFS}/events/nl/enable"]


class Bench:
    """Runs of one file system on a board."""

    def __init__(self, board: QemuBoard, fs: FilesystemModel, words: dict[str, str]) -> None:
        self.board, self.fs, self.words = board, fs, words
        self.probes: list[tuple[str, str]] = []

    def case(self, name: str) -> list[str]:
        """The shell commands that put a case's tracers in."""
        if name == "none":
            return []
        if name == "tracefs":
            flash = [("FLASH", f) for f in FLASH_FUNCTIONS]
            return tracefs_commands([*flash, *self.probes])
        tracers = ("flash",) if name == "flashmon" else ("vfs", "flash", "func")
        return make_tracer_commands(self.fs, "/mnt", tracers)

    def run(self, case: str, index: int) -> JobRecord:
        chip = load_noun("chips", "apf27", ChipModel)
        ffsmark = load_noun("workloads", "ffsmark", WorkloadModel)
        values = {k: str(p.default).lower() for k, p in ffsmark.parameters.items()} | self.words
        values |= {"mountpoint": "/mnt", "seed": str(index + 1)}
        words = self.fs.words(self.fs.resolve_values(OPTIONS, "bench"), mtd="0", mountpoint="/mnt")
        parameters = make_chip_module_parameters(chip, 256, self.board.machine.model.store_start)
        start = "\n".join([*self.case(case), "true\n"])
        steps = (
            Step("load", "modprobe simnand " + " ".join(f"{k}={v}" for k, v in parameters.items())),
            Step("modules", " && ".join(f"modprobe {m}" for m in self.fs.modules)),
            Step("format", " && ".join(["true", *self.fs.format]).format(**words)),
            Step("mount", self.fs.mount.format(**words)),
            Step("settle", "settle --quiet-ms 500 --limit-s 120", deadline_s=180),
            Step("start", "sh ./tracers.sh"),
            Step("phase", f"usleep $({WAIT % (START_S + index * OFFSET_MS / 1000)})"),
            Step("workload", "ffsmark --json ffsmark.cfg", deadline_s=24 * 3600),
            Step("status", "cat /proc/tracers/status 2>/dev/null || true"),
            Step("profile", f"cat {TRACEFS}/kprobe_profile 2>/dev/null || true"),
        )
        config = ffsmark.config.format(**values)
        files = {"ffsmark.cfg": config.encode(), "tracers.sh": start.encode()}
        record = asyncio.run(self.board.run(Job(steps, files)))
        failed = record.failed()
        if failed is not None:
            raise SystemExit(failed.failure())
        return record

    def measure(self, case: str, offsets: int) -> Sums:
        sums = Sums()
        for index in range(offsets):
            record = self.run(case, index)
            sums.ns.append(record["workload"].ns)
            status = [line.split() for line in record["status"].stdout.splitlines()]
            values = {words[0]: words[1] for words in status if len(words) == 2}
            sums.events += int(values.get("written", 0))
            profile = (line.split() for line in record["profile"].stdout.splitlines())
            sums.events += sum(int(words[1]) for words in profile)
            if values.get("missed", "0") != "0":
                raise SystemExit(f"{case}: {values['missed']} events were missed")
            if case == "all":
                self.probes = [(w[1], w[2]) for w in status if w[0] == "probe"]
        return sums


OPTIONS = {"compression": "none"}


def report(fs: str, sums: dict[str, Sums], ns_per_instruction: int) -> dict[str, float]:
    """A line for each case; percent of its time above that without tracers, the median of runs."""
    base = sum(sums["none"].ns)
    medians = {}
    for case, s in sums.items():
        extra_ns = sum(s.ns) - base
        percents = [100 * (t / b - 1) for t, b in zip(s.ns, sums["none"].ns, strict=True)]
        medians[case] = median(percents)
        cost_text = f"{extra_ns / s.events / ns_per_instruction:8.0f}" if s.events else f"{'-':>8}"
        print(
            f"{fs:8} {case:9} {sum(s.ns) / 1e9:9.3f} {medians[case]:8.3f} "
            f"{100 * extra_ns / base:8.3f} {s.events:9} {cost_text} "
            f"{min(percents):8.3f} to {max(percents):.3f}"
        )
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", default="apf27", help="of catalog/boards")
    parser.add_argument("--fs", nargs="+", default=["jffs2", "ubifs"])
    parser.add_argument("--cases", nargs="+", choices=CASES[1:], default=CASES[1:])
    parser.add_argument("--offsets", type=int, default=5, help="runs of each case")
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--transactions", type=int, default=600)
    options = parser.parse_args()
    model = load_noun("boards", options.board, BoardModel)
    board = open_board(model)
    words = {"files": str(options.files), "transactions": str(options.transactions)}
    print(
        f"{'fs':8} {'case':9} {'board s':>9} {'percent':>8} {'of sums':>8} {'events':>9} "
        f"{'instr.':>8} from to"
    )
    worst: dict[str, float] = {}
    for name in options.fs:
        bench = Bench(board, load_noun("filesystems", name, FilesystemModel), words)
        sums = {case: bench.measure(case, options.offsets) for case in ("none", *options.cases)}
        for case, percent in report(name, sums, 1 << model.icount_shift).items():
            worst[case] = max(worst.get(case, percent), percent)
    keys = {"flashmon": "flashmon_pct", "all": "all_pct", "tracefs": "tracefs_pct"}
    print(json.dumps({keys[c]: round(worst[c], 3) for c in options.cases}))


if __name__ == "__main__":
    main()
