# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems from Debian packages: locked, fetched and verified as a board's packages are.

``trees.lock`` beside a tree's file has its packages by version and SHA-256. The tree is what the
packages have: contents, permissions, links, times of modification. Everything is root's, devices
are left out. So equal packages give equal trees on every host.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_json_value
from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.board.kit import deb, kit, packages
from nandlab.board.kit import lock as locks
from nandlab.board.kit.apt import PackagesUnavailable, Suite
from nandlab.board.kit.lock import Files, Lock
from nandlab.board.kit.packagesets import TreeSet
from nandlab.catalog.files import find_noun_file, load_noun
from nandlab.catalog.noun import dump_noun_identity
from nandlab.catalog.tree import TreeContents, TreeModel

KIND = "trees"
"""The catalog's folder of trees."""
FILE = "trees.lock"
FORM = 1
"""Part of a tree's key: raise it when the same packages give another tree."""
FOLDER_MODE, FILE_MODE = 0o755, 0o644
HEAD = """\
# SHA-256 by package file, in a set for each tree: figures hold for these packages.
# `bench/rootfs NAME --update` locks a tree's newest packages; figures then belong to another tree.
"""


def make_tree_package_set(model: TreeModel) -> TreeSet:
    suite = Suite(model.release, model.arch)
    return TreeSet(suite, tuple(model.packages), model.name)


def make_tree_lock_path(name: str) -> Path:
    """The lock beside a tree's file."""
    return find_noun_file(KIND, name).parent / FILE


def read_locked_tree_packages(model: TreeModel, lock: Lock | None = None) -> Files:
    """A tree's packages; UsageError if they are not locked, or others than it names.

    lock: take them from here; None: from the lock beside the tree's file.
    """
    path = make_tree_lock_path(model.name)
    renew = f"`bench/rootfs {model.name} --update` locks its newest packages"
    files = (locks.read_package_lock(path) if lock is None else lock).get(
        make_tree_package_set(model).name
    )
    where = str(path) if lock is None else "the run's packages"
    if files is None:
        raise UsageError(f"tree {model.name}: {where} has no set of it: {renew}")
    found = {file.partition("_")[0] for file in files}
    if found != set(model.packages):
        other = min(found ^ set(model.packages))
        how = "does not have" if other in model.packages else "has"
        raise UsageError(f"tree {model.name}: {where} {how} the package {other}: {renew}")
    return files


def digest_tree_inputs(model: TreeModel, files: Files) -> str:
    """A digest of all that decides a tree's bytes."""
    return digest_json_value([_make_recipe(model), dict(files), FORM])


def _make_recipe(model: TreeModel) -> dict[str, Any]:
    """What of a tree's file decides its bytes."""
    return dump_noun_identity(model, "summary", "holds")


def fetch_tree_package_set(
    model: TreeModel, files: Files, *, strictly: bool
) -> tuple[Files, list[str]]:
    """Sees that the cache has a tree's packages; these, and how they differ from the locked.

    strictly: UsageError if the locked ones are not to be had; else the newest are taken then.
    """
    taken, moved = kit.fetch_package_set_or_newest(make_tree_package_set(model), files, strictly)
    if moved:
        print_note(f"not the locked tree: {'; '.join(moved)}")
    return taken, moved


def prepare_tree_folder(model: TreeModel, files: Files, *, as_told: bool = True) -> Path:
    """The folder of a tree, unpacked from packages in the cache, or found there unpacked.

    as_told: UsageError if it has not what its file says that it holds.
    """
    inputs = {"tree": _make_recipe(model), "files": dict(files), "form": FORM}
    top = (
        make_entry("trees", inputs, lambda work: unpack_tree_packages(model, files, work / "tree"))
        / "tree"
    )
    found = count_tree_contents(top)
    if as_told and model.holds is not None and found != model.holds:
        raise UsageError(
            f"tree {model.name} has {format_tree_contents(found)}, and its file says "
            f"{format_tree_contents(model.holds)}: "
            "mend [holds]"
        )
    return top


def format_tree_contents(found: TreeContents) -> str:
    return f"{found.folders} folders, {found.files} files, {found.links} links, {found.bytes} bytes"


def count_tree_contents(top: Path) -> TreeContents:
    """What an unpacked tree has."""
    folders, links = 0, 0
    sizes: dict[int, int] = {}
    for at, below, files in os.walk(top):
        every = [Path(at, name) for name in (*below, *files)]
        linked = [path for path in every if path.is_symlink()]
        links += len(linked)
        folders += len(below) - sum(path.name in below for path in linked)
        for path in every:
            if path.is_file() and not path.is_symlink():
                found = path.stat()
                sizes[found.st_ino] = found.st_size
    return TreeContents(folders=folders, files=len(sizes), links=links, bytes=sum(sizes.values()))


