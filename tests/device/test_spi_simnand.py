# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip behind SPI, driven by the kernel's own spinand, which is built from the locked source.

The kernel knows the parts by their IDs; UBI takes a page for each of its headers; bits cost their
clocks; what the ECC on the die did is told in each maker's way.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from support import smalltrial
from support.cases import FORGET, Cases, run_cases
from support.chipsteps import numbers

from nandlab.board.jobs.job import Step
from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel, SpiBus
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import (
    COUNTERS_FILE,
    DEBUG_FOLDER,
    SPI_MODULE,
    make_chip_load_step,
    make_chip_module_parameters,
)
from nandlab.plan.matrix import ChipChoice, SpinandChoice
from nandlab.results.record import Trial
from nandlab.trial.execution import run_trial

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(3600)]

MAKERS = {
    "W25N01GV": "Winbond",
    "GD5F1GQ4UA": "GigaDevice",
    "MX35LF1GE4AB": "Macronix",
    "TC58CVG0S3": "Toshiba",
    "MT29F1G01": "Micron",
}
BLOCKS, PAGES, PAGE_BYTES = 64, 50, 2048
UNLOAD = Step("unload", f"rmmod {SPI_MODULE}")
COUNTS = Step("counts", f"cat {COUNTERS_FILE}")
RESET = f"echo 1 > {DEBUG_FOLDER}/reset"
ERASE = "flash_erase -q /dev/mtd0 0 4"
FILL = f"{ERASE} && head -c {PAGES * PAGE_BYTES} /dev/urandom > /tmp/x"
WRITE = f"dd if=/tmp/x of=/dev/mtd0 bs={PAGE_BYTES} conv=notrunc 2> /dev/null"
READ = f"dd if=/dev/mtd0 of=/tmp/y bs={PAGE_BYTES} count={PAGES} 2> /dev/null"
FLIPS: dict[str, tuple[dict[int, Sequence[int]], int, int]] = {
    # by part: flipped bits of pages; bits that the ECC corrected, and that MTD counts
    "W25N01GV": ({0: [5], 2: [4096 + 7]}, 2, 2),
    "MX35LF1GE4AB": ({0: [5, 6, 7], 1: [2, 9000]}, 5, 4),  # the most in a step of a page
    "TC58CVG0S3": ({0: range(6), 1: [100]}, 7, 7),
    "GD5F1GQ4UA": ({0: range(8), 1: [100]}, 9, 8 + 7),  # from 1 to 7 are told as 7
    "MT29F1G01": ({0: range(5), 1: [100], 2: range(7)}, 13, 6 + 3 + 8),  # as 3, 6 or 8
}


def load(board: QemuBoard, part: str, **more: int) -> Step:
    chip = load_noun("chips", part, ChipModel)
    start = board.machine.model.store_start
    words = make_chip_module_parameters(chip, BLOCKS, start)
    return make_chip_load_step({**words, **more}, module=SPI_MODULE)


@pytest.fixture(scope="module")
def spi_board() -> QemuBoard:
    """The board with the kernel's driver."""
    model = load_noun("boards", "apf27", BoardModel)
    return open_board(model, sources=parse_source_words(["spinand=package"], "--source"))


def list_attach_steps(board: QemuBoard, part: str) -> list[Step]:
    return [
        FORGET,
        load(board, part),
        Step("same", f"{FILL} && {WRITE} && {READ} && cmp /tmp/x /tmp/y"),
        Step("format", "modprobe ubi && ubiformat -q -y /dev/mtd0"),
        Step("attach", f"{RESET} && ubiattach -m 0 > /dev/null"),
        Step("blocks", f"cut -d ' ' -f 2 {DEBUG_FOLDER}/blocks | sort | uniq -c"),
        COUNTS,
        Step("log", "dmesg"),
        Step("detach", "ubidetach -m 0"),
        UNLOAD,
    ]


