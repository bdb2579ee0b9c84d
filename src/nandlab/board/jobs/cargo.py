# SPDX-License-Identifier: GPL-2.0-or-later
"""The store: memory of the board that its kernel does not use, and what passes through it.

It holds the job, then the chip's cells, then cargo: what is carried to the board and back, such as
images. The host writes the store before the board's saved state is restored, and reads it after the
job has ended, so neither takes any of the board's time. Saved states do not contain the store. On
the board, ``device/programs/ferry`` reads and writes it; this module is the host's side.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from nandlab.base.errors import UsageError
from nandlab.board.jobs.memoryfile import MemoryFile
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB

STORE = "store"
"""The store's file name, in the folder where QEMU finds it."""
HEAD = struct.Struct("<8sQ")
HEAD_BYTES = 4096
PIECE = struct.Struct("<QQ")
MAGIC = b"NNDCARGO"


def _round_up_to_mib(count: int) -> int:
    return -(-count // MIB) * MIB


@dataclass(frozen=True)
class Cargo:
    """Contents that a job takes to the board, and room for what it brings back; see cargo()."""

    address: int
    """Physical address of the first content, a multiple of 1 MiB."""
    contents: tuple[bytes, ...]
    end: int
    """Physical address past the last byte that may be used."""
    returned_memory: tuple[int, int] | None = None
    """Physical address and bytes of memory of the store that come back as the job leaves them,
    without a command: what a module wrote there. None: none."""

    def find_content_address(self, index: int) -> int:
        """Physical address of a content, a multiple of 1 MiB; past the last: the first free one."""
        return self.address + sum(_content_room(content) for content in self.contents[:index])

    @property
    def back_address(self) -> int:
        """Physical address of what the job brings back."""
        return self.find_content_address(len(self.contents))

    @property
    def room(self) -> int:
        """Bytes that the job may bring back."""
        return self.end - self.back_address - HEAD_BYTES

    def get(self, index: int = 0) -> str:
        """The board's command that writes a content to its standard output."""
        return f"ferry get {self.find_content_address(index):#x}"

    def put(self) -> str:
        """The board's command that leaves its standard input for the host."""
        return f"ferry put {self.back_address:#x} {self.room}"


def _content_room(content: bytes) -> int:
    return _round_up_to_mib(HEAD_BYTES + len(content))


def make_cargo(board: BoardModel, chip_bytes: int, *contents: bytes, back_bytes: int = 0) -> Cargo:
    """Cargo behind a chip whose cells take chip_bytes; UsageError if the store is too small.

    back_bytes: the most that the job may bring back.
    """
    start = board.store_start
    cargo = Cargo(start + _round_up_to_mib(chip_bytes), contents, board.store_end)
    # ferry moves whole MiB
    short = _round_up_to_mib(back_bytes) + MIB - cargo.room
    if short > 0:
        raise UsageError(
            f"board {board.name} keeps {board.chip_store_mib} MiB for the chip and what is carried "
            f"to and from it; this needs {-(-short // MIB)} MiB more: take a smaller partition, or "
            "a board with a larger chip_store_mib"
        )
    return cargo


class Store:
    """A board's memory that its kernel does not use: a file that QEMU and the host both map.

    Saved states do not contain it. It is all zeros at first, and removed when the context ends.
    """

    def __init__(self, board: BoardModel) -> None:
        self.board = board
        self._start = board.job_start
        size = board.store_end - board.job_start
        self._file = MemoryFile(STORE, size)
        self._map = mmap.mmap(self._file.fd, size)

    def appear(self, folder: Path) -> int:
        """Links the file as STORE into a folder, for a process that inherits the returned fd."""
        return self._file.appear(folder)

    def put(self, address: int, content: bytes) -> None:
        """Writes a content at a physical address, for the board's ``ferry get``."""
        head = address - self._start
        at = head + HEAD_BYTES
        self._map[head : head + HEAD.size] = HEAD.pack(MAGIC, len(content))
        self._map[at : at + len(content)] = content

    def read_put_content(self, address: int) -> bytes | None:
        """What the board's ``ferry put`` left at a physical address; None: nothing."""
        head = address - self._start
        at = head + HEAD_BYTES
        magic, size = HEAD.unpack(self._map[head : head + HEAD.size])
        return bytes(self._map[at : at + size]) if magic == MAGIC else None

    def read_memory(self, address: int, size: int) -> bytes:
        """Memory as it is now. Read, not mapped: a hole takes no memory so."""
        return os.pread(self._file.fd, size, address - self._start)

    def save(self, path: Path) -> None:
        """Writes all of it that somebody wrote to: pieces, each after its place and size."""
        with path.open("wb") as out:
            for at, size in self._file.list_written_parts():
                out.write(PIECE.pack(at, size))
                out.write(self._map[at : at + size])

    def load(self, path: Path) -> None:
        """Reads what save() wrote, into a store that nobody has written to."""
        with path.open("rb") as saved:
            while head := saved.read(PIECE.size):
                at, size = PIECE.unpack(head)
                saved.readinto(memoryview(self._map)[at : at + size])

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._map.close()
        os.close(self._file.fd)