def update_tree_lock(name: str) -> list[str]:
    """Locks the newest packages for a tree; what changed. UsageError if there is no mirror."""
    model = load_noun(KIND, name, TreeModel)
    package_set, path = make_tree_package_set(model), make_tree_lock_path(name)
    try:
        newest = packages.resolve_newest_packages(package_set)
    except PackagesUnavailable as e:
        raise UsageError(f"{package_set.name}: {e}") from None
    old = locks.read_package_lock(path)
    locks.write_package_lock(path, {**old, package_set.name: newest}, HEAD)
    return locks.format_package_changes(old.get(package_set.name, {}), newest)


def unpack_tree_packages(model: TreeModel, files: Files, to: Path) -> None:
    """Unpacks packages of the cache into a new folder."""
    if damaged := packages.list_missing_packages(files):
        raise UsageError(f"{damaged[0]}: it was damaged in the cache and is removed: run again")
    print_note(f"unpacking {len(files)} packages of {model.name}")
    _TreeUnpacker(model, to).run(files)


@dataclass
class _TreeUnpacker:
    """A tree that is being unpacked."""

    model: TreeModel
    to: Path
    folders: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Mode and time of each folder. Of several packages that have it, the mode is the first's by
    name, the time is the latest."""
    latest: int = 0
    """The latest time of what packages have of it: that of what no package has."""

    def run(self, files: Files) -> None:
        self.to.mkdir()
        for file, sha256 in sorted(files.items()):
            with deb.open_package_tar(packages.make_cached_package_path(sha256), file) as tar:
                for member in tar:
                    self._take(tar, member, file)
        self._add()
        for name, (mode, mtime) in sorted(self.folders.items(), reverse=True):
            path = self.to / name
            path.chmod(mode)
            os.utime(path, (mtime, mtime))
        self.to.chmod(FOLDER_MODE)
        os.utime(self.to, (self.latest, self.latest))

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo, file: str) -> None:
        name = deb.map_path_into_root(member.name, merged=self.model.merged_usr)
        merges = member.issym() and name.removeprefix("usr/") in deb.TOP_FOLDERS  # as _add does
        if name in ("", ".") or merges or not self.model.has(name):
            return
        mtime = int(member.mtime)
        self.latest = max(self.latest, mtime)
        target = self._place(name)
        if member.isdir() != target.is_dir() and target.exists():
            raise UsageError(f"{file}: {name} is a folder in one package and not in another")
        if member.isdir():
            target.mkdir(exist_ok=True)
            mode, before = self.folders.get(name, (member.mode & 0o7777, 0))
            self.folders[name] = (mode, max(mtime, before))
        elif member.issym():
            self._link(target, member.linkname, mtime)
        elif member.islnk():
            first = self.to / deb.map_path_into_root(member.linkname, merged=self.model.merged_usr)
            if not first.exists():
                raise UsageError(f"{file}: {name} is a hard link to what is left out")
            target.unlink(missing_ok=True)
            target.hardlink_to(first)
        elif member.isreg():
            target.unlink(missing_ok=True)
            with target.open("wb") as out:
                out.writelines(deb.read_member_blocks(tar, member))
            target.chmod(member.mode & 0o7777)
            os.utime(target, (mtime, mtime))

    def _place(self, name: str) -> Path:
        """Where something goes; the folders above it that no package has are made."""
        above = Path(name).parents
        for folder in [str(f) for f in reversed(list(above)[:-1])]:
            if not (self.to / folder).is_dir():
                (self.to / folder).mkdir()
        path = self.to / name
        if not path.parent.resolve().is_relative_to(self.to.resolve()):
            raise UsageError(f"{name} leads out of the tree by a link")
        return path

    def _link(self, path: Path, to: str, mtime: int) -> None:
        path.unlink(missing_ok=True)
        path.symlink_to(to)
        os.utime(path, (mtime, mtime), follow_symlinks=False)

    def _add(self) -> None:
        """Adds what Debian's scripts would, and gives every folder a mode and a time."""
        links = dict(self.model.links)
        if self.model.merged_usr:
            links |= {n: f"usr/{n}" for n in deb.TOP_FOLDERS if (self.to / "usr" / n).is_dir()}
        for name, to in sorted(links.items()):
            self._link(self._free(name), to, self.latest)
        for name, source in sorted(self.model.copies.items()):
            if not (self.to / source).is_file():
                raise UsageError(f"tree {self.model.name}: copies: {source}: no such file in it")
            shutil.copy2(self.to / source, self._free(name))
        for name, text in sorted(self.model.texts.items()):
            path = self._free(name)
            path.write_text(text)
            path.chmod(FILE_MODE)
            os.utime(path, (self.latest, self.latest))
        for path in self.to.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                name = str(path.relative_to(self.to))
                self.folders.setdefault(name, (FOLDER_MODE, self.latest))

    def _free(self, name: str) -> Path:
        """Where something is added; UsageError if a package has it."""
        path = self._place(name)
        if path.is_symlink() or path.exists():
            raise UsageError(f"tree {self.model.name}: {name}: a package has it already")
        return path
