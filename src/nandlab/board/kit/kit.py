# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a board is made of and built by, at the versions that its lock names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG, INSTALLED, find_cache_folder
from nandlab.base.printer import print_note
from nandlab.board.kit import lock as locks
from nandlab.board.kit import packages
from nandlab.board.kit.apt import PackagesUnavailable, Suite, fetch_lists_once
from nandlab.board.kit.kernel import Kernel, find_kernel_in_root
from nandlab.board.kit.kernelsource import make_kernel_source_set
from nandlab.board.kit.lock import Files, Lock
from nandlab.board.kit.packagesets import (
    KERNEL_PACKAGES,
    OWN_KERNEL_PACKAGES,
    ImageSet,
    KernelBuildSet,
    KernelSet,
    OwnKernelSet,
    SourceSet,
    SuiteSet,
    ToolSet,
)
from nandlab.board.kit.root import (
    Root,
    find_unpacked_root,
    prepare_package_root,
    require_root_entry,
)
from nandlab.catalog.arch import HOST_ARCH
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import PROJECT_FOLDER, find_noun_file
from nandlab.catalog.imagetools import MTD_UTILS

SHIPPED_BOARDS = CATALOG / "boards"
YAFFS2_SOURCE = SourceSet(Suite("bookworm", "amd64"), "u-boot")
"""Has the core of YAFFS2. All boards take the same, so that kernels can be compared."""
KERNEL_IMAGE = "linux-image-"
PACKAGE_REMEDY = (
    "import a board file (`nandlab board import`), name a folder of packages or a board file in "
    f"{packages.PACKAGES_VARIABLE}, or configure a mirror of Debian for apt"
)


@dataclass(frozen=True)
class Kit:
    """What a board is made of. Construct with :func:`fetch_board_kit`."""

    lock: Lock
    """The packages taken, in sets."""
    lock_differences: tuple[str, ...]
    """How they differ from those that are locked, a line each; empty: they do not."""
    tools: Root
    kernel: Kernel
    yaffs2: Files = field(default_factory=dict)
    """The source package with YAFFS2's core; empty: the user gave another."""
    source: Files = field(default_factory=dict)
    """The package with the kernel's source; empty: nothing is built from it."""


def make_tool_package_set(model: BoardModel) -> ToolSet:
    release = model.tools or Suite(model.release, model.arch).base
    return ToolSet(Suite(release, HOST_ARCH), model.arch)


def make_kernel_package_set(model: BoardModel) -> KernelSet | OwnKernelSet:
    suite = Suite(model.release, model.arch)
    if model.own_kernel:
        return OwnKernelSet(suite, model.kernel, _find_own_kernel_folder(model))
    return KernelSet(suite, model.kernel)


def make_own_kernel_folder(boards: Path, kernel: str) -> Path:
    """Where the packages of a kernel of one's own are kept, beside the boards' files."""
    return boards / f"{kernel}.packages"


def _find_own_kernel_folder(model: BoardModel) -> Path | None:
    """The folder with the packages of a board's own kernel; None: the board has no file here."""
    try:
        return make_own_kernel_folder(make_board_lock_path(model).parent, model.kernel)
    except UsageError:
        return None


def list_board_package_sets(model: BoardModel, *, yaffs2: bool = True) -> list[SuiteSet]:
    """The sets that a board is made of."""
    return [
        make_tool_package_set(model),
        make_kernel_package_set(model),
        *([YAFFS2_SOURCE] if yaffs2 else []),
    ]


def make_board_lock_path(model: BoardModel) -> Path:
    """The lock beside a board's file, which may lie beside a study in another folder."""
    own = model.home / PROJECT_FOLDER / "boards" / f"{model.name}.toml" if model.home else None
    path = own if own and own.is_file() else find_noun_file("boards", model.name)
    return path.parent / locks.FILE


def read_board_package_lock(model: BoardModel) -> Lock:
    """The sets that are locked for a board: beside its file, else those of the shipped boards."""
    return read_package_lock_with_shipped(make_board_lock_path(model))


