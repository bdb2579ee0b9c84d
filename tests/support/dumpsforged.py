# SPDX-License-Identifier: GPL-2.0-or-later
"""Foreign dumps for tests: the sample chips, laid out as other tools and drivers would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nandlab.flash.layouts import yaffs2, yaffs2image
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.shape import Shape
from support.flashsamples import BLOCKS, chip
from support.ubimade import Device

YAFFS2 = Partition(chip("yaffs2"), BLOCKS["yaffs2"])
SHAPE_OF_YAFFS2 = Shape(YAFFS2.writesize, YAFFS2.erasesize, YAFFS2.oobsize)
Pages = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
FREE_BYTES = {
    "default": range(2, 64),
    "image tool": range(64),
    "behind a mark of 8": range(8, 64),
    "mxc": [*range(2, 6), *range(11, 22), *range(27, 38), *range(43, 54), *range(59, 64)],
    "fsl elbc": [*range(1, 6), *range(9, 22), *range(25, 38), *range(41, 54), *range(57, 64)],
    "winbond": [at for begin in range(2, 64, 16) for at in range(begin, begin + 6)],
    "blackfin": [at for begin in range(3, 64, 8) for at in range(begin, begin + 5)],
}
"""Bytes of a spare area that a driver's ECC leaves; mtd's ooblayout of each."""


def make_yaffs2_dump(change: Callable[[Pages], None]) -> bytes:
    """The sample of YAFFS2, each written page of it changed."""
    content = []
    for block in range(YAFFS2.blocks):
        if YAFFS2.erased(block):
            content.append(b"\xff" * SHAPE_OF_YAFFS2.block_bytes)
            continue
        pages = YAFFS2._pages(block).copy()
        for page in pages:
            if (page != 0xFF).any():
                change(page)
        content.append(pages.tobytes())
    return b"".join(content)


def put_tags(page: Pages, free: Sequence[int], order: str, ecc: np.random.Generator) -> None:
    """Lays a page's tags out as such a driver does, with its ECC between them."""
    spare = page[YAFFS2.writesize :]
    tags = spare[yaffs2.TAGS_AT : yaffs2.TAGS_AT + yaffs2.CODED_TAGS_BYTES].copy()
    if order == ">":
        tags[:16] = tags[:16].view("<u4").byteswap().view(np.uint8)
        tags[16:] = yaffs2.compute_tags_ecc(tags[None, :16])[0].astype(">u4").view(np.uint8)
        tags[16] = tags[19]
        if yaffs2image._begin_with_headers(page[None, :], "<")[0]:
            for begin, end in yaffs2image.HEADER_WORDS:
                page[begin:end] = page[begin:end].view("<u4").byteswap().view(np.uint8)
    spare[:] = ecc.integers(0, 256, len(spare))
    spare[: min(*free, 2)] = 0xFF
    spare[list(free)] = 0xFF
    taken = list(free)[: len(tags) if len(free) >= len(tags) else yaffs2.TAGS_BYTES]
    spare[taken] = tags[: len(taken)]


def make_driver_dump(driver: str, order: str) -> bytes:
    """The sample of YAFFS2 as a driver and a processor's byte order have it."""
    ecc = np.random.default_rng(1)
    return make_yaffs2_dump(lambda page: put_tags(page, FREE_BYTES[driver], order, ecc))


def make_product_device() -> Device:
    """The sample of UBIFS beside a static volume ``data``; its own is named ``rootfs``."""
    device = Device()
    device.list(0, "rootfs", 92)
    content = bytes(range(256)) * (device.leb_bytes // 256)
    device.put(1, [content, b"end" * 100], static=True)
    device.list(1, "data", 2, static=True)
    return device
