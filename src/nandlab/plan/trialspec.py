# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a trial is, and its id, which depends on that and on nothing else."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.base.digest import digest
from nandlab.catalog.noun import Scalar
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.matrix import Member, StateChoice
from nandlab.plan.medium import Medium
from nandlab.plan.start import Start

Measure = Literal["memory", "cpu"]
"""memory: the RAM that the file system's modules hold when mounted, at the peak, at the end.
cpu: how long the processor idled in the load."""


class TrialSpec(Medium):
    """All that a trial is. Two trials with equal specs are the same trial."""

    workload: WorkloadModel
    parameters: dict[str, Scalar]
    image: Start | None = None
    state: StateChoice
    phase_offset_ms: float
    measure: list[Measure] = Field(default=[])

    @property
    def member(self) -> Member:
        return self.seed, self.phase_offset_ms

    @property
    def aged(self) -> bool:
        """Whether the flash is to hold data before the workload."""
        return bool(self.state.valid or self.state.invalid)

    def configuration(self) -> str:
        """An id that the members of one ensemble share, and no other trial has."""
        return self.model_copy(update={"seed": 0, "phase_offset_ms": 0.0}).id

    @property
    def id(self) -> str:
        """A stable id: it depends on what the study names, not on wording or built artefacts."""
        key = [
            self.board.name,
            self.workload.name,
            self.parameters,
            self.filesystem.name,
            self.filesystem.identity(self.options),
            self.chip.name,
            self.partition_blocks,
            self.state.model_dump(),
            self.seed,
            self.phase_offset_ms,
            *self.faults.parameters(self.seed).items(),
            *([["latency", self.latency]] if self.latency != "typical" else []),
            *([["image", self.image.sha256]] if self.image else []),
            *([["measure", self.measure]] if self.measure else []),
        ]
        return f"{self.filesystem.name}-{self.state.name}-{digest(key)[:10]}"

    def title(self) -> str:
        """What sets this trial apart from others of its study, in words, for people."""
        options = [f"{k}={v}" for k, v in self.filesystem.changed(self.options).items()]
        words = [self.workload.name, self.filesystem.title, *options]
        words += [f"from {self.image.name}"] if self.image else []
        words += [self.state.name]
        words += ["maximum latencies"] if self.latency == "maximum" else []
        words += [f"seed {self.seed}", f"+{self.phase_offset_ms:g} ms"]
        return " ".join(words)
