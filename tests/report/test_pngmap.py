# SPDX-License-Identifier: GPL-2.0-or-later
"""Maps of blocks as PNG: every cell is in them, and narrowing loses no peak."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nandlab.report.charts import pngmap


def read_png(data: bytes) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Palette and palette indices of an indexed PNG, every checksum verified."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (checksum,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height, depth, colour_type = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour_type) == (8, 3)
    lines = zlib.decompress(chunks[b"IDAT"])
    rows = [lines[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    palette = [tuple(chunks[b"PLTE"][i : i + 3]) for i in range(0, len(chunks[b"PLTE"]), 3)]
    return palette, [list(row[1:]) for row in rows]


CELLS = st.integers(1, 4).flatmap(
    lambda h: st.integers(1, 30).flatmap(
        lambda w: st.lists(
            st.lists(st.integers(0, 5000), min_size=w, max_size=w), min_size=h, max_size=h
        )
    )
)


@given(CELLS)
def test_a_map_keeps_every_cell_its_order_and_its_zeros(cells: list[list[int]]) -> None:
    values = np.array(cells, dtype=np.int64)
    palette, indices = read_png(
        pngmap.encode_indexed_png(pngmap.map_values_to_palette(values, int(values.max())))
    )
    assert palette == pngmap.make_map_palette()
    found = np.array(indices)
    assert found.shape == values.shape
    assert ((found == 0) == (values == 0)).all()
    order = np.argsort(values, axis=None, kind="stable")
    assert (np.diff(found.ravel()[order]) >= 0).all()
    least = min((v for row in cells for v in row if v), default=1)
    stretched = pngmap.map_values_to_palette(values, int(values.max()), least)
    assert ((stretched == 0) == (values == 0)).all()
    assert (np.diff(stretched.ravel()[order].astype(int)) >= 0).all()


@given(st.lists(st.integers(0, 99), min_size=1, max_size=9000))
def test_a_narrowed_map_never_loses_the_most_worn_block(erases: list[int]) -> None:
    narrowed, step = pngmap.narrow_map_columns(np.array([erases], dtype=np.int64))
    assert narrowed.shape[1] <= pngmap.COLUMNS_MAX
    assert narrowed.shape[1] == -(-len(erases) // step)
    assert narrowed.max() == max(erases)
