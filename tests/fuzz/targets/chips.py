# SPDX-License-Identifier: GPL-2.0-or-later
"""Chips that the board's own file systems wrote, damaged in nodes whose checksums are right again.

A decoder refuses one or sums to the partition; who reads a mounted one tells each page.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from support.flashsamples import BLOCKS, FILESYSTEM, chip, damaged, file_damaged

from fuzz.target import Files, Target
from nandlab.base.errors import NandlabError
from nandlab.flash.chip import image as chipimage
from nandlab.flash.layouts.decoders import list_decoders
from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    open_flash_file_partition,
    read_flash_file_layout,
)
from nandlab.flash.layouts.layout import ByteKind
from nandlab.flash.reading.fragments import map_file_pages

MIB = 1 << 20


def draw(chance: Random) -> Files:
    layout, seed = chance.choice(sorted(BLOCKS)), chance.getrandbits(40)
    name = FILESYSTEM[layout] if chance.random() < 0.9 else chance.choice(sorted(list_decoders()))
    mib = BLOCKS[layout] * chip(layout).geometry.erasesize / MIB
    if chance.random() < 0.2:
        cells = file_damaged(layout, seed)
    else:
        cells = chipimage.encode_chip_image(damaged(layout, seed))
    asked = [name if chance.random() < 0.7 else None, mib if chance.random() < 0.9 else None]
    return {"chip.image": cells, "asked.json": json.dumps(asked).encode()}


def take(folder: Path) -> None:
    asked = FlashFileOptions(*json.loads((folder / "asked.json").read_text()))
    try:
        summed(folder / "chip.image", asked)
    except NandlabError:
        mapped(folder / "chip.image", asked)
        raise
    mapped(folder / "chip.image", asked)


def summed(path: Path, asked: FlashFileOptions) -> None:
    layout, _ = read_flash_file_layout(path, asked)
    partition, _ = open_flash_file_partition(path, asked.partition_mib)
    assert sum(layout.sums().values()) == partition.bytes
    assert layout.sums()[ByteKind.BAD] == len(partition.bad) * partition.erasesize


def mapped(path: Path, asked: FlashFileOptions) -> None:
    layout, dropped = read_flash_file_layout(path, asked, tolerant=True)
    for owner in layout.sizes:
        map_file_pages(layout, owner, dropped)


DEVICE = Target(draw, take, cases=20)
