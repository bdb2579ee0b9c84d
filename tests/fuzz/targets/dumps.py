# SPDX-License-Identifier: GPL-2.0-or-later
"""Spoilt dumps of JFFS2 and what jffs2dump prints of them, with geometries that may be wrong.

What is refused is refused in a line; each page that counts as known has the bytes written to it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

from support.dumpsteps import LARGE, SMALL, known_pages
from support.flashsamples import BLOCKS, chip, damaged
from support.jffs2made import Made, made
from support.jffs2texts import text_of

from fuzz.target import Files, Target
from nandlab.base.errors import UsageError
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.shape import Shape
from nandlab.flash.reading.fragments import map_file_pages


@cache
def truth(kind: int) -> Made:
    """One of a dozen small file systems."""
    shape, pieces = (LARGE, SMALL)[kind % 2], (100, 300, 1500, 4096, 2000, 40)[kind // 2]
    blocks = 8 if shape == LARGE else 32
    return made(shape, blocks, order="<>"[kind // 3 % 2], pieces=pieces, kib=48)


def spoilt(data: bytes, chance: Random) -> bytes:
    """With bits flipped, a run overwritten, moved or left out, or cut off."""
    found = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 3, 30))):
        at, count = chance.randrange(len(found)), chance.choice((1, 4, 64, 600, 5000))
        match chance.randrange(6):
            case 0 | 1:
                found[at] ^= 1 << chance.randrange(8)
            case 2:
                found[at : at + count] = chance.randbytes(len(found[at : at + count]))
            case 3:
                found[at : at + count] = b"\xff" * len(found[at : at + count])
            case 4:
                to = chance.randrange(len(found))
                found[at : at + count] = found[to : to + len(found[at : at + count])]
            case _ if chance.random() < 0.2:
                del found[at : at + count]
    return bytes(found[: chance.randrange(len(found))]) if chance.random() < 0.1 else bytes(found)


def geometry(right: Shape, chance: Random) -> Shape:
    if chance.random() < 0.6:
        return right
    page = chance.choice((512, 2048, 4096))
    return Shape(page, page * chance.choice((8, 32, 64)), chance.choice((0, 16, 64, 128)))


def draw(chance: Random) -> Files:
    kind = chance.choice((None, *range(12)))
    mib = None
    if kind is None:
        layout = chance.choice(sorted(BLOCKS))
        image = chip(layout)
        right = Shape(image.geometry.writesize, image.geometry.erasesize, image.geometry.oobsize)
        try:
            data = damaged(layout, chance.getrandbits(40)).nanddump(BLOCKS[layout])
        except ValueError:  # the damage is past the partition
            data = image.nanddump(BLOCKS[layout])
    else:
        of, bare, text = truth(kind), chance.random() < 0.4, chance.random() < 0.3
        right = of.shape._replace(oob=0) if bare else of.shape
        data = spoilt(text_of(of) if text else of.dump(oob=not bare), chance)
        mib, kind = chance.choice((None, None, 0.25)), None if text else kind
    told = {"shape": geometry(right, chance), "mib": mib, "kind": kind}
    return {"dump": data, "told.json": json.dumps(told).encode()}


def take(folder: Path) -> None:
    told = json.loads((folder / "told.json").read_text())
    path, shape = folder / "dump", Shape(*told["shape"])
    try:
        if told["kind"] is not None:
            known_pages(path, shape, truth(told["kind"]), told["mib"])
            return
        layout, dropped = read_flash_file_layout(
            path, FlashFileOptions(None, None, shape), tolerant=True
        )
        for owner in layout.sizes:
            map_file_pages(layout, owner, dropped)
    except UsageError as e:
        assert "\n" not in str(e)
        raise


DEVICE = Target(draw, take, cases=20)
