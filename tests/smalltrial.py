# SPDX-License-Identifier: GPL-2.0-or-later
"""A small trial of a file system on the very board that the tests run on."""

from __future__ import annotations

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.job import Board
from nandlab.board.qemu import QemuBoard
from nandlab.plan.matrix import ChipChoice, FilesystemChoice, Matrix, StateChoice, WorkloadChoice
from nandlab.plan.study import Study, plan
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.run import refuse_what_the_kernel_lacks

CHIP = ChipChoice(part="nandsim-small", partition_mib=8)
"""Small pages: what all four can live on."""


def planned(board: QemuBoard, name: str, chip: ChipChoice = CHIP, **options: str) -> TrialSpec:
    """FFSMark on a fresh chip; the kernel may lack what it needs."""
    words = {"name": "ffsmark", "files": 20, "transactions": 500}
    matrix = Matrix(
        workloads=[WorkloadChoice.model_validate(words)],
        filesystems=[FilesystemChoice.model_validate({"name": name, **options})],
        chips=[chip],
        states=[StateChoice(name="fresh")],
        seeds=[1],
    )
    (made,) = plan(Study(name="t", question="?", board=board.machine.model.name, matrix=matrix))
    return made


def skip_where_refused(made: TrialSpec, board: Board) -> TrialSpec:
    """The trial; skips the test, with nandlab's reason, where the kernel lacks something."""
    try:
        refuse_what_the_kernel_lacks([made], board.kernel_config, "here")
    except UsageError as refused:
        pytest.skip(str(refused))
    return made


def spec(board: QemuBoard, name: str, chip: ChipChoice = CHIP, **options: str) -> TrialSpec:
    """A trial as planned; skips the test where nandlab refuses it before anything runs."""
    return skip_where_refused(planned(board, name, chip, **options), board)
