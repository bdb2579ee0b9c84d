# SPDX-License-Identifier: GPL-2.0-or-later
"""Each of UBIFS's own checks that a second mount has on tells a fault that is planted on the chip:
a node with a right checksum and a wrong field, which a mount without checks takes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from onboard import after
from support.place import Place

from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.simnand import CHIP_FIFO
from nandlab.flash.layouts import ubi, ubifs, ubifsnodes
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.layout import LayoutCollector
from nandlab.plan.medium import MOUNTPOINT
from nandlab.trial import mediumsteps

pytestmark = pytest.mark.board

PLACE = Place("ubifs", "apf27", small=True)
LOAD = "seq 0\nopen 0 f cx\nput 0 3000 1\nclose 0\nsync\n"
KNOBS = "/sys/kernel/debug/ubifs/chk_"
SIZE_AT, LINKS_AT = 48, 92
"""Of an inode."""
INDEX_SIZE_AT, DIRTY_AT = 72, 88
"""Of a master node: bytes of the index, and bytes that nothing needs."""

Where = tuple[int, int]
"""Logical block and offset."""


class Chip:
    """A chip's image whose nodes can be written over."""

    def __init__(self, image: bytes) -> None:
        self.image = chipimage.decode_chip_image(image)
        self.cells = {block.index: bytearray(block.cells) for block in self.image.blocks}
        self.on = partition_of(self.image)
        walk = LayoutCollector()
        attached = ubi.attach_ubi(self.on, walk)
        blocks = attached.volumes[0].blocks
        self.volume = ubifs._VolumeScan(self.on, attached, blocks, walk, mounted=False)
        self.areas = self.volume._areas()
        self.reached = self.volume._reached(self.volume._master(self.areas), self.areas)

    def masters(self) -> Iterator[Where]:
        """The newest master node of each of the two blocks that keep it."""
        for logical in (1, 2):
            leb = self.volume._leb(logical)
            newest = self.volume._last(logical, self.areas.unit)
            assert newest is not None
            yield logical, leb.rindex(newest[1])

    def inode(self, number: int) -> Iterator[Where]:
        """The node of an inode that holds."""
        for logical, at in self.reached:
            leb = self.volume._leb(logical)
            key = struct.unpack_from("<II", leb, at + ubifsnodes.HEADER_STRUCT.size)
            kind = leb[at + 20]
            wanted = ubifsnodes.make_leaf_node_key(number, ubifsnodes.INODE_KEY)
            if kind == ubifsnodes.INO and ubifsnodes.join_key_words(key) == wanted:
                yield logical, at

    def with_field(self, where: Where, field: int, form: str, change: int) -> None:
        """Adds to a field of a node, and gives the node a checksum that is right."""
        logical, at = where
        leb = self.volume._leb(logical)
        size = self.volume._node(leb, logical, at).bytes
        node = bytearray(leb[at : at + size])
        (value,) = struct.unpack_from(form, node, field)
        struct.pack_into(form, node, field, value + change)
        struct.pack_into("<I", node, 4, ubi.compute_ubi_crc(bytes(node[8:])))
        self._put(logical, at, node)

    def _put(self, logical: int, at: int, node: bytes | bytearray) -> None:
        page = self.on.writesize
        whole = page + self.image.geometry.oobsize
        cells = self.cells[self.volume.blocks[logical]]
        for i, byte in enumerate(node, self.volume.attached.data_offset + at):
            cells[i // page * whole + i % page] = byte

    def encoded(self) -> bytes:
        blocks = [replace(b, cells=bytes(self.cells[b.index])) for b in self.image.blocks]
        return chipimage.encode_chip_image(replace(self.image, blocks=blocks))


def partition_of(chip: ChipImage) -> Partition:
    ecc = PLACE.spec.chip.ecc
    return Partition(chip, PLACE.spec.partition_blocks, ecc.strength, ecc.step)


def master_field(at: int, change: int) -> Callable[[Chip], None]:
    def plant(chip: Chip) -> None:
        for where in list(chip.masters()):
            chip.with_field(where, at, "<Q", change)

    return plant


def inode_field(number: int, at: int, form: str, change: int) -> Callable[[Chip], None]:
    def plant(chip: Chip) -> None:
        (where,) = chip.inode(number)
        chip.with_field(where, at, form, change)

    return plant


FILE = 66
"""The inode of the load's file: 65 is its folder's."""
PLANTED: dict[str, tuple[Callable[[Chip], None], str]] = {
    "general": (inode_field(ubifsnodes.ROOT_INODE, SIZE_AT, "<Q", 8), "directory inode 1 has size"),
    "index": (master_field(INDEX_SIZE_AT, 8), "index size check failed"),
    "lprops": (master_field(DIRTY_AT, 8), "bad overall accounting"),
    "fs": (inode_field(FILE, LINKS_AT, "<I", 1), "inode 66 nlink is 2, but calculated nlink is 1"),
    "orphans": (inode_field(FILE, LINKS_AT, "<I", -1), "missing orphan, ino 66"),
}


def test_each_check_tells_what_is_planted_and_no_mount_without_it_does(board: QemuBoard) -> None:
    spec = PLACE.spec
    sound = after(board, PLACE, LOAD).image
    planted = {}
    for name, (plant, _) in PLANTED.items():
        chip = Chip(sound)
        plant(chip)
        planted[name] = chip.encoded()
    hold = make_cargo(spec.virtual, spec.cells_bytes, sound, *planted.values())
    steps: list[Step] = []
    for number, name in enumerate(["sound", *planted]):
        for check in ["none", *PLANTED]:
            if name == "sound" or check in ("none", name):
                steps += tried(f"{name}-{check}", hold.get(number), check)
    record = asyncio.run(board.run(Job(tuple(steps), {}, cargo=hold)))
    failed = record.failed()
    assert failed is None, failed.failure()
    for name, (_, says) in PLANTED.items():
        assert says in record[f"{name}-{name}"].stdout, name
        for quiet in (f"{name}-none", f"sound-{name}"):
            assert "mounted UBI device 0" in record[quiet].stdout
            assert "error" not in record[quiet].stdout


def tried(name: str, image: str, check: str) -> list[Step]:
    """Mounts a chip with one check on, writes, syncs and unmounts, and prints the kernel's log."""
    spec = PLACE.spec
    load = replace(mediumsteps.make_medium_load_step(spec, image), name=f"{name}-load")
    modules = replace(mediumsteps.make_module_load_step(spec), name=f"{name}-modules")
    mount, unmount = (
        mediumsteps.make_mount_step(spec).command,
        mediumsteps.make_unmount_step(spec).command,
    )
    on = "" if check == "none" else f"echo 1 > {KNOBS}{check}; "
    off = "" if check == "none" else f"echo 0 > {KNOBS}{check}; "
    use = f"if ({mount}); then touch {MOUNTPOINT}/g; sync; {unmount}; else ubidetach -d 0; fi"
    look = f"dmesg -c > /dev/null; {on}{use}; {off}dmesg; rmmod simnand; rm {CHIP_FIFO}"
    return [load, modules, Step(name, f"({look}) 2>&1; true")]
