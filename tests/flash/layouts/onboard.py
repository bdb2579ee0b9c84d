# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of decoders share: a load on the board, and the chip as it is after the unmount."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from support.place import Place
from support.smalltrial import skip_where_refused

from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Board, Job, JobRecord, Step
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import simnand
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout
from nandlab.flash.layouts.layout import Layout
from nandlab.plan.medium import MOUNTPOINT
from nandlab.trial import mediumsteps
from nandlab.trial import steps as trial

PLAY = Step("play", f"fsops operations {MOUNTPOINT}")
LIST = Step("list", f"treelist --sums {MOUNTPOINT}")

THREE_THOUSAND = "\n".join(
    [
        "seq 0",
        *(line for i in range(100) for line in (f"open 0 f{i} cx", f"put 0 3000 {i}", "close 0")),
        "sync",
        *(line for i in range(5) for line in (f"open 0 f{i} t", f"put 0 3000 {i + 50}", "close 0")),
        *(f"unlink f{i}" for i in range(95, 100)),
        "",
    ]
)
"""100 files of 3000 B, of which 5 are truncated and written again and 5 deleted: 285,000 B."""
LEFT_BYTES = 285_000


@dataclass(frozen=True)
class After:
    """A chip after its load."""

    record: JobRecord
    image: bytes
    partition: Partition
    layout: Layout


def after(
    board: Board, place: Place, operations: str, *more: Step, image: str = simnand.IMAGE_FILE
) -> After:
    """Plays operations on a file system, runs more steps, unmounts, and brings the chip back.

    image: the file that is brought back; the chip itself, if none is given.
    """
    spec = place.spec
    skip_where_refused(spec, board)
    hold = make_cargo(spec.virtual, spec.cells_bytes, back_bytes=spec.image_bytes)
    steps = (
        *trial.make_steps_until_mounted(spec),
        PLAY,
        *more,
        mediumsteps.make_unmount_step(spec),
        Step("save", f"set -o pipefail; cat {image} | {hold.put()}"),
    )
    record = asyncio.run(board.run(Job(steps, {"operations": operations.encode()}, cargo=hold)))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert record.cargo is not None
    partition = partition_of(place, record.cargo)
    return After(record, record.cargo, partition, decode_layout(partition, spec.filesystem.name))


def partition_of(place: Place, image: bytes) -> Partition:
    ecc = place.spec.chip.ecc
    chip = chipimage.decode_chip_image(image)
    return Partition(chip, place.spec.partition_blocks, ecc.strength, ecc.step)
