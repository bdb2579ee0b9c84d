# SPDX-License-Identifier: GPL-2.0-or-later
"""A run beside the paper that its study repeats: every claim, and the paper's figures redrawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.analysis import claims, words
from nandlab.analysis.figures import find
from nandlab.analysis.groups import Ensemble
from nandlab.analysis.parts import chosen
from nandlab.analysis.words import Words
from nandlab.catalog.files import load
from nandlab.catalog.paper import Causes, Drawn, PaperModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.report import layout, specs, tables
from nandlab.report.causes import CauseTable, cause_table
from nandlab.report.charts import Chart
from nandlab.report.layout import Row
from nandlab.results.record import Run, Trial

ORDER: tuple[claims.Verdict, ...] = (
    "reproduced",
    "same direction",
    "different",
    "not decided",
    "not measured",
)


@dataclass(frozen=True)
class Beside:
    """All that the page shows of a paper."""

    paper: PaperModel
    rows: list[claims.Row]
    tally: str
    """How many claims had which verdict, in words."""
    elsewhere: str
    """How many claims are of workloads that the run has not, in a sentence; empty: none."""
    figures: list[tuple[Drawn, specs.Drawn]]
    causes: list[tuple[Causes, CauseTable]]


def beside(run: Run, trials: Sequence[Trial]) -> Beside | None:
    """None when the study names no paper."""
    name = run.spec.get("paper")
    if not name:
        return None
    paper = load("papers", name, PaperModel)
    rows = claims.rows(_of_run(paper, trials), trials, _words)
    counts = Counter(r.verdict for r in rows)
    tally = ", ".join(f"{counts[v]} {v}" for v in ORDER if counts[v])
    if all(n.ours is None or n.ours.n == 1 for r in rows for n in r.numbers):
        tally += "; each from one member, which decides nothing: run more"
    figures = []
    for drawn in paper.drawn:
        found = _redrawn(paper, drawn, trials, _words(paper.workload))
        if found is not None:
            figures.append((drawn, found))
    causes = [(shown, cause_table(paper.name, shown)) for shown in paper.causes]
    lost = len(paper.claims) - len(rows)
    elsewhere = f"Further {lost} are of other studies of this paper." if lost else ""
    return Beside(paper, rows, tally, elsewhere, figures, causes)


def _of_run(paper: PaperModel, trials: Sequence[Trial]) -> PaperModel:
    """The paper with the claims of the run's workloads; all, where it has none of them."""
    there = {t.workload for t in trials}
    of_run = [c for c in paper.claims if paper.load_of(c) in there]
    return paper.model_copy(update={"claims": of_run or paper.claims})


def _words(workload: str) -> Words:
    return words.said(load("workloads", workload, WorkloadModel))


def _redrawn(
    paper: PaperModel, drawn: Drawn, trials: Sequence[Trial], of: Words
) -> specs.Drawn | None:
    """The figure over the configurations that were measured; None when none was."""
    ensembles = [
        Ensemble(bar.label, bar.of.state, bar.of.state == "fresh", tuple(members))
        for bar in drawn.bars
        if (members := chosen(paper, bar.of, trials))
    ]
    if not ensembles:
        return None
    states = list(dict.fromkeys(e.state for e in ensembles))
    rows = [
        Row(
            f"r{i}",
            e,
            layout.colour_of(e.first.filesystem),
            1.0 if e.state != states[0] else 0.08,
        )
        for i, e in enumerate(ensembles)
    ]
    figures = {p.title: find(p.figure, of) for p in drawn.panels}
    panels = [specs.panel(rows, f, title=title) for title, f in figures.items()]
    wide, narrow, data = layout.panels_chart(rows, panels)
    caption = f"{drawn.title}, from this run. {specs.RANGE}"
    chart = Chart(f"paper-{drawn.id}", drawn.title, caption, data, wide, narrow)
    columns = [tables.figure(f, title) for title, f in figures.items()]
    return specs.Drawn(chart, tables.table(ensembles, columns))
