# SPDX-License-Identifier: GPL-2.0-or-later
"""A step of a workload that is a list of steps, and what is wrong with such a list."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from nandlab.catalog.noun import Strict
from nandlab.catalog.words import NAME

Do = Literal[
    "run", "mount", "unmount", "remount", "drop", "sync", "rest", "fill", "save", "cut"
]  # fmt: skip
TIMED: tuple[Do, ...] = ("run", "mount", "unmount", "remount", "sync")
"""Steps that count unless their file says otherwise; the others prepare."""
AWAY: tuple[Do, ...] = ("unmount", "cut")
"""Steps that leave the file system not mounted."""
OF_A_TRIAL = ("counters", "fill", "format", "load", "modules", "settle", "workload")
"""Steps of a trial that are not a workload's; one of a list may be called as what it does."""


class StepWords(Strict):
    """A step of a workload that is a list of steps; each is a phase."""

    do: Do = Field(
        description="run a command; mount, unmount, remount the file system; drop the caches; "
        "sync; rest until the chip is quiet; fill the flash to the state that is asked for; save "
        "the chip; cut the power"
    )
    name: str = Field(
        default="", pattern=r"^$|" + NAME, description="its phase; empty: what it does"
    )
    title: str = Field(default="", description="as tables show it; empty: its name")
    command: str = Field(
        default="", description="of run: the command, a template, in the job's folder"
    )
    options: str = Field(
        default="", description="of remount: what follows mount -o remount, such as ro"
    )
    tells: bool = Field(
        default=False, description="of run: its last line reports phases and figures of its own"
    )
    timed: bool | None = Field(
        default=None,
        description="whether totals include it; absent: those that run, sync, mount or unmount",
    )
    may_fail: bool = Field(default=False, description="whether the trial goes on if it fails")
    always: bool = Field(default=False, description="whether it runs after a failure too")

    @property
    def phase(self) -> str:
        """Its phase's name."""
        return self.name or self.do

    @property
    def counts(self) -> bool:
        """Whether totals include it."""
        return self.do in TIMED if self.timed is None else self.timed

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> StepWords:
        if (self.do == "run") != bool(self.command):
            raise ValueError("a command belongs to do = run, which needs one")
        if self.tells and self.do != "run":
            raise ValueError("tells is of do = run")
        if (self.do == "remount") != bool(self.options):
            raise ValueError("options belong to do = remount, which needs them: ro, rw, ...")
        return self


def valid(given: list[Any]) -> list[StepWords]:
    """The valid steps; the model's own check reports what is wrong with the others."""
    found = []
    for step in given:
        try:
            found.append(StepWords.model_validate(step))
        except ValidationError:
            continue
    return found


def mistake(steps: list[StepWords]) -> str | None:
    """What is wrong with a list of valid steps, or None."""
    names = [step.phase for step in steps]
    own = [s.phase for s in steps if s.phase in OF_A_TRIAL and s.phase != s.do]
    if own:
        return f"a trial has a step {own[0]} of its own: give yours another name"
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"steps of one name: {', '.join(twice)}; give each a name"
    if sum(step.do == "save" for step in steps) > 1:
        return "a list saves the chip once at most: the board keeps one image for it"
    return _mount_mistake(steps)


def _mount_mistake(steps: list[StepWords]) -> str | None:
    """What is wrong with the first step that needs the file system mounted, or not, and finds the
    opposite."""
    mounted = False
    for step in steps:
        if step.do == "mount" and mounted:
            return f"step {step.phase}: it is mounted already"
        if step.do in ("unmount", "remount", "run", "cut") and not mounted:
            return f"step {step.phase}: it is not mounted then; a mount must come before"
        mounted = step.do == "mount" or (mounted and step.do not in AWAY)
    return None
