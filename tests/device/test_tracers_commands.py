# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc/tracers refuses, and what it loses: said each time, exactly."""

from __future__ import annotations

import struct

import pytest
from support.chipsteps import modprobe, numbers
from tracersteps import MODULES, TOTALS, assert_same, read, run, status, tell

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters

pytestmark = pytest.mark.board

LOAD = "modprobe tracers {} && modprobe vfsmon && modprobe flashmon && modprobe funcmon"
HEADER = struct.Struct("<IHHQQB7xQQ16x")
RECORD_BYTES = 64

BAD = [
    ("control", "begin", "no command 'begin'"),
    ("control", "start now", "no command 'start now'"),
    ("control", "mode round", "mode: overwrite or full"),
    ("control", "names maybe", "names: on or off"),
    ("control", "task", "task: name one"),
    ("control", "task a-name-of-sixteen", "at most 15 characters"),
    ("control", "mark", "mark: 1 to 24 bytes"),
    ("control", "mark 0123456789012345678901234", "mark: 1 to 24 bytes"),
    ("vfsmon", "pause", "pause: it is not running"),
    ("vfsmon", "mount /nowhere", "mount /nowhere: -2"),
    ("vfsmon", "mtd none", "no MTD device 'none'"),
    ("vfsmon", "mtd 99", "no MTD device '99'"),
    ("vfsmon", "fs nofs", "no file system 'nofs'"),
    ("vfsmon", "mount", "no command 'mount'"),
    ("vfsmon", "op fly a", "no operation 'fly'"),
    ("vfsmon", "op read_page", "name functions"),
    ("vfsmon", "op read_page a b c d e f g", "at most 6 names"),
    ("flashmon", "mtd 99", "no raw NAND device '99'"),
    ("flashmon", "mtd none", "no raw NAND device 'none'"),
    ("flashmon", "hits perhaps", "hits on or off"),
    ("flashmon", "calls", "calls on or off"),
    ("funcmon", "add no_such_function", "no function 'no_such_function'"),
    ("funcmon", "add", "name a function"),
    ("funcmon", "log x", "log: on or off"),
    ("funcmon", f"add {'x' * 96}", "name a function"),
]


def test_what_is_wrong_is_refused_with_a_reason_and_changes_nothing(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "nandsim-small", ChipModel)
    words = make_chip_module_parameters(chip, 64, board.machine.model.store_start)
    state = "grep -v ^refused /proc/tracers/status"
    lines = [f"{LOAD.format('records=100')} && {tell('funcmon', 'add vfs_read')} || exit 1"]
    lines.append(f"{state} > before")
    for file, command, _ in BAD:
        lines.append(
            f"echo '{command}' > /proc/tracers/{file} 2> said && echo taken || "
            "sed -n 's/^refused //p' /proc/tracers/status"
        )
    lines.append(f"{state} | cmp - before || exit 1")
    record = run(
        board,
        None,
        modprobe(words),
        Step("bad", "sh ./bad.sh"),
        # Of several commands the first that is refused ends the write; those before it are done.
        Step("lines", "! printf 'mark a\\nfly\\nmark b\\n' > /proc/tracers/control 2> /dev/null"),
        Step("marks", f"{read('control')} | grep -c MARK"),
        Step("one", f"{tell('control', 'start')} && ! {tell('control', 'mode full')} 2> /dev/null"),
        Step("busy", f"! {tell('funcmon', 'clear')} 2> /dev/null && ! rmmod tracers 2> /dev/null"),
        Step("stop", f"{tell('control', 'stop')} && rmmod {MODULES}"),
        Step("refused", "! modprobe tracers records=0 2> /dev/null && ! modprobe tracers tasks=0"),
        files={"bad.sh": "\n".join([*lines, ""]).encode()},
    )
    answers = record["bad"].stdout.splitlines()
    assert len(answers) == len(BAD)
    for (file, command, reason), answer in zip(BAD, answers, strict=True):
        assert reason in answer, f"{file}: {command}: {answer}"
    assert record["marks"].stdout.strip() == "1"


def marks(n: int) -> str:
    """Writes marks, each an event of a line of eight bytes."""
    return f"yes 'mark ab' | head -c {8 * n} > /proc/tracers/control"


def test_a_ring_that_is_too_small_says_how_many_it_lost(board: QemuBoard) -> None:
    """Of 100,003 events the last 1024 are there, and all others are counted."""
    check_loss(board, 100_003)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_million_events_are_kept_or_counted(board: QemuBoard) -> None:
    check_loss(board, 10_000_019)


