# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts by their rules, on made-up trials whose quotients are known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import samples
from support.claimsamples import FRESH, S, paper, part, rows, timed

from nandlab import report
from nandlab.analysis.claims import claimparts, claimrules, claims
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.chiptime import split_phase_time
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.spread import compute_spread
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.paper import ClaimPart, PaperModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.report.tables import claimtable
from nandlab.results.recordparts import EraseSpread, OperationCounts


def row(of: PaperModel, fresh: list[float], aged: list[float]) -> claims.ClaimResult:
    trials = [*timed(samples.FRESH, fresh), *timed(samples.AGED, aged)]
    (found,) = rows(of, trials)
    return found


def test_a_number_that_cannot_be_set_beside_ours_has_no_part_in_the_verdict() -> None:
    lost = part(paper=9.0, direction="below 1", incomparable="a digit is lost in the table")
    found = row(paper(part(paper=2.0), lost), [1, 10], [2, 20])
    assert found.verdict == "reproduced"
    assert found.numbers[1].text().endswith("a digit is lost in the table")
    assert "; not comparable: " in found.numbers[1].text()
    assert row(paper(lost), [1, 10], [2, 20]).verdict == "not comparable"
    assert row(paper(lost), [], []).verdict == "not comparable"


def test_quotients_are_taken_member_by_member() -> None:
    found = row(paper(part(paper=2.0)), [1, 10, 100], [2, 20, 200])
    (number,) = found.numbers
    assert number.ours == compute_spread([2.0, 2.0, 2.0])
    assert found.verdict == "reproduced"
    assert number.text() == "aged / fresh: 2 (each 2, n = 3)"
    assert len(found.trials) == 6


@pytest.mark.parametrize(
    ("given", "fresh", "aged", "verdict"),
    [
        ({"paper": 1.34}, [10, 10], [13, 14], "reproduced"),
        ({"paper": 1.34}, [10, 10], [25, 30], "same direction"),
        ({"paper": 2.9}, [10, 10], [20, 30], "reproduced"),  # our range holds it
        ({"paper": 1.34}, [10, 10], [8, 9], "different"),
        ({"paper": 1.34}, [10, 10], [10, 10], "different"),
        ({"paper": 1.34}, [10, 10], [9, 14], "not decided"),
        ({"paper": 15, "bound": "over"}, [1, 1], [16, 40], "reproduced"),
        ({"paper": 15, "bound": "over"}, [1, 1], [3, 4], "same direction"),
        ({"paper": 15, "bound": "over"}, [1, 1], [14, 15.5], "same direction"),  # no less will do
        ({"direction": "below 1"}, [10, 10], [8, 9], "reproduced"),
        ({"direction": "below 1"}, [10, 10], [11, 12], "different"),
        ({"direction": "below 1"}, [10, 10], [10, 10], "different"),
        ({"paper": 1.34}, [10, 10], [], "not measured"),
        ({"far": True}, [10, 10], [11, 12], "same direction"),
        ({"far": True}, [10, 10], [16, 17], "reproduced"),
        ({"far": True, "direction": "below 1"}, [10, 10], [6, 7], "reproduced"),
    ],
)
def test_a_verdict_follows_the_rules(
    given: dict[str, Any], fresh: list[float], aged: list[float], verdict: str
) -> None:
    assert row(paper(part(**given)), fresh, aged).verdict == verdict


def test_one_part_that_goes_the_other_way_decides() -> None:
    plain = {"label": "fresh", "figure": "phase.transactions", "of": FRESH, "direction": "none"}
    number = ClaimPart.model_validate({**plain, "paper": 10.0 * S})
    assert row(paper(part(), number), [10, 10], [13, 14]).verdict == "reproduced"
    assert row(paper(part(), number), [20, 20], [26, 28]).verdict == "same direction"
    assert row(paper(part(direction="below 1"), number), [10, 10], [13, 14]).verdict == "different"


