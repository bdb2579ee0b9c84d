#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of catalog/read-model.toml, fitted to traces of reads whose work is known.

Measures: a trace for each compressor on a board of each kernel: files written in sequence, in
pieces and with gaps, and parts of a program as LZO and zlib pack them; each is opened and read.
From each call's time it takes the chip's time and the tracers' own; what is left is fitted to what
the call did, so that the sum of the calls' relative errors is least. So a call that another thread
disturbed counts little.
JFFS2's first opens are fitted apart, where errors below 1 % count by their squares: of files of as
many nodes some take more than others, by what memory was free. UBIFS's are fitted with its calls,
for both read through its index.
What the kernel's tick takes is the median of what is left of the calls in which a whole one comes,
and a process's first wait for the chip the median of those calls of a process each.
What a hole takes is fitted apart, to sparse files, with all else known (--only holes).
JFFS2 goes first. What is the kernel's own, such as the decompressors' tokens and the tick, is taken
from there for the others.
Needs: a board (the virtual one of catalog/boards). Costs: a boot, then seven pairs of runs.

Prints how well the fit reproduces its own traces; what it foretells is for others to score, with
``nandlab model score``. --write puts the numbers into the catalog. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import Any

import numpy as np
from coldreads import Where, trace
from numpy.typing import NDArray

from nandlab.flash.reading import score, times, walk
from nandlab.flash.reading.reads import ReadCall
from nandlab.flash.reading.walk import ChipTrace
from nandlab.trace.folder import TraceFolder
from nandlab.trace.reads import make_chip_trace_from_folder

RANDOM = "dd if=/dev/urandom of={} bs=4k count={}"
PACKED = "dd if=/bin/busybox of={} bs=4k count={} skip={}"
UPDATES = "fileload update {} --count {} --bytes {} --seed {}"
PLAIN = (
    RANDOM.format("a", 200),
    RANDOM.format("b", 60),
    RANDOM.format("c", 24),
    RANDOM.format("d", 80),
    RANDOM.format("e", 7),
    UPDATES.format("b", 300, 200, 11),
    UPDATES.format("c", 40, 1000, 12),
    UPDATES.format("d", 100, 3000, 13),
    UPDATES.format("d", 150, 100, 14),
    "for i in 1 5 6 30 31 47; do dd if=/dev/urandom of=g bs=1000 count=3 seek=$((i * 4)) "
    "conv=notrunc; done",
)
UNPACKED = (
    PACKED.format("a", 150, 0),
    PACKED.format("b", 60, 160),
    PACKED.format("c", 8, 230),
    UPDATES.format("b", 60, 500, 15),
    UPDATES.format("b", 30, 2500, 16),
    "seq 1 9000 > d",
    "hexdump -C /bin/busybox | head -c 60000 > e",
    "head -c 40000 /dev/urandom | base64 > f",
    "yes 'a line that comes again' | head -c 20000 > g",
    "dd if=/dev/zero of=h bs=4k count=8",
    UPDATES.format("h", 120, 40, 17),
)
"""Parts of a program, and what has other tokens: numbers, words, literals alone, long matches."""
TAILS = tuple(
    f"dd if=/dev/urandom of={name} bs={size} count=1"
    for name, size in zip("hijklmnopq", range(100, 8200, 800), strict=False)
)
"""Chunks that are not full: else a page that is read and one that is set to zero go together."""
SIZES = range(140, 4200, 156)
SHORT = (
    *(
        f"dd if=/bin/busybox of={name} bs={size} count=1 skip={7 + 3 * n}"
        for n, (name, size) in enumerate(zip(ascii_uppercase, SIZES, strict=False))
    ),
    *(
        f"seq {977 * n} 99999 | head -c {size} > {name}"
        for n, (name, size) in enumerate(zip(ascii_lowercase[::2], SIZES[::2], strict=False))
    ),
    *(
        f"hexdump -C -s {4000 * n} -n 2000 /bin/busybox | head -c {size} > {name}"
        for n, (name, size) in enumerate(zip(ascii_lowercase[1::2], SIZES[1::2], strict=False))
    ),
    "for n in $(seq 400); do echo line $n of a list of lines that are alike; done > 0",
    "for n in $(seq 90); do echo $n; head -c 300 /dev/zero; done > 1",
)
"""Files of one page that is not full, and pages that pack to few bytes."""
PACKERS = {"none": PLAIN, "lzo": UNPACKED, "zlib": UNPACKED}
LOADS: dict[str, dict[str, tuple[str, ...]]] = {
    "jffs2": PACKERS,
    "ubifs": {
        name: load
        for packer in (*PACKERS, "zstd")
        for name, load in (
            (packer, PLAIN if packer == "none" else UNPACKED),
            (f"{packer}-short", SHORT),
        )
    },
    "yaffs2": {"": (*PLAIN, *TAILS)},
}
"""What writes the files, by file system and compression. None of these may be a file that the model
is scored on: docs/model.md has others."""
WHOLE = (("v", 700), ("w", 1500))
PIECES = (("x", 400), ("y", 900), ("z", 1600))


