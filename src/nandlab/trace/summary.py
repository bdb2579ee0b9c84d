# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace comes to: where the time of each system call went, and what the flash did for whom.

Every figure is a sum over the trace's records; what the records do not tell is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.trace import pagecache
from nandlab.traced.records import EventFlag, EventType, Names, Recording
from nandlab.traced.tree import LAYERS, NONE, Tree

FORMAT = 3
OPERATIONS = {
    EventType.FLASH_READ: "reads",
    EventType.FLASH_PROGRAM: "programs",
    EventType.FLASH_ERASE: "erases",
}
"""What takes the chip's time."""
READ_EVENTS = (EventType.VFS_READ, EventType.VFS_SPLICE)
CAUSE_WORDS = {
    "look_up": "look-up of a name",
    "create": "creation of a file",
    "link": "creation of a link",
    "symlink": "creation of a symbolic link",
    "make_node": "creation of a node",
    "read_folder": "reading of a folder",
    "outside": "in no traced call",
    "write_back": "write-back",
    "wear_leveling": "wear levelling",
    "write_buffer": "flush of the write buffer",
    "mount_scan": "mount scan",
    "vfs_evict": "removal of a file",
}
PAGE_BYTES = 4096
"""Of the page cache: all boards are amd64."""
NO_FILE = "(no file)"


def summarize_trace(
    recording: Recording, names: Names, tree: Tree, paths: Mapping[int, str]
) -> dict[str, Any]:
    """All of a trace in one JSON object; ``paths`` of inodes, as they were at its end."""
    r = recording.records
    ends = r["start_ns"] + r["latency_ns"]
    chip = np.isin(r["type"], [*OPERATIONS, EventType.FLASH_HIT])
    return {
        "format": FORMAT,
        "events": len(r),
        "lost": recording.lost,
        "missed": recording.missed,
        "trace_ns": int(ends.max() - r["start_ns"].min()) if len(r) else 0,
        "calls": _summarize_calls(recording, names, tree),
        "functions": _summarize_functions(r, names, tree),
        "requests": _summarize_requests(r),
        "amplification": compute_bytes_by_layer(recording, tree),
        "cache": _summarize_cache(recording, tree),
        "flash": summarize_flash_operations(r),
        "flash_by_cause": _summarize_by_cause(r[chip], tree.cause[chip], tree),
        "flash_by_file": _summarize_by_file(
            r[chip], tree.inode[chip], tree.cause[chip], tree, paths
        ),
    }


def _summarize_calls(recording: Recording, names: Names, tree: Tree) -> list[dict[str, Any]]:
    """Each kind of system call, then each task's work outside of any, the longest first."""
    r = recording.records
    kind = np.where(tree.call == NONE, 0, r["type"][tree.call])
    rows = []
    for call_kind in np.unique(kind[tree.call != NONE]):
        mask = kind == call_kind
        rows.append(
            _summarize_call(EventType(int(call_kind)).name, "system call", recording, tree, mask)
        )
    outside = (tree.call == NONE) & (r["type"] != EventType.MARK)
    for task in np.unique(r["task"][outside]):
        mask = outside & (r["task"] == task)
        rows.append(_summarize_call(names.task(int(task)), "task", recording, tree, mask))
    return sorted((row for row in rows if row["ns"]), key=_order_longest_first)


def _summarize_call(
    name: str, kind: str, recording: Recording, tree: Tree, mask: NDArray[np.bool_]
) -> dict[str, Any]:
    r = recording.records
    outer_of = tree.root if kind == "task" else tree.call
    outer = mask & (outer_of == np.arange(len(r)))
    layers = np.bincount(tree.layer[mask], tree.self_ns[mask].astype(float), len(LAYERS))
    return {
        "name": name,
        "kind": kind,
        "count": int(np.count_nonzero(outer)),
        "ns": int(r["latency_ns"][outer].sum()),
        "ns_max": int(r["latency_ns"][outer].max(initial=0)),
        "layers_ns": {k: int(v) for k, v in zip(LAYERS, layers, strict=True)},
        "flash": summarize_flash_operations(r[mask]),
    }


def _summarize_functions(r: NDArray[Any], names: Names, tree: Tree) -> list[dict[str, Any]]:
    """Of each traced kernel function: its calls, their time with all inside, and without it."""
    calls = r["type"] == EventType.FUNC
    rows = []
    for number in np.unique(r["object"][calls]):
        of_it = calls & (r["object"] == number)
        took = r["latency_ns"][of_it]
        rows.append(
            {
                "name": names.functions.get(int(number), f"function {number}"),
                "count": len(took),
                "ns": int(took.sum()),
                "ns_self": int(tree.self_ns[of_it].sum()),
                "ns_max": int(took.max()),
            }
        )
    return sorted(rows, key=_order_longest_first)


def _summarize_requests(r: NDArray[Any]) -> list[dict[str, Any]]:
    """Of each kind of event: how many, their time with all inside, bytes or pages."""
    rows = []
    for number in np.unique(r["type"]):
        kind = EventType(int(number))
        of_kind = r[r["type"] == number]
        sized = kind not in (
            EventType.MARK,
            EventType.FUNC,
            EventType.FLASH_ERASE,
            EventType.VFS_FSYNC,
        )
        rows.append(
            {
                "event": kind.name,
                "count": len(of_kind),
                "ns": int(of_kind["latency_ns"].sum()),
                "size": int(of_kind["size"].sum(dtype=np.int64)) if sized else None,
                "size_is": "pages"
                if EventType.PC_HIT <= kind <= EventType.FS_READAHEAD
                else "bytes",
            }
        )
    return rows


