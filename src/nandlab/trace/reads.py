# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder as the model of reads scores it: with the chip as it was when it began."""

from __future__ import annotations

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.layouts.decoders import salvage_layout
from nandlab.flash.layouts.flashfile import open_flash_file_partition
from nandlab.flash.reading.kernelstate import find_filesystem_reader
from nandlab.flash.reading.walk import ChipTrace
from nandlab.trace.folder import TraceFolder


def make_chip_trace_from_folder(folder: TraceFolder, *, mounted: bool = False) -> ChipTrace:
    """mounted: whether the file system was mounted after its files were written.

    UsageError where no image is kept or it cannot be read, of a file system whose reads are not
    known, and of a trace that lost records.
    """
    filesystem, meta = folder.meta["filesystem"], folder.meta
    find_filesystem_reader(filesystem, folder.path)
    if folder.summary["lost"]:
        raise UsageError(f"{folder.path}: the trace has lost records: trace again with more")
    try:
        layout, dropped = salvage_layout(open_flash_file_partition(folder.image)[0], filesystem)
    except UsageError as e:
        raise UsageError(f"{folder.path}: {e}") from None
    chip = load_noun("chips", meta["chip"], ChipModel)
    where = str(folder.path)
    shape = where, filesystem, chip, meta["board"], folder.events, layout, dropped
    return ChipTrace(*shape, options=meta["options"], mounted=mounted)
