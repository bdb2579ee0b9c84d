# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS's options that Debian's kernel leaves off, on the board: what is encrypted is not on flash,
what is signed is not mounted without the key, and the checks are on."""

from __future__ import annotations

import asyncio

import pytest
from support import lock
from support.smalltrial import CHIP, medium

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.opening import open_board
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.trial.mediumsteps import (
    make_format_steps,
    make_medium_load_step,
    make_module_load_step,
    make_mount_step,
    make_unmount_step,
)

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(1800)]

WORD = "an-uncompressed-word"
WRITE = Step("write", f"mkdir /mnt/folder-{WORD} && echo {WORD} > /mnt/folder-{WORD}/file && sync")
READ = Step("read", f"cat /mnt/folder-{WORD}/file")
COUNT = Step("count", f"grep -c {WORD} /dev/mtd0; true")
CHECKS = Step("checks", "cat /sys/kernel/debug/ubifs/chk_*")


@pytest.fixture(scope="module")
def board() -> QemuBoard:
    lock.need_locked("apf27")
    board = open_board(load_noun("boards", "apf27-ubifs", BoardModel))
    assert isinstance(board, QemuBoard)
    return board


def run(board: QemuBoard, options: dict[str, str], *after: Step) -> JobRecord:
    """Writes a file, unmounts, mounts again, reads it, and looks for its content on flash."""
    on = medium(board, "ubifs", CHIP, compression="none", **options)
    steps = [make_medium_load_step(on), make_module_load_step(on), *make_format_steps(on)]
    steps += [make_mount_step(on), WRITE, make_unmount_step(on), make_mount_step(on, "again")]
    steps += [READ, CHECKS, make_unmount_step(on, "last"), COUNT, *after]
    record = asyncio.run(board.run(Job(tuple(steps))))
    assert record.failed() is None, record.failed()
    assert record["read"].stdout == f"{WORD}\n"
    return record


def test_without_them_the_file_is_on_flash_and_nothing_is_checked(board: QemuBoard) -> None:
    record = run(board, {})
    assert int(record["count"].stdout) > 0
    assert set(record["checks"].stdout.split()) == {"0"}


def test_neither_content_nor_names_of_an_encrypted_one_are_on_flash(board: QemuBoard) -> None:
    assert int(run(board, {"encryption": "on"})["count"].stdout) == 0


def test_a_signed_one_is_not_mounted_without_its_key(board: QemuBoard) -> None:
    plain = medium(board, "ubifs")
    bare = make_mount_step(plain, "bare").command
    refused = Step("refused", f"{bare} && exit 1; dmesg | grep -ci 'authenticat'")
    record = run(board, {"authentication": "on"}, refused)
    assert int(record["count"].stdout) > 0
    assert int(record["refused"].stdout.split()[-1]) > 0


def test_its_own_checks_are_switched_on(board: QemuBoard) -> None:
    record = run(board, {"own_checks": "on"})
    assert set(record["checks"].stdout.split()) == {"1"}
