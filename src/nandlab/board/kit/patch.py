# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches in the unified form of diff and git, applied to texts in memory.

A hunk applies where the source has its lines, each of them, nowhere else: at the line that it
names, or else at the nearest one. So a patch for another version is refused, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from nandlab.base.errors import SourceError, UsageError
from nandlab.base.gate import read_bytes, refuse_packed

PATCH_BYTES_MAX = 4 << 20
HUNK_HEAD = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
NO_FILE = "/dev/null"
NO_LINE_END = b"\\ No newline"
UNSUPPORTED = (b"GIT binary patch", b"rename from ", b"copy from ")
"""How git tells of a file that no hunks describe, in lines between FILE_HEAD and ``---``."""
BINARY_FILE = re.compile(rb"Binary files .* differ\s*$")
FILE_HEAD = b"diff "
HEAD_END = (b"--- ", b"From ")
"""What ends these lines: the names of the file, or the next mail, whose text may have any words."""


@dataclass(frozen=True)
class Hunk:
    """Lines of a file that are taken for others; each has its line end."""

    number: int
    """The line of the patch that it begins at."""
    start: int
    """The line of the source that it names, from 1; 0: of an empty one."""
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]

    @property
    def place(self) -> int:
        """How many lines of the source are before it, as it says."""
        return max(self.start - 1, 0) if self.before else self.start


