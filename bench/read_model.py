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
What a hole takes is fitted apart, to sparse files, with all else known (--only holes). So may what
a page takes be that the chip reads, where only the driver below was changed (--only pages).
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from readloads import HOLES, LOADS, MANY, READ_BY_PROCESSES, make_read_trace

from nandlab.flash.reading import score, times, walk
from nandlab.flash.reading.reads import ReadCall
from nandlab.flash.reading.walk import ChipTrace

HOLE, HOLE_KEYS = "hole", frozenset({"hole", "hole_order", "hole_leaf"})
"""The amount that holes are in a call, and all that is fitted to them."""
APART = MappingProxyType(dict.fromkeys(HOLE_KEYS, 0.0))
"""What is fitted after all else, so left out before."""
NOTHING: Mapping[str, float] = MappingProxyType({})
ONLY = ("pages", "unpacking", "opens", "ticks", "holes")
PAGE = "read"
"""The amount that pages are which the chip reads: the driver's instructions and simnand's."""
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


def fit_calls(
    trace_times: list[score.CallTimes], known_counts: Mapping[str, float] = NOTHING
) -> dict[str, float]:
    """Instructions by key of calls, but those that are known."""
    amounts = [times.count_operation_work(t.scored.call) for t in trace_times]
    keys, x = make_columns(
        [{k: n for k, n in work.items() if k not in known_counts} for work in amounts]
    )
    less = [sum(n * known_counts.get(key, 0) for key, n in work.items()) for work in amounts]
    y = np.array([t.processor for t in trace_times]) - less
    call_instructions = np.array([t.ns for t in trace_times]) / trace_times[0].instruction_ns
    return dict(zip(keys, fit_amounts(x, y, call_instructions).round(3).tolist(), strict=True))


def fit_first_opens(trace_times: list[score.CallTimes]) -> dict[str, float]:
    """Instructions by key, of first opens."""
    keys, x = make_columns([times.count_operation_work(t.scored.call) for t in trace_times])
    y = np.array([t.processor for t in trace_times])
    whole = np.array([t.ns for t in trace_times]) / trace_times[0].instruction_ns
    return dict(zip(keys, fit_amounts(x, y, whole, OPEN_LEAST).round(3).tolist(), strict=True))


def make_columns(amounts: list[dict[str, float]]) -> tuple[list[str], NDArray[Any]]:
    """The keys of amounts, and these by call and key."""
    keys = sorted({key for found in amounts for key in found})
    return keys, np.array([[found.get(key, 0) for key in keys] for found in amounts], float)


def fit_amounts(
    x: NDArray[Any], y: NDArray[Any], total: NDArray[Any], alike: float = LEAST
) -> NDArray[Any]:
    """What each amount takes, such that the sum of the calls' relative errors is least.

    x: calls by amounts; y, whole: of each call, what is fitted and all that it took; alike: errors
    below it count by their squares.
    """
    weight = 1 / total
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(x * weight[:, None], y * weight, rcond=None)
        error = (x @ found - y) / total
        weight = 1 / total / np.sqrt(np.maximum(abs(error), alike))
    return found


def fit_unpacking(trace_times: list[score.CallTimes], by: times.Instructions) -> times.Instructions:
    """The same instructions, but for what unpacking takes: that is fitted anew, with all else, and
    the ticks that are foretold, taken off each call."""
    packed = [
        t
        for t in trace_times
        if any("." in key for key in times.count_operation_work(t.scored.call))
    ]
    amounts = [times.count_operation_work(t.scored.call) for t in packed]
    keys, x = make_columns([{k: n for k, n in work.items() if "." in k} for work in amounts])
    total = np.array([t.ns / t.instruction_ns for t in packed])
    for _ in range(ROUNDS_OF_TICKS):
        base = by.model_copy(update={"unpack": {key: dict[str, float]() for key in by.unpack}})
        delayed = [
            t.compute_ns_with_tick(by) - t.compute_predicted_ns(by) + t.compute_predicted_ns(base)
            for t in packed
        ]
        y = np.array([(t.ns - d) / t.instruction_ns for t, d in zip(packed, delayed, strict=True)])
        instructions = fit_amounts(x, y, total)
        token_counts = dict(zip(keys, instructions.round(3).tolist(), strict=True))
        by = by.model_copy(update={"unpack": group_tokens(token_counts)["unpack"]})
    return by


