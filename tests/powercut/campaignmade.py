# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of campaigns, and what their files have, made without a board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nandlab.powercut import loads, samplefile
from nandlab.powercut.campaignfolder import CampaignHead, LoadReport

HEAD = {
    **{
        "format": 1,
        "identity": "x",
        "filesystem": "jffs2",
        "changed": {"summaries": "on"},
        "chip": "apf27",
    },
    **{"partition_mib": 8.0, "board": "apf27", "kernel": "6.1", "load": "ace1", "pieces": 2},
}


def make_head(**changes: Any) -> CampaignHead:
    return CampaignHead.model_validate({**HEAD, **changes})


def make_load_line(title: str, before: str, torn: str, *findings: dict[str, Any]) -> dict[str, Any]:
    """A load's line of a piece; before, torn: what became of its cuts, a letter each."""
    points = sum(letter != " " for letter in before + torn)
    bad = sum(each["count"] for each in findings)
    return {
        **{"load": title, "operations": len(before) - 1, "points": points, "held": points - bad},
        **{"recovery_points": 0, "kinds": "p" * (len(before) - 1), "findings": list(findings)},
        "outcomes": {"before": before, "subset": torn},
    }


def make_finding(name: str, first: str, count: int = 1) -> dict[str, Any]:
    return {"class": name, "count": count, "first": first, "what": "A is not there"}


def make_load_report(*words: Any) -> LoadReport:
    """What :func:`make_load_line` says, as the model that the board's lines are read as."""
    return LoadReport.model_validate(make_load_line(*words))


def make_sampled_point(*words: Any) -> samplefile.SampledPoint:
    """By the order of its fields."""
    return samplefile.SampledPoint(
        **dict(zip(samplefile.SampledPoint.model_fields, words, strict=False))
    )


def write_campaign_folder(tmp_path: Path, *pieces: list[dict[str, Any]], **changes: Any) -> Path:
    (tmp_path / "powercut.json").write_text(json.dumps({**HEAD, **changes}))
    for i, each in enumerate(pieces):
        text = json.dumps({"loads": each, "cpu_s": 1.5})
        (tmp_path / f"{i:05}.json").write_text(text)
    return tmp_path


FEW = loads.parse_loads("few", "load a\ncreate x\nload b: c\ncreate x\nload d\ncreate x\n")
