# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards made by a command: of a kernel of the user's own, or of another release of Debian's.

Such a board is like one of the catalog's in all but its kernel. It belongs to the user's project:
its file, the lock of its packages, and the packages of its own kernel lie in ./catalog/boards.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab.base.digest import digest_stream
from nandlab.base.errors import UsageError
from nandlab.base.files import write_files_together
from nandlab.base.gate import open_regular_file
from nandlab.base.printer import print_note
from nandlab.base.strings import KernelFlavour, does_text_fit_type
from nandlab.board.kit import lock as locks
from nandlab.board.kit import packages
from nandlab.board.kit.apt import PackagesUnavailable, fetch_lists_once
from nandlab.board.kit.exchange import format_board_file
from nandlab.board.kit.kernelbuild import build_kernel_packages, make_kernel_request
from nandlab.board.kit.kit import (
    PACKAGE_REMEDY,
    fetch_kernel_builders,
    fetch_locked_package_set,
    list_board_package_sets,
    make_kernel_package_set,
    make_own_kernel_folder,
    make_tool_package_set,
    read_board_package_lock,
)
from nandlab.board.kit.lock import Files, Lock
from nandlab.board.kit.ownkernel import KernelPackages, check_kernel_packages, find_kernel_packages
from nandlab.board.kit.packagesets import KERNEL_PACKAGES
from nandlab.board.kit.root import require_root_entry
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import PROJECT_FOLDER, list_noun_names, validate_data

BOARDS = Path(PROJECT_FOLDER) / "boards"


@dataclass(frozen=True)
class NewBoard:
    """A board that has no file yet; the cache has its packages."""

    model: BoardModel
    lock: Lock
    """Of all that it is made of."""
    kernel: Files = field(default_factory=dict)
    """The packages of its own kernel, which are kept beside its file; empty: it has Debian's."""


def make_packages_board(name: str, like: BoardModel, folder: Path) -> NewBoard:
    """A board with the kernel whose packages are in a folder."""
    refuse_board_name(name)
    return _make_own_kernel_board(name, like, find_kernel_packages(folder))


def make_tree_board(
    name: str, like: BoardModel, tree: Path, fragments: Sequence[str] = ()
) -> NewBoard:
    """A board with a kernel that is built from a tree, by nandlab's lean configuration.

    fragments: files with settings that go before the lean ones, or names of nandlab's.
    """
    refuse_board_name(name)
    request = make_kernel_request(tree, fragments, like.arch)
    tools = read_board_package_lock(like).get(make_tool_package_set(like).name)
    if not tools:
        raise UsageError(f"board {like.name} has no lock: `nandlab board update {like.name}`")
    fetch_locked_package_set(make_tool_package_set(like), tools)
    root = fetch_kernel_builders(like, tools)
    require_root_entry(root)
    return _make_own_kernel_board(name, like, build_kernel_packages(request, root))


@fetch_lists_once()
def make_release_board(name: str, like: BoardModel, release: str, kernel: str) -> NewBoard:
    """A board with the newest kernel of a release that the mirror has, and that release's tools.

    Packages that the project has locked for another board of this release stay, and a note says so.
    """
    refuse_board_name(name)
    summary = f"The board {like.name} with the kernel {kernel} of Debian's {release}"
    model = _change_model(
        like, name, summary, release=release, kernel=kernel, tools=None, own_kernel=False
    )
    lock = {**locks.read_package_lock(BOARDS / locks.FILE)}
    try:
        for package_set in list_board_package_sets(model):
            if lock.get(package_set.name):
                print_note(
                    f"{package_set.name}: as {BOARDS / locks.FILE} has it, for another board"
                )
            else:
                lock[package_set.name] = packages.resolve_newest_packages(package_set)
            fetch_locked_package_set(package_set, lock[package_set.name])
    except PackagesUnavailable as e:
        raise UsageError(f"release {release}: {e}; {PACKAGE_REMEDY}") from None
    return NewBoard(model, _select_board_sets(model, lock))