def fit_ticks(
    trace_times: list[score.CallTimes],
    by_process: list[score.CallTimes],
    by: times.Instructions,
) -> dict[str, float]:
    """What a tick takes, of the calls that were fitted, and a process's first wait."""
    tick = TICK
    for _ in range(3):
        tick = float(np.median(list(_list_tick_remainders(trace_times, by, tick))))
    waits = [
        _compute_remainder(t, by)
        for t in by_process
        if t.scored.waits_first and not t.scored.ticked
    ]
    return {"tick": round(tick, 3), "first_wait": round(float(np.median(waits)), 3)}


def _list_tick_remainders(
    trace_times: list[score.CallTimes], by: times.Instructions, tick: float
) -> Iterator[float]:
    """What is left of each call in which one tick comes, while the chip does not work."""
    for t in trace_times:
        timer = t.scored.timer
        if timer is not None and isinstance(t.scored.call, ReadCall):
            timer.tick_ns = tick * t.instruction_ns
            if abs(t.compute_ns_with_tick(by) - t.compute_predicted_ns(by) - timer.tick_ns) < 1:
                yield _compute_remainder(t, by)


def _compute_remainder(of: score.CallTimes, by: times.Instructions) -> float:
    """Instructions that a call took over what is foretold of it."""
    return (of.ns - of.compute_predicted_ns(by)) / of.instruction_ns


def select_kernel_counts(filesystem: str, kernel: str, packers: Container[str]) -> dict[str, float]:
    """Instructions by key that are taken from JFFS2's fit: tokens of these compressors, and
    others."""
    known = times.flatten_instruction_counts(times.find_instruction_counts(FITTED_FIRST, kernel))
    return {
        key: n
        for key, n in known.items()
        if key in OF_KERNEL[filesystem]
        or (key.partition(".")[0] in packers and not key.endswith(".node"))
    }


def fit_tokens(calls: list[score.CallTimes]) -> dict[str, float]:
    """Instructions by key of calls; a step of a decompressor that would give time back takes none,
    and the others are fitted without it."""
    none = dict(APART)
    while True:
        found = fit_calls(calls, none)
        if not (negative := {key for key, n in found.items() if "." in key and n < 0}):
            return found
        none |= dict.fromkeys(negative, 0.0)


def fit_pages(calls: list[score.CallTimes], by: times.Instructions) -> times.Instructions:
    """The same instructions, but for those of a page that the chip reads."""
    known = times.flatten_instruction_counts(by)
    return by.model_copy(
        update=fit_calls(calls, {key: n for key, n in known.items() if key != PAGE})
    )


def fit_jffs2(
    calls: list[score.CallTimes],
    opens: list[score.CallTimes],
    alone: list[score.CallTimes],
    by: times.Instructions | None,
    only: str | None,
) -> times.Instructions:
    """All of JFFS2's instructions; by: those that are known, of which one kind only is fitted."""
    by = by or times.Instructions.model_validate(group_tokens(fit_tokens(calls)))
    if only == "pages":
        by = fit_pages(calls, by)
    if only == "unpacking":
        by = fit_unpacking(calls, by)
    if only in {None, "opens"}:
        by = by.model_copy(update=fit_first_opens(opens))
    if only in {None, "ticks"}:
        by = by.model_copy(update=fit_ticks(calls, alone, by))
    return by


