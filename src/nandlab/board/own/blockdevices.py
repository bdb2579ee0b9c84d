# SPDX-License-Identifier: GPL-2.0-or-later
"""Which partitions of flash a block device is on, whatever it is called and however it is stacked.

mtdblock, the translation layers (NFTL, INFTL, SSFDC, sm_ftl, rfd_ftl, mtdswap), disks' partitions,
device mapper, md, bcache, loop devices and UBI's block devices are followed down by what sysfs
links. Doubt for a device that ends nowhere.
"""

from __future__ import annotations

import re

from nandlab.board.own.tables import FILE_KIND, BlockDevice, Device, Doubt, Node, Tables

MTD_CHARACTER, MTD_BLOCK = 90, 31
"""Major numbers; 90 has two minor numbers for each partition."""
MTD_PART = re.compile(r"mtd(\d+)")
"""A partition in a path of sysfs."""
MTDBLOCK = re.compile(r"mtdblock(?:_ro)?(\d+)")
UBIBLOCK = re.compile(r"ubiblock(\d+)_\d+")
FILE_BACKED = re.compile(r"(?:loop|zram)\d+")
IN_RAM = re.compile(r"(?:ram|zram)\d+")
ZRAM, NO_FILE = "zram", "none"
"""What zram says that writes to nothing."""
DEVICES = "/sys/devices/"
NO_HARDWARE = (f"{DEVICES}virtual/", f"{DEVICES}tcm_loop")
HARDWARE = f"{DEVICES}virtual/nvme-subsystem/"
"""Where NVMe disks with several paths are, though they are hardware."""


def find_device_mtd_numbers(tables: Tables, device: Device) -> frozenset[int]:
    """The numbers of the partitions that a block device is on; Doubt if that is not known."""
    block = next((b for b in tables.blocks.values() if b.device == device), None)
    if block is not None:
        return _follow_down(tables, block, ())
    if device.major == MTD_BLOCK:
        return frozenset({device.minor})
    raise Doubt(f"sysfs does not tell what the block device {device} is")


def find_node_mtd_numbers(tables: Tables, node: Node) -> frozenset[int]:
    """The partitions that a device's node stands for; Doubt if that is not known."""
    if node.device is not None and node.kind == "b":
        return find_device_mtd_numbers(tables, node.device)
    if node.device is not None and node.device.major == MTD_CHARACTER:
        return frozenset({node.device.minor // 2})
    raise Doubt("it is no device of flash or disk")


def is_stacked_device(block: BlockDevice) -> bool:
    """Whether a block device is made of others, which it then uses, mounted or not."""
    return bool(block.slaves) or _has_backing_file(block)


def _has_backing_file(block: BlockDevice) -> bool:
    """Whether it is a loop device that is set up, or zram that writes to a disk too."""
    is_none = block.file == NO_FILE and block.name.startswith(ZRAM)
    return bool(block.file) and not is_none


def _follow_down(tables: Tables, block: BlockDevice, above: tuple[str, ...]) -> frozenset[int]:
    """The partitions that a block device is on; above: the devices that led to it."""
    if block.name in above:
        raise Doubt(f"{block.name} is made of itself")
    if (direct := _find_direct_partitions(tables, block)) is not None:
        return direct
    lower = list(block.slaves)
    disk = block.path.split("/")[-2]
    if disk in tables.blocks:
        lower.append(disk)
    numbers = frozenset[int]()
    for name in lower:
        if name not in tables.blocks:
            raise Doubt(f"{block.name} is made of {name}, which sysfs does not tell")
        numbers |= _follow_down(tables, tables.blocks[name], (*above, block.name))
    if _has_backing_file(block):
        numbers |= _find_file_partitions(tables, block, (*above, block.name))
    if lower or FILE_BACKED.fullmatch(block.name) or IN_RAM.fullmatch(block.name):
        return numbers
    if block.path.startswith(NO_HARDWARE) and not block.path.startswith(HARDWARE):
        raise Doubt(f"sysfs does not tell what {block.name} is made of")
    return numbers


def _find_direct_partitions(tables: Tables, block: BlockDevice) -> frozenset[int] | None:
    """The partition that a driver of flash made a block device of; None: it is another's."""
    parts = [MTD_PART.fullmatch(part) for part in block.path.split("/")]
    if numbers := [int(match[1]) for match in parts if match]:
        return frozenset(numbers[-1:])
    if block.device.major == MTD_BLOCK:
        return frozenset({block.device.minor})
    if match := MTDBLOCK.fullmatch(block.name):
        return frozenset({int(match[1])})
    if match := UBIBLOCK.fullmatch(block.name):
        if int(match[1]) not in tables.ubi:
            raise Doubt(f"{block.name} is on a UBI device that sysfs does not tell")
        return frozenset({tables.ubi[int(match[1])]})
    return None


def _find_file_partitions(
    tables: Tables, block: BlockDevice, above: tuple[str, ...]
) -> frozenset[int]:
    """The partitions behind the file of a loop device; a plain file is on what is mounted."""
    if block.node.kind == FILE_KIND:
        return frozenset()
    if block.node.kind != "b" or block.node.device is None:
        raise Doubt(f"{block.name} is made of {block.file!r}, which is no file and no disk now")
    lower = next((b for b in tables.blocks.values() if b.device == block.node.device), None)
    if lower is None:
        return find_device_mtd_numbers(tables, block.node.device)
    return _follow_down(tables, lower, above)