def many(source: str) -> tuple[str, ...]:
    """What writes files of many nodes: of 150 pages, with so many updates."""
    made = ((f"dd if={source} of={name} bs=4k count=150", name, n) for name, n in PIECES)
    return tuple(do for dd, name, n in made for do in (dd, UPDATES.format(name, n, 250, 19)))


MANY: dict[str, dict[str, tuple[str, ...]]] = {
    "jffs2": {
        "none-many": (
            *(RANDOM.format(name, pages) for name, pages in WHOLE),
            *many("/dev/urandom"),
        ),
        "lzo-many": many("/bin/busybox"),
        "zlib-many": many("/bin/busybox"),
    }
}
"""Files of 500 to 1,600 nodes, for first opens alone."""
GAP = "for i in {}; do dd if=/dev/urandom of={} bs={} count={} seek=$((i * {})) conv=notrunc; done"
CUT = "dd if=/dev/null of={} bs=1 seek={}"
ISLANDS = "for i in $(seq {}); do dd if=/dev/urandom of={} bs=100 count=1 seek=$((i * {})) {}; done"
KEPT = "conv=notrunc"
WITH_HOLES = (
    GAP.format("$(seq 1 12)", "a", "4k", 1, 5),
    GAP.format("2 9 17 26", "b", 1000, 1, 9),
    GAP.format("1 2 3 4 5 6", "c", 300, 2, 31),
    RANDOM.format("d", 6),
    CUT.format("d", 150000),
    RANDOM.format("e", 9),
    CUT.format("e", 20000),
    CUT.format("e", 90000),
    "dd if=/dev/urandom of=f bs=2k count=1 seek=61",
    ISLANDS.format(30, "g", 130, KEPT),
    ISLANDS.format(120, "h", 82, KEPT),
    ISLANDS.format(60, "i", 250, KEPT),
)
"""Sparse files: gaps of pages, gaps within pages, and what is behind an end that was moved."""
HOLES: dict[str, dict[str, tuple[str, ...]]] = {
    "jffs2": {"none-holes": WITH_HOLES},
    "yaffs2": {"-holes": WITH_HOLES},
}
CHIP, PARTITION_MIB = "apf27", 16
READ = "for f in ?; do cat $f > /dev/null; done"
READ_BY_NAME = f"for f in {' '.join(ascii_letters)} 0 1; do cat $f > /dev/null; done"
"""Without a listing of the folder, which would read UBIFS's names."""
READ_BY_PROCESSES = (
    "for i in $(seq 0 59); do for f in a b; do "
    "dd if=$f of=/dev/null bs=4k count=1 skip=$(((i * 7 + 2) % 60)); done; done 2> /dev/null"
)
HOLE, HOLE_KEYS = "hole", frozenset({"hole", "hole_order", "hole_leaf"})
"""The amount that holes are in a call, and all that is fitted to them."""
APART = MappingProxyType(dict.fromkeys(HOLE_KEYS, 0.0))
"""What is fitted after all else, so left out before."""
NOTHING: Mapping[str, float] = MappingProxyType({})
ONLY = ("unpacking", "opens", "ticks", "holes")
FITTED_FIRST = "jffs2"
OF_KERNEL = {
    "ubifs": frozenset({"read", "hit", "copied", "tick", "first_wait"}),
    "yaffs2": frozenset({"tick", "first_wait"}),
}
"""What is the NAND core's or the kernel's own, and so taken from JFFS2's fit, as are the tokens of
the decompressors. YAFFS2 reads pages with their spare areas, which takes another way."""
ROUNDS, LEAST, OPEN_LEAST = 60, 1e-5, 0.01
"""Of the fit, and the relative error below which errors count by their squares: of calls, of first
opens."""
ROUNDS_OF_TICKS = 3
"""Of what unpacking takes: which ticks are foretold hangs on it a little."""
TICK = 2500.0
"""Instructions of a tick: to begin with."""


