# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard of a board's partition: one board that passes, and every reason that one does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boardtables import CHIP, OURS, PLAIN, SYSTEM, Block, Part, Printed, mount, node
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.board.own import boardlock
from nandlab.board.own.guard import PartitionSpec, find_erasable_partition
from nandlab.board.own.tables import (
    PRINT_TABLES,
    Doubt,
    Mtd,
    parse_kernel_tables,
    parse_mountinfo,
    parse_mtd_table,
)
from nandlab.board.own.transport import connect_local

DATA = PartitionSpec("data", 104 << 20, 128 << 10)


def judged(text: str, erase: str | None = "data") -> Mtd:
    return find_erasable_partition(DATA, erase, parse_kernel_tables(text))


def test_a_partition_that_nobody_uses_passes() -> None:
    assert judged(Printed().text()) == Mtd(1, 104 << 20, 128 << 10, "data")


def ours(**other: object) -> Printed:
    return Printed((SYSTEM, replace(OURS, **other)))  # type: ignore[arg-type]


def beside(*more: Part, **other: object) -> Printed:
    return replace(Printed((SYSTEM, OURS, *more)), **other)  # type: ignore[arg-type]


def used(*mounts: str, **other: object) -> Printed:
    mounts = (*Printed().mounts, *mounts)
    return replace(Printed(mounts=mounts), **other)  # type: ignore[arg-type]


def swapped(source: str, target: str) -> Printed:
    return Printed(swaps=(f"{source}\tpartition\t8",), nodes={source: target})


def booted(cmdline: str, **other: object) -> Printed:
    return replace(Printed(cmdline=cmdline), **other)  # type: ignore[arg-type]


