# SPDX-License-Identifier: GPL-2.0-or-later
"""The board of several media: with what their file systems name as sources of its kernel's parts.

A run has one board, and that one kernel. So file systems that are run together must agree on the
source of each part that more than one of them uses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.kit.partsource import load_part, make_source_requests
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import list_noun_names
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.part import KIND, PACKAGE, PartModel, PartSource
from nandlab.plan.medium import Medium

WORD = re.compile(r"[a-z0-9_]+")
"""A word of a command, which may be a module's name."""


def find_media_board(media: Sequence[Medium], replaced: Collection[str] = ()) -> BoardModel:
    """The virtual board of media, with the sources that their file systems name, and with the chip
    of several partitions if one of them lies on such.

    replaced: parts that the user names another source of. UsageError for a part or option that is
    not there, for an option that needs a part without a source, and if two file systems, or one
    and the board, cannot have the same kernel.
    """
    systems = {medium.filesystem.name: medium.filesystem for medium in media}
    model = add_filesystem_sources(media[0].virtual, list(systems.values()), replaced)
    refuse_absent_parts(media, {*model.source, *replaced})
    if any(medium.layout for medium in media):
        model = model.model_copy(update={"partitions": True})
    return model


def refuse_absent_parts(media: Sequence[Medium], part_names: Collection[str]) -> None:
    """UsageError for options that need parts of the kernel of which no source is named."""
    wrong = [
        f"{option} cannot be: board {medium.board.name} lacks the kernel's part {part}: --source "
        f"{part}=package builds it, or [source.{part}] of a board or file system"
        for medium in media
        for part, option in medium.filesystem.list_part_needs(medium.options)
        if part not in part_names
    ]
    if wrong:
        raise UsageError(*dict.fromkeys(wrong))


def add_filesystem_sources(
    model: BoardModel, systems: Sequence[FilesystemModel], replaced: Collection[str] = ()
) -> BoardModel:
    """A board with the sources that file systems name; see find_media_board."""
    if not any(system.source for system in systems):
        return model
    sources: dict[str, PartSource] = {}
    for system in systems:
        make_source_requests(system.source, system.home, f"file system {system.name}")
        named = resolve_sources(system, system.source)
        sources |= {name: source for name, source in named.items() if name not in replaced}
    of_board = resolve_sources(model, model.source)
    parts = {name: load_part(name, KIND) for name in list_noun_names(KIND)}
    for name, source in sources.items():
        if of_board.get(name, source) != source:
            raise UsageError(
                f"source.{name}: a file system names another source of it than board {model.name}: "
                f"name one for both by --source {name}=..."
            )
        for system in systems:
            theirs = resolve_sources(system, system.source).get(name, of_board.get(name))
            if theirs != source and name in list_used_parts(system, parts):
                raise UsageError(_format_conflict(name, system, systems))
    return model.model_copy(update={"source": {**of_board, **sources}})


def group_filesystems_by_kernel(
    model: BoardModel, systems: Sequence[FilesystemModel]
) -> list[tuple[BoardModel, list[FilesystemModel]]]:
    """File systems by the board that they can share: the board with their sources, and they.

    Each joins the first group whose kernel it can have. UsageError for one that no board like this
    can have even alone.
    """
    groups: list[tuple[BoardModel, list[FilesystemModel]]] = []
    for system in systems:
        alone = add_filesystem_sources(model, [system])
        for i, (_, others) in enumerate(groups):
            with suppress(UsageError):
                groups[i] = add_filesystem_sources(model, [*others, system]), [*others, system]
                break
        else:
            groups.append((alone, [system]))
    return groups


def resolve_sources(noun: Noun, sources: Mapping[str, PartSource]) -> dict[str, PartSource]:
    """The sources that a catalog file names, with whole paths."""
    home = (noun.home or Path()).absolute()
    return {
        name: source.model_copy(
            update={
                "tree": source.tree if source.tree == PACKAGE else str(home / source.tree),
                "patch": [str(home / path) for path in source.patch],
            }
        )
        for name, source in sources.items()
    }


def list_used_parts(system: FilesystemModel, parts: Mapping[str, PartModel]) -> set[str]:
    """The parts of the kernel whose modules a file system names, and those that these call."""

    def follow(name: str) -> Iterator[str]:
        yield name
        for other in parts[name].after:
            yield from follow(other)

    commands = " ".join([*system.modules, *system.format, system.mount])
    modules = set(WORD.findall(commands))
    own = [name for name, part in parts.items() if modules & set(part.modules)]
    return {called for name in own for called in follow(name)}


def _format_conflict(part: str, system: FilesystemModel, systems: Sequence[FilesystemModel]) -> str:
    """Why file systems cannot be run together, and what to do."""
    other = next(s.name for s in systems if part in s.source and s.name != system.name)
    return (
        f"source.{part}: {system.name} and {other} both use {part} and name different sources of "
        "it, and a run has one kernel: name one source for both by "
        f"--source {part}=..., or run each alone"
    )
