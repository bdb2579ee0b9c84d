# SPDX-License-Identifier: GPL-2.0-or-later
"""Files packed as xz: how nandlab packs one, and how it unpacks one of another's.

A file from elsewhere may claim gigabytes in a few bytes, so it is unpacked block by block, in
bounded memory, and whoever reads counts. One xz stream is a file: nothing before it and nothing
behind it.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator

MAGIC = b"\xfd7zXZ\x00"
"""What a file in xz begins with."""
SUFFIX = ".xz"
BLOCK_BYTES = 1 << 20
"""Most that is unpacked at once."""
MEMORY_BYTES_MAX = 80 << 20
"""Of unpacking: a stream of `xz -9` takes 65 MiB, one of ours 9 MiB."""
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6 | lzma.PRESET_EXTREME}]


def pack_xz(content: bytes) -> bytes:
    """The content in xz: one block, one thread, no name and no date, so equal content is equal."""
    return lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_CRC64, filters=FILTERS)


def unpack_xz_into_blocks(packed: bytes) -> Iterator[bytes]:
    """The content of a file in xz, in blocks of at most BLOCK_BYTES.

    ValueError, in a clause, where it is damaged, ends early, goes on behind its end, or takes more
    than MEMORY_BYTES_MAX to unpack.
    """
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES_MAX)
    fed = packed
    while not stream.eof:
        try:
            yield stream.decompress(fed, BLOCK_BYTES)
        except lzma.LZMAError as e:
            raise ValueError(_format_error(e)) from None
        if stream.needs_input:
            raise ValueError("it ends before its content does")
        fed = b""
    if stream.unused_data:
        raise ValueError(f"{len(stream.unused_data)} bytes are behind its end")


def _format_error(error: lzma.LZMAError) -> str:
    """What liblzma says, as a part of a sentence."""
    said = str(error).rstrip(".")
    limit = f" ({MEMORY_BYTES_MAX >> 20} MiB)" if "limit" in said else ""
    return said[:1].lower() + said[1:] + limit
