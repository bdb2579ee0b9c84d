# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracers on a board write: records with fields changed, headers that are right again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from support.tracefolders import PROC_NAMES
from support.tracemade import ERASE, GC, Made, ev, page_read, program

from fuzz import texts
from fuzz.target import Files, Target
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.traced import records, tables, tree
from nandlab.traced.records import HEADER, RECORD, EventType

NUMBERS = (0, 1, 2, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
DEVICES = "mtd 0 0 32768 2048 131072 64 nand0\n"


@cache
def sound() -> bytes:
    made = Made()
    for pid in (7, 8, 9):
        write = ev(EventType.VFS_WRITE, 90, program(), GC(20, program(), ERASE(5)), object=17)
        read = ev(EventType.VFS_READ, 50, ev(EventType.PC_MISS, size=1), page_read(), object=17)
        made.task(
            pid, ev(EventType.MARK, text=b"begin"), write, read, ev(EventType.FLASH_ERASE, 500)
        )
    return made.file()


def draw(chance: Random) -> Files:
    data = np.frombuffer(bytearray(sound()), np.uint8)
    rows = data.view(RECORD)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(1, len(rows))
        field = chance.choice([n for n in RECORD.names or () if n != "text"])
        most = int(np.iinfo(RECORD[field]).max)
        rows[at][field] = min(most, chance.choice((*NUMBERS, chance.getrandbits(64))))
    if chance.random() < 0.3:
        at = chance.randrange(len(rows))
        rows[at]["type"] = chance.choice([t.value for t in EventType] + [records.HEADER_TYPE, 0])
    if chance.random() < 0.2:
        head = data.view(HEADER)[0]
        head[chance.choice(HEADER.names or ())] = chance.choice((0, 1, 64, 255))
    content = data.tobytes()
    if chance.random() < 0.2:
        content = texts.bytes_changed(content, chance)
    named = (PROC_NAMES + DEVICES).encode()
    if chance.random() < 0.5:
        named = texts.lines_changed(named, chance)
    return {"records": content, "names": named}


def take(folder: Path) -> None:
    recording = records.decode_trace_records((folder / "records").read_bytes())
    names = records.parse_trace_names((folder / "names").read_text(errors="backslashreplace"))
    names.kernel_threads()
    symbols: Mapping[str, Sequence[str]] = load_noun(  # type: ignore[assignment]
        "filesystems", "jffs2", FilesystemModel
    ).symbols
    found = tree.make_event_tree(recording, names, symbols)
    more = {"parent": found.parent, "cause": found.cause}
    words = {"cause": found.causes}
    tables.write_event_tables(
        recording, names, folder / "e.parquet", folder / "e.csv", extra_columns=more, words=words
    )


DEVICE = Target(draw, take, cases=20)
