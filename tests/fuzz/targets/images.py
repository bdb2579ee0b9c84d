# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of nandlab: the sidecar's values changed, and cells whose checksum is the sidecar's."""

from __future__ import annotations

import json
import tempfile
import zlib
from functools import cache
from pathlib import Path
from random import Random

from support.jffs2made import made

from fuzz import texts, values
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.layouts.shape import Shape

SHAPE, BLOCKS = Shape(2048, 131072, 64), 2
PAGES = SHAPE.erase_block // SHAPE.page
WORDS = (["space", "i.nand"], ["space", "i.nand", "--json"], ["model", "map", "i.nand"])


@cache
def sound() -> tuple[bytes, str]:
    """A JFFS2 on the first blocks of the chip apf27: its cells and its sidecar."""
    dump, size = made(SHAPE, BLOCKS, kib=12).dump(ecc=False), SHAPE.block_bytes
    blocks = [
        ChipBlock(i, 1, 0, 0, [], [0x81] * PAGES, dump[i * size : (i + 1) * size])
        for i in range(BLOCKS)
    ]
    image = ChipImage(ChipGeometry(2048, 64, 131072, 2048), 9, 9, 9, blocks)
    counts = chipfile.TreeCounts(files=3, hard_links=0, folders=1, symbolic_links=0, bytes=12288)
    told = chipfile.ImageDescription(
        filesystem="jffs2",
        options={},
        part="apf27",
        partition_blocks=BLOCKS,
        board="apf27",
        tools=None,
        tree=counts,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "i.nand"
        chipfile.write_image_files(path, image, told)
        return path.read_bytes(), chipfile.make_sidecar_path(path).read_text()


def draw(chance: Random) -> Files:
    cells, text = sound()
    told = json.loads(text)
    if chance.random() < 0.3:
        cells = texts.bytes_changed(cells, chance)
        if chance.random() < 0.8:
            told["cells_crc32"], told["cells_bytes"] = zlib.crc32(cells), len(cells)
    if chance.random() < 0.8:
        told = _changed(told, chance)
    return {
        "i.nand": cells,
        "i.nand.json": values.as_json(told, chance),
        "words.json": json.dumps(chance.choice(WORDS)).encode(),
    }


def _changed(told: dict[str, object], chance: Random) -> object:
    """States of pages are many, and say little: half of the changes leave them alone."""
    if chance.random() < 0.5:
        return values.changed(told, chance)
    blocks = told.pop("blocks")
    found = values.changed(told, chance)
    if isinstance(found, dict):
        found["blocks"] = blocks
    return found


def take(folder: Path) -> None:
    command(*json.loads((folder / "words.json").read_text()))


DEVICE = Target(draw, take)
