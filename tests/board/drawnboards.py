# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards drawn at random, with the truth about them beside what they would print.

A board is drawn as objects that lie on each other: blocks of chips, partitions, block devices of
all kinds, mounts. The truth is read from the objects: a use has the blocks of all that is below it.
It knows neither numbers nor names. What the board prints follows the kernel: numbers as they come
at a boot, links of sysfs, and names that somebody has chosen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import boardtables
from boardtables import PLAIN, Block, Part, Printed, mount, node

ERASESIZE = 128 << 10
BLOCKS = 64
"""Of a chip."""
WANTED = "data"
FTLS = ("nftl", "inftl", "ssfdc", "rfd", "smblk", "mtdswap")
ALIASES = ("/dev/flash", "/dev/block/31:1", "/dev/disk/by-partlabel/data", "/dev/mtdblock9", "none")


@dataclass(eq=False)
class Flash:
    """A partition: blocks of a chip, or of a UBI volume that is one again (gluebi)."""

    name: str
    cells: frozenset[tuple[int, int]]
    offset: int | None
    inside: str
    """Its folder in sysfs."""
    type: str = "nand"
    number: int = -1


@dataclass(eq=False)
class Ubi:
    """A UBI device on a partition."""

    flash: Flash
    number: int = -1

    @property
    def cells(self) -> frozenset[tuple[int, int]]:
        return self.flash.cells


@dataclass(eq=False)
class Disk:
    """A block device: on a partition, on UBI, on other disks, or elsewhere."""

    kind: str
    on: tuple[Flash | Ubi | Disk, ...] = ()
    name: str = ""
    device: tuple[int, int] = (0, 0)

    @property
    def cells(self) -> frozenset[tuple[int, int]]:
        return frozenset().union(*(lower.cells for lower in self.on))

    @property
    def holds(self) -> bool:
        """Whether it keeps what it is made of open, mounted or not."""
        return self.kind in {"dm", "md", "loop"}


@dataclass
class Board:
    """A drawn board."""

    luck: random.Random
    flashes: list[Flash] = field(default_factory=list)
    ubis: list[Ubi] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)
    mounts: list[Flash | Ubi | Disk] = field(default_factory=list)
    swaps: list[Disk] = field(default_factory=list)
    root: Flash | Ubi | Disk | None = None
    ubi_at_boot: Flash | None = None
    wrong_node: bool = False
    old: bool = False
    """A kernel before 4.1, which tells no offsets."""

    @property
    def wanted(self) -> Flash:
        return next(flash for flash in self.flashes if flash.name == WANTED)

    def is_used(self) -> bool:
        """The truth: whether the wanted partition's blocks are anybody's, or its node another's."""
        users = [*self.mounts, *self.swaps, *self.ubis, *(d for d in self.disks if d.holds)]
        users += [each for each in (self.root, self.ubi_at_boot) if each is not None]
        return self.wrong_node or any(self.wanted.cells & each.cells for each in users)


def draw(seed: int) -> Board:
    """A board."""
    board = Board(random.Random(seed))
    luck = board.luck
    board.old = luck.random() < 0.1
    for chip in range(luck.choice((1, 1, 2))):
        _partition(board, chip)
    if luck.random() < 0.25:
        board.ubis = [Ubi(luck.choice(board.flashes))]
        if luck.random() < 0.3:
            cells, place = board.ubis[0].cells, "/sys/devices/virtual/mtd"
            board.flashes.append(Flash("volume", cells, None, place, "ubi"))
            if luck.random() < 0.3:
                board.ubis.append(Ubi(board.flashes[-1]))
    _stack(board)
    places: list[Flash | Ubi | Disk] = [*board.flashes, *board.ubis, *board.disks]
    board.mounts = [luck.choice(places) for _ in range(luck.choice((0, 0, 1, 1, 2)))]
    board.swaps = luck.choices(board.disks, k=luck.choice((0, 0, 0, 1))) if board.disks else []
    if luck.random() < 0.2:
        board.root = luck.choice(places)
    if luck.random() < 0.1:
        board.ubi_at_boot = luck.choice(board.flashes)
    board.wrong_node = luck.random() < 0.03
    return board


