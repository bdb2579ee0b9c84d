# SPDX-License-Identifier: GPL-2.0-or-later
"""What a decompressor does to unpack a node: its tokens, counted without unpacking them.

The kernel's decompressors take their time by tokens, and have a fast way and a slow one, near an
end. So a node is gone through as they do, with each turn from one to the other where they have it:
:mod:`nandlab.flash.reading.unlzo1x`, :mod:`nandlab.flash.reading.inflate`. Of zstd the headers
alone are read: :mod:`nandlab.flash.reading.zstdblocks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import MappingProxyType

from nandlab.flash.layouts.unpacking import UnpackError
from nandlab.flash.reading.inflate import count_zlib_tokens
from nandlab.flash.reading.unlzo1x import count_lzo_tokens
from nandlab.flash.reading.zstdblocks import count_zstd_tokens

TokenCounts = Counter[str]
"""How many of each; the names are those of catalog/read-model.toml."""
TOKEN_COUNTERS: MappingProxyType[str, Callable[[bytes, int], tuple[TokenCounts, int]]] = (
    MappingProxyType(
        {"lzo": count_lzo_tokens, "zlib": count_zlib_tokens, "zstd": count_zstd_tokens}
    )
)
"""The compressors whose tokens are counted: of bytes, and how many there is room for; and what they
make."""


def count_node_tokens(
    compressor: str, packed: bytes, plain: int, room: int = 0
) -> TokenCounts | None:
    """Of a node; plain: bytes that it unpacks to; room: that the decompressor is given room for, if
    more: it goes on the fast way longer then. None: of this compressor they are not known.

    Unpackable if the bytes end too early or make another number of bytes.
    """
    if compressor not in TOKEN_COUNTERS:
        return None
    try:
        tokens, unpacked_bytes = TOKEN_COUNTERS[compressor](packed, max(plain, room))
    except IndexError:
        raise UnpackError(f"{compressor}: {len(packed)} bytes end within a token") from None
    except ValueError as e:
        raise UnpackError(f"{compressor}: {e}") from None
    if unpacked_bytes != plain:
        raise UnpackError(
            f"{compressor}: {len(packed)} bytes make {unpacked_bytes} bytes, not {plain}"
        )
    tokens["node"] = 1
    return +tokens
