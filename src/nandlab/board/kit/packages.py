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

from nandlab.base.cache import hold_path_lock
from nandlab.base.digest import digest_file, digest_stream
from nandlab.base.errors import UsageError
from nandlab.base.files import open_whole_file
from nandlab.base.gate import open_regular_file
from nandlab.base.paths import find_cache_folder
from nandlab.base.printer import print_note
from nandlab.board.kit import boardfile
from nandlab.board.kit.apt import Apt, PackagesUnavailable
from nandlab.board.kit.boardfile import FOLDER
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packagesets import SuiteSet

FETCH_PREFIX = ".fetching-"
"""How the folders begin that apt fetches to."""
PACKAGES_VARIABLE = "NANDLAB_PACKAGES"
"""The environment variable that names folders of package files, and board files, as PATH does."""


def make_cached_package_path(sha256: str) -> Path:
    """Where the cache has a file, or would have it."""
    return _archive_folder() / sha256


def _archive_folder() -> Path:
    return find_cache_folder() / "archive"


def list_missing_packages(files: Files) -> list[str]:
    """The names of those files that the cache does not have whole; damaged ones are removed."""
    return [name for name, sha256 in files.items() if not is_package_cached(sha256)]


def is_package_cached(sha256: str) -> bool:
    """Whether the cache has a file; one that is damaged is removed, to be had anew."""
    path = make_cached_package_path(sha256)
    if not path.exists():
        return False
    if digest_file(path) == sha256:
        return True
    path.unlink(missing_ok=True)
    return False


def add_package_to_cache(content: IO[bytes], sha256: str, whence: str) -> None:
    """Adds a file to the cache; UsageError if its content is another than its SHA-256 says."""
    _archive_folder().mkdir(parents=True, exist_ok=True)
    with open_whole_file(make_cached_package_path(sha256)) as out:
        digest = hashlib.sha256()
        while block := content.read(1 << 20):
            digest.update(block)
            out.write(block)
        if digest.hexdigest() != sha256:
            raise UsageError(
                f"{whence}: its SHA-256 is {digest.hexdigest()[:12]}…, and {sha256[:12]}… is "
                "locked: the file or the lock was changed or damaged; get them again"
            )


def copy_cached_packages(files: Files, folder: Path) -> None:
    """Copies files of the cache into a folder, by their names."""
    for file, sha256 in files.items():
        with (
            open_regular_file(make_cached_package_path(sha256)) as source,
            open_whole_file(folder / file) as out,
        ):
            shutil.copyfileobj(source, out)


def fetch_packages(package_set: SuiteSet, files: Files) -> None:
    """Brings into the cache what it lacks of a set; NotToBeHad names what is nowhere."""
    for where in (*list_user_package_sources(), *package_set.places):
        _take_from_source(where, files)
    with hold_path_lock(_apt_lock_path()):
        if lacking := list_missing_packages(files):
            for abandoned in _archive_folder().glob(f"{FETCH_PREFIX}*"):  # by a run that was killed
                shutil.rmtree(abandoned, ignore_errors=True)
            print_note(f"fetching {package_set.name}")
            with tempfile.TemporaryDirectory(dir=_archive_folder(), prefix=FETCH_PREFIX) as scratch:
                _download(package_set, files, lacking, Path(scratch))
                for name in lacking:
                    with (Path(scratch) / name).open("rb") as f:
                        add_package_to_cache(f, files[name], name)


def resolve_newest_packages(package_set: SuiteSet) -> Files:
    """The files of the mirror's newest packages for a set; nothing of them is fetched."""
    with hold_path_lock(_apt_lock_path()):
        apt = Apt(package_set.suite, package_set.kind)
        apt.update()
        return package_set.resolve(apt)


def _apt_lock_path() -> Path:
    """Held while apt runs: it does not wait for another apt, and fails."""
    _archive_folder().mkdir(parents=True, exist_ok=True)
    return find_cache_folder() / "apt.lock"


def _download(package_set: SuiteSet, files: Files, lacking: list[str], folder: Path) -> None:
    apt = Apt(package_set.suite, package_set.kind)
    apt.update()
    try:
        package_set.download(apt, files, lacking, folder)
    except PackagesUnavailable as e:
        raise PackagesUnavailable(f"{package_set.name}: {e}") from None
    for name in lacking:
        if not (folder / name).exists():
            raise PackagesUnavailable(f"{package_set.name}: the mirror did not give {name}")


def list_user_package_sources() -> list[Path]:
    """The folders and board files that the user names; UsageError if one is not there."""
    given = [Path(p) for p in os.environ.get(PACKAGES_VARIABLE, "").split(os.pathsep) if p]
    for path in given:
        if not path.exists():
            raise UsageError(f"{PACKAGES_VARIABLE}: {path}: no such folder or board file")
    return given


def _take_from_source(where: Path, files: Files) -> None:
    """Takes what is missing from a folder, by name, or from a board file, by content."""
    lacking = list_missing_packages(files)
    if not lacking:
        return
    if where.is_dir():
        for path in sorted(p for p in where.rglob("*") if p.name in lacking and p.is_file()):
            with open_regular_file(path) as f:
                add_package_to_cache(f, files[path.name], str(path))
    else:
        import_board_packages(where, {files[name] for name in lacking})


def import_board_packages(path: Path, only: set[str] | None = None) -> boardfile.BoardHead:
    """Adds a board file's packages to the cache, all that it names or some; tells its head.

    UsageError if it is damaged or lacks one that its lock names; the cache then has none of it.
    """
    with boardfile.open_board_file(path) as reader:
        listed_digests = reader.head.contents()
        todo = {
            s
            for s in (listed_digests if only is None else listed_digests & only)
            if not is_package_cached(s)
        }
        read_digests: set[str] = set()
        added = []
        try:
            for sha256, content in reader.packages():
                whence = f"{path}: {FOLDER}{sha256}"
                if sha256 not in listed_digests or sha256 in read_digests:
                    raise UsageError(f"{whence}: its lock does not name this, or it is there twice")
                if sha256 in todo:
                    add_package_to_cache(content, sha256, whence)
                    added.append(sha256)
                elif only is None and digest_stream(content) != sha256:
                    raise UsageError(f"{whence}: damaged: its SHA-256 is another")
                read_digests.add(sha256)
            if absent := (listed_digests if only is None else todo) - read_digests:
                raise UsageError(f"{path}: it ends too early: {len(absent)} packages are not in it")
        except BaseException:
            for sha256 in added:
                make_cached_package_path(sha256).unlink(missing_ok=True)
            raise
        return reader.head
