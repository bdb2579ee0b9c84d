# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program is built from beside its own sources: Debian packages, by a file in its folder.

``needs.toml`` names libraries that it is linked with, or files of a source package that are
compiled with its own, unchanged. Their packages are locked as a board's are, in sets of their own:
the board's identity has none of them, and only who builds such a program fetches them.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, model_validator

from nandlab.base.cache import entry
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.paths import TARGET
from nandlab.base.strings import Line, PackageName
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import PROJECT, validate
from nandlab.catalog.noun import Strict
from nandlab.kit import lock as locks
from nandlab.kit.apt import Suite
from nandlab.kit.kit import SHIPPED, image_set, lock_path, locked_in, take, tool_set
from nandlab.kit.lock import Files, Lock
from nandlab.kit.packages import place
from nandlab.kit.root import Root, root
from nandlab.kit.wanted import LibrarySet, SourceSet, Wanted

FILE = "needs.toml"
PathBelow = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./+-]*$")]


class Source(Strict):
    """Files of a Debian source package."""

    package: PackageName = Field(description="the source package")
    files: list[PathBelow] = Field(
        min_length=1, description="paths below its top folder; they are compiled as they are"
    )


class Needs(Strict):
    """What a program is built from beside its folder."""

    packages: list[PackageName] = Field(
        default=[],
        description="Debian packages with headers and static libraries; what these depend on is "
        "not added, but the C library and the compiler are there",
    )
    link: list[Line] = Field(default=[], description="what the linker is given last, in order")
    source: Source | None = Field(default=None, description="absent: only the folder's own sources")

    @model_validator(mode="after")
    def _asks_for_something(self) -> Needs:
        if not (self.packages or self.source):
            raise ValueError("it names neither packages nor a source")
        return self

    def wanted(self, suite: Suite) -> list[Wanted]:
        """The sets of packages that it names."""
        libraries = [LibrarySet(suite, tuple(self.packages))] if self.packages else []
        return [*libraries, *([SourceSet(suite, self.source.package)] if self.source else [])]


@dataclass(frozen=True)
class Material:
    """What a program is built from beside its folder, unpacked."""

    library: Root | None
    """Has the libraries and their headers; None: there are none."""
    link: tuple[str, ...]
    foreign: Path | None
    """A folder of sources that are another's; None: there are none."""


@dataclass(frozen=True)
class Brought:
    """The packages that programs are built from beside a board's."""

    lock: Lock
    moved: tuple[str, ...] = ()
    """How they differ from those that are locked, a line each; empty: they do not."""


def read(folder: Path) -> Needs | None:
    """What a program's folder says that it needs; None: nothing. UsageError if it is wrong."""
    path = folder / FILE
    return validate(read_toml(path), Needs, str(path)) if path.is_file() else None


def bring(
    model: BoardModel, folder: Path, *, locked: bool = False, lock: Lock | None = None
) -> Brought:
    """Sees that the cache has the packages of a program's needs; locked, lock: as of kit.kit."""
    needs = read(folder)
    if needs is None:
        return Brought({})
    sets = needs.wanted(_suite(model))
    given = None if lock is not None else _lock_path(model, folder)
    found, moved = take(model, sets, locked=locked, lock=lock, path=given)
    return Brought(found, tuple(moved))


def placed(model: BoardModel) -> list[tuple[Wanted, Path]]:
    """The sets that no board is made of, and their locks: the makers of read-only images, and what
    programs of ours and of the current folder's project need."""
    folders = [f.parent for top in (TARGET, Path()) for f in top.glob(f"programs/*/{FILE}")]
    suite = _suite(model)
    found = {
        each.name: (each, _lock_path(model, folder))
        for folder in folders
        if (needs := read(folder)) is not None
        for each in needs.wanted(suite)
    }
    images = image_set(model)
    return [(images, lock_path(model)), *(found[name] for name in sorted(found))]


def locked(model: BoardModel) -> list[tuple[Wanted, Files]]:
    """Those of placed() that are locked, with their files."""
    found = ((each, locked_in(path).get(each.name)) for each, path in placed(model))
    return [(each, files) for each, files in found if files is not None]


def material(folder: Path, model: BoardModel, lock: Lock) -> Material | None:
    """What a program is built from, unpacked from packages in the cache; None: its folder alone."""
    needs = read(folder)
    if needs is None:
        return None
    library, foreign = None, None
    for each in needs.wanted(_suite(model)):
        if isinstance(each, LibrarySet):
            library = root(lock[each.name])
        elif needs.source:
            foreign = _unpacked(lock[each.name], tuple(needs.source.files), each.name)
    return Material(library, tuple(needs.link), foreign)


def _suite(model: BoardModel) -> Suite:
    """The release of a board's compiler, and what the board runs."""
    return Suite(tool_set(model).suite.release, model.arch)


def _lock_path(model: BoardModel, folder: Path) -> Path:
    """Where the packages of a program are locked: with the board's, but never among the shipped
    for a project's own program."""
    path = lock_path(model)
    if path.parent != SHIPPED or folder.is_relative_to(TARGET):
        return path
    return folder.absolute().parents[1] / PROJECT / "boards" / locks.FILE


def _unpacked(source: Files, wanted: tuple[str, ...], name: str) -> Path:
    """A folder with files of a source package's original archive."""
    archive = next((file for file in source if ".orig.tar." in file), None)
    if archive is None:
        raise UsageError(f"the lock's set {name!r} has no .orig.tar")

    def make(work: Path) -> None:
        (work / "files").mkdir()
        lacking = set(wanted)
        with tarfile.open(place(source[archive])) as tar:
            for member in tar:
                path = str(PurePosixPath(*PurePosixPath(member.name).parts[1:]))
                content = tar.extractfile(member) if path in lacking else None
                if content is not None:
                    (work / "files" / PurePosixPath(path).name).write_bytes(content.read())
                    lacking.discard(path)
        if lacking:
            raise UsageError(f"{archive} has no {min(lacking)}")

    inputs = {"archive": source[archive], "files": list(wanted), "form": 1}
    return entry("foreign", inputs, make) / "files"
