# SPDX-License-Identifier: GPL-2.0-or-later
"""Packed data of a node, unpacked: the one place where this machine does so."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from nandlab.base.errors import NandlabError
from nandlab.flash.layouts.layout import HOLE, BytesAt, FilePiece

UNPACKED_MAX = 1 << 16
"""Bytes of a node's data that none has more of."""


class UnpackError(NandlabError):
    """The bytes are none that the compressor makes, or the compressor is not known here."""


def unpack_file_piece(piece: FilePiece, bytes_at: BytesAt) -> bytes:
    """The bytes of the file that a piece has; Unpackable says why they cannot be told."""
    if piece.packing == HOLE:
        return bytes(piece.bytes)
    stored = bytes_at(piece.at, piece.stored)
    plain = unpack_node_data(piece.packing, stored) if piece.packing else stored
    if len(plain) < piece.skip + piece.bytes:
        raise UnpackError(f"{piece.stored} bytes hold {len(plain)}, not {piece.plain}")
    return plain[piece.skip : piece.skip + piece.bytes]


def unpack_node_data(packing: str, stored: bytes) -> bytes:
    """All that a node's data stands for; Unpackable if it cannot be told."""
    if packing not in UNPACKERS:
        raise UnpackError(f"packed by {packing}, which the host does not read")
    try:
        return UNPACKERS[packing](stored)
    except (IndexError, ValueError, zlib.error) as e:
        raise UnpackError(f"{packing}: {len(stored)} bytes cannot be unpacked: {e}") from None


def count_zlib_header_bytes(packed: bytes) -> int:
    """Bytes of zlib's header: 2, as JFFS2 has it, or 0, as UBIFS leaves it out."""
    headed = packed[0] & 15 == zlib.DEFLATED and int.from_bytes(packed[:2], "big") % 31 == 0
    return 2 if headed else 0


def _unpack_zlib(packed: bytes) -> bytes:
    inflate = zlib.decompressobj(
        zlib.MAX_WBITS if count_zlib_header_bytes(packed) else -zlib.MAX_WBITS
    )
    return inflate.decompress(packed, UNPACKED_MAX)


def _unpack_lzo(packed: bytes) -> bytes:
    from lzallright import LZOCompressor, LZOError

    try:
        return bytes(LZOCompressor.decompress(packed))
    except LZOError as e:
        raise ValueError(e) from None


def _unpack_zstd(packed: bytes) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError

    try:
        return ZstdDecompressor().decompress(packed, max_output_size=UNPACKED_MAX)
    except ZstdError as e:
        raise ValueError(e) from None


def _unpack_rtime(packed: bytes) -> bytes:
    """Pairs: a byte, and how many bytes follow it that once followed it before."""
    unpacked = bytearray()
    after = [0] * 256
    for value, count in zip(packed[::2], packed[1::2], strict=True):
        unpacked.append(value)
        begin, after[value] = after[value], len(unpacked)
        for offset in range(begin, begin + count):
            unpacked.append(unpacked[offset])
    return bytes(unpacked)


UNPACKERS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {"zlib": _unpack_zlib, "lzo": _unpack_lzo, "zstd": _unpack_zstd, "rtime": _unpack_rtime}
)
