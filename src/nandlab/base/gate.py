# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate for files from elsewhere: what they are, how large, and how deep their values may be.

Whoever reads a file that nandlab did not just write itself reads it here: studies, catalog files,
figures, runs, board files, sidecars, traces, strace and fio files. A file passes if it is a regular
one of bounded size. JSON and TOML pass if they nest at most DEPTH_MAX deep and the numbers of JSON
are finite and of at most a few thousand digits. JSON may be packed as xz where its reader says so;
then the size that it unpacks to is bounded too. What values mean is the models' part.

Every refusal is a UsageError that begins with the file's path.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

from nandlab.base import xzpack
from nandlab.base.errors import UsageError

MIB = 1 << 20
JSON_BYTES_MAX = 64 * MIB
"""Of a JSON file: run.json of 5,000 trials has 2 MiB, a trial of a chip of 1 GiB has 1 MiB."""
PACKED_BYTES_MAX = 32 * MIB
"""Of a JSON file that may be packed, as it is and unpacked: figures of 1,800 large trials."""
PACKED_VALUES_MAX = 1_500_000
"""Of what such a file has between commas; in memory they take some 120 MiB."""
TOML_BYTES_MAX = 16 * MIB
"""Of a study or a catalog file; the workload of a strace of 20 MB has 3 MB."""
CACHED_CHARACTERS_MAX = 64 << 10
"""Of a TOML file's text, for its tables to be kept while the process lives."""
TEXT_BYTES_MAX = 256 * MIB
"""Of a recording in lines: an output of strace, a text of jffs2dump, rows of a board's tracers."""
LINE_BYTES_MAX = 16 * MIB
"""Of a line of such a text."""
CHIP_BYTES_MAX = 5 << 30
"""Of a chip's cells: a chip of 4 GiB with its spare areas."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""What a text begins with that an editor saved as UTF-16."""
PACKERS = {
    b"\x1f\x8b": "gzip -d",
    b"BZh": "bzip2 -d",
    b"\xfd7zXZ\0": "xz -d",
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"PK\x03\x04": "unzip",
}
"""What a packed file begins with, and what unpacks it."""
DEVICE_TREE = b"\xd0\x0d\xfe\xed"
DEVICE_TREE_SOURCE = re.compile(
    rb"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|#[^\n]*+)*+/dts-v1/"
)
"""What a compiled device tree begins with, and its source, which comments may precede."""
DEPTH_MAX = 64
"""Arrays and tables within each other; nandlab's own files have at most 12."""


def open_regular_file(path: Path) -> IO[bytes]:
    """Opens a regular file, or a link to one, to be read from its begin.

    A pipe, a device or a folder is refused at once: nothing is waited for, nothing runs full.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError) as e:
        raise UsageError(f"{path}: cannot be read: {getattr(e, 'strerror', e)}") from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    kind = "a folder" if path.is_dir() else "a pipe or a device"
    raise UsageError(f"{path}: cannot be read: it is {kind}, and a regular file is needed")


@contextmanager
def map_chip_file(path: Path) -> Iterator[mmap]:
    """The bytes of a chip's file, mapped: only those that are looked at are read."""
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > CHIP_BYTES_MAX:
            raise _make_size_error(path, CHIP_BYTES_MAX)
        if not size:
            raise UsageError(f"{path}: it is empty")
        with mmap(file.fileno(), size, access=ACCESS_READ) as content:
            yield content


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """All bytes of a regular file of at most ``bytes_max``."""
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            # read(n) takes room for n bytes at once; a file of /proc has no size
            content = file.read((size or MIB) + 1) if size <= bytes_max else b""
            if len(content) > size:
                content += file.read(bytes_max)
        except OSError as e:
            raise UsageError(f"{path}: cannot be read: {e.strerror}") from None
    if max(size, len(content)) > bytes_max:
        raise _make_size_error(path, bytes_max)
    return content


def read_lines(path: Path, bytes_max: int) -> Iterator[bytes]:
    """The lines of a regular file of at most ``bytes_max``, with their ends, one by one."""
    bytes_left = bytes_max
    with open_regular_file(path) as file:
        try:
            while line := file.readline(min(bytes_left, LINE_BYTES_MAX) + 1):
                if bytes_left == bytes_max:
                    refuse_packed(path, line)
                bytes_left -= len(line)
                if bytes_left < 0 or len(line) > LINE_BYTES_MAX:
                    raise _make_size_error(path, bytes_max if bytes_left < 0 else LINE_BYTES_MAX)
                yield line
        except OSError as e:
            raise UsageError(f"{path}: cannot be read: {e.strerror}") from None


