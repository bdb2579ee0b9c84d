# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of papers have one set of verdicts, and the tables that the report prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import claimtables
import pytest

from nandlab.analysis.claims.claimrules import CLAIM_VERDICTS, VERDICT_RULES
from nandlab.base.paths import ROOT
from nandlab.catalog.files import list_noun_names
from nandlab.report.page.papercomparison import render_paper_claims
from nandlab.trial.publishedrun import open_results

BLOCKS = {
    (page.stem, study): table
    for page in sorted(claimtables.PAGES.glob("*.md"))
    for study, table in claimtables.list_page_blocks(page)
}
OTHER_WORDS = re.compile(r"^\**near|depends on|by one way|not scored|not tested|reproduces\b")
"""What pages once called verdicts."""


def verdict_cells(page: str) -> Iterator[str]:
    """The cells below the head *verdict* of a page's tables of its own."""
    text = claimtables.BLOCK.sub("", (claimtables.PAGES / f"{page}.md").read_text())
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
        "python tests/claimtables.py writes it anew"
    )


def test_every_paper_has_a_page_with_such_a_table() -> None:
    assert {page for page, _ in BLOCKS} == set(list_noun_names("papers"))


@pytest.mark.parametrize("page", list_noun_names("papers"))
def test_a_page_s_own_tables_have_no_other_verdicts(page: str) -> None:
    cells = list(verdict_cells(page))
    assert len(cells) >= 19
    wrong = [c for c in cells if not any(v in c for v in (*CLAIM_VERDICTS, "shorter by"))]
    assert wrong == []
    assert [c for c in cells if OTHER_WORDS.search(c)] == []


def test_the_rules_stand_in_the_docs() -> None:
    text = (ROOT / "docs" / "papers.md").read_text()
    rows = [f"| {verdict} | {rule} |" for verdict, rule in VERDICT_RULES.items()]
    assert "\n".join(rows) in text


def test_claims_are_records_for_programs_too() -> None:
    run = open_results(claimtables.PAGES / "read-model-2014.figures.json.xz")
    lines = render_paper_claims(run, "csv").splitlines()
    assert lines[0] == "claim,reading,verdict,number,paper,n,min,median,max"
    pauses = [line for line in lines if line.startswith("inter-arrival,first,reproduced,")]
    assert len(pauses) == 2
    assert all(0.99 < float(line.split(",")[-2]) < 1.01 for line in pauses)
    assert any(line.startswith("times,half-updated,different,") for line in lines)
