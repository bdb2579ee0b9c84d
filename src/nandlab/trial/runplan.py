# SPDX-License-Identifier: GPL-2.0-or-later
"""The trials of a run as its head alone tells them: its study, its board, its packages.

The catalog that the study names is the one of today. It is looked for beside the study, if that is
found, else in the current folder. Chips and workloads of a project's own are those that the run
keeps (results/nouns.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.strings import Accel, does_text_fit_type
from nandlab.board.kit.lock import Lock, validate_package_lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import KeptNouns, use_run_nouns, validate_data
from nandlab.plan import study as studies
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.naming import find_folder_of_study
from nandlab.results.record import Run


@dataclass(frozen=True)
class RunPlan:
    """What a run's head names, as far as it is known before there is a board."""

    study: Study
    specs: list[TrialSpec]
    """Every trial of the study."""
    model: BoardModel
    accel: str
    lock: Lock


def restore_run_plan(head: Run, path: Path, nouns: KeptNouns) -> RunPlan:
    """The trials of the run at ``path``; UsageError if they are none today.

    kept: the run's own nouns.
    """
    lock, model = find_run_package_lock(head, path), parse_run_board_model(head, path)
    with use_run_nouns(nouns):
        study = studies.parse_run_study(
            head.spec, find_run_study_folder(head, path), f"{path}: spec"
        )
        specs = studies.plan_trials(study, f"{path}: spec", model, lock)
    return RunPlan(study, specs, model, head.provenance["accel"], lock)


def find_run_package_lock(head: Run, path: Path) -> Lock:
    """The packages of the run's board, and those that its programs were built from."""
    if "lock" not in head.provenance:
        raise UsageError(
            f"{path}: this run is older than boards' locks: it does not tell which packages its "
            "board was made of; run its study anew"
        )
    told = validate_package_lock(head.provenance["lock"], f"{path}: provenance.lock")
    return {**told, **validate_package_lock(head.packages, f"{path}: packages")}


def parse_run_board_model(head: Run, path: Path) -> BoardModel:
    """The model of the run's board; the catalog's of that name may be another by now."""
    told = head.provenance.get("board")
    if not isinstance(told, dict) or not does_text_fit_type(Accel, head.provenance.get("accel")):
        raise UsageError(f"{path}: its provenance names no board that nandlab can make")
    return validate_data({**told, "summary": ""}, BoardModel, f"{path}: provenance.board")


def find_run_study_folder(head: Run, path: Path) -> Path:
    """Where the study's images and its project's catalog are: beside the study, if it is found."""
    return find_folder_of_study(head.study, path) or Path()
