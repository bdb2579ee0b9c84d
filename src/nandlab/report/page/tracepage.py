# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a trace: its timeline, where the time went, and what the chip's blocks went through.

One HTML file that needs no network. Timeline and map of accesses are drawn by the page's own
script, from arrays; all else is there without a script.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

from nandlab import __version__
from nandlab.base.errors import NandlabError
from nandlab.base.files import encode_page, write_whole_file
from nandlab.base.paths import REPORT_TEMPLATES
from nandlab.report.charts import pngmap
from nandlab.report.page import html
from nandlab.trace import answer, partshow, show, timeparts
from nandlab.trace.folder import TraceFolder
from nandlab.trace.summary import format_cause_name
from nandlab.traced import tables
from nandlab.traced.records import EventType
from nandlab.traced.tree import LAYERS

EVENTS_DRAWN_MAX = 200_000
"""Events that the page can draw quickly; the timeline for Perfetto has all."""
LAYER_COLOURS = ("#3b7dd8", "#2a9d6f", "#e0a100", "#c8553d", "#8a8f94")
FLASH_COLOURS = {"read": "#35b5c5", "program": "#c8553d", "erase": "#7a3fa0"}
PART_COLOURS = {
    "application": "#3b7dd8",
    "file_system_in_calls": "#2a9d6f",
    "collector_in_calls": "#7a3fa0",
    "collector_in_threads": "#b98ad6",
    "other_threads": "#8c6d46",
    "mtd": "#e0a100",
    "chip": "#c8553d",
    "idle": "#b9bec3",
    "application_or_idle": "#8fa9c9",
}
"""Of each part of the time. What the layers above have too has their colour."""
FLASH_EVENTS = ("FLASH_READ", "FLASH_PROGRAM", "FLASH_ERASE")
MAP_COLUMNS = 64
DEPTHS_MAX = 32


def write_trace_page(trace: TraceFolder, out: Path | None = None) -> Path:
    """Writes ``report.html`` into the trace's folder, or to ``out``; returns its path."""
    page = out or trace.path / "report.html"
    write_whole_file(page, encode_page(_render_page(trace)))
    return page


def _render_page(trace: TraceFolder) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ms": show.format_ns_as_ms,
        "in_words": format_cause_name,
        "percent": show.format_part_as_percent,
    }
    s, touched = trace.summary, _find_touched_blocks(trace)
    return environment.get_template("trace.html.j2").render(
        version=__version__,
        s=s,
        meta=trace.meta,
        layers=list(zip(LAYERS, LAYER_COLOURS, strict=True)),
        flash_colours=FLASH_COLOURS,
        cache_line=show.format_page_cache(s["cache"]),
        cost_line=show.format_tracing_cost(s["cost"]),
        files=show.list_flash_time_file_rows(s),
        answer=list(answer.format_summary_sentences(s)),
        not_traced=answer.format_untraced_events(s["not_traced"]),
        touched=touched,
        maps=_make_block_maps(trace, touched),
        provenance=html.list_board_identity_facts(trace.meta["board"]),
        timeline=html.encode_script_json(_make_timeline(trace, touched)),
        **_make_time_parts(trace),
    )


def _make_time_parts(trace: TraceFolder) -> dict[str, Any]:
    """The time in parts for the page; without them, why."""
    words: dict[str, Any] = {
        "part_words": partshow.WORDS,
        "part_colours": PART_COLOURS,
        "part_notes": [],
    }
    try:
        time_parts = timeparts.compute_trace_time_parts(trace)
    except NandlabError as e:
        return words | {"parts": None, "no_parts": str(e), "part_names": []}
    names = [name for name, _ in partshow.sort_phase_time_parts(time_parts["phases"][0])]
    parts_words = {"parts": time_parts, "no_parts": "", "part_names": names}
    return words | parts_words | {"part_notes": partshow.format_time_part_notes(time_parts)}


