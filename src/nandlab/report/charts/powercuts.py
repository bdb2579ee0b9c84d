# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of a campaign of power cuts: the outcome of each cut over its flash operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nandlab.powercut.campaignresult import CampaignResult, read_campaign_result
from nandlab.report.charts.charts import Chart
from nandlab.results.cutsummaries import CUTS_FOLDER

OUTCOME_LOOKS = {
    ".": ("held", "#7fc8a9"),
    "M": ("unmountable", "#111111"),
    "N": ("never mounts again", "#3b2f4a"),
    "L": ("lost", "#c53030"),
    "W": ("wrong content", "#9b3d57"),
    "S": ("stale bytes", "#e07a9a"),
    "D": ("another second mount", "#7a5c3e"),
    "E": ("unreadable", "#e0912f"),
    "R": ("resurrected", "#6b46c1"),
    "U": ("unknown name", "#2b6cb0"),
    "F": ("two names of a folder", "#a3541f"),
    "B": ("call fails", "#5f6b2d"),
    "X": ("metadata", "#5b7fb8"),
    "2": ("two names after a rename", "#d6bc3a"),
    "A": ("not writable", "#97266d"),
    "K": ("kernel warning", "#4a5568"),
    "C": ("check fails", "#b7791f"),
    "V": ("another verdict again", "#0d9488"),
}
"""Words and colour of each letter of cutcheck's."""
ROWS_MAX = 60
"""More loads are not drawn: first those in which something did not hold."""


def render_run_campaign_charts(run: Path) -> list[Chart]:
    """A picture for each campaign beside a run."""
    folders = sorted(path.parent for path in (run / CUTS_FOLDER).glob("*/powercut.json"))
    return [
        render_campaign_chart(read_campaign_result(folder), f"powercut-{i}")
        for i, folder in enumerate(folders, 1)
    ]


def render_campaign_chart(campaign: CampaignResult, name: str = "powercut") -> Chart:
    """Of one load, a row for each way to tear; of several, a row for each load, the worst of it."""
    rows = _list_outcome_rows(campaign)
    cells = [
        {"row": row, "operation": k, "outcome": OUTCOME_LOOKS[letter][0]}
        for row, letters in rows.items()
        for k, letter in enumerate(letters)
        if letter != " "
    ]
    drawn_looks = [
        look for look in OUTCOME_LOOKS.values() if any(c["outcome"] == look[0] for c in cells)
    ]
    alone = len(campaign.outcomes) == 1
    encoding: dict[str, Any] = {
        "x": {
            "field": "operation",
            "type": "ordinal",
            "title": "flash operations before the cut",
            "axis": {"labelOverlap": True, "labelAngle": 0, "ticks": False},
        },
        "y": {
            "field": "row",
            "type": "nominal",
            "sort": list(rows),
            "title": "torn" if alone else "load",
            "axis": {"labelLimit": 300},
        },
        "color": {
            "field": "outcome",
            "type": "nominal",
            "title": None,
            "scale": {"domain": [w for w, _ in drawn_looks], "range": [c for _, c in drawn_looks]},
            "legend": {"orient": "top", "columns": 4, "columnPadding": 30},
        },
    }
    head = campaign.head
    noun = "faults" if campaign.is_fault_campaign else "power cuts"
    title = f"{head.filesystem} on {head.chip}: {head.load}, {noun} by flash operation"
    spec = {
        "data": {"name": "cells"},
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.3},
        "encoding": encoding,
        "width": 640,
        "height": {"step": 13},
    }
    undrawn_count = len(campaign.outcomes) - len(rows)
    caption = f"{campaign.summary}. Each cell is the worst outcome of its points." + (
        f" {undrawn_count} more loads are not drawn." if not alone and undrawn_count > 0 else ""
    )
    return Chart(name, title, caption, {"cells": cells}, spec, {**spec, "width": 300})


def _list_outcome_rows(campaign: CampaignResult) -> dict[str, str]:
    """Letters by row."""
    if len(campaign.outcomes) == 1:
        return dict(next(iter(campaign.outcomes.values())))
    worst = {
        title: _merge_worst_outcomes(list(outcomes.values()))
        for title, outcomes in campaign.outcomes.items()
    }
    bad_first = sorted(worst, key=lambda title: not worst[title].strip(" ."))
    return {title: worst[title] for title in bad_first[:ROWS_MAX]}


def _merge_worst_outcomes(variants: list[str]) -> str:
    """For each operation a letter that is not "held", if any variant has one."""
    return "".join(
        next((c for c in column if c not in " ."), "." if "." in column else " ")
        for column in zip(*variants, strict=True)
    )