def list_bus_steps(board: QemuBoard, lines: int) -> list[Step]:
    return [
        load(board, "W25N01GV", lines=lines, clock_khz=52000, controller_ns=1000),
        Step("fill", FILL),
        Step("write", f"{RESET} && {WRITE}"),
        Step("written", f"cat {COUNTERS_FILE}"),
        Step("read", f"{RESET} && {READ} && cmp /tmp/x /tmp/y"),
        COUNTS,
        UNLOAD,
    ]


def list_flip_steps(board: QemuBoard, part: str, flips: dict[int, Sequence[int]]) -> list[Step]:
    places = [(page, bit) for page, bits in flips.items() for bit in bits]
    flip = [f"echo {page} {bit} > {DEBUG_FOLDER}/flip" for page, bit in places]
    told = "cat /sys/class/mtd/mtd0/corrected_bits /sys/class/mtd/mtd0/ecc_failures"
    return [
        load(board, part),
        Step("write", f"{FILL} && {WRITE} && {' && '.join(flip)} && {RESET}"),
        Step("read", f"{READ} && cmp /tmp/x /tmp/y"),
        COUNTS,
        Step("mtd", told),
        UNLOAD,
    ]


@pytest.fixture(scope="module")
def cases(spi_board: QemuBoard) -> Cases:
    board = spi_board
    found = {part: list_attach_steps(board, part) for part in MAKERS}
    found |= {f"lines {lines}": list_bus_steps(board, lines) for lines in (1, 2, 4)}
    found |= {f"flips {p}": list_flip_steps(board, p, flips) for p, (flips, *_) in FLIPS.items()}
    found["failed ECC"] = [
        load(board, "W25N01GV"),
        Step("write", f"{FILL} && {WRITE}"),
        Step("flip", f"for bit in 5 6; do echo 0 $bit > {DEBUG_FOLDER}/flip; done; {RESET}"),
        Step("read", f"{READ} && ! cmp -s /tmp/x /tmp/y && cat /sys/class/mtd/mtd0/ecc_failures"),
        COUNTS,
        UNLOAD,
    ]
    found["failed operations"] = [
        load(board, "W25N01GV", program_fail_at=3, erase_fail_at=6),
        Step("fill", FILL),
        Step("write", f"! {WRITE}"),
        Step("erase", f"{ERASE} 2>&1 | grep 'error 5'"),
        COUNTS,
        UNLOAD,
    ]
    found["no power"] = [
        load(board, "W25N01GV"),
        Step("fill", FILL),
        Step("off", f"echo off > {DEBUG_FOLDER}/power && ! {READ}"),
        Step("on", f"echo on > {DEBUG_FOLDER}/power && {READ}"),
        # power brings the protection of all blocks, and the driver does not know it
        Step("locked", f"! {WRITE}"),
        COUNTS,
        UNLOAD,
    ]
    refused = {part: load(board, part).command for part in ("W25N02KV", "F50L1G41A")}
    for part, command in refused.items():
        found[part] = [FORGET, Step("load", f"! {{ {command}; }}"), Step("log", "dmesg")]
    busy = "mount -t jffs2 mtd0 /mnt && ! rmmod"
    found["in use"] = [
        load(board, "W25N01GV"),
        Step("busy", f"modprobe jffs2 && {busy} {SPI_MODULE} && umount /mnt"),
        UNLOAD,
    ]
    return run_cases(board, found)


@pytest.mark.parametrize("part", MAKERS)
def test_the_kernel_knows_the_part_and_ubi_takes_two_pages_of_each_block(
    cases: Cases, part: str
) -> None:
    record = cases[part]
    log = record["log"].stdout
    assert f"spi0.0: {MAKERS[part]} SPI NAND" in log
    assert "128 MiB, block size: 128 KiB, page size: 2048" in log
    assert "PEB size: 131072 bytes (128 KiB), LEB size: 126976" in log
    assert "VID header offset: 2048 (aligned 2048), data offset: 4096" in log
    reads = dict(line.split()[::-1] for line in record["blocks"].stdout.splitlines())
    # the two blocks of the table of volumes are read besides
    assert (int(reads["2"]), sum(map(int, reads.values()))) == (BLOCKS - 2, BLOCKS)
    counts = numbers(record["counts"].stdout)
    assert (counts["oob_reads"], counts["illegal"]) == (0, 0)


