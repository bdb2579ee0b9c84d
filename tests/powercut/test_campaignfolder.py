# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a campaign's folder: they have all that a board reports, and fit their schemas."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

import pytest
from campaignmade import FEW
from support.fitting import fits, validator

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import DEVICE
from nandlab.cli.campaigns import make_medium
from nandlab.powercut import campaign, campaignfolder
from nandlab.powercut.campaignfolder import (
    CampaignHead,
    Finding,
    LoadReport,
    Piece,
    RequestedPoints,
    parse_load_reports,
)
from nandlab.powercut.job import CutPoints

CUTS = DEVICE / "programs/lib/cuts"
BOARD = cast(Any, type("Board", (), {"identity": {"kernel": "6.1"}}))
POINTS = CutPoints(last_load=0, every=3, seed=4, seeds=2, bad=(1, 63), plant=("--plant-x", "1"))
HEAD_KEYS = {
    *("format", "identity", "filesystem", "core", "changed", "options", "chip", "forbids", "nop"),
    *(
        "partition_mib",
        "board",
        "kernel",
        "load",
        "program",
        "points",
        "pieces",
        "sources",
        "patched",
    ),
}
PLAYED = {
    **{"load": "new: a", "operations": 2, "points": 5, "recovery_points": 7, "second_points": 1},
    **{"held": 4, "recording": "9f", "chip": "0", "kinds": "pe", "longer": ["A/é", "tab\t"]},
    "outcomes": {"before": "..L", "few": ".. "},
    "findings": [{"class": "lost", "count": 1, "first": "2:before:1", "what": "A is not there"}],
}
REFUSED = {"load": "w", "refused": "Not a directory"}
DIED = {
    **{"load": "b", "points": 1},
    "findings": [
        {
            **{"class": "kernel crash", "count": 1, "first": "7:few:1 recovery 3, 17"},
            **{"what": "panicked", "console": ["[ 1.0] BUG: at", "---[ end trace"]},
        }
    ],
}


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> CampaignHead:
    return make_head(monkeypatch, POINTS)


def make_head(monkeypatch: pytest.MonkeyPatch, points: CutPoints) -> CampaignHead:
    monkeypatch.setattr(campaign.Campaign, "identity", lambda self, board: "0123")
    on = make_medium("jffs2", ["compression=none"], "apf27", 8, "apf27")
    return campaign.make_campaign_head(campaign.Campaign(on, FEW, points), BOARD)


def test_a_head_has_all_of_the_points() -> None:
    assert list(RequestedPoints.model_fields) == [field.name for field in fields(CutPoints)]


def test_a_head_is_written_whole_and_read_again(head: CampaignHead, tmp_path: Path) -> None:
    campaignfolder.write_campaign_head(tmp_path, head)
    written = fits("powercut", (tmp_path / campaignfolder.HEAD).read_text())
    assert written.keys() == HEAD_KEYS
    assert written["points"] == json.loads(json.dumps(asdict(POINTS)))
    assert campaignfolder.read_campaign_head(tmp_path) == head


def test_a_head_that_could_not_be_read_is_refused_before_a_point_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match="seeds: "):
        make_head(monkeypatch, CutPoints(seeds=campaignfolder.SEEDS_MAX + 1))


def test_a_piece_loses_nothing_of_what_a_board_reports(tmp_path: Path) -> None:
    lines = [json.dumps(each) for each in (PLAYED, REFUSED, DIED)]
    reports = parse_load_reports("\n".join(lines), "here")
    campaignfolder.write_campaign_piece(tmp_path, 7, Piece(loads=reports, cpu_s=1.5))
    (path,) = tmp_path.glob(campaignfolder.PIECES)
    written = fits("powercut-piece", path.read_text())
    assert (path.name, written) == ("00007.json", {"loads": [PLAYED, REFUSED, DIED], "cpu_s": 1.5})
    assert campaignfolder.read_campaign_pieces(tmp_path) == [Piece(loads=reports, cpu_s=1.5)]


def test_a_report_has_each_key_that_the_programs_print() -> None:
    source = (CUTS / "tell.c").read_text()
    printed = set(re.findall(r'\bjson,\s+"(\w+)"', source))
    printed |= set(re.findall(r'\b(?:json|tell)_\w+\((?:&?json), "(\w+)"', source))
    keys = {
        str(field.validation_alias or name)
        for model in (LoadReport, Finding)
        for name, field in model.model_fields.items()
    }
    assert printed == keys - {"console"}  # the host's, where the kernel died


@pytest.mark.parametrize(
    "line",
    [
        *("", "no JSON", "[]", '{"points": 1}', '{"load": "x", "points": -1}'),
        '{"load": "x", "operations": 3, "outcomes": {"before": "."}}',
        '{"load": "x", "findings": [{"class": "lost", "count": 1, "first": "x", "what": ""}]}',
    ],
)
def test_a_line_that_is_no_report_is_an_error(line: str) -> None:
    with pytest.raises(NandlabError, match="the board's report: "):
        parse_load_reports(f"{line}\n", "here")


def test_a_piece_that_does_not_fit_its_schema_is_seen() -> None:
    assert list(validator("powercut-piece").iter_errors({"loads": [{"points": 1}], "cpu_s": 1}))
    assert list(validator("powercut").iter_errors({"identity": "x"}))
