# SPDX-License-Identifier: GPL-2.0-or-later
"""The source of a part of the kernel: which the user names, and its files.

The files are read once, into memory: what is built is what was read. Those of a folder pass the
gate. Nothing of a tree is taken but the part's own folders and headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from nandlab.base.digest import digest_bytes, digest_json_value
from nandlab.base.errors import SourceError, UsageError
from nandlab.base.gate import read_bytes, read_folder_files
from nandlab.base.nearest import suggest_nearest_name
from nandlab.board.kit.patch import apply_patch, read_patch
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.part import KIND, PACKAGE, PartModel, PartSource, PartValue

PART_BYTES_MAX = 32 << 20
"""Of a part's files: drivers/mtd/nand/raw has 2 MiB."""
PART_FILES_MAX = 1000
OPTION = re.compile(r",([a-z][a-z0-9_]*)=([^,/]*)$")
"""An option at the end of a word of --source."""
SWITCH = {"true": True, "false": False}
DIGITS_MAX = 10
FOLDER_ORIGIN = "folder"


@dataclass(frozen=True)
class SourceRequest:
    """A part that is to be built, from which tree, and how."""

    part: PartModel
    tree: Path | None = None
    """A kernel's tree or the part's folder of one; None: the locked package."""
    options: Mapping[str, PartValue] = field(default_factory=dict)
    patches: tuple[Path, ...] = ()
    named: bool = field(default=True, compare=False)
    """False: only a patch asks for it; what the board's file names of the part is patched then."""

    def identity(self) -> dict[str, Any]:
        """What of it another machine can ask for: the tree by kind, and the options."""
        kind = PACKAGE if self.tree is None else FOLDER_ORIGIN
        return {"tree": kind, "options": dict(self.options), "patches": len(self.patches)}


Requests = Mapping[str, SourceRequest]
"""What is built from another source, by the part's name."""