PART = Part(2, "logs", 8 << 20, path=f"{CHIP}/mtd1/mtd2")
WHOLE = Part(2, "nand.0", 128 << 20, offset="")
MTDBLOCK = Block("mtdblock1", "31:1", f"{CHIP}/mtd1/mtdblock1")
NFTL = Block("nftla", "93:0", f"{CHIP}/mtd1/nftla")
NFTL1 = Block("nftla1", "93:1", f"{CHIP}/mtd1/nftla/nftla1")
DM = Block("dm-0", "253:0", slaves=("nftla1",))
LOOP = Block("loop0", "7:0", file="/dev/flashdata", node=node("b", 31, 1))
SMBLK = Block("smblk0", "250:0", f"{CHIP}/mtd1/block/smblk0")
NBD, UBIBLOCK = Block("nbd0", "43:0"), Block("ubiblock0_0", "252:0")
CARD = Block("mmcblk0", "179:0", "/sys/devices/platform/mmc/mmc0/block/mmcblk0")
ALIAS = {"/dev/flashdata": node("c", 90, 3)}
TABLE = "".join(["dev:    size   erasesize  name\n", SYSTEM.line(), OURS.line()])
REFUSED: dict[str, tuple[Printed, str]] = {
    "no such name": (Printed((SYSTEM,)), "no partition 'data'; it has 'system'"),
    "no partitions": (Printed(()), "it has none"),
    "twice": (beside(Part(2, "data", 104 << 20)), "2 partitions named 'data'"),
    "nearly twice": (beside(Part(2, "data ", 1 << 20)), "or nearly so"),
    "in quotes": (beside(Part(2, '"data"', 1 << 20)), "or nearly so"),
    "size": (ours(size=96 << 20), "a size of 100663296 bytes, and the file says 109051904"),
    "erasesize": (ours(erasesize=64 << 10), "a erasesize of 65536 bytes"),
    "nor": (ours(type="nor"), "no NAND flash: its type is nor"),
    "gluebi": (ours(type="ubi"), "no NAND flash: its type is ubi"),
    "read-only": (ours(flags="0x0"), "not writable: its flags are 0x0"),
    "no flags": (ours(flags=""), "not writable: its flags are not told"),
    "another device": (ours(dev="90:4"), "mtd1 is the device '90:4'"),
    "node of another": (ours(node=node("c", 90, 0)), "/dev/mtd1 is the device 90:0"),
    "read-only node": (ours(node=node("c", 90, 3)), "/dev/mtd1 is the device 90:3"),
    "node of a disk": (ours(node=node("b", 90, 2)), "/dev/mtd1 is the device 90:2"),
    "file as node": (ours(node=PLAIN), "/dev/mtd1 is no device"),
    "no node": (ours(node=""), "mknod /dev/mtd1 c 90 2"),
    "block node of another": (ours(blocknode=node("b", 31, 0)), "/dev/mtdblock1 is the"),
    "mtdN": (used(mount("31:1", "mtd1", "jffs2")), "mounted at /m, as 'mtd1'"),
    "mtdblockN": (used(mount("31:1", "/dev/mtdblock1", "jffs2")), "as '/dev/mtdblock1'"),
    "by name": (used(mount("0:9", "mtd:data", "jffs2")), "mounted, as 'mtd:data'"),
    "by an alias": (used(mount("31:1", "/dev/flashdata", "jffs2")), "as '/dev/flashdata'"),
    "by its numbers": (used(mount("31:1", "/dev/block/31:1", "ext4")), "as '/dev/block/31:1'"),
    "another process": (
        Printed(elsewhere=(mount("31:1", "/dev/x", "jffs2", "/in a container"),)),
        "mounted at /in a container",
    ),
    "nftl": (used(mount("93:1", "/dev/x", "vfat"), blocks=(NFTL, NFTL1)), "mounted at /m"),
    "dm over nftl": (Printed(blocks=(NFTL, NFTL1, DM)), "by dm-0, which is made of nftla1"),
    "a holder": (
        Printed(blocks=(replace(MTDBLOCK, holders=("bcache0",)),)),
        "mtdblock1 is held by bcache0",
    ),
    "a driver's place": (
        used(mount("250:0", "/dev/x", "ext4"), blocks=(SMBLK,)),
        "mounted at /m",
    ),
    "swap": (swapped("/dev/flashswap", node("b", 31, 1)), "for swap, as '/dev/flashswap'"),
    "swap nowhere": (swapped("/dev/gone", ""), "no device of flash or disk"),
    "loop": (Printed(blocks=(LOOP,)), "by loop0, which is made of /dev/flashdata"),
    "loop nowhere": (Printed(blocks=(replace(LOOP, node=""),)), "which is no file and no disk now"),
    "loop untold": (Printed(blocks=(replace(LOOP, file="?", node=""),)), "made of '?'"),
    "untraced": (used(mount("43:0", "/dev/nbd0", "ext4"), blocks=(NBD,)), "made of"),
    "unlisted": (used(mount("8:1", "/dev/sda1", "ext4")), "what the block device 8:1 is"),
    "btrfs": (used(mount("0:44", "/dev/x", "btrfs")), "does not tell its device"),
    "slave unknown": (Printed(blocks=(DM,)), "made of nftla1, which sysfs does not tell"),
    "made of itself": (Printed(blocks=(replace(DM, slaves=("dm-0",)),)), "made of itself"),
    "ubi": (Printed(ubi={"ubi3": 1}), "attached as ubi3"),
    "ubiblock": (
        used(mount("252:0", "/dev/x", "squashfs"), blocks=(replace(UBIBLOCK, name="ubiblock7_0"),)),
        "UBI device that sysfs does not tell",
    ),
    "cmdline ubi number": (booted("ubi.mtd=1,2048"), "names 'data': ubi.mtd=1,2048"),
    "cmdline ubi hexadecimal": (booted("ubi.mtd=0x1"), "names 'data'"),
    "cmdline ubi name": (booted("ubi.mtd=data"), "names 'data'"),
    "cmdline ubi alias": (booted("ubi.mtd=/dev/flashdata", nodes=ALIAS), "names 'data'"),
    "cmdline ubi gone": (booted("ubi.mtd=/dev/gone"), "names no partition"),
    "cmdline oops": (booted("mtdoops.mtddev=1"), "names 'data'"),
    "cmdline root": (booted("root=/dev/mtdblock1 rw"), "names 'data'"),
    "cmdline root name": (booted("root=mtd:data"), "names 'data'"),
    "cmdline decimal": (booted("root=31:1"), "its root on 'data'"),
    "cmdline hexadecimal": (booted("root=1f01"), "its root on 'data'"),
    "cmdline nftl": (booted("root=/dev/nftla1", blocks=(NFTL, NFTL1)), "its root on 'data'"),
    "cmdline nftl numbers": (booted("root=5d01", blocks=(NFTL, NFTL1)), "its root on 'data'"),
    "cmdline alias": (booted("root=/dev/flashdata", nodes=ALIAS), "its root on 'data'"),
    "cmdline gone": (booted("root=/dev/nftla1"), "does not tell on which part"),
    "cmdline label": (booted("root=PARTLABEL=data2"), "does not tell on which part"),
    "root mounted": (
        replace(used(mount("31:1", "/dev/root", "squashfs", "/", 1)), cmdline="quiet"),
        "mounted at /, as '/dev/root'",
    ),
    "a part mounted": (
        beside(PART, mounts=(mount("31:2", "mtd2", "jffs2"),)),
        "blocks in common with another partition: 'logs' is in use",
    ),
    "the whole attached": (beside(WHOLE, ubi={"ubi0": 2}), "blocks in common"),
    "overlap mounted": (
        beside(Part(2, "low", 32 << 20), mounts=(mount("31:2", "mtd2", "jffs2"),)),
        "blocks in common",
    ),
    "no offsets": (
        Printed((replace(SYSTEM, offset=""), replace(OURS, offset=""))),
        "blocks in common with another partition: 'system' is in use",
    ),
    "concat": (beside(Part(2, "system-data-concat", 128 << 20)), "may be among them"),
    "block2mtd": (beside(Part(2, "block2mtd: /dev/x", 1 << 20, type="ram")), "may be among them"),
    "no sysfs": (Printed((), mtd=TABLE), "sysfs has no mtd1"),
    "sysfs differs": (replace(ours(name="other"), mtd=TABLE), "differ on the name"),
    "no table": (Printed(mtd="cat: /proc/mtd: No such file\n"), "another form"),
    "odd line": (Printed(mtd="dev:    size   erasesize  name\nmtdx\n"), "that is no partition"),
    "one number twice": (
        Printed(blocks=(MTDBLOCK, replace(MTDBLOCK, name="x"))),
        "two block devices of one number",
    ),
    "a forged table": (
        Printed(blocks=(replace(LOOP, file="/a\n=== /sys/class/block/loop0\nfile="),)),
        "did not come whole",
    ),
}  # fmt: skip


