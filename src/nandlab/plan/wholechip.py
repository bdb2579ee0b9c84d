# SPDX-License-Identifier: GPL-2.0-or-later
"""What takes a chip as one partition from block 0, and so cannot be beside other partitions."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.plan.trialspec import TrialSpec

WHOLE_CHIP_MEASURES = ("space", "reads", "restart", "wear")
"""Instruments that read the chip as one partition from block 0."""
WHOLE_CHIP_STEPS = ("save", "cut")


def check_trial_beside_partitions(spec: TrialSpec) -> Iterator[str]:
    """What a trial on one of several partitions cannot have, each in a sentence."""
    if spec.layout is None:
        return
    if spec.is_own_board:
        yield "partitions: a real board has its own: leave them out"
    if spec.image is not None:
        yield "partitions: a trial that begins from an image has one partition, from block 0"
    if spec.spinand is not None:
        yield "partitions: by spinand a chip has one partition"
    if asked := sorted(set(WHOLE_CHIP_MEASURES) & set(spec.measure)):
        yield f"partitions: {', '.join(asked)}: measured on a chip of one partition"
    for step in (s for s in spec.workload.steps if s.do in WHOLE_CHIP_STEPS):
        yield f"partitions: {spec.workload.name}: step {step.phase}: {step.do}: on one partition"
