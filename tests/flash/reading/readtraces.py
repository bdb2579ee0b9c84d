# SPDX-License-Identifier: GPL-2.0-or-later
"""Files written and read on a board, traced with the chip as it was before they were read."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nandlab.board.jobs.cargo import HEAD, HEAD_BYTES, MAGIC
from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import MIB
from nandlab.cli.singletrial import plan_single_trial
from nandlab.flash.chip.simnand import IMAGE_FILE
from nandlab.trace import job, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import RECORDS_STEP, TraceRequest
from nandlab.traced.setup import compute_records_file_bytes_max

DROP = "echo 3 > /proc/sys/vm/drop_caches"
COLD = f"sync; settle --quiet-ms 1500 --limit-s 120 > /dev/null; sync; {DROP}; {DROP}"
"""Once the collector rests, for it fills the page cache; twice, since an inode whose pages are
dropped is kept the first time."""
IN_ORDER = "for f in *; do cat $f > /dev/null; done"
PAGES = 32
"""Of each file."""
AT_RANDOM = (
    f"i=0; while [ $i -lt {PAGES} ]; do for f in *; do "
    f"dd if=$f of=/dev/null bs=4k count=1 skip=$(((i * 13 + 5) % {PAGES})); done; "
    "i=$((i + 1)); done 2> /dev/null"
)


JFFS2 = {"name": "jffs2", "compression": "none"}
FRESH = {"name": "fresh"}


def request(
    board: QemuBoard,
    before: Sequence[str],
    command: str,
    *,
    filesystem: Mapping[str, str] = JFFS2,
    part: str = "apf27",
    partition_mib: int = 8,
    state: Mapping[str, Any] = FRESH,
) -> TraceRequest:
    spec = plan_single_trial(
        board=board.machine.model.name,
        workload={"name": "ffsmark"},
        filesystem=dict(filesystem),
        chip={"part": part, "partition_mib": partition_mib},
        state=dict(state),
        seed=1,
    )
    return TraceRequest(spec, command, ("vfs", "flash"), before="; ".join((*before, COLD)))


def traced(
    board: QemuBoard,
    path: Path,
    before: Sequence[str],
    command: str = IN_ORDER,
    *,
    twice: bool = False,
    **more: Any,
) -> TraceFolder:
    """What a command reads of files that were made before; more: of :func:`request`.

    twice: the chip comes of a second run of the job, as `nandlab trace --image` has it; else of the
    traced one, just before the tracers begin.
    """
    wanted = request(board, before, command, **more)
    whole = job.make_trace_job(wanted)
    if twice:
        record = asyncio.run(board.run(whole))
        imaged = asyncio.run(board.run(job.make_pretrace_image_job(wanted)))
        chip = job.extract_pretrace_chip_image(imaged, record)
    else:
        record = asyncio.run(board.run(bring_chip_too(whole, wanted)))
        chip = take_content(record)
    writer.write_trace_folder(
        path, wanted, record, job.decode_trace_outcome(wanted, record), board, chip
    )
    return TraceFolder(path)


def written(board: QemuBoard, path: Path, before: Sequence[str], **more: Any) -> Path:
    """The file of a chip that files were made on, of which nothing is traced."""
    wanted = request(board, before, "true", **more)
    imaged = job.make_pretrace_image_job(wanted)
    steps = (
        *imaged.steps[: find_begin(imaged)],
        *(s for s in imaged.steps if s.name == RECORDS_STEP),
    )
    record = asyncio.run(board.run(replace(imaged, steps=steps)))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert record.cargo is not None
    path.write_bytes(record.cargo)
    return path


def find_begin(traced_job: Job) -> int:
    """Where a traced job begins to trace, among its steps."""
    return [step.name for step in traced_job.steps].index("tracers")


def bring_chip_too(whole: Job, wanted: TraceRequest) -> Job:
    """A traced job that brings the chip besides, in memory behind its records."""
    hold = whole.cargo
    assert hold is not None
    most = compute_records_file_bytes_max(wanted.records)
    at = -(-(hold.back_address + HEAD_BYTES + most) // MIB) * MIB
    room = wanted.spec.image_bytes
    assert at + HEAD_BYTES + room <= hold.end
    put = f"set -o pipefail; cat {IMAGE_FILE} | ferry put {at:#x} {room}"
    steps = list(whole.steps)
    steps.insert(find_begin(whole), Step("chip", put))
    memory = replace(hold, returned_memory=(at, HEAD_BYTES + room))
    return replace(whole, steps=tuple(steps), cargo=memory)


def take_content(record: JobRecord) -> bytes:
    """What ``ferry put`` left in the memory that a record brought."""
    assert record.returned_memory is not None
    magic, size = HEAD.unpack_from(record.returned_memory)
    assert magic == MAGIC
    return record.returned_memory[HEAD_BYTES : HEAD_BYTES + size]


def pieces(*sizes: int) -> list[str]:
    """A file for each size, of which half is written anew in pieces of that size; and one in all
    sizes by turns."""
    made = []
    for name, each in (("seq", ()), *((f"p{s}", (s,)) for s in sizes), ("mixed", sizes)):
        made.append(f"dd if=/dev/urandom of={name} bs=4k count={PAGES} 2> /dev/null")
        for size in each:
            count = PAGES * 4096 // size // 2 // len(each)
            made.append(f"fileload update {name} --count {count} --bytes {size} > /dev/null")
    return made


def packed(*skips: int) -> list[str]:
    """Files of what compresses, each a part of one program, with pieces written anew."""
    made = []
    for skip in skips:
        made += [
            f"dd if=/bin/busybox of=b{skip} bs=4k count={PAGES} skip={skip} 2> /dev/null",
            f"fileload update b{skip} --count 20 --bytes 700 > /dev/null",
        ]
    return made


def histories(seed: int, files: int) -> Iterator[str]:
    """Files with a random history each: written, appended to, cut off, with holes, synced."""
    chance = random.Random(seed)
    for number in range(files):
        name = f"h{number:02}"
        yield f"dd if=/dev/urandom of={name} bs=1k count={chance.randint(1, 60)} 2> /dev/null"
        for _ in range(chance.randint(2, 20)):
            yield _event(chance, name)


def _event(chance: random.Random, name: str) -> str:
    size = chance.choice((chance.randint(1, 300), chance.randint(300, 9000)))
    source = chance.choice(("/dev/urandom", "/dev/zero", "/bin/busybox"))
    place = chance.randint(0, 70_000 // size)
    return chance.choice(
        (
            f"dd if={source} of={name} bs={size} count=1 seek={place} conv=notrunc 2> /dev/null",
            f"dd if={source} bs={size} count=1 2> /dev/null >> {name}",
            f"fileload update {name} --count 5 --bytes 100 --seed {place} > /dev/null || true",
            f"truncate -s {chance.randint(0, 60_000)} {name}",
            "sync",
        )
    )
