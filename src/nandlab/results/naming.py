# SPDX-License-Identifier: GPL-2.0-or-later
"""How commands name a run and its study, so that a suggested command can be pasted."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.paths import STUDIES


@dataclass(frozen=True)
class Naming:
    """Words of a command line, quoted for a shell."""

    run: str
    """The run's folder, or the published study."""
    study: str
    """The study's file, or its name if nandlab ships it."""
    published: bool = False
    """Whether it is a figures file, beside which nothing can be run."""

    @property
    def study_file(self) -> str:
        """The name of the study's file, which edits are of."""
        name = Path(shlex.split(self.study)[0]).name
        return name if name.endswith(".toml") else f"{name}.toml"

    def format_study_edit(self, place: str, edit: str) -> str:
        """An edit of the study, with its file and its place there; empty place: the top."""
        return f"in {self.study_file}{f', {place}' if place else ''}: {edit}"

    @property
    def faults_command(self) -> str:
        """The command that lets the chip of the run's file systems fail."""
        return f"nandlab faults {self.run}"

    @property
    def run_command(self) -> str:
        """The command that runs what the run lacks."""
        return f"nandlab run {self.study}{'' if self.published else f' --out {self.run}'}"

    @property
    def power_cut_command(self) -> str:
        """The command that cuts the power of the run's file systems."""
        return (
            f"{self.run_command} --powercut" if self.published else f"nandlab powercut {self.run}"
        )


def find_folder_of_study(study: str, run: Path) -> Path | None:
    """The folder that has a run's study, among those where it may be; None: none has."""
    near = (run.parent, Path(), STUDIES)
    return next((folder for folder in near if (folder / f"{study}.toml").is_file()), None)


def make_run_folder_naming(study: str, run: Path) -> Naming:
    """Of a run's folder."""
    folder = find_folder_of_study(study, run)
    named = study if folder == STUDIES else f"{(folder or Path()) / study}.toml"
    return Naming(shlex.quote(str(run)), shlex.quote(named))


def make_figures_file_naming(study: str) -> Naming:
    """Of a figures file."""
    return Naming(shlex.quote(study), shlex.quote(study), published=True)
