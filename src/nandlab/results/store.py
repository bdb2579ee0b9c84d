# SPDX-License-Identifier: GPL-2.0-or-later
"""Finished trials, found by what they are. Any run may take one, so no trial is run twice.

A trial's key is the hash of all that it is: the board with its kernel, modules and programs, the
steps and files of its job, its image. Equal keys are equal trials, whatever their studies are
called. Files are linked where they can be: the store outlives the runs and takes no room beside
them. Several processes and machines may share a store in a network's folder. They need no lock: a
file has its name once it is whole, and whatever has one name has the same content. So a store's
files may also be copied into another's.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from nandlab.base.digest import digest_bytes
from nandlab.base.errors import UsageError
from nandlab.base.files import PART, open_whole_file
from nandlab.results.folder import RunFolder, hash_provenance_content, read_trial_file
from nandlab.results.record import Trial
from nandlab.results.seals import DamagedFile, unseal_json

LEFTOVER_AGE_S = 86400
"""How old a part of a file is that nobody writes any more: no clock of a machine is so far off."""


class Store:
    """A folder of finished trials."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tidy(self) -> None:
        """Makes the folder, and removes what killed processes have left there half written."""
        (self.path / "trials").mkdir(parents=True, exist_ok=True)
        oldest = time.time() - LEFTOVER_AGE_S
        for part in self.path.glob(f"*/{PART}*"):
            with contextlib.suppress(FileNotFoundError):
                if part.stat().st_mtime < oldest:
                    part.unlink()

    def _place(self, key: str) -> Path:
        return self.path / "trials" / f"{key}.json"

    def put(self, folder: RunFolder, trial: Trial) -> None:
        """Keeps a trial of a run's folder if it ended well."""
        if not trial.ok or not trial.key:
            return
        for sha256 in trial.provenance.values():
            _link_file(folder.source_path(sha256), self.path / "provenance" / f"{sha256}.json")
        for artefact in trial.artefacts:
            _link_file(
                folder.artefact_path(artefact.sha256), self.path / "artefacts" / artefact.sha256
            )
        _link_file(folder.trial_path(trial.id), self._place(trial.key))

    def get(self, key: str) -> Trial | None:
        """The trial of this key; None if there is none, or if it can no longer be read."""
        path = self._place(key)
        if not path.exists():
            return None
        try:
            trial = read_trial_file(path, self.path / "provenance", {})
            names = [artefact.sha256 for artefact in trial.artefacts]
            artefacts = {n: (self.path / "artefacts" / n).read_bytes() for n in names}
        except (UsageError, OSError):
            return None
        is_whole = all(digest_bytes(content) == name for name, content in artefacts.items())
        return trial.add_contents(artefacts) if is_whole and trial.key == key and trial.ok else None

    def drop_damaged(self) -> Iterator[tuple[Path, str]]:
        """Removes each file that is not as it was written; a run then makes its trial again."""
        kinds: dict[str, Callable[[bytes, str], bool]] = {
            "trials/*.json": lambda content, name: bool(unseal_json(content)),
            "provenance/*.json": lambda content, name: (
                hash_provenance_content(unseal_json(content)) == name
            ),
            "artefacts/*": lambda content, name: digest_bytes(content) == name,
        }
        for pattern, is_whole in kinds.items():
            for path in sorted(self.path.glob(pattern)):
                if path.name.startswith(PART):
                    continue
                try:
                    why = "" if is_whole(path.read_bytes(), path.stem) else "its name is of another"
                except DamagedFile as e:
                    why = str(e)
                if why:
                    path.unlink()
                    yield path, why


def _link_file(source: Path, target: Path) -> None:
    """Links the file under another name; copies it where the two are on different disks.

    What has the name already stays if it is the same, and is replaced if it was damaged.
    """
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{PART}{uuid4().hex}")
    try:
        os.link(source, part)
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        with open_whole_file(target) as out:
            out.write(source.read_bytes())
