# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a partition of a user's own board may be erased: any doubt is a reason to refuse.

The board is asked for its tables by LOOK, one shell command that writes nothing. What they say is
judged by pure functions, before the first write and before every job.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nandlab.base.errors import UsageError

NAND_TYPES = ("nand", "mlc-nand")
"""What sysfs calls a NAND chip."""
WRITEABLE = 0x400
"""MTD_WRITEABLE, of a partition's flags."""
MOUNT_WORDS = 6
PATH_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How /proc/mounts writes blanks in names."""
MTD_LINE = re.compile(r'mtd(\d+): ([0-9a-f]{8,16}) ([0-9a-f]{8,16}) "(.*)"')
NUMBERED = re.compile(r"mtd[a-z_/]*0*(\d+)")
"""How a mount, a loop or a swap names a partition by its number, wherever it does."""
NAMED = re.compile(r"mtd:(.*)", re.DOTALL)
"""How it names one by its name."""
ROOT = "/dev/root"
"""What /proc/mounts calls the root of a board without initramfs, whatever it is."""
FLASH_TYPES = ("cramfs", "erofs", "jffs2", "romfs", "squashfs", "yaffs", "yaffs2")
"""File systems of such a root that may be on a partition."""
ROOT_NUMBER = re.compile(r"(?:31:|(?:/dev/)?mtd[a-z_/]*)0*(\d+)|(?:/dev/)?1f([0-9a-f]{2})")
"""How the command line's root= names a partition: by its device numbers, decimal or hexadecimal."""
MARK = "=== "
LOOK = (
    f"echo '{MARK}mtd'; cat /proc/mtd; echo '{MARK}mounts'; cat /proc/mounts; "
    f"echo '{MARK}swaps'; cat /proc/swaps 2>/dev/null; "
    f"echo '{MARK}loops'; cat /sys/block/loop*/loop/backing_file 2>/dev/null; "
    f"echo '{MARK}cmdline'; cat /proc/cmdline; for d in /sys/class/mtd/mtd*; do "
    f"""case $d in *ro) ;; *) echo "{MARK}$d"; for f in name type flags size erasesize; """
    """do echo "$f=$(cat $d/$f)"; done; echo "offset=$(cat $d/offset 2>/dev/null)"; """
    """echo "path=$(readlink -f $d)";; esac; done; """
    f"""for d in /sys/class/ubi/ubi*; do [ -e "$d/mtd_num" ] && """
    f"""echo "{MARK}$d" && cat "$d/mtd_num"; done; echo '{MARK}end'"""
)
"""What the board is asked for."""


@dataclass(frozen=True)
class Partition:
    """What the board's file says of the partition that may be erased."""

    name: str
    size: int
    """Bytes."""
    erasesize: int
    """Bytes of an erase block."""


@dataclass(frozen=True)
class Mtd:
    """A line of /proc/mtd."""

    number: int
    size: int
    erasesize: int
    name: str


class Doubt(UsageError):
    """Why nothing is written."""


def table(text: str) -> list[Mtd]:
    """The partitions of /proc/mtd; Doubt for a line that is none.

    A name stands between the first and the last quote of its line, whatever it has.
    """
    head, *lines = text.split("\n")
    if head != "dev:    size   erasesize  name" or lines[-1:] != [""]:
        raise Doubt("/proc/mtd has another form than it should")
    found = []
    for line in lines[:-1]:
        told = MTD_LINE.fullmatch(line)
        if told is None:
            raise Doubt(f"/proc/mtd has a line that is no partition: {line!r}")
        found.append(Mtd(int(told[1]), int(told[2], 16), int(told[3], 16), told[4]))
    if len({each.number for each in found}) < len(found):
        raise Doubt("/proc/mtd has a number twice")
    return found


@dataclass(frozen=True)
class Mount:
    """A line of /proc/mounts."""

    source: str
    type: str


