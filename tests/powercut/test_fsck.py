# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of FAT32 that this machine runs: a sound volume passes, each planted fault is told."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import fsck

pytestmark = pytest.mark.board
"""It needs the board's packages, and boots nothing."""

END = b"\xff\xff\xff\x0f"


def table(volume: bytearray) -> tuple[int, int]:
    """Where the first FAT begins, and its bytes."""
    (reserved,), (sectors,) = (
        struct.unpack_from(f, volume, at) for f, at in (("<H", 14), ("<I", 36))
    )
    return 512 * reserved, 512 * sectors


def lost_cluster(volume: bytearray) -> None:
    at, size = table(volume)
    for each in (at, at + size):
        volume[each + 64 : each + 68] = END


def fats_that_differ(volume: bytearray) -> None:
    at, _ = table(volume)
    volume[at + 64 : at + 68] = END


def name_that_leads_nowhere(volume: bytearray) -> None:
    at, size = table(volume)
    entry = b"LOST    TXT" + b" " + bytes(8) + bytes(2) + bytes(4) + struct.pack("<HI", 9, 900)
    volume[at + 2 * size : at + 2 * size + 32] = entry


@pytest.fixture
def volume(board: QemuBoard, tmp_path: Path) -> bytearray:
    (tmp_path / "v").write_bytes(bytes(8 << 20))
    words = ["mkfs.fat", "-F", "32", "-s", "1", "--mbr=n", "/in/v"]
    board.machine.kit.kernel.root.checked(words, {"/in": tmp_path})
    return bytearray((tmp_path / "v").read_bytes())


def test_a_sound_volume_passes_though_a_mount_of_it_was_cut(
    board: QemuBoard, volume: bytearray
) -> None:
    root = board.machine.kit.kernel.root
    assert fsck.check_fat_volume(bytes(volume), root) == ""
    volume[fsck.STATE_AT] |= fsck.DIRTY
    assert fsck.check_fat_volume(bytes(volume), root) == ""


@pytest.mark.parametrize(
    ("plant", "says"),
    [
        (lost_cluster, "Reclaimed 1 unused cluster"),
        (fats_that_differ, "FATs differ"),
        (name_that_leads_nowhere, "LOST.TXT"),
    ],
)
def test_what_is_planted_is_told(
    board: QemuBoard, volume: bytearray, plant: Callable[[bytearray], None], says: str
) -> None:
    plant(volume)
    assert says in fsck.check_fat_volume(bytes(volume), board.machine.kit.kernel.root)
