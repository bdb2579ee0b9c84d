# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a board is made of and built by, at the versions that its lock names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.digest import digest
from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG, INSTALLED, cache_dir
from nandlab.base.printer import note
from nandlab.catalog.arch import HOST
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import PROJECT, place
from nandlab.catalog.imagetools import MTD_UTILS
from nandlab.kit import lock as locks
from nandlab.kit import packages
from nandlab.kit.apt import NotToBeHad, Suite
from nandlab.kit.kernel import Kernel, kernel
from nandlab.kit.lock import Files, Lock
from nandlab.kit.root import Root, require_entry, root, root_here
from nandlab.kit.wanted import ImageSet, KernelSet, SourceSet, ToolSet, Wanted

SHIPPED = CATALOG / "boards"
YAFFS2 = SourceSet(Suite("bookworm", "amd64"), "u-boot")
"""Has the core of YAFFS2. All boards take the same, so that kernels can be compared."""
KERNEL_IMAGE = "linux-image-"
WAYS = (
    "import a board file (`nandlab board import`), name a folder of packages or a board file in "
    f"{packages.VARIABLE}, or configure a mirror of Debian for apt"
)


@dataclass(frozen=True)
class Kit:
    """What a board is made of. Construct with :func:`kit`."""

    lock: Lock
    """The packages taken, in sets."""
    moved: tuple[str, ...]
    """How they differ from those that are locked, a line each; empty: they do not."""
    tools: Root
    kernel: Kernel
    yaffs2: Files = field(default_factory=dict)
    """The source package with YAFFS2's core; empty: the user gave another."""


def tool_set(model: BoardModel) -> ToolSet:
    release = model.tools or Suite(model.release, model.arch).base
    return ToolSet(Suite(release, HOST), model.arch)


def kernel_set(model: BoardModel) -> KernelSet:
    return KernelSet(Suite(model.release, model.arch), model.kernel)


def wanted(model: BoardModel, *, yaffs2: bool = True) -> list[Wanted]:
    """The sets that a board is made of."""
    return [tool_set(model), kernel_set(model), *([YAFFS2] if yaffs2 else [])]


def lock_path(model: BoardModel) -> Path:
    """The lock beside a board's file, which may lie beside a study in another folder."""
    own = model.home / PROJECT / "boards" / f"{model.name}.toml" if model.home else None
    path = own if own and own.is_file() else place("boards", model.name)
    return path.parent / locks.FILE


def lock_of(model: BoardModel) -> Lock:
    """The sets that are locked for a board: beside its file, else those of the shipped boards."""
    return locked_in(lock_path(model))


def locked_in(path: Path) -> Lock:
    """The sets of a lock, and those of the shipped one that it lacks."""
    return {**locks.read(SHIPPED / locks.FILE), **locks.read(path)}


def kit(
    model: BoardModel,
    *,
    locked: bool = False,
    lock: Lock | None = None,
    yaffs2: bool = True,
) -> Kit:
    """The kit of a board, fetched and unpacked, or found in the cache.

    locked: UsageError if the locked packages are not to be had; else the newest are taken then.
    lock: take these and no others. yaffs2: with the source of YAFFS2's core.
    """
    taken, moved = take(model, wanted(model, yaffs2=yaffs2), locked=locked, lock=lock)
    tools = root(taken[tool_set(model).name])
    require_entry(tools)
    files = taken[kernel_set(model).name]
    return Kit(taken, tuple(moved), tools, kernel(files, root(files)), taken.get(YAFFS2.name, {}))


def tools_of(model: BoardModel) -> tuple[Root, Files]:
    """The tools of a board and their packages."""
    each = tool_set(model)
    taken, _ = take(model, [each])
    return root(taken[each.name]), taken[each.name]


def image_set(model: BoardModel) -> ImageSet:
    """What makes images of read-only file systems: of the release of the board's tools."""
    return ImageSet(tool_set(model).suite)


def makers(model: BoardModel, package: str) -> Files:
    """The locked packages that images are made by, if a board's own tools do not have the package;
    empty: they do."""
    own = package == MTD_UTILS
    return {} if own else lock_of(model).get(image_set(model).name, {})


def image_tools_of(model: BoardModel) -> tuple[Root, Files]:
    """The makers of read-only file systems and their packages."""
    each = image_set(model)
    taken, _ = take(model, [each])
    return root(taken[each.name]), taken[each.name]


def take(
    model: BoardModel,
    sets: Sequence[Wanted],
    *,
    locked: bool = False,
    lock: Lock | None = None,
    path: Path | None = None,
) -> tuple[dict[str, Files], list[str]]:
    """The files of these sets, in the cache, and how they differ from the locked, which is told.

    locked, lock: see kit. path: the lock that has them beside the shipped; None: the board's.
    """
    found: dict[str, Files] = {}
    moved: list[str] = []
    path = (path or lock_path(model)) if lock is None else None
    known = (lock or {}) if path is None else locked_in(path)
    for each in sets:
        files = known.get(each.name)
        if files is not None and path is not None:
            _lock_beside(path, each, files)
        elif files is None and (locked or path is None):
            raise UsageError(
                f"board {model.name}: no lock has {each.name!r}: `nandlab board update "
                f"{model.name}` makes one"
            )
        files = files or _newly_locked(model.name, path or lock_path(model), each)
        found[each.name], changed = brought(each, files, locked or path is None)
        moved += changed
    if moved:
        note(f"not the locked board: {'; '.join(moved)}")
    return found, moved


