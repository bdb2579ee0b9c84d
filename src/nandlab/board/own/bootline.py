# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a board boots from a partition, by its kernel's command line."""

from __future__ import annotations

import re

from nandlab.board.own.blockdevices import find_device_mtd_numbers, find_node_mtd_numbers
from nandlab.board.own.tables import Device, Doubt, Mtd, Node, Tables

NUMBERED = re.compile(r"mtd[a-z_/]*0*(\d+)")
"""How a word names a partition by its number, wherever it does."""
LAYOUT = re.compile(r"(cmdlinepart\.)?mtdparts=")
"""The layout of a whole chip names every partition and uses none."""
TAKES_PARTITION = re.compile(r"(?:ubi\.mtd|mtdoops\.mtddev)=([^,]*)")
"""A driver's partition: its number, its name or its node."""
ROOT_NUMBERS = re.compile(r"(\d+):(\d+)(?::.*)?")
ROOT_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
ROOT_UBI = re.compile(r"(?:/dev/)?ubi(?:block)?\d*(?:[_:!].*)?")
ROOT_LABEL = re.compile(r"(?:PART)?(?:UUID|LABEL)=.*")
ROOT_WITHOUT_DEVICE = re.compile(r"/dev/(nfs|cifs|ram\d*)|nfs|cifs|tmpfs|rootfs")
"""A root that is on no block device."""
ROOT_TYPES_WITHOUT_DEVICE = ("cifs", "nfs", "nfs4", "9p", "virtiofs", "ubifs")
"""File systems without a block device that tell where a root is; UBI tells where ubifs is."""


def refuse_boot_partition(mtd: Mtd, tables: Tables) -> None:
    """Doubt if the kernel's command line names a partition, or the root may be on it."""
    words = [w.replace('"', "") for w in re.findall(r'(?:[^\s"]|"[^"]*")+', tables.cmdline)]
    words = [word for word in words if not LAYOUT.match(word)]
    name_pattern = re.compile(rf"(?<![\w-]){re.escape(mtd.name)}(?![\w-])")
    for word in words:
        match = TAKES_PARTITION.fullmatch(word.partition(",")[0])
        numbers = NUMBERED.findall(word)
        if match:
            numbers += [str(_find_parameter_partition(match[1], word, tables))]
        if str(mtd.number) in numbers or name_pattern.search(word):
            raise Doubt(f"the kernel's command line names {mtd.name!r}: {word}")
    roots = [word.partition("=")[2] for word in words if word.startswith("root=")]
    for root in roots:
        numbers_of_root = find_root_mtd_numbers(root, tables)
        if numbers_of_root is None:
            _refuse_unknown(root, mtd, tables)
        elif mtd.number in numbers_of_root:
            raise Doubt(f"the kernel's command line has its root on {mtd.name!r}: root={root}")


def _find_parameter_partition(value: str, word: str, tables: Tables) -> int:
    """The number of the partition that a driver's parameter names; Doubt if none is known."""
    for base, form in ((16, "0[xX][0-9a-fA-F]+"), (8, "0[0-7]*"), (10, "[1-9][0-9]*")):
        if re.fullmatch(form, value):
            return int(value, base)
    if names := [mtd.number for mtd in tables.mtds if mtd.name == value]:
        return names[0]
    try:
        (number,) = find_node_mtd_numbers(tables, tables.nodes.get(value, Node("")))
    except (Doubt, ValueError):
        raise Doubt(
            f"the kernel's command line has {word}, which names no partition that the board has"
        ) from None
    return number


def find_root_mtd_numbers(root: str, tables: Tables) -> frozenset[int] | None:
    """The partitions that root= is on; None: it does not tell."""
    if numbers := _find_named_partitions(root, tables):
        return numbers
    if ROOT_WITHOUT_DEVICE.fullmatch(root):
        return frozenset()
    try:
        if (device := _parse_root_device(root, tables)) is not None:
            return find_device_mtd_numbers(tables, device)
        return find_node_mtd_numbers(tables, tables.nodes.get(root, Node("")))
    except Doubt:
        return None


def _find_named_partitions(root: str, tables: Tables) -> frozenset[int]:
    """The partitions that root= names as MTD and UBI do; of UBI, all that are attached."""
    if ROOT_UBI.fullmatch(root):
        return frozenset(tables.ubi.values())
    if root.startswith("mtd:"):
        return frozenset(mtd.number for mtd in tables.mtds if mtd.name == root[len("mtd:") :])
    match = NUMBERED.fullmatch(root.removeprefix("/dev/"))
    return frozenset({int(match[1])} if match else ())


def _parse_root_device(root: str, tables: Tables) -> Device | None:
    """The block device that root= is, as the kernel reads it: numbers, or the kernel's name."""
    if match := ROOT_NUMBERS.fullmatch(root):
        return Device(int(match[1]), int(match[2]))
    if ROOT_HEXADECIMAL.fullmatch(root):
        number = int(root, 16)
        return Device(number >> 8 & 0xFFF, (number & 0xFF) | (number >> 12 & 0xFFF00))
    block = tables.blocks.get(root.removeprefix("/dev/").replace("/", "!"))
    return block.device if block and root.startswith("/dev/") else None


def _refuse_unknown(root: str, mtd: Mtd, tables: Tables) -> None:
    """Doubt unless root= is a label, and what is mounted at / tells where that is."""
    roots = [mount for mount in tables.mounts if mount.place == "/"]
    is_there = bool(roots) and (
        roots[-1].device.major or roots[-1].type in ROOT_TYPES_WITHOUT_DEVICE
    )
    if not (ROOT_LABEL.fullmatch(root) and is_there):
        raise Doubt(
            f"the kernel's command line has root={root}, which does not tell on which part of the "
            f"flash or disk it is: it may be {mtd.name!r}"
        )
