# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job has left mounted or attached on a user's own board, and only that, is put away.

The guard lets a job begin only where nothing uses the partition. So what uses it when the job has
ended is the job's. It is put away later only if it is the very same then: the same boot, the same
mount, the same UBI device on the same partition. Whatever else is there is somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.board.own.blockdevices import find_device_mtd_numbers
from nandlab.board.own.tables import Device, Mtd, Tables

MOUNTPOINT = "/mnt"
"""Where jobs mount; plan/medium.py has it too."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True)
class Leftover:
    """What a job has left, by numbers that nothing else has until the board boots."""

    boot: str = ""
    """The boot that it was left in; empty: nothing was left."""
    mounts: tuple[tuple[int, Device], ...] = ()
    """At MOUNTPOINT: the mounts' numbers and devices, the last on top."""
    ubi: tuple[int, ...] = ()
    """UBI devices on the partition."""


def find_job_leftover(tables: Tables, mtd: Mtd) -> Leftover:
    """What of a partition is mounted where jobs mount, and attached."""
    ubi = tuple(number for number, attached in tables.ubi.items() if attached == mtd.number)
    mounts = tuple(
        (mount.id, mount.device)
        for mount in tables.mounts
        if mount.place == MOUNTPOINT
        and (
            mtd.number in find_device_mtd_numbers(tables, mount.device)
            if mount.device.major
            else bool(ubi) and mount.type == "ubifs"
        )
    )
    return Leftover(tables.boot, mounts, ubi)


def make_cleanup_command(leftover: Leftover, mtd: Mtd) -> str:
    """The board's command that takes away what is left and still the same."""
    if not leftover.boot:
        return ":"
    commands = [f'[ "$(cat {BOOT_ID})" = {leftover.boot} ] || exit 0']
    top = 'while read -r i p d r t x; do [ "$t" = %s ] && m="$i $d"; done </proc/self/mountinfo'
    for number, device in reversed(leftover.mounts):
        last = f"m=; {top % MOUNTPOINT}"
        commands.append(f'{last}; [ "$m" = "{number} {device}" ] && umount {MOUNTPOINT}')
    for number in leftover.ubi:
        attached = f"$(cat /sys/class/ubi/ubi{number}/mtd_num 2>/dev/null)"
        commands.append(f'[ "{attached}" = {mtd.number} ] && ubidetach -d {number}')
    return "; ".join(commands)
