# SPDX-License-Identifier: GPL-2.0-or-later
"""LZO as the kernel packs by it: LZO1X-1, byte for byte.

Other compressors of LZO1X find other matches, and lzallright's fewer bytes. Source: Linux 5.10 to
6.12, lib/lzo/lzo1x_compress.c, without its runs of zeroes (lzo-rle). It looks for four bytes that
were there before, by a hash that keeps one place, and goes on faster the longer it has found none.
"""

from __future__ import annotations

import numpy as np

PLAIN_MAX = 0x4000
"""Bytes that are packed, at most: matches from further back have another form."""
LEFT = 20
"""Bytes at the end that are in no match which begins there, as are fewer in all."""
FIRST = 5
"""Byte at which a match is first looked for."""
HASH, HASH_BITS = 0x1824429D, 13
AT_ONCE = 8
"""Bytes by which a match is lengthened; past the last begin of matches it ends with these."""
NEAR, SHORT = 0x800, 8
"""Bytes back and of length, up to which a match takes two bytes."""
IN_ONE = 33
"""Bytes of a match up to which the length is in its first byte."""
FAR_MATCH, NEAR_MATCH = 32, 5
"""First byte of a match of three bytes and more; bit from which on one of two has its length."""
END = bytes((17, 0, 0))
ALONE, ALONE_MAX = 17, 238
"""First byte of what has no match, beyond its length; and that length, at most."""


def pack_lzo1x(data: bytes) -> bytes:
    """Packed, even if that takes more."""
    assert len(data) <= PLAIN_MAX
    out = bytearray()
    packed_end = _pack_matches(data, out) if len(data) > LEFT else 0
    tail_bytes = len(data) - packed_end
    if not out and 0 < tail_bytes <= ALONE_MAX:
        out.append(ALONE + tail_bytes)
        out += data
    elif tail_bytes:
        _append_run(out, data[packed_end:])
    return bytes(out) + END


def _pack_matches(data: bytes, out: bytearray) -> int:
    """Packs all up to the end of the last match, and tells where that is."""
    word, place = _hash_words(data)
    positions = [0] * (1 << HASH_BITS)
    end = len(data) - LEFT
    match_end, position = 0, FIRST
    while position < end:
        before, positions[place[position]] = positions[place[position]], position
        if word[position] != word[before]:
            position += 1 + (position - match_end >> 5)
            continue
        if position > match_end:
            _append_run(out, data[match_end:position])
        count = _count_alike(data, position, before, end)
        _append_match(out, count, position - before)
        match_end = position = position + count
    return match_end


def _hash_words(data: bytes) -> tuple[list[int], list[int]]:
    """For each byte the word that begins with it, and that word's hash."""
    each = np.frombuffer(data, dtype=np.uint8).astype(np.uint32)
    words = each[:-3] | each[1:-2] << 8 | each[2:-1] << 16 | each[3:] << 24
    hashes = words * np.uint32(HASH) >> np.uint32(32 - HASH_BITS)
    return words.tolist(), hashes.tolist()


def _count_alike(data: bytes, position: int, before: int, end: int) -> int:
    """How many bytes are the same at both places, of which four are known to be."""
    count = 4
    while (
        data[position + count : position + count + AT_ONCE]
        == data[before + count : before + count + AT_ONCE]
    ):
        count += AT_ONCE
        if position + count >= end:
            return count
    while data[position + count] == data[before + count]:
        count += 1
    return count


def _append_run(out: bytearray, run: bytes) -> None:
    """Bytes as they are; up to three are told by the match before them."""
    if len(run) <= 3:
        out[-2] |= len(run)
    elif len(run) <= 18:
        out.append(len(run) - 3)
    else:
        _append_long_length(out, 0, len(run) - 18)
    out += run


def _append_match(out: bytearray, count: int, back: int) -> None:
    back -= 1
    if count <= SHORT and back < NEAR:
        out += bytes((count - 1 << NEAR_MATCH | (back & 7) << 2, back >> 3))
        return
    if count <= IN_ONE:
        out.append(FAR_MATCH | count - 2)
    else:
        _append_long_length(out, FAR_MATCH, count - IN_ONE)
    out += bytes((back << 2 & 0xFF, back >> 6))


def _append_long_length(out: bytearray, first: int, excess: int) -> None:
    """A length that goes on in bytes of zero."""
    zeroes = (excess - 1) // 255
    out.append(first)
    out += bytes(zeroes)
    out.append(excess - 255 * zeroes)
