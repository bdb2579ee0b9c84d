# SPDX-License-Identifier: GPL-2.0-or-later
"""A lead of little is no reason to choose: who is as good as the first, wherever it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import samples
from support.commandline import run_command
from support.fitting import fits
from test_verdict import at, calls, judged, pair

from nandlab.analysis.verdicts import verdict, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.analysis.verdicts.verdictchanges import SAME_ANSWER
from nandlab.results.record import Trial

CLOSE = (*pair("jffs2", 10), *pair("ubifs", 10.3), *pair("yaffs2", 50))
"""UBIFS is 3 % behind JFFS2, and their ranges do not touch."""


def on_partition(trials: list[Trial], mib: int) -> list[Trial]:
    chip = samples.CHIP.model_copy(update={"partition_mib": mib})
    return [t.model_copy(update={"chip": chip, "id": f"{t.id}-{mib}"}) for t in trials]


def judged_each(trials: list[Trial]) -> list[Verdict]:
    return verdictmaker.make_run_verdicts_from_trials({}, trials, samples.NAMING, Limits())


def test_who_comes_close_behind_is_as_good_in_sentence_and_answer() -> None:
    found = judged([*CLOSE])
    assert calls(found) == {"JFFS2": "take", "UBIFS": "next", "YAFFS2": "next"}
    assert found.row("JFFS2").as_good == ("UBIFS",)
    assert found.recommended_or_as_good == {"JFFS2", "UBIFS"}
    tied, behind = found.sentence_without_lead.split(". ")
    assert tied.startswith("As good (within 5 %): UBIFS takes 1.03")
    assert behind.startswith("YAFFS2 takes 4.99")
    assert found.answer.endswith("; as good: UBIFS); next: YAFFS2.")


@pytest.mark.parametrize(("seconds", "as_good"), [(10.5, ("UBIFS",)), (10.6, ())])
def test_less_than_the_factor_is_no_lead(seconds: float, as_good: tuple[str, ...]) -> None:
    """The medians are 10.015 s and 15 ms more than those: 1.0499 and 1.0599 times as long."""
    found = judged([*pair("jffs2", 10), *pair("ubifs", seconds)])
    assert found.row("JFFS2").as_good == as_good
    assert found.row("UBIFS").as_good == ()


def test_ranges_that_touch_are_as_good_whatever_their_medians() -> None:
    """Medians of 11 and 13 s."""
    far, close = pair("yaffs2", 50), [*pair("jffs2", 10), *pair("ubifs", 10)]
    late = [
        t.model_copy(
            update={"phases": [p.model_copy(update={"ns": (p.ns or 0) + more}) for p in t.phases]}
        )
        for t, more in zip(close, (0, 2 * 10**9, 10**9, 5 * 10**9), strict=True)
    ]
    found = judged([*late, *far])
    assert found.row("JFFS2").as_good == ("UBIFS",)
    assert found.sentence_without_lead.startswith("As good (not told apart): UBIFS. ")
    assert "as good: UBIFS); next: YAFFS2." in found.answer


def test_of_more_is_better_the_less_is_behind() -> None:
    def commits(name: str, seconds: float) -> list[Trial]:
        """Of 1,000 commits in so many seconds: the headline is how many a second."""
        load: dict[str, Any] = {
            "workload": "sqlbench",
            "parameters": {"transactions": 1000},
            "options": {},
        }
        times = [int((seconds + seed / 1000) * 1e9) for seed in (1, 2)]
        return [
            samples.trial(name, seed=ns, phase_ns={"run": ns}, sync_ns=None, **load) for ns in times
        ]

    found = judged([*commits("ubifs", 1.04), *commits("yaffs2", 1.06), *commits("jffs2", 1)])
    assert calls(found) == {"JFFS2": "take", "UBIFS": "next", "YAFFS2": "next"}
    assert found.row("JFFS2").as_good == ("UBIFS",)


def test_under_limits_room_decides_and_nobody_is_as_good() -> None:
    found = judged([*CLOSE], at("phase.transactions < 60s"))
    assert calls(found) == {"JFFS2": "take", "UBIFS": "fits", "YAFFS2": "fits"}
    assert found.row("JFFS2").as_good == ()
    assert found.answer.endswith("not tried); fits too: UBIFS, YAFFS2.")


@pytest.mark.parametrize(("fresh", "leaders"), [(19.2, ()), (15, (("fresh", "UBIFS"),))])
def test_a_single_state_is_told_only_for_a_lead(fresh: float, leaders: tuple[Any, ...]) -> None:
    aged = [*pair("jffs2", 30, samples.AGED), *pair("ubifs", 40, samples.AGED)]
    found = judged([*pair("jffs2", 20), *pair("ubifs", fresh), *aged])
    assert found.row("JFFS2").state_leaders == leaders
    assert ("If fresh alone counts" in found.sentence) == bool(leaders)


def test_another_partition_does_not_turn_what_is_as_good_there() -> None:
    """UBIFS leads by 3 % on 200 MiB; on 400 MiB by half."""
    small = on_partition([*pair("jffs2", 10), *pair("ubifs", 10.3)], 100)
    large = on_partition([*pair("jffs2", 10.3), *pair("ubifs", 10)], 200)
    largest = on_partition([*pair("jffs2", 15), *pair("ubifs", 10)], 400)
    first, *_ = judged_each([*small, *large, *largest])
    then = {c.what: (c.then, c.turns) for c in first.changes}
    assert then["200 MiB of the part"] == (SAME_ANSWER, False)
    assert then["400 MiB of the part"] == ("take UBIFS", True)


def test_the_line_of_several_settings_has_who_is_as_good() -> None:
    sizes = (100, 200, 300, 400, 500)
    close = [t for mib in sizes[:2] for t in on_partition([*CLOSE], mib)]
    apart = [*pair("jffs2", 10), *pair("ubifs", 20)]
    two = verdict.format_run_answer(judged_each(close))
    assert two.count("take JFFS2 (as good: UBIFS).") == 2
    many = [*close, *(t for mib in sizes[2:] for t in on_partition(apart, mib))]
    told = verdict.format_run_answer(judged_each(many))
    taken, tied = told.split(". ")
    assert taken.endswith("take JFFS2 in 5")
    assert tied.startswith("In 2 of them others are")


def test_all_outputs_have_the_one_answer(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run", [*CLOSE])
    answer = judged([*CLOSE]).answer

    def print_of(*words: str | Path) -> str:
        done = run_command(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (told,) = fits("advice", print_of("advise", folder.path, "--json"))
    assert told["answer"] == answer
    assert told["rows"][0]["as_good"] == ["UBIFS"]
    assert print_of("show", folder.path).splitlines()[-1] == answer
    assert answer in print_of("show", folder.path, "--format", "markdown").replace("\\", "")
    print_of("report", folder.path, "--out", tmp_path / "report")
    assert answer in (tmp_path / "report" / "index.html").read_text()
