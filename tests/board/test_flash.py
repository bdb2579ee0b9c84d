# SPDX-License-Identifier: GPL-2.0-or-later
"""What a board's sysfs tells of a partition."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from nandlab.base.errors import NandlabError
from nandlab.board.own.flash import (
    format_health_losses,
    read_flash_properties,
    read_health_counters,
)
from nandlab.board.own.transport import Reply


@dataclass
class Board:
    """Tells what it is given of the kernel, and of its sysfs."""

    kernel: str
    sysfs: str
    address: str = "a board"

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = 1) -> Reply:
        text = self.kernel if command.startswith("uname") else self.sysfs
        return Reply(0, text.encode())


def board(sysfs: str, kernel: str = "armv7l\nLinux 6.1\nno\nno\n") -> Board:
    return Board(kernel, sysfs)


def test_the_shape_is_told_and_whether_ubi_or_nftl_has_a_device() -> None:
    told = "writesize 2048\noobsize 64\necc_strength 1\necc_step_size\n"
    found = asyncio.run(read_flash_properties(board(told), 1))  # type: ignore[arg-type]
    assert (found.machine, found.kernel, found.has_ubi_device) == ("armv7l", "Linux 6.1", False)
    assert found.shape == {"writesize": 2048, "oobsize": 64, "ecc_strength": 1}
    assert not found.has_other_nftl
    for ubi, nftl in ((True, False), (False, True)):
        answers = "\n".join("yes" if each else "no" for each in (ubi, nftl))
        other = asyncio.run(read_flash_properties(board(told, f"armv7l\nLinux 6.1\n{answers}"), 1))  # type: ignore[arg-type]
        assert (other.has_ubi_device, other.has_other_nftl) == (ubi, nftl)


def test_a_flash_without_a_shape_is_refused() -> None:
    with pytest.raises(NandlabError, match="does not tell the flash's shape"):
        asyncio.run(read_flash_properties(board("writesize 2048\n"), 1))  # type: ignore[arg-type]


def test_what_has_become_worse_is_told() -> None:
    flash = board("bad_blocks 2\ncorrected_bits 7\necc_failures\n")
    then = asyncio.run(read_health_counters(flash, 1))  # type: ignore[arg-type]
    assert then == {"bad_blocks": 2, "corrected_bits": 7}
    now = {"bad_blocks": 3, "corrected_bits": 7, "ecc_failures": 5}
    assert format_health_losses(then, now) == ["1 blocks have become bad"]
    assert format_health_losses(now, now) == format_health_losses(now, then) == []
    (loss,) = format_health_losses({"ecc_failures": 0}, now)
    assert loss.startswith("5 times ECC could not correct")