def mounted(mounts: str) -> list[Mount]:
    """What is mounted, by /proc/mounts; Doubt for a line that is no mount."""
    found = []
    for line in filter(None, mounts.split("\n")):
        words = line.split(" ")
        if len(words) != MOUNT_WORDS:
            raise Doubt(f"/proc/mounts has a line that is no mount: {line!r}")
        source = PATH_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), words[0])
        found.append(Mount(source, words[2]))
    return found


def judged(wanted: Partition, mtds: list[Mtd]) -> Mtd:
    """The one partition that is as the board's file says; else Doubt."""
    named = [each for each in mtds if each.name == wanted.name]
    near = [each for each in mtds if each.name.strip(" \"'") == wanted.name.strip(" \"'")]
    if not named:
        names = ", ".join(repr(each.name) for each in mtds) or "none"
        raise Doubt(f"the board has no partition {wanted.name!r}; it has {names}")
    if len(near) > 1:
        raise Doubt(f"the board has {len(near)} partitions named {wanted.name!r}, or nearly so")
    (found,) = named
    for what in ("size", "erasesize"):
        has, told = getattr(found, what), getattr(wanted, what)
        if has != told:
            raise Doubt(f"{wanted.name!r} has a {what} of {has} bytes, and the file says {told}")
    return found


def refuse_in_use(mtd: Mtd, used: list[str], how: str) -> None:
    """Doubt if what is used names a partition."""
    for source in used:
        numbers, name = NUMBERED.findall(source), NAMED.fullmatch(source)
        if str(mtd.number) in numbers or (name and name[1] == mtd.name):
            raise Doubt(f"{mtd.name!r} is in use: {how}, as {source!r}")


def refuse_booted_from(mtd: Mtd, cmdline: str, mounts: list[Mount]) -> None:
    """Doubt if the kernel's command line names a partition, or the root may be on it.

    The layout of the whole chip (mtdparts=) names every partition and uses none.
    """
    words = [word.strip('"') for word in re.findall(r'(?:[^\s"]|"[^"]*")+', cmdline)]
    kept = [w for w in words if not re.match(r"(cmdlinepart\.)?mtdparts=", w)]
    whole = re.compile(rf"(?<![\w-]){re.escape(mtd.name)}(?![\w-])")
    root = next((w.partition("=")[2] for w in kept if w.startswith("root=")), "")
    root_number = ROOT_NUMBER.fullmatch(root)
    minor = root_number and (int(root_number[1]) if root_number[1] else int(root_number[2], 16))
    for word in kept:
        ubi = word.startswith("ubi.mtd=") and re.split(r"[,=]", word)[1] == str(mtd.number)
        if ubi or str(mtd.number) in NUMBERED.findall(word) or whole.search(word):
            raise Doubt(f"the kernel's command line names {mtd.name!r}: {word}")
    if minor == mtd.number:
        raise Doubt(f"the kernel's command line has its root on {mtd.name!r}: root={root}")
    if minor is None and any(m.source == ROOT and m.type in FLASH_TYPES for m in mounts):
        raise Doubt(f"the board's root is on flash, and root={root!r} does not tell on which part")


