# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on a user's own board: its partition takes the place of every simulated chip.

File systems that the board or the partition cannot have are left out, each with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load_noun, use_project_beside_study
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.matrix import ChipChoice, FilesystemChoice, FurtherMatrix, Matrix
from nandlab.plan.study import Study

M = TypeVar("M", Matrix, FurtherMatrix)


def load_study_filesystems(study: Study) -> dict[str, FilesystemModel]:
    """The file systems that a study names, by name."""
    parts = [study.matrix.filesystems, *(b.filesystems or [] for b in study.beside)]
    with use_project_beside_study(study._folder):
        return {c.name: load_noun("filesystems", c.name, FilesystemModel) for p in parts for c in p}


def fit_study_to_partition(
    study: Study, board: str, chip: ChipModel, size: int, lacking: Mapping[str, str]
) -> tuple[Study, list[str]]:
    """The study on a partition of ``size`` bytes of a board's chip, and what is left out, and why.

    lacking: why the board cannot have a file system, by its name. UsageError if none is left.
    """
    place = ChipChoice(part=chip.name, partition_mib=size / MIB)
    systems, left_out = load_study_filesystems(study), dict[str, str]()

    def find_hindrance(choice: FilesystemChoice) -> str | None:
        if choice.image is not None or choice.tree is not None:
            return "it begins from an image"
        if choice.name in lacking:
            return lacking[choice.name]
        system = systems[choice.name]
        options = system.resolve_values(choice.choices(), study.name)
        figures = chip.figures(size // chip.geometry.erasesize)
        return next(iter(system.list_hindrances(options, figures, without_reserve=True)), None)

    def fit_filesystems(choices: Sequence[FilesystemChoice]) -> list[FilesystemChoice]:
        reasons = [(choice, find_hindrance(choice)) for choice in choices]
        left_out.update({choice.name: why for choice, why in reasons if why})
        return [choice.model_copy(update={"on": []}) for choice, why in reasons if not why]

    def fit_part(part: M) -> M:
        changed: dict[str, object] = {}
        if part.chips is not None:
            changed["chips"] = [place]
        if part.filesystems is not None:
            changed["filesystems"] = fit_filesystems(part.filesystems)
        return part.model_copy(update=changed)

    matrix, other_parts = fit_part(study.matrix), [fit_part(b) for b in study.beside]
    left_out_lines = [f"{name}: {why}" for name, why in left_out.items()]
    if not matrix.filesystems:
        raise UsageError(
            f"{study.name}: no file system of it can be there: {'; '.join(left_out_lines)}"
        )
    other_parts = [b for b in other_parts if b.filesystems != []]
    fields = {"board": board, "matrix": matrix, "beside": other_parts, "product": None}
    changed_study = study.model_copy(update=fields)
    changed_study._folder = study._folder
    return changed_study, left_out_lines