def test_other_parameters_parts_and_options_are_not_meant() -> None:
    trials = timed(samples.FRESH, [1])
    same = paper(part())
    assert len(claimparts.select_ended_trials_in_selector(same, FRESH, trials)) == 1
    other = FRESH.model_copy(update={"options": {"compr": "zlib"}})
    assert claimparts.select_ended_trials_in_selector(same, other, trials) == []
    assert (
        claimparts.select_ended_trials_in_selector(paper(part(), part="apf27"), FRESH, trials) == []
    )
    assert (
        claimparts.select_ended_trials_in_selector(
            paper(part(), parameters={"files": 7}), FRESH, trials
        )
        == []
    )
    assert (
        claimparts.select_ended_trials_in_selector(
            same, FRESH, [samples.failed("jffs2", samples.FRESH)]
        )
        == []
    )


def test_trials_that_ended_badly_are_in_no_number_and_are_told() -> None:
    failed = samples.failed("jffs2", samples.AGED)
    trials = [*timed(samples.FRESH, [10]), *timed(samples.AGED, [13]), failed]
    (found,) = rows(paper(part(paper=1.34)), trials)
    assert found.verdict == "reproduced"
    assert found.chip_counts[-1].startswith("JFFS2, aged: 1 of 2 trials ")
    assert found.chip_counts[-1].endswith(": no space left.")
    assert failed.id in found.trials


def test_a_claim_s_numbers_are_given_for_each_way_to_read_it() -> None:
    """A state or a parameter that the paper leaves open: the other way has its own verdict."""
    state = {"id": "state", "read_as": "So.", "other": "of pages", "states": {"aged": "other"}}
    payload = {"id": "payload", "read_as": "So.", "other": "of all", "parameters": {"files": 7}}
    asked = paper(part(paper=2.0), bases=[state, payload])
    (claim,) = asked.claims
    both = claim.model_copy(update={"rests_on": ["payload", "state"]})
    asked = asked.model_copy(update={"claims": [both]})
    other = samples.AGED.model_copy(update={"name": "other"})
    trials = [
        *timed(samples.FRESH, [1]),
        *timed(samples.AGED, [2]),
        *timed(other, [0.5]),
        *timed(samples.FRESH, [10], parameters={"files": 7}),
        *timed(samples.AGED, [40], parameters={"files": 7}),
    ]
    asked = asked.model_copy(update={"parameters": {"files": trials[0].parameters["files"]}})
    (found,) = rows(asked, trials)
    assert (found.first, found.numbers[0].ours) == ("reproduced", compute_spread([2.0]))
    assert found.verdict == "not decided", "one reading goes the other way"
    told = {r.basis.id: (r.verdict, r.numbers[0].ours) for r in found.other_readings}
    assert told == {
        "state": ("different", compute_spread([0.5])),
        "payload": ("same direction", compute_spread([4.0])),
    }
    nowhere = both.model_dump() | {"rests_on": ["weather"]}
    with pytest.raises(ValueError, match="rests_on names no"):
        PaperModel.model_validate(asked.model_dump() | {"claims": [nowhere]})
    with pytest.raises(ValueError, match="must differ"):
        paper(part(), bases=[{"id": "b", "read_as": "So.", "other": "x"}])
    for kind in ("claims", "bases"):
        told = asked.model_dump()
        with pytest.raises(ValueError, match=f"{kind}: two have the id"):
            PaperModel.model_validate(told | {kind: [*told[kind], told[kind][0]]})


@pytest.mark.parametrize(
    ("first", "others", "verdict"),
    [
        ("reproduced", [], "reproduced"),
        ("reproduced", ["reproduced", "not measured"], "reproduced"),
        ("reproduced", ["same direction"], "same direction"),
        ("same direction", ["reproduced"], "same direction"),
        ("reproduced", ["different"], "not decided"),
        ("different", ["same direction"], "not decided"),
        ("reproduced", ["not decided"], "not decided"),
        ("different", ["different", "not comparable"], "different"),
        ("not measured", ["reproduced"], "not measured"),
        ("not comparable", ["different"], "not comparable"),
    ],
)
def test_a_reading_that_turns_a_verdict_leaves_it_open(
    first: claimrules.ClaimVerdict, others: list[claimrules.ClaimVerdict], verdict: str
) -> None:
    assert claimrules.join_reading_verdicts(first, others) == verdict


