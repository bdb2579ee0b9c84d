# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in the host's memory, which another process opens by a path in a folder that it sees.

Bytes that QEMU writes one at a time cost half as much there as on a disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from nandlab.base.files import list_written_parts

BLOCK_BYTES = 4096
"""What is all zeros in such a block is a hole of a copy."""
PIECE_BYTES = 256 * BLOCK_BYTES
"""How much is read at a time."""
HOLE = bytes(BLOCK_BYTES)


class MemoryFile:
    """A file of ``size`` bytes, all zeros at first; it is gone when the context ends."""

    def __init__(self, name: str, size: int = 0) -> None:
        self.name = name
        self.fd = os.memfd_create(f"nandlab-{name}", 0)
        os.ftruncate(self.fd, size)

    def appear(self, folder: Path) -> int:
        """Links it by its name into a folder, for a process that inherits the returned fd."""
        (folder / self.name).symlink_to(f"/proc/self/fd/{self.fd}")
        return self.fd

    def read(self, start: int = 0) -> bytes:
        """What it has from a place on, to where it ends now."""
        return os.pread(self.fd, max(0, os.fstat(self.fd).st_size - start), start)

    def list_written_parts(self) -> Iterator[tuple[int, int]]:
        """Place and size of each part that is no hole."""
        return list_written_parts(self.fd)

    def copy_to(self, path: Path) -> None:
        """Writes it to a new file of the same size, which has holes where it has only zeros."""
        with path.open("xb", buffering=0) as copy:
            copy.truncate(os.fstat(self.fd).st_size)
            for start, size in self.list_written_parts():
                for at in range(start, start + size, PIECE_BYTES):
                    piece = os.pread(self.fd, min(PIECE_BYTES, start + size - at), at)
                    _write_blocks(copy.fileno(), piece, at)

    def copy_from(self, path: Path) -> None:
        """Takes what a file of the same size has; nobody has written to this one before."""
        with path.open("rb", buffering=0) as source:
            at = 0
            while piece := source.read(PIECE_BYTES):
                _write_blocks(self.fd, piece, at)
                at += len(piece)

    def __enter__(self) -> MemoryFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None
    ) -> None:
        os.close(self.fd)


def _write_blocks(fd: int, piece: bytes, offset: int) -> None:
    """Writes the blocks of a piece that are not all zeros at their places from ``offset`` on.

    Those that follow one another are written at once.
    """
    start = 0
    for block in range(0, len(piece), BLOCK_BYTES):
        if piece.startswith(HOLE, block):
            _write_all(fd, piece[start:block], offset + start)
            start = block + BLOCK_BYTES
    _write_all(fd, piece[start:], offset + start)


def _write_all(fd: int, content: bytes, at: int) -> None:
    while content:
        written = os.pwrite(fd, content, at)
        content, at = content[written:], at + written
