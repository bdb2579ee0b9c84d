# SPDX-License-Identifier: GPL-2.0-or-later
"""A figures file: what a published study ships of a run, so that anybody can run it again.

It has the run's head, with its study and its board. Of each trial it has the figures that a reader
checks by hand, its doubts, and the catalog's entries that it ran with. A hash covers all else of
the trial: counts per block, series, the kernel's log. The file is JSON with one line a trial, so
that a diff of two versions names trials; it may be packed as xz, an eighth as large. The same run
gives the same bytes. A trial that failed has no figures: the file tells how it failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import FailFast, Field, ValidationError, model_validator

from nandlab.base import xzpack
from nandlab.base.errors import UsageError
from nandlab.base.files import write_requested_file
from nandlab.base.gate import read_packed_json, refuse_oversized_packed_json
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.paths import PUBLISHED
from nandlab.base.strings import Digest, FileName, FreeText, FreeValue, Line, Sha256, Word
from nandlab.catalog.files import KeptNouns
from nandlab.catalog.mistakes import list_validation_mistakes
from nandlab.catalog.noun import StrictModel
from nandlab.results import nouns
from nandlab.results.folder import RunFolder, hash_provenance_content
from nandlab.results.record import Run, Trial
from nandlab.results.recordparts import (
    Count,
    Doubt,
    EraseSpread,
    Latency,
    OperationCounts,
    Phase,
    StartImage,
)
from nandlab.results.sources import find_provenance_model

KIND: Literal["nandlab figures"] = "nandlab figures"
FORMAT: Literal[1] = 1
ENDING = ".figures.json.xz"
"""Of the shipped files; before it is the study's name."""
HEAD_SOURCE = "board"
"""What a trial ran with that the run's head has already: its board's identity."""


class StepFigures(StrictModel):
    """A step of a trial without its command, which the trial's key covers."""

    name: Line
    ns: Count
    chip: OperationCounts | None = None
    blocks_erased: Count | None = None


class TrialFigures(StrictModel):
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
    warnings: list[Doubt] = Field(default=[], description="its doubts; older files tell none")
    open_ended: bool = Field(
        default=False, description="the load was stopped before it ended by itself"
    )
    image: StartImage | None = Field(
        default=None, description="what it began from, with its pages; older files tell none"
    )
    register_hits: dict[Line, Count] = Field(
        default={}, description="by step, reads that the chip's page register answered"
    )
    provenance: dict[Word, Digest] = Field(
        default={},
        description="what it ran with, as the file's sources have it, but for its board, which the "
        "run's head has; older files tell none",
    )
    sha256: Sha256 = Field(description="of all that the trial measured and told, figures included")


class FailedTrial(StrictModel):
    """A trial of the run that did not end well, told in place of its figures."""

    id: FileName
    key: Digest = Field(description="the hash of all that the trial is")
    status: Literal["trial_failed", "not_measured", "board_lost"]
    error: FreeText | None = Field(description="the reason, as the trial tells it")


OTHER_FIELDS = ("key", "sha256", "warnings", "open_ended", "image", "register_hits", "provenance")
"""Fields that are no figures."""
FIGURE_FIELDS = tuple(name for name in TrialFigures.model_fields if name not in OTHER_FIELDS)
"""The fields that are compared one by one."""


def select_trial_figures(trial: Trial) -> dict[str, Any]:
    """The figures of a trial, however it ended, by the names of :data:`FIGURE_FIELDS`."""
    later = {"command", "register_hits", "usage"}
    return trial.model_dump(include=set(FIGURE_FIELDS), exclude={"steps": {"__all__": later}})


class FiguresFile(StrictModel):
    """A figures file."""

    kind: Literal["nandlab figures"] = KIND
    format: Literal[1] = FORMAT
    run: Run
    trials: Annotated[list[TrialFigures], FailFast()] = Field(min_length=1)
    failed: Annotated[list[FailedTrial], FailFast()] = Field(
        default=[], description="no line of it, if none failed"
    )
    sources: dict[Digest, dict[Line, FreeValue]] = Field(
        default={}, description="what trials ran with, each content by its hash"
    )

    @model_validator(mode="after")
    def _trials_are_the_runs(self) -> FiguresFile:
        """Each list has trials of the run in their order, and no trial is in both."""
        listed = [trial.id for trial in self.trials], [trial.id for trial in self.failed]
        in_order = all(ids == [i for i in self.run.trials if i in ids] for ids in listed)
        if not in_order or set(listed[0]) & set(listed[1]):
            raise ValueError("its trials are not those of its run, each once and in their order")
        return self

    def find_trial_sources(self, trial: TrialFigures) -> dict[str, dict[str, Any]]:
        """What a trial ran with, but for the run's board; empty in an older file."""
        return {what: self.sources[name] for what, name in trial.provenance.items()}

    def nouns(self) -> KeptNouns:
        """The project's own nouns that the file keeps."""
        return nouns.collect_wanted_nouns(
            nouns.list_run_own_nouns(self.run), map(self.find_trial_sources, self.trials)
        )

    def text(self) -> str:
        """The file: the head with a line for each value, then a line for each trial."""
        start = f'"kind":"{self.kind}","format":{self.format}'
        run = self.run.model_dump_json(indent=1)
        parts = [start, f'"run":{run}', _format_trials("trials", self.trials)]
        if self.failed:
            parts.append(_format_trials("failed", self.failed))
        if self.sources:
            parts.append(f'"sources":{_format_sources(self.sources)}')
        return "{" + ",\n".join(parts) + "}\n"


