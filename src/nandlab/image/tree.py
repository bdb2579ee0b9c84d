# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder's tree: what an image is made from, and what is read back out of one.

Paths are relative to the folder, whose own path is empty. Names may hold any byte; they are decoded
as Python decodes file names (os.fsdecode). Files, folders, symbolic links and hard links are
carried; anything else is refused.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printable import make_printable
from nandlab.catalog.filesystem import Difference, FilesystemModel
from nandlab.catalog.imagetools import Loss

CASES_SHOWN = 5
"""An error message lists this many cases and counts the rest."""
READ_BYTES = 1 << 20
FAT_TIME_STEP_S = 2


@dataclass(frozen=True)
class TreeEntry:
    """One path of a tree."""

    path: str
    mode: int
    """Type and permissions, as stat(2) has them."""
    uid: int
    gid: int
    size: int
    mtime_s: int
    inode: int
    target: str | None = None
    """Of a symbolic link: where it points."""
    crc32: int | None = None
    """Of a file that was read: the CRC-32 of its content."""

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


@dataclass(frozen=True)
class FileTree:
    """All paths of a folder, sorted, the folder itself first."""

    entries: tuple[TreeEntry, ...]

    def __iter__(self) -> Iterator[TreeEntry]:
        return iter(self.entries)

    def first_names(self) -> dict[int, str]:
        """The first path of each file's inode; later paths are hard links to it."""
        found: dict[int, str] = {}
        for e in self.entries:
            if e.is_file:
                found.setdefault(e.inode, e.path)
        return found

    def counts(self) -> dict[str, int]:
        """Files, hard links to them, folders, symbolic links, and the files' bytes."""
        firsts = self.first_names()
        names = [e for e in self.entries if e.is_file]
        files = [e for e in names if firsts[e.inode] == e.path]
        return {
            "files": len(files),
            "hard_links": len(names) - len(files),
            "folders": sum(e.is_folder for e in self.entries) - 1,
            "symbolic_links": sum(e.is_link for e in self.entries),
            "bytes": sum(e.size for e in files),
        }

    def exclude_entries(self, own: Iterable[str]) -> FileTree:
        """The tree without what the file system itself puts into its root."""
        names = set(own)
        return FileTree(tuple(e for e in self.entries if e.path not in names))


def escape_file_name(name: str) -> str:
    """A name for a line of text: bytes that cannot be printed become \\xNN."""
    return make_printable(name, exact=True)