@dataclass(frozen=True)
class PartFiles:
    """The files of a part, by their paths in a kernel's tree."""

    content: Mapping[str, bytes]
    origin: str
    """Where they are from, for people."""

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each file."""
        return {path: digest_bytes(content) for path, content in sorted(self.content.items())}

    @property
    def sha256(self) -> str:
        """Of all of them together."""
        return digest_json_value(self.digests)


def load_part(name: str, where: str) -> PartModel:
    """A part of the catalog; UsageError if there is none."""
    there = list_noun_names(KIND)
    if name not in there:
        near = suggest_nearest_name(name, there)
        raise UsageError(f"{where}: no part {name!r}; there are: {', '.join(there)}{near}")
    return load_noun(KIND, name, PartModel)


def make_source_requests(
    sources: Mapping[str, PartSource], home: Path | None, where: str
) -> dict[str, SourceRequest]:
    """What a catalog file asks for. home: the folder that its paths are from; None: the current."""
    home = home or Path()
    requests = {}
    for name, source in sources.items():
        part = load_part(name, f"{where}: source")
        part.refuse_bad_options(source.options, f"{where}: source.{name}")
        tree = None if source.tree == PACKAGE else home / source.tree
        patches = tuple(home / path for path in source.patch)
        requests[name] = SourceRequest(part, tree, source.options, patches)
    return requests


def parse_source_words(words: Iterable[str], option: str) -> dict[str, SourceRequest]:
    """Requests of words such as ``ubi=package,fastmap=true`` and ``ubifs=~/linux``."""
    requests: dict[str, SourceRequest] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{option} {word}: expected PART=package or PART=FOLDER")
        if name in requests:
            raise UsageError(f"{option} {name}: given twice")
        part = load_part(name, option)
        options: dict[str, PartValue] = {}
        while match := OPTION.search(value):
            value = value[: match.start()]
            options = {match[1]: _parse_value(match[2], f"{option} {word}: {match[1]}"), **options}
        part.refuse_bad_options(options, f"{option} {word}")
        if not value:
            raise UsageError(f"{option} {word}: name package or a folder before the options")
        tree = None if value == PACKAGE else Path(value).expanduser().absolute()
        requests[name] = SourceRequest(part, tree, options)
    return requests


def _parse_value(text: str, what: str) -> PartValue:
    if text.isdecimal() and len(text) < DIGITS_MAX:
        return int(text)
    if text not in SWITCH:
        raise UsageError(f"{what} is true or false, or a number, not {text!r}")
    return SWITCH[text]


def add_patches(
    requests: Requests, patches: Sequence[Path], option: str
) -> dict[str, SourceRequest]:
    """The requests with patches, each for the parts whose files it changes.

    A part that no request names is built from what the board's file names, else from the locked
    package. UsageError if a patch changes what is of no part.
    """
    patched = dict(requests)
    parts = {name: load_part(name, option) for name in list_noun_names(KIND)}
    for patch in patches:
        for change in read_patch(patch):
            owners = [name for name, part in parts.items() if is_part_file(part, change.path)]
            if not owners:
                folders = sorted({folder for part in parts.values() for folder in part.folders})
                raise UsageError(
                    f"{option} {patch}: {change.path} is of no part that can be built alone: "
                    f"{', '.join(folders)}"
                )
            requested_names = [name for name in owners if name in patched]
            for name in requested_names or owners[:1]:
                request = patched.get(name, SourceRequest(parts[name], named=False))
                if patch not in request.patches:
                    patched[name] = replace(request, patches=(*request.patches, patch))
    return patched


def refuse_absent_trees(requests: Requests, option: str) -> None:
    """UsageError for a tree that is no folder, or does not have its part."""
    for name, request in requests.items():
        if request.tree is not None and not request.tree.is_dir():
            raise UsageError(f"{option} {name}={request.tree}: no such folder")
        if request.tree is not None:
            find_part_folders(request.part, request.tree)


def is_part_file(part: PartModel, path: str) -> bool:
    """Whether a path of a kernel's tree is one of a part's files."""
    where = PurePosixPath(path)
    return path in part.headers or any(
        str(where.parent) == build.folder and any(where.match(p) for p in build.files)
        for build in part.builds
    )


def read_part_files(request: SourceRequest, package: Path | None, origin: str) -> PartFiles:
    """The files that a part is built from, patched; UsageError if they are not there.

    package: the unpacked locked source, and origin its name; used where no tree is named.
    """
    tree = request.tree or package
    if tree is None:
        raise UsageError(f"{request.part.name}: no source of the board's kernel is locked")
    top = find_part_folders(request.part, tree)
    content: dict[str, bytes] = {}
    bytes_left = PART_BYTES_MAX
    for build in request.part.builds:
        files = read_folder_files(top[build.folder], build.files, tree, bytes_left, PART_FILES_MAX)
        bytes_left -= sum(map(len, files.values()))
        content |= {f"{build.folder}/{name}": data for name, data in files.items()}
    for header in request.part.headers:
        path = tree / header
        if path.exists():
            (data,) = read_folder_files(path.parent, [path.name], tree, bytes_left, 1).values()
            content[header], bytes_left = data, bytes_left - len(data)
    for patch in request.patches:
        changes = [c for c in read_patch(patch) if is_part_file(request.part, c.path)]
        content = apply_patch(content, changes, str(patch))
    origin = origin if request.tree is None else FOLDER_ORIGIN
    return PartFiles(content, f"{origin}, patched" if request.patches else origin)


def find_part_folders(part: PartModel, tree: Path) -> dict[str, Path]:
    """Where a tree has the folders of a part, by their paths in a kernel's tree.

    The tree may be the part's folder itself, if it has one, or have it as ``core``.
    """
    whole = {build.folder: tree / build.folder for build in part.builds}
    if all((whole[build.folder] / build.mark).is_file() for build in part.builds):
        return whole
    first = part.builds[0]
    alone = [tree, *([tree / "core"] if part.port else [])] if len(part.builds) == 1 else []
    folder = next((path for path in alone if (path / first.mark).is_file()), None)
    if folder is None:
        marks = [f"{build.folder}/{build.mark}" for build in part.builds]
        absent = next(mark for mark in marks if not (tree / mark).is_file())
        what, cure = f"{absent} is not there", "name the top of a kernel's tree"
        if alone:
            what = f"neither {absent} is there nor {first.mark}"
            cure += ", or the part's folder"
        raise SourceError(f"{tree}: no source of {part.name}: {what}: {cure}")
    return {first.folder: folder}


def read_tree_version(tree: Path) -> str | None:
    """The version of a kernel's tree by its Makefile, such as 6.12.95; None: it has none."""
    makefile = tree / "Makefile"
    if not makefile.is_file():
        return None
    text = read_bytes(makefile, PART_BYTES_MAX).decode(errors="replace")
    names = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    parts = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in names]
    return ".".join(match[1] for match in parts if match) if all(parts) else None