@pytest.mark.parametrize(
    ("aged", "other", "verdict"),
    [
        ([1.3, 1.4], [1.5, 1.6], "different"),
        ([1.3, 1.4], [0.6, 0.7], "not decided"),
        ([1.3, 1.4], [1.0, 1.0], "not decided"),
        ([1.0, 1.0], [1.05, 1.05], "reproduced"),
    ],
)
def test_readings_on_both_sides_of_a_number_leave_it_open(
    aged: list[float], other: list[float], verdict: str
) -> None:
    state = {"id": "state", "read_as": "So.", "other": "of pages", "states": {"aged": "other"}}
    asked = paper(part(paper=1.0, direction="none"), bases=[state])
    claim = asked.claims[0].model_copy(update={"rests_on": ["state"]})
    trials = [
        *timed(samples.FRESH, [1, 1]),
        *timed(samples.AGED, aged),
        *timed(samples.AGED.model_copy(update={"name": "other"}), other),
    ]
    (found,) = rows(asked.model_copy(update={"claims": [claim]}), trials)
    assert found.verdict == verdict
    (row,) = claimtable.make_claim_sheet("t", [found]).rows
    assert ("state" in row[-1]) == (verdict == "not decided")


def test_a_reading_that_no_study_has_is_told_and_decides_nothing() -> None:
    basis = {"id": "rest", "read_as": "At once.", "other": "after a rest", "untried": True}
    asked = paper(part(paper=1.3), bases=[basis])
    claim = asked.claims[0].model_copy(update={"rests_on": ["rest"]})
    trials = [*timed(samples.FRESH, [1, 1]), *timed(samples.AGED, [1.3, 1.4])]
    (found,) = rows(asked.model_copy(update={"claims": [claim]}), trials)
    assert found.verdict == "reproduced"
    (reading,) = found.other_readings
    assert (reading.verdict, reading.numbers) == ("not measured", ())
    sheet = claimtable.make_claim_sheet("t", [found])
    assert sheet.rows[0][-1] == "not run: rest"
    with pytest.raises(ValueError, match="must differ"):
        paper(part(), bases=[{**basis, "states": {"aged": "other"}}])


def test_a_file_without_counts_of_blocks_has_the_erases_of_their_mean() -> None:
    spread = EraseSpread(mean=2.25, stddev=0.4, min=2, max=4)
    trial = samples.trial("jffs2", samples.FRESH, erases_per_block=spread, per_block=None)
    words = workloadwords.make_workload_words_for_trials([trial])
    assert find_workload_figure("blocks.erases", words)(trial) == round(2.25 * trial.chip.blocks)
    assert find_workload_figure("blocks.programs", words)(trial) is None


@pytest.mark.parametrize(
    ("given", "aged", "verdict"),
    [
        ({}, 1.2, "not decided"),
        ({}, 1.3, "reproduced"),
        ({}, 0.9, "not decided"),
        ({}, 0.7, "different"),
        ({"direction": "below 1"}, 0.7, "reproduced"),
        ({"direction": "below 1"}, 1.3, "different"),
        ({"direction": "below 1", "saving": True}, 0.95, "not decided"),
        ({"direction": "below 1", "saving": True}, 0.85, "reproduced"),
        ({"direction": "below 1", "saving": True}, 1.2, "different"),
    ],
)
def test_one_member_alone_decides_no_close_order(
    given: dict[str, Any], aged: float, verdict: str
) -> None:
    assert row(paper(part(**given)), [1], [aged]).verdict == verdict
    two = row(paper(part(**given)), [1, 1], [aged, aged]).verdict
    assert (two == "not decided") is False


def test_every_number_of_a_paper_has_the_bound_of_its_kind() -> None:
    assert part(paper=2.0).nearness == 1.25
    assert part(paper=1.34).nearness == 1.15
    assert part(paper=1.0, direction="none").nearness == 1.1
    assert part(paper=8.0, kind="spread").nearness == 1.5
    assert part(paper=10.0, kind="magnitude").nearness == 3.16
    assert part(paper=0.3, saving=True).nearness == 0.1
    own = [
        (name, c.id, p.label)
        for name in list_noun_names("papers")
        for c in load_noun("papers", name, PaperModel).claims
        for p in c.parts
        if p.within is not None and p.along is None
    ]
    assert own == [], "a bound of its own, which no other paper has"


