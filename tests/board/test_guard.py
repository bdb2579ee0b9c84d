# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard of a board's partition: one board that passes, and every reason that one does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.board import held
from nandlab.board.guard import LOOK, MARK, Doubt, Mtd, Partition, checked, mounted, table
from nandlab.board.reach import local

DATA = Partition("data", 104 << 20, 128 << 10)
CHIP = "/sys/devices/platform/nand.0/mtd"


@dataclass(frozen=True)
class Device:
    """A partition as a board has it."""

    number: int
    name: str
    size: int
    erasesize: int = 128 << 10
    type: str = "nand"
    flags: str = "0x400"
    offset: str = "0"
    path: str = ""

    def line(self) -> str:
        return f'mtd{self.number}: {self.size:08x} {self.erasesize:08x} "{self.name}"\n'

    def sysfs(self) -> str:
        told = f"name={self.name}\ntype={self.type}\nflags={self.flags}\nsize={self.size}\n"
        more = f"erasesize={self.erasesize}\noffset={self.offset}\n"
        path = self.path or f"{CHIP}/mtd{self.number}"
        return f"{MARK}/sys/class/mtd/mtd{self.number}\n{told}{more}path={path}\n"


SYSTEM = Device(0, "system", 24 << 20)
OURS = Device(1, "data", 104 << 20, offset=str(24 << 20))


@dataclass(frozen=True)
class Told:
    """What a board prints when it is asked."""

    devices: tuple[Device, ...] = (SYSTEM, OURS)
    mounts: tuple[str, ...] = ("proc /proc proc rw 0 0", "mtd0 /system jffs2 rw 0 0")
    swaps: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    cmdline: str = "console=ttyS0 mtdparts=nand.0:24m(system),-(data) quiet"
    ubi: dict[str, int] = field(default_factory=dict)
    mtd: str | None = None
    """/proc/mtd, if it is another than the devices make."""

    def text(self) -> str:
        head = "dev:    size   erasesize  name\n"
        mtd = self.mtd or head + "".join(d.line() for d in self.devices)
        mounts = "".join(f"{line}\n" for line in self.mounts)
        swaps = "".join(f"{line}\n" for line in ("Filename\tType", *self.swaps))
        ubi = "".join(f"{MARK}/sys/class/ubi/{k}\n{v}\n" for k, v in self.ubi.items())
        return (
            f"{MARK}mtd\n{mtd}{MARK}mounts\n{mounts}{MARK}swaps\n{swaps}"
            f"{MARK}loops\n{''.join(f'{line}{chr(10)}' for line in self.loops)}"
            f"{MARK}cmdline\n{self.cmdline}\n"
            f"{''.join(d.sysfs() for d in self.devices)}{ubi}{MARK}end\n"
        )


def test_a_partition_that_nobody_uses_passes() -> None:
    found = checked(DATA, "data", Told().text())
    assert found == Mtd(1, 104 << 20, 128 << 10, "data")


def ours(**other: object) -> Told:
    return Told((SYSTEM, replace(OURS, **other)))  # type: ignore[arg-type]


def beside(*more: Device, **other: object) -> Told:
    return replace(Told((SYSTEM, OURS, *more)), **other)  # type: ignore[arg-type]


def used(*mounts: str) -> Told:
    return Told(mounts=(*Told().mounts, *mounts))