def _sum_returned_bytes(records: NDArray[Any]) -> int:
    """Bytes that calls moved: the sum of what they returned, without errors."""
    return int(np.maximum(records["result"], 0).sum(dtype=np.int64))


def compute_bytes_by_layer(recording: Recording, tree: Tree) -> dict[str, dict[str, Any]]:
    """Bytes at each layer, from programs down to the chip; factor: the chip's / the programs'."""
    select = recording.select_types
    chip_reads, chip_programs = (
        _select_data_operations(select(EventType.FLASH_READ)),
        _select_data_operations(select(EventType.FLASH_PROGRAM)),
    )
    mtd = np.isin(recording.records["type"], [EventType.MTD_READ, EventType.MTD_WRITE]).any()
    read: dict[str, Any] = {
        "program_bytes": _sum_returned_bytes(select(*READ_EVENTS)),
        "file_system_bytes": _sum_requested_bytes(recording.records, tree),
        "mtd_bytes": int(select(EventType.MTD_READ)["size"].sum(dtype=np.int64)) if mtd else None,
        "chip_bytes": int(chip_reads["size"].sum(dtype=np.int64)),
        "chip_pages": len(chip_reads),
    }
    write: dict[str, Any] = {
        "program_bytes": _sum_returned_bytes(select(EventType.VFS_WRITE)),
        "file_system_bytes": int(select(EventType.FS_WRITE_END)["size"].sum(dtype=np.int64)),
        "mtd_bytes": int(select(EventType.MTD_WRITE)["size"].sum(dtype=np.int64)) if mtd else None,
        "chip_bytes": int(chip_programs["size"].sum(dtype=np.int64)),
        "chip_pages": len(chip_programs),
    }
    for direction in (read, write):
        program_bytes, chip_bytes = direction["program_bytes"], direction["chip_bytes"]
        direction["factor"] = round(chip_bytes / program_bytes, 4) if program_bytes else None
    return {"read": read, "write": write}


def _sum_requested_bytes(r: NDArray[Any], tree: Tree) -> int:
    """Bytes that the file system was asked to read into the page cache.

    A file system that reads ahead by windows may do so by calls for single pages, or without.
    """
    page = r["type"] == EventType.FS_READ_PAGE
    window = r["type"] == EventType.FS_READAHEAD
    window[tree.parent[page & (tree.parent != NONE)]] = False
    pages = int(r["size"][window].sum(dtype=np.int64))
    return int(r["size"][page].sum(dtype=np.int64)) + pages * PAGE_BYTES


def _select_data_operations(records: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = records[(records["flags"] & EventFlag.OOB) == 0]
    return found


def _summarize_cache(recording: Recording, tree: Tree) -> dict[str, Any]:
    found = pagecache.make_page_cache_counts(recording, tree)
    rate = found.hit_rate
    return {
        **asdict(found),
        "wasted": found.wasted,
        "hit_rate": None if rate is None else round(rate, 6),
    }


def summarize_flash_operations(r: NDArray[Any]) -> dict[str, int]:
    """The chip's operations among some records, and their time."""
    counts: dict[str, int] = {}
    spare = (r["flags"] & EventFlag.OOB) != 0
    for kind, name in OPERATIONS.items():
        of_kind = r["type"] == kind
        counts[name] = int(np.count_nonzero(of_kind & ~spare))
        if kind != EventType.FLASH_ERASE:
            counts[f"oob_{name}"] = int(np.count_nonzero(of_kind & spare))
        counts[f"{name}_ns"] = int(r["latency_ns"][of_kind].sum())
    counts["buffer_hits"] = int(np.count_nonzero(r["type"] == EventType.FLASH_HIT))
    counts["ns"] = sum(counts[f"{name}_ns"] for name in OPERATIONS.values())
    return counts


def _group_places(keys: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each key, and the places that have it."""
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    for key, places in zip(found.tolist(), np.split(order, first[1:]), strict=False):
        if len(places):
            yield key, places


def _summarize_by_cause(
    r: NDArray[Any], cause: NDArray[np.int64], tree: Tree
) -> list[dict[str, Any]]:
    rows = [
        {"cause": tree.causes[key], **summarize_flash_operations(r[at])}
        for key, at in _group_places(cause)
    ]
    return sorted(rows, key=_order_longest_first)


def _summarize_by_file(
    r: NDArray[Any],
    inode: NDArray[np.int64],
    cause: NDArray[np.int64],
    tree: Tree,
    paths: Mapping[int, str],
) -> list[dict[str, Any]]:
    """By the file that the operation was done for, with its time by cause."""
    rows = []
    for key, indices in _group_places(inode):
        ns = np.bincount(cause[indices], r["latency_ns"][indices].astype(float), len(tree.causes))
        rows.append(
            {
                "path": paths.get(key, f"inode {key}, gone at the end") if key else NO_FILE,
                "inode": key or None,
                "gone": bool(key) and key not in paths,
                **summarize_flash_operations(r[indices]),
                "causes_ns": {c: int(n) for c, n in zip(tree.causes, ns, strict=True) if n},
            }
        )
    return sorted(rows, key=_order_longest_first)


def format_cause_name(cause: str) -> str:
    """A cause as people say it: a system call by its name."""
    return CAUSE_WORDS.get(cause, cause.removeprefix("vfs_").replace("_", " "))


def _order_longest_first(row: Mapping[str, Any]) -> int:
    return -int(row["ns"])
