# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload of many points: who is fastest over all, at how many, and nothing more."""

from __future__ import annotations

from support import curvesamples as made

from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import pointanswers, views
from nandlab.results.record import Trial


def told(trials: list[Trial]) -> dict[str, str]:
    (setting,) = groups.group_trials_into_settings(trials)
    assert views.find_setting_view(setting).name == "points"
    (answer,) = views.find_setting_view(setting).answers(setting)
    return {f.topic: f.text for f in answer.findings}


def test_the_order_is_over_all_points_and_each_is_counted() -> None:
    trials = [made.reader(fs, 0, s) for fs in ("jffs2", "yaffs2") for s in (1, 2, 3)]
    found = told(trials)
    assert list(found) == ["Time", "Flash reads", pointanswers.POINTS_TOPIC]
    assert found["Time"].startswith("YAFFS2 ")
    assert "over all points: 2.44 s." in found["Time"]
    assert found[pointanswers.POINTS_TOPIC] == "Of 8 points, fastest is YAFFS2 at 8."


def test_a_point_whose_ranges_touch_has_no_fastest() -> None:
    slow, fast = ([made.point(8, "random", 0, f), made.point(64, "random", 0, 1)] for f in (2, 1))
    trials = [made.reader("jffs2", 0, s, phases=slow) for s in (1, 2)]
    trials += [made.reader("ubifs", 0, s, phases=fast) for s in (1, 2)]
    text = told(trials)[pointanswers.POINTS_TOPIC]
    assert text.startswith("Of 2 points, fastest is UBIFS at 1; at 1 ")


def test_single_trials_tell_no_order() -> None:
    found = told([made.reader("jffs2", 0), made.reader("yaffs2", 0)])
    assert found[pointanswers.POINTS_TOPIC].startswith("At none of 8 points ")
    assert "One trial each" in found["Time"]


def test_a_configuration_that_lacks_a_point_leaves_it_open() -> None:
    whole = [made.reader("yaffs2", 0, s) for s in (1, 2)]
    part = [made.reader("jffs2", 0, s, phases=whole[0].phases[1:5]) for s in (1, 2)]
    text = told([*whole, *part])[pointanswers.POINTS_TOPIC]
    assert text.startswith("At none of 8 points ")
