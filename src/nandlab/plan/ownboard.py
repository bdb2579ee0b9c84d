# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial cannot ask of a user's own board, whose chip is real."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.plan.matrix import Faults
from nandlab.plan.trialspec import TrialSpec

SIMULATED_STEPS = ("age", "cut", "save")
"""Steps that only the simulated chip can do."""
COUNT_MEASURES = ("wear",)
"""What is measured by the chip's counts alone."""


def check_trial_on_own_board(spec: TrialSpec) -> Iterator[str]:
    """Why a trial cannot be on a user's own board, each in a sentence; nothing: it can."""
    if not spec.is_own_board:
        return
    if others := [name for name in spec.measure if name not in COUNT_MEASURES]:
        yield f"measure: {', '.join(others)}: on the virtual board only"
    elif spec.measure and not spec.counted:
        told = "the board's file names no build folder of its kernel (programs.kdir)"
        yield f"measure: {', '.join(spec.measure)}: {told}"
    if spec.faults != Faults():
        yield "faults: a real chip has its own: leave them out"
    if spec.latency != "typical":
        yield f'latency = "{spec.latency}": a real chip has its own: leave it out'
    if spec.spinand is not None:
        yield "spinand: a real chip has its own driver: leave it out"
    if spec.image is not None:
        yield f"{spec.filesystem.name} begins from an image: on the virtual board only"
    for step in (s for s in spec.workload.steps if s.do in SIMULATED_STEPS):
        yield f"{spec.workload.name}: step {step.phase}: {step.do}: on the virtual board only"
