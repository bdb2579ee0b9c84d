# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that bench/read_model.py fits the model of reads to, and how they are read.

They are written in sequence, in pieces and with gaps; parts of a program are packed as LZO, zlib
and zstd pack them. None of these may be a file that the model is scored on.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase

from coldreads import Where, trace

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


def list_update_commands(source: str) -> tuple[str, ...]:
    """What writes files of many nodes: of 150 pages, with so many updates."""
    made = ((f"dd if={source} of={name} bs=4k count=150", name, n) for name, n in PIECES)
    return tuple(do for dd, name, n in made for do in (dd, UPDATES.format(name, n, 250, 19)))


MANY: dict[str, dict[str, tuple[str, ...]]] = {
    "jffs2": {
        "none-many": (
            *(RANDOM.format(name, pages) for name, pages in WHOLE),
            *list_update_commands("/dev/urandom"),
        ),
        "lzo-many": list_update_commands("/bin/busybox"),
        "zlib-many": list_update_commands("/bin/busybox"),
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


def make_read_trace(
    board: str, filesystem: str, name: str, to: Path, read: str | None = None
) -> ChipTrace:
    """The trace of a load and its reads, made if it is not there; name: the load's, which begins
    with its compression."""
    compression, _, kind = name.partition("-")
    read = read or (READ_BY_NAME if kind == "short" else READ)
    if not to.exists():
        load = (LOADS[filesystem] | MANY.get(filesystem, {}) | HOLES.get(filesystem, {}))[name]
        trace(Where(filesystem, compression, board, PARTITION_MIB, CHIP), load, read, to)
    return make_chip_trace_from_folder(TraceFolder(to))
