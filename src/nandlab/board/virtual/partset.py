# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a board's kernel that are built from another source, all that a board has of them.

Parts are built in the order in which they call each other. YAFFS2's core is no part of a kernel's
tree: it is read here, and built with our port of it (yaffs2.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nandlab.base.errors import UsageError
from nandlab.board.kit.kernel import Kernel
from nandlab.board.kit.kernelsource import unpack_kernel_source
from nandlab.board.kit.kit import Kit
from nandlab.board.kit.partsource import (
    PartFiles,
    Requests,
    SourceRequest,
    make_source_requests,
    read_part_files,
    read_tree_version,
)
from nandlab.board.virtual.partbuild import SYMVERS, PartModules, build_part_modules
from nandlab.catalog.board import BoardModel
from nandlab.catalog.part import PartModel, Setting

BUILTIN = "modules.builtin"
"""A kernel's list of the modules that are built into it."""


@dataclass(frozen=True)
class BuiltPart:
    """A part of the kernel, built from another source than the kernel's package."""

    request: SourceRequest
    source: PartFiles
    modules: PartModules

    def identity(self) -> dict[str, Any]:
        """What it is built from, as written into every result; its modules are among the parts."""
        told = {"origin": self.source.origin, "sha256": self.source.sha256}
        return {**self.request.identity(), **told}


def add_board_sources(model: BoardModel, requests: Requests) -> dict[str, SourceRequest]:
    """The sources that a board's file names, and those of the user, which go before them.

    A patch alone is added to those of the board's file, whose tree and options stay.
    """
    home = model.home.absolute() if model.home else model.home
    board_requests = make_source_requests(model.source, home, f"board {model.name}")
    user_requests = {
        name: request
        if request.named or name not in board_requests
        else replace(
            board_requests[name], patches=(*board_requests[name].patches, *request.patches)
        )
        for name, request in requests.items()
    }
    return {**board_requests, **user_requests}


def needs_kernel_source(requests: Requests) -> bool:
    """Whether any part is built from the locked source of the board's kernel."""
    return any(r.tree is None and not r.part.port for r in requests.values())


def refuse_absent_package(model: BoardModel, requests: Requests) -> None:
    """UsageError for a part from the package of a kernel that no package has the source of."""
    wanted = [name for name, r in requests.items() if r.tree is None and not r.part.port]
    if wanted and model.own_kernel:
        raise UsageError(
            f"part {wanted[0]}: board {model.name} has a kernel of your own, whose source is in no "
            f"package: name the tree that it was built from: --source {wanted[0]}=FOLDER"
        )


def build_parts(model: BoardModel, kit: Kit, requests: Requests) -> dict[str, BuiltPart]:
    """The parts, built or found in the cache, by name; those of a port are left out."""
    package, origin = None, ""
    if needs_kernel_source(requests):
        package, origin = unpack_kernel_source(
            model, dict.fromkeys(kit.kernel.files, ""), kit.source
        )
    built: dict[str, BuiltPart] = {}
    for name in _sort_parts(requests):
        request = requests[name]
        refuse_builtin_part(model, request.part, (kit.kernel.modules / BUILTIN).read_text())
        source = read_part_files(request, package, origin)
        before = [built[earlier] for earlier in request.part.after if earlier in built]
        tree = request.tree or package
        version = read_tree_version(tree) if tree else None
        modules = build_part_modules(
            kit.tools,
            kit.kernel,
            request.part,
            add_called_headers(source, before),
            request.options,
            before=[earlier.modules for earlier in before],
            version=version,
        )
        built[name] = BuiltPart(request, source, modules)
    return built


def add_called_headers(source: PartFiles, called: Iterable[BuiltPart]) -> PartFiles:
    """A part's files with the headers of the parts that it calls, as these were built.

    Their symbols have the checksums of these headers' types. With the kernel's own headers the part
    would have the checksums and other types, and no check would tell.
    """
    headers = {
        path: other.source.content[path]
        for other in called
        for path in other.request.part.headers
        if path in other.source.content
    }
    return replace(source, content={**headers, **source.content})


def refuse_builtin_part(model: BoardModel, part: PartModel, builtin: str) -> None:
    """UsageError for a part that a kernel has built in. builtin: its list of such modules."""
    names = {line.rpartition("/")[2].removesuffix(".ko") for line in builtin.splitlines()}
    if inside := [name for name in part.modules if name in names]:
        raise UsageError(
            f"part {part.name}: the kernel of board {model.name} has {inside[0]} built in: another "
            "source of it takes a kernel of its own (docs/own/kernel.md)"
        )


def _sort_parts(requests: Requests) -> Iterator[str]:
    """The names of the parts, each behind those that it calls."""
    left = {name: r for name, r in requests.items() if not r.part.port}
    while left:
        ready = [name for name, r in left.items() if not left.keys() & set(r.part.after)]
        for name in sorted(ready or left):
            del left[name]
            yield name


def set_part_symbols(
    config: Mapping[str, str], parts: Iterable[Mapping[str, Setting]]
) -> dict[str, str]:
    """A kernel's configuration with what parts are built with, each part's values by symbol."""
    symbols = dict(config)
    for settings in parts:
        for symbol, value in settings.items():
            symbols.pop(symbol, None)
            symbols |= {symbol: value} if value != "n" else {}
    return symbols


def read_kernel_symvers(kernel: Kernel) -> str:
    """The symbols that a kernel and its modules export, with their versions."""
    return (kernel.root.path / kernel.headers.lstrip("/") / SYMVERS).read_text()
