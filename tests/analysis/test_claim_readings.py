# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings of a paper that are of another chip, partition, workload, board or parameter."""

from __future__ import annotations

from typing import Any

from support import samples
from support.claimsamples import paper, part, rows, timed

from nandlab.analysis.claims import claims
from nandlab.analysis.figures import workloadwords
from nandlab.catalog.paper import PaperModel
from nandlab.report.tables import claimtable


def make_paper(**basis: Any) -> PaperModel:
    """A paper of one claim, which rests on the basis *other*; its number is 1.5."""
    asked = paper(
        part(paper=1.5), bases=[{"id": "other", "read_as": "So.", "other": "Otherwise.", **basis}]
    )
    claim = asked.claims[0].model_copy(update={"rests_on": ["other"]})
    return asked.model_copy(update={"claims": [claim]})


def test_another_chip_may_be_the_other_reading() -> None:
    asked = make_paper(part="apf27-2012")
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.5, 1.5])]
    chip = trials[0].chip.model_copy(update={"part": "apf27-2012"})
    other = [
        *timed(samples.FRESH, [1, 1], chip=chip),
        *timed(samples.AGED, [0.5, 0.5], chip=chip),
    ]
    (found,) = rows(asked, [*trials, *other])
    assert (found.first, found.verdict) == ("reproduced", "not decided")
    (reading,) = found.other_readings
    assert [n.ours and n.ours.median for n in reading.numbers] == [0.5]
    (without,) = rows(asked, trials)
    assert claimtable.make_claim_sheet("t", [without]).rows[0][-1] == "not in this run: other"


def test_another_partition_may_be_the_other_reading() -> None:
    asked = make_paper(partition_mib=95.375)
    chip = samples.CHIP.model_copy(update={"partition_blocks": 763, "partition_mib": 95.375})
    trials = [
        *timed(samples.FRESH, [1, 1], chip=chip),
        *timed(samples.AGED, [0.5, 0.5], chip=chip),
    ]
    (found,) = rows(asked, trials)
    (reading,) = found.other_readings
    assert [n.ours and n.ours.median for n in reading.numbers] == [0.5]
    smaller = [
        t.model_copy(update={"chip": chip.model_copy(update={"partition_mib": 50.0})})
        for t in trials
    ]
    (without,) = rows(asked, smaller)
    assert claimtable.make_claim_sheet("t", [without]).rows[0][-1] == "not in this run: other"


def test_another_workload_may_be_the_other_reading() -> None:
    asked = make_paper(workload="hurried")
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.5, 1.5])]
    other = [
        trial.model_copy(update={"workload": "hurried"})
        for trial in (*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [0.5, 0.5]))
    ]
    (found,) = rows(asked, [*trials, *other])
    assert (found.first, found.verdict) == ("reproduced", "not decided")
    (reading,) = found.other_readings
    assert [n.ours and n.ours.median for n in reading.numbers] == [0.5]
    (without,) = rows(asked, trials)
    assert claimtable.make_claim_sheet("t", [without]).rows[0][-1] == "not in this run: other"


def test_a_parameter_of_another_reading_is_not_ours_even_where_ours_has_it_not() -> None:
    """A run from before the parameter was is of the reading that does not name it."""
    asked = make_paper(parameters={"prepare": "each"})
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.5, 1.5])]
    each = trials[0].parameters | {"prepare": "each"}
    other = [
        *timed(samples.FRESH, [1, 1], parameters=each),
        *timed(samples.AGED, [0.5, 0.5], parameters=each),
    ]
    (found,) = rows(asked, [*trials, *other])
    assert (found.first, found.verdict) == ("reproduced", "not decided")
    (reading,) = found.other_readings
    assert [n.ours and n.ours.median for n in (*found.numbers, *reading.numbers)] == [1.5, 0.5]


def test_another_board_may_be_the_other_reading() -> None:
    asked = make_paper(board="apf27-16ns")
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.5, 1.5])]
    slow = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [0.5, 0.5])]
    words = workloadwords.make_workload_words_for_trials(trials)
    (found,) = claims.list_paper_claim_results(asked, trials, lambda _: words, {"apf27-16ns": slow})
    assert (found.first, found.verdict) == ("reproduced", "not decided")
    (reading,) = found.other_readings
    assert [n.ours and n.ours.median for n in reading.numbers] == [0.5]
    (without,) = rows(asked, trials)
    assert (without.verdict, without.other_readings[0].verdict) == ("reproduced", "not measured")


def test_reading_may_take_some_of_the_phases_that_a_pattern_names() -> None:
    asked = paper(
        part(figure="phase.transaction{rest}", each="transaction*", taken="mean", paper=1.5),
        bases=[
            {"id": "few", "read_as": "So.", "other": "few", "phases": {r"on\*$": "on[s]"}},
            {"id": "none", "read_as": "So.", "other": "no run", "phases": {r"on\*$": "on[t]"}},
        ],
    )
    claim = asked.claims[0].model_copy(update={"rests_on": ["few", "none"]})
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.5, 1.5])]
    (found,) = rows(asked.model_copy(update={"claims": [claim]}), trials)
    medians = [[n.ours and n.ours.median for n in o.numbers] for o in found.other_readings]
    assert medians == [[1.5], [None]]