def check_loss(board: QemuBoard, n: int) -> None:
    record = run(
        board,
        None,
        Step("tracers", "modprobe tracers records=1000"),  # rounded up to 1024
        Step("lose", f"{marks(n)} && {read('status')}", deadline_s=3600),
        Step("text", f"{read('control')} | grep -c MARK"),
        Step("binary", f"{read('records')} | tee first | wc -c; head -c 64 first | od -An -v -tx1"),
        Step("read", read("status")),
        # Read all the time while it is written: what was read and what was lost is all.
        Step("reset", tell("control", "reset")),
        Step("while", "sh ./while.sh", deadline_s=3600),
        Step("after", read("status")),
        # Where nothing is overwritten, the oldest stay and the newest are counted.
        Step("full", f"{tell('control', 'reset')} && {tell('control', 'mode full')}"),
        Step("refuse", "for i in $(seq 1030); do echo mark x; done > marks; "
             "while read l; do echo $l > /proc/tracers/control; done < marks 2> /dev/null; true"),
        Step("kept", read("status")),
        Step("unload", "rmmod tracers"),
        files={
            "while.sh": (
                f"{marks(n)} &\nwriter=$!\n"
                "while kill -0 $writer 2> /dev/null; do cat /proc/tracers/records | wc -c; done\n"
                "cat /proc/tracers/records | wc -c\n"
            ).encode()
        },
    )  # fmt: skip
    lost = status(record["lose"].stdout)
    assert (int(lost["written"]), int(lost["lost"]), int(lost["unread"])) == (n, n - 1024, 1024)
    assert record["text"].stdout.strip() == "1024"
    taken = status(record["read"].stdout)
    assert (int(taken["lost"]), int(taken["unread"])) == (n - 1024, 0)
    size, *encoded = record["binary"].stdout.split()
    assert int(size) == (1 + 1024) * RECORD_BYTES
    header = HEADER.unpack(bytes.fromhex("".join(encoded)))
    assert header[:3] == (0x5243524E, 1, RECORD_BYTES)
    assert (header[4], header[7]) == (n - 1024, n)
    sizes = [int(line) // RECORD_BYTES - 1 for line in record["while"].stdout.split()]
    after = status(record["after"].stdout)
    assert (int(after["written"]), int(after["unread"])) == (n, 0)
    assert sum(sizes) + int(after["lost"]) == n
    assert sum(sizes) > 1024  # more than the ring holds: it was read while it was written
    kept = status(record["kept"].stdout)
    assert (int(kept["written"]), int(kept["lost"])) == (1024, 6)


def test_each_page_and_block_of_raw_flash_is_seen(board: QemuBoard) -> None:
    """Prime numbers of erases, programs, reads, and reads that the MTD buffer answers."""
    chip = catalog.load_noun("chips", "nandsim-small", ChipModel)
    words = make_chip_module_parameters(chip, 64, board.machine.model.store_start)
    size = chip.geometry.erasesize
    dd = "dd 2> /dev/null"
    record = run(
        board,
        None,
        modprobe(words),
        Step("tracers", f"{LOAD.format('')} && {tell('flashmon', 'start')}"),
        Step("erase", f"flash_erase -q /dev/mtd0 {3 * size} 5"),
        Step("program", f"{dd} if=/bin/busybox of=/dev/mtd0 bs=512 count=13 conv=notrunc"),
        Step("read", f"{dd} if=/dev/mtd0 of=/dev/null bs=512 count=11"),
        Step("hits", f"{dd} if=/dev/mtd0 of=/dev/null bs=64 count=8 skip=160"),
        Step("spare", "nanddump -q -n -o -l 1536 /dev/mtd0 > /dev/null"),
        Step("dump", f"nanddump -q --bb=dumpbad -s {4 * size} -l {23 * 512} /dev/mtd0 > /dev/null"),
        Step("totals", read("status")),
        Step("log", read("flashmon")),
        Step("chip", "cat /sys/kernel/debug/simnand/counters"),
        # The filter names the only device (tests/trace/test_layout_board.py has four); paused,
        # nothing; reset, from nothing.
        Step("filter", f"{tell('control', 'reset')} && {tell('flashmon', 'mtd 0')}"),
        Step("pause", f"{tell('flashmon', 'pause')} && flash_erase -q /dev/mtd0 0 1"),
        Step("resume", f"{tell('flashmon', 'start')} && flash_erase -q /dev/mtd0 0 1"),
        Step("few", read("status")),
        Step("stop", f"{tell('flashmon', 'stop')} && flash_erase -q /dev/mtd0 0 1"),
        Step("same", read("status")),
        Step("unload", f"rmmod {MODULES}"),
    )
    said, chip_counts = status(record["totals"].stdout), numbers(record["chip"].stdout)
    log = [line.split(";") for line in record["log"].stdout.splitlines()[1:]]
    erased = [int(r[2]) for r in log if r[1] == "E"]
    assert erased == [(3 + n) * chip.pages_per_block() for n in range(5)]
    assert [int(r[2]) for r in log if r[1] == "W"] == list(range(13))
    assert said["flashmon.erases"] == "5"
    assert said["flashmon.programs"] == "13"
    data = [int(r[2]) for r in log if r[1] == "R" and r[3] == "dd"]
    assert data == [*range(11), 20]
    dumped = [int(r[2]) for r in log if r[1] == "R" and r[3] == "nanddump"]
    # with -o a page's data and its spare bytes are read apart
    assert dumped == [0, 0, 1, 1, 2, 2, *(4 * chip.pages_per_block() + n for n in range(23))]
    hits = [int(r[2]) for r in log if r[1] == "H" and r[3] == "dd"]
    assert hits == [20] * 7
    mine = {key: int(said[f"flashmon.{key}"]) for key in TOTALS}
    assert_same(mine, {key: chip_counts[key] for key in TOTALS}, chip_counts["buffer_hits"])
    assert status(record["few"].stdout)["flashmon.erases"] == "1"
    assert status(record["same"].stdout)["flashmon.erases"] == "1"
