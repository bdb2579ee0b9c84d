# SPDX-License-Identifier: GPL-2.0-or-later
"""Package files by content: the cache has each once, under its SHA-256.

A file that is missing is looked for where NANDLAB_PACKAGES says, then on the machine's own mirror.
Whatever brings it, it is kept only if its SHA-256 is the one that was asked for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

from nandlab.base.cache import held
from nandlab.base.digest import file_digest, stream_digest
from nandlab.base.errors import UsageError
from nandlab.base.files import writing_whole
from nandlab.base.gate import open_regular
from nandlab.base.paths import cache_dir
from nandlab.base.printer import note
from nandlab.kit import boardfile
from nandlab.kit.apt import Apt, NotToBeHad
from nandlab.kit.boardfile import FOLDER
from nandlab.kit.lock import Files
from nandlab.kit.wanted import Wanted

FETCHING = ".fetching-"
"""How the folders begin that apt fetches to."""
VARIABLE = "NANDLAB_PACKAGES"
"""The environment variable that names folders of package files, and board files, as PATH does."""


def place(sha256: str) -> Path:
    """Where the cache has a file, or would have it."""
    return _folder() / sha256


def _folder() -> Path:
    return cache_dir() / "archive"


def missing(files: Files) -> list[str]:
    """The names of those files that the cache does not have whole; damaged ones are removed."""
    return [name for name, sha256 in files.items() if not has(sha256)]


def has(sha256: str) -> bool:
    """Whether the cache has a file; one that is damaged is removed, to be had anew."""
    path = place(sha256)
    if not path.exists():
        return False
    if file_digest(path) == sha256:
        return True
    path.unlink(missing_ok=True)
    return False


def keep(content: IO[bytes], sha256: str, whence: str) -> None:
    """Adds a file to the cache; UsageError if its content is another than its SHA-256 says."""
    _folder().mkdir(parents=True, exist_ok=True)
    with writing_whole(place(sha256)) as out:
        found = hashlib.sha256()
        while block := content.read(1 << 20):
            found.update(block)
            out.write(block)
        if found.hexdigest() != sha256:
            raise UsageError(
                f"{whence}: its SHA-256 is {found.hexdigest()[:12]}…, and {sha256[:12]}… is "
                "locked: the file or the lock was changed or damaged; get them again"
            )


def bring(wanted: Wanted, files: Files) -> None:
    """Brings into the cache what it lacks of a set; NotToBeHad names what is nowhere."""
    for where in named():
        _from_named(where, files)
    with held(_apt_lock()):
        if lacking := missing(files):
            for left in _folder().glob(f"{FETCHING}*"):  # by a run that was killed
                shutil.rmtree(left, ignore_errors=True)
            note(f"fetching {wanted.name}")
            with tempfile.TemporaryDirectory(dir=_folder(), prefix=FETCHING) as scratch:
                _download(wanted, files, lacking, Path(scratch))
                for name in lacking:
                    with (Path(scratch) / name).open("rb") as f:
                        keep(f, files[name], name)


def newest(wanted: Wanted) -> Files:
    """The files of the mirror's newest packages for a set; nothing of them is fetched."""
    with held(_apt_lock()):
        apt = Apt(wanted.suite, wanted.kind)
        apt.update()
        return wanted.resolve(apt)


def _apt_lock() -> Path:
    """Held while apt runs: it does not wait for another apt, and fails."""
    _folder().mkdir(parents=True, exist_ok=True)
    return cache_dir() / "apt.lock"


def _download(wanted: Wanted, files: Files, lacking: list[str], folder: Path) -> None:
    apt = Apt(wanted.suite, wanted.kind)
    apt.update()
    try:
        wanted.download(apt, files, lacking, folder)
    except NotToBeHad as e:
        raise NotToBeHad(f"{wanted.name}: {e}") from None
    for name in lacking:
        if not (folder / name).exists():
            raise NotToBeHad(f"{wanted.name}: the mirror did not give {name}")


def named() -> list[Path]:
    """The folders and board files that the user names; UsageError if one is not there."""
    given = [Path(p) for p in os.environ.get(VARIABLE, "").split(os.pathsep) if p]
    for path in given:
        if not path.exists():
            raise UsageError(f"{VARIABLE}: {path}: no such folder or board file")
    return given


def _from_named(where: Path, files: Files) -> None:
    """Takes what is missing from a folder, by name, or from a board file, by content."""
    lacking = missing(files)
    if not lacking:
        return
    if where.is_dir():
        for path in sorted(p for p in where.rglob("*") if p.name in lacking and p.is_file()):
            with open_regular(path) as f:
                keep(f, files[path.name], str(path))
    else:
        take_in(where, {files[name] for name in lacking})


def take_in(path: Path, only: set[str] | None = None) -> boardfile.Head:
    """Adds a board file's packages to the cache, all that it names or some; tells its head.

    UsageError if it is damaged or lacks one that its lock names; the cache then has none of it.
    """
    with boardfile.opened(path) as reader:
        named = reader.head.contents()
        todo = {s for s in (named if only is None else named & only) if not has(s)}
        seen: set[str] = set()
        added = []
        try:
            for sha256, content in reader.packages():
                whence = f"{path}: {FOLDER}{sha256}"
                if sha256 not in named or sha256 in seen:
                    raise UsageError(f"{whence}: its lock does not name this, or it is there twice")
                if sha256 in todo:
                    keep(content, sha256, whence)
                    added.append(sha256)
                elif only is None and stream_digest(content) != sha256:
                    raise UsageError(f"{whence}: damaged: its SHA-256 is another")
                seen.add(sha256)
            if absent := (named if only is None else todo) - seen:
                raise UsageError(f"{path}: it ends too early: {len(absent)} packages are not in it")
        except BaseException:
            for sha256 in added:
                place(sha256).unlink(missing_ok=True)
            raise
        return reader.head
