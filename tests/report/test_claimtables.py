# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of papers have one set of verdicts, and the tables that the report prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import claimtables
import pytest

from nandlab.analysis.claims.claimrules import CLAIM_VERDICTS, VERDICT_RULES
from nandlab.analysis.figures.workloadwords import find_declared_workload_words
from nandlab.base.errors import UsageError
from nandlab.base.paths import ROOT
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.paper import PaperModel
from nandlab.report.page.papercomparison import (
    _format_corner_name,
    _select_unnamed_sources,
    find_run_paper,
    make_paper_comparison,
    render_corners,
    render_paper_claims,
)
from nandlab.report.tables.claimtable import (
    CornerRun,
    format_claim_tally,
    format_unjudged_readings,
    make_corner_sheet,
)
from nandlab.trial.publishedrun import open_results

BLOCKS = {
    (page.stem, study): table
    for page in sorted(claimtables.PAGES.glob("*.md"))
    for study, table in claimtables.list_page_blocks(page)
}
OTHER_WORDS = re.compile(r"^\**near|depends on|by one way|not scored|not tested|reproduces\b")
"""What pages once called verdicts."""


def verdict_cells(page: str, blocks: bool = False) -> Iterator[str]:
    """The cells below the head *verdict* of a page's tables of its own, and of its blocks."""
    text = (claimtables.PAGES / f"{page}.md").read_text()
    text = text if blocks else claimtables.BLOCK.sub("", text)
    column = None
    for line in text.splitlines():
        cells = [c.strip() for c in line.split(" |")] if line.startswith("| ") else []
        if not line.startswith("|"):
            column = None
        elif "verdict" in cells:
            column = cells.index("verdict")
        elif column is not None and cells:
            yield cells[column]


@pytest.mark.parametrize(("page", "study"), BLOCKS)
def test_a_page_has_the_table_that_the_report_prints(page: str, study: str) -> None:
    assert BLOCKS[page, study] == claimtables.print_claims(study), (
        "PYTHONPATH=src:tests python tests/report/claimtables.py writes it anew"
    )


def test_every_paper_has_a_page_with_such_a_table() -> None:
    assert {page for page, _ in BLOCKS} == set(list_noun_names("papers"))


@pytest.mark.parametrize("page", list_noun_names("papers"))
def test_a_page_s_own_tables_have_no_other_verdicts(page: str) -> None:
    cells = list(verdict_cells(page))
    assert len(list(verdict_cells(page, blocks=True))) >= 19
    wrong = [c for c in cells if not any(v in c for v in (*CLAIM_VERDICTS, "shorter by"))]
    assert wrong == []
    assert [c for c in cells if OTHER_WORDS.search(c)] == []


def test_a_page_counts_the_verdicts_of_its_own_table() -> None:
    page = (claimtables.PAGES / "ffsmark-2015.md").read_text()
    told = re.search(
        r"Of (\d+) claims (\d+) are reproduced, (\d+) have the same direction, and (\d+) are ",
        page,
    )
    assert told is not None
    counts = Counter(
        verdict
        for cell in verdict_cells("ffsmark-2015")
        for verdict in CLAIM_VERDICTS
        if cell.startswith(verdict)
    )
    found = [counts[v] for v in ("reproduced", "same direction", "not decided")]
    assert [int(n) for n in told.groups()] == [counts.total(), *found]
    paper = load_noun("papers", "ffsmark-2015", PaperModel)
    assert counts.total() == len(paper.claims)


def test_the_rules_stand_in_the_docs() -> None:
    text = (ROOT / "docs" / "papers.md").read_text()
    rows = [f"| {verdict} | {rule} |" for verdict, rule in VERDICT_RULES.items()]
    assert "\n".join(rows) in text


