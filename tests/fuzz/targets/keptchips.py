# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip that a trace or a trial kept, and what its folder tells of it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from support.flashsamples import BLOCKS, FILESYSTEM, packed

from fuzz import values
from fuzz.command import command
from fuzz.target import Files, Target

SMALL = ("jffs2", "yaffs2")


def draw(chance: Random) -> Files:
    layout = chance.choice(SMALL)
    meta = {
        "format": 1,
        "filesystem": FILESYSTEM[layout],
        "partition_blocks": BLOCKS[layout],
        "chip": {"part": "apf27", "writesize": 2048},
        "command": "true",
    }
    words = chance.choice((["space"], ["space", "--json"], ["model", "map"]))
    return {
        "chip.image": packed(layout),
        "meta.json": values.as_json(values.changed(meta, chance), chance),
        "words.json": json.dumps([*words, "chip.image"]).encode(),
    }


def take(folder: Path) -> None:
    command(*json.loads((folder / "words.json").read_text()))


DEVICE = Target(draw, take)