def fit_holes(traced_times: list[score.CallTimes], by: times.Instructions) -> times.Instructions:
    """The same instructions with that of a hole, to which calls with holes alone are fitted."""
    known = times.flatten_instruction_counts(by)
    known = {key: n for key, n in known.items() if key not in HOLE_KEYS}
    amounts = [times.count_operation_work(t.scored.call) for t in traced_times]
    some = [t for t, found in zip(traced_times, amounts, strict=True) if found.get(HOLE)]
    return by.model_copy(update=fit_calls(some, known))


def fit_packer(
    packer: str, traced_times: list[score.CallTimes], by: times.Instructions
) -> times.Instructions:
    """The same instructions with those of a compressor, whose calls alone are fitted."""
    other_packers = {name: tokens for name, tokens in by.unpack.items() if name != packer}
    known_counts = times.flatten_instruction_counts(by.model_copy(update={"unpack": other_packers}))
    packed = [
        t
        for t in traced_times
        if any(p.packing == packer for p in getattr(t.scored.call, "pieces", ()))
    ]
    packer_tokens = group_tokens(fit_calls(packed, known_counts))["unpack"]
    return by.model_copy(update={"unpack": other_packers | packer_tokens})


def fit_other_filesystem(
    filesystem: str, kernel: str, traced_times: list[score.CallTimes]
) -> times.Instructions:
    """Those of another file system, what is the kernel's own left as JFFS2's."""
    packers = {p.packing for t in traced_times for p in getattr(t.scored.call, "pieces", ())}
    known = select_kernel_counts(filesystem, kernel, packers - {""}) | APART
    return times.Instructions.model_validate(group_tokens(fit_calls(traced_times, known) | known))


