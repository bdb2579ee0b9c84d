# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of a job: built when it names them, and carried to the board.

A program is a folder of C sources, in ``device/programs`` or in ``programs/`` of a project. A job
has those that its steps list (a workload's file names its programs), and of a step without a list
those that its command names. An interactive shell, whose job has not the room for all, has all but
HANDED, OF_OWN_BOARDS and those that are built from packages of their own (kit/needs.py). The
board's image has none of them. So after a change to one, no board boots anew, and no job changes
that does not name it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.paths import DEVICE
from nandlab.board.jobs.job import BEGIN_MEMBER, Job
from nandlab.board.kit.needs import FILE

FOLDER = "programs"
"""The folder of ``device/``, or of a project, that has a subfolder for each program."""
CARRIER = "ferry"
"""The program that carries the others; it alone is in the board's image."""

HOST_FILE_PROGRAMS = (BEGIN_MEMBER, "cutcheck", "faultcheck", "fiojobs", "replay")
"""Programs that do what a host's file tells them, which a shell does not have."""

OWN_BOARD_PROGRAMS = ("flashprobe", "threadrest")
"""Programs for boards of a user's own."""

NAME = re.compile(r"[\w.-]+")
"""A word of a command that may name a program."""


def find_program_source_folders(home: Path | None) -> dict[str, list[Path]]:
    """Folders of sources by the name of their program, ours and a project's."""
    found: dict[str, list[Path]] = {}
    for folder in [*_find_own_sources(), *(_find_sources_in(home) if home else [])]:
        found.setdefault(folder.name, []).append(folder)
    return found


@cache
def _find_own_sources() -> list[Path]:
    """Ours: a process looks once, for each trial asks."""
    return _find_sources_in(DEVICE)


def _find_sources_in(place: Path) -> list[Path]:
    of_it = [f for pattern in ("*/*.c", f"*/{FILE}") for f in (place / FOLDER).glob(pattern)]
    folders = sorted({file.parent for file in of_it})
    return [folder for folder in folders if folder.name not in ("lib", CARRIER)]


def list_job_words(job: Job) -> set[str] | None:
    """The words of a job's commands and files; None: it is a shell, whose words are yet to come."""
    if not job.steps:
        return None
    text = b"\n".join([*(s.command.encode() for s in job.steps), *job.files.values()])
    return set(NAME.findall(text.decode(errors="replace")))


def find_programs_in_script(script: str, home: Path | None = None) -> tuple[str, ...]:
    """The programs that a line for the shell names, ours and a project's."""
    return tuple(sorted(find_program_source_folders(home).keys() & set(NAME.findall(script))))


def _find_listed_programs(job: Job, available: Mapping[str, object]) -> set[str]:
    """The programs that a job's steps run; UsageError where a list lacks one, or has none such."""
    listed = {BEGIN_MEMBER} if job.setup else set[str]()
    for step in job.steps:
        if step.programs is None:
            listed |= available.keys() & set(NAME.findall(step.command))
            continue
        where = f"step {step.name}"
        for name in step.programs:
            if name not in available:
                raise UsageError(
                    f"{where}: there is no program {name!r}: {', '.join(sorted(available))}"
                    f"{suggest_nearest_name(name, available)}"
                )
        first = next(iter(step.command.split()), "")
        if first in available and first not in step.programs:
            raise UsageError(f"{where} runs {first}: name it in the workload's `programs`")
        listed |= {*step.programs}
    return listed


def find_job_program_folders(job: Job) -> dict[str, Path]:
    """The folders of the programs that a job needs, by name.

    UsageError where a name is of two programs, or can be of none.
    """
    folders_by_name = find_program_source_folders(job.home)
    odd = [name for name in folders_by_name if not NAME.fullmatch(name)]
    if odd:
        raise UsageError(
            f"{folders_by_name[odd[0]][0]}: a program's name has letters, digits and _.- only"
        )
    if not job.steps:
        needing = {
            name for name, folders in folders_by_name.items() if (folders[0] / FILE).exists()
        }
        excluded = {*needing, *HOST_FILE_PROGRAMS, *OWN_BOARD_PROGRAMS}
        folders_by_name = {
            name: folders for name, folders in folders_by_name.items() if name not in excluded
        }
    else:
        listed = _find_listed_programs(job, folders_by_name)
        folders_by_name = {
            name: folders for name, folders in folders_by_name.items() if name in listed
        }
    for name, folders in folders_by_name.items():
        if len(folders) > 1:
            places = " and ".join(map(str, folders))
            raise UsageError(f"two programs are called {name}: {places}; rename yours")
    return {name: folder for name, (folder,) in folders_by_name.items()}


def build_job_programs(job: Job, build: Callable[[Path], Path]) -> dict[str, Path]:
    """The programs that a job needs, by name; ``build`` makes one of its folder of sources.

    UsageError as folders() has.
    """
    return {name: build(folder) for name, folder in find_job_program_folders(job).items()}
