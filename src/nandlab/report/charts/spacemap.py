# SPDX-License-Identifier: GPL-2.0-or-later
"""The partition as a map: one page of HTML that needs nothing else.

An erase block is a tile, and its pages are the tile's cells. The page's script draws them from the
extents of the layout, which are all in the page, so that pointing at a cell tells exact bytes.
"""

from __future__ import annotations

import json
from html import escape
from string import Template
from typing import Any

from nandlab.base.paths import REPORT_TEMPLATES
from nandlab.flash.layouts.layout import NO_OWNER, ByteKind, Layout

KIND_COLOURS = {
    ByteKind.USER: "#2b6cb0",
    ByteKind.METADATA: "#e0912f",
    ByteKind.SLACK: "#7fc8a9",
    ByteKind.OBSOLETE: "#9b3d57",
    ByteKind.FREE: "#e3e4e8",
    ByteKind.BAD: "#111111",
}
KIND_MEANINGS = {
    ByteKind.USER: "bytes of files as they are stored",
    ByteKind.METADATA: "what it takes to find them",
    ByteKind.SLACK: "filled up to a page, an alignment, a cluster",
    ByteKind.OBSOLETE: "written, no longer valid, not yet erased",
    ByteKind.FREE: "erased, or not written yet",
    ByteKind.BAD: "in blocks that are marked bad",
}
PAGE_TEMPLATE = REPORT_TEMPLATES / "spacemap.html"


def render_space_map_page(layout: Layout, name: str) -> str:
    """The page of a partition."""
    title = f"{name}: where its bytes are"
    about = (
        f"{layout.filesystem}, {layout.partition_bytes:,} bytes in blocks of "
        f"{layout.erasesize:,} and pages of {layout.writesize:,}."
    )
    return Template(PAGE_TEMPLATE.read_text()).substitute(
        title=escape(title),
        about=escape(about + _format_compression(layout)),
        bar=_render_bar(layout),
        legend=_render_legend(layout),
        data=json.dumps(_make_page_data(layout), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _format_compression(layout: Layout) -> str:
    """What compressed bytes stand for; empty where none are."""
    stored, plain = layout.sums()[ByteKind.USER], layout.logical_bytes
    return f" Its {stored:,} bytes of user data stand for {plain:,}." if stored != plain else ""


def _make_page_data(layout: Layout) -> dict[str, Any]:
    """The extents, as indices into tables of parts and owners."""
    kinds = list(ByteKind)
    parts = {p: i for i, p in enumerate(sorted({(e.kind, e.part) for e in layout.extents}))}
    owners = {o: i for i, o in enumerate(sorted({e.owner for e in layout.extents} | {NO_OWNER}))}
    return {
        "erase": layout.erasesize,
        "write": layout.writesize,
        "bytes": layout.partition_bytes,
        "kinds": [[k.value, KIND_COLOURS[k]] for k in kinds],
        "parts": [[kinds.index(kind), part] for kind, part in parts],
        "names": ["" if o == NO_OWNER else layout.paths.get(o, f"number {o}") for o in owners],
        "sizes": [layout.sizes.get(o, -1) for o in owners],
        "n": [e.bytes for e in layout.extents],
        "p": [parts[e.kind, e.part] for e in layout.extents],
        "o": [owners[e.owner] for e in layout.extents],
    }


def _list_shown_kinds(layout: Layout) -> list[tuple[ByteKind, int]]:
    """The kinds that are told, with their bytes; bad only where some are."""
    return [(k, n) for k, n in layout.sums().items() if n or k is not ByteKind.BAD]


def _render_bar(layout: Layout) -> str:
    total = layout.partition_bytes
    return "".join(
        f'<b style="background:{KIND_COLOURS[kind]};width:{n / total:.4%}" '
        f'title="{kind.value}"></b>'
        for kind, n in _list_shown_kinds(layout)
        if n
    )


def _render_legend(layout: Layout) -> str:
    return "".join(_render_card(layout, kind, n) for kind, n in _list_shown_kinds(layout))


def _render_card(layout: Layout, kind: ByteKind, total: int) -> str:
    """A kind: its colour, meaning and bytes, and those of its parts, the largest first."""
    parts = sorted(layout.parts()[kind].items(), key=lambda part: -part[1])
    rows = "".join(f"<tr><td>{escape(part)}</td><td>{n:,}</td></tr>" for part, n in parts)
    return (
        f'<section data-kind="{kind.value}"><h2><i style="background:{KIND_COLOURS[kind]}"></i>'
        f"{kind.value}<span>{total / layout.partition_bytes:.1%}</span></h2>"
        f"<p>{KIND_MEANINGS[kind]}</p><strong>{total:,}</strong><table>{rows}</table></section>"
    )
