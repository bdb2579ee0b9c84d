# SPDX-License-Identifier: GPL-2.0-or-later
"""What a board tells of a partition's flash: shape, ECC, bad blocks; by sysfs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.own.tables import Mtd
from nandlab.board.own.transport import Transport
from nandlab.catalog.chip import ChipModel

SHAPE = ("writesize", "oobsize", "ecc_strength", "ecc_step_size")
"""Of its shape, as sysfs names them; they are the same as long as the chip is."""
HEALTH = {
    "bad_blocks": "blocks have become bad",
    "corrected_bits": "bits were corrected by ECC",
    "ecc_failures": "times ECC could not correct what was read",
}
"""What its driver counts of its health, and what more of it means."""
NFTL_NAME = "DiskOnChip"
"""How the name of a partition begins that NFTL takes."""
MODULE_THERE = "[ -d /sys/module/{0} ] || grep -qw {0} /proc/filesystems"
"""The test whether a kernel has a module already, loaded or built in."""
BLANK_S = 3600
"""The most that reading a whole partition takes."""


async def read_health_counters(transport: Transport, number: int) -> dict[str, int]:
    """What a partition's driver counts, by HEALTH's names; what it does not tell is missing."""
    return await _read_sysfs_numbers(transport, number, HEALTH)


def format_health_losses(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """What has become worse since, a sentence each."""
    pairs = (
        (after[name] - before[name], said)
        for name, said in HEALTH.items()
        if name in before and name in after
    )
    return [f"{more} {said}" for more, said in pairs if more > 0]


async def _read_sysfs_numbers(
    transport: Transport, number: int, names: Iterable[str]
) -> dict[str, int]:
    """The numbers that a partition's sysfs has, by name; what it has not is missing."""
    asked = f"for f in {' '.join(names)}; do echo $f $(cat $f); done 2>/dev/null"
    reply = await transport.call(f"cd /sys/class/mtd/mtd{number} && {asked}")
    rows = [line.split() for line in reply.text.split("\n")]
    return {r[0]: int(r[1]) for r in rows if len(r) == len("kv") and r[1].isdigit()}


@dataclass(frozen=True)
class PartitionFlash:
    """A partition's flash, as the board tells it."""

    machine: str
    """The processor, as ``uname -m`` has it."""
    kernel: str
    shape: dict[str, int]
    """By SHAPE's names; what the board does not tell is missing."""
    has_ubi_device: bool
    """Whether the board has a UBI device 0."""
    has_other_nftl: bool = False
    """Whether NFTL's first device is, or would be, of another partition."""

    def identity(self) -> dict[str, object]:
        """What of it decides figures."""
        return {"machine": self.machine, "kernel": self.kernel, "flash": self.shape}


def make_partition_erase_command(number: int, blocks: int) -> str:
    """The board's command that erases a partition's good blocks.

    In two pieces: asked for all at once, flash_erase tries the whole device first, in vain where a
    block is bad, and the kernel complains.
    """
    device = f"flash_erase -q /dev/mtd{number}"
    size = f"$(cat /sys/class/mtd/mtd{number}/erasesize)"
    return f"{device} 0 1 && {device} {size} {blocks - 1}"


async def read_flash_properties(transport: Transport, number: int) -> PartitionFlash:
    """What the board tells of a partition."""
    ubi_there, nftl_there = "-d /sys/class/ubi/ubi0", "-e /sys/class/block/nftla"
    for_nftl = f"grep -v '^mtd{number}:' /proc/mtd | grep -q '\"{NFTL_NAME}'"
    reply = await transport.call(
        f"uname -m; uname -sr; [ {ubi_there} ] && echo yes || echo no; "
        f"{{ [ {nftl_there} ] || {for_nftl}; }} && echo yes || echo no"
    )
    machine, kernel, ubi, nftl = [*reply.text.split("\n"), "", "", "", ""][:4]
    shape = await _read_sysfs_numbers(transport, number, SHAPE)
    if not {"writesize", "oobsize"} <= shape.keys():
        raise NandlabError(
            f"{transport.address}: the board does not tell the flash's shape: {shape}"
        )
    return PartitionFlash(machine, kernel, shape, ubi != "no", nftl != "no")


def refuse_other_chip_shape(chip: ChipModel, flash: PartitionFlash, mtd: Mtd) -> None:
    """UsageError if the chip that the board's file names has another shape than the board's."""
    g = chip.geometry
    pairs = {
        "writesize": (g.writesize, flash.shape["writesize"]),
        "oobsize": (g.oobsize, flash.shape["oobsize"]),
        "erasesize": (g.erasesize, mtd.erasesize),
    }
    wrong = [
        f"{k} {has} there, {said} of the part" for k, (said, has) in pairs.items() if said != has
    ]
    if mtd.size > g.blocks * g.erasesize:
        wrong.append(f"{mtd.size} bytes of {mtd.name!r}, {g.blocks * g.erasesize} of the part")
    if wrong:
        raise UsageError(f"{chip.name} is not the board's chip: {'; '.join(wrong)}")


async def list_missing_modules(transport: Transport, modules: Iterable[str]) -> list[str]:
    """Which of these modules the board neither has loaded or built in, nor can load."""
    tests = (
        f"{{ {MODULE_THERE.format(m)} || modprobe -n {m} >/dev/null 2>&1; }} || echo {m}"
        for m in map(shlex.quote, modules)
    )
    return (await transport.call("; ".join(tests) or ":")).text.split()


async def refuse_missing_tools(transport: Transport, tools: Iterable[str]) -> None:
    """UsageError if the board lacks tools of mtd-utils; busybox's of the same names are others."""
    tests = (
        f"{{ command -v {t} >/dev/null && ! {t} --help 2>&1 | grep -q BusyBox; }} || echo {t}"
        for t in tools
    )
    if gone := (await transport.call("; ".join(tests))).text.split():
        raise UsageError(
            f"{transport.address}: the board has no {', '.join(gone)} of mtd-utils: install "
            "mtd-utils there (busybox's applets of the same names lack what is needed)"
        )


async def is_partition_erased(transport: Transport, number: int) -> bool:
    """Whether all data bytes of a partition's good blocks are erased; OOB is not looked at."""
    read = f"nanddump -q --bb=skipbad /dev/mtd{number} 2>/dev/null || echo unreadable"
    found = await transport.call(f"{{ {read}; }} | LC_ALL=C tr -d '\\377' | wc -c", limit_s=BLANK_S)
    return found.rc == 0 and found.text == "0"