def _format_trials(name: str, trials: Sequence[StrictModel]) -> str:
    """A list of the file with a line for each trial."""
    return (
        f'"{name}":[\n'
        + ",\n".join(t.model_dump_json(exclude_defaults=True) for t in trials)
        + "\n]"
    )


def _format_sources(sources: Mapping[str, dict[str, Any]]) -> str:
    """The contents with a line for each, in the order of their hashes."""
    lines = (f'"{name}":{json.dumps(sources[name])}' for name in sorted(sources))
    return "{\n" + ",\n".join(lines) + "\n}"


def select_trial_provenance(trial: Trial, head: Run) -> dict[str, dict[str, Any]]:
    """What a trial ran with, but for the board that the run's head has."""
    every = trial.sources.items()
    return {w: told for w, told in every if w != HEAD_SOURCE or told != head.provenance}


def find_shipped_figures_files() -> dict[str, Path]:
    """The figures files that nandlab brings, by the names of their studies."""
    found = sorted(PUBLISHED.glob(f"*{ENDING}"))
    return {path.name.removesuffix(ENDING): path for path in found}


def find_results_path(run: Path) -> Path:
    """A run's folder or a figures file as it is named: by its path, or a shipped one by its study.

    UsageError if there is neither. A run of that name goes before a shipped file.
    """
    if run.is_file() or (run / "run.json").exists():
        return run
    shipped_files = find_shipped_figures_files()
    if str(run) in shipped_files:
        return shipped_files[str(run)]
    if run.exists():
        RunFolder(run).head()
    near = suggest_nearest_name(str(run), list(shipped_files))
    studies = ", ".join(shipped_files)
    raise UsageError(
        f"{run}: no run's folder or figures file, nor a published study ({studies}){near}"
    )


def write_figures_file(path: Path, published: FiguresFile) -> None:
    """Writes a figures file whole, packed if its name ends in .xz.

    UsageError where its folder cannot be written, or the file would be too large to be read.
    """
    content = published.text().encode()
    refuse_oversized_packed_json(path, content)
    packed = xzpack.pack_xz(content) if path.suffix == xzpack.SUFFIX else content
    write_requested_file(path, packed)


def read_figures_file(path: Path) -> FiguresFile:
    """Reads a figures file, plain or packed; UsageError, in a line, if it is none or damaged."""
    content = read_packed_json(path)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise UsageError(f"{path}: not a figures file of nandlab; `nandlab publish` writes them")
    if content.get("format") != FORMAT:
        figures_format = content.get("format")
        raise UsageError(
            f"{path}: figures of format {figures_format!r}; this nandlab reads format {FORMAT}"
        )
    try:
        figures_file = FiguresFile.model_validate(content)
    except ValidationError as e:
        first = list_validation_mistakes(e, FiguresFile, content)[0]
        raise UsageError(f"{path}: {first}") from None
    _refuse_other_sources(path, figures_file)
    return figures_file


def _refuse_other_sources(path: Path, figures_file: FiguresFile) -> None:
    """UsageError unless each source is what its name is the hash of, of its kind, and none that a
    trial names lacks. A file that is older than sources has none.
    """
    for name, content in figures_file.sources.items():
        if hash_provenance_content(content) != name:
            raise UsageError(f"{path}: sources: {name}: it is not as it was written")
    sources = {source for t in figures_file.trials for source in t.provenance.items()}
    for kind, name in sorted(sources):
        if name not in figures_file.sources:
            raise UsageError(f"{path}: sources: {name}, a trial's {kind}, is missing")
        content, model = figures_file.sources[name], find_provenance_model(kind)
        try:
            model.model_validate(content)
        except ValidationError as e:
            first = list_validation_mistakes(e, model, content)[0]
            raise UsageError(f"{path}: sources: {name}: {first}") from None