def test_claims_are_records_for_programs_too() -> None:
    run = open_results(claimtables.PAGES / "read-model-2014.figures.json.xz")
    lines = render_paper_claims([run], "csv").splitlines()
    assert lines[0] == "claim,reading,verdict,number,paper,n,min,median,max"
    pauses = [line for line in lines if line.startswith("inter-arrival,first,reproduced,")]
    assert len(pauses) == 2
    assert all(0.99 < float(line.split(",")[-2]) < 1.01 for line in pauses)
    assert any(line.startswith("times,half-updated,different,") for line in lines)


def test_a_run_without_numbers_is_not_told_to_be_of_one_member() -> None:
    run = open_results(claimtables.PAGES / "thesis-2007-gc.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    assert "each from one member" in found.tally
    empty = [r for r in found.rows if all(n.ours is None for n in r.numbers)]
    assert 0 < len(empty) < len(found.rows)
    told = Counter(r.verdict for r in empty)
    assert told["not comparable"] == 2
    assert told.total() == told["not measured"] + 2
    assert format_claim_tally(empty) == f"{told['not measured']} not measured, 2 not comparable"


def test_a_verdict_that_another_board_turns_hangs_on_it() -> None:
    run = open_results(claimtables.PAGES / "read-model-2014.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    turned = [
        replace(r, first="different", other_readings=()) if r.claim.id == "inter-arrival" else r
        for r in found.rows
    ]
    lost = [r for r in turned if r.claim.id != "overhead"]
    corners = [CornerRun("a", found.rows), CornerRun("b", lost)]
    sheet = make_corner_sheet("t", corners)
    assert sheet.head == ("the paper says", "a", "b", "the board")
    by_text = {r.claim.text: r.claim.id for r in found.rows}
    hangs = {by_text[row[0]]: row[-1] for row in sheet.rows}
    assert [name for name, told in hangs.items() if told] == ["inter-arrival"]
    (overhead,) = (row for row in sheet.rows if by_text[row[0]] == "overhead")
    assert overhead[1].startswith("not decided (")
    assert overhead[2] == "not measured"


def test_a_number_between_two_boards_hangs_on_the_board() -> None:
    """Both are different, and a board between them would be near it."""
    run = open_results(claimtables.PAGES / "thesis-2007-ram.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    (low,) = (r for r in found.rows if r.claim.id == "ram-files-jffs2")
    assert [n.number_side for n in low.numbers] == ["below"]
    high = replace(low, numbers=tuple(replace(n, number_side="above") for n in low.numbers))
    (apart,) = make_corner_sheet("t", [CornerRun("a", [low]), CornerRun("b", [high])]).rows
    assert apart[-1].startswith("hangs on it")
    (alike,) = make_corner_sheet("t", [CornerRun("a", [low]), CornerRun("b", [low])]).rows
    assert alike[-1] == ""
    assert apart[1:3] == (alike[1], alike[1])


def test_corners_are_judged_by_the_readings_that_all_have() -> None:
    run = open_results(claimtables.PAGES / "ffsmark-2015.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    (row,) = (r for r in found.rows if r.claim.id == "writeback-on-wear")
    turning = next(o for o in row.other_readings if o.verdict == "different")
    fewer = replace(row, other_readings=tuple(o for o in row.other_readings if o is not turning))
    alone = replace(row, other_readings=())
    corners = [CornerRun("a", [row]), CornerRun("b", [alone])]
    (cells,) = make_corner_sheet("t", corners).rows
    begin = f"{alone.verdict} ("
    assert cells[1].startswith(begin) and cells[2].startswith(begin)
    assert cells[-1] == ""
    assert turning.basis.id in format_unjudged_readings(corners)
    corners = [CornerRun("a", [row]), CornerRun("b", [fewer])]
    assert format_unjudged_readings(corners).endswith(f": {turning.basis.id}.")
    assert format_unjudged_readings([CornerRun("a", [row]), CornerRun("b", [row])]) == ""


def test_readings_that_a_corner_lacks_are_named_once() -> None:
    run = open_results(claimtables.PAGES / "ffsmark-2015.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    alone = [replace(r, other_readings=()) for r in found.rows]
    corners = [CornerRun("a", found.rows), CornerRun("b", alone)]
    lacking = {
        o.basis.id
        for r in found.rows
        for o in r.other_readings
        if o.verdict not in ("not measured", "not comparable")
    }
    sentence = format_unjudged_readings(corners)
    assert sentence.endswith(f": {', '.join(sorted(lacking))}.")
    cells = {row[-1] for row in make_corner_sheet("t", corners).rows}
    assert not any(reading in cell for reading in lacking for cell in cells)


def _keep_member(run: Any, seed: int) -> Any:
    """The run as if only this seed had been run."""
    kept = [t for t in run.trials() if t.seed == seed]
    return SimpleNamespace(head=run.head, trials=lambda: iter(kept))


def test_corners_are_judged_by_the_members_that_all_have() -> None:
    """Three members decide what one leaves open, on the same board."""
    run = open_results(claimtables.PAGES / "read-model-2014.figures.json.xz")
    one = _keep_member(run, 1)
    table = render_corners([run, one], "csv").splitlines()
    half = len(table) // 2
    assert table[1 : 1 + half] == table[1 + half :]
    assert "Judged by the 1 of 3 members" in render_corners([run, one], "text")
    assert "Judged by" not in render_corners([run, run], "text")
    with pytest.raises(UsageError, match="no member in common"):
        render_corners([_keep_member(run, 2), one], "text")


def test_runs_on_several_boards_are_of_one_paper() -> None:
    names = ("read-model-2014", "thesis-2007-ram", "quickstart")
    reads, thesis, bare = (
        open_results(claimtables.PAGES / f"{name}.figures.json.xz") for name in names
    )
    for runs in ([reads, thesis], [bare], [reads, bare]):
        with pytest.raises(UsageError, match="name one and the same paper"):
            render_corners(runs, "text")
    told = render_corners([reads, reads], "csv").splitlines()
    assert told[1].startswith('"omap3evm, 17')
    assert len(told) == 1 + 2 * (len(render_paper_claims([reads], "csv").splitlines()) - 1)


def test_runs_of_one_board_are_judged_together() -> None:
    """As of a run with the trials of all; a run of another board is a corner."""
    names = ("fs-benchmarking-2012-s1", "fs-benchmarking-2012-s2", "read-model-2014")
    first, second, reads = (
        open_results(claimtables.PAGES / f"{name}.figures.json.xz") for name in names
    )
    alone = [render_paper_claims([run], "csv").splitlines() for run in (first, second)]
    both = render_paper_claims([first, second], "csv").splitlines()
    assert sorted(both[1:]) == sorted([*alone[0][1:], *alone[1][1:]])
    head = first.head()
    faster = {**head.provenance, "board": {"name": "faster"}}
    run = head.model_copy(update={"provenance": faster})
    other = cast(Any, SimpleNamespace(head=lambda: run))
    with pytest.raises(UsageError, match="--corner"):
        render_paper_claims([first, other], "csv")
    with pytest.raises(UsageError, match="one and the same paper"):
        render_paper_claims([reads, first], "csv")


def test_a_part_of_the_package_without_options_is_the_boards_own() -> None:
    """A board whose kernel has no NFTL has it of the package's source."""
    head = open_results(claimtables.PAGES / "thesis-2007-ram.figures.json.xz").head()
    source: dict[str, Any] = {"tree": "package", "options": {}, "patches": 0}
    for change, own in (({}, True), ({"patches": 1}, False), ({"tree": "folder"}, False)):
        told = {**head.provenance, "sources": {"nftl": {**source, **change}}}
        run = head.model_copy(update={"provenance": told})
        assert (_select_unnamed_sources(run, []) == {}) == own


def test_a_part_built_otherwise_is_joined_where_options_of_the_trials_name_it() -> None:
    published = open_results(claimtables.PAGES / "fs-benchmarking-2012-s2.figures.json.xz")
    head = published.head()
    source = {"tree": "package", "options": {"summary": False}, "patches": 0}

    def build(summary: str, **change: Any) -> Any:
        told = {**head.provenance, "sources": {"jffs2": {**source, **change}}}
        run = head.model_copy(update={"provenance": told})
        trials = [
            t.model_copy(update={"id": f"{t.id}-other", "options": {**t.options, **options}})
            for t in published.trials()
            if t.filesystem == "jffs2"
            for options in ({"summary": summary},)
        ]
        return SimpleNamespace(head=lambda: run, trials=lambda: iter(trials))

    joined = render_paper_claims([published, build("off")], "csv")
    reading = [line for line in joined.splitlines() if "summaries" in line]
    assert len(reading) >= 4
    for other in (build("default"), build("off", patches=1), build("off", tree="folder")):
        with pytest.raises(UsageError, match="--corner"):
            render_paper_claims([published, other], "csv")


def test_a_run_from_before_its_study_named_a_paper_has_the_one_of_today() -> None:
    head = open_results(claimtables.PAGES / "thesis-2007-parts.figures.json.xz").head()
    cases = [
        ("thesis-2007-parts", "", "thesis-2007"),
        ("thesis-2007-parts", "ffsmark-2015", "ffsmark-2015"),
        ("quickstart", "", ""),
        ("my-own", "", ""),
    ]
    for study, told, paper in cases:
        run = head.model_copy(update={"study": study, "spec": {**head.spec, "paper": told}})
        assert find_run_paper(run) == paper
    run = head.model_copy(update={"spec": {k: v for k, v in head.spec.items() if k != "paper"}})
    assert find_run_paper(run) == "thesis-2007"


@pytest.mark.parametrize(
    ("shift", "name"), [(2, "b, 4 ns"), (1 << 40, "b"), (-1, "b"), ("2", "b"), (None, "b")]
)
def test_a_foreign_runs_instruction_is_told_only_where_a_board_can_have_it(
    shift: object, name: str
) -> None:
    told = {"board": {"name": "b", "icount_shift": shift}}
    built = {
        "jffs2": {"tree": "package", "options": {"summary": False}},
        "ubi": "of no form",
        "ubifs": {"options": "neither"},
    }
    run = cast(Any, SimpleNamespace(provenance={**told, "sources": built}, spec={}))
    begins = "b, jffs2 of a source, summary = false, ubi of a source, ubifs of a source"
    assert _format_corner_name(run, []) == begins + name[1:]
    assert _format_corner_name(cast(Any, SimpleNamespace(provenance=told, spec={})), []) == name


def test_a_run_that_was_read_before_changes_no_figure() -> None:
    """Trials of older files have no hash of their workload: each still has its own words."""

    def find_phases(study: str) -> list[str]:
        trial = next(iter(open_results(Path(study)).trials()))
        return [p.name for p in find_declared_workload_words(trial).phases]

    assert find_phases("ffsmark-2015") != find_phases("thesis-2007-space")


def test_claims_on_a_partition_of_another_size_are_of_another_study() -> None:
    """Both studies have the load in sequence: one on a whole chip, one on an eighth of it."""
    found = {}
    for study in ("thesis-2007-gc", "thesis-2007-parts"):
        run = open_results(claimtables.PAGES / f"{study}.figures.json.xz")
        comparison = make_paper_comparison(run.head(), list(run.trials()))
        assert comparison is not None
        found[study] = {r.claim.id for r in comparison.rows}
    assert "gc-sequential-nftl-reads" in found["thesis-2007-gc"]
    assert "eighth-sequential-nftl-reads" in found["thesis-2007-parts"]
    assert not found["thesis-2007-gc"] & found["thesis-2007-parts"]


def test_a_report_has_the_readings_and_traces_of_its_own_claims() -> None:
    """The published mounts rest on two readings; their traces are of the other studies' claims."""
    run = open_results(claimtables.PAGES / "fs-benchmarking-2012-mounts.figures.json.xz")
    found = make_paper_comparison(run.head(), list(run.trials()))
    assert found is not None
    assert {b.id for b in found.bases} == {b for r in found.rows for b in r.claim.rests_on}
    assert {b.id for b in found.bases} == {"content", "first-mount"}
    assert found.causes == []
