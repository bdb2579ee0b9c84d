# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of a job: built when it names them, and carried to the board.

A program is a folder of C sources, in ``target/programs`` or in ``programs/`` of a project. A job
has those that its commands or files name; an interactive shell has all. The board's image has none
of them. So after a change to one, no board boots anew, and no job changes that does not name it.
"""

from __future__ import annotations

import re
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.paths import TARGET
from nandlab.board.build import program
from nandlab.board.job import Job

FOLDER = "programs"
"""The folder of ``target/``, or of a project, that has a subfolder for each program."""
CARRIER = "ferry"
"""The program that carries the others; it alone is in the board's image."""


def sources(home: Path | None) -> dict[str, Path]:
    """Folders of sources by program, ours and a project's; UsageError if two share a name."""
    found: dict[str, Path] = {}
    for place in filter(None, (TARGET, home)):
        for main in sorted((place / FOLDER).glob("*/*.c")):
            folder = main.parent
            if found.setdefault(folder.name, folder) != folder:
                both = f"{found[folder.name]} and {folder}"
                raise UsageError(f"two programs are called {folder.name}: {both}; rename yours")
    return {name: folder for name, folder in found.items() if name not in ("lib", CARRIER)}


def of(job: Job) -> dict[str, Path]:
    """The programs that a job needs, built, by name."""
    known = sources(job.home)
    if not job.steps:
        return {name: program(folder) for name, folder in known.items()}
    said = [step.command.encode() for step in job.steps] + list(job.files.values())
    words = {word for text in said for word in re.findall(rb"[\w.-]+", text)}
    return {name: program(at) for name, at in known.items() if name.encode() in words}
