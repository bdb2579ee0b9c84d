# SPDX-License-Identifier: GPL-2.0-or-later
"""Does a run again: the same trials on the board that it names, each of them anew.

The run's head has all that this takes. Its study gives the trials, its board's identity the board's
model and packages. The programs and modules of nandlab are this checkout's: where they are not the
run's, it is told which, for they may be the cause of a difference. Refused is only what cannot run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nandlab.analysis.differences import setupdiff
from nandlab.analysis.differences.baselines import Baseline
from nandlab.analysis.differences.compare import Difference
from nandlab.base.checkout import DIRTY, find_commit
from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.paths import RESULTS
from nandlab.base.strings import Line
from nandlab.board.jobs.job import Board
from nandlab.board.kit.partsource import SourceRequest, make_source_requests
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel
from nandlab.catalog.part import PACKAGE, PartSource
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Run
from nandlab.trial import runner
from nandlab.trial.runplan import RunPlan, find_run_package_lock, restore_run_plan

MARK_FILE = "reproduced.json"
"""Holds a :class:`ReproducedRun`."""
OWN_CORE, OWN_SOURCES = "yaffs2_core", "sources"
"""Keys of the board's identity that tell YAFFS2's core, and parts of another source."""


class ReproducedRun(StrictModel):
    """The mark of a folder of trials that were all run anew: which run they are to repeat."""

    format: Literal[1]
    run: Line


@dataclass(frozen=True, kw_only=True)
class Reproduction(RunPlan):
    """A run that is to be done again, as far as it is known before there is a board."""

    baseline: Baseline
    specs_to_run: list[TrialSpec]
    """Those to be run."""

    def find_package_sources(self) -> dict[str, SourceRequest]:
        """Parts that the run had built from locked packages, without patches: from there again.

        Folders and patches are not taken from a run: whoever reproduces it names them.
        """
        told = self.baseline.head.provenance.get(OWN_SOURCES)
        sources = {}
        for name, source in told.items() if isinstance(told, dict) else ():
            named = source if isinstance(source, dict) else {}
            if named.get("tree") == PACKAGE and not named.get("patches"):
                options = named.get("options")
                known = options if isinstance(options, dict) else {}
                sources[name] = validate_data(
                    {**known, "tree": PACKAGE, "patch": []},
                    PartSource,
                    f"{self.baseline.path}: provenance.{OWN_SOURCES}",
                )
        return make_source_requests(sources, None, str(self.baseline.path))


def plan_reproduction(before: Baseline, only: Sequence[str] = ()) -> Reproduction:
    """The trials to run and the board they need; UsageError if they are not to be had here.

    only: ids of trials; empty: all that the run has finished.
    """
    path = before.path
    find_run_package_lock(before.head, path)
    if not before.keys:
        raise UsageError(f"{path}: no trial of this run is finished")
    for trial_id in only or before.keys:
        if trial_id not in before.keys:
            there = ", ".join(list(before.keys)[:3])
            raise UsageError(f"{path}: no finished trial {trial_id!r}; there are: {there}, ...")
    todo = restore_run_plan(before.head, path, before.nouns())
    wanted = [spec for spec in todo.specs if spec.id in (only or before.keys)]
    lost = set(only or before.keys) - {spec.id for spec in wanted}
    if lost:
        raise UsageError(_format_refusal(before, f"it gives no trial {min(lost)}"))
    return Reproduction(**vars(todo), baseline=before, specs_to_run=wanted)


def _format_refusal(before: Baseline, why: str) -> str:
    """A sentence for a run that cannot be done again with what is here."""
    here = "catalog, images or code here are not the run's"
    return f"{before.path}: {here}: {why}; {format_checkout_advice(before.head)}"


def format_checkout_advice(head: Run) -> str:
    """What to check out."""
    if head.commit is None:
        return "the run does not tell its commit"
    clean = head.commit.removesuffix(DIRTY)
    changed = ", to which the run's checkout had changes" if clean != head.commit else ""
    return f"check out the run's commit, {clean}{changed}"


def list_differing_board_parts(todo: Reproduction, board: Board) -> list[Difference]:
    """Where the board's identity is not the run's, such as ``board.parts.simnand.ko``."""
    return setupdiff.compare_board_identities(
        todo.baseline.head.provenance, _pass_through_json(board.identity)
    )


def list_reproduction_notes(todo: Reproduction, board: Board) -> Iterator[str]:
    """What is not the run's own: parts of the board, or else what the trials give it."""
    head = todo.baseline.head
    parts = list_differing_board_parts(todo, board)
    if parts:
        yield from (f"not the run's: {line}" for line in setupdiff.format_board_differences(parts))
        if any(part.path.split(".")[1] == OWN_CORE for part in parts):
            yield "name the sources of the run's YAFFS2 core with --source yaffs2=FOLDER"
        if any(part.path.split(".")[1] == OWN_SOURCES for part in parts):
            yield "name the sources of the run's parts with --source, and its patches with --patch"
    else:
        differing_count = sum(
            runner.hash_trial(s, board) != todo.baseline.keys[s.id] for s in todo.specs_to_run
        )
        if not differing_count:
            return
        yield (
            f"steps, programs or files of {differing_count} of {len(todo.specs_to_run)} trials "
            "are not the run's"
        )
    yield (
        f"for the run's own, {format_checkout_advice(head)}; this is "
        f"{find_commit() or 'no checkout'}"
    )


def _pass_through_json(identity: dict[str, Any]) -> Any:
    """An identity as a run's head has it when it is read."""
    return json.loads(json.dumps(identity))


def open_reproduction_folder(todo: Reproduction, board: Board, out: Path | None) -> RunFolder:
    """The folder of the trials that are run anew; ``out`` overrides results/reproduced/...

    UsageError for a folder that has other trials: taken for new ones, they would be compared with
    themselves.
    """
    head = runner.make_run_head(todo.study, todo.specs, board)
    path = out or RESULTS / "reproduced" / head.study / head.id
    if path.resolve() == todo.baseline.path.resolve():
        raise UsageError(f"{path}: this is the run itself; give another --out")
    mark = path / MARK_FILE
    if (path / "run.json").exists() and not mark.exists():
        raise UsageError(f"{path} holds a run of `nandlab run`; give another --out")
    if not mark.exists():
        path.mkdir(parents=True, exist_ok=True)
        write_whole_file(mark, _format_mark(todo.baseline.head.id))
    return RunFolder.create(path, head)


def _format_mark(run: str) -> bytes:
    return json.dumps(ReproducedRun(format=1, run=run).model_dump(mode="json")).encode()