def test_an_option_that_is_not_named_is_meant_at_its_default() -> None:
    described = {"filesystem": {"options": {"reserve": {"default": "20"}}}}
    trials = [
        samples.trial("jffs2", samples.FRESH, options={"reserve": r}, provenance=described)
        for r in ("20", "5")
    ]
    for options, reserve in (({}, "20"), ({"reserve": "5"}, "5")):
        of = FRESH.model_copy(update={"options": options})
        assert [
            t.options["reserve"]
            for t in claimparts.select_ended_trials_in_selector(paper(part()), of, trials)
        ] == [reserve]


def test_the_time_of_a_phase_is_split_by_counts_and_latencies() -> None:
    counts = {"transactions": OperationCounts(reads=1000, programs=2000, erases=30)}
    (trial,) = timed(samples.FRESH, [2], flash=counts)
    found = split_phase_time(trial, "transactions")
    assert found is not None
    transfer = 2112 // 2 * 35
    assert found.reads_ns == 1000 * (25_000 + transfer)
    assert found.programs_ns == 2000 * (220_000 + transfer)
    assert found.erases_ns == 30 * 500_000
    assert found.rest_ns == 2 * S - found.reads_ns - found.programs_ns - found.erases_ns
    assert split_phase_time(trial, "creation") is None
    (bare,) = timed(samples.FRESH, [2], flash=None)
    assert split_phase_time(bare, "transactions") is None


def test_a_claim_without_a_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="must have a direction"):
        ClaimPart(label="x", figure="wear_spread", of=FRESH)
    with pytest.raises(ValueError, match="name over"):
        ClaimPart(label="x", figure="wear_spread", of=FRESH, direction="above 1")


@pytest.mark.parametrize("name", list_noun_names("papers"))
def test_a_paper_of_the_catalog_is_whole(name: str) -> None:
    found = load_noun("papers", name, PaperModel)
    ids = [c.id for c in found.claims]
    assert len(ids) == len(set(ids))
    told = claims.list_paper_claim_results(
        found,
        [],
        lambda w: workloadwords.make_words_from_declaration(
            load_noun("workloads", w, WorkloadModel)
        ),
    )
    for r in told:
        never = any(part.incomparable for part in r.claim.parts)
        assert r.verdict == ("not comparable" if never else "not measured")
    assert all(r.claim.said and n.text() for r in told for n in r.numbers)
    for r in told:
        asked = {s.state for p in r.claim.parts for s in (p.of, p.over) if s is not None}
        moved = {b.id for b in found.bases if asked & b.states.keys()}
        assert moved <= set(r.claim.rests_on), "it tells each state that could be read otherwise"


def test_the_report_has_a_row_for_every_claim_and_none_is_blank(tmp_path: Path) -> None:
    options = {"compression": "none", "writeback": "on"}
    chip = samples.CHIP.model_copy(update={"part": "apf27"})
    given = load_noun("papers", "ffsmark-2015", PaperModel).parameters
    trials = [
        samples.trial(fs, state, seed, options=options, chip=chip, parameters=given)
        for fs in ("jffs2", "ubifs", "yaffs2")
        for state in (samples.FRESH, samples.AGED)
        for seed in (1, 2)
    ]
    folder = samples.folder(tmp_path / "run", trials, spec={"paper": "ffsmark-2015"})
    page = report.write_run_report(folder).read_text()
    table = page.partition('<table class="claims">')[2].partition("</table>")[0]
    paper = load_noun("papers", "ffsmark-2015", PaperModel)
    for claim in paper.claims:
        row = table[table.index(f'id="claim-{claim.id}"') :].partition("</tr>")[0]
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
        assert len(cells) == 5
        assert all(re.sub(r"<[^>]*>", "", c).strip() for c in cells)
        assert ("Traced:" in row) == bool(claim.traced)
        assert (f'href="#traced-{claim.shown}"' in row) == bool(claim.shown)
    for shown in paper.causes:
        drawn = page[page.index(f'id="traced-{shown.id}"') :].partition("</details>")[0]
        assert all(t.label in drawn for t in shown.traces)
        assert "flash time by cause" in drawn
        assert "garbage collection" in drawn
    assert "not measured" in table  # write-back off and compression have no trials here
    assert f'href="#trial-{trials[0].id}"' in table
    assert "+34 %" in table
    assert (folder.path / "report" / "paper-figure-1.png").stat().st_size > 1000
    assert "paper-figure-3" not in page or "JFFS2, zlib" not in page
    assert 'class="judged"' in page[: page.index("<h2>")]
