# SPDX-License-Identifier: GPL-2.0-or-later
"""The partition as a map: one page of HTML that needs nothing else.

An erase block is a tile, and its pages are the tile's cells. The page's script draws them from the
extents of the layout, which are all in the page, so that pointing at a cell tells exact bytes.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from nandlab.onflash.layout import NO_OWNER, Kind, Layout

COLOURS = {
    Kind.USER: "#2b6cb0",
    Kind.METADATA: "#e0912f",
    Kind.SLACK: "#7fc8a9",
    Kind.OBSOLETE: "#9b3d57",
    Kind.FREE: "#e3e4e8",
    Kind.BAD: "#111111",
}
MEANING = {
    Kind.USER: "bytes of files as they are stored",
    Kind.METADATA: "what it takes to find them",
    Kind.SLACK: "filled up to a page, an alignment, a cluster",
    Kind.OBSOLETE: "written, no longer valid, not yet erased",
    Kind.FREE: "erased, or not written yet",
    Kind.BAD: "in blocks that are marked bad",
}
PAGE = Path(__file__).parent / "templates" / "spacemap.html"


def page(layout: Layout, name: str) -> str:
    """The page of a partition."""
    title = f"{name}: where its bytes are"
    about = (
        f"{layout.filesystem}, {layout.partition_bytes:,} bytes in blocks of "
        f"{layout.erasesize:,} and pages of {layout.writesize:,}."
    )
    return Template(PAGE.read_text()).substitute(
        title=escape(title),
        about=escape(about + _packed(layout)),
        bar=_bar(layout),
        legend=_legend(layout),
        data=json.dumps(_data(layout), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _packed(layout: Layout) -> str:
    """What compressed bytes stand for; empty where none are."""
    stored, plain = layout.sums()[Kind.USER], layout.logical_bytes
    return f" Its {stored:,} bytes of user data stand for {plain:,}." if stored != plain else ""


def _data(layout: Layout) -> dict[str, Any]:
    """The extents, as indices into tables of parts and owners."""
    kinds = list(Kind)
    parts = {p: i for i, p in enumerate(sorted({(e.kind, e.part) for e in layout.extents}))}
    owners = {o: i for i, o in enumerate(sorted({e.owner for e in layout.extents} | {NO_OWNER}))}
    return {
        "erase": layout.erasesize,
        "write": layout.writesize,
        "bytes": layout.partition_bytes,
        "kinds": [[k.value, COLOURS[k]] for k in kinds],
        "parts": [[kinds.index(kind), part] for kind, part in parts],
        "names": ["" if o == NO_OWNER else layout.paths.get(o, f"number {o}") for o in owners],
        "sizes": [layout.sizes.get(o, -1) for o in owners],
        "n": [e.bytes for e in layout.extents],
        "p": [parts[e.kind, e.part] for e in layout.extents],
        "o": [owners[e.owner] for e in layout.extents],
    }


def _shown(layout: Layout) -> list[tuple[Kind, int]]:
    """The kinds that are told, with their bytes; bad only where some are."""
    return [(k, n) for k, n in layout.sums().items() if n or k is not Kind.BAD]


def _bar(layout: Layout) -> str:
    total = layout.partition_bytes
    return "".join(
        f'<b style="background:{COLOURS[kind]};width:{n / total:.4%}" title="{kind.value}"></b>'
        for kind, n in _shown(layout)
        if n
    )


def _legend(layout: Layout) -> str:
    return "".join(_card(layout, kind, n) for kind, n in _shown(layout))


def _card(layout: Layout, kind: Kind, total: int) -> str:
    """A kind: its colour, meaning and bytes, and those of its parts, the largest first."""
    parts = sorted(layout.parts()[kind].items(), key=lambda part: -part[1])
    rows = "".join(f"<tr><td>{escape(part)}</td><td>{n:,}</td></tr>" for part, n in parts)
    return (
        f'<section data-kind="{kind.value}"><h2><i style="background:{COLOURS[kind]}"></i>'
        f"{kind.value}<span>{total / layout.partition_bytes:.1%}</span></h2>"
        f"<p>{MEANING[kind]}</p><strong>{total:,}</strong><table>{rows}</table></section>"
    )