PART = Device(2, "logs", 8 << 20, path=f"{CHIP}/mtd1/mtd2")
WHOLE = Device(2, "nand.0", 128 << 20, offset="")
REFUSED: dict[str, tuple[Told, str]] = {
    "no such name": (Told((SYSTEM,)), "no partition 'data'; it has 'system'"),
    "no partitions": (Told(()), "it has none"),
    "twice": (beside(Device(2, "data", 104 << 20)), "2 partitions named 'data'"),
    "nearly twice": (beside(Device(2, "data ", 1 << 20)), "or nearly so"),
    "in quotes": (beside(Device(2, '"data"', 1 << 20)), "or nearly so"),
    "size": (ours(size=96 << 20), "a size of 100663296 bytes, and the file says 109051904"),
    "erasesize": (ours(erasesize=64 << 10), "a erasesize of 65536 bytes"),
    "nor": (ours(type="nor"), "no NAND flash: its type is nor"),
    "gluebi": (ours(type="ubi"), "no NAND flash: its type is ubi"),
    "read-only": (ours(flags="0x0"), "not writable: its flags are 0x0"),
    "no flags": (ours(flags=""), "not writable: its flags are not told"),
    "mtdN": (used("mtd1 /data jffs2 rw 0 0"), "mounted, as 'mtd1'"),
    "mtdblockN": (used("/dev/mtdblock1 /data jffs2 ro 0 0"), "mounted, as '/dev/mtdblock1'"),
    "by name": (used("mtd:data /data jffs2 rw 0 0"), "mounted, as 'mtd:data'"),
    "swap": (Told(swaps=("/dev/mtdblock1\tpartition",)), "for swap"),
    "loop": (Told(loops=("/dev/mtdblock1",)), "by a loop device"),
    "ubi": (Told(ubi={"ubi3": 1}), "attached as ubi3"),
    "cmdline ubi number": (Told(cmdline="ubi.mtd=1,2048"), "names 'data': ubi.mtd=1,2048"),
    "cmdline ubi name": (Told(cmdline="ubi.mtd=data"), "names 'data'"),
    "cmdline root": (Told(cmdline="root=/dev/mtdblock1 rw"), "names 'data'"),
    "cmdline root name": (Told(cmdline="root=mtd:data"), "names 'data'"),
    "cmdline decimal": (Told(cmdline="root=31:1"), "its root on 'data'"),
    "cmdline hexadecimal": (Told(cmdline="root=1f01"), "its root on 'data'"),
    "root untold": (
        replace(used("/dev/root / squashfs ro 0 0"), cmdline="quiet"),
        "the board's root is on flash",
    ),
    "a part mounted": (
        beside(PART, mounts=("mtd2 /logs jffs2 rw 0 0",)),
        "blocks in common with another partition: 'logs' is in use",
    ),
    "the whole attached": (beside(WHOLE, ubi={"ubi0": 2}), "blocks in common"),
    "overlap mounted": (
        beside(Device(2, "low", 32 << 20), mounts=("mtd2 /x jffs2 rw 0 0",)),
        "blocks in common",
    ),
    "concat": (beside(Device(2, "system-data-concat", 128 << 20)), "may be among them"),
    "no sysfs": (replace(Told(), devices=(), mtd="".join(
        ["dev:    size   erasesize  name\n", SYSTEM.line(), OURS.line()])), "sysfs has no mtd1"),
    "sysfs differs": (replace(ours(name="other"), mtd="".join(
        ["dev:    size   erasesize  name\n", SYSTEM.line(), OURS.line()])), "differ on the name"),
    "no table": (Told(mtd="cat: /proc/mtd: No such file\n"), "another form"),
    "odd line": (Told(mtd="dev:    size   erasesize  name\nmtdx\n"), "a line that is no partition"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_each_doubt_refuses_with_its_reason(case: str) -> None:
    told, why = REFUSED[case]
    with pytest.raises(Doubt) as refused:
        checked(DATA, "data", told.text())
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("erase", [None, "", "date", "Data", "data "])
def test_a_partition_is_named_twice(erase: str | None) -> None:
    with pytest.raises(Doubt, match="must be named twice"):
        checked(DATA, erase, Told().text())


def test_tables_that_are_cut_off_anywhere_refuse() -> None:
    whole = Told().text()
    for end in range(len(whole) - 1):
        with pytest.raises(Doubt):
            checked(DATA, "data", whole[:end])


def test_a_root_elsewhere_on_flash_does_not_refuse() -> None:
    told = replace(used("/dev/root / squashfs ro 0 0"), cmdline="root=/dev/mtdblock0")
    assert checked(DATA, "data", told.text()).number == 1


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\n", exclude_categories=["Cs"]), max_size=20
) | st.sampled_from(
    ["data", "data ", ' "data"', 'data" "x', "mtd1", "a b", "", "data\t", "=== end"]
)


@given(st.lists(names, max_size=5))
def test_a_table_gives_back_every_name_whatever_it_has(told: list[str]) -> None:
    devices = [Device(i, name, 1 << 20) for i, name in enumerate(told)]
    head = "dev:    size   erasesize  name\n"
    assert [m.name for m in table(head + "".join(d.line() for d in devices))] == told


@given(st.lists(names, max_size=4), st.lists(names, max_size=4), st.data())
@example(["data", "data"], [], None)
@example([], ["mtd:data"], None)
def test_a_board_that_uses_the_partition_never_passes(
    others: list[str], sources: list[str], data: st.DataObject | None
) -> None:
    """However other partitions and mounts are called, if ours is mounted or is there twice."""
    more = [Device(2 + i, name, 1 << 20) for i, name in enumerate(others)]
    how = ["mtd1", "/dev/mtd1", "/dev/mtdblock1", "/dev/mtdblock/1", "mtd:data", "twice"]
    way = data.draw(st.sampled_from(how)) if data else "mtd1"
    lines = [f"{escaped(s)} /m x rw 0 0" for s in sources]
    if way == "twice":
        more.append(Device(9, "data", 1 << 20))
    else:
        lines.insert(len(lines) // 2, f"{way} /data jffs2 rw 0 0")
    with pytest.raises(Doubt):
        checked(DATA, "data", Told((SYSTEM, OURS, *more), tuple(lines)).text())


def escaped(name: str) -> str:
    """As the kernel writes it in /proc/mounts."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in name) or "none"


@given(st.text(max_size=200))
def test_what_is_no_table_is_refused_or_read_never_an_error(text: str) -> None:
    for read in (table, mounted):
        for each in (text, f"dev:    size   erasesize  name\n{text}"):
            try:
                read(each)
            except Doubt:
                continue
    with pytest.raises(Doubt):
        checked(DATA, "data", text)


def test_this_machine_answers_in_the_form_that_is_read() -> None:
    """It may have no flash; then it has no partition of ours, and no other reason is told."""
    with pytest.raises(Doubt, match=r"no partition 'no such'|another form"):
        asyncio.run(held.erasable(local(), Partition("no such", 1, 1), "no such"))
    assert "\n" not in LOOK


def test_a_board_is_one_owners_until_it_is_left_or_taken_away(tmp_path: Path) -> None:
    lock = str(tmp_path / "the lock")

    def does(act: Callable[..., object], *words: str) -> object:
        return asyncio.run(act(local(), *words, lock))  # type: ignore[arg-type]

    does(held.take, "a@one, since now")
    with pytest.raises(UsageError, match="taken by a@one, since now: wait"):
        does(held.take, "b@two")
    does(held.leave, "b@two")
    with pytest.raises(UsageError, match="a@one"):
        does(held.take, "b@two")
    assert does(held.unlock) == "a@one, since now"
    assert does(held.unlock) is None
    does(held.take, "b@two")
    does(held.leave, "b@two")
    assert not Path(lock).exists()