def scan_folder_tree(folder: Path) -> FileTree:
    """The tree of a folder; UsageError if it is no folder, or holds what no image can hold."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    entries = [_read_entry(folder, "")]
    wrong: list[str] = []
    for at, folders, files in os.walk(folder, onerror=_raise_unreadable):
        for name in (*folders, *files):
            path = Path(at, name)
            entry = _read_entry(folder, str(path.relative_to(folder)))
            if not (entry.is_file or entry.is_folder or entry.is_link):
                wrong.append(
                    f"{folder}: {escape_file_name(entry.path)} is {_name_kind(entry.mode)}"
                )
            if entry.is_file and not os.access(path, os.R_OK):
                wrong.append(f"{folder}: {escape_file_name(entry.path)} cannot be read")
            entries.append(entry)
    if wrong:
        what = "an image takes files, folders, symbolic and hard links that you may read"
        raise UsageError(*_cut_cases(wrong), what)
    return _sort_entries(entries)


def _raise_unreadable(e: OSError) -> None:
    raise UsageError(f"{escape_file_name(os.fsdecode(e.filename))}: cannot be read: {e.strerror}")


def _sort_entries(entries: Iterable[TreeEntry]) -> FileTree:
    return FileTree(tuple(sorted(entries, key=lambda e: os.fsencode(e.path))))


def _read_entry(folder: Path, path: str) -> TreeEntry:
    at = folder / path
    st = at.lstat() if path else at.stat()
    # Path.readlink() would tidy the target up
    target = os.readlink(at) if stat.S_ISLNK(st.st_mode) else None  # noqa: PTH115
    return TreeEntry(
        path=path,
        mode=st.st_mode,
        uid=st.st_uid,
        gid=st.st_gid,
        size=st.st_size,
        mtime_s=st.st_mtime_ns // 1_000_000_000,
        inode=st.st_dev << 64 | st.st_ino,
        target=target,
    )


def _name_kind(mode: int) -> str:
    kinds = {
        stat.S_IFBLK: "a block device",
        stat.S_IFCHR: "a character device",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "of an unknown type")


def _cut_cases(cases: list[str]) -> list[str]:
    more = len(cases) - CASES_SHOWN
    return [*cases[:CASES_SHOWN], f"… and {more} more"] if more > 0 else cases


def refuse_unstorable_names(tree: FileTree, fs: FilesystemModel) -> None:
    """UsageError for names and links that the file system cannot hold."""
    wrong = [
        f"{escape_file_name(e.path)}: {fs.title} has one of its own there"
        for e in tree
        if e.path in fs.own_entries
    ]
    if fs.names:
        pattern = re.compile(fs.names.pattern)
        wrong += [
            f"{escape_file_name(e.path)}: {fs.names.why}"
            for e in tree
            if e.path and not pattern.fullmatch(e.path.rpartition("/")[2])
        ]
    wrong += [
        f"{escape_file_name(e.path)}: points to a path of {length} bytes; {fs.title} takes at most "
        f"{most}"
        for e in tree
        if (most := fs.link_bytes_max) is not None
        and e.target is not None
        and (length := len(os.fsencode(e.target))) > most
    ]
    if "case" in fs.differs:
        wrong += _find_case_clashes(tree)
    if wrong:
        raise UsageError(f"{fs.title} cannot hold this tree:", *_cut_cases(wrong))


def _find_case_clashes(tree: FileTree) -> list[str]:
    seen: dict[str, str] = {}
    wrong = []
    for e in tree:
        first = seen.setdefault(e.path.lower(), e.path)
        if first != e.path:
            wrong.append(
                f"{escape_file_name(first)} and {escape_file_name(e.path)}: differ in case alone"
            )
    return wrong


def drop_unstorable_content(tree: FileTree, fs: FilesystemModel) -> tuple[FileTree, list[str]]:
    """What the file system keeps of a tree, and a warning for each thing that it loses."""
    warnings = []
    entries = list(tree)

    def lost(difference: Difference, how_many: int, text: str) -> bool:
        is_lost = difference in fs.differs and how_many > 0
        if is_lost:
            warnings.append(f"{text.format(how_many)}. {fs.differs[difference]}")
        return is_lost

    links = sum(e.is_link for e in entries)
    if lost("symbolic_links", links, "left out: symbolic links ({})"):
        entries = [e for e in entries if not e.is_link]
    if lost("hard_links", tree.counts()["hard_links"], "made files of their own: hard links ({})"):
        entries = [replace(e, inode=i) for i, e in enumerate(entries)]
    lost("modes", len(entries), "not kept: owners and permissions of {} paths")
    for loss, why in fs.image.loses.items():
        text = _describe_loss(loss, tree)
        warnings += [f"{text}. {why}"] if text else []
    odd = sum(e.mtime_s % FAT_TIME_STEP_S for e in entries)
    lost("precise_times", odd, "rounded: odd seconds of times ({})")
    return FileTree(tuple(entries)), warnings


def _describe_loss(loss: Loss, tree: FileTree) -> str | None:
    """What a loss takes from this tree; None if nothing."""
    root = tree.entries[0]
    if loss == "root":
        plain = (root.uid, root.gid, stat.S_IMODE(root.mode)) == (0, 0, 0o755)
        return None if plain else "not kept: the top folder's owner and permissions"
    folders = tree.counts()["folders"]
    return f"not kept: times of folders ({folders})" if folders else None


def set_owner_to_root(tree: FileTree) -> FileTree:
    """The tree with everything root's own, whoever unpacked it."""
    return FileTree(tuple(replace(e, uid=0, gid=0) for e in tree))


