# SPDX-License-Identifier: GPL-2.0-or-later
"""A write of FAT's table that fails once, on a real board, under FAT on the kernel's mtdblock: the
entry in memory keeps the value that was not stored, the new cluster is freed behind it, and the
file system is read-only from then on. NFTL passes up no failed write (nftl_writeblock() drops what
nftl_write() returns), so there it cannot come about.

With clusters of 512 bytes in 4 MiB each of the two tables has two blocks of 16 KiB of its own, and
mtdblock writes one block back when another is written to. So the third erase of an append is that
of the first table, for the second to be written to: fat_mirror_bhs() of fat_ent_write() fails.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cutsteps import on

from nandlab.board.jobs.job import Job, Step
from nandlab.board.jobs.modules import strip_module_signature
from nandlab.board.kit.partsource import add_patches
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.powercut.job import build_chip_module, make_chip_load_step

pytestmark = pytest.mark.board

MODULE = "mtdblock.ko"
DEVICE, FOLDER = "/dev/mtdblock0", "/mnt/fat"
JOURNAL = f"{DEBUG_FOLDER}/journal"
ERASES_MAX = 6
"""Of an append: each is made to fail in turn."""
OF_TABLE = 3
APPEND = f"dd if=/dev/zero of={FOLDER}/a bs=512 count=1 oflag=append conv=notrunc"
# a failed write of the device is told once more by the next sync of it, so mkfs.fat is run again
MAKE = f"mkfs.fat -F 32 --mbr=n -s 1 {DEVICE} > made 2>&1"
RESTORED = Path(__file__).with_name("fat-entry.diff")


def make_append_steps(erase: int) -> list[Step]:
    """A file system with a file of two clusters, an append whose so many-th erase fails once, and
    another append."""
    commands = {
        "make": f"{MAKE} || {MAKE}",
        "mount": f"mount -t vfat -o sync,iocharset=ascii {DEVICE} {FOLDER}",
        "file": f"dd if=/dev/zero of={FOLDER}/a bs=512 count=2",
        "arm": f"echo once erase {erase} > {JOURNAL}",
        "fails": f"{APPEND}; echo $?",
        "struck": f"grep once_failed {JOURNAL} && echo once none 0 > {JOURNAL}",
        "again": f"{APPEND}; echo $?",
        "options": f"grep {DEVICE} /proc/mounts",
        "unmount": f"umount {FOLDER}",
    }
    return [Step(f"{name} {erase}", command) for name, command in commands.items()]


def append_with_failing_erases(board: QemuBoard) -> dict[int, tuple[bool, bool, bool, bool]]:
    """By the number of the erase that fails: whether one failed, whether that append failed, the
    next one, and whether the file system is read-only then."""
    chip = load_noun("chips", "nandsim-small", ChipModel)
    medium = on(board, "nftl-fat32").model_copy(update={"chip": chip, "partition_blocks": 256})
    module = build_chip_module(board)
    (block,) = board.machine.kit.kernel.modules.rglob(MODULE)
    load = f"modprobe mtd_blkdevs && modprobe vfat && insmod ./{MODULE} && mkdir -p {FOLDER}"
    steps = [make_chip_load_step(medium, module), Step("modules", load)]
    for erase in range(1, ERASES_MAX + 1):
        steps += make_append_steps(erase)
    files = {**module, MODULE: strip_module_signature(block.read_bytes())}
    record = asyncio.run(board.run(Job(tuple(steps), files)))
    assert record.failed() is None, record.failed()
    return {
        erase: (
            record[f"struck {erase}"].stdout.split() == ["once_failed", "1"],
            record[f"fails {erase}"].stdout.strip() == "1",
            record[f"again {erase}"].stdout.strip() == "1",
            record[f"options {erase}"].stdout.split()[3].startswith("ro,"),
        )
        for erase in range(1, ERASES_MAX + 1)
    }


def test_an_entry_that_was_not_stored_makes_fat_read_only(board: QemuBoard) -> None:
    every = append_with_failing_erases(board)
    assert every[OF_TABLE] == (True, True, True, True)
    # an error of any other erase is told once, and that is all
    del every[OF_TABLE]
    assert set(every.values()) == {(True, True, False, False)}


def test_an_entry_that_is_put_back_does_not() -> None:
    model = load_noun("boards", "apf27", BoardModel)
    board = open_board(model, sources=add_patches({}, [RESTORED], "the test"))
    every = append_with_failing_erases(board)
    assert set(every.values()) == {(True, True, False, False)}
