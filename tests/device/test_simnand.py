# SPDX-License-Identifier: GPL-2.0-or-later
"""simnand on the board: known amounts of work, exact counts, every chip of the catalog."""

from __future__ import annotations

import asyncio

import pytest
from support.cases import UNLOAD, Cases, run_cases
from support.chipsteps import modprobe, numbers, run

from nandlab.board.jobs.build import build_kernel_modules
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters

pytestmark = pytest.mark.board

ERASED, PROGRAMMED, READ = 2, 13, 7
STATISTICS = "cd /sys/kernel/debug/simnand && cat counters"


def load(board: QemuBoard, chip: ChipModel, partition_blocks: int = 16) -> Step:
    words = make_chip_module_parameters(chip, partition_blocks, board.machine.model.store_start)
    return modprobe(words)


CHIPS = catalog.list_noun_names("chips")


@pytest.fixture(scope="module")
def known_work(board: QemuBoard) -> Cases:
    """One job that does the work on every chip, one after another."""

    def case(chip: ChipModel) -> list[Step]:
        g = chip.geometry
        dd = f"dd bs={g.writesize} 2>/dev/null"
        return [
            load(board, chip),
            Step("reset", "echo 1 > /sys/kernel/debug/simnand/reset"),
            Step("erase", f"flash_erase -q /dev/mtd0 {3 * g.erasesize} {ERASED}"),
            Step("program", f"{dd} if=/bin/busybox of=/dev/mtd0 count={PROGRAMMED} conv=notrunc"),
            Step("read", f"{dd} if=/dev/mtd0 of=/dev/null count={READ}"),
            Step("counters", STATISTICS),
            Step("blocks", "cat /sys/kernel/debug/simnand/blocks"),
            UNLOAD,
        ]

    return run_cases(board, {n: case(catalog.load_noun("chips", n, ChipModel)) for n in CHIPS})


@pytest.mark.xdist_group("known-work")
@pytest.mark.parametrize("name", CHIPS)
def test_known_work_is_counted_exactly(known_work: Cases, name: str) -> None:
    chip = catalog.load_noun("chips", name, ChipModel)
    record = known_work[name]
    c = numbers(record["counters"].stdout)
    assert (c["reads"], c["programs"], c["erases"]) == (READ, PROGRAMMED, ERASED)
    assert (c["pages_programmed"], c["illegal"]) == (PROGRAMMED, 0)
    assert c["blocks_erased"] == 16 - -(-PROGRAMMED // chip.pages_per_block())
    assert c["partition_pages"] == 16 * chip.pages_per_block()
    rows = [[int(n) for n in row.split()] for row in record["blocks"].stdout.splitlines()]
    assert len(rows) == 16
    assert [sum(column) for column in list(zip(*rows, strict=True))[1:4]] == [
        *(READ, PROGRAMMED, ERASED)
    ]
    assert {row[0] for row in rows if row[3]} == {3, 4}


def test_data_comes_back_as_it_was_written(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    record = run(
        board,
        load(board, chip),
        Step("write", "head -c 1000001 /dev/urandom > /tmp/x && nandwrite -q -p /dev/mtd0 /tmp/x"),
        Step("same", "nanddump -q -l 1000001 /dev/mtd0 | head -c 1000001 | cmp - /tmp/x"),
        Step(
            "erased",
            "flash_erase -q /dev/mtd0 0 0 && nanddump -q /dev/mtd0 | tr -d '\\377' | wc -c",
        ),
    )
    assert record["erased"].stdout.strip() == "0"


def test_the_kernel_keeps_its_ram_whatever_the_chip(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    free = Step("before", "grep MemFree /proc/meminfo")
    fill = Step("fill", "nandwrite -q -p -s 0 /dev/mtd0 /dev/zero 2>/dev/null || true", 3600)
    after = Step("after", "grep MemFree /proc/meminfo")
    record = run(board, free, load(board, chip, 256), fill, after)
    spent_kib = int(record["before"].stdout.split()[1]) - int(record["after"].stdout.split()[1])
    assert spent_kib < 8 * 1024, "32 MiB of flash were written into memory that is not the kernel's"


def test_bad_parameters_are_refused_with_the_reason(board: QemuBoard) -> None:
    record = asyncio.run(
        board.run(
            Job(
                (Step("load", "modprobe simnand writesize=1000"), Step("log", "dmesg", always=True))
            )
        )
    )
    assert record["load"].rc != 0
    assert "simnand: " in record["log"].stdout
    assert "writesize" in record["log"].stdout


def test_the_controller_knows_the_chips_commands_and_no_other(board: QemuBoard) -> None:
    """Asked first or given at once, a command that the chip has not is refused."""
    (module,) = build_kernel_modules(board.machine.kit.tools, "nandtry", board.machine.kit.kernel)
    record = run(
        board,
        modprobe({"blocks": 64, "array_phys": board.machine.model.store_start}),
        Step("ask", "insmod ./nandtry.ko && dmesg | grep 'nandtry: '"),
        files={module.name: module.read_bytes()},
    )
    said = dict(
        line.partition("nandtry: ")[2].split(" ", 1) for line in record["ask"].stdout.splitlines()
    )
    known = "00 01 05 10 30 50 60 70 80 85 90 d0 e0 ee ef ff"
    at_work = {"10", "30", "d0"}
    assert said == {
        "knows": known,
        "takes": " ".join(c for c in known.split() if c not in at_work),
    }
