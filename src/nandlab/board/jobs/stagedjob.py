# SPDX-License-Identifier: GPL-2.0-or-later
"""A job with a setup, as the board gets it: in two pieces, the second after the state is saved.

Init reads a job's steps once, before the first runs. So the first piece has a line for each step:
of the setup, its command; then the step that stops the board; of what follows, a command that runs
a script of the second piece, but for steps that run even after a failure, which may be the setup's.
Jobs whose first pieces are alike reach the same state.
``device/programs/begin-member`` is that step.
"""

from __future__ import annotations

from dataclasses import replace

from nandlab.board.jobs.cpio import Archive
from nandlab.board.jobs.job import BEGIN_MEMBER, FOLDER, Job, Setup, Step
from nandlab.catalog.board import JOB_BYTES, BoardModel
from nandlab.catalog.chip import MIB

SECOND_PIECE_FOLDER = "later"
"""The folder of the second piece's scripts, below the board's root; begin-member has it too."""
SECOND_PIECE_BYTES = 4 * MIB
"""Room for the second piece, at the end of the job's."""
DEADLINE_S = 60


def compute_second_piece_address(model: BoardModel) -> int:
    """Physical address of the second piece."""
    return model.job_start + JOB_BYTES - SECOND_PIECE_BYTES


def make_first_piece_job(job: Job, setup: Setup, model: BoardModel) -> Job:
    """The first piece, as a job; its cargo is the job's."""
    command = f"{BEGIN_MEMBER} {compute_second_piece_address(model):#x} {setup.period_ms}"
    steps = (
        *job.steps[: setup.steps],
        Step(BEGIN_MEMBER, command, DEADLINE_S),
        *(
            step
            if step.always
            else replace(step, command=f". /{SECOND_PIECE_FOLDER}/{i}", may_fail=False)
            for i, step in enumerate(job.steps[setup.steps :])
        ),
    )
    files = {name: job.files[name] for name in sorted(setup.files)}
    return replace(job, steps=steps, files=files, setup=None)


def make_second_piece_archive(job: Job, setup: Setup) -> bytes:
    """The second piece: a cpio archive that begin-member unpacks at the root."""
    cpio = Archive()
    for name in sorted(job.files.keys() - setup.files):
        cpio.file(f"{FOLDER}/{name}", job.files[name], 0o755)
    for i, step in enumerate(job.steps[setup.steps :]):
        if not step.always:
            cpio.file(f"{SECOND_PIECE_FOLDER}/{i}", f"{step.shell()}\n".encode())
    cpio.file(f"{SECOND_PIECE_FOLDER}/start", b"%d\n" % setup.offset_ns)
    return cpio.bytes()