def refuse_board_name(name: str, boards: Path = BOARDS) -> None:
    """UsageError if a board cannot be made by this name."""
    if not does_text_fit_type(KernelFlavour, name):
        raise UsageError(
            f"{name!r}: a board is made by a name of small letters, digits and -, at most 40"
        )
    if name in list_noun_names("boards"):
        raise UsageError(
            f"board {name}: there is one already: choose another name, or remove "
            f"{boards / f'{name}.toml'} if it is yours"
        )
    if (left := make_own_kernel_folder(boards, name)).exists():
        raise UsageError(
            f"{left}: it is of a board that is gone: remove it, or choose another name"
        )


def _make_own_kernel_board(name: str, like: BoardModel, parts: KernelPackages) -> NewBoard:
    """The board of a kernel's packages; they are in the cache afterwards, looked through."""
    if parts.arch != like.arch:
        raise UsageError(
            f"{parts.image}: a kernel for {parts.arch}, and board {like.name} is of {like.arch}: "
            "name a board of its architecture by --like"
        )
    check_kernel_packages(parts)
    kernel = {path.name: _cache_package(path) for path in (parts.image, parts.headers)}
    summary = f"The board {like.name} with a kernel of one's own: {parts.release}"
    model = _change_model(like, name, summary, kernel=name, own_kernel=True)
    like_lock = read_board_package_lock(like)
    debian = like_lock.get(make_kernel_package_set(like).name, {})
    guest = {file: sha256 for file, sha256 in debian.items() if not _is_kernel_package(file)}
    if not guest:
        raise UsageError(f"board {like.name} has no lock: `nandlab board update {like.name}`")
    kernel_set = make_kernel_package_set(model)
    lock = {**like_lock, kernel_set.name: dict(sorted({**guest, **kernel}.items()))}
    return NewBoard(model, _select_board_sets(model, lock), kernel)


def _is_kernel_package(file: str) -> bool:
    return file.startswith(KERNEL_PACKAGES)


def _select_board_sets(model: BoardModel, lock: Lock) -> dict[str, Files]:
    """The part of a lock that a board is made of; UsageError if it lacks a set."""
    names = [each.name for each in list_board_package_sets(model)]
    if lacking := next((name for name in names if not lock.get(name)), None):
        raise UsageError(f"no lock has {lacking!r}: `nandlab board update` makes one")
    return {name: lock[name] for name in names}


def _change_model(like: BoardModel, name: str, summary: str, **changes: Any) -> BoardModel:
    """A board that is like another; figures of a measured board are left out."""
    told = like.model_dump(exclude_none=True, exclude={"controller", "power", "source"})
    told |= {"name": name, "summary": summary, **changes}
    values = {key: value for key, value in told.items() if value is not None}
    return validate_data(values, BoardModel, f"board {name}")


def _cache_package(path: Path) -> str:
    """Adds a package to the cache; its SHA-256."""
    with open_regular_file(path) as f:
        sha256 = digest_stream(f)
        f.seek(0)
        packages.add_package_to_cache(f, sha256, str(path))
    return sha256


def write_new_board(new: NewBoard, boards: Path = BOARDS) -> Path:
    """Writes a board's file, its lock, and the packages of its own kernel; the board's file.

    Nothing is left if it fails.
    """
    kernel_folder = make_own_kernel_folder(boards, new.model.kernel)
    path = boards / f"{new.model.name}.toml"
    boards.mkdir(parents=True, exist_ok=True)
    if new.kernel:
        try:
            kernel_folder.mkdir()
        except FileExistsError:
            raise UsageError(
                f"{kernel_folder}: another command made it meanwhile: remove it, or choose another "
                "name"
            ) from None
    try:
        if new.kernel:
            packages.copy_cached_packages(new.kernel, kernel_folder)
        lock = {**locks.read_package_lock(boards / locks.FILE), **new.lock}
        write_files_together(
            [
                (path, format_board_file(new.model).encode()),
                (boards / locks.FILE, locks.format_package_lock(lock).encode()),
            ]
        )
    except BaseException:
        if new.kernel:
            shutil.rmtree(kernel_folder, ignore_errors=True)
        raise
    return path
