# SPDX-License-Identifier: GPL-2.0-or-later
"""What is too large for a job's archive, or for the status channel: cargo, in the board's memory.

A board has memory that its kernel does not use: the chip's cells lie at its start, cargo after
them. The host writes there after the board's state is restored and before it goes on, and reads
there once the job has ended, so neither takes any of the board's time, and saved states know
nothing of it. On the board ``target/programs/ferry`` reads and writes it; this is the other side.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from types import TracebackType

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB

FIRMWARE_BYTES = MIB
"""At the end of the memory, where firmware keeps tables: not to be touched."""
HEAD = struct.Struct("<8sQ")
HEAD_BYTES = 4096
MAGIC = b"NNDCARGO"


def _whole_mib(count: int) -> int:
    return -(-count // MIB) * MIB


@dataclass(frozen=True)
class Cargo:
    """Contents for a job, and room for what it brings back. Made by :func:`cargo`."""

    address: int
    """Physical address of the first content, a multiple of 1 MiB."""
    contents: tuple[bytes, ...]
    end: int
    """Physical address past the last byte that may be used."""

    def at(self, index: int) -> int:
        """Physical address of a content, or past the last of them, a multiple of 1 MiB."""
        return self.address + sum(_room_of(content) for content in self.contents[:index])

    @property
    def back_address(self) -> int:
        """Physical address of what the job brings back."""
        return self.at(len(self.contents))

    @property
    def room(self) -> int:
        """Bytes that the job may bring back."""
        return self.end - self.back_address - HEAD_BYTES

    def get(self, index: int = 0) -> str:
        """The board's command that writes a content to its standard output."""
        return f"ferry get {self.at(index):#x}"

    def put(self) -> str:
        """The board's command that takes its standard input for the host."""
        return f"ferry put {self.back_address:#x} {self.room}"


def _room_of(content: bytes) -> int:
    return _whole_mib(HEAD_BYTES + len(content))


def cargo(board: BoardModel, chip_bytes: int, *contents: bytes, back_bytes: int = 0) -> Cargo:
    """Cargo after a chip whose cells take chip_bytes; UsageError if the board's memory is short.

    back_bytes: what the job may bring back at most.
    """
    start = board.store_start
    end = start + board.chip_store_mib * MIB - FIRMWARE_BYTES
    made = Cargo(start + _whole_mib(chip_bytes), contents, end)
    # ferry moves whole MiB
    short = _whole_mib(back_bytes) + MIB - made.room
    if short > 0:
        raise UsageError(
            f"board {board.name} keeps {board.chip_store_mib} MiB for the chip and what is carried "
            f"to and from it; this needs {-(-short // MIB)} MiB more: take a smaller partition, or "
            "a board with a larger chip_store_mib"
        )
    return made


class SharedMemory:
    """A board's whole memory in a file of this process's own, for QEMU to map too."""

    def __init__(self, size: int) -> None:
        self._fd = os.memfd_create("nandlab-board", 0)
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self.size = size

    @property
    def fd(self) -> int:
        """The file's descriptor, which QEMU must inherit."""
        return self._fd

    def options(self) -> tuple[str, ...]:
        """QEMU's options that make this its memory, under the name that its own would have."""
        backend = (
            f"memory-backend-file,id=pc.ram,size={self.size},mem-path=/proc/self/fd/{self._fd},"
            "share=on,x-use-canonical-path-for-ramblock-id=off"
        )
        return ("-object", backend, "-machine", "memory-backend=pc.ram")

    def load(self, load: Cargo) -> None:
        """Puts a job's cargo in place, into a board just restored."""
        # A restored board has zeros there, and QEMU has read them all: they need not be kept.
        self._map.madvise(mmap.MADV_REMOVE, load.address, load.end - load.address)
        for i, content in enumerate(load.contents):
            head, at = load.at(i), load.at(i) + HEAD_BYTES
            self._map[head : head + HEAD.size] = HEAD.pack(MAGIC, len(content))
            self._map[at : at + len(content)] = content

    def unload(self, load: Cargo) -> bytes | None:
        """What the job brought back; None: nothing."""
        at = load.back_address
        magic, size = HEAD.unpack(self._map[at : at + HEAD.size])
        if magic != MAGIC:
            return None
        return bytes(self._map[at + HEAD_BYTES : at + HEAD_BYTES + size])

    def __enter__(self) -> SharedMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._map.close()
        os.close(self._fd)
