# SPDX-License-Identifier: GPL-2.0-or-later
"""The RAM that a board is given so that as much is available as its file says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import BoardLost
from nandlab.board.virtual.ram import OUT_OF_MEMORY, SHARE_MIB, find_ram_kib, make_boot_error
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun, validate_data

MIB = 1 << 20
LATER = "bookworm-backports"
"""A release whose kernel boots in less RAM."""


def board(of: str = "apf27", /, **ram: int | str) -> BoardModel:
    told = load_noun("boards", of, BoardModel).model_dump()
    return validate_data(told | {"ram_mib": None} | ram, BoardModel, "here")


def keeping(share: Callable[[int], int], boots: list[int]) -> Callable[[int], int]:
    def available(kib: int) -> int:
        boots.append(kib)
        return kib * 1024 - share(kib)

    return available


@pytest.mark.parametrize("asked", [16, 48, 119, 567, 2048])
@pytest.mark.parametrize("percent", [0, 5])
def test_what_is_available_is_what_is_asked_for(asked: int, percent: int) -> None:
    boots: list[int] = []
    available = keeping(lambda kib: 70 * MIB + kib * 1024 * percent // 100, boots)
    kib = find_ram_kib(board(available_mib=asked, release=LATER), available)
    assert kib % 256 == 0
    assert abs(available(kib) - asked * MIB) <= max(asked * MIB / 100, 128 << 10)
    assert boots[0] == (asked + SHARE_MIB) * 1024
    assert len(boots) <= 5


def test_where_the_kernel_steps_over_it_the_nearest_is_taken() -> None:
    """As Linux 6.12 does: a step of 256 KiB in its RAM is one of 744 KiB in what is available."""
    told = {95232: 29491200, 83968: 18096128, 83712: 17334272, 84224: 18313216}
    assert find_ram_kib(board(available_mib=17), told.__getitem__) == 83968


def test_more_than_the_board_s_memory_has_room_for_is_refused() -> None:
    with pytest.raises(UsageError, match="192 MiB of RAM leave less"):
        find_ram_kib(board(available_mib=48), lambda kib: 0)


def test_a_board_has_one_measure_of_its_ram() -> None:
    for ram in ({}, {"ram_mib": 128, "available_mib": 48}):
        with pytest.raises(UsageError, match="either ram_mib or available_mib"):
            board(**ram)


def test_a_board_that_cannot_boot_is_refused_as_it_is_read() -> None:
    for ram, least in (({"ram_mib": 87}, 88), ({"available_mib": 16}, 17)):
        with pytest.raises(UsageError, match=f"boots with less than {least}; raise"):
            board(**ram)
        assert board(**ram, cmdline="cryptomgr.notests")
    for ram, least in (({"ram_mib": 56}, 57), ({"available_mib": 26}, 27)):
        with pytest.raises(UsageError, match=f"{least}$"):
            board("apf27-arm", **ram, cmdline="cryptomgr.notests")
        assert board("apf27-arm", **dict.fromkeys(ram, least))
    with pytest.raises(UsageError, match="for amd64 boots with less than 74"):
        board(ram_mib=73, cmdline="cryptomgr.notests")


def test_what_is_too_little_is_told_with_what_to_do() -> None:
    short = BoardLost(OUT_OF_MEMORY, [])
    told = make_boot_error(board(ram_mib=84, release=LATER), "84M", short)
    assert isinstance(told, UsageError)
    assert str(told).startswith("board apf27 does not boot in 84M ")
    assert "boots in 96 MiB: raise ram_mib" in str(told)
    assert "raise available_mib, which is 16" in str(
        make_boot_error(board(available_mib=16, release=LATER), "89344K", short)
    )
    other = BoardLost("the board stopped by itself", [])
    assert make_boot_error(board(ram_mib=84, release=LATER), "84M", other) is other
