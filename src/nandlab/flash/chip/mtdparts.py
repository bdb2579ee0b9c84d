# SPDX-License-Identifier: GPL-2.0-or-later
"""Partitions as the kernel's parameter mtdparts= has them (drivers/mtd/parsers/cmdlinepart.c).

    mtdparts=DEVICE:PART,PART,...;DEVICE:...      PART: SIZE[@OFFSET][(NAME)][ro][lk][slc]

Of one chip, DEVICE: may be left out; a whole command line of the kernel is taken too. A size of
``-`` is what is left of the chip. A partition without an offset follows the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.base.errors import UsageError

PREFIX = "mtdparts="
REMAINING = "-"
PART = re.compile(
    r"(?P<size>-|0[xX][0-9a-fA-F]{1,16}[kKmMgG]?|\d{1,18}[kKmMgG]?)"
    r"(?:@(?P<offset>0[xX][0-9a-fA-F]{1,16}[kKmMgG]?|\d{1,18}[kKmMgG]?))?"
    r"(?:\((?P<name>[^()]{0,64})\))?(?:ro|lk|slc)*"
)
WORD = re.compile(r"(?:\([^()]*\)|[^\s\"'])*")
"""A word of a command line: up to a blank or a quote that is in no brackets."""
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class MtdPartition:
    """A partition: its name, and where it lies on the chip."""

    name: str
    offset: int
    size: int | None
    """Bytes; None: all that is left of the chip."""


def parse_mtdparts(text: str) -> list[MtdPartition]:
    """All partitions, those of each device in order; UsageError says what is wrong."""
    devices = find_mtdparts_word(text).split(";")
    return [part for device in devices for part in _parse_device(device)]


def find_mtdparts_word(text: str) -> str:
    """What follows mtdparts= in a command line of the kernel, or all of a text without it.

    A name may have blanks, and the whole word may be in quotes.
    """
    _, prefix, word = text.strip().rpartition(PREFIX)
    word = word.strip("\"'")
    found = WORD.match(word) if prefix else None
    return found[0] if found else word


def find_mtd_partition(text: str, name: str | None) -> MtdPartition:
    """The partition of this name; None: the only one. UsageError lists those there are."""
    parts = parse_mtdparts(text)
    matches = [p for p in parts if name is None or p.name == name]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(p.name for p in parts)
    if name is None:
        raise UsageError(f"--mtdparts has {len(parts)} partitions: give --mtdpart, of {names}")
    if matches:
        raise UsageError(
            f"--mtdparts has {len(matches)} partitions {name!r}: give --offset instead"
        )
    raise UsageError(f"--mtdparts has no partition {name!r}; it has {names}")


def _parse_device(text: str) -> Iterator[MtdPartition]:
    """The partitions of one device. Its id may have colons, and so may names."""
    device, colon, _ = text.partition("(")[0].rpartition(":")
    if colon and not device:
        raise UsageError(f"--mtdparts: {text!r}: expected DEVICE:SIZE[@OFFSET](NAME),...")
    words = text[len(device) + len(colon) :]
    end: int | None = 0
    for word in words.split(","):
        matched = PART.fullmatch(word)
        if matched is None:
            raise UsageError(
                f"--mtdparts: {word!r}: expected SIZE[@OFFSET](NAME), such as 4M(boot)"
            )
        if end is None:
            raise UsageError(f"--mtdparts: {word!r}: the partition before takes all that is left")
        offset = _parse_bytes(matched["offset"]) if matched["offset"] else end
        size = None if matched["size"] == REMAINING else _parse_bytes(matched["size"])
        if size == 0:
            raise UsageError(f"--mtdparts: {word!r}: a partition has more than 0 bytes")
        yield MtdPartition(matched["name"] or f"Partition_{offset:03x}", offset, size)
        end = None if size is None else offset + size


def _parse_bytes(text: str) -> int:
    unit = UNITS.get(text[-1].lower(), 1)
    return int(text if unit == 1 else text[:-1], 0 if text[:2] in ("0x", "0X") else 10) * unit
