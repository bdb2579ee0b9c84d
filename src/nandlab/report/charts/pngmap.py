# SPDX-License-Identifier: GPL-2.0-or-later
"""A map of small numbers as an indexed PNG, one pixel a cell, and the palette it is read by.

A chip of 262,144 blocks becomes some 90 kB; one chart mark per block would be unusable.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

UNTOUCHED_RGB = (0xE4, 0xE4, 0xE0)
"""Colour of 0, apart from the ramp: what was never erased must stand out."""
RAMP_ANCHORS = (
    (0xF4, 0xCB, 0x66),
    (0xF0, 0x9A, 0x4A),
    (0xC4, 0x45, 0x5B),
    (0x6B, 0x1F, 0x72),
    (0x1C, 0x10, 0x44),
)
"""The ramp from least to largest value; lightness falls all the way, so it reads in grey too."""
COLUMNS_MAX = 1600
PALETTE_SIZE = 256


def make_map_palette() -> list[tuple[int, int, int]]:
    """256 colours: index 0 for 0, then the ramp."""
    at = np.linspace(0, len(RAMP_ANCHORS) - 1, PALETTE_SIZE - 1)
    channels = [
        np.interp(at, range(len(RAMP_ANCHORS)), [a[c] for a in RAMP_ANCHORS]) for c in range(3)
    ]
    ramp = [(int(r), int(g), int(b)) for r, g, b in zip(*channels, strict=True)]
    return [UNTOUCHED_RGB, *ramp]


def list_colour_ramp_hex() -> list[str]:
    """The ramp's anchors as #rrggbb, for the legend."""
    return ["#{:02x}{:02x}{:02x}".format(*a) for a in RAMP_ANCHORS]


def compute_colour_ramp_ends(largest: int, least: int = 1) -> list[int]:
    """The values at the ramp's ends; never one and the same."""
    return [least, max(least + 1, largest)]


def list_colour_ramp_ticks(largest: int, least: int = 1) -> list[int]:
    """Values to name in the legend: 1, 2, 5, 10, ... below the largest, and the largest.

    With a least value above 1: up to five values, evenly spaced on the ramp.
    """
    if least > 1:
        low, high = compute_colour_ramp_ends(largest, least)
        return sorted({round(low * (high / low) ** (i / 4)) for i in range(5)})
    if largest <= 1:
        return [1]
    steps = [m * 10**e for e in range(10) for m in (1, 2, 5)]
    return [
        *(s for s in steps if s * 1.4 < largest or s == 1),
        *compute_colour_ramp_ends(largest)[1:],
    ]


def map_values_to_palette(
    values: NDArray[np.int64], largest: int, least: int = 1
) -> NDArray[np.uint8]:
    """Palette index of each value: 0 for 0; least..largest over 1..255 by logarithm."""
    low, top = compute_colour_ramp_ends(largest, least)
    share = np.log(np.maximum(values, low) / low) / np.log(top / low)
    scaled = 1 + np.rint(np.clip(share, 0, 1) * (PALETTE_SIZE - 2))
    return np.where(values > 0, scaled, 0).astype(np.uint8)


def narrow_map_columns(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """At most :data:`COLUMNS_MAX` columns, each the largest of ``step`` neighbours; and step."""
    step = -(-rows.shape[1] // COLUMNS_MAX)
    padding = -rows.shape[1] % step
    padded = np.pad(rows, ((0, 0), (0, padding)), mode="edge")
    return padded.reshape(rows.shape[0], -1, step).max(axis=2), step


def encode_indexed_png(cells: NDArray[np.uint8]) -> bytes:
    """An 8-bit indexed PNG (colour type 3) of the cells, rows from the top."""
    height, width = cells.shape
    colours = b"".join(bytes(c) for c in make_map_palette())
    lines = b"".join(b"\0" + row.tobytes() for row in cells)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_make_png_chunk(kind, body) for kind, body in chunks)


def make_png_data_uri(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def _make_png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