def read_folder_files(
    folder: Path, patterns: Iterable[str], inside: Path, bytes_max: int, files_max: int
) -> dict[str, bytes]:
    """The files of a folder whose names fit a pattern, by name; not those of folders in it.

    inside: a folder that none of them may lie outside of, by a link neither. The bounds are of
    all together.
    """
    top = inside.resolve()
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError as e:
        raise UsageError(f"{folder}: cannot be read: {e.strerror}") from None
    fitting = [name for name in names if any(fnmatchcase(name, p) for p in patterns)]
    if len(fitting) > files_max:
        raise UsageError(f"{folder}: it has more than {files_max:,} such files, the limit")
    content: dict[str, bytes] = {}
    for name in fitting:
        path = folder / name
        try:
            within = path.resolve().is_relative_to(top)
        except (OSError, RuntimeError):  # links in a circle
            within = False
        if not within:
            raise UsageError(
                f"{path}: a link that leads out of {inside}: put the file itself there"
            )
        content[name] = read_bytes(path, bytes_max)
        bytes_max -= len(content[name])
    return content


def _make_size_error(path: Path, bytes_max: int, has: str = "it has") -> UsageError:
    return UsageError(f"{path}: {has} more than {bytes_max:,} bytes, the limit for such a file")


def read_text(path: Path, bytes_max: int) -> str:
    """All of a regular file in UTF-8, without the mark of a byte order that may begin it."""
    return _decode_text(path, read_bytes(path, bytes_max))


def find_unpacker(content: bytes) -> str | None:
    """The command that unpacks a file, by its first bytes; None: no packer wrote it."""
    return next((cure for mark, cure in PACKERS.items() if content.startswith(mark)), None)


def refuse_packed(path: Path, content: bytes) -> None:
    """UsageError where a text begins as the files of a packer do."""
    if cure := find_unpacker(content):
        raise UsageError(f"{path}: it is packed, and no text: unpack it first ({cure})")


