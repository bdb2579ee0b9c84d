# SPDX-License-Identifier: GPL-2.0-or-later
"""The program fileload, run here, and the bytes that it must leave, after its docs alone."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filetrees import U64, drawer, stream
from support.native import native

Ran = subprocess.CompletedProcess[str]


def fileload(*words: object, program: Path | None = None, **more: Any) -> Ran:
    argv = [str(program or native("fileload")), *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **more)


def told(*words: object, **more: Any) -> dict[str, Any]:
    done = fileload(*words, **more)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Data:
    """The random data of a seed, 64 KiB over and over."""

    def __init__(self, seed: int) -> None:
        numbers = stream(~seed & U64)
        self.pool = b"".join(struct.pack("<Q", next(numbers)) for _ in range(65536 // 8))
        self.at = 0

    def take(self, size: int) -> bytes:
        turns = (self.at + size) // 65536 + 1
        found = (self.pool * turns)[self.at : self.at + size]
        self.at = (self.at + size) % 65536
        return found

    def file(self, size: int) -> bytes:
        self.at = (self.at + 255) // 256 * 256 % 65536
        return self.take(size)


def below(count: int, numbers: Iterator[int]) -> int:
    return math.floor(((next(numbers) >> 12) + 0.5) * 2.0**-52 * count)


def updated(content: bytes, count: int, size: int, seed: int) -> bytes:
    """A file after so many updates of so many bytes."""
    found, numbers, data = bytearray(content), stream(seed), Data(seed)
    for _ in range(count):
        at = below(len(found) - size + 1, numbers)
        found[at : at + size] = data.take(size)
    return bytes(found)


def updated_at_multiples(content: bytes, count: int, size: int, seed: int) -> bytes:
    """A file after so many updates, each at a multiple of its size."""
    found, numbers, data = bytearray(content), stream(seed), Data(seed)
    for _ in range(count):
        at = (next(numbers) * (len(found) // size) >> 64) * size
        found[at : at + size] = data.take(size)
    return bytes(found)


def shuffled(count: int, seed: int) -> list[int]:
    """The numbers below count, in the order in which they are taken."""
    numbers, left = stream(seed), list(range(count))
    for i in range(count):
        j = i + (next(numbers) * (count - i) >> 64)
        left[i], left[j] = left[j], left[i]
    return left


def written_at_random(count: int, size: int, seed: int) -> bytes:
    """A file of so many pieces, each written once, in random order."""
    found, data = bytearray(count * size), Data(seed)
    for unit in shuffled(count, seed):
        found[unit * size : unit * size + size] = data.take(size)
    return bytes(found)


def interleaved(steps: int, big: int, small: int, rounds: int, seed: int) -> tuple[bytes, bytes]:
    """The big and the small file after all rounds."""
    data, last = Data(seed), b""
    for _ in range(1 + rounds):
        parts = []
        for _ in range(steps):
            parts.append(data.take(big))
            last = data.take(small)
    return b"".join(parts), last


def rewritten(files: int, size: str, total: int, seed: int) -> tuple[dict[str, bytes], int]:
    """The files after the rewriting, and how many were rewritten."""
    numbers, data = stream(seed), Data(seed)
    draw = drawer(size, numbers)
    sizes = [draw() for _ in range(files)]
    found = [data.file(n) for n in sizes]
    written = count = 0
    while written < total:
        which = below(files, numbers)
        found[which] = data.file(sizes[which])
        written, count = written + sizes[which], count + 1
    return {f"f{i:04}": content for i, content in enumerate(found)}, count
