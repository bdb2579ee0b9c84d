# SPDX-License-Identifier: GPL-2.0-or-later
"""What a decompressor does to unpack a node: its tokens, counted without unpacking them.

The kernel's decompressors take their time by tokens, and have a fast way and a slow one, near an
end. So a node is gone through as they do, with each turn from one to the other where they have it:
:mod:`nandlab.model.unlzo1x`, :mod:`nandlab.model.inflate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import MappingProxyType

from nandlab.model.inflate import zlib
from nandlab.model.unlzo1x import lzo
from nandlab.onflash.packing import Unpackable

Tokens = Counter[str]
"""How many of each; the names are those of catalog/read-model.toml."""
COUNTED: MappingProxyType[str, Callable[[bytes, int], tuple[Tokens, int]]] = MappingProxyType(
    {"lzo": lzo, "zlib": zlib}
)
"""The compressors whose tokens are counted: of bytes, and how many there is room for; and what they
make."""


def tokens(compressor: str, packed: bytes, plain: int, room: int = 0) -> Tokens | None:
    """Of a node; plain: bytes that it unpacks to; room: that the decompressor is given room for, if
    more: it goes on the fast way longer then. None: of this compressor they are not known.

    Unpackable if the bytes end too early or make another number of bytes.
    """
    if compressor not in COUNTED:
        return None
    try:
        found, made = COUNTED[compressor](packed, max(plain, room))
    except IndexError:
        raise Unpackable(f"{compressor}: {len(packed)} bytes end within a token") from None
    except ValueError as e:
        raise Unpackable(f"{compressor}: {e}") from None
    if made != plain:
        raise Unpackable(f"{compressor}: {len(packed)} bytes make {made} bytes, not {plain}")
    found["node"] = 1
    return +found
