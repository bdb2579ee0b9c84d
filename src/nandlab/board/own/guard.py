# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a partition of a user's own board may be erased: any doubt is a reason to refuse.

The board is asked for its tables, and these are judged by pure functions, before the first write
and before every job. Devices are compared by number; a name only ever adds a reason to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nandlab.board.own.blockdevices import (
    MTD_BLOCK,
    MTD_CHARACTER,
    find_device_mtd_numbers,
    find_node_mtd_numbers,
    is_stacked_device,
)
from nandlab.board.own.bootline import NUMBERED, refuse_boot_partition
from nandlab.board.own.overlap import find_overlapping_partitions
from nandlab.board.own.tables import Device, Doubt, Mount, Mtd, Node, Tables
from nandlab.board.own.tables import parse_ls_line as node_of

NAND_TYPES = ("nand", "mlc-nand")
"""What sysfs calls a NAND chip."""
WRITEABLE = 0x400
"""MTD_WRITEABLE, of a partition's flags."""
PARTITION_BY_NAME = re.compile(r"mtd:(.*)", re.DOTALL)
"""How it names one by its name."""
UNLISTED_FILE_SYSTEMS = ("nsfs", "pidfs", "rootfs")
"""File systems on no block device that /proc/filesystems does not name."""
JOINED_NAMES = ("block2mtd: ", "concat")
"""How the name of a partition begins or ends that is made of others, or of a block device."""


@dataclass(frozen=True)
class PartitionSpec:
    """What the board's file says of the partition that may be erased."""

    name: str
    size: int
    """Bytes."""
    erasesize: int
    """Bytes of an erase block."""


def find_erasable_partition(spec: PartitionSpec, erase: str | None, tables: Tables) -> Mtd:
    """The partition that may be erased, by the board's tables; Doubt with the reason if none may.

    erase: its name, as the command line has it: it is named twice.
    """
    if erase != spec.name:
        given = f"the command line says {erase!r}" if erase else "give --erase too"
        raise Doubt(f"{spec.name!r} would be erased, and must be named twice: {given}")
    mtd = find_specified_partition(spec, tables.mtds)
    _refuse_by_sysfs(mtd, tables.sysfs.get(mtd.number))
    _refuse_other_nodes(mtd, tables.sysfs[mtd.number])
    _refuse_untraced(tables)
    refuse_used_partition(mtd, tables)
    for neighbour in find_overlapping_partitions(mtd, tables.mtds, tables.sysfs):
        try:
            refuse_used_partition(neighbour, tables)
        except Doubt as e:
            raise Doubt(f"{mtd.name!r} has blocks in common with another partition: {e}") from None
    for neighbour in tables.mtds:
        if neighbour.name.startswith(JOINED_NAMES[0]) or neighbour.name.endswith(JOINED_NAMES[1]):
            raise Doubt(
                f"{neighbour.name!r} is joined of others, and {mtd.name!r} may be among them"
            )
    return mtd


def find_specified_partition(spec: PartitionSpec, mtds: list[Mtd]) -> Mtd:
    """The one partition that is as the board's file says; else Doubt."""
    matches = [mtd for mtd in mtds if mtd.name == spec.name]
    near = [mtd for mtd in mtds if mtd.name.strip(" \"'") == spec.name.strip(" \"'")]
    if not matches:
        names = ", ".join(repr(mtd.name) for mtd in mtds) or "none"
        raise Doubt(f"the board has no partition {spec.name!r}; it has {names}")
    if len(near) > 1:
        raise Doubt(f"the board has {len(near)} partitions named {spec.name!r}, or nearly so")
    (match,) = matches
    for attribute in ("size", "erasesize"):
        has, specified = getattr(match, attribute), getattr(spec, attribute)
        if has != specified:
            raise Doubt(
                f"{spec.name!r} has a {attribute} of {has} bytes, and the file says {specified}"
            )
    return match


def _refuse_by_sysfs(mtd: Mtd, sysfs: Mapping[str, str] | None) -> None:
    """Doubt unless sysfs says the same of the partition, and that it is NAND and writable."""
    if sysfs is None:
        raise Doubt(f"sysfs has no mtd{mtd.number}: is it mounted at /sys?")
    for attribute in ("name", "size", "erasesize"):
        if sysfs[attribute] != str(getattr(mtd, attribute)):
            raise Doubt(f"sysfs and /proc/mtd differ on the {attribute} of mtd{mtd.number}")
    if sysfs["type"] not in NAND_TYPES:
        raise Doubt(f"{mtd.name!r} is no NAND flash: its type is {sysfs['type']}")
    flags = sysfs["flags"]
    if not re.fullmatch(r"0x[0-9a-f]+", flags) or not int(flags, 16) & WRITEABLE:
        raise Doubt(f"{mtd.name!r} is not writable: its flags are {flags or 'not told'}")
    if not sysfs["path"]:
        raise Doubt(f"sysfs does not tell where mtd{mtd.number} is")


