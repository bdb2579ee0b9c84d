# SPDX-License-Identifier: GPL-2.0-or-later
"""Board files: all that a board is made of and built by, in one file.

A board file is a tar archive. Its first member is ``board.json``: the format, the board as its
catalog file has it, its lock. The others are ``packages/SHA256``, sorted. Names, times and owners
are fixed, so equal boards give equal bytes.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tarfile import ReadError
from typing import IO, Any, BinaryIO, Literal, Self

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.files import open_whole_file
from nandlab.base.gate import open_regular_file, parse_json
from nandlab.base.strings import PackageSets
from nandlab.board.kit.lock import Lock, validate_package_lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.noun import StrictModel

FORMAT = 1
HEAD = "board.json"
HEAD_BYTES_MAX = 1 << 20
FOLDER = "packages/"


class BoardFileHead(StrictModel):
    """The form of board.json, the first member of a board file."""

    format: Literal[1]
    board: BoardModel
    lock: PackageSets = Field(description="SHA-256 by file, by set of packages")


@dataclass(frozen=True)
class BoardHead:
    """What a board file says of itself."""

    board: Mapping[str, Any]
    """The board, as catalog.board.BoardModel dumps it, without what is told of real ones."""
    lock: Lock

    def contents(self) -> set[str]:
        """The SHA-256 of every package in the file."""
        return {sha256 for files in self.lock.values() for sha256 in files.values()}


def write_board_file(path: Path, head: BoardHead, places: Mapping[str, Path]) -> None:
    """Writes a board file, whole or not at all. places: each package's file, by its SHA-256."""
    told = {"format": FORMAT, "board": head.board, "lock": head.lock}
    text = json.dumps(told, sort_keys=True, indent=1).encode()
    with (
        open_whole_file(path) as out,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        _add_member(tar, HEAD, BytesIO(text), len(text))
        for sha256 in sorted(head.contents()):
            with places[sha256].open("rb") as f:
                _add_member(tar, FOLDER + sha256, f, places[sha256].stat().st_size)


def _add_member(tar: tarfile.TarFile, name: str, content: BinaryIO, size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    tar.addfile(info, content)


BLOCK = tarfile.BLOCKSIZE
KIND = slice(156, 157)
"""Where a tar's header has its type."""
REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, b"")
"""Types of regular files, and of the zeros or nothing at the end."""


class _Member(tarfile.TarInfo):
    """A regular file: headers of other kinds may say that they are gigabytes."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """Looks at the header before tarfile does, which reads all of a header's own data."""
        assert tarfile.fileobj is not None
        begin = tarfile.fileobj.tell()
        header = tarfile.fileobj.read(BLOCK)
        tarfile.fileobj.seek(begin)
        if header[KIND] not in REGULAR:
            raise ReadError(f"the member at byte {begin} in it is no regular file")
        return super().fromtarfile(tarfile)


class BoardFileReader:
    """An opened board file."""

    def __init__(self, tar: tarfile.TarFile, path: Path) -> None:
        self._tar = tar
        self._path = path
        self.head = self._head()

    def _head(self) -> BoardHead:
        member = self._tar.next()
        regular = member is not None and member.isreg() and member.name == HEAD
        content = self._tar.extractfile(member) if member and regular else None
        if content is None or not member or member.size > HEAD_BYTES_MAX:
            raise UsageError(f"{self._path}: not a board file: it does not begin with {HEAD}")
        try:
            head_data = parse_json(content.read())
        except ValueError as e:
            raise UsageError(f"{self._path}: {HEAD} in it is damaged: {e}") from None
        if not isinstance(head_data, dict) or head_data.get("format") != FORMAT:
            raise UsageError(f"{self._path}: a board file of another format than {FORMAT}")
        board = head_data.get("board")
        if not isinstance(board, dict):
            raise UsageError(f"{self._path}: {HEAD} in it has no board")
        return BoardHead(board, validate_package_lock(head_data.get("lock"), f"{self._path}: lock"))

    def packages(self) -> Iterator[tuple[str, IO[bytes]]]:
        """Each package's SHA-256, as the file names it, and its content; not verified yet."""
        while (member := self._tar.next()) is not None:
            content = self._tar.extractfile(member) if member.isreg() else None
            if content is None or not member.name.startswith(FOLDER):
                raise UsageError(f"{self._path}: {member.name}: no board file has this")
            yield member.name.removeprefix(FOLDER), content


@contextmanager
def open_board_file(path: Path) -> Iterator[BoardFileReader]:
    """Opens a board file; UsageError if it is none, or ends too early."""
    with open_regular_file(path) as f:
        try:
            with tarfile.open(fileobj=f, mode="r:", tarinfo=_Member) as tar:
                yield BoardFileReader(tar, path)
        except tarfile.TarError as e:
            raise UsageError(f"{path}: not a board file, or damaged: {e}") from None
