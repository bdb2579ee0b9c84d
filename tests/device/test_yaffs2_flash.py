# SPDX-License-Identifier: GPL-2.0-or-later
"""Our YAFFS2 port and its chip: both count the same, collections, lost power, failing flash."""

from __future__ import annotations

import pytest
from support.chipsteps import SYNCFS, held, numbers
from support.yaffs2steps import COUNTS, LOAD, SIM, load, mount, proc, run

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard

pytestmark = pytest.mark.board
LONG = pytest.mark.long

CHURN = (
    "for r in 1 2 3; do for i in $(seq 1 30); do head -c 100000 /dev/urandom > /mnt/f$i;"
    " head -c 3000 /dev/urandom > /mnt/stays$r-$i; done; done; sync; rm /mnt/f1*;"
    " echo 3 > /proc/sys/vm/drop_caches; cat /mnt/f2* > /dev/null; sleep 5; echo x > /mnt/x; sync"
)
"""Writes more than 64 blocks of 128 KiB hold, some of it to stay; reads, deletes and rests."""


@pytest.mark.parametrize(
    ("chip", "blocks", "options"),
    [
        ("apf27", 64, ()),
        pytest.param("apf27", 64, ("inband-tags",), marks=LONG),
        pytest.param("apf27", 64, ("no-background", "no-cache"), marks=LONG),
        pytest.param("nandsim-small", 512, (), marks=LONG),
    ],
    ids=["2k", "inband", "plain", "512"],
)
def test_the_counts_are_the_chips_own(
    board: QemuBoard, chip: str, blocks: int, options: tuple[str, ...]
) -> None:
    """Without the register's hits, each page that the core reads is an array read."""
    record = run(
        board,
        load(board, chip, blocks, register_hits=0),
        Step("mount", f"{LOAD} && {mount(*options)} && echo 1 > {SIM}/reset"),
        Step("work", CHURN),
        Step("fs", COUNTS),
        Step("chip", f"cat {SIM}/counters"),
        Step("end", f"umount /mnt && {mount(*options)} && umount /mnt && rmmod yaffs2"),
    )
    fs, seen = numbers(record["fs"].stdout), numbers(record["chip"].stdout)
    assert fs["page_writes"] == seen["programs"] + seen["oob_programs"] > 4000
    assert fs["page_reads"] == seen["reads"] + seen["oob_reads"] > 400
    assert fs["erasures"] == seen["erases"] > 20
    assert fs["mtd_page_writes"] == seen["programs"]
    assert fs["mtd_oob_writes"] == seen["oob_programs"]
    assert fs["mtd_page_reads"] == seen["reads"]
    assert fs["mtd_oob_reads"] == seen["oob_reads"]
    assert fs["mtd_erasures"] == seen["erases"]
    assert fs["collections_all"] >= fs["collected_blocks"] >= fs["collections_background"]
    assert (fs["collections_background"] > 0) == ("no-background" not in options)
    assert fs["collection_copies"] > 0
    assert seen["illegal"] == 0


@LONG
def test_only_the_collector_works_while_nobody_writes(board: QemuBoard) -> None:
    """Every second file goes, so blocks are half dead; then 20 s in which nobody asks."""
    litter = (
        "for i in $(seq 1 100); do head -c 50000 /dev/urandom > /mnt/f$i; done;"
        " rm /mnt/f*[13579]; ps | grep -c '[y]affs-bg-mtd0'"
    )
    rest = f"echo 1 > {SIM}/reset; sleep 20; grep -E '^(programs|erases) ' {SIM}/counters"
    record = run(
        board,
        load(board, blocks=64),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("litter", litter),
        Step("on", rest),
        Step("proc", COUNTS),
        Step("again", f"rm /mnt/f*; umount /mnt && {mount('no-background')}"),
        Step("quiet", f"{litter}; sync"),
        Step("off", rest),
        Step("none", COUNTS),
    )
    on, off = numbers(record["on"].stdout), numbers(record["off"].stdout)
    assert record["litter"].stdout.strip() == "1"
    assert on["erases"] > 0
    assert numbers(record["proc"].stdout)["collections_background"] > 0
    assert record["quiet"].stdout.strip() == "0"
    assert off == {"programs": 0, "erases": 0}
    assert numbers(record["none"].stdout)["collections_background"] == 0


