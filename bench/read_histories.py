#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files with random histories, read on a board: whether every call's flash pages are as foretold.

Measures: a seed's files, each written, then overwritten, updated in pieces, appended to, cut and
synced by turns; the caches are dropped once the collector rests, and all files are read in order
and in part at random. Each call's N and the order of its pages are set beside what is foretold
from the chip as it was before. Seeds decide the compressor too, and the sizes.
Needs: a board (the virtual one of catalog/boards).
Costs: a boot if the board is not in the cache, then two runs a seed.

A line a seed goes to --out, and seeds that are there are not run again: so interrupt it, and run it
again. The last line is one JSON object: the sums. The exit status is 1 if a call differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coldreads import DROP, Where, trace

from nandlab.flash.reading import walk
from nandlab.flash.reading.reads import FirstOpen, ReadCall
from nandlab.trace.reads import make_chip_trace_from_folder

COMPRESSIONS = {"jffs2": ("none", "lzo", "zlib"), "ubifs": ("none", "lzo", "zlib"), "yaffs2": ("",)}
SOURCES = ("/dev/urandom", "/dev/zero", "/bin/busybox")
EVENTS = (5, 40)
"""Of a file's history, least and most."""


class HistoryScore(NamedTuple):
    """What a seed's reads came to."""

    filesystem: str
    compression: str
    board: str
    seed: int
    files: int
    kib: int
    """Of all files as they were first written."""
    calls: int
    """That read a page of a file."""
    unknown: int
    """Calls of which nothing is foretold, for a node is not on the flash yet."""
    differ: int
    """Of the other calls, those whose flash pages or their order were not as foretold."""
    opens: int
    """First opens that are known, of each file in order and again at random."""
    opens_differ: int
    """Of these, those whose N was not as foretold."""
    opens_order: int
    """Of these, those whose pages were not, or their order where that is told."""
    opens_unordered: int
    """Of the first opens that are known, those whose order the flash does not tell: JFFS2's
    collector may have moved the file's nodes."""


def history(chance: random.Random, name: str, kib: int) -> Iterator[str]:
    """What happens to a file, which begins with so many KiB."""
    yield f"dd if={chance.choice(SOURCES[::2])} of={name} bs=1k count={kib}"
    for _ in range(chance.randint(*EVENTS)):
        yield _event(chance, name, kib)


def _event(chance: random.Random, name: str, kib: int) -> str:
    size = chance.choice((chance.randint(1, 300), chance.randint(300, 9000), 4096))
    count, place = chance.randint(1, 20), chance.randint(0, kib * 1024 // size)
    source = chance.choice(SOURCES)
    return chance.choice(
        (
            f"dd if={source} of={name} bs={size} count={count} seek={place} conv=notrunc",
            f"dd if={source} bs={size} count={count} >> {name}",
            f"fileload update {name} --count {5 * count} --bytes {size} --seed {place} || true",
            f"truncate -s {chance.randint(kib * 512, kib * 1024)} {name}",
            "sync",
        )
    )


class HistoryLoad(NamedTuple):
    """What each seed makes, and where."""

    filesystem: str
    board: str
    chip: str | None
    files: int
    kib: int


def run(of: HistoryLoad, seed: int, to: Path) -> HistoryScore:
    """Makes a seed's files, reads them, and scores that."""
    filesystem, board, chip, files, kib = of
    chance = random.Random(f"{filesystem} {board} {seed}")
    compression = chance.choice(COMPRESSIONS[filesystem])
    sizes = [chance.randint(kib // 4, kib) for _ in range(files)]
    commands = [do for i, size in enumerate(sizes) for do in history(chance, f"h{i}", size)]
    pages = ((f"h{i}", chance.randrange(size // 8)) for i, size in enumerate(sizes) for _ in "1234")
    at_random = "; ".join(f"dd if={f} of=/dev/null bs=4k count=1 skip={p}" for f, p in pages)
    mib = max(8, -(-sum(sizes) * 3 // 1024))
    read = f"{{ cat h* > /dev/null; {DROP}; {at_random}; }} 2> /dev/null"
    where = Where(filesystem, compression, board, mib, chip)
    every = walk.score_traced_calls(make_chip_trace_from_folder(trace(where, commands, read, to)))
    calls = [c for c in every if isinstance(c.call, ReadCall)]
    opens = [c for c in every if not isinstance(c.call, ReadCall) and c.is_known]
    known = [c for c in calls if c.is_known]
    return HistoryScore(
        *(filesystem, compression, board, seed, files, sum(sizes), len(calls)),
        unknown=len(calls) - len(known),
        differ=sum(not c.same for c in known),
        opens=len(opens),
        opens_differ=sum(len(c.traced_pages) != len(c.call.flash) for c in opens),
        opens_order=sum(not c.same for c in opens),
        opens_unordered=sum(isinstance(c.call, FirstOpen) and not c.call.ordered for c in opens),
    )


def kept(out: Path) -> list[HistoryScore]:
    """The lines that are there."""
    if not out.exists():
        return []
    with out.open(newline="") as file:
        return [
            HistoryScore(*(row[k] if k in TEXTS else int(row[k]) for k in HistoryScore._fields))  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


TEXTS = ("filesystem", "compression", "board")


def keep(found: HistoryScore, out: Path) -> None:
    new = not out.exists()
    with out.open("a", newline="") as file:
        csv.writer(file).writerows([HistoryScore._fields, found] if new else [found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fs", default="jffs2", choices=COMPRESSIONS, help="the file system")
    parser.add_argument("--board", default="apf27", help="a board of the catalog")
    parser.add_argument("--chip", help="a chip of the catalog; else the one named as the board is")
    parser.add_argument("--seeds", type=int, default=50, help="how many, from 1 on")
    parser.add_argument("--files", type=int, default=4, help="of each seed")
    parser.add_argument("--kib", type=int, default=1024, help="of a file at first, at most")
    parser.add_argument("--out", type=Path, required=True, help="CSV, a line a seed")
    options = parser.parse_args()
    load = HistoryLoad(options.fs, options.board, options.chip, options.files, options.kib)
    scores = [
        f for f in kept(options.out) if (f.filesystem, f.board) == (options.fs, options.board)
    ]
    for seed in sorted({*range(1, options.seeds + 1)} - {f.seed for f in scores}):
        with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
            scores.append(run(load, seed, Path(scratch) / "trace"))
        keep(scores[-1], options.out)
    sums = {k: sum(getattr(f, k) for f in scores) for k in HistoryScore._fields[4:]}
    print(
        json.dumps({"filesystem": options.fs, "board": options.board, "seeds": len(scores)} | sums)
    )
    sys.exit(1 if sums["differ"] else 0)


if __name__ == "__main__":
    main()
