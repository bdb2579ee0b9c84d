# SPDX-License-Identifier: GPL-2.0-or-later
"""A sample of a campaign's points: which are drawn, and what each says alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from campaignmade import (
    make_finding,
    make_load_line,
    make_load_report,
    make_sampled_point,
    write_campaign_folder,
)

from nandlab.powercut import campaignresult, hostcheck, loads, sample, samplefile
from nandlab.powercut.campaignfolder import Finding, LoadReport
from nandlab.powercut.job import CutPoints


def test_a_sample_is_drawn_from_the_points_that_were_tried(tmp_path: Path) -> None:
    one = make_load_line("x", ". .", "L  ", make_finding("lost", "0:subset:1"))
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one]))
    every = sample.draw_point_sample(result, 99, 1)
    assert sorted(every) == [
        *(("x", 0, "before", "."), ("x", 0, "subset", "L"), ("x", 2, "before", "."))
    ]
    assert sample.draw_point_sample(result, 2, 5) == sample.draw_point_sample(result, 2, 5)


@pytest.mark.parametrize(
    ("letter", "left", "class_", "says"),
    [
        ("M", [], "not writable", "not writable"),
        ("M", [], "", "held"),
        (
            "L",
            [Finding(name="lost", count=1, first="0:before:1", what="A")],
            "not writable",
            "lost",
        ),
        (".", [], "not writable", "held"),
    ],
)
def test_a_point_of_a_sample_is_cut_behind_its_sync_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    letter: str,
    left: list[Finding],
    class_: str,
    says: str,
) -> None:
    """The chip that the host reads was not: what such a cut finds, the board says without it."""

    async def tried(*_: object) -> hostcheck.PointVerdicts:
        return hostcheck.PointVerdicts(left, [], "r")

    async def once(_: object, point: CutPoints, *__: object) -> list[LoadReport]:
        assert not point.recovery, "the letter is of the point alone"
        found = [make_finding(class_, "0:before:1")] if class_ else []
        return [make_load_report("x", letter, "", *found)]

    monkeypatch.setattr(hostcheck, "try_point", tried)
    monkeypatch.setattr(sample, "run_piece", once)
    one = {**make_load_line("x", letter, ""), "recording": "r"}
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one]))
    held = {"loads": loads.parse_loads("x", "load x\nsync\n"), "points": CutPoints(recovery=True)}
    of = type("Campaign", (), held)()

    async def all_of_it() -> list[samplefile.SampledPoint]:
        return [
            each
            async for each in sample.retry_point_sample(of, result, cast(Any, None), tmp_path, 9)
        ]

    (point,) = asyncio.run(all_of_it())
    assert (point.alone, point.campaign) == (says, campaignresult.CLASSES[letter])


@pytest.mark.parametrize(
    ("alone", "host_agrees", "agreed"),
    [
        *(("lost", True, True), ("lost", None, True), ("lost", False, False)),
        *(("held", None, False), ("resurrected", None, False)),
    ],
)
def test_a_point_agrees_if_nobody_contradicts(
    alone: str, host_agrees: bool | None, agreed: bool
) -> None:
    assert make_sampled_point("x", "0:before:1", "lost", alone, "", host_agrees).agreed == agreed
