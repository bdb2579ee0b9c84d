# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests share in which the kernel has no memory for one allocation of a load's calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cutsteps import on

from nandlab.base.paths import ROOT
from nandlab.board.kit.partsource import add_patches
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.powercut import campaign, faults, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import CutPoints

KIND, MOST = "nomem", 4000
BASE = """
mkdir A
create A/x
write A/x 0 9000
load change
"""
CHANGES = "write A/x 3000 2000\nrename A/x A/y\n"
FINDINGS = ROOT / "docs" / "findings"
LOCK_PATCH = FINDINGS / "24-jffs2-summary-lock.diff"
"""Without it JFFS2 hangs at some of the allocations."""
BUILD_S = 1200
"""Of a test that builds a part of a kernel."""


def open_patched_board(*patches: Path) -> QemuBoard:
    """A board with parts of its kernel built anew."""
    sources = add_patches({}, patches, "the test")
    return open_board(load_noun("boards", "apf27", BoardModel), sources=sources)


def try_allocations(
    board: QemuBoard,
    name: str,
    first: int = 0,
    last: int = MOST,
    kind: str = KIND,
    calls: str = CHANGES,
) -> list[LoadReport]:
    """What became of the load, each of these allocations having failed."""
    made = faults.end_fault_loads(loads.parse_loads("calls", BASE + calls), (kind,))
    points = CutPoints(variants=(kind,), first=first, last=last)
    return asyncio.run(campaign.run_piece(Campaign(on(board, name), made, points), points, board))


def find_owner(told: LoadReport, owner: str) -> list[int]:
    """The allocations that were asked for so."""
    return [i for i, note in enumerate(told.notes) if owner in note]
