# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's figures, redrawn from made-up trials of the 2012 study's scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import samples

from nandlab import report
from nandlab.analysis.figures import figures, workloadwords
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.paper import PaperModel, RedrawnFigure
from nandlab.catalog.workload import WorkloadModel
from nandlab.report.page.papercomparison import PaperComparison, make_paper_comparison
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase

MS = 1_000_000
CHIP = samples.CHIP.model_copy(update={"part": "apf27"})
S1 = {"depth": 5, "by": "busybox", "sync": False, "compressibility": "0", "settle": "never"}
S2 = {"depth": 5, "by": "busybox", "sync": False, "compressibility": "0"}
S2 |= {"rest": False, "files": "64"}
CURVE = {"name": "find", "title": "Find", "x": "own.tree_files", "y": "phase.find"}


def trial(workload: str, parameters: dict[str, Any], seed: int, **ms: int) -> Trial:
    made = samples.trial(
        "jffs2", seed=seed, options={"compression": "none"}, chip=CHIP, parameters=parameters
    )
    phases = [Phase(name=name, ns=n * MS) for name, n in ms.items()]
    return made.model_copy(update={"workload": workload, "phases": phases})


def shown(folder: Path, trials: list[Trial], **spec: Any) -> PaperComparison:
    run = samples.folder(folder, trials, spec={"paper": "fs-benchmarking-2012", **spec})
    found = make_paper_comparison(run.head(), trials)
    assert found is not None
    return found


def test_a_bar_of_other_phases_stands_beside_that_of_the_panels(tmp_path: Path) -> None:
    """The paper's None(1) and None(2): two rounds of one trial."""
    times = {"first_mount": 40, "second_mount": 10, "first_unmount": 7, "second_unmount": 3}
    trials = [trial("fs-benchmarking-2012-s1", S1, seed, **times) for seed in (1, 2)]
    drawn = {d.id: found for d, found in shown(tmp_path / "r", trials).figures}
    found = drawn["figure-4"]
    assert found is not None
    rows = {r.subject: [c.middle.text for c in r.cells] for r in found.table.rows}
    assert rows == {"JFFS2 (1)": ["40 ms", "7 ms"], "JFFS2 (2)": ["10 ms", "3 ms"]}
    assert "figure-5" not in drawn, "this run has no curves"


def test_a_figure_that_curves_redraw_names_them_in_the_page(tmp_path: Path) -> None:
    trials = [trial("fs-benchmarking-2012-s2", S2, seed, find=500) for seed in (1, 2)]
    trials = [t.model_copy(update={"figures": {"tree_files": 1984}}) for t in trials]
    assert [d.id for d, _ in shown(tmp_path / "a", trials, curves=[CURVE]).figures] == ["figure-5"]
    run = samples.folder(
        tmp_path / "b", trials, spec={"paper": "fs-benchmarking-2012", "curves": [CURVE]}
    )
    page = report.write_run_report(run).read_text()
    assert '<a href="#curve-find">find</a>' in page
    assert '<a href="#curve-mount">' not in page, "a curve that the run has not"
    assert "Of a line over many configurations" in page


def test_a_figure_is_drawn_one_way() -> None:
    both = {"id": "f", "title": "t", "said": [], "curves": ["a"], "panels": [], "bars": []}
    assert RedrawnFigure.model_validate(both).curves == ["a"]
    panel = {"title": "t", "figure": "time"}
    bar = {"label": "l", "of": {"filesystem": "jffs2", "state": "fresh"}}
    wrongs: list[dict[str, Any]] = [
        {"curves": []},
        {"panels": [panel]},
        {"panels": [panel], "bars": [bar]},
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="panels of bars, or as curves"):
            RedrawnFigure.model_validate(both | wrong)


@pytest.mark.parametrize("name", list_noun_names("papers"))
def test_every_figure_that_a_paper_names_can_be_had(name: str) -> None:
    paper = load_noun("papers", name, PaperModel)

    def lacking(workload: str, asked: list[str]) -> list[str]:
        of = workloadwords.make_words_from_declaration(
            load_noun("workloads", workload, WorkloadModel)
        )
        if of.view == "points":  # its phases are what the study asks for
            return []
        return [
            why
            for f in asked
            if "{" not in f and (why := figures.explain_unavailable_figure(f, of))
        ]

    for claim in paper.claims:
        asked = [f for p in claim.parts for f in (p.figure, p.over_figure) if f]
        asked += [p.along.by for p in claim.parts if p.along and p.along.by.startswith("own.")]
        asked += [f"phase.{claim.phase}"] if claim.phase else []
        assert lacking(paper.find_workload(claim), asked) == [], claim.id
    for drawn in paper.drawn:
        panels = [p.figure for p in drawn.panels]
        assert lacking(drawn.workload or paper.workload, panels) == [], drawn.id