ALLOWED: dict[str, Printed] = {
    "a root elsewhere on flash": booted("root=/dev/mtdblock0"),
    "a root by its label, mounted": booted(
        "root=PARTUUID=1-2", mounts=(mount("179:0", "/dev/root", "ext4", "/"),), blocks=(CARD,)
    ),
    "ubi elsewhere": booted("ubi.mtd=0 root=ubi0:rootfs", ubi={"ubi0": 0}),
    "a translation layer that nobody uses": Printed(blocks=(MTDBLOCK, NFTL, NFTL1)),
    "dm and swap on a card": replace(
        swapped("/dev/x", node("b", 253, 0)),
        blocks=(CARD, replace(DM, slaves=("mmcblk0",), holders=())),
    ),
    "a loop over a file": Printed(blocks=(replace(LOOP, file="/a file", node=PLAIN),)),
    "disks in RAM": Printed(
        mounts=(mount("1:0", "/dev/ram0", "ext4"), mount("254:0", "/dev/zram0", "ext4")),
        blocks=(Block("ram0", "1:0"), Block("zram0", "254:0", file="none")),
    ),
    "ubiblock elsewhere": used(
        mount("252:0", "/dev/root", "squashfs"), blocks=(UBIBLOCK,), ubi={"ubi0": 0}
    ),
    "no block nodes": ours(blocknode=""),
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWED)
def test_what_is_elsewhere_refuses_nothing(case: str) -> None:
    assert judged(ALLOWED[case].text()).number == 1


