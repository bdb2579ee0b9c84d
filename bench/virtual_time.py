#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Host time of a FFSMark run on simnand in warp, against the kernel's own nandsim with delays.

Measures: host seconds of each step of one job on one board, from the board's status channel, with
either chip; the board's own clock for the same steps. Both chips have the same geometry, latencies
and bus cycles; the kernel, JFFS2, FFSMark and its configuration are the same. nandsim knows erase
times in whole ms only, so both erase in 2 ms.
Needs: a board (the virtual one of catalog/boards).
Costs: a boot if the board is not in the cache, then some minutes, nearly all of them nandsim's.

host_ratio is nandsim's host time over simnand's, of the workload alone, from FFSMark's start to
its end, on a formatted chip; virtual_per_host is simnand's board seconds per host second of the
same. The other steps are in the table. JFFS2 does not compress, for the data are random and half
of simnand's host time would be zlib's, which is none of the chip's; --options rw has it try. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

T_R_US, T_PROG_US, T_BERS_MS = 25, 200, 2
T_RC_NS, T_WC_NS = 40, 50
CHIPS = {
    "nandsim": (
        "modprobe nandsim first_id_byte=0x20 second_id_byte=0x79 do_delays=1 "
        f"access_delay={T_R_US} programm_delay={T_PROG_US} erase_delay={T_BERS_MS} "
        f"output_cycle={T_RC_NS} input_cycle={T_WC_NS}"
    ),
    "simnand": (
        "modprobe simnand id=0x20,0x79 writesize=512 oobsize=16 erasesize=16384 blocks=8192 "
        "ecc_step=256 ecc_strength=1 nop=3 in_order=0 "
        f"t_r_ns={T_R_US * 1000} t_prog_ns={T_PROG_US * 1000} t_bers_ns={T_BERS_MS * 1000000} "
        f"t_rc_ns={T_RC_NS} t_wc_ns={T_WC_NS} array_phys={{array_phys}} {{more}}"
    ),
}
CONFIG = """\
set location /mnt
set number {files}
set size 512 10240
set transactions {transactions}
set seed 1
set read {block_bytes}
set write {block_bytes}
set buffering false
run
quit
"""


@dataclass
class Timed:
    """A job's record, and the host time at which each of its steps began and the last ended."""

    began_s: dict[str, float]
    record: JobRecord
    ended_s: float

    def host_s(self, step: str) -> float:
        names = list(self.began_s)
        after = names[names.index(step) + 1 :]
        return (self.began_s[after[0]] if after else self.ended_s) - self.began_s[step]

    def board_s(self, step: str) -> float:
        return self.record[step].ns / 1e9


def run(board: QemuBoard, load_chip: str, config: str, options: str) -> Timed:
    steps = (
        Step("load", load_chip),
        Step("format", "flash_erase -q -j /dev/mtd0 0 0"),
        Step("mount", f"modprobe jffs2 && mount -t jffs2 -o {options} mtd0 /mnt"),
        Step("ffsmark", "ffsmark --json ffsmark.cfg", deadline_s=3600),
        Step("unmount", "umount /mnt"),
    )
    began_s: dict[str, float] = {}

    def on_step(name: str) -> None:
        began_s[name] = time.monotonic()

    job = Job(steps, {"ffsmark.cfg": config.encode()})
    record = asyncio.run(board.run(job, on_step))
    failed = record.failed()
    if failed is not None:
        raise SystemExit(failed.failure())
    return Timed(began_s, record, time.monotonic())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", default="apf27", help="of catalog/boards")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--transactions", type=int, default=3000)
    parser.add_argument("--block-bytes", type=int, default=4096, help="of a read or write")
    parser.add_argument("--options", default="compr=none", help="mount options of JFFS2")
    parser.add_argument("--only", choices=tuple(CHIPS), help="one chip, and no ratio")
    parser.add_argument("--more", default="", help="further parameters of simnand")
    options = parser.parse_args()
    board = open_board(load_noun("boards", options.board, BoardModel))
    config = CONFIG.format(
        files=options.files, transactions=options.transactions, block_bytes=options.block_bytes
    )
    words = {"array_phys": board.machine.model.store_start, "more": options.more}
    timed = {
        name: run(board, command.format(**words), config, options.options)
        for name, command in CHIPS.items()
        if options.only in (None, name)
    }
    print(f"{'chip':8} {'step':8} {'host s':>8} {'board s':>8} {'board/host':>10}")
    for name, t in timed.items():
        for step in t.began_s:
            host, virtual = t.host_s(step), t.board_s(step)
            print(f"{name:8} {step:8} {host:8.2f} {virtual:8.2f} {virtual / host:10.2f}")
    figures: dict[str, float | None] = {"host_ratio": None, "virtual_per_host": None}
    if len(timed) == len(CHIPS):
        figures["host_ratio"] = round(
            timed["nandsim"].host_s("ffsmark") / timed["simnand"].host_s("ffsmark"), 2
        )
    if "simnand" in timed:
        t = timed["simnand"]
        figures["virtual_per_host"] = round(t.board_s("ffsmark") / t.host_s("ffsmark"), 2)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
