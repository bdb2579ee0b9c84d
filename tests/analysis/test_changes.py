# SPDX-License-Identifier: GPL-2.0-or-later
"""What would change a verdict: from counts where they tell it, else with the edit that does."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples
from test_leans import pair as counted
from test_product import judged, pair

from nandlab.analysis.figures import chiptime
from nandlab.analysis.verdicts import modelbias, verdictchanges, verdictmaker
from nandlab.analysis.verdicts.limits import Limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.analysis.verdicts.verdictchanges import SAME_ANSWER, PossibleChange
from nandlab.results.record import Trial


def told(found: Verdict) -> dict[str, PossibleChange]:
    return {change.what: change for change in found.changes}


def by_headline(*trials: list[Trial]) -> Verdict:
    (found,) = verdictmaker.make_run_verdicts_from_trials(
        {}, [t for each in trials for t in each], samples.NAMING, Limits()
    )
    return found


def test_a_slower_controller_that_turns_nothing_is_told_so() -> None:
    found = by_headline(counted("jffs2", 10, reads=10), counted("ubifs", 30, reads=100))
    change = told(found)[verdictchanges.MEASURED_CONTROLLER]
    assert (change.then, change.turns) == (SAME_ANSWER, False)


def test_one_that_turns_the_order_names_who_would_be_first() -> None:
    found = by_headline(counted("jffs2", 10, reads=100), counted("ubifs", 12, reads=1))
    assert found.recommended == "JFFS2"
    change = told(found)[verdictchanges.MEASURED_CONTROLLER]
    assert (change.then, change.turns) == ("take UBIFS", True)


def test_a_tighter_limit_names_who_would_come_in() -> None:
    slow: dict[str, Any] = {"erases": 200}
    found = judged([*pair("jffs2", 20), *pair("ubifs", 10, **slow)])
    assert found.recommended == "JFFS2"
    (tighter,) = [c for c in found.changes if c.what.startswith("commit p99")]
    assert (tighter.what, tighter.then) == ("commit p99 < 20.4 ms asked", "take UBIFS")
    alone = judged(pair("jffs2", 20))
    assert alone.changes[0].then == "none that was run is fit"


def test_another_partition_is_told_where_it_was_run_and_else_with_its_edit() -> None:
    large = {"chip": samples.CHIP.model_copy(update={"partition_mib": 200})}
    here = [*counted("jffs2", 10, reads=1), *counted("ubifs", 20, reads=1)]
    there = [
        t.model_copy(update={**large, "id": f"{t.id}-l"})
        for t in (*counted("jffs2", 20, reads=1), *counted("ubifs", 10, reads=1))
    ]
    small, big = verdictmaker.make_run_verdicts_from_trials(
        {}, [*here, *there], samples.NAMING, Limits()
    )
    assert (small.recommended, big.recommended) == ("JFFS2", "UBIFS")
    assert told(small)["200 MiB of the part"] == PossibleChange(
        "200 MiB of the part", "take UBIFS", True
    )
    (alone,) = verdictmaker.make_run_verdicts_from_trials({}, here, samples.NAMING, Limits())
    change = told(alone)["another partition size"]
    assert change.turns is None
    assert "partition_mib = " in change.do


@pytest.mark.parametrize(("factor", "turns"), [(2.0, False), (6.0, None)])
def test_a_limit_that_holds_times_the_greatest_factor_holds(
    factor: float, turns: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdictchanges, "_longest", lambda trial: factor)
    found = judged(pair("ubifs", 10))  # 10.4 ms of 50 ms
    assert told(found)[verdictchanges.LONGEST_LATENCIES].turns is turns
    if turns is False:
        bound = "no read, program or erase of the chip takes more than 2 times as long"
        assert (
            told(found)[verdictchanges.LONGEST_LATENCIES].then
            == f"{SAME_ANSWER}: {bound}, and so no latency"
        )


def test_a_controller_bounds_a_latency_by_the_operation_that_grows_most() -> None:
    (one, _) = counted("jffs2", 10, reads=10)
    page, own = (
        modelbias.compute_controller_page_costs(one),
        chiptime.compute_chip_operation_costs(one),
    )
    assert page is not None and own is not None
    read, program = (
        (page.simulated_read + page.read) / page.simulated_read,
        (own.program + page.program) / own.program,
    )
    assert verdictchanges._compute_controller_factor(one) == max(read, program)
    found = by_headline(counted("jffs2", 10, reads=10), counted("ubifs", 30, reads=100))
    assert all("grow" not in change.then for change in found.changes)


def test_no_command_has_a_placeholder() -> None:
    found = by_headline(
        *([t.model_copy(update={"available": 64 << 20}) for t in counted("jffs2", 10, reads=1)],),
    )
    assert told(found)["less RAM"].do == "in a copy of your board's file: available_mib = 32"
    assert not [c for c in found.changes if "STUDY" in c.do or "RUN" in c.do]


def test_nothing_is_said_where_nothing_is_taken() -> None:
    assert by_headline(counted("jffs2", 10, reads=1)[:1]).changes == ()