def strictly_brought(each: Wanted, files: Files) -> None:
    """Brings a set's files into the cache; UsageError if they are not to be had."""
    try:
        packages.bring(each, files)
    except NotToBeHad as e:
        raise UsageError(f"the locked packages are not to be had: {e}; {WAYS}") from None


def brought(each: Wanted, files: Files, strictly: bool) -> tuple[Files, list[str]]:
    """Sees that the cache has a set, else the newest packages for it; these, and what changed.

    strictly: UsageError if the set is not to be had.
    """
    if here(each, files):
        return files, []
    if strictly:
        strictly_brought(each, files)
        return files, []
    try:
        packages.bring(each, files)
    except NotToBeHad:
        return _newest_instead(each, files)
    return files, []


def here(each: Wanted, files: Files) -> bool:
    """Whether the cache has a set, unpacked or not; an empty set is not there."""
    if not files:
        return False
    unpacked = each.kind == "deb" and root_here(files)
    return bool(unpacked) or not packages.missing(files)


def seen(each: Wanted, files: Files) -> bool:
    """The same at a glance: nothing is read, so what is damaged counts as here."""
    if not files:
        return False
    unpacked = each.kind == "deb" and root_here(files)
    return bool(unpacked) or all(packages.place(sha256).exists() for sha256 in files.values())


def _newest_instead(each: Wanted, files: Files) -> tuple[Files, list[str]]:
    """The newest packages, kept in the cache so that results stay comparable among themselves."""
    kept = cache_dir() / "moved" / f"{digest([each.name, dict(files)])[:20]}.lock"
    try:
        newest = locks.read(kept).get(each.name) or packages.newest(each)
        packages.bring(each, newest)
    except NotToBeHad as e:
        raise UsageError(
            f"neither the locked packages are to be had nor others: {e}; {WAYS}"
        ) from None
    kept.parent.mkdir(parents=True, exist_ok=True)
    locks.write(kept, {each.name: newest})
    return newest, [f"{each.name}: {line}" for line in locks.changes(files, newest)]


def _lock_beside(path: Path, each: Wanted, files: Files) -> None:
    """Sees that a board of one's own has a lock of its own: the shipped one may move on."""
    own = locks.read(path)
    if path.parent != SHIPPED and each.name not in own:
        locks.write(path, {**own, each.name: files})
        note(f"{path}: locked {each.name} as the shipped boards have it")


def _newly_locked(board: str, path: Path, each: Wanted) -> Files:
    """Locks the newest packages for a board, or a program, that has no lock yet."""
    try:
        files = packages.newest(each)
    except NotToBeHad as e:
        raise UsageError(
            f"board {board} has no lock of {each.name!r}, and none can be made: {e}; {WAYS}"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    locks.write(path, {**locks.read(path), each.name: files})
    note(f"{path}: locked {each.name} at today's newest packages")
    return files


def update(
    models: Mapping[str, BoardModel],
    beside: Callable[[BoardModel], Sequence[tuple[Wanted, Path]]] = lambda model: (),
) -> dict[Path, list[str]]:
    """Locks the newest packages for these boards; per lock, what changed.

    UsageError: no mirror, or a shipped board of an installed nandlab.

    beside: further sets for a board, each with the lock that has it.
    """
    told: dict[Path, list[str]] = {}
    newest: dict[str, Files] = {}
    todo: dict[Path, dict[str, Files]] = {}
    for model in models.values():
        if INSTALLED and lock_path(model).parent == SHIPPED:
            raise UsageError(
                f"board {model.name}: its lock came with the installed nandlab; lock a board of "
                "your own, in ./catalog/boards (docs/own/board.md), or work in a checkout"
            )
        for each, path in [*((e, lock_path(model)) for e in wanted(model)), *beside(model)]:
            try:
                newest[each.name] = newest.get(each.name) or packages.newest(each)
            except NotToBeHad as e:
                raise UsageError(f"{each.name}: {e}") from None
            old = locked_in(path).get(each.name, {})
            lines = locks.changes(old, newest[each.name])
            told.setdefault(path, []).extend(f"{each.name}: {line}" for line in lines)
            todo.setdefault(path, {})[each.name] = newest[each.name]
    for path, sets in todo.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        locks.write(path, {**locks.read(path), **sets})
    return {path: list(dict.fromkeys(lines)) for path, lines in told.items()}


def tools_here(model: BoardModel) -> Root | None:
    """The locked tools of a board if they are unpacked already; fetches nothing."""
    files = lock_of(model).get(tool_set(model).name)
    return root_here(files) if files else None


def kernel_release(model: BoardModel) -> str:
    """The release of a board's locked kernel, as 6.1.0-50-amd64; fetches nothing.

    UsageError if the board has no lock.
    """
    files = lock_of(model).get(kernel_set(model).name, {})
    image = next((name for name in files if name.startswith(KERNEL_IMAGE)), None)
    if image is None:
        raise UsageError(f"board {model.name}: no kernel is locked: nandlab board update")
    return image.removeprefix(KERNEL_IMAGE).partition("_")[0]


def kernel_here(model: BoardModel) -> Kernel | None:
    """The locked kernel of a board if it is unpacked already; fetches nothing."""
    files = lock_of(model).get(kernel_set(model).name)
    unpacked = root_here(files) if files else None
    return kernel(files, unpacked) if files and unpacked else None