KEPT = (
    "mkdir /mnt/d; for i in $(seq 1 23); do head -c $((i * 331)) /dev/urandom > /mnt/d/$i; done;"
    " for i in $(seq 1 30); do yes filler$i | head -c 90000 > /mnt/g$i; done; sync;"
    " rm /mnt/g*[13579]; cd /mnt; find . -type f | xargs md5sum > /tmp/sums; cd /"
)
UNSYNCED = (
    "for i in $(seq 1 60); do yes lost$i | head -c 70000 > /mnt/l$((i % 9));"
    " mv /mnt/l$((i % 9)) /mnt/m$((i % 5)); done 2> /dev/null"
)
# A file that dd could sync is one that must be there; a checkpoint follows each.
SYNCED = (
    "for i in $(seq 1 70); do yes lost$i | head -c 30000 > /mnt/l$((i % 9)); cd /mnt;"
    " yes kept$i | head -c 20000 | dd of=s$i conv=fsync && md5sum s$i >> /tmp/sums; cd /;"
    " sync; done 2> /dev/null"
)
CHECK = (
    "cd /mnt && wc -l < /tmp/sums; md5sum -c /tmp/sums > /tmp/said 2>&1 || cat /tmp/said;"
    " grep -c ': OK' /tmp/said; cd /"
)
"""Prints twice how many files must be there, if they are."""


def another_machine(board: QemuBoard) -> list[Step]:
    """The chip goes, as it is when power has gone, to where nobody has memory of it."""
    again = load(board, blocks=64, image="/tmp/image").command
    return [
        Step("away", f"umount /mnt; rmmod yaffs2; cat {SIM}/image > /tmp/image"),
        Step("there", f"rmmod simnand && {again} && rm /tmp/image && {LOAD} && {mount()}"),
    ]


def lose_power(board: QemuBoard, n: int, lose: str) -> dict[str, str]:
    """Power goes in the n-th program or erase from when files are there that were synced.

    All of them are there afterwards, and still when more has been written. Returns what
    /proc/yaffs says of the recovery.
    """
    on = "for i in $(seq 1 40); do yes more$i | head -c 90000 > /mnt/n$((i % 7)) || exit 1; done"
    record = run(
        board,
        load(board, blocks=64, seed=n),
        Step("make", f"{LOAD} && {mount()} && {KEPT}"),
        Step("cut", f"echo cut +{n} > {SIM}/power && {{ {lose}; true; }}"),
        Step("cuts", f"grep -w power_cuts {SIM}/counters"),
        *another_machine(board),
        Step("proc", "cat /proc/yaffs"),
        Step("check", CHECK),
        Step("on", f"{on}; umount /mnt && {mount('no-checkpoint')}"),
        Step("still", CHECK),
        Step("end", f"grep -w illegal {SIM}/counters"),
        kernel_words=("",),  # of a chip without power the log is full
    )
    assert record["cuts"].stdout.split() == ["power_cuts", "1"]
    for check in ("check", "still"):
        due, *found = record[check].stdout.splitlines()
        assert found == [due], f"{check}: {record[check].stdout}"
        assert int(due) >= 38
    assert record["end"].stdout.split() == ["illegal", "0"]
    return proc(record["proc"].stdout)


@pytest.mark.parametrize(
    "n", [401, *(pytest.param(n, marks=LONG) for n in (1, 2, 7, 23, 61, 150, 1009, 1500))]
)
def test_power_lost_before_a_checkpoint(board: QemuBoard, n: int) -> None:
    """Nothing is left but the scan, and it finds every file that was synced."""
    found = lose_power(board, n, UNSYNCED)
    assert found["is_checkpointed"] == "0"
    assert int(found["scan_summaries_used"]) + int(found["scan_tags_used"]) > 0


@LONG
@pytest.mark.parametrize("n", [*range(2, 200, 14), 777, 1501, 2222])
def test_power_lost_around_checkpoints(board: QemuBoard, n: int) -> None:
    lose_power(board, n, SYNCED)


