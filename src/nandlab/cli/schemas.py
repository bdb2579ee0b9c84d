# SPDX-License-Identifier: GPL-2.0-or-later
"""Every JSON that nandlab prints or writes and every TOML that it reads, each with its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.profile import EnergyProfile
from nandlab.catalog.tables import TableModel
from nandlab.catalog.tree import TreeModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.chip.file import ImageSidecar
from nandlab.cli import boardoutputs, modeloutputs, outputs
from nandlab.plan.study import Study
from nandlab.results.published import Published
from nandlab.results.record import Run, Trial
from nandlab.trace import shapes
from nandlab.trace.brief import Brief

DIALECT = "https://json-schema.org/draft/2020-12/schema"


SEAL = {
    "type": "string",
    "pattern": "^[0-9a-f]{64}$",
    "description": "SHA-256 of all bytes of the file before this member; absent: older than seals",
}


@dataclass(frozen=True)
class Told:
    """Something that nandlab prints, writes or reads."""

    what: str
    model: Any
    """A type that pydantic can validate."""
    sealed: bool = False
    """Whether its file has a seal (results/sealed.py)."""


SCHEMAS = {
    "trial": Told("trials/ID.json of a run: one trial", Trial, sealed=True),
    "run": Told("run.json of a run: its head", Run, sealed=True),
    "provenance": Told("provenance/HASH.json of a run: what trials ran with", dict[str, Any]),
    "figures": Told("the file of nandlab publish, unpacked", Published),
    "reproduced": Told("reproduced.json in a folder of nandlab reproduce", outputs.Reproduced),
    "show": Told("nandlab show --json", outputs.SHOWN),
    "show-figures": Told("nandlab show --figure NAME --format json", list[outputs.FigureRecord]),
    "compare": Told("nandlab compare and check --format json", list[outputs.MovedRecord]),
    "compare-own": Told(
        "nandlab compare --format json of a run on a board of one's own", list[outputs.LikeRecord]
    ),
    "advice": Told(
        "nandlab advise --json",
        list[outputs.Advised | outputs.OnBattery],
    ),
    "reprice": Told("nandlab reprice --json", list[outputs.Repriced]),
    "progress": Told("a line of nandlab run --progress json", outputs.Event),
    "space": Told("nandlab space --json", outputs.Space),
    "sizes": Told("nandlab image sizes --json", outputs.Sizes),
    "image": Told("FILE.json beside a chip image", ImageSidecar),
    "board-file": Told("board.json in a board file", outputs.BoardFileHead),
    "model-map": Told("nandlab model map --json", modeloutputs.ModelMap),
    "model-read": Told("nandlab model read --json", modeloutputs.ModelRead),
    "model-score": Told("nandlab model score --json", modeloutputs.ModelScore),
    "model-board": Told("nandlab model board --json", boardoutputs.ModelBoard),
    "trace-summary": Told("summary.json of a trace", shapes.TraceSummary),
    "trace-meta": Told("meta.json of a trace", shapes.TraceMeta),
    "trace-parts": Told("nandlab trace parts --json", shapes.TraceParts),
    "trace-brief": Told("nandlab trace brief", Brief),
    "study": Told("a study file (TOML)", Study),
    "board": Told("catalog/boards/NAME.toml", BoardModel),
    "chip": Told("catalog/chips/NAME.toml", ChipModel),
    "energy-profile": Told("catalog/energy-profiles/NAME.toml", EnergyProfile),
    "filesystem": Told("catalog/filesystems/NAME.toml", FilesystemModel),
    "table": Told("catalog/tables/NAME.toml", TableModel),
    "tree": Told("catalog/trees/NAME.toml", TreeModel),
    "workload": Told("catalog/workloads/NAME.toml", WorkloadModel),
}


def of(name: str) -> dict[str, Any]:
    """The JSON Schema of one of :data:`SCHEMAS`; UsageError if there is no such name."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}; there are: {', '.join(SCHEMAS)}")
    told = SCHEMAS[name]
    made = TypeAdapter(told.model).json_schema()
    if told.sealed:
        made["properties"]["sha256"] = SEAL
    return {**made, "$schema": DIALECT, "title": f"nandlab {name}", "description": told.what}