def _refuse_other_nodes(mtd: Mtd, sysfs: Mapping[str, str]) -> None:
    """Doubt unless the names that commands are given stand for the partition's devices."""
    character, block = Device(MTD_CHARACTER, 2 * mtd.number), Device(MTD_BLOCK, mtd.number)
    if sysfs["dev"] != str(character):
        raise Doubt(f"sysfs says that mtd{mtd.number} is the device {sysfs['dev']!r}")
    number = mtd.number
    _refuse_node(f"/dev/mtd{number}", node_of(sysfs["node"]), Node("c", character))
    if (alias := node_of(sysfs["blocknode"])) != Node(""):
        _refuse_node(f"/dev/mtdblock{number}", alias, Node("b", block))


def _refuse_node(path: str, node: Node, right: Node) -> None:
    """Doubt unless a path is the device that its name says."""
    if node != right:
        raise Doubt(
            f"{path} is {f'the device {node.device}' if node.device else 'no device'} and must be "
            f"{right.device}, or another partition would be erased: make it anew by mknod {path} "
            f"{right.kind} {str(right.device).replace(':', ' ')}"
        )


def _refuse_untraced(tables: Tables) -> None:
    """Doubt if something is used and nobody knows on what it is."""
    for block in tables.blocks.values():
        if is_stacked_device(block):
            find_device_mtd_numbers(tables, block.device)
    for mount in tables.elsewhere:
        if mount.device.major:
            _find_mount_partitions(tables, mount)
        elif mount.type.partition(".")[0] not in {*tables.nodev, *UNLISTED_FILE_SYSTEMS}:
            raise Doubt(
                f"{mount.place} is mounted from {mount.source!r}, a {mount.type} that does not "
                "tell its device: unmount it"
            )
    for swap in tables.swaps:
        if swap.type == "partition":
            _find_swap_partitions(tables, swap.source)


def _find_mount_partitions(tables: Tables, mount: Mount) -> frozenset[int]:
    """The partitions that a mount is on."""
    try:
        return find_device_mtd_numbers(tables, mount.device)
    except Doubt as e:
        raise Doubt(f"{mount.place} is mounted from {mount.source!r}: {e}; unmount it") from None


def _find_swap_partitions(tables: Tables, source: str) -> frozenset[int]:
    """The partitions that a swap device is on."""
    try:
        return find_node_mtd_numbers(tables, tables.nodes.get(source, Node("")))
    except Doubt as e:
        raise Doubt(f"swap is on {source!r}, and {e}: swapoff it") from None


def refuse_used_partition(mtd: Mtd, tables: Tables) -> None:
    """Doubt if anything uses a partition, or the board was booted from it."""
    number = mtd.number
    for mount in tables.elsewhere:
        if mount.device.major and number in _find_mount_partitions(tables, mount):
            raise Doubt(f"{mtd.name!r} is in use: mounted at {mount.place}, as {mount.source!r}")
    for swap in tables.swaps:
        if swap.type == "partition" and number in _find_swap_partitions(tables, swap.source):
            raise Doubt(f"{mtd.name!r} is in use: for swap, as {swap.source!r}")
    for block in tables.blocks.values():
        if is_stacked_device(block) and number in find_device_mtd_numbers(tables, block.device):
            made_of = block.file or ", ".join(block.slaves)
            raise Doubt(f"{mtd.name!r} is in use: by {block.name}, which is made of {made_of}")
        if block.holders and number in find_device_mtd_numbers(tables, block.device):
            raise Doubt(f"{mtd.name!r} is in use: {block.name} is held by {block.holders[0]}")
    for ubi, attached in tables.ubi.items():
        if attached == number:
            raise Doubt(f"{mtd.name!r} is in use: attached as ubi{ubi}")
    _refuse_named(mtd, (m.source for m in tables.elsewhere), "mounted")
    _refuse_named(mtd, (s.source for s in tables.swaps), "for swap")
    _refuse_named(mtd, (b.file for b in tables.blocks.values()), "by a loop device")
    refuse_boot_partition(mtd, tables)


def _refuse_named(mtd: Mtd, sources: Iterable[str], how: str) -> None:
    """Doubt if the name of what is used names a partition."""
    for source in sources:
        numbers, name = NUMBERED.findall(source), PARTITION_BY_NAME.fullmatch(source)
        if str(mtd.number) in numbers or (name and name[1] == mtd.name):
            raise Doubt(f"{mtd.name!r} is in use: {how}, as {source!r}")