def test_what_cannot_be_read_is_an_error(board: QemuBoard) -> None:
    plant = f"for bit in 1 2 3 4 5; do echo $page $bit > {SIM}/flip; done"
    record = run(
        board,
        load(board),
        Step("make", f"{LOAD} && {mount('no-background')} &&"
             " head -c 20480 /dev/zero | tr '\\0' x > /mnt/f && sync"),
        # the file's pages are those that hold nothing but x: find the first of them
        Step("plant", "page=0; until nanddump -q -l 2048 -s $((page * 2048)) /dev/mtd0 |"
             " tr -d x | wc -c | grep -qx 0; do page=$((page + 1)); done; " + plant),
        Step("read", "echo 3 > /proc/sys/vm/drop_caches; cat /mnt/f > /dev/null; echo $?"),
    )  # fmt: skip
    assert record["read"].stdout.strip() == "1"
    assert "Input/output error" in record["read"].stderr


@LONG
def test_blocks_that_fail_are_retired(board: QemuBoard) -> None:
    record = run(
        board,
        load(board, blocks=64, program_fail_at=700, erase_fail_at=1500, seed=3),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("write", "for r in 1 2 3 4; do for i in $(seq 1 30); do head -c 50000 /dev/urandom >"
             " /mnt/f$i; done; done; sync; md5sum /mnt/f* > /tmp/sums"),
        Step("proc", "cat /proc/yaffs"),
        Step("bad", "cat /sys/class/mtd/mtd0/bad_blocks"),
        Step("same", f"umount /mnt && {mount('no-checkpoint')} && md5sum -c /tmp/sums |"
             " grep -c OK"),
        kernel_words=("simnand: ", "yaffs2: ", "nand: "),
    )  # fmt: skip
    fs = proc(record["proc"].stdout)
    assert record["same"].stdout.strip() == "30"
    assert int(fs["retired_blocks"]) == int(record["bad"].stdout) >= 1


def told(step: str) -> str:
    """The command that syncs a file and prints whether it was told of an error."""
    return f"dd if=/dev/null of={step} conv=notrunc,fsync 2> /dev/null; echo $?"


def test_a_lost_write_is_told_to_its_file_alone_and_once(board: QemuBoard) -> None:
    """Bytes wait in the core's cache, there is no power for a moment, a sync comes by."""
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {mount()} && echo a > /mnt/a && echo b > /mnt/b && sync"),
        Step("few", "echo 1 > /sys/module/yaffs2/parameters/yaffs_wr_attempts"),
        Step("hold", held("/mnt/a", "more", f"echo off > {SIM}/power; sync; echo on > {SIM}/power;"
             f" {told('/mnt/b')}; {told('/mnt/a')}; {told('/mnt/a')}")),
        Step("counts", COUNTS),
        kernel_words=("",),
    )  # fmt: skip
    assert record["hold"].stdout.split() == ["0", "1", "0"]
    assert numbers(record["counts"].stdout)["lost_chunks"] >= 1


def test_a_page_that_is_collected_unread_is_told(board: QemuBoard) -> None:
    """Who writes and reads other files gets no error, though it is their calls that collect it.

    Its file is not in the kernel's cache: who syncs all is told.
    """
    find = (
        "strings -t d -n 20 /dev/mtd0 | sed -n 's/ *\\([0-9]*\\) .*twenty letters of text.*/\\1/p'"
    )
    plant = f"for bit in 1 9 17 25 33 41; do echo $((at / 2048)) $bit > {SIM}/flip; done"
    litter = (
        "for r in $(seq 1 12); do for i in $(seq 1 25); do head -c 9000 /dev/urandom > /mnt/f$i"
        " && cat /mnt/f$i > /dev/null || exit 1; done; echo 3 > /proc/sys/vm/drop_caches; done"
    )
    record = run(
        board,
        load(board, blocks=32),
        Step("mount", f"{LOAD} && {mount('no-background')}"),
        Step("make", "for i in $(seq 1 9); do echo twenty letters of text > /mnt/t$i; head -c 50000"
             " /dev/urandom > /mnt/g$i; done; rm /mnt/t[2-9] /mnt/g*; sync"),
        Step("plant", f"for at in $({find}); do {plant}; echo $at; done"),
        Step("litter", litter, 3600),
        Step("told", f"{told('/mnt/f1')}; {SYNCFS}; {SYNCFS}"),
        Step("counts", COUNTS),
        kernel_words=("cannot be read and was collected", "taints"),
    )  # fmt: skip
    assert record["plant"].stdout.split()
    assert numbers(record["counts"].stdout)["collection_read_failures"] >= 1
    assert record["told"].stdout.split() == ["0", "EIO", "0"]
