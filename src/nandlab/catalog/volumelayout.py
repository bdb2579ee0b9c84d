# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI volumes beside a file system's own: a layout in words, and the commands that make them.

A product's UBI holds a kernel, a root file system and settings on the same blocks, so they share
wear. A layout is ``NAME MIB KIND, NAME MIB KIND, ...``: ``kernel 4 static, spare 2 dynamic empty``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import Field

from nandlab.base.strings import Command, Word
from nandlab.catalog.noun import StrictModel

MIB = 1 << 20
VOLUME = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_-]{0,59}) (?P<mib>[0-9]{1,6}(?:\.[0-9]{1,6})?) "
    r"(?P<kind>static|dynamic)(?P<empty> empty)?",
    re.ASCII,
)
VOLUMES_MAX = 16
HEADER_PAGES = 2
"""Pages of a block that UBI's headers take; with subpages they take one, and a layout is then
counted up to a block in 63 too large."""
EXAMPLE = "kernel 4 static, rootfs 8 static, spare 2 dynamic empty"


class FurtherVolume(NamedTuple):
    """A volume beside the file system's own."""

    name: str
    bytes: int
    kind: str
    is_empty: bool
    """Whether nothing is written to it; else it is filled."""


class VolumeLayout(StrictModel):
    """Takes layouts as values of an option: templates of the commands that make each volume."""

    own: Word = Field(description="name of the file system's own volume, which is number 0")
    make: Command = Field(
        description="command that makes a volume; {number}, {name}, {bytes}, {kind} stand for it"
    )
    fill: Command = Field(description="command that fills it, likewise")

    def explain_mistake(self, text: str) -> str | None:
        """What is wrong with a layout, in a clause; None: nothing."""
        words = text.split(", ")
        wrong = next((w for w in words if not VOLUME.fullmatch(w)), None)
        if wrong is not None:
            return (
                f"has {wrong!r}, which is no NAME MIB static|dynamic [empty]; such as {EXAMPLE!r}"
            )
        volumes = parse_layout(text)
        names = [volume.name for volume in volumes]
        if twice := next((n for n in names if names.count(n) > 1), None):
            return f"names volume {twice!r} twice"
        if self.own in names:
            return f"names {self.own!r}, which is the file system's own volume"
        if none := next((v.name for v in volumes if not v.bytes), None):
            return f"has no byte for {none!r}"
        if len(volumes) > VOLUMES_MAX:
            return f"has {len(volumes)} volumes; {VOLUMES_MAX} at most"
        return None

    def make_commands(self, text: str) -> str:
        """The commands that make and fill the volumes, to be run before one that makes its own."""
        return "".join(f"{command} && " for command in self._list_commands(text))

    def _list_commands(self, text: str) -> Iterator[str]:
        for number, volume in enumerate(parse_layout(text), 1):
            words = {**volume._asdict(), "number": number}
            yield self.make.format(**words)
            if not volume.is_empty:
                yield self.fill.format(**words)


def parse_layout(text: str) -> list[FurtherVolume]:
    """The volumes of a layout without mistakes, in order."""
    matches = filter(None, map(VOLUME.fullmatch, text.split(", ")))
    return [
        FurtherVolume(m["name"], round(float(m["mib"]) * MIB), m["kind"], bool(m["empty"]))
        for m in matches
    ]


def count_layout_blocks(text: str, erasesize: int, writesize: int) -> int:
    """Erase blocks that the volumes of a layout take."""
    leb_bytes = erasesize - HEADER_PAGES * writesize
    return sum(-(-volume.bytes // leb_bytes) for volume in parse_layout(text))