def made(board: str, filesystem: str, name: str, to: Path, read: str | None = None) -> ChipTrace:
    """The trace of a load and its reads, made if it is not there; name: the load's, which begins
    with its compression."""
    compression, _, kind = name.partition("-")
    read = read or (READ_BY_NAME if kind == "short" else READ)
    if not to.exists():
        load = (LOADS[filesystem] | MANY.get(filesystem, {}) | HOLES.get(filesystem, {}))[name]
        trace(Where(filesystem, compression, board, PARTITION_MIB, CHIP), load, read, to)
    return make_chip_trace_from_folder(TraceFolder(to))


def fitted(
    trace_times: list[score.CallTimes], known: Mapping[str, float] = NOTHING
) -> dict[str, float]:
    """Instructions by key of calls, but those that are known."""
    amounts = [times.count_operation_work(t.scored.call) for t in trace_times]
    keys, x = columns([{k: n for k, n in one.items() if k not in known} for one in amounts])
    less = [sum(n * known.get(key, 0) for key, n in one.items()) for one in amounts]
    y = np.array([t.processor for t in trace_times]) - less
    whole = np.array([t.ns for t in trace_times]) / trace_times[0].instruction_ns
    return dict(zip(keys, least(x, y, whole).round(3).tolist(), strict=True))


def opened(trace_times: list[score.CallTimes]) -> dict[str, float]:
    """Instructions by key, of first opens."""
    keys, x = columns([times.count_operation_work(t.scored.call) for t in trace_times])
    y = np.array([t.processor for t in trace_times])
    whole = np.array([t.ns for t in trace_times]) / trace_times[0].instruction_ns
    return dict(zip(keys, least(x, y, whole, OPEN_LEAST).round(3).tolist(), strict=True))


def columns(amounts: list[dict[str, float]]) -> tuple[list[str], NDArray[Any]]:
    """The keys of amounts, and these by call and key."""
    keys = sorted({key for found in amounts for key in found})
    return keys, np.array([[found.get(key, 0) for key in keys] for found in amounts], float)


def least(
    x: NDArray[Any], y: NDArray[Any], whole: NDArray[Any], alike: float = LEAST
) -> NDArray[Any]:
    """What each amount takes, such that the sum of the calls' relative errors is least.

    x: calls by amounts; y, whole: of each call, what is fitted and all that it took; alike: errors
    below it count by their squares.
    """
    weight = 1 / whole
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(x * weight[:, None], y * weight, rcond=None)
        error = (x @ found - y) / whole
        weight = 1 / whole / np.sqrt(np.maximum(abs(error), alike))
    return found


def unpacked(trace_times: list[score.CallTimes], by: times.Instructions) -> times.Instructions:
    """The same instructions, but for what unpacking takes: that is fitted anew, with all else, and
    the ticks that are foretold, taken off each call."""
    packed = [
        t
        for t in trace_times
        if any("." in key for key in times.count_operation_work(t.scored.call))
    ]
    amounts = [times.count_operation_work(t.scored.call) for t in packed]
    keys, x = columns([{k: n for k, n in found.items() if "." in k} for found in amounts])
    whole = np.array([t.ns / t.instruction_ns for t in packed])
    for _ in range(ROUNDS_OF_TICKS):
        rest = by.model_copy(update={"unpack": {key: dict[str, float]() for key in by.unpack}})
        delayed = [
            t.compute_ns_with_tick(by) - t.compute_predicted_ns(by) + t.compute_predicted_ns(rest)
            for t in packed
        ]
        y = np.array([(t.ns - d) / t.instruction_ns for t, d in zip(packed, delayed, strict=True)])
        found = least(x, y, whole)
        told = dict(zip(keys, found.round(3).tolist(), strict=True))
        by = by.model_copy(update={"unpack": sorted_out(told)["unpack"]})
    return by


def in_time(
    trace_times: list[score.CallTimes],
    by_process: list[score.CallTimes],
    by: times.Instructions,
) -> dict[str, float]:
    """What a tick takes, of the calls that were fitted, and a process's first wait."""
    tick = TICK
    for _ in range(3):
        tick = float(np.median(list(_left_by_ticks(trace_times, by, tick))))
    waits = [_left(t, by) for t in by_process if t.scored.waits_first and not t.scored.ticked]
    return {"tick": round(tick, 3), "first_wait": round(float(np.median(waits)), 3)}


