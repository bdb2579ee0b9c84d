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
from nandlab.catalog.instrument import InstrumentModel
from nandlab.catalog.part import PartModel
from nandlab.catalog.profile import EnergyProfile
from nandlab.catalog.tables import TableModel
from nandlab.catalog.tree import TreeModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.cli import boardoutputs, modeloutputs, outputs
from nandlab.flash.chip.imagefile import ImageSidecar
from nandlab.plan.study import Study
from nandlab.powercut.campaignfolder import CampaignHead, Piece
from nandlab.results.figuresfile import FiguresFile
from nandlab.results.record import Run, Trial
from nandlab.trace import shapes
from nandlab.trace.brief import Brief

DIALECT = "https://json-schema.org/draft/2020-12/schema"


SEAL_SCHEMA = {
    "type": "string",
    "pattern": "^[0-9a-f]{64}$",
    "description": "SHA-256 of all bytes of the file before this member; absent: older than seals",
}


@dataclass(frozen=True)
class JsonFormat:
    """Something that nandlab prints, writes or reads."""

    description: str
    model: Any
    """A type that pydantic can validate."""
    sealed: bool = False
    """Whether its file has a seal (results/seals.py)."""


SCHEMAS = {
    "trial": JsonFormat("trials/ID.json of a run: one trial", Trial, sealed=True),
    "run": JsonFormat("run.json of a run: its head", Run, sealed=True),
    "provenance": JsonFormat("provenance/HASH.json of a run: what trials ran with", dict[str, Any]),
    "figures": JsonFormat("the file of nandlab publish, unpacked", FiguresFile),
    "reproduced": JsonFormat(
        "reproduced.json in a folder of nandlab reproduce", outputs.ReproducedRun
    ),
    "powercut": JsonFormat("powercut.json of a campaign's folder: its head", CampaignHead),
    "powercut-piece": JsonFormat("NUMBER.json of a campaign's folder: a piece that is done", Piece),
    "show": JsonFormat("nandlab show --json", outputs.SHOWN_TRIALS),
    "show-figures": JsonFormat(
        "nandlab show --figure NAME --format json", list[outputs.FigureRecord]
    ),
    "compare": JsonFormat("nandlab compare and check --format json", list[outputs.MovedRecord]),
    "compare-own": JsonFormat(
        "nandlab compare --format json of a run on a board of one's own", list[outputs.LikeRecord]
    ),
    "advice": JsonFormat(
        "nandlab advise --json",
        list[outputs.Advice | outputs.OnBattery],
    ),
    "reprice": JsonFormat("nandlab reprice --json", list[outputs.RepricedTime]),
    "progress": JsonFormat("a line of nandlab run --progress json", outputs.Event),
    "space": JsonFormat("nandlab space --json", outputs.Space),
    "sizes": JsonFormat("nandlab image sizes --json", outputs.Sizes),
    "image": JsonFormat("FILE.json beside a chip image", ImageSidecar),
    "board-file": JsonFormat("board.json in a board file", outputs.BoardFileHead),
    "model-map": JsonFormat("nandlab model map --json", modeloutputs.ModelMap),
    "model-read": JsonFormat("nandlab model read --json", modeloutputs.ModelRead),
    "model-score": JsonFormat("nandlab model score --json", modeloutputs.ModelScore),
    "model-board": JsonFormat("nandlab model board --json", boardoutputs.ModelBoard),
    "trace-summary": JsonFormat("summary.json of a trace", shapes.TraceSummary),
    "trace-meta": JsonFormat("meta.json of a trace", shapes.TraceMeta),
    "trace-parts": JsonFormat("nandlab trace parts --json", shapes.TraceParts),
    "trace-brief": JsonFormat("nandlab trace brief", Brief),
    "study": JsonFormat("a study file (TOML)", Study),
    "board": JsonFormat("catalog/boards/NAME.toml", BoardModel),
    "chip": JsonFormat("catalog/chips/NAME.toml", ChipModel),
    "energy-profile": JsonFormat("catalog/energy-profiles/NAME.toml", EnergyProfile),
    "filesystem": JsonFormat("catalog/filesystems/NAME.toml", FilesystemModel),
    "part": JsonFormat("catalog/parts/NAME.toml", PartModel),
    "table": JsonFormat("catalog/tables/NAME.toml", TableModel),
    "instrument": JsonFormat("catalog/instruments/NAME.toml", InstrumentModel),
    "tree": JsonFormat("catalog/trees/NAME.toml", TreeModel),
    "workload": JsonFormat("catalog/workloads/NAME.toml", WorkloadModel),
}


def make_json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of :data:`SCHEMAS`; UsageError if there is no such name."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}; there are: {', '.join(SCHEMAS)}")
    told = SCHEMAS[name]
    made = TypeAdapter(told.model).json_schema()
    if told.sealed:
        made["properties"]["sha256"] = SEAL_SCHEMA
    return {**made, "$schema": DIALECT, "title": f"nandlab {name}", "description": told.description}
