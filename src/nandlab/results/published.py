# SPDX-License-Identifier: GPL-2.0-or-later
"""A figures file: what a published study ships of a run, so that anybody can run it again.

It has the run's head, with its study and its board, and for each trial the figures that a reader
checks by hand. A hash covers all else of the trial: counts per block, series, the kernel's log. The
file is JSON with one line a trial, so that a diff of two versions names trials; it may be packed as
xz, an eighth as large. The same run gives the same bytes. A trial that failed has no figures: the
file tells how it failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import FailFast, Field, ValidationError, model_validator

from nandlab.base import packed
from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole
from nandlab.base.gate import read_packed_json, refuse_unreadable
from nandlab.base.strings import Digest, FileName, FreeText, Line, Sha256
from nandlab.catalog.mistakes import mistakes
from nandlab.catalog.noun import Strict
from nandlab.results.measures import Count, Counts, EraseSpread, Latency, Phase
from nandlab.results.record import Run, Trial

KIND: Literal["nandlab figures"] = "nandlab figures"
FORMAT: Literal[1] = 1


class StepFigures(Strict):
    """A step of a trial without its command, which the trial's key covers."""

    name: Line
    ns: Count
    chip: Counts | None = None
    blocks_erased: Count | None = None


class TrialFigures(Strict):
    """The figures of a trial that ended well; fields have the names that the trial has."""

    id: FileName
    key: Digest = Field(description="the hash of all that the trial is")
    status: Literal["ok"]
    available: Count | None = Field(
        default=None, description="bytes of RAM as the job began; null: not known"
    )
    steps: list[StepFigures] = Field(default=[])
    phases: list[Phase] = Field(default=[])
    operations: dict[Line, Count] = Field(default={})
    bytes: dict[Line, Count] = Field(default={})
    latency_ns: dict[Line, Latency | None] = Field(default={})
    figures: dict[Line, int | float] = Field(default={})
    measured: dict[Line, dict[Line, int | float]] = Field(default={})
    erases_per_block: EraseSpread | None = None
    sha256: Sha256 = Field(description="of all that the trial measured and told, figures included")


class FailedTrial(Strict):
    """A trial of the run that did not end well, told in place of its figures."""

    id: FileName
    key: Digest = Field(description="the hash of all that the trial is")
    status: Literal["trial_failed", "not_measured", "board_lost"]
    error: FreeText | None = Field(description="the reason, as the trial tells it")


FIGURES = tuple(name for name in TrialFigures.model_fields if name not in ("key", "sha256"))
"""The fields that are compared one by one."""


def figures_of(trial: Trial) -> dict[str, Any]:
    """The figures of a trial, however it ended, by the names of :data:`FIGURES`."""
    later = {"command", "register_hits", "usage"}
    return trial.model_dump(include=set(FIGURES), exclude={"steps": {"__all__": later}})


class Published(Strict):
    """A figures file."""

    kind: Literal["nandlab figures"] = KIND
    format: Literal[1] = FORMAT
    run: Run
    trials: Annotated[list[TrialFigures], FailFast()] = Field(min_length=1)
    failed: Annotated[list[FailedTrial], FailFast()] = Field(
        default=[], description="no line of it, if none failed"
    )

    @model_validator(mode="after")
    def _trials_are_the_runs(self) -> Published:
        """Each list has trials of the run in their order, and no trial is in both."""
        listed = [trial.id for trial in self.trials], [trial.id for trial in self.failed]
        in_order = all(ids == [i for i in self.run.trials if i in ids] for ids in listed)
        if not in_order or set(listed[0]) & set(listed[1]):
            raise ValueError("its trials are not those of its run, each once and in their order")
        return self

    def text(self) -> str:
        """The file: the head with a line for each value, then a line for each trial."""
        start = f'"kind":"{self.kind}","format":{self.format}'
        run = self.run.model_dump_json(indent=1)
        parts = [start, f'"run":{run}', _lines("trials", self.trials)]
        if self.failed:
            parts.append(_lines("failed", self.failed))
        return "{" + ",\n".join(parts) + "}\n"


def _lines(name: str, trials: Sequence[Strict]) -> str:
    """A list of the file with a line for each trial."""
    return (
        f'"{name}":[\n'
        + ",\n".join(t.model_dump_json(exclude_defaults=True) for t in trials)
        + "\n]"
    )


def write(path: Path, published: Published) -> None:
    """Writes a figures file whole, packed if its name ends in .xz.

    UsageError where its folder cannot be written, or the file would be too large to be read.
    """
    content = published.text().encode()
    refuse_unreadable(path, content)
    try:
        write_whole(path, packed.pack(content) if path.suffix == packed.SUFFIX else content)
    except OSError as e:
        raise UsageError(f"{path}: cannot be written: {e.strerror}") from None


def read(path: Path) -> Published:
    """Reads a figures file, plain or packed; UsageError, in a line, if it is none or damaged."""
    told = read_packed_json(path)
    if not isinstance(told, dict) or told.get("kind") != KIND:
        raise UsageError(f"{path}: not a figures file of nandlab; `nandlab publish` writes them")
    if told.get("format") != FORMAT:
        raise UsageError(
            f"{path}: figures of format {told.get('format')!r}; this nandlab reads format {FORMAT}"
        )
    try:
        return Published.model_validate(told)
    except ValidationError as e:
        raise UsageError(f"{path}: {mistakes(e, Published, told)[0]}") from None