@pytest.mark.parametrize("case", REFUSED)
def test_each_doubt_refuses_with_its_reason(case: str) -> None:
    told, why = REFUSED[case]
    with pytest.raises(Doubt) as refused:
        judged(told.text())
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("erase", [None, "", "date", "Data", "data "])
def test_a_partition_is_named_twice(erase: str | None) -> None:
    with pytest.raises(Doubt, match="must be named twice"):
        judged(Printed().text(), erase)


def test_tables_that_are_cut_off_anywhere_refuse() -> None:
    whole = Printed().text()
    for end in range(len(whole) - 1):
        with pytest.raises(Doubt):
            judged(whole[:end])


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\n", exclude_categories=["Cs"]), max_size=20
) | st.sampled_from(
    ["data", "data ", ' "data"', 'data" "x', "mtd1", "a b", "", "data\t", "=== end"]
)


@given(st.lists(names, max_size=5))
def test_a_table_gives_back_every_name_whatever_it_has(told: list[str]) -> None:
    devices = [Part(i, name, 1 << 20) for i, name in enumerate(told)]
    head = "dev:    size   erasesize  name\n"
    assert [m.name for m in parse_mtd_table(head + "".join(d.line() for d in devices))] == told


@given(st.lists(names, max_size=4), st.lists(names, max_size=4), st.data())
@example(["data", "data"], [], None)
@example([], ["mtd:data"], None)
def test_a_board_that_uses_the_partition_never_passes(
    others: list[str], sources: list[str], data: st.DataObject | None
) -> None:
    """However other partitions and mounts are called, if ours is mounted or is there twice."""
    more = [Part(2 + i, name, 1 << 20, offset=str(128 << 20)) for i, name in enumerate(others)]
    how = ["mtd1", "/dev/mtd1", "/dev/mtdblock1", "/dev/mtdblock/1", "mtd:data", "/dev/x", "twice"]
    way = data.draw(st.sampled_from(how)) if data else "mtd1"
    lines = [mount("0:9", source, "tmpfs") for source in sources]
    if way == "twice":
        more.append(Part(9, "data", 1 << 20))
    else:
        lines.insert(len(lines) // 2, mount("31:1", way, "jffs2", "/data"))
    with pytest.raises(Doubt):
        judged(Printed((SYSTEM, OURS, *more), tuple(lines)).text())


@given(st.text(max_size=200))
def test_what_is_no_table_is_refused_or_read_never_an_error(text: str) -> None:
    for parse in (parse_mtd_table, parse_mountinfo):
        for each in (text, f"dev:    size   erasesize  name\n{text}"):
            try:
                parse(each)
            except Doubt:
                continue
    with pytest.raises(Doubt):
        judged(text)


def test_this_machine_answers_in_the_form_that_is_read() -> None:
    """It may have no flash; then it has no partition of ours, and no other reason is told."""
    with pytest.raises(Doubt, match=r"no partition 'no such'|another form"):
        asyncio.run(
            boardlock.read_erasable_partition(
                connect_local(), PartitionSpec("no such", 1, 1), "no such"
            )
        )
    assert "\n" not in PRINT_TABLES


def test_a_board_is_one_owners_until_it_is_left_or_taken_away(tmp_path: Path) -> None:
    lock = str(tmp_path / "the lock")

    def does(act: Callable[..., object], *words: str) -> object:
        return asyncio.run(act(connect_local(), *words, lock))  # type: ignore[arg-type]

    does(boardlock.acquire_board_lock, "a@one, since now")
    with pytest.raises(UsageError, match="taken by a@one, since now: wait"):
        does(boardlock.acquire_board_lock, "b@two")
    does(boardlock.release_board_lock, "b@two")
    with pytest.raises(UsageError, match="a@one"):
        does(boardlock.acquire_board_lock, "b@two")
    assert does(boardlock.break_board_lock) == "a@one, since now"
    assert does(boardlock.break_board_lock) is None
    does(boardlock.acquire_board_lock, "b@two")
    does(boardlock.release_board_lock, "b@two")
    assert not Path(lock).exists()
