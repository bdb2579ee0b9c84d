# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of ``--progress json``: an object for each event."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel


class RunBegins(StrictModel):
    """The run begins."""

    event: Literal["run_begins"] = "run_begins"
    todo: int
    done: int = Field(description="trials with a result from before")
    left_s: float | None


class TrialBegins(StrictModel):
    """A trial begins."""

    event: Literal["trial_begins"] = "trial_begins"
    trial: Line
    title: FreeText = Field(
        description="what sets it apart, in words: load, file system, chip, state"
    )


class StepBegins(StrictModel):
    """A step of a trial begins."""

    event: Literal["step_begins"] = "step_begins"
    trial: Line
    step: Line


class TrialEnds(StrictModel):
    """A trial has its result."""

    event: Literal["trial_ends"] = "trial_ends"
    trial: Line
    status: Literal["ok", "trial_failed", "not_measured", "board_lost"]
    error: FreeText | None
    left_s: float | None


Event = Annotated[RunBegins | TrialBegins | StepBegins | TrialEnds, Field(discriminator="event")]
