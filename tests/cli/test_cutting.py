# SPDX-License-Identifier: GPL-2.0-or-later
"""What `nandlab powercut` and `nandlab faults` refuse before a cut, and tell of a point."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.cli.cutting import _by_host, medium, opened
from nandlab.powercut.job import Points
from nandlab.powercut.second import Verdicts


def test_a_kernel_that_cannot_have_the_file_system_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    media = [
        medium("jffs2", [], "apf27", 8, "apf27-5.10"),
        medium("nftl-fat32", [], "nandsim-small", 4, "apf27-5.10"),
    ]
    config = {"LINUX": "5.10", "CONFIG_NFTL_RW": "y"}
    board: Any = SimpleNamespace(kernel_config=config)
    monkeypatch.setattr("nandlab.board.qemu.open_board", lambda model: board)
    with pytest.raises(UsageError) as told:
        opened(media)
    assert str(told.value) == (
        "--board: NFTL+FAT32 cannot be: the kernel of apf27-5.10 is Linux 5.10, "
        "and it takes 6.1 or newer"
    )
    config["LINUX"] = "6.1.1"
    assert opened(media) is board


@pytest.mark.parametrize("held", [True, False])
def test_the_kernels_errors_are_told_where_a_point_does_not_hold(
    held: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [] if held else [{"class": "check fails", "what": "Invalid argument"}]

    async def tried(campaign: Any, only: Any, board: Any) -> Verdicts:
        return Verdicts(findings, [], "", kernel=("UBIFS error: check_leaf: too long",))

    monkeypatch.setattr("nandlab.powercut.second.tried", tried)
    nothing: Any = None
    assert _by_host(nothing, Points(), nothing) == []
    told = ["host: holds", "kernel: UBIFS error: check_leaf: too long"]
    assert capsys.readouterr().err.splitlines() == told[: 1 if held else 2]


def test_the_host_reads_the_chip_of_the_point_and_not_of_a_cut_of_its_recovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Points] = []

    async def tried(campaign: Any, only: Points, board: Any) -> Verdicts:
        asked.append(only)
        return Verdicts([], [], "")

    monkeypatch.setattr("nandlab.powercut.second.tried", tried)
    nothing: Any = None
    _by_host(nothing, Points(first=5, recovery=True), nothing)
    assert asked == [Points(first=5)]