def _make_timeline(trace: TraceFolder, touched: range) -> dict[str, Any]:
    """What the page's script draws: a row for each task and depth, one array for each figure."""
    columns = tables.query_parquet_arrays(
        trace.events,
        "SELECT seq, parent, start_ns, latency_ns, pid, task, event, cause, path, object, size, "
        f"text FROM events ORDER BY seq LIMIT {EVENTS_DRAWN_MAX}",
    )
    began = int(columns["start_ns"].min()) if len(columns["seq"]) else 0
    lanes, lane = _encode_words(
        np.array([f"{t} ({p})" for t, p in zip(columns["task"], columns["pid"], strict=True)])
    )
    events, event = _encode_words(columns["event"])
    causes, cause = _encode_words(columns["cause"])
    paths, path = _encode_words(columns["path"])
    texts = {int(i): str(columns["text"][i]) for i in np.flatnonzero(columns["text"] != "")}
    return {
        "count": len(lane),
        "all": trace.summary["events"],
        "lanes": lanes,
        "events": events,
        "causes": [format_cause_name(c) for c in causes],
        "paths": paths,
        "named": texts,
        "colours": [_choose_colour(name) for name in events],
        "pages_per_block": _pages_per_block(trace),
        "first_block": touched.start,
        "blocks": len(touched),
        "start": _encode_base64(columns["start_ns"] - np.uint64(began), "<f8"),
        "latency": _encode_base64(columns["latency_ns"], "<f8"),
        "lane": _encode_base64(lane, "<u2"),
        "depth": _encode_base64(_compute_depths(columns["seq"], columns["parent"]), "<u1"),
        "event": _encode_base64(event, "<u1"),
        "cause": _encode_base64(cause, "<u1"),
        "path": _encode_base64(path, "<u4"),
        "object": _encode_base64(columns["object"], "<f8"),
        "size": _encode_base64(columns["size"], "<u4"),
    }


def _encode_words(words: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """The different words in the order of first use, and for each entry the index of its word."""
    listed, first, code = np.unique(words.astype(str), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return listed[order].tolist(), rank[code.reshape(-1)] if len(order) else code


def _compute_depths(seq: NDArray[Any], parent: NDArray[Any]) -> NDArray[np.int64]:
    """How many intervals each event lies in."""
    depth = np.zeros(len(seq), np.int64)
    if not len(seq):
        return depth
    at = np.minimum(np.searchsorted(seq, parent), len(seq) - 1)
    inside = (parent != 0) & (seq[at] == parent)
    for _ in range(DEPTHS_MAX):
        deeper = np.where(inside, depth[at] + 1, 0)
        if (deeper == depth).all():
            break
        depth = deeper
    return depth


def _encode_base64(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(dtype).tobytes()).decode()


def _choose_colour(event: str) -> str:
    kind = EventType[event]
    if event in FLASH_EVENTS:
        return FLASH_COLOURS[event.removeprefix("FLASH_").lower()]
    if kind < EventType.FS_READAHEAD:
        return LAYER_COLOURS[0]
    if kind < EventType.FLASH_READ or kind == EventType.FUNC:
        return LAYER_COLOURS[1]
    return LAYER_COLOURS[2]


def _pages_per_block(trace: TraceFolder) -> int:
    geometry = trace.meta["geometry"]
    return int(geometry["erasesize"] // geometry["writesize"])


def _find_touched_blocks(trace: TraceFolder) -> range:
    """The blocks from the first to the last that an operation was on; of none, the partition's."""
    (ends,) = tables.query_parquet_rows(
        trace.events,
        f"SELECT min(object), max(object) FROM events WHERE event IN {FLASH_EVENTS}",
    )
    blocks, pages = int(trace.meta["partition_blocks"]), _pages_per_block(trace)
    if ends[0] is None:
        return range(blocks)
    if layout := trace.meta.get("layout"):
        blocks = max(part["first"] + part["blocks"] for part in layout["partitions"])
    return range(int(ends[0]) // pages, min(blocks, int(ends[1]) // pages + 1))


def _make_block_maps(trace: TraceFolder, touched: range) -> list[dict[str, Any]]:
    """For each kind of operation an image with a cell for each block of those touched."""
    rows = tables.query_parquet_rows(
        trace.events,
        f"SELECT event, object // {_pages_per_block(trace)}, count(*) FROM events "
        f"WHERE event IN {FLASH_EVENTS} GROUP BY ALL",
    )
    columns = min(MAP_COLUMNS, len(touched))
    maps = []
    for name in FLASH_EVENTS:
        counts = np.zeros(-(-len(touched) // columns) * columns, np.int64)
        for event, block, count in rows:
            if event == name and int(block) in touched:
                counts[int(block) - touched.start] = count
        most = int(counts.max(initial=0))
        cells = pngmap.map_values_to_palette(counts.reshape(-1, columns), max(most, 1))
        maps.append(
            {
                "name": {"FLASH_READ": "Reads", "FLASH_PROGRAM": "Programs"}.get(name, "Erases"),
                "uri": pngmap.make_png_data_uri(pngmap.encode_indexed_png(cells)),
                "total": int(counts.sum()),
                "most": most,
                "block": touched.start + int(counts.argmax()) if most else None,
                "touched": int(np.count_nonzero(counts)),
                "columns": columns,
                "rows": len(cells),
            }
        )
    return maps