def read_package_lock_with_shipped(path: Path) -> Lock:
    """The sets of a lock, and those of the shipped one that it lacks."""
    return {**locks.read_package_lock(SHIPPED_BOARDS / locks.FILE), **locks.read_package_lock(path)}


@fetch_lists_once()
def fetch_board_kit(
    model: BoardModel,
    *,
    locked: bool = False,
    lock: Lock | None = None,
    yaffs2: bool = True,
    source: bool = False,
) -> Kit:
    """The kit of a board, fetched and unpacked, or found in the cache.

    locked: UsageError if the locked packages are not to be had; else the newest are taken then.
    lock: take these and no others. yaffs2: with the source of YAFFS2's core. source: with that of
    the kernel.
    """
    sets = list_board_package_sets(model, yaffs2=yaffs2)
    files_by_set, moved = fetch_package_sets(model, sets, locked=locked, lock=lock)
    kernel_source = make_kernel_source_set(model, files_by_set[make_kernel_package_set(model).name])
    if source:
        source_files, moved_more = fetch_package_sets(
            model, [kernel_source], locked=locked, lock=lock
        )
        files_by_set, moved = {**files_by_set, **source_files}, [*moved, *moved_more]
    tools = prepare_package_root(files_by_set[make_tool_package_set(model).name])
    require_root_entry(tools)
    files = files_by_set[make_kernel_package_set(model).name]
    return Kit(
        files_by_set,
        tuple(moved),
        tools,
        find_model_kernel(model, files, prepare_package_root(files)),
        files_by_set.get(YAFFS2_SOURCE.name, {}),
        files_by_set.get(kernel_source.name, {}),
    )


def find_model_kernel(model: BoardModel, files: Files, unpacked: Root) -> Kernel:
    """The kernel of a board in its unpacked set; UsageError if a package of it is not there."""
    kinds = OWN_KERNEL_PACKAGES if model.own_kernel else KERNEL_PACKAGES
    return find_kernel_in_root(files, unpacked, kinds)


def fetch_board_tools(model: BoardModel) -> tuple[Root, Files]:
    """The tools of a board and their packages."""
    each = make_tool_package_set(model)
    taken, _ = fetch_package_sets(model, [each])
    return prepare_package_root(taken[each.name]), taken[each.name]


def make_image_tool_set(model: BoardModel) -> ImageSet:
    """What makes images of read-only file systems: of the release of the board's tools."""
    return ImageSet(make_tool_package_set(model).suite)


def make_kernel_build_set(model: BoardModel) -> KernelBuildSet:
    """What builds a kernel: of the release of the board's tools."""
    return KernelBuildSet(make_tool_package_set(model).suite)


def fetch_kernel_builders(model: BoardModel, tools: Files) -> Root:
    """The root that a board's kernel is built in: its tools, and what only such a build needs.

    tools: the packages of the board's tools. No lock is written; without one, the mirror's newest
    are taken for what the tools lack.
    """
    build_set = make_kernel_build_set(model)
    files = read_board_package_lock(model).get(build_set.name)
    try:
        files = files or packages.resolve_newest_packages(build_set)
    except PackagesUnavailable as e:
        raise UsageError(f"what builds a kernel: {e}; {PACKAGE_REMEDY}") from None
    fetch_locked_package_set(build_set, files)
    tool_names = {file.partition("_")[0] for file in tools}
    builder_files = {
        file: s for file, s in files.items() if file.partition("_")[0] not in tool_names
    }
    return prepare_package_root({**builder_files, **tools})


def find_image_tool_packages(model: BoardModel, package: str) -> Files:
    """The locked packages that images are made by, if a board's own tools do not have the package;
    empty: they do."""
    own = package == MTD_UTILS
    return {} if own else read_board_package_lock(model).get(make_image_tool_set(model).name, {})


def fetch_image_tools(model: BoardModel) -> tuple[Root, Files]:
    """The makers of read-only file systems and their packages."""
    each = make_image_tool_set(model)
    taken, _ = fetch_package_sets(model, [each])
    return prepare_package_root(taken[each.name]), taken[each.name]


