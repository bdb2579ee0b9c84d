# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for content: SHA-256 of values, files and folders."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import IO, Any

from nandlab.base.files import list_written_parts

SPARSE_BLOCK_BYTES = 1 << 16
"""What is all zeros in such a block of a file counts for nothing in digest_sparse_file()."""


def digest_json_value(value: Any) -> str:
    """SHA-256 of a JSON-able value in its canonical form, as hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_bytes(content: bytes) -> str:
    """SHA-256 of bytes, as hex."""
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's content, as hex."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def digest_sparse_file(path: Path) -> str:
    """SHA-256 of the blocks of a file that are not all zeros, each after its number, as hex.

    Holes are not read, and zeros give the same whether they are a hole or not. The file's size is
    no part of it.
    """
    content, next_block = hashlib.sha256(), 0
    zeros = bytes(SPARSE_BLOCK_BYTES)
    with path.open("rb", buffering=0) as f:
        for start, size in list_written_parts(f.fileno()):
            end_block = -(-(start + size) // SPARSE_BLOCK_BYTES)
            for number in range(max(next_block, start // SPARSE_BLOCK_BYTES), end_block):
                block = os.pread(f.fileno(), SPARSE_BLOCK_BYTES, number * SPARSE_BLOCK_BYTES)
                if block != zeros[: len(block)]:
                    content.update(number.to_bytes(8, "little"))
                    content.update(block)
            next_block = end_block
    return content.hexdigest()


def digest_known_file(path: Path) -> str:
    """The same, read once by a process for as long as size and time of the file stay."""
    told = path.stat()
    return _digest_once(path, told.st_mtime_ns, told.st_size)


@cache
def _digest_once(path: Path, _mtime_ns: int, _size: int) -> str:
    return digest_file(path)


def digest_stream(content: IO[bytes]) -> str:
    """SHA-256 of what is left to read, as hex."""
    found = hashlib.sha256()
    while block := content.read(1 << 20):
        found.update(block)
    return found.hexdigest()


def digest_tree(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by relative path."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): digest_file(p) for p in files}
