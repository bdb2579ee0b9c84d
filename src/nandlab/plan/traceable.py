# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a trial's load can be traced for an instrument, as far as a plan can tell."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.base.errors import UsageError
from nandlab.board.jobs.cargo import make_cargo
from nandlab.plan.trialspec import PartsTrace, TrialSpec
from nandlab.traced.setup import compute_records_file_bytes_max, compute_records_max


def check_trial_traceable(spec: TrialSpec) -> Iterator[str]:
    """Why a trial's parts, or its reads, cannot be had, each in a sentence; nothing: they can."""
    if spec.is_own_board:
        return
    if spec.spinand and (asked := {"parts", "reads"} & set(spec.measure)):
        yield (
            f"{', '.join(sorted(asked))}: {spec.chip.name} by spinand: the tracers know the raw "
            "NAND layer alone"
        )
        return
    if spec.parts is not None:
        yield from _check_room(spec, "parts", spec.parts, 0)
        yield from _check_parts(spec)
    if spec.reads is not None:
        yield from _check_room(spec, "reads", spec.reads, spec.image_bytes)
        yield from _check_reads(spec)


def _check_room(spec: TrialSpec, field: str, trace: PartsTrace, other_bytes: int) -> Iterator[str]:
    """other_bytes: those that come back with the records."""
    records, most = trace.records, compute_records_max(spec.virtual)
    if records > most:
        yield (
            f"{field}: records = {records}: must be 1 to {most} on board {spec.board.name}, whose "
            "RAM holds them; take apf27-trace or apf27-trace-8m, or fewer records"
        )
    try:
        make_cargo(
            spec.virtual,
            spec.cells_bytes,
            back_bytes=compute_records_file_bytes_max(records) + other_bytes,
        )
    except UsageError as e:
        yield f"{field}: {e}"
    steps, name = spec.workload.steps, spec.workload.name
    if any(s.do == "save" for s in steps):
        yield f"{field}: {name} saves the chip, and a trial brings one thing back"
    if any(s.do == "cut" for s in steps):
        yield f"{field}: {name} cuts the power, and the tracers would be on a chip that is gone"


def _check_parts(spec: TrialSpec) -> Iterator[str]:
    mounts = sum(s.do == "mount" for s in spec.workload.steps)
    if mounts > 1 and any("rmmod" in line for line in spec.filesystem.unmount):
        yield (
            f"parts: {spec.workload.name} mounts {spec.filesystem.title} again, which unloads a "
            "module that is traced: its collector would not be seen after that"
        )


def _check_reads(spec: TrialSpec) -> Iterator[str]:
    assert spec.reads is not None
    steps, name = spec.workload.steps, spec.workload.name
    fs = spec.filesystem
    if fs.unmodelled_reads:
        yield f"reads: {fs.title}: how it reads is not modelled: {fs.unmodelled_reads}"
    if not any(s.do == "drop" for s in steps):
        yield f"reads: {name} has no step drop, after which its files are read from the flash"
    there = {s.phase for s in steps}
    for calibration, named in spec.reads.calibrate.items():
        for step in (s for s in named if s not in there):
            known = ", ".join(sorted(there))
            yield f"reads: calibrate: {calibration}: {name} has no step {step}; it has {known}"