@fetch_lists_once()
def fetch_package_sets(
    model: BoardModel,
    sets: Sequence[SuiteSet],
    *,
    locked: bool = False,
    lock: Lock | None = None,
    path: Path | None = None,
) -> tuple[dict[str, Files], list[str]]:
    """The files of these sets, in the cache, and how they differ from the locked, which is told.

    locked, lock: see kit. path: the lock that has them beside the shipped; None: the board's.
    """
    files_by_set: dict[str, Files] = {}
    moved: list[str] = []
    path = (path or make_board_lock_path(model)) if lock is None else None
    locked_files = (lock or {}) if path is None else read_package_lock_with_shipped(path)
    for package_set in sets:
        files = locked_files.get(package_set.name)
        if files is not None and path is not None:
            _copy_shipped_lock(path, package_set, files)
        elif files is None and (locked or path is None):
            raise UsageError(
                f"board {model.name}: no lock has {package_set.name!r}: `nandlab board update "
                f"{model.name}` makes one"
            )
        files = files or _lock_newest(model.name, path or make_board_lock_path(model), package_set)
        files_by_set[package_set.name], changed = fetch_package_set_or_newest(
            package_set, files, locked or path is None
        )
        moved += changed
    if moved:
        print_note(f"not the locked board: {'; '.join(moved)}")
    return files_by_set, moved


def fetch_locked_package_set(each: SuiteSet, files: Files) -> None:
    """Brings a set's files into the cache; UsageError if they are not to be had."""
    try:
        packages.fetch_packages(each, files)
    except PackagesUnavailable as e:
        raise UsageError(f"the locked packages are not to be had: {e}; {PACKAGE_REMEDY}") from None


def fetch_package_set_or_newest(
    package_set: SuiteSet, files: Files, strictly: bool
) -> tuple[Files, list[str]]:
    """Sees that the cache has a set, else the newest packages for it; these, and what changed.

    strictly: UsageError if the set is not to be had.
    """
    if has_package_set(package_set, files):
        return files, []
    if strictly:
        fetch_locked_package_set(package_set, files)
        return files, []
    try:
        packages.fetch_packages(package_set, files)
    except PackagesUnavailable:
        return _fetch_newest_instead(package_set, files)
    return files, []


def has_package_set(each: SuiteSet, files: Files) -> bool:
    """Whether the cache has a set, unpacked or not; an empty set is not there."""
    if not files:
        return False
    unpacked = each.kind == "deb" and find_unpacked_root(files)
    return bool(unpacked) or not packages.list_missing_packages(files)


def seems_to_have_package_set(each: SuiteSet, files: Files) -> bool:
    """The same at a glance: nothing is read, so what is damaged counts as here."""
    if not files:
        return False
    unpacked = each.kind == "deb" and find_unpacked_root(files)
    return bool(unpacked) or all(
        packages.make_cached_package_path(sha256).exists() for sha256 in files.values()
    )


def _fetch_newest_instead(package_set: SuiteSet, files: Files) -> tuple[Files, list[str]]:
    """The newest packages, kept in the cache so that results stay comparable among themselves."""
    digest = digest_json_value([package_set.name, dict(files)])
    lock_path = find_cache_folder() / "moved" / f"{digest[:20]}.lock"
    try:
        newest = locks.read_package_lock(lock_path).get(package_set.name)
        newest = newest or packages.resolve_newest_packages(package_set)
        packages.fetch_packages(package_set, newest)
    except PackagesUnavailable as e:
        raise UsageError(
            f"neither the locked packages are to be had nor others: {e}; {PACKAGE_REMEDY}"
        ) from None
    lock_path.parent.mkdir(parents=True, exist_ok=True)
    locks.write_package_lock(lock_path, {package_set.name: newest})
    changes = locks.format_package_changes(files, newest)
    return newest, [f"{package_set.name}: {line}" for line in changes]


