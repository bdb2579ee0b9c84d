# SPDX-License-Identifier: GPL-2.0-or-later
"""What a board prints when it is asked for its tables, made of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nandlab.board.own.tables import MARK

CHIP = "/sys/devices/platform/nand.0/mtd"
VIRTUAL = "/sys/devices/virtual/block"
NODEV = ("sysfs", "proc", "tmpfs", "devtmpfs", "overlay", "jffs2", "ubifs", "nfs")
BOOT = "6b1cbd04-0b46-4d5c-9f1b-2a3c4d5e6f70"


def node(kind: str, major: int, minor: int) -> str:
    """A device as busybox's ``ls -ln`` prints it."""
    return f"{kind}rw-------    1 0        0         {major:3}, {minor:3} Nov 27 01:06 /dev/it"


PLAIN = "-rw-r--r--    1 0        0             891 Jan  1  1970 /a/file"
"""A file as it prints it."""


@dataclass(frozen=True)
class Part:
    """A partition as a board has it."""

    number: int
    name: str
    size: int
    erasesize: int = 128 << 10
    type: str = "nand"
    flags: str = "0x400"
    offset: str = "0"
    path: str = ""
    dev: str | None = None
    node: str | None = None
    blocknode: str | None = None

    def line(self) -> str:
        return f'mtd{self.number}: {self.size:08x} {self.erasesize:08x} "{self.name}"\n'

    def sysfs(self) -> str:
        right = {"node": ("c", 90, 2 * self.number), "blocknode": ("b", 31, self.number)}
        paths = {
            k: node(*v) if getattr(self, k) is None else getattr(self, k) for k, v in right.items()
        }
        rows = {
            **{key: getattr(self, key) for key in ("name", "type", "flags", "size", "erasesize")},
            "offset": self.offset,
            "dev": f"90:{2 * self.number}" if self.dev is None else self.dev,
            "path": self.path or f"{CHIP}/mtd{self.number}",
            **paths,
        }
        return _section(f"/sys/class/mtd/mtd{self.number}", rows)


@dataclass(frozen=True)
class Block:
    """A block device as sysfs has it; path: VIRTUAL if it is empty."""

    name: str
    dev: str
    path: str = ""
    slaves: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    file: str = ""
    node: str = ""

    def sysfs(self) -> str:
        at = f"/sys/class/block/{self.name}"
        links = {
            key: " ".join(f"{at}/{key}/{name}" for name in getattr(self, key)) or f"{at}/{key}/*"
            for key in ("slaves", "holders")
        }
        path = self.path or f"{VIRTUAL}/{self.name}"
        rows = {"file": self.file, "node": self.node, "dev": self.dev, "path": path, **links}
        return _section(at, rows)


def _section(header: str, rows: Mapping[str, object]) -> str:
    return f"{MARK}{header}\n" + "".join(f"{key}={value}\n" for key, value in rows.items())


def mount(device: str, source: str, type: str, place: str = "/m", id: int = 40) -> str:
    """A line of mountinfo."""
    source, place = escaped(source), escaped(place)
    return f"{id} 1 {device} / {place} rw,relatime shared:1 - {type} {source} rw"


def escaped(name: str) -> str:
    """As the kernel writes a name in /proc."""
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in name)


SYSTEM = Part(0, "system", 24 << 20)
OURS = Part(1, "data", 104 << 20, offset=str(24 << 20))
ROOT = mount("0:2", "rootfs", "rootfs", "/", 1)


@dataclass(frozen=True)
class Printed:
    """All that a board prints."""

    parts: tuple[Part, ...] = (SYSTEM, OURS)
    mounts: tuple[str, ...] = (ROOT, mount("31:0", "mtd0", "jffs2", "/system", 2))
    elsewhere: tuple[str, ...] = ()
    """Mounts that other processes see beside."""
    swaps: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    cmdline: str = "console=ttyS0 mtdparts=nand.0:24m(system),-(data) quiet"
    ubi: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    nodev: tuple[str, ...] = NODEV
    boot: str = BOOT
    mtd: str | None = None
    """/proc/mtd, if it is another than the parts make."""

    def text(self) -> str:
        head = "dev:    size   erasesize  name\n"
        mtd = head + "".join(d.line() for d in self.parts) if self.mtd is None else self.mtd
        lines = {
            "mounts": self.mounts,
            "elsewhere": sorted({*self.mounts, *self.elsewhere}),
            "filesystems": [*(f"nodev\t{fs}" for fs in self.nodev), "\text4", "\tbtrfs"],
            "swaps": ("Filename\tType\tSize", *self.swaps),
            "cmdline": (self.cmdline,),
            "boot": (self.boot,),
            "nodes": [line for pair in self.nodes.items() for line in pair],
        }
        tables = "".join(
            f"{MARK}{k}\n{''.join(f'{x}{chr(10)}' for x in v)}" for k, v in lines.items()
        )
        ubi = "".join(f"{MARK}/sys/class/ubi/{k}\n{v}\n" for k, v in self.ubi.items())
        sysfs = "".join([p.sysfs() for p in self.parts] + [b.sysfs() for b in self.blocks])
        return f"{MARK}mtd\n{mtd}{tables}{sysfs}{ubi}{MARK}end\n"