def add_file_checksums(tree: FileTree, folder: Path) -> FileTree:
    """The tree with each file's checksum."""
    return FileTree(
        tuple(replace(e, crc32=_compute_crc32(folder / e.path)) if e.is_file else e for e in tree)
    )


def hash_checksummed_tree(summed: FileTree) -> str:
    """A digest of a tree with its files' checksums: of all that an image may keep of it."""
    firsts = summed.first_names()
    entries = [
        [e.path, e.mode, e.uid, e.gid, e.target or firsts.get(e.inode), e.crc32]
        + ([] if e.is_link else [e.mtime_s])
        for e in summed
    ]
    return digest_json_value(entries)


def _compute_crc32(path: Path) -> int:
    crc = 0
    with path.open("rb") as f:
        while piece := f.read(READ_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc


def parse_treelist(lines: bytes) -> FileTree:
    """The tree that the board's program treelist printed."""
    entries = []
    for line in lines.splitlines():
        fields = json.loads(line)
        path = _decode_hex(fields["path_hex"])
        if fields.get("read_bytes", fields["bytes"]) != fields["bytes"]:
            read = fields["read_bytes"]
            raise NandlabError(
                f"{escape_file_name(path)}: only {read} of {fields['bytes']} bytes could be read"
            )
        entries.append(
            TreeEntry(
                path=path,
                size=fields["bytes"],
                **{key: fields[key] for key in ("mode", "uid", "gid", "mtime_s", "inode")},
                target=_decode_hex(fields["target_hex"]) if "target_hex" in fields else None,
                crc32=fields.get("crc32"),
            )
        )
    return _sort_entries(entries)


def _decode_hex(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text))


def format_tree_differences(expected: FileTree, actual: FileTree, fs: FilesystemModel) -> list[str]:
    """Where ``found`` differs from ``wanted`` in what the file system can keep."""
    ours = {e.path: e for e in expected}
    theirs = {e.path: e for e in actual}
    wrong = [f"{escape_file_name(p)} is missing" for p in sorted(ours.keys() - theirs.keys())]
    wrong += [f"{escape_file_name(p)} is new" for p in sorted(theirs.keys() - ours.keys())]
    if "root" in fs.image.loses or "modes" in fs.differs:
        ours.pop("")
    our_firsts, their_firsts = expected.first_names(), actual.first_names()
    for path in sorted(ours.keys() & theirs.keys()):
        a, b = ours[path], theirs[path]
        told = dict(_list_figures(a, our_firsts, fs))
        for what, figure in _list_figures(b, their_firsts, fs):
            if told.get(what) != figure:
                wrong.append(
                    f"{escape_file_name(a.path)}: {what} is {figure!r}, not {told.get(what)!r}"
                )
    return _cut_cases(wrong)


def _list_figures(
    e: TreeEntry, firsts: dict[int, str], fs: FilesystemModel
) -> Iterator[tuple[str, object]]:
    """The figures of an entry that must come back unchanged."""
    yield "type", stat.S_IFMT(e.mode)
    if e.is_link:
        yield "target", e.target
    if e.is_file:
        yield "size", e.size
        yield "CRC-32", e.crc32
        if "hard_links" not in fs.differs:
            yield "first name", firsts[e.inode]
    if "modes" not in fs.differs:
        yield "owner", (e.uid, e.gid)
        if not e.is_link:
            yield "permissions", oct(stat.S_IMODE(e.mode))
    dated = not e.is_link and not (e.is_folder and "folder_times" in fs.image.loses)
    if "precise_times" not in fs.differs and dated:
        yield "time", e.mtime_s