@pytest.mark.parametrize("lines", [1, 2, 4])
def test_each_bit_costs_its_clock(cases: Cases, lines: int) -> None:
    """What is left is polls of the status register: as many as the board's processor has time for.

    At 52 MHz: a command and an address of three bytes 32 clocks, a poll 24.
    """
    t = load_noun("chips", "W25N01GV", ChipModel).timing

    def ns(clocks: int) -> int:
        return 1000 + -(-clocks * 1000 // 52)

    # one line: 0b with a dummy byte; two: bb; four: eb with two dummy bytes
    head = {1: 8 * 4, 2: 8 + 8 * 3 // 2, 4: 8 + 8 * 4 // 4}[lines]
    read = ns(32) + t.t_r_ns + ns(head + 8 * PAGE_BYTES // lines)
    spare = PAGE_BYTES + 64
    loads = ns(24 + 8 * spare // (4 if lines == 4 else 1))  # no load over two lines
    write = ns(8) + loads + ns(32) + t.t_prog_ns
    counts = numbers(cases[f"lines {lines}"]["counts"].stdout)
    written = numbers(cases[f"lines {lines}"]["written"].stdout)
    assert (counts["reads"], written["programs"]) == (PAGES, PAGES)
    for busy_ns, each in ((counts["busy_ns"], read), (written["busy_ns"], write)):
        polls, rest = divmod(busy_ns - PAGES * each, ns(24))
        assert rest == 0
        assert PAGES <= polls < 20 * PAGES


@pytest.mark.parametrize("part", FLIPS)
def test_flipped_bits_come_up_as_the_maker_tells_them(cases: Cases, part: str) -> None:
    flips, corrected, told = FLIPS[part]
    record = cases[f"flips {part}"]
    counts = numbers(record["counts"].stdout)
    assert counts["flipped_bits"] == counts["ecc_corrected"] == corrected
    assert sum(map(len, flips.values())) == corrected
    assert [int(n) for n in record["mtd"].stdout.split()] == [told, 0]


def test_failures_come_up(cases: Cases) -> None:
    ecc = numbers(cases["failed ECC"]["counts"].stdout)
    assert (ecc["flipped_bits"], ecc["ecc_corrected"], ecc["ecc_failed"]) == (2, 0, 1)
    assert cases["failed ECC"]["read"].stdout.split() == ["1"]
    counts = numbers(cases["failed operations"]["counts"].stdout)
    assert (counts["programs"], counts["program_fails"]) == (3, 1)
    # the block of the failed program is worn out
    assert (counts["erases"], counts["erase_fails"]) == (8, 2)
    off = numbers(cases["no power"]["counts"].stdout)
    assert (off["power_cuts"], off["programs"]) == (1, 0)


def test_a_part_that_this_kernel_does_not_know_is_refused(cases: Cases) -> None:
    logs = {part: cases[part]["log"].stdout for part in ("W25N02KV", "F50L1G41A")}
    assert re.search(r"not loaded: .* ID efaa22 .*2048 \+ 64", logs["W25N02KV"])
    assert re.search(r"not loaded: .* take .* ID c821", logs["F50L1G41A"])


def test_a_chip_in_use_stays(cases: Cases) -> None:
    assert cases["in use"]["busy"].ok


def test_a_trial_repeats_to_the_nanosecond(spi_board: QemuBoard) -> None:
    bus = SpinandChoice(lines=1, clock_mhz=52)
    chip = ChipChoice(part="W25N01GV", partition_mib=8, spinand=bus)
    spec = smalltrial.planned(spi_board, "ubifs", chip)

    def run() -> Trial:
        return asyncio.run(run_trial(spec, spi_board, "spi"))

    first, second = run(), run()
    assert first.status == "ok", first.error
    assert [(s.name, s.ns) for s in first.steps] == [(s.name, s.ns) for s in second.steps]
    assert first.chip.spinand == SpiBus(lines=1, clock_mhz=52)
