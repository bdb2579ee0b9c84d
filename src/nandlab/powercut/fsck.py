# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system's own check, run on this machine on what a point's check left: the board has no
room for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.kit.root import Root
from nandlab.flash.layouts import nftl
from nandlab.flash.layouts.cells import Partition

STATE_AT, DIRTY = 0x41, 1
"""Of a FAT32 volume's first sector: where its state is, and the bit that a mount sets."""
IMAGE = "volume"


def check_fat_volume(volume: bytes, root: Root) -> str:
    """What fsck.vfat would mend in a FAT32 volume; empty: nothing.

    A mount that the power ended leaves its mark, which is no damage: it is taken off before.
    """
    content = bytearray(volume)
    content[STATE_AT] &= ~DIRTY
    with hold_scratch_folder() as folder:
        (folder / IMAGE).write_bytes(content)
        done = root.run(["fsck.vfat", "-n", f"/in/{IMAGE}"], {"/in": folder})
    if not done.returncode:
        return ""
    words = [line.strip() for line in done.stdout.splitlines()[1:] if line.strip()]
    return "; ".join(words) or done.stderr.strip() or f"it ended with {done.returncode}"


HOST_CHECKS: Mapping[str, Callable[[Partition, Root], str]] = {
    "fsck.vfat": lambda partition, root: check_fat_volume(
        nftl.read_virtual_device(partition), root
    ),
}
"""By the words of a catalog file's ``host_check``: what is wrong, empty: nothing; UsageError if the
partition cannot be read."""
