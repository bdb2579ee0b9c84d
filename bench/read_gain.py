#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What rewriting a file gains: foretold from the chip before, then done on a board.

Measures: a file is written, updated in pieces and read in order; on a second run it is also written
anew by `cat a > b && mv b a` before it is read. Of both the N and the time of its reads, without
the tracers' own; beside them what `nandlab model read --rewritten` foretells from the first chip.
Then the nodes that were written anew, one by one, beside those that are foretold for a file that
begins where this one does.
Needs: a board (the virtual one of catalog/boards).
Costs: a boot if the board is not in the cache, then four runs a file.

Prints a line a file; the last is one JSON object with all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from coldreads import COLD, Where, trace

from nandlab.flash.layouts.flashfile import (
    FlashFileOptions,
    open_flash_file_partition,
    read_flash_file_layout,
)
from nandlab.flash.layouts.jffs2scan import scan_partition_nodes
from nandlab.flash.reading import rewrite, score, times, walk
from nandlab.flash.reading.kernelstate import find_filesystem_reader
from nandlab.flash.reading.reads import ReadCall, find_inode_number
from nandlab.trace.folder import TraceFolder
from nandlab.trace.reads import make_chip_trace_from_folder

ANEW = "cat a > b && mv b a"
READ = "cat a > /dev/null"


class File(NamedTuple):
    """A file, as it is made."""

    name: str
    made: str
    mib: int
    """Of the partition."""


def mixed(kib: int) -> str:
    """Random bytes, of which half are written anew in pieces of three sizes."""
    updates = (
        f"fileload update a --count {kib * 1024 // size // 6} --bytes {size}"
        for size in (300, 512, 1500)
    )
    return "; ".join((f"dd if=/dev/urandom of=a bs=1k count={kib}", *updates))


PROGRAM = "dd if=/bin/busybox of=a bs=4k skip=10 count=244"
FILES = {
    "mixed": File("1 MiB, mixed", mixed(1024), 16),
    "mixed-10": File("10 MiB, mixed", mixed(10240), 64),
    "pieces": File(
        "1 MiB, pieces of 700 B",
        "dd if=/dev/urandom of=a bs=4k count=256; fileload update a --count 500 --bytes 700",
        16,
    ),
    "program": File("a program", f"{PROGRAM}; fileload update a --count 200 --bytes 700", 16),
    "program-half": File(
        "a program with half-compressible updates",
        f"{PROGRAM}; fileload update a --count 600 --bytes 700 --compressibility 0.5",
        16,
    ),
}


def measured(folder: TraceFolder) -> dict[str, float]:
    """N of the calls that read the file, what they took, and what of it the chip did."""
    chip_trace = make_chip_trace_from_folder(folder)
    calls = [
        c
        for c in walk.score_traced_calls(chip_trace)
        if c.path == "/a" and isinstance(c.call, ReadCall)
    ]
    differ = sum(not c.same for c in calls if c.is_known)
    assert not differ, f"{folder.path}: {differ} calls are not as foretold"
    n = sum(len(c.traced_pages) for c in calls)
    return {
        "calls": len(calls),
        "n": n,
        "ns": sum(t.ns for t in score.list_call_times(chip_trace, calls)),
        "chip_ns": round(n * times.compute_chip_page_read_times(chip_trace.chip).page_ns),
    }


def foretold(image: Path, board: str) -> dict[str, Any]:
    """Of the file written anew."""
    argv = [sys.executable, "-m", "nandlab", "model", "read", str(image), "--file", "a"]
    argv += ["--rewritten", "--chip", board, "--board", board, "--json"]
    answer = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return {
        "n": sum(call["n"] for call in answer["calls"]),
        "ns": answer["total_ns"],
        "chip_ns": answer["total_chip_ns"],
        "estimated": answer["pages_estimated"],
    }


def summed(of: TraceFolder, end: int) -> int:
    """Bytes that a summary of JFFS2 has for what was written to a block up to there."""
    partition, told = open_flash_file_partition(of.image)
    begin = end - end % partition.erasesize
    return scan_partition_nodes(partition).summed(begin, end) if told == "jffs2" else 0


def nodes(folder: TraceFolder) -> dict[str, int]:
    """The file's nodes, and how many of them are not as they are foretold."""
    layout, _ = read_flash_file_layout(folder.image, FlashFileOptions(), tolerant=True)
    owner = find_inode_number(layout, "a")
    lie = layout.pieces_by_owner[owner]
    begin = lie[0].at - find_filesystem_reader(layout.filesystem).header
    predicted_nodes = rewrite.list_rewritten_nodes(
        layout, owner, begin % layout.erasesize, summed(folder, begin)
    )
    pairs = [(a, b) for a, b in zip_longest(predicted_nodes, lie)]
    return {
        "nodes": len(lie),
        "differ": sum(not a or not b or a[1:3] + a[4:] != b[1:3] + b[4:] for a, b in pairs),
        "bytes": sum(p.stored for p in lie),
        "bytes_foretold": sum(a.stored for a, _ in pairs if a),
    }


def run(file: File, filesystem: str, compression: str, board: str, folder: Path) -> dict[str, Any]:
    where = Where(filesystem, compression, board, file.mib)
    before = trace(where, [file.made], READ, folder / "before")
    after = trace(where, [file.made, COLD, ANEW], READ, folder / "after")
    measured_before, measured_after = measured(before), measured(after)
    prediction = foretold(before.image, board)
    key = "chip_ns" if prediction["ns"] is None else "ns"
    gains = {
        "foretold": measured_before[key] - prediction[key],
        "done": measured_before[key] - measured_after[key],
    }
    return {
        **{"file": file.name, "fs": filesystem, "compression": compression, "board": board},
        **{
            "was": measured_before,
            "foretold": prediction,
            "done": measured_after,
            "gain": gains,
            "of": key,
        },
        "off": gains["foretold"] / gains["done"] - 1,
        "written": nodes(after),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fs", default="jffs2", choices=("jffs2", "ubifs"), help="the file system")
    parser.add_argument("--compression", nargs="+", default=["none"], help="of the file system")
    parser.add_argument("--board", nargs="+", default=["omap3evm"], help="with its own chip")
    parser.add_argument("--files", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--keep", type=Path, help="a folder that keeps the traces")
    options = parser.parse_args()
    rows = []
    for board in options.board:
        for compression in options.compression:
            for name in options.files:
                with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
                    to = (
                        options.keep or Path(scratch)
                    ) / f"{options.fs}-{compression}-{board}-{name}"
                    to.mkdir(parents=True, exist_ok=True)
                    one = run(FILES[name], options.fs, compression, board, to)
                rows.append(one)
                print(json.dumps(one), flush=True)
    print(json.dumps({"files": rows}))


if __name__ == "__main__":
    main()