def list_load_names(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The loads that are asked for, and those of sparse files."""
    names, sparse = [*LOADS[options.fs], *MANY.get(options.fs, {})], [*HOLES.get(options.fs, {})]
    if options.only == "holes":
        return [], sparse
    if options.only == "pages":
        return list(LOADS[options.fs])[:1], []
    if options.only and options.fs != FITTED_FIRST:
        names = [name for name in names if name.partition("-")[0] == options.packer]
    return names, [] if options.only else sparse


def select_calls(times_of: list[list[score.CallTimes]]) -> list[score.CallTimes]:
    """Those of calls, without first opens."""
    return [t for each in times_of for t in each if isinstance(t.scored.call, ReadCall)]


@dataclass(frozen=True)
class CallSets:
    """The times of a file system's calls that are fitted, by what they tell."""

    kernel: str
    arch: str
    reads: list[score.CallTimes]
    """Of the loads that compress by one packer, or by none."""
    opens: list[score.CallTimes]
    """First opens of files."""
    single: list[score.CallTimes]
    """Reads of a process each."""
    sparse: list[score.CallTimes]


def trace_calls(options: argparse.Namespace, folder: Path) -> CallSets:
    """Makes the traces, or takes those that are in the folder, and their calls."""

    def take(name: str, place: str, read: str | None = None) -> ChipTrace:
        to = folder / f"{options.board}-{options.fs}-{place}"
        return make_read_trace(options.board, options.fs, name, to, read)

    names, sparse_names = list_load_names(options)
    traces = [take(name, name) for name in (*names, *sparse_names)]
    sets = [score.list_call_times(trace, walk.score_traced_calls(trace)) for trace in traces]
    single = []
    if options.fs == FITTED_FIRST and options.only in {None, "ticks"}:
        trace = take(names[0], "processes", READ_BY_PROCESSES)
        single = score.list_call_times(trace, walk.score_traced_calls(trace))
    load_sets, sparse_sets = sets[: len(names)], sets[len(names) :]
    opens = [t for calls in load_sets for t in calls if not isinstance(t.scored.call, ReadCall)]
    reads = select_calls(load_sets[: len(LOADS[options.fs])])
    sparse = select_calls(sparse_sets)
    return CallSets(traces[0].kernel, traces[0].arch, reads, opens, single, sparse)


def fit_filesystem(options: argparse.Namespace, calls: CallSets) -> times.Instructions:
    """The instructions that the options ask for; the catalog's stay where one part is fitted."""
    from_catalog = partial(times.find_instruction_counts, options.fs, calls.kernel, calls.arch)
    if not calls.reads:
        by = from_catalog()
    elif options.fs == FITTED_FIRST:
        known = from_catalog() if options.only else None
        by = fit_jffs2(calls.reads, calls.opens, calls.single, known, options.only)
    elif options.only == "pages":
        by = fit_pages(calls.reads, from_catalog())
    elif options.only:
        by = fit_packer(options.packer, calls.reads, from_catalog())
    else:
        by = fit_other_filesystem(options.fs, calls.kernel, [*calls.reads, *calls.opens])
    return fit_holes(calls.sparse, by) if calls.sparse else by


def parse_options() -> argparse.Namespace:
    """The command line's; exits where they do not go together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
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
    options = parser.parse_args()
    if options.only not in {None, "pages", "unpacking", "holes"} and options.fs != FITTED_FIRST:
        parser.error(f"{options.fs}: all is fitted at once, or pages, unpacking or holes alone")
    if options.only == "pages" and PAGE in OF_KERNEL.get(options.fs, ()):
        parser.error(f"{options.fs}: its pages take what {FITTED_FIRST}'s do: fit those")
    if options.only == "holes" and options.fs not in HOLES:
        parser.error(f"{options.fs}: its holes take nothing more")
    return options


def main() -> None:
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        calls = trace_calls(options, options.keep or Path(scratch))
    by = fit_filesystem(options, calls)
    counts = {k: v for k, v in times.flatten_instruction_counts(by).items() if v}
    for key, value in counts.items():
        print(f"{key:20} {value:12.3f}")
    if options.write:
        write_catalog(options.fs, times.make_kernel_key(calls.kernel, calls.arch), counts)
    reads = [*calls.reads, *calls.sparse]
    errors = abs(np.array([t.compute_predicted_ns(by) / t.ns - 1 for t in (*reads, *calls.opens)]))
    median, p99 = (float(np.quantile(errors, q)) for q in (0.5, 0.99))
    summary = {
        "filesystem": options.fs,
        "kernel": calls.kernel,
        "calls": len(reads),
        "opens": len(calls.opens),
        "median": round(median, 6),
        "p99": round(p99, 6),
    }
    print(json.dumps(summary))


def write_catalog(filesystem: str, kernel: str, counts: dict[str, float]) -> None:
    """Puts a kernel's numbers into the catalog's file; all others stay."""
    tables = {
        name: {series: by.model_dump() for series, by in kernels.items()}
        for name, kernels in times.read_instruction_counts().items()
    }
    tables.setdefault(filesystem, {})[kernel] = group_tokens(counts)
    lines = [times.FILE_HEAD]
    for name, kernels in sorted(tables.items()):
        for series, table in sorted(kernels.items()):
            lines += _format_toml_lines(f'filesystems.{name}."{series}"', table)
    times.READ_MODEL_FILE.write_text("\n".join(lines) + "\n")


def group_tokens(counts: dict[str, float]) -> dict[str, Any]:
    """Instructions by key, those of the tokens apart, as in the catalog."""
    tokens: dict[str, dict[str, float]] = {}
    for key, value in counts.items():
        compressor, dot, token = key.partition(".")
        if dot:
            tokens.setdefault(compressor, {})[token] = value
    return {k: v for k, v in counts.items() if "." not in k} | {"unpack": tokens}


def _format_toml_lines(table: str, counts: dict[str, Any]) -> Iterator[str]:
    """A kernel's numbers as TOML; those that are 0 are left out."""
    yield from ("", f"[{table}]")
    yield from (
        f"{k} = {counts[k]}"
        for k in times.Instructions.model_fields
        if k != "unpack" and counts.get(k)
    )
    for compressor, tokens in counts["unpack"].items():
        yield from ("", f"[{table}.unpack.{compressor}]")
        yield from (f"{token} = {value}" for token, value in tokens.items())


if __name__ == "__main__":
    main()