def _left_by_ticks(
    trace_times: list[score.CallTimes], by: times.Instructions, tick: float
) -> Iterator[float]:
    """What is left of each call in which one tick comes, while the chip does not work."""
    for t in trace_times:
        timer = t.scored.timer
        if timer is not None and isinstance(t.scored.call, ReadCall):
            timer.tick_ns = tick * t.instruction_ns
            if abs(t.compute_ns_with_tick(by) - t.compute_predicted_ns(by) - timer.tick_ns) < 1:
                yield _left(t, by)


def _left(of: score.CallTimes, by: times.Instructions) -> float:
    """Instructions that a call took over what is foretold of it."""
    return (of.ns - of.compute_predicted_ns(by)) / of.instruction_ns


def of_kernel(filesystem: str, kernel: str, packers: Container[str]) -> dict[str, float]:
    """Instructions by key that are taken from JFFS2's fit: tokens of these compressors, and
    others."""
    known = times.flatten_instruction_counts(times.find_instruction_counts(FITTED_FIRST, kernel))
    return {
        key: n
        for key, n in known.items()
        if key in OF_KERNEL[filesystem]
        or (key.partition(".")[0] in packers and not key.endswith(".node"))
    }


def fitted_tokens(calls: list[score.CallTimes]) -> dict[str, float]:
    """Instructions by key of calls; a step of a decompressor that would give time back takes none,
    and the others are fitted without it."""
    none = dict(APART)
    while True:
        found = fitted(calls, none)
        if not (negative := {key for key, n in found.items() if "." in key and n < 0}):
            return found
        none |= dict.fromkeys(negative, 0.0)


def of_jffs2(
    calls: list[score.CallTimes],
    opens: list[score.CallTimes],
    alone: list[score.CallTimes],
    by: times.Instructions | None,
    only: str | None,
) -> times.Instructions:
    """All of JFFS2's instructions; by: those that are known, of which one kind only is fitted."""
    by = by or times.Instructions.model_validate(sorted_out(fitted_tokens(calls)))
    if only == "unpacking":
        by = unpacked(calls, by)
    if only in {None, "opens"}:
        by = by.model_copy(update=opened(opens))
    if only in {None, "ticks"}:
        by = by.model_copy(update=in_time(calls, alone, by))
    return by


def of_holes(traced_times: list[score.CallTimes], by: times.Instructions) -> times.Instructions:
    """The same instructions with that of a hole, to which calls with holes alone are fitted."""
    known = times.flatten_instruction_counts(by)
    known = {key: n for key, n in known.items() if key not in HOLE_KEYS}
    amounts = [times.count_operation_work(t.scored.call) for t in traced_times]
    some = [t for t, found in zip(traced_times, amounts, strict=True) if found.get(HOLE)]
    return by.model_copy(update=fitted(some, known))


def of_packer(
    packer: str, traced_times: list[score.CallTimes], by: times.Instructions
) -> times.Instructions:
    """The same instructions with those of a compressor, whose calls alone are fitted."""
    others = {name: tokens for name, tokens in by.unpack.items() if name != packer}
    known = times.flatten_instruction_counts(by.model_copy(update={"unpack": others}))
    packed = [
        t
        for t in traced_times
        if any(p.packing == packer for p in getattr(t.scored.call, "pieces", ()))
    ]
    found = sorted_out(fitted(packed, known))["unpack"]
    return by.model_copy(update={"unpack": others | found})


def of_other(
    filesystem: str, kernel: str, traced_times: list[score.CallTimes]
) -> times.Instructions:
    """Those of another file system, what is the kernel's own left as JFFS2's."""
    packers = {p.packing for t in traced_times for p in getattr(t.scored.call, "pieces", ())}
    known = of_kernel(filesystem, kernel, packers - {""}) | APART
    return times.Instructions.model_validate(sorted_out(fitted(traced_times, known) | known))


