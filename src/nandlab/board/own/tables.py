# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of a user's own board says of its flash, its block devices and its mounts.

LOOK is one shell command that writes nothing; :func:`parse_kernel_tables` makes values of what it
prints. A device
is known by its numbers: its name is whatever somebody gave it. Doubt where anything is cut off, is
there twice, or has another form than the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.base.errors import UsageError

PATH_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How /proc writes blanks in names."""
MTD_LINE = re.compile(r'mtd(\d+): ([0-9a-f]{8,16}) ([0-9a-f]{8,16}) "(.*)"')
MOUNT_LINE = re.compile(
    r"(?P<id>\d+) (?P<parent>\d+) (?P<major>\d+):(?P<minor>\d+) \S+ (?P<place>\S+) \S+(?: \S+)*? "
    r"- (?P<type>\S+) (?P<source>\S*) .*"
)
SWAP_LINE = re.compile(r"(\S+)\s+(partition|file)(?:\s.*)?")
NODE_LINE = re.compile(r"([bc])\S+\s+\d+\s+\S+\s+\S+\s+(\d+),\s*(\d+)\s.*")
"""A device as ``ls -ln`` prints it."""
FILE_KIND = "-"
"""What a file begins with there."""
DEVICE_KEYS = ("file", "node", "dev", "path", "slaves", "holders")
MTD_KEYS = (
    *("name", "type", "flags", "size", "erasesize"),
    *("offset", "dev", "path", "node", "blocknode"),
)
"""What LOOK prints of a block device and of a partition, in this order: what others may have named
comes first, so that a name with a newline makes another form."""
MARK = "=== "
TABLES = ("mtd", "mounts", "elsewhere", "filesystems", "swaps", "cmdline", "boot", "nodes", "end")
PRINT_TABLES = (
    """n() { ls -lndL "$1" 2>/dev/null; }; t() { echo "=== $1"; cat "$2" 2>/dev/null; }; """
    r"""p() { printf '%s\n' "$1"; }; """
    """t mtd /proc/mtd; t mounts /proc/self/mountinfo; """
    """echo '=== elsewhere'; cat /proc/[0-9]*/mountinfo 2>/dev/null | sort -u; """
    """t filesystems /proc/filesystems; t swaps /proc/swaps; t cmdline /proc/cmdline; """
    """t boot /proc/sys/kernel/random/boot_id; """
    """echo '=== nodes'; { while read -r p x; do case $p in /*) p "$p";; esac; done """
    """</proc/swaps; set -f; for w in $(cat /proc/cmdline); do case $w in *=/*) p=${w#*=}; """
    """p "${p%%,*}";; esac; done; } 2>/dev/null | sort -u | """
    r"""while read -r p; do printf '%s\n%s\n' "$p" "$(n "$p")"; done; """
    """for d in /sys/class/mtd/mtd*; do case $d in *ro) ;; *) echo "=== $d"; """
    r"""for f in name type flags size erasesize offset dev; do printf '%s=%s\n' $f """
    r""""$(cat $d/$f 2>/dev/null)"; done; m=${d##*/mtd}; """
    r"""printf 'path=%s\nnode=%s\nblocknode=%s\n' "$(readlink -f $d)" "$(n /dev/mtd$m)" """
    r""""$(n /dev/mtdblock$m)";; esac; done; """
    """for d in /sys/class/block/*; do [ -e "$d/dev" ] || continue; echo "=== $d"; p=; """
    """for f in loop/backing_file backing_dev; do if [ -e "$d/$f" ]; then p=$(cat "$d/$f"); """
    r"""p=${p:-?}; fi; done; printf 'file=%s\nnode=%s\n' "$p" "$([ "$p" ] && n "$p")"; """
    r"""printf 'dev=%s\npath=%s\nslaves=%s\nholders=%s\n' "$(cat "$d/dev")" """
    """"$(readlink -f "$d")" "$(echo "$d"/slaves/*)" "$(echo "$d"/holders/*)"; done; """
    """for d in /sys/class/ubi/ubi*; do case $d in *_*|*'*') ;; *) t "$d" "$d/mtd_num";; """
    """esac; done; echo '=== end'"""
)
"""What the board is asked for: all tables in one command."""


class Doubt(UsageError):
    """Why nothing is written."""


class Device(NamedTuple):
    """A device's numbers."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}:{self.minor}"


@dataclass(frozen=True)
class Node:
    """What a path is on the board."""

    kind: str
    """b: block device, c: character device, -: a file or anything else, empty: nothing."""
    device: Device | None = None


@dataclass(frozen=True)
class Mtd:
    """A line of /proc/mtd."""

    number: int
    size: int
    erasesize: int
    name: str


@dataclass(frozen=True)
class Mount:
    """A line of mountinfo."""

    id: int
    device: Device
    place: str
    """Where it is mounted."""
    type: str
    source: str
    """The name that was given for what is mounted."""


@dataclass(frozen=True)
class Swap:
    """A line of /proc/swaps."""

    source: str
    type: str
    """partition: a block device; file."""


@dataclass(frozen=True)
class BlockDevice:
    """A disk or a part of one, as sysfs has it."""

    name: str
    device: Device
    path: str
    """Below /sys/devices: what it is part of comes before it."""
    slaves: tuple[str, ...] = ()
    """The block devices that it is made of."""
    holders: tuple[str, ...] = ()
    """Those that are made of it."""
    file: str = ""
    """The name of what a loop device or zram writes to; empty: nothing."""
    node: Node = Node("")
    """What that name is."""


@dataclass(frozen=True)
class Tables:
    """All that LOOK prints."""

    mtds: list[Mtd]
    sysfs: Mapping[int, Mapping[str, str]]
    """MTD_KEYS of each partition, by its number."""
    mounts: list[Mount]
    """As this shell sees them."""
    elsewhere: list[Mount]
    """As any process sees them."""
    nodev: frozenset[str]
    """File systems that are on no block device."""
    swaps: list[Swap]
    cmdline: str
    boot: str
    """Another after each boot; empty: the board does not tell."""
    nodes: Mapping[str, Node]
    """What paths of swaps and of the command line are."""
    blocks: Mapping[str, BlockDevice]
    """By name."""
    ubi: Mapping[int, int]
    """The partition of each UBI device, by numbers."""


def parse_kernel_tables(text: str) -> Tables:
    """What LOOK printed; Doubt if it is cut off or has another form."""
    sections = _split_sections(text)
    mounts, elsewhere = (parse_mountinfo(sections[name]) for name in ("mounts", "elsewhere"))
    if not mounts or not set(mounts) <= set(elsewhere):
        raise Doubt("the mounts of all processes did not come whole: has the board cat and sort?")
    return Tables(
        mtds=parse_mtd_table(sections["mtd"]),
        sysfs={
            int(number): _parse_values(section, MTD_KEYS)
            for number, section in _group_sections(sections, r"/sys/class/mtd/mtd(\d+)")
        },
        mounts=mounts,
        elsewhere=elsewhere,
        nodev=_parse_nodev(sections["filesystems"]),
        swaps=_parse_swaps(sections["swaps"]),
        cmdline=sections["cmdline"],
        boot=sections["boot"].strip(),
        nodes=_parse_nodes(sections["nodes"]),
        blocks=_parse_blocks(_group_sections(sections, r"/sys/class/block/(\S+)")),
        ubi={
            int(n): _parse_number(s)
            for n, s in _group_sections(sections, r"/sys/class/ubi/ubi(\d+)")
        },
    )


def _split_sections(text: str) -> dict[str, str]:
    """What LOOK printed, by the words after MARK; Doubt if it is cut off."""
    parts = re.split(rf"^{MARK}(.*)\n", text + "\n", flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if len(sections) * 2 + 1 != len(parts) or set(TABLES) - sections.keys():
        raise Doubt("the board's tables did not come whole")
    return sections


def _group_sections(sections: Mapping[str, str], header: str) -> Iterable[tuple[str, str]]:
    """The sections of a kind: what their headers differ in, and what they have."""
    matches = ((re.fullmatch(header, name), section) for name, section in sections.items())
    return [(match[1], section) for match, section in matches if match]


def parse_mtd_table(text: str) -> list[Mtd]:
    """The partitions of /proc/mtd; Doubt for a line that is none.

    A name stands between the first and the last quote of its line, whatever it has.
    """
    head, *lines = text.split("\n")
    if head != "dev:    size   erasesize  name" or lines[-1:] != [""]:
        raise Doubt("/proc/mtd has another form than it should")
    matches = [(MTD_LINE.fullmatch(line), line) for line in lines[:-1]]
    if wrong := next((line for match, line in matches if match is None), None):
        raise Doubt(f"/proc/mtd has a line that is no partition: {wrong!r}")
    mtds = [Mtd(int(m[1]), int(m[2], 16), int(m[3], 16), m[4]) for m, _ in matches if m]
    if len({mtd.number for mtd in mtds}) < len(matches):
        raise Doubt("/proc/mtd has a number twice, or a line that is no partition")
    return mtds


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts of mountinfo; Doubt for a line that is none."""
    mounts = []
    for line in filter(None, text.split("\n")):
        if (match := MOUNT_LINE.fullmatch(line)) is None:
            raise Doubt(f"mountinfo has a line that is no mount: {line!r}")
        device = Device(int(match["major"]), int(match["minor"]))
        place, source = _unescape_name(match["place"]), _unescape_name(match["source"])
        mounts.append(Mount(int(match["id"]), device, place, match["type"], source))
    return mounts


def _unescape_name(name: str) -> str:
    """A name without /proc's escapes."""
    return PATH_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), name)


def _parse_nodev(text: str) -> frozenset[str]:
    """The file systems of /proc/filesystems that need no block device."""
    words = [line.split("\t") for line in text.split("\n") if line]
    return frozenset(pair[1] for pair in words if len(pair) == len("kv") and pair[0] == "nodev")


def _parse_swaps(text: str) -> list[Swap]:
    """The lines of /proc/swaps after its head; a kernel without swap has no such file."""
    matches = [(SWAP_LINE.fullmatch(line), line) for line in text.split("\n")[1:] if line]
    if wrong := next((line for match, line in matches if match is None), None):
        raise Doubt(f"/proc/swaps has a line that is no swap: {wrong!r}")
    return [Swap(match[1], match[2]) for match, _ in matches if match]


def _parse_nodes(text: str) -> dict[str, Node]:
    """What each path is: pairs of lines."""
    lines = text.removesuffix("\n").split("\n")
    if lines == [""]:
        return {}
    if len(lines) % 2:
        raise Doubt("the board's tables did not come whole: paths")
    return {path: parse_ls_line(line) for path, line in zip(lines[::2], lines[1::2], strict=True)}


def parse_ls_line(line: str) -> Node:
    """What a path is, by the line of ``ls -ln``."""
    if match := NODE_LINE.fullmatch(line):
        return Node(match[1], Device(int(match[2]), int(match[3])))
    if line[:1] in {"b", "c"}:
        raise Doubt(f"the board's ls prints a device in another form: {line!r}")
    return Node(FILE_KIND if line[:1] == FILE_KIND else "")


def _parse_values(section: str, keys: tuple[str, ...]) -> dict[str, str]:
    """The lines KEY=VALUE of a section; Doubt unless these keys are there, in their order."""
    pairs = [line.partition("=") for line in section.removesuffix("\n").split("\n")]
    if tuple(pair[0] for pair in pairs) != keys:
        raise Doubt(f"sysfs has another form than it should: {section.strip()!r}")
    return {key: value for key, _, value in pairs}


def _parse_blocks(sections: Iterable[tuple[str, str]]) -> dict[str, BlockDevice]:
    """The block devices; Doubt if two have one number."""
    blocks = {}
    for name, section in sections:
        values = _parse_values(section, DEVICE_KEYS)
        major, _, minor = values["dev"].partition(":")
        if not (major.isdigit() and minor.isdigit()) or not values["path"]:
            raise Doubt(f"sysfs does not tell where the block device {name} is")
        blocks[name] = BlockDevice(
            name,
            Device(int(major), int(minor)),
            values["path"],
            _list_names(values["slaves"]),
            _list_names(values["holders"]),
            values["file"],
            parse_ls_line(values["node"]),
        )
    if len({block.device for block in blocks.values()}) < len(blocks):
        raise Doubt("sysfs has two block devices of one number")
    return blocks


def _list_names(paths: str) -> tuple[str, ...]:
    """The last parts of paths; a pattern that nothing matched is left out."""
    names = (path.rpartition("/")[2] for path in paths.split())
    return tuple(name for name in names if name != "*")


def _parse_number(section: str) -> int:
    """A section that is one number."""
    if not section.strip().isdigit():
        raise Doubt(f"sysfs does not tell which partition UBI has: {section.strip()!r}")
    return int(section)