def _partition(board: Board, chip: int) -> None:
    """Draws a chip's partitions: beside each other, over each other, one within one, the whole."""
    luck, place = board.luck, f"/sys/devices/platform/nand.{chip}/mtd"
    cuts = sorted(luck.sample(range(1, BLOCKS), luck.choice((1, 2, 3))))
    ranges = list(zip([0, *cuts], [*cuts, BLOCKS], strict=True))
    if luck.random() < 0.15:
        ranges.append((ranges[0][0], ranges[1][1]))
    names = [f"part{chip}{i}" for i in range(len(ranges))]
    if chip == 0:
        names[luck.randrange(len(names))] = WANTED
    parts = [
        Flash(name, frozenset((chip, i) for i in range(*of)), of[0], place)
        for name, of in zip(names, ranges, strict=True)
    ]
    if luck.random() < 0.1:
        whole = frozenset((chip, i) for i in range(BLOCKS))
        parts.append(Flash(f"nand.{chip}", whole, None, place))
    parent = luck.choice(parts)
    if luck.random() < 0.15 and len(parent.cells) > 1 and parent.offset is not None:
        first = frozenset((chip, parent.offset + i) for i in range(len(parent.cells) // 2))
        parts.append(Flash(f"{parent.name}-a", first, 0, f"in {parent.name}"))
    board.flashes += parts


def _stack(board: Board) -> None:
    """Draws block devices over each other."""
    luck, disks = board.luck, board.disks
    if luck.random() < 0.6:
        disks += [Disk("mtdblock", (flash,)) for flash in board.flashes]
    disks += [
        Disk(luck.choice(FTLS), (luck.choice(board.flashes),))
        for _ in range(luck.choice((0, 0, 1, 2)))
    ]
    if board.ubis and luck.random() < 0.5:
        disks.append(Disk("ubiblock", (luck.choice(board.ubis),)))
    for kind in ("mmcblk", "sd", "ram", "zram", "nvme"):
        if luck.random() < 0.2:
            disks.append(Disk(kind))
    for _ in range(luck.choice((0, 0, 0, 1, 2, 3))):
        if not disks:
            return
        kind = luck.choice(("part", "part", "dm", "md", "loop", "loop over a file"))
        wide = 2 if kind in {"dm", "md"} and len(disks) > 1 and luck.random() < 0.3 else 1
        below = luck.sample(disks, wide)
        if kind == "loop over a file":
            disks.append(Disk(kind))
        elif kind != "part" or below[0].kind not in {"part", "mtdblock", "loop", "md"}:
            disks.append(Disk(kind, tuple(below)))


def printed(board: Board, boot: int) -> Printed:
    """What the board prints after its boot of that number: each boot has numbers of its own."""
    return _Printing(board, random.Random(f"{boot}")).printed(boot)


MAJORS = {
    **{"mtdblock": 31, "nftl": 93, "inftl": 96, "ssfdc": 257, "rfd": 256, "smblk": 250},
    **{"mtdswap": 249, "dm": 253, "md": 9, "loop": 7, "loop over a file": 7, "ubiblock": 248},
    **{"mmcblk": 179, "sd": 8, "ram": 1, "zram": 252, "nvme": 247, "part": 259},
}


@dataclass
class _Printing:
    """What a board prints after one boot."""

    board: Board
    luck: random.Random
    paths: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    mount_ids: Iterator[int] = field(default_factory=lambda: count(30))

    def printed(self, boot: int) -> Printed:
        """Numbers everything anew, and prints it."""
        board = self.board
        order = self.luck.sample(board.flashes, len(board.flashes))
        for number, flash in enumerate(order):
            flash.number = number + boot
        for number, ubi in enumerate(board.ubis):
            ubi.number = number + boot
        for number, disk in enumerate(board.disks):
            self._name(disk, number)
        mounts = [self._mounted(each) for each in board.mounts]
        hidden = [line for line in mounts if self.luck.random() < 0.2]
        return Printed(
            parts=tuple(self._part(flash) for flash in sorted(order, key=lambda f: f.number)),
            mounts=(boardtables.ROOT, *(line for line in mounts if line not in hidden)),
            elsewhere=tuple(hidden),
            swaps=tuple(f"{self._alias(disk)}\tpartition\t8\t0\t-2" for disk in board.swaps),
            blocks=tuple(self._block(disk) for disk in board.disks),
            cmdline=self._cmdline(),
            ubi={f"ubi{ubi.number}": ubi.flash.number for ubi in board.ubis},
            nodes=self.nodes,
            boot=str(boot),
        )

    def _path(self, flash: Flash) -> str:
        parent = next((f for f in self.board.flashes if flash.inside == f"in {f.name}"), None)
        return f"{self._path(parent) if parent else flash.inside}/mtd{flash.number}"

    def _part(self, flash: Flash) -> Part:
        offset = "" if flash.offset is None or self.board.old else str(flash.offset * ERASESIZE)
        wrong = self.board.wrong_node and flash is self.board.wanted
        others = [("c", 90, 2 * flash.number + 2), ("b", 90, 2 * flash.number), ("c", 31, 0)]
        return Part(
            flash.number,
            flash.name,
            len(flash.cells) * ERASESIZE,
            type=flash.type,
            offset=offset,
            path=self._path(flash),
            node=self.luck.choice((*(node(*each) for each in others), "")) if wrong else None,
        )

    def _name(self, disk: Disk, number: int) -> None:
        """Gives a disk the kernel's name, its numbers and its folder, as its driver would."""
        (below, *_) = disk.on or (None,)
        minor = below.number if disk.kind == "mtdblock" and isinstance(below, Flash) else number
        letter = chr(ord("a") + number)
        names = {
            **{ftl: f"{ftl}{letter}" for ftl in FTLS},
            **{"mtdblock": f"mtdblock{minor}", "loop over a file": f"loop{number}"},
            **{"sd": f"sd{letter}", "nvme": f"nvme{number}n1", "smblk": f"smblk{number}"},
        }
        disk.name = names.get(disk.kind, f"{disk.kind}{number}")
        if disk.kind == "dm":
            disk.name = f"dm-{number}"
        if isinstance(below, Ubi):
            disk.name = f"ubiblock{below.number}_{number}"
        disk.device = (MAJORS[disk.kind], minor)
        place = {"mmcblk": "/sys/devices/platform/mmc/block", "sd": "/sys/devices/pci0/block"}
        place["nvme"] = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
        folder = place.get(disk.kind, boardtables.VIRTUAL)
        if isinstance(below, Flash):
            folder = self._path(below)
        elif disk.kind == "part" and isinstance(below, Disk):
            disk.name, folder = f"{below.name}p{number}", self.paths[below.name]
        self.paths[disk.name] = f"{folder}/{disk.name}"

    def _block(self, disk: Disk) -> Block:
        file, behind = "", ""
        if disk.kind == "loop":
            (below,) = disk.on
            assert isinstance(below, Disk)
            file, behind = self.luck.choice(ALIASES), node("b", *below.device)
        elif disk.kind == "loop over a file":
            file, behind = "/home/an image", PLAIN
        elif disk.kind == "zram":
            file = "none"
        lower = [d.name for d in disk.on if isinstance(d, Disk) and disk.kind in {"dm", "md"}]
        upper = [d.name for d in self.board.disks if disk in d.on and d.kind in {"dm", "md"}]
        device = "{}:{}".format(*disk.device)
        path = self.paths[disk.name]
        return Block(disk.name, device, path, tuple(lower), tuple(upper), file, behind)

    def _alias(self, disk: Disk) -> str:
        """A name of a disk that somebody has chosen, and what it is."""
        name = f"{self.luck.choice(ALIASES[:-1])}{len(self.nodes)}x"
        self.nodes[name] = node("b", *disk.device)
        return name

    def _mounted(self, each: Flash | Ubi | Disk) -> str:
        number, source = next(self.mount_ids), self.luck.choice(ALIASES)
        if isinstance(each, Flash):
            return mount(f"31:{each.number}", source, "jffs2", id=number)
        if isinstance(each, Ubi):
            return mount(f"0:{number}", source, "ubifs", id=number)
        return mount("{}:{}".format(*each.device), source, "ext4", id=number)

    def _cmdline(self) -> str:
        board, words = self.board, ["console=ttyS0", "mtdparts=nand.0:1m(part00),-(data)"]
        if (root := board.root) is not None:
            words.append(f"root={self._root(root)}")
        if (flash := board.ubi_at_boot) is not None:
            alias = f"/dev/an-alias{flash.number}"
            self.nodes[alias] = node("c", 90, 2 * flash.number + self.luck.choice((0, 1)))
            names = (str(flash.number), f"{flash.number:#x}", flash.name, alias)
            words.append(f"ubi.mtd={self.luck.choice(names)},2048")
        return " ".join(words)

    def _root(self, root: Flash | Ubi | Disk) -> str:
        if isinstance(root, Flash):
            number = root.number
            flash = (
                f"31:{number}",
                f"1f{number:02x}",
                f"/dev/mtdblock{number}",
                f"mtd:{root.name}",
            )
            return self.luck.choice(flash)
        if isinstance(root, Ubi):
            return f"ubi{root.number}:rootfs"
        major, minor = root.device
        ways = (f"{major}:{minor}", f"/dev/{root.name}", self._alias(root))
        return self.luck.choice((*ways, f"{major:x}{minor:02x}"))