def _sections(said: str) -> dict[str, str]:
    """What LOOK printed, by the words after MARK; Doubt if it is cut off."""
    parts = re.split(rf"^{MARK}(.*)\n", said + "\n", flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    if len(found) * 2 + 1 != len(parts) or {"mtd", "mounts", "cmdline", "end"} - found.keys():
        raise Doubt("the board's tables did not come whole")
    return found


def _devices(sections: dict[str, str]) -> dict[int, dict[str, str]]:
    """What sysfs tells of each partition, by its number."""
    found = {}
    for at, text in sections.items():
        if number := re.fullmatch(r"/sys/class/mtd/mtd(\d+)", at):
            lines = [line for line in text.split("\n") if "=" in line]
            found[int(number[1])] = dict(line.split("=", 1) for line in lines)
    return found


def _refuse_by_sysfs(mtd: Mtd, told: dict[str, str] | None) -> None:
    """Doubt unless sysfs says the same of the partition, and that it is NAND and writable."""
    if told is None:
        raise Doubt(f"sysfs has no mtd{mtd.number}: is it mounted at /sys?")
    for what in ("name", "size", "erasesize"):
        if told.get(what) != str(getattr(mtd, what)):
            raise Doubt(f"sysfs and /proc/mtd differ on the {what} of mtd{mtd.number}")
    if told.get("type") not in NAND_TYPES:
        raise Doubt(f"{mtd.name!r} is no NAND flash: its type is {told.get('type')}")
    flags = told.get("flags", "")
    if not re.fullmatch(r"0x[0-9a-f]+", flags) or not int(flags, 16) & WRITEABLE:
        raise Doubt(f"{mtd.name!r} is not writable: its flags are {flags or 'not told'}")
    if not told.get("path"):
        raise Doubt(f"sysfs does not tell where mtd{mtd.number} is")


def overlapping(mtd: Mtd, mtds: list[Mtd], devices: dict[int, dict[str, str]]) -> list[Mtd]:
    """The other partitions that have blocks of this one: its parts, what it is part of, and those
    beside it whose ranges touch it."""
    mine = devices[mtd.number]
    found = []
    for other in (each for each in mtds if each != mtd):
        told = devices.get(other.number)
        if told is None or not told.get("path"):
            raise Doubt(f"sysfs does not tell where mtd{other.number} is")
        a, b = mine["path"], told["path"]
        inside = a.startswith(f"{b}/") or b.startswith(f"{a}/")
        if inside or (_parent(a) == _parent(b) and _touch(mtd, mine, other, told)):
            found.append(other)
    return found


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _touch(a: Mtd, told_a: dict[str, str], b: Mtd, told_b: dict[str, str]) -> bool:
    """Whether two of one chip have blocks in common; what has no offset is the whole chip."""
    has_a, has_b = (told.get("offset", "").isdigit() for told in (told_a, told_b))
    if not (has_a and has_b):
        return has_a or has_b
    at_a, at_b = int(told_a["offset"]), int(told_b["offset"])
    return at_a < at_b + b.size and at_b < at_a + a.size


def _refuse_attached(mtd: Mtd, sections: dict[str, str]) -> None:
    """Doubt if UBI has the partition."""
    for at, text in sections.items():
        if at.startswith("/sys/class/ubi/") and text.strip() == str(mtd.number):
            raise Doubt(f"{mtd.name!r} is in use: attached as {at.rpartition('/')[2]}")


def _refuse_used(mtd: Mtd, sections: dict[str, str]) -> None:
    """Doubt if anything uses the partition, or the board was booted from it."""
    mounts = mounted(sections["mounts"])
    refuse_in_use(mtd, [each.source for each in mounts], "mounted")
    swaps = sections.get("swaps", "").split("\n")[1:]
    refuse_in_use(mtd, [line.split("\t")[0] for line in swaps], "for swap")
    refuse_in_use(mtd, sections.get("loops", "").split("\n"), "by a loop device")
    _refuse_attached(mtd, sections)
    refuse_booted_from(mtd, sections["cmdline"], mounts)


def checked(wanted: Partition, erase: str | None, said: str) -> Mtd:
    """The partition that may be erased, by what LOOK printed; Doubt with the reason if none may.

    erase: its name, as the command line has it: it is named twice.
    """
    if erase != wanted.name:
        given = f"the command line says {erase!r}" if erase else "give --erase too"
        raise Doubt(f"{wanted.name!r} would be erased, and must be named twice: {given}")
    sections = _sections(said)
    mtds, devices = table(sections["mtd"]), _devices(sections)
    mtd = judged(wanted, mtds)
    _refuse_by_sysfs(mtd, devices.get(mtd.number))
    _refuse_used(mtd, sections)
    for other in overlapping(mtd, mtds, devices):
        try:
            _refuse_used(other, sections)
        except Doubt as e:
            raise Doubt(f"{mtd.name!r} has blocks in common with another partition: {e}") from None
    if joined := next((each.name for each in mtds if each.name.endswith("concat")), None):
        raise Doubt(f"{joined!r} is joined of others, and {mtd.name!r} may be among them")
    return mtd
