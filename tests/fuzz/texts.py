# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to change bytes, and the lines and words of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

WORD = re.compile(rb"[A-Za-z_]+|[0-9]+|[^A-Za-z_0-9]")
WORDS = (
    *(b"0", b"-1", b"1", b"65536", b"4294967296", b"18446744073709551616", b"9" * 5000, b"1e999"),
    *(
        b"",
        b" ",
        b'"',
        b"\\",
        b"\x00",
        b"\xff",
        b"\x1b[31m",
        b"x" * 5000,
        b"..",
        b"(",
        b")",
        b"{",
        b"]",
    ),
)


def bytes_changed(data: bytes, chance: Random, most: int = 8) -> bytes:
    """Bits flipped, runs overwritten, moved, left out or cut off."""
    found = bytearray(data)
    for _ in range(chance.randint(1, most)):
        if not found:
            break
        at, count = chance.randrange(len(found)), chance.choice((1, 2, 4, 8, 64, 600))
        match chance.randrange(6):
            case 0 | 1:
                found[at] ^= 1 << chance.randrange(8)
            case 2:
                found[at : at + count] = chance.randbytes(len(found[at : at + count]))
            case 3:
                fill = chance.choice((b"\xff", b"\x00", b"\x7f"))
                found[at : at + count] = fill * len(found[at : at + count])
            case 4:
                to = chance.randrange(len(found))
                found[at:at] = found[to : to + count]
            case _:
                del found[at : at + count]
    return (
        bytes(found[: chance.randrange(len(found) + 1)]) if chance.random() < 0.05 else bytes(found)
    )


def lines_changed(text: bytes, chance: Random, words: Sequence[bytes] = (), most: int = 4) -> bytes:
    """Words exchanged with others of the text or with given ones; lines doubled, moved, left out.

    words: of the language, beside those that trip any reader.
    """
    lines = text.split(b"\n")
    for _ in range(chance.randint(1, most)):
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                lines.insert(chance.randrange(len(lines) + 1), lines[at])
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                to = chance.randrange(len(lines))
                lines[at], lines[to] = lines[to], lines[at]
            case 3:
                lines[at] = bytes_changed(lines[at], chance, 2)
            case _:
                lines[at] = _word_changed(lines[at], chance, [*words, *WORD.findall(text[:5000])])
    return b"\n".join(lines)


def _word_changed(line: bytes, chance: Random, words: Sequence[bytes]) -> bytes:
    parts = WORD.findall(line)
    if not parts:
        return chance.choice(WORDS)
    at = chance.randrange(len(parts))
    parts[at] = chance.choice(WORDS if not words or chance.random() < 0.4 else words)
    return b"".join(parts)