def list_load_names(given: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The loads that are asked for, and those of sparse files."""
    names, sparse = [*LOADS[given.fs], *MANY.get(given.fs, {})], [*HOLES.get(given.fs, {})]
    if given.only == "holes":
        return [], sparse
    if given.only and given.fs != FITTED_FIRST:
        names = [name for name in names if name.partition("-")[0] == given.packer]
    return names, [] if given.only else sparse


def select_calls(times_of: list[list[score.CallTimes]]) -> list[score.CallTimes]:
    """Those of calls, without first opens."""
    return [t for each in times_of for t in each if isinstance(t.scored.call, ReadCall)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", default="apf27", help="a board of the catalog")
    parser.add_argument("--fs", default="jffs2", choices=LOADS, help="the file system")
    parser.add_argument("--keep", type=Path, help="keep the traces here, and take those there")
    parser.add_argument("--write", action="store_true", help="put the numbers into the catalog")
    parser.add_argument(
        "--only", choices=ONLY, help="fit this alone, and keep the catalog's other numbers"
    )
    parser.add_argument(
        "--packer", default="zstd", help="whose unpacking is fitted alone, but for JFFS2"
    )
    given = parser.parse_args()
    first = given.fs == FITTED_FIRST
    if given.only and not first and given.only not in {"unpacking", "holes"}:
        parser.error(f"{given.fs}: all is fitted at once, or unpacking or holes alone")
    if given.only == "holes" and given.fs not in HOLES:
        parser.error(f"{given.fs}: its holes take nothing more")
    names, sparse_names = list_load_names(given)
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        kept = given.keep or Path(scratch)
        traces = [
            made(given.board, given.fs, name, kept / "-".join((given.board, given.fs, name)))
            for name in (*names, *sparse_names)
        ]
        times_of = [
            score.list_call_times(trace, walk.score_traced_calls(trace)) for trace in traces
        ]
        kernel, arch, alone = traces[0].kernel, traces[0].arch, []
        if first and names:
            to = kept / f"{given.board}-{given.fs}-processes"
            each_alone = made(given.board, given.fs, names[0], to, READ_BY_PROCESSES)
            alone = score.list_call_times(each_alone, walk.score_traced_calls(each_alone))
    fitted_times, sparse = times_of[: len(names)], times_of[len(names) :]
    opens = [t for each in fitted_times for t in each if not isinstance(t.scored.call, ReadCall)]
    calls = select_calls(fitted_times[: len(LOADS[given.fs])])
    if not names:
        by = times.find_instruction_counts(given.fs, kernel, arch)
    elif first:
        known = times.find_instruction_counts(given.fs, kernel, arch) if given.only else None
        by = of_jffs2(calls, opens, alone, known, given.only)
    elif given.only:
        by = of_packer(given.packer, calls, times.find_instruction_counts(given.fs, kernel, arch))
    else:
        by = of_other(given.fs, kernel, [*calls, *opens])
    if sparse:
        by = of_holes(select_calls(sparse), by)
        calls += select_calls(sparse)
    found = {k: v for k, v in times.flatten_instruction_counts(by).items() if v}
    off = abs(np.array([t.compute_predicted_ns(by) / t.ns - 1 for t in (*calls, *opens)]))
    for key, value in found.items():
        print(f"{key:20} {value:12.3f}")
    median, p99 = (float(np.quantile(off, q)) for q in (0.5, 0.99))
    if given.write:
        write(given.fs, times.make_kernel_key(kernel, arch), found)
    told = {
        "filesystem": given.fs,
        "kernel": kernel,
        "calls": len(calls),
        "opens": len(opens),
        "median": round(median, 6),
        "p99": round(p99, 6),
    }
    print(json.dumps(told))


def write(filesystem: str, kernel: str, found: dict[str, float]) -> None:
    """Puts a kernel's numbers into the catalog's file; all others stay."""
    every = {
        name: {series: by.model_dump() for series, by in kernels.items()}
        for name, kernels in times.read_instruction_counts().items()
    }
    every.setdefault(filesystem, {})[kernel] = sorted_out(found)
    lines = [times.FILE_HEAD]
    for name, kernels in sorted(every.items()):
        for series, told in sorted(kernels.items()):
            lines += _lines(f'filesystems.{name}."{series}"', told)
    times.READ_MODEL_FILE.write_text("\n".join(lines) + "\n")


def sorted_out(found: dict[str, float]) -> dict[str, Any]:
    """Instructions by key, those of the tokens apart, as in the catalog."""
    tokens: dict[str, dict[str, float]] = {}
    for key, value in found.items():
        compressor, dot, token = key.partition(".")
        if dot:
            tokens.setdefault(compressor, {})[token] = value
    return {k: v for k, v in found.items() if "." not in k} | {"unpack": tokens}


def _lines(table: str, told: dict[str, Any]) -> Iterator[str]:
    """A kernel's numbers as TOML; those that are 0 are left out."""
    yield from ("", f"[{table}]")
    yield from (
        f"{k} = {told[k]}" for k in times.Instructions.model_fields if k != "unpack" and told.get(k)
    )
    for compressor, each in told["unpack"].items():
        yield from ("", f"[{table}.unpack.{compressor}]")
        yield from (f"{token} = {value}" for token, value in each.items())


if __name__ == "__main__":
    main()