def _copy_shipped_lock(path: Path, package_set: SuiteSet, files: Files) -> None:
    """Sees that a board of one's own has a lock of its own: the shipped one may move on."""
    own_lock = locks.read_package_lock(path)
    if path.parent != SHIPPED_BOARDS and package_set.name not in own_lock:
        locks.write_package_lock(path, {**own_lock, package_set.name: files})
        print_note(f"{path}: locked {package_set.name} as the shipped boards have it")


def _lock_newest(board: str, path: Path, package_set: SuiteSet) -> Files:
    """Locks the newest packages for a board, or a program, that has no lock yet."""
    try:
        files = packages.resolve_newest_packages(package_set)
    except PackagesUnavailable as e:
        raise UsageError(
            f"board {board} has no lock of {package_set.name!r}, and none can be made: {e}; "
            f"{PACKAGE_REMEDY}"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    locks.write_package_lock(path, {**locks.read_package_lock(path), package_set.name: files})
    print_note(f"{path}: locked {package_set.name} at today's newest packages")
    return files


@fetch_lists_once()
def update_package_locks(
    models: Mapping[str, BoardModel],
    list_further_sets: Callable[[BoardModel], Sequence[tuple[SuiteSet, Path]]] = lambda model: (),
) -> dict[Path, list[str]]:
    """Locks the newest packages for these boards; per lock, what changed.

    UsageError: no mirror, or a shipped board of an installed nandlab.

    list_further_sets: further sets for a board, each with the lock that has it.
    """
    changes: dict[Path, list[str]] = {}
    newest: dict[str, Files] = {}
    todo: dict[Path, dict[str, Files]] = {}
    for model in models.values():
        if INSTALLED and make_board_lock_path(model).parent == SHIPPED_BOARDS:
            raise UsageError(
                f"board {model.name}: its lock came with the installed nandlab; lock a board of "
                "your own, in ./catalog/boards (docs/own/board.md), or work in a checkout"
            )
        for package_set, path in [
            *((e, make_board_lock_path(model)) for e in list_board_package_sets(model)),
            *list_further_sets(model),
        ]:
            if package_set.fixed:
                continue
            try:
                newest[package_set.name] = newest.get(
                    package_set.name
                ) or packages.resolve_newest_packages(package_set)
            except PackagesUnavailable as e:
                raise UsageError(f"{package_set.name}: {e}") from None
            old = read_package_lock_with_shipped(path).get(package_set.name, {})
            lines = locks.format_package_changes(old, newest[package_set.name])
            changes.setdefault(path, []).extend(f"{package_set.name}: {line}" for line in lines)
            todo.setdefault(path, {})[package_set.name] = newest[package_set.name]
    for path, sets in todo.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        locks.write_package_lock(path, {**locks.read_package_lock(path), **sets})
    return {path: list(dict.fromkeys(lines)) for path, lines in changes.items()}


def find_unpacked_tools(model: BoardModel) -> Root | None:
    """The locked tools of a board if they are unpacked already; fetches nothing."""
    files = read_board_package_lock(model).get(make_tool_package_set(model).name)
    return find_unpacked_root(files) if files else None


def read_locked_kernel_release(model: BoardModel) -> str:
    """The release of a board's locked kernel, as 6.1.0-50-amd64; fetches nothing.

    UsageError if the board has no lock.
    """
    files = read_board_package_lock(model).get(make_kernel_package_set(model).name, {})
    image = next((name for name in files if name.startswith(KERNEL_IMAGE)), None)
    if image is None:
        raise UsageError(f"board {model.name}: no kernel is locked: nandlab board update")
    return image.removeprefix(KERNEL_IMAGE).partition("_")[0]


def find_unpacked_kernel(model: BoardModel) -> Kernel | None:
    """The locked kernel of a board if it is unpacked already; fetches nothing."""
    files = read_board_package_lock(model).get(make_kernel_package_set(model).name)
    unpacked = find_unpacked_root(files) if files else None
    return find_model_kernel(model, files, unpacked) if files and unpacked else None
