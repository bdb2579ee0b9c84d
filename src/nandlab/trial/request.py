# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial is asked, as its result tells it: known before there is a board."""

from __future__ import annotations

from typing import Any

from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import FlashState, StartImage, TrialChip


def describe_trial_request(spec: TrialSpec, study: str) -> dict[str, Any]:
    """What a trial is asked, as its result tells it."""
    g = spec.chip.geometry
    return {
        "id": spec.id,
        "study": study,
        "filesystem": spec.filesystem.name,
        "options": spec.options,
        "chip": TrialChip(
            part=spec.chip.name,
            partition_mib=spec.partition_mib,
            pages_per_block=spec.chip.pages_per_block(),
            blocks=spec.partition_blocks,
            writesize=g.writesize,
            latency=spec.latency,
            faults={k: v for k, v in spec.faults.parameters(spec.seed).items() if k != "seed"},
            spinand=spec.spinand,
            layout=spec.layout_text,
        ),
        "state": FlashState(**spec.state.model_dump()),
        "image": _describe_image(spec),
        "workload": spec.workload.name,
        "parameters": spec.parameters,
        "seed": spec.seed,
        "phase_offset_ms": spec.phase_offset_ms,
        "setup_seed": spec.setup_seed,
        "measure": spec.measure,
    }


def _describe_image(spec: TrialSpec) -> StartImage | None:
    """What the chip held when the trial began."""
    tree = spec.image.sha256 if isinstance(spec.image, TreeStart) else None
    start = spec.image.made if isinstance(spec.image, TreeStart) else spec.image
    if start is None:
        return None
    takes = start.takes.model_dump() if start.takes else {}
    return StartImage(name=start.name, sha256=start.sha256, tree=tree, **takes)


def dump_trial_catalog_entries(spec: TrialSpec) -> dict[str, dict[str, Any]]:
    """The catalog's entries that a trial runs with, and what is only told of its board."""
    entries = {
        key: said.model_dump(mode="json")
        for key in ("controller", "power")
        if (said := getattr(spec.board, key, None)) is not None
    }
    return entries | {
        "chip": spec.chip.model_dump(mode="json"),
        "filesystem": spec.filesystem.model_dump(mode="json"),
        "workload": spec.workload.model_dump(mode="json"),
    }
