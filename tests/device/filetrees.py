# SPDX-License-Identifier: GPL-2.0-or-later
"""The program filetree, run here, and the trees that it must draw, after docs/filetree.md alone."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

from support.native import native

from nandlab.catalog import distributions

Ran = subprocess.CompletedProcess[str]
U64 = 2**64 - 1


def filetree(*words: object, program: Path | None = None, **more: Any) -> Ran:
    argv = [str(program or native("filetree")), *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **more)


def told(*words: object, **more: Any) -> dict[str, Any]:
    done = filetree(*words, **more)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def options(
    depth: int = 5, dirs: str = "2", files: str = "64", size: str = "750", seed: int = 1
) -> list[str]:
    named = {"depth": depth, "dirs": dirs, "files": files, "size": size, "seed": seed}
    return [f"--{key}={value}" for key, value in named.items()]


def stream(seed: int) -> Iterator[int]:
    """SplitMix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & U64
        mixed = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & U64
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & U64
        yield mixed ^ mixed >> 31


def drawer(text: str, numbers: Iterator[int]) -> Callable[[], int]:
    """Draws one number after the other."""
    draw = distributions.parse_distribution(text)
    a, b = draw.a, draw.b
    turn = int(a)
    left: dict[int, int] = {}

    def unit() -> float:
        return ((next(numbers) >> 12) + 0.5) * 2.0**-52

    def whole(value: float) -> int:
        return 0 if value <= 0 else min(10**12, math.floor(value + 0.5))

    def by_turns() -> int:
        nonlocal turn
        now = turn
        turn = 2 * turn if turn < b else int(a)
        return now

    def deal() -> int:
        left.update({} if any(left.values()) else draw.bins)
        at = math.floor(unit() * sum(left.values()))
        for size, count in left.items():
            if at < count:
                left[size] -= 1
                return size
            at -= count
        raise AssertionError

    ways: dict[str, Callable[[], int]] = {
        "number": lambda: int(a),
        "norm": lambda: whole(a + b * NormalDist().inv_cdf(unit())),
        "uniform": lambda: int(a) + math.floor(unit() * (b - a + 1)),
        "lognormal": lambda: whole(a * math.exp(b * NormalDist().inv_cdf(unit()))),
        "pow2": by_turns,
        "table": deal,
    }
    return ways[draw.kind]


def drawn(
    depth: int, dirs: str, files: str, size: str, seed: int = 1
) -> list[tuple[str, int | None]]:
    """Paths below the top with their sizes, folders without, in the order of making."""
    numbers = stream(seed)
    next_dirs, next_files, next_size = (drawer(t, numbers) for t in (dirs, files, size))
    found: list[tuple[str, int | None]] = []

    def grow(place: str, level: int) -> None:
        found.append((place, None))
        for i in range(next_files()):
            found.append((f"{place}/f{i:04}", next_size()))
        if level < depth:
            for i in range(next_dirs()):
                grow(f"{place}/d{i:02}", level + 1)

    grow("", 1)
    return [(path.removeprefix("/"), bytes_) for path, bytes_ in found]


def data(seed: int) -> Callable[[int], bytes]:
    """The random data of files in turn, each from the next of 256 bytes of 64 KiB."""
    numbers = stream(~seed & U64)
    pool = b"".join(struct.pack("<Q", next(numbers)) for _ in range(65536 // 8))
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at = (at + 255) // 256 * 256 % 65536
        turns = (at + size) // 65536 + 1
        found = (pool * turns)[at : at + size]
        at = (at + size) % 65536
        return found

    return take


def summed(content: bytes) -> int:
    """The 64 bits of a file's content in the digest."""
    value = 0x9E3779B97F4A7C15
    content += bytes(-len(content) % 8)
    for (word,) in struct.iter_unpack("<Q", content):
        value = ((value ^ word) * 0xBF58476D1CE4E5B9) & U64
        value ^= value >> 32
    return value


def digest(entries: list[tuple[str, int | None]], content: Callable[[str], bytes]) -> str:
    """The digest of a tree, by its paths in the order of making."""
    found = hashlib.sha256()
    for path, size in entries:
        record = f"d {path}" if size is None else f"f {size} {summed(content(path)):016x} {path}"
        found.update(record.encode() + b"\0")
    return found.hexdigest()


TREES = [
    {"depth": 3, "dirs": "norm(3,1)", "files": "norm(4,1)", "size": "norm(1024,64)"},
    {"depth": 4, "dirs": "uniform(0,3)", "files": "uniform(2,9)", "size": "uniform(0,3)"},
    {"depth": 3, "dirs": "2", "files": "5", "size": "lognormal(900,2.5)"},
    {"depth": 2, "dirs": "pow2(1,4)", "files": "pow2(8,8)", "size": "pow2(2,131072)"},
    {"depth": 2, "dirs": "9", "files": "4", "size": "table(0:7,70000:1,12:19,65536:13)"},
    {"depth": 3, "dirs": "norm(0.3,0.9)", "files": "lognormal(0.7,1)", "size": "norm(2.5,3.25)"},
]


def there(top: Path) -> dict[str, int | None]:
    """Paths below the top with their sizes, folders without; the top's is empty."""
    found: dict[str, int | None] = {"": None}
    for path in top.rglob("*"):
        size = None if path.is_dir() else path.stat().st_size
        found[str(path.relative_to(top))] = size
    return found