@dataclass
class FilePatch:
    """What a patch changes of a file."""

    old: str | None
    """Its path in the tree; None: the patch adds it."""
    new: str | None
    """None: the patch removes it."""
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The path of the file that it changes, adds or removes."""
        return self.new or self.old or ""


def read_patch(path: Path) -> list[FilePatch]:
    """The changes of a patch file; UsageError if it is none that can be applied."""
    content = read_bytes(path, PATCH_BYTES_MAX)
    refuse_packed(path, content)
    found = list(_parse_files(content, str(path)))
    if not found:
        raise UsageError(f"{path}: no patch: it has no line that begins with '--- '")
    return found


def _parse_files(text: bytes, where: str) -> Iterator[FilePatch]:
    lines = text.splitlines(keepends=True)
    index, current, in_head = 0, None, False
    while index < len(lines):
        line = lines[index]
        in_head = line.startswith(FILE_HEAD) or (in_head and not line.startswith(HEAD_END))
        if (in_head and line.startswith(UNSUPPORTED)) or BINARY_FILE.match(line):
            raise UsageError(
                f"{where}:{index + 1}: a renamed, copied or binary file: make the patch with "
                "git diff --no-renames, of text alone"
            )
        if (
            line.startswith(b"--- ")
            and index + 1 < len(lines)
            and lines[index + 1].startswith(b"+++ ")
        ):
            if current:
                yield current
            old, new = (_parse_path(lines[n], f"{where}:{n + 1}") for n in (index, index + 1))
            if old is None and new is None:
                raise UsageError(f"{where}:{index + 1}: it names no file")
            current = FilePatch(old, new)
            index += 2
        elif current and (head := HUNK_HEAD.match(line)):
            hunk, index = _parse_hunk(lines, index, head, where)
            current.hunks.append(hunk)
        else:
            index += 1
    if current:
        yield current


def _parse_path(line: bytes, where: str) -> str | None:
    """The path of a line such as ``--- a/fs/ubifs/gc.c``, without its first folder; None: none."""
    try:
        name = line[4:].decode().rstrip("\r\n").partition("\t")[0].strip()
    except UnicodeDecodeError:
        raise UsageError(f"{where}: a path that is not UTF-8") from None
    if name == NO_FILE:
        return None
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 2 or '"' in name:
        raise UsageError(f"{where}: {name!r}: a path as of git diff is needed: a/FOLDER/FILE")
    return str(PurePosixPath(*path.parts[1:]))


def _parse_hunk(
    lines: list[bytes], index: int, head: re.Match[bytes], where: str
) -> tuple[Hunk, int]:
    """The hunk whose head is a line, and the line after it."""
    number = index + 1
    line_counts = [int(head[n] or b"1") if head[n] is not None else 1 for n in (2, 4)]
    sides: tuple[list[bytes], list[bytes]] = [], []
    index += 1
    last: tuple[int, ...] = ()
    while index < len(lines) and (len(sides[0]) < line_counts[0] or len(sides[1]) < line_counts[1]):
        mark, content = lines[index][:1], lines[index][1:]
        if lines[index].strip(b"\r\n") == b"":
            mark, content = b" ", lines[index]  # mail drops the blank of an empty line
        last = {b" ": (0, 1), b"-": (0,), b"+": (1,)}.get(mark, ())
        if lines[index].startswith(NO_LINE_END):
            _drop_line_end(sides, lines[index - 1][:1])
        elif not last:
            raise UsageError(f"{where}:{index + 1}: the hunk of line {number} ends too early")
        for side in last:
            sides[side].append(content)
        index += 1
    if (len(sides[0]), len(sides[1])) != tuple(line_counts):
        raise UsageError(f"{where}:{number}: the hunk has other lines than its head says")
    if index < len(lines) and lines[index].startswith(NO_LINE_END):
        _drop_line_end(sides, lines[index - 1][:1])
        index += 1
    return Hunk(number, int(head[1]), tuple(sides[0]), tuple(sides[1])), index


def _drop_line_end(sides: tuple[list[bytes], list[bytes]], mark: bytes) -> None:
    """The last line of a file has no end."""
    for side in {b"-": (0,), b"+": (1,)}.get(mark, (0, 1)):
        if sides[side]:
            sides[side][-1] = sides[side][-1].rstrip(b"\n")


def apply_patch(
    files: Mapping[str, bytes], changes: list[FilePatch], where: str
) -> dict[str, bytes]:
    """The files, by their paths in the tree, with the changes; SourceError if they do not apply."""
    patched_files = dict(files)
    for change in changes:
        if change.old is not None and change.old not in patched_files:
            raise SourceError(f"{where}: it changes {change.old}, which the source does not have")
        if change.old is None and change.path in patched_files:
            raise SourceError(f"{where}: it adds {change.path}, which the source has already")
        content = patched_files.pop(change.old) if change.old else b""
        patched = _apply_hunks(content, change, where)
        if change.new is not None:
            patched_files[change.new] = patched
        elif patched:
            raise SourceError(f"{where}: it removes {change.old}, but not all of its lines")
    return patched_files


def _apply_hunks(content: bytes, change: FilePatch, where: str) -> bytes:
    lines = content.splitlines(keepends=True)
    shift, least = 0, 0
    for hunk in change.hunks:
        index = _find_hunk(lines, hunk, hunk.place + shift, least)
        if index is None:
            raise SourceError(
                f"{where}:{hunk.number}: the hunk for line {hunk.start} of {change.path} does not "
                "apply: the source has other lines there; make the patch from the source that it "
                "is for"
            )
        lines[index : index + len(hunk.before)] = hunk.after
        shift = index - hunk.place + len(hunk.after) - len(hunk.before)
        least = index + len(hunk.after)
    return b"".join(lines)


def _find_hunk(lines: list[bytes], hunk: Hunk, near: int, least: int) -> int | None:
    """Where a source has the lines of a hunk, nearest to a line and not before another."""
    size = len(hunk.before)
    if not size:
        return max(least, min(near, len(lines)))
    last = len(lines) - size
    near = min(max(near, least), last)
    for distance in range(max(near - least, last - near) + 1):
        for index in dict.fromkeys((near - distance, near + distance)):
            if least <= index <= last and _is_hunk_at(lines, hunk, index):
                return index
    return None


def _is_hunk_at(lines: list[bytes], hunk: Hunk, index: int) -> bool:
    return (
        lines[index] == hunk.before[0]
        and tuple(lines[index : index + len(hunk.before)]) == hunk.before
    )
