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

from nandlab.base.cache import make_entry
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.paths import DEVICE
from nandlab.base.strings import Line, PackageName
from nandlab.board.kit import lock as locks
from nandlab.board.kit.apt import Suite
from nandlab.board.kit.kernelsource import make_kernel_source_set
from nandlab.board.kit.kit import (
    SHIPPED_BOARDS,
    fetch_package_sets,
    make_board_lock_path,
    make_image_tool_set,
    make_kernel_build_set,
    make_kernel_package_set,
    make_tool_package_set,
    read_board_package_lock,
    read_package_lock_with_shipped,
)
from nandlab.board.kit.lock import Files, Lock
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.board.kit.packagesets import (
    KernelBuildSet,
    KernelSourceSet,
    LibrarySet,
    SourceSet,
    SuiteSet,
)
from nandlab.board.kit.root import Root, prepare_package_root
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import PROJECT_FOLDER, validate_data
from nandlab.catalog.noun import StrictModel

FILE = "needs.toml"
PathBelow = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./+-]*$")]


class Source(StrictModel):
    """Files of a Debian source package."""

    package: PackageName = Field(description="the source package")
    files: list[PathBelow] = Field(
        min_length=1, description="paths below its top folder; they are compiled as they are"
    )


class Needs(StrictModel):
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

    def list_package_sets(self, suite: Suite) -> list[SuiteSet]:
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
class FetchedPackages:
    """The packages that programs are built from beside a board's."""

    lock: Lock
    lock_differences: tuple[str, ...] = ()
    """How they differ from those that are locked, a line each; empty: they do not."""


def read_program_needs(folder: Path) -> Needs | None:
    """What a program's folder says that it needs; None: nothing. UsageError if it is wrong."""
    path = folder / FILE
    return validate_data(read_toml(path), Needs, str(path)) if path.is_file() else None


def fetch_program_needs(
    model: BoardModel, folder: Path, *, locked: bool = False, lock: Lock | None = None
) -> FetchedPackages:
    """Sees that the cache has the packages of a program's needs; locked, lock: as of kit.kit."""
    needs = read_program_needs(folder)
    if needs is None:
        return FetchedPackages({})
    sets = needs.list_package_sets(_find_suite(model))
    given = None if lock is not None else _find_lock_path(model, folder)
    found, moved = fetch_package_sets(model, sets, locked=locked, lock=lock, path=given)
    return FetchedPackages(found, tuple(moved))


def list_needed_package_sets(model: BoardModel) -> list[tuple[SuiteSet, Path]]:
    """The sets that no board is made of, and their locks: the makers of read-only images, what
    builds kernels, and what programs of ours and of the current folder's project need."""
    folders = [f.parent for top in (DEVICE, Path()) for f in top.glob(f"programs/*/{FILE}")]
    suite = _find_suite(model)
    program_sets = {
        package_set.name: (package_set, _find_lock_path(model, folder))
        for folder in folders
        if (needs := read_program_needs(folder)) is not None
        for package_set in needs.list_package_sets(suite)
    }
    board_sets = [
        make_image_tool_set(model),
        make_kernel_build_set(model),
        *_list_kernel_source_sets(model),
    ]
    path = make_board_lock_path(model)
    return [
        *((package_set, path) for package_set in board_sets),
        *(program_sets[name] for name in sorted(program_sets)),
    ]


def _list_kernel_source_sets(model: BoardModel) -> list[SuiteSet]:
    """The source of the board's locked kernel; none of one's own, nor while no kernel is locked."""
    if model.own_kernel:
        return []
    kernel = read_board_package_lock(model).get(make_kernel_package_set(model).name)
    return [make_kernel_source_set(model, kernel)] if kernel else []


def list_locked_package_sets(model: BoardModel) -> list[tuple[SuiteSet, Files]]:
    """Those that are locked, with their files, but for sources of kernels and what builds them: a
    board file of them would be three times as large, and few boards are built from them."""
    sets = (
        (package_set, read_package_lock_with_shipped(path).get(package_set.name))
        for package_set, path in list_needed_package_sets(model)
        if not isinstance(package_set, KernelSourceSet | KernelBuildSet)
    )
    return [(package_set, files) for package_set, files in sets if files is not None]


def unpack_build_material(folder: Path, model: BoardModel, lock: Lock) -> Material | None:
    """What a program is built from, unpacked from packages in the cache; None: its folder alone."""
    needs = read_program_needs(folder)
    if needs is None:
        return None
    library, foreign = None, None
    for each in needs.list_package_sets(_find_suite(model)):
        if isinstance(each, LibrarySet):
            library = prepare_package_root(lock[each.name])
        elif needs.source:
            foreign = _unpack_sources(lock[each.name], tuple(needs.source.files), each.name)
    return Material(library, tuple(needs.link), foreign)


def _find_suite(model: BoardModel) -> Suite:
    """The release of a board's compiler, and what the board runs."""
    return Suite(make_tool_package_set(model).suite.release, model.arch)


def _find_lock_path(model: BoardModel, folder: Path) -> Path:
    """Where the packages of a program are locked: with the board's, but never among the shipped
    for a project's own program."""
    path = make_board_lock_path(model)
    if path.parent != SHIPPED_BOARDS or folder.is_relative_to(DEVICE):
        return path
    return folder.absolute().parents[1] / PROJECT_FOLDER / "boards" / locks.FILE


def _unpack_sources(source: Files, paths: tuple[str, ...], name: str) -> Path:
    """A folder with files of a source package's original archive."""
    archive = next((file for file in source if ".orig.tar." in file), None)
    if archive is None:
        raise UsageError(f"the lock's set {name!r} has no .orig.tar")

    def make(work: Path) -> None:
        (work / "files").mkdir()
        lacking = set(paths)
        with tarfile.open(make_cached_package_path(source[archive])) as tar:
            for member in tar:
                path = str(PurePosixPath(*PurePosixPath(member.name).parts[1:]))
                content = tar.extractfile(member) if path in lacking else None
                if content is not None:
                    (work / "files" / PurePosixPath(path).name).write_bytes(content.read())
                    lacking.discard(path)
        if lacking:
            raise UsageError(f"{archive} has no {min(lacking)}")

    inputs = {"archive": source[archive], "files": list(paths), "form": 1}
    return make_entry("foreign", inputs, make) / "files"