def _decode_text(path: Path, content: bytes) -> str:
    refuse_packed(path, content)
    if content.startswith(UTF16_MARKS):
        raise UsageError(f"{path}: not text in UTF-8 but in UTF-16: save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise UsageError(f"{path}: not text in UTF-8: byte {e.start}") from None


def read_json(path: Path, bytes_max: int = JSON_BYTES_MAX) -> Any:
    """The value of a JSON file."""
    content = read_bytes(path, bytes_max)
    refuse_packed(path, content)
    try:
        return parse_json(content)
    except ValueError as e:
        raise UsageError(f"{path}: not JSON that nandlab reads: {e}") from None


def read_packed_json(path: Path) -> Any:
    """The value of a JSON file, plain or packed as xz."""
    content = read_bytes(path, PACKED_BYTES_MAX)
    try:
        if content.startswith(xzpack.MAGIC):
            content = _unpack_xz(path, content)
        else:
            refuse_packed(path, content)
        refuse_oversized_packed_json(path, content)
        return parse_json(content)
    except ValueError as e:
        raise UsageError(f"{path}: not JSON that nandlab reads: {e}") from None


def refuse_oversized_packed_json(path: Path, content: bytes) -> None:
    """UsageError unless read_packed_json() takes a JSON text of this size, whatever packs it."""
    if len(content) > PACKED_BYTES_MAX:
        raise _make_size_error(path, PACKED_BYTES_MAX)
    if content.count(b",") > PACKED_VALUES_MAX:
        raise UsageError(
            f"{path}: it has more than {PACKED_VALUES_MAX:,} values, the limit for such a file"
        )


def _unpack_xz(path: Path, content: bytes) -> bytes:
    """The content of a file in xz. It is measured first: one that is too large takes no memory."""
    size = 0
    try:
        for block in xzpack.unpack_xz_into_blocks(content):
            size += len(block)
            if size > PACKED_BYTES_MAX:
                raise _make_size_error(path, PACKED_BYTES_MAX, "it unpacks to")
    except ValueError as e:
        raise UsageError(f"{path}: not xz that nandlab reads: {e}") from None
    return b"".join(xzpack.unpack_xz_into_blocks(content))


def read_json_lines(path: Path, bytes_max: int = JSON_BYTES_MAX) -> list[Any]:
    """The values of a file with one of JSON in each line; a last line without its end is left out.

    Such a file grows line by line, so the last may have been cut short.
    """
    values = []
    for number, line in enumerate(read_bytes(path, bytes_max).split(b"\n")[:-1], 1):
        try:
            values.append(parse_json(line))
        except ValueError as e:
            raise UsageError(f"{path}:{number}: not JSON that nandlab reads: {e}") from None
    return values


def parse_json(content: bytes) -> Any:
    """The value of a JSON text in UTF-8; ValueError in a clause where it is none, or out of bounds.

    Bounds: DEPTH_MAX levels, finite numbers, and as many digits as Python converts.
    """
    if is_json_nested_too_deep(content):
        raise ValueError(f"its values nest more than {DEPTH_MAX} deep")
    try:
        text = content.decode()
    except UnicodeDecodeError as e:
        raise ValueError(f"byte {e.start} is not UTF-8") from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as e:
        if _find_long_number(text) is not None:
            raise ValueError(f"a number has more than {DIGITS_MAX:,} digits") from None
        raise e


def read_toml(path: Path, bytes_max: int = TOML_BYTES_MAX) -> dict[str, Any]:
    """The tables of a TOML file."""
    content = read_bytes(path, bytes_max)
    if content.startswith(DEVICE_TREE) or DEVICE_TREE_SOURCE.match(content):
        raise UsageError(
            f"{path}: a device tree, which nandlab does not read: a file of TOML says what a board "
            "is (docs/own/board.md)"
        )
    text = _decode_text(path, content)
    try:
        if has_too_deep_toml_key(text):
            raise _make_depth_error(path)
        tables = (
            tomllib.loads(text)
            if len(text) > CACHED_CHARACTERS_MAX
            else deepcopy(_parse_toml(text))
        )
    except (RecursionError, MemoryError):
        raise _make_depth_error(path) from None
    except tomllib.TOMLDecodeError as e:
        raise UsageError(f"{path}: not TOML: {e}") from None
    except ValueError as e:
        place = _find_long_number(text)
        if place is not None:
            line = text.count("\n", 0, place) + 1
            raise UsageError(f"{path}: {LARGE_NUMBER} (at line {line})") from None
        raise UsageError(f"{path}: not TOML: {e}") from None
    level: list[tuple[str, Any]] = [("", tables)]
    for _ in range(DEPTH_MAX):
        items = [item for place, outer in level for item in _list_items(place, outer)]
        _refuse_large_numbers(path, items)
        level = [item for item in items if isinstance(item[1], dict | list)]
    if level:
        raise _make_depth_error(path)
    return tables


LARGE_NUMBER = "a whole number of more than 64 bits, which TOML does not have"
WHOLE_MAX = 1 << 64
_DIGITS = re.compile(r"[0-9][0-9_]*+")
DIGITS_MAX = 4000
"""Of a number, a bit below what Python reads."""


def _find_long_number(text: str) -> int | None:
    """Where a number with more than DIGITS_MAX digits begins; None: there is none."""
    found = (m.start() for m in _DIGITS.finditer(text) if m.end() - m.start() > DIGITS_MAX)
    return next(found, None)


def _refuse_large_numbers(path: Path, items: list[tuple[str, Any]]) -> None:
    """UsageError if one of these is a whole number that no field can take.

    Python has no bound of its own, but cannot write a number of thousands of digits.
    """
    for place, value in items:
        if isinstance(value, int) and not -WHOLE_MAX < value < WHOLE_MAX:
            raise UsageError(f"{path}: {place}: {LARGE_NUMBER}")


def _list_items(place: str, value: Any) -> list[tuple[str, Any]]:
    """What a table or an array holds, each with its place: ``matrix.seeds.0``."""
    named = value.items() if isinstance(value, dict) else enumerate(value)
    return [(f"{place}.{key}" if place else f"{key}", inner) for key, inner in named]


_KEY = r"""(?:[\w-]++|"(?:[^"\\\n]++|\\[^\n])*+"?+|'[^'\n]*+'?+)"""
_DOT = r"[ \t]*+\.[ \t]*+"
_TOML_WORDS = re.compile(
    rf"""
    "{{3}}(?:[^"\\]++|\\.|"(?!""))*+(?:"{{3}})?+
    |'{{3}}(?:[^']++|'(?!''))*+(?:'{{3}})?+
    |\#[^\n]*+
    |(?P<deep>{_KEY}(?:{_DOT}{_KEY}){{{DEPTH_MAX}}})
    |{_KEY}(?:{_DOT}{_KEY})*+
    """,
    re.DOTALL | re.VERBOSE,
)
"""Texts, comments, and keys of words with dots between."""


def has_too_deep_toml_key(text: str) -> bool:
    """Whether a key of a TOML text has more than DEPTH_MAX words with dots between.

    tomllib takes a time with the square of their number, so they are counted before it reads.
    """
    return any(word["deep"] for word in _TOML_WORDS.finditer(text))


@lru_cache(maxsize=256)
def _parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text. A study of many trials reads the same few files of the catalog."""
    return tomllib.loads(text)


def _make_depth_error(path: Path) -> UsageError:
    return UsageError(f"{path}: not TOML that nandlab reads: it nests more than {DEPTH_MAX} deep")


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_json_nested_too_deep(content: bytes) -> bool:
    """Whether a JSON text may nest more than DEPTH_MAX deep.

    Each pass takes the innermost pairs off. Brackets in strings can stop that early; only then each
    character is looked at.
    """
    brackets = content.translate(None, _NO_BRACKETS)
    for _ in range(DEPTH_MAX):
        fewer = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    return bool(brackets) and _measure_depth(content) > DEPTH_MAX


def _measure_depth(content: bytes) -> int:
    """How deep a JSON text nests at most, its strings left out."""
    depth = deepest = 0
    in_string = escaped = False
    for c in content:
        if in_string:
            in_string = escaped or c != ord('"')
            escaped = not escaped and c == ord("\\")
        elif c == ord('"'):
            in_string = True
        elif c in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif c in b"]}":
            depth -= 1
    return deepest


def _parse_finite_number(text: str) -> float:
    number = float(text)
    if number - number != 0:  # inf and nan
        raise ValueError(f"the number {text[:20]} is not finite")
    return number


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


_DECODER = json.JSONDecoder(parse_float=_parse_finite_number, parse_constant=_refuse_constant)
