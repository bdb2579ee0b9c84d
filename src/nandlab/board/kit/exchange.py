# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards from machine to machine: exported to board files, and imported from them."""

from __future__ import annotations

import json
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole_file
from nandlab.board.kit import boardfile, needs, packages
from nandlab.board.kit import lock as locks
from nandlab.board.kit.kit import (
    fetch_locked_package_set,
    list_board_package_sets,
    make_kernel_package_set,
    make_own_kernel_folder,
    read_board_package_lock,
)
from nandlab.board.kit.lock import Lock
from nandlab.board.kit.packagesets import OWN_KERNEL_PACKAGES
from nandlab.catalog.board import UNSIMULATED_KEYS, BoardModel
from nandlab.catalog.files import PROJECT_FOLDER, list_noun_names, load_noun, validate_data


def export_board_file(model: BoardModel, file: Path) -> None:
    """Writes a board's file; UsageError if it has no lock, or its packages are not to be had.

    It has what programs are built from too, as far as that is locked: needs.locked().
    """
    if model.source:
        raise UsageError(
            f"board {model.name}: its [source] is of this machine: a board file has packages alone"
        )
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: no such folder: {file.parent}")
    lock: dict[str, locks.Files] = {}
    for package_set in list_board_package_sets(model):
        files = read_board_package_lock(model).get(package_set.name)
        if files is None:
            raise UsageError(f"board {model.name} has no lock: `nandlab board update {model.name}`")
        fetch_locked_package_set(package_set, files)
        lock[package_set.name] = files
    for package_set, files in needs.list_locked_package_sets(model):
        fetch_locked_package_set(package_set, files)
        lock[package_set.name] = files
    write_board_file_from_cache(model, lock, file)


def write_board_file_from_cache(model: BoardModel, lock: Lock, file: Path) -> None:
    """Writes a board's file with the packages of a lock, which the cache has."""
    head = boardfile.BoardHead(model.model_dump(mode="json", exclude={"controller", "power"}), lock)
    boardfile.write_board_file(
        file,
        head,
        {sha256: packages.make_cached_package_path(sha256) for sha256 in head.contents()},
    )


def import_board_file(file: Path) -> list[str]:
    """Imports a board file: packages, and the board if the catalog lacks it; what was done.

    UsageError if the file is damaged, or its board is another than the catalog's of that name;
    nothing is kept then.
    """
    with boardfile.open_board_file(file) as reader:
        head = reader.head
    model = validate_data(dict(head.board), BoardModel, f"{file}: its board")
    if model.source:
        raise UsageError(
            f"{file}: its board {model.name} has [source], which names folders of another machine: "
            "export it without"
        )
    if lacking := [
        package_set.name
        for package_set in list_board_package_sets(model)
        if package_set.name not in head.lock
    ]:
        raise UsageError(f"{file}: its lock has no {lacking[0]!r}, which its board needs")
    is_known = model.name in list_noun_names("boards")
    if is_known:
        _refuse_another(model, load_noun("boards", model.name, BoardModel), file)
    else:
        _refuse_to_change(head.lock, file)
    packages.import_board_packages(file)
    messages = [f"{len(head.contents())} packages of board {model.name} are in the cache"]
    if not is_known:
        messages.append(f"{_add_board(model, head.lock)}: added")
    elif differing := _other_sets(model, head.lock):
        messages.append(
            f"boards.lock here names other packages: {differing}; `reproduce` takes these"
        )
    return messages


def _refuse_another(model: BoardModel, ours: BoardModel, file: Path) -> None:
    """UsageError if a board is not the catalog's of its name; what is only told may differ."""
    for key, value in model.model_dump(exclude=UNSIMULATED_KEYS).items():
        if value != getattr(ours, key):
            raise UsageError(
                f"{file}: its board {model.name} is another than the catalog's of that name: {key} "
                f"is {value!r}, here {getattr(ours, key)!r}; rename one"
            )


def _refuse_to_change(lock: Lock, file: Path) -> None:
    """UsageError if adding a board would change what other boards of the project are made of."""
    path = Path(PROJECT_FOLDER) / "boards" / locks.FILE
    for name, files in locks.read_package_lock(path).items():
        if name in lock and lock[name] != files:
            raise UsageError(
                f"{file}: {path} has other packages for {name!r}, of which boards here are made: "
                f"{locks.format_package_changes(files, lock[name])[0]}; import it in another folder"
            )


def _other_sets(model: BoardModel, lock: Lock) -> str:
    """How the lock here differs from an imported one, in a line; empty: it does not."""
    here = read_board_package_lock(model)
    lines = [
        c
        for name, files in lock.items()
        for c in locks.format_package_changes(files, here.get(name, {}))
    ]
    return "; ".join(lines[:3]) + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")


def _add_board(model: BoardModel, lock: Lock) -> Path:
    """Adds a board and its lock to the project's catalog; the board's file, which is written last:
    what failed before has added no board."""
    folder = Path(PROJECT_FOLDER) / "boards"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.name}.toml"
    if model.own_kernel:
        _keep_own_packages(model, lock)
    locks.write_package_lock(
        folder / locks.FILE, {**locks.read_package_lock(folder / locks.FILE), **lock}
    )
    write_whole_file(path, format_board_file(model).encode())
    return path


def _keep_own_packages(model: BoardModel, lock: Lock) -> None:
    """Copies the packages of a board's own kernel from the cache to beside its file."""
    own_folder = make_own_kernel_folder(Path(PROJECT_FOLDER) / "boards", model.kernel)
    own_folder.mkdir(exist_ok=True)
    files = lock[make_kernel_package_set(model).name]
    packages.copy_cached_packages(
        {file: sha256 for file, sha256 in files.items() if file.startswith(OWN_KERNEL_PACKAGES)},
        own_folder,
    )


def format_board_file(model: BoardModel) -> str:
    """A board as its file in a catalog has it, without what is only told and without tables."""
    told = model.model_dump(mode="json", exclude_none=True, exclude={"controller", "power"})
    told = {key: value for key, value in told.items() if value is not False and value != {}}
    return "".join(f"{key} = {_format_toml(value)}\n" for key, value in told.items())


def _format_toml(value: object) -> str:
    """A string, number or boolean as TOML: as in JSON, since no text of a board has DEL."""
    return json.dumps(value, ensure_ascii=False)
