# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a trial's load can be traced for its time in parts, as far as a plan can tell."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.base.errors import UsageError
from nandlab.board.cargo import cargo
from nandlab.plan.trialspec import TrialSpec
from nandlab.traced.setup import records_max, room


def untraceable(spec: TrialSpec) -> Iterator[str]:
    """Why the parts of this trial cannot be had, each in a sentence; nothing: they can."""
    if spec.parts is None:
        return
    records, most = spec.parts.records, records_max(spec.board)
    if records > most:
        yield (
            f"parts: records = {records}: must be 1 to {most} on board {spec.board.name}, whose "
            "RAM holds them; take apf27-trace or apf27-trace-8m, or fewer records"
        )
    try:
        cargo(spec.board, spec.cells_bytes, back_bytes=room(records))
    except UsageError as e:
        yield f"parts: {e}"
    steps, name = spec.workload.steps, spec.workload.name
    if any(s.do == "save" for s in steps):
        yield f"parts: {name} saves the chip, and a trial brings one thing back"
    if any(s.do == "cut" for s in steps):
        yield f"parts: {name} cuts the power, and the tracers would be on a chip that is gone"
    mounts = sum(s.do == "mount" for s in steps)
    if mounts > 1 and any("rmmod" in line for line in spec.filesystem.unmount):
        yield (
            f"parts: {name} mounts {spec.filesystem.title} again, which unloads a module that is "
            "traced: its collector would not be seen after that"
        )
