# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in xz that are damaged, of several streams, or far larger than they look."""

from __future__ import annotations

import lzma
from functools import cache
from random import Random

from nandlab.base import xzpack

HUGE_DICTIONARY = 1 << 29
"""Bytes that unpacking takes at once: more than nandlab gives."""
ZEROS = 48 << 20
"""More than a figures file may have; they pack to 7 kB."""


def spoiled(content: bytes, chance: Random) -> bytes:
    """The content in xz, now and then sound."""
    sound = xzpack.pack_xz(content)
    at = chance.randrange(len(sound))
    ways = (
        lambda: sound,
        lambda: sound[:at],
        lambda: sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :],
        lambda: sound[:at] + chance.randbytes(9) + sound[at + 9 :],
        lambda: sound + sound,
        lambda: sound + bytes(chance.randrange(1, 9)),
        lambda: sound + chance.randbytes(chance.randrange(1, 99)),
        lambda: sound[: chance.randrange(len(xzpack.MAGIC), 40)],
        lambda: greedy(content),
        lambda: lzma.compress(content, lzma.FORMAT_XZ, chance.choice((lzma.CHECK_NONE, -1))),
        lambda: lzma.compress(content, lzma.FORMAT_ALONE),
        lambda: xzpack.pack_xz(sound),
        bomb,
    )
    return chance.choice(ways)()


def greedy(content: bytes) -> bytes:
    """Sound xz, whose dictionary takes half a GiB to unpack."""
    one = {"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": HUGE_DICTIONARY}
    return lzma.compress(content, lzma.FORMAT_XZ, filters=[one])


@cache
def bomb() -> bytes:
    """Sound xz of ZEROS."""
    return lzma.compress(bytes(ZEROS), lzma.FORMAT_XZ, preset=0)
