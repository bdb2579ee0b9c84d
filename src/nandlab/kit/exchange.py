# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards from machine to machine: exported to board files, and imported from them."""

from __future__ import annotations

import json
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole
from nandlab.catalog.board import TOLD, BoardModel
from nandlab.catalog.files import PROJECT, load, names, validate
from nandlab.kit import boardfile, needs, packages
from nandlab.kit import lock as locks
from nandlab.kit.kit import lock_of, strictly_brought, wanted
from nandlab.kit.lock import Lock


def export(model: BoardModel, file: Path) -> None:
    """Writes a board's file; UsageError if it has no lock, or its packages are not to be had.

    It has what programs are built from too, as far as that is locked: needs.locked().
    """
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: no such folder: {file.parent}")
    lock: dict[str, locks.Files] = {}
    for each in wanted(model):
        files = lock_of(model).get(each.name)
        if files is None:
            raise UsageError(f"board {model.name} has no lock: `nandlab board update {model.name}`")
        strictly_brought(each, files)
        lock[each.name] = files
    for each, files in needs.locked(model):
        strictly_brought(each, files)
        lock[each.name] = files
    pack(model, lock, file)


def pack(model: BoardModel, lock: Lock, file: Path) -> None:
    """Writes a board's file with the packages of a lock, which the cache has."""
    head = boardfile.Head(model.model_dump(mode="json", exclude={"controller", "power"}), lock)
    boardfile.write(file, head, {sha256: packages.place(sha256) for sha256 in head.contents()})


def take(file: Path) -> list[str]:
    """Imports a board file: packages, and the board if the catalog lacks it; what was done.

    UsageError if the file is damaged, or its board is another than the catalog's of that name;
    nothing is kept then.
    """
    with boardfile.opened(file) as reader:
        head = reader.head
    model = validate(dict(head.board), BoardModel, f"{file}: its board")
    if lacking := [each.name for each in wanted(model) if each.name not in head.lock]:
        raise UsageError(f"{file}: its lock has no {lacking[0]!r}, which its board needs")
    known = model.name in names("boards")
    if known:
        _refuse_another(model, load("boards", model.name, BoardModel), file)
    else:
        _refuse_to_change(head.lock, file)
    packages.take_in(file)
    told = [f"{len(head.contents())} packages of board {model.name} are in the cache"]
    if not known:
        told.append(f"{_added(model, head.lock)}: added")
    elif other := _other_sets(model, head.lock):
        told.append(f"boards.lock here names other packages: {other}; `reproduce` takes these")
    return told


def _refuse_another(model: BoardModel, ours: BoardModel, file: Path) -> None:
    """UsageError if a board is not the catalog's of its name; what is only told may differ."""
    for key, value in model.model_dump(exclude=TOLD).items():
        if value != getattr(ours, key):
            raise UsageError(
                f"{file}: its board {model.name} is another than the catalog's of that name: {key} "
                f"is {value!r}, here {getattr(ours, key)!r}; rename one"
            )


def _refuse_to_change(lock: Lock, file: Path) -> None:
    """UsageError if adding a board would change what other boards of the project are made of."""
    path = Path(PROJECT) / "boards" / locks.FILE
    for name, files in locks.read(path).items():
        if name in lock and lock[name] != files:
            raise UsageError(
                f"{file}: {path} has other packages for {name!r}, of which boards here are made: "
                f"{locks.changes(files, lock[name])[0]}; import it in another folder"
            )


def _other_sets(model: BoardModel, lock: Lock) -> str:
    """How the lock here differs from an imported one, in a line; empty: it does not."""
    here = lock_of(model)
    lines = [c for name, files in lock.items() for c in locks.changes(files, here.get(name, {}))]
    return "; ".join(lines[:3]) + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")


def _added(model: BoardModel, lock: Lock) -> Path:
    """Adds a board and its lock to the project's catalog; the board's file."""
    folder = Path(PROJECT) / "boards"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.name}.toml"
    locks.write(folder / locks.FILE, {**locks.read(folder / locks.FILE), **lock})
    told = model.model_dump(mode="json", exclude_none=True)
    write_whole(path, "".join(f"{key} = {_toml(value)}\n" for key, value in told.items()).encode())
    return path


def _toml(value: object) -> str:
    """A string, number or boolean as TOML: as in JSON, since no text of a board has DEL."""
    return json.dumps(value, ensure_ascii=False)
