# SPDX-License-Identifier: GPL-2.0-or-later
"""A small trial of a file system on the very board that the tests run on."""

from __future__ import annotations

from typing import TypeVar

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Board
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.matrix import ChipChoice, FilesystemChoice, Matrix, StateChoice, WorkloadChoice
from nandlab.plan.mediaboard import refuse_absent_parts
from nandlab.plan.medium import Medium
from nandlab.plan.study import Study, plan_trials
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.runner import refuse_unsupported_kernel

M = TypeVar("M", bound=Medium)
WRITABLE = [
    n
    for n in list_noun_names("filesystems")
    if not load_noun("filesystems", n, FilesystemModel).read_only
]
"""File systems of the catalog that a trial can make."""
CHIP = ChipChoice(part="nandsim-small", partition_mib=8)
"""Small pages: what all four can live on."""


def planned(board: QemuBoard, name: str, chip: ChipChoice = CHIP, **options: str) -> TrialSpec:
    """FFSMark on a fresh chip; the kernel may lack what it needs."""
    words = {"name": "ffsmark", "files": 20, "transactions": 200}
    matrix = Matrix(
        workloads=[WorkloadChoice.model_validate(words)],
        filesystems=[FilesystemChoice.model_validate({"name": name, **options})],
        chips=[chip],
        states=[StateChoice(name="fresh")],
        seeds=[1],
    )
    (made,) = plan_trials(
        Study(name="t", question="?", board=board.machine.model.name, matrix=matrix)
    )
    return made


def medium(board: QemuBoard, name: str, on: ChipChoice = CHIP, **options: str) -> Medium:
    """A file system on the chip of these trials, as an image of it is made."""
    system, chip = (
        load_noun("filesystems", name, FilesystemModel),
        load_noun("chips", on.part, ChipModel),
    )
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=chip.partition_blocks(on.partition_mib),
        filesystem=system,
        options=system.resolve_values(options, "here", from_image=True),
    )


def find_refusal(made: Medium, board: Board) -> str:
    """Nandlab's reason where the board lacks what a trial needs; empty: it has all."""
    try:
        refuse_unsupported_kernel([made], board.kernel_config, "here")
        refuse_absent_parts([made], board.identity.get("sources", {}))
    except UsageError as refused:
        return str(refused)
    return ""


def skip_where_refused(made: M, board: Board) -> M:
    """What is given; skips the test, with nandlab's reason, where the kernel lacks something."""
    if reason := find_refusal(made, board):
        pytest.skip(reason)
    return made


def spec(board: QemuBoard, name: str, chip: ChipChoice = CHIP, **options: str) -> TrialSpec:
    """A trial as planned; skips the test where nandlab refuses it before anything runs."""
    return skip_where_refused(planned(board, name, chip, **options), board)
