# SPDX-License-Identifier: GPL-2.0-or-later
"""Every JSON that nandlab prints or writes and every TOML that it reads, each with its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from nandlab.analysis.verdicts.battery import BatteryRecord
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.base.errors import UsageError
from nandlab.board.kit.boardfile import BoardFileHead
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.instrument import InstrumentModel
from nandlab.catalog.part import PartModel
from nandlab.catalog.profile import EnergyProfile
from nandlab.catalog.tables import TableModel
from nandlab.catalog.tree import TreeModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.cli.progressevents import Event
from nandlab.cli.spacesummary import SpaceSummary
from nandlab.flash.chip.imagefile import ImageSidecar
from nandlab.flash.reading.boardscores import ModelBoard
from nandlab.flash.reading.records import ModelMap, ModelRead
from nandlab.flash.reading.score import ModelScore
from nandlab.image.surveyrecord import Sizes
from nandlab.plan.study import Study
from nandlab.powercut.campaignfolder import CampaignHead, Piece
from nandlab.powercut.pointcounts import PointCounts
from nandlab.powercut.samplefile import SampledPoint
from nandlab.report.page.repricereport import TimePredictionRecord
from nandlab.report.page.terminal import SHOWN_TRIALS
from nandlab.report.tables.bisection import BisectionRecord
from nandlab.report.tables.claimtable import ClaimRecord, CornerRecord
from nandlab.report.tables.commitseries import CommitFigureRecord
from nandlab.report.tables.exports import FigureRecord
from nandlab.report.tables.figurechanges import FigureChangeRecord
from nandlab.report.tables.likeness import LikenessRecord
from nandlab.results.figuresfile import FiguresFile
from nandlab.results.record import Run, Trial
from nandlab.trace import shapes
from nandlab.trace.brief import Brief
from nandlab.trial.reproduction import ReproducedRun

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
    "reproduced": JsonFormat("reproduced.json in a folder of nandlab reproduce", ReproducedRun),
    "powercut": JsonFormat("powercut.json of a campaign's folder: its head", CampaignHead),
    "powercut-piece": JsonFormat("NUMBER.json of a campaign's folder: a piece that is done", Piece),
    "powercut-sample": JsonFormat(
        "a line of sample-SEED.jsonl: a point of a campaign, judged in other ways too", SampledPoint
    ),
    "powercut-states": JsonFormat(
        "a line of states.jsonl: the points of a load of a campaign, counted", PointCounts
    ),
    "show": JsonFormat("nandlab show --json", SHOWN_TRIALS),
    "show-figures": JsonFormat("nandlab show --figure NAME --format json", list[FigureRecord]),
    "show-paper": JsonFormat(
        "nandlab show --paper --format json; board: with --corner",
        list[ClaimRecord] | list[CornerRecord],
    ),
    "compare": JsonFormat("nandlab compare and check --format json", list[FigureChangeRecord]),
    "compare-own": JsonFormat(
        "nandlab compare --format json of a run on your own board", list[LikenessRecord]
    ),
    "commits": JsonFormat("nandlab check --commits --format json", list[CommitFigureRecord]),
    "bisect": JsonFormat("nandlab bisect --format json", BisectionRecord),
    "advice": JsonFormat(
        "nandlab advise --json",
        list[Verdict | BatteryRecord],
    ),
    "reprice": JsonFormat("nandlab reprice --json", list[TimePredictionRecord]),
    "progress": JsonFormat("a line of nandlab run --progress json", Event),
    "space": JsonFormat("nandlab space --json", SpaceSummary),
    "sizes": JsonFormat("nandlab image sizes --json", Sizes),
    "image": JsonFormat("FILE.json next to a chip image", ImageSidecar),
    "board-file": JsonFormat("board.json in a board file", BoardFileHead),
    "model-map": JsonFormat("nandlab model map --json", ModelMap),
    "model-read": JsonFormat("nandlab model read --json", ModelRead),
    "model-score": JsonFormat("nandlab model score --json", ModelScore),
    "model-board": JsonFormat("nandlab model board --json", ModelBoard),
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
