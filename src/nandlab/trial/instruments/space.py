# SPDX-License-Identifier: GPL-2.0-or-later
"""What each byte of the partition is good for after the last unmount, by the decoders of onflash.

The chip comes back when all that is measured is over, so this costs none of the trial's time. A
workload that saves the chip itself is measured as it saved it: a trial brings back one chip. A
file system without a decoder is not measured.
"""

from __future__ import annotations

import re

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import JobRecord
from nandlab.flash.chip import image as chipimage
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout, find_decoder
from nandlab.flash.layouts.layout import Layout
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Doubt
from nandlab.trial.instruments.instrument import (
    BroughtBack,
    FiguresUnknown,
    Instrument,
    InstrumentReading,
)

SPACE_NAME = "space"
NO_LETTER = re.compile(r"[^a-z0-9]+")


def _applies_to(spec: TrialSpec) -> bool:
    return SPACE_NAME in spec.measure and find_decoder(spec.filesystem.name) is not None


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """Bytes of each kind, of each part, and those of files that ``user`` stands for."""
    if record.cargo is None:
        text = "no chip came back: no unmount ends the trial"
        raise FiguresUnknown(Doubt(code="space_unread", text=text))
    ecc = spec.chip.kernel_ecc
    try:
        image = chipimage.decode_chip_image(record.cargo)
        partition = Partition(image, spec.partition_blocks, ecc.strength, ecc.step)
        return {**sum_layout_bytes(decode_layout(partition, spec.filesystem.name))}
    except NandlabError as e:
        raise FiguresUnknown(Doubt(code="space_unread", text=str(e))) from None


def sum_layout_bytes(layout: Layout) -> dict[str, int]:
    """All bytes that a layout tells, by figure: ``user``, ``metadata``, ``metadata_names``, ..."""
    sums = {"partition": layout.partition_bytes, "user_logical": layout.logical_bytes}
    for kind, total in layout.sums().items():
        sums[kind.value] = total
        for part, count in layout.parts()[kind].items():
            sums[f"{kind.value}_{NO_LETTER.sub('_', part.lower())}"] = count
    return sums


INSTRUMENT = Instrument(
    SPACE_NAME,
    _applies_to,
    InstrumentReading(lambda spec, record, phases: _collect_figures(spec, record)),
    back=BroughtBack(saves_chip=True),
    order=5,
)
