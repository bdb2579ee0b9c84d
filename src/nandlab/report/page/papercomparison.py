# SPDX-License-Identifier: GPL-2.0-or-later
"""A run beside the paper that its study repeats: every claim, and the paper's figures redrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nandlab.analysis.claims import claims
from nandlab.analysis.claims.claimparts import select_ended_trials_in_selector
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.groups import Ensemble
from nandlab.analysis.figures.workloadwords import Words
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.paths import STUDIES
from nandlab.catalog.chip import MIB
from nandlab.catalog.claimbounds import LINEAR_DOUBT, TREND_BOUNDS
from nandlab.catalog.files import load_noun
from nandlab.catalog.paper import (
    Bar,
    Claim,
    ClaimBasis,
    PaperModel,
    RedrawnFigure,
    TraceComparison,
    replace_phase_patterns,
)
from nandlab.catalog.part import PACKAGE
from nandlab.catalog.workload import WorkloadModel
from nandlab.report.charts import figurecharts, layout
from nandlab.report.charts.charts import Chart
from nandlab.report.charts.layout import ChartRow
from nandlab.report.page.papercauses import CauseTable, make_paper_cause_table
from nandlab.report.tables import claimtable, tables
from nandlab.report.tables.sheets import render_sheets
from nandlab.results.folder import Results
from nandlab.results.record import Run, Trial

Item = TypeVar("Item", ClaimBasis, TraceComparison)
LINE_RULES_NOTE = (
    "Of a line over many configurations, each member's by least squares: it is linear from R² = "
    f"{1 - TREND_BOUNDS['linear']:g} on, and not below {1 - LINEAR_DOUBT:g}; it grows, or does not "
    "depend, where it rises over its range by more than a tenth of the mean, or by a tenth at most "
    "to either side. A line says so from three configurations on."
)
SHIFT_MAX = 10
"""Of a board's icount_shift; a run from elsewhere may have any number there."""


@dataclass(frozen=True)
class PaperComparison:
    """All that the page shows of a paper."""

    paper: PaperModel
    bases: list[ClaimBasis]
    """What it leaves to interpretation, but for what only claims of its other studies rest on."""
    rows: list[claims.ClaimResult]
    tally: str
    """How many claims had which verdict, in words."""
    elsewhere: str
    """How many claims are of workloads that the run has not, in a sentence; empty: none."""
    figures: list[tuple[RedrawnFigure, figurecharts.ChartWithTable | None]]
    """Redrawn as bars; None: the study's curves redraw it."""
    causes: list[tuple[TraceComparison, CauseTable]]
    rules: list[tuple[str, str]]
    """The verdicts that it has, and when each is given."""
    along: str = ""
    """The rules of parts along something; empty: no claim has one."""


def make_paper_comparison(
    run: Run,
    trials: Sequence[Trial],
    other_boards: Mapping[str, Sequence[Trial]] = claims.NO_OTHER_BOARDS,
) -> PaperComparison | None:
    """None when the study names no paper; other_boards: trials on boards that its bases name."""
    name = find_run_paper(run)
    if not name:
        return None
    paper = load_noun("papers", name, PaperModel)
    rows = claims.list_paper_claim_results(
        _select_claims_of_run(paper, trials), trials, _load_workload_words, other_boards
    )
    curves = {c["name"] for c in run.spec.get("curves") or []}
    figures = []
    for drawn in paper.drawn:
        found = _redraw_paper_figure(paper, drawn, trials)
        there = [name for name in drawn.curves if name in curves]
        if found is not None or there:
            figures.append((drawn.model_copy(update={"curves": there}), found))
    causes = [
        (shown, make_paper_cause_table(paper.name, shown))
        for shown in _select_used(paper.causes, paper, rows, lambda claim: [claim.shown])
    ]
    lost = len(paper.claims) - len(rows)
    elsewhere = f"Further {lost} are of other studies of this paper." if lost else ""
    rules = claimtable.list_verdict_rules([r.verdict for r in rows])
    along = LINE_RULES_NOTE if any(p.along for r in rows for p in r.claim.parts) else ""
    return PaperComparison(
        paper,
        _select_used(paper.bases, paper, rows, lambda claim: claim.rests_on),
        rows,
        claimtable.format_claim_tally(rows),
        elsewhere,
        figures,
        causes,
        rules,
        along,
    )


def find_run_paper(run: Run) -> str:
    """The paper that the run's study names; empty: none.

    A run of a shipped study from before that named its paper has the one that it names today.
    """
    shipped = STUDIES / f"{run.study}.toml"
    today = {} if run.spec.get("paper") or not shipped.is_file() else read_toml(shipped)
    return str(run.spec.get("paper") or today.get("paper") or "")


def _select_used(
    items: Sequence[Item],
    paper: PaperModel,
    rows: Sequence[claims.ClaimResult],
    list_ids: Callable[[Claim], Iterable[str]],
) -> list[Item]:
    """The items of a paper but for those that only claims of its other studies use."""
    of_all = {id_ for claim in paper.claims for id_ in list_ids(claim)}
    of_run = {id_ for row in rows for id_ in list_ids(row.claim)}
    return [item for item in items if item.id not in of_all - of_run]


def render_paper_claims(folders: Sequence[Results], form: str) -> str:
    """The claims of the paper that the runs' studies name, and their verdicts.

    The trials of all runs are judged together, so a reading may be of one run and another reading
    of another. UsageError where a study names no paper or another than the first, or where a run
    is of another board that is no reading of the paper, or of other sources than its trials'
    options name.
    """
    _refuse_other_papers(folders)
    head = folders[0].head()
    boards = [_find_other_board(head, f.head()) for f in folders]
    by_run = [(f.head(), [t for t in f.trials() if t.ok]) for f in folders]
    unnamed = [_select_unnamed_sources(run, trials) for run, trials in by_run]
    if any(sources != unnamed[0] for sources in unnamed):
        raise UsageError(
            "the runs' boards have parts of the kernel from several sources: set them side by side "
            "by --corner RUN"
        )
    trials_by_board: dict[str, list[Trial]] = {}
    for board, (_, run_trials) in zip(boards, by_run, strict=True):
        trials_by_board.setdefault(board, []).extend(run_trials)
    trials = list({t.id: t for t in trials_by_board.pop("")}.values())
    comparison = make_paper_comparison(head, trials, trials_by_board)
    assert comparison is not None
    lead = [f"Of {len(comparison.rows)} claims: {comparison.tally}.", comparison.elsewhere]
    return render_sheets(
        form,
        [claimtable.make_claim_sheet(f"Claims of {comparison.paper.name}", comparison.rows)],
        [*filter(None, lead)],
        claimtable.ClaimRecord,
        claimtable.list_claim_records(comparison.rows),
    )


def render_corners(folders: Sequence[Results], form: str) -> str:
    """Which verdicts hang on the board: runs of one study on several boards, side by side.

    They are judged by the members that all runs have: more members decide more, on any board.
    UsageError where a run's study names no paper, or another one than the first, or where the runs
    have no member in common.
    """
    _refuse_other_papers(folders)
    trials_by_run = [[t for t in folder.trials() if t.ok] for folder in folders]
    members = [{t.member for t in trials} for trials in trials_by_run]
    shared = members[0].intersection(*members[1:])
    if not shared:
        raise UsageError("the runs have no member in common: run each with the same seeds")
    runs = []
    for folder, trials in zip(folders, trials_by_run, strict=True):
        alike = [t for t in trials if t.member in shared]
        comparison = make_paper_comparison(folder.head(), alike)
        assert comparison is not None
        name = _format_corner_name(folder.head(), alike)
        runs.append(claimtable.CornerRun(name, comparison.rows))
    paper = find_run_paper(folders[0].head())
    sheet = claimtable.make_corner_sheet(f"Claims of {paper} on several boards", runs)
    records = claimtable.list_corner_records(runs)
    lead = [
        _format_left_out_members(max(map(len, members)), len(shared)),
        claimtable.format_unjudged_readings(runs),
    ]
    return render_sheets(form, [sheet], [*filter(None, lead)], claimtable.CornerRecord, records)


def _format_left_out_members(most: int, shared: int) -> str:
    """How many members are judged, where a run has more of them; empty: none has."""
    return f"Judged by the {shared} of {most} members that all runs have." if shared < most else ""


def _find_other_board(home: Run, run: Run) -> str:
    """The run's board, which a basis of the paper names; empty: the board of the first run.

    UsageError where it is of another board that no basis names.
    """
    if _is_same_board(home, run):
        return ""
    paper = load_noun("papers", find_run_paper(home), PaperModel)
    board = _find_board_name(run)
    if board not in {basis.board for basis in paper.bases}:
        raise UsageError("the runs are of several boards: set them side by side by --corner RUN")
    return board


def _find_board_name(run: Run) -> str:
    """The catalog's name of the run's board."""
    board = run.provenance.get("board")
    source = board if isinstance(board, dict) else {}
    return str(source.get("name") or run.spec.get("board") or "board")


def _is_same_board(a: Run, b: Run) -> bool:
    """Whether the runs agree in all that both tell of their boards; a default need not be told."""
    boards = [run.provenance.get("board") for run in (a, b)]
    first, second = (board if isinstance(board, dict) else {} for board in boards)
    both = first.keys() & second.keys()
    return all(first[key] == second[key] for key in both) and bool(both)


def _select_unnamed_sources(run: Run, trials: Sequence[Trial]) -> dict[str, object]:
    """The other sources of the run's board, by part, less those that its trials name."""
    sources = run.provenance.get("sources")
    parts = sources.items() if isinstance(sources, dict) else ()
    return {part: source for part, source in parts if not _is_named_source(part, source, trials)}


def _is_named_source(part: str, source: object, trials: Sequence[Trial]) -> bool:
    """Whether it differs from the board's own by nothing but options of a file system that each
    trial of that names, as jffs2=package,summary=false does by summary = off. A board that has no
    such part of its own, as apf27-arm has no NFTL, has it of the same package."""
    if not isinstance(source, dict) or source.get("tree") != PACKAGE or source.get("patches"):
        return False
    if not source.get("options"):
        return True
    users = [t for t in trials if part in t.find_source("filesystem").get("modules", ())]
    return bool(users) and all(
        t.options.get(option, default) != default
        for t in users
        for option in source.get("options", {})
        for default in (t.find_source("filesystem")["options"].get(option, {}).get("default"),)
    )


def _refuse_other_papers(folders: Sequence[Results]) -> None:
    names = [find_run_paper(f.head()) for f in folders]
    if not names[0] or len(set(names)) > 1:
        told = ", ".join(n or "none" for n in names)
        raise UsageError(
            f"the runs' studies must name one and the same paper; theirs are: {told}; a study of "
            'your own sets paper = "NAME", a file of catalog/papers'
        )


def _format_corner_name(run: Run, trials: Sequence[Trial]) -> str:
    """The board, what of it was built otherwise, what of its RAM is available as a trial begins,
    and its instruction.
    """
    board = run.provenance.get("board")
    board_source = board if isinstance(board, dict) else {}
    name = _find_board_name(run)
    sources = run.provenance.get("sources")
    for part, source in sources.items() if isinstance(sources, dict) else ():
        options = source.get("options") if isinstance(source, dict) else None
        name += f", {part} of a source" + "".join(
            f", {option} = {value}".lower()
            for option, value in (options.items() if isinstance(options, dict) else ())
        )
    available = sorted(t.available for t in trials if t.available is not None)
    ram = f", {available[len(available) // 2] / MIB:.0f} MiB available" if available else ""
    shift = board_source.get("icount_shift")
    if isinstance(shift, int) and 0 <= shift <= SHIFT_MAX:
        return f"{name}{ram}, {1 << shift} ns"
    return f"{name}{ram}"


def _select_claims_of_run(paper: PaperModel, trials: Sequence[Trial]) -> PaperModel:
    """The paper with the claims of the run's workloads and chips; all, where it has none of them.

    A claim on another chip, or on a partition of another size, is of another study, though it is of
    the same workload.
    """
    workloads = {t.workload for t in trials}
    chips = {(t.chip.part, size) for t in trials for size in (t.chip.partition_mib, None)}
    of_run = [
        claim
        for claim in paper.claims
        if paper.find_workload(claim) in workloads
        and any(
            (selector.chip or paper.part, selector.partition_mib) in chips
            for part in claim.parts
            for selector in (part.of, part.over)
            if selector is not None
        )
    ]
    return paper.model_copy(update={"claims": of_run or paper.claims})


def _load_workload_words(workload: str) -> Words:
    return workloadwords.make_words_from_declaration(
        load_noun("workloads", workload, WorkloadModel)
    )


def _redraw_paper_figure(
    paper: PaperModel, redrawn_figure: RedrawnFigure, trials: Sequence[Trial]
) -> figurecharts.ChartWithTable | None:
    """The figure over the configurations that were measured; None when none was."""
    workload = redrawn_figure.workload or paper.workload
    workload_trials = [t for t in trials if t.workload == workload]
    ensembles = [
        Ensemble(bar.label, bar.of.state, bar.of.state == "fresh", tuple(members))
        for bar in redrawn_figure.bars
        if (
            members := [
                _rename_bar_phases(bar, t)
                for t in select_ended_trials_in_selector(paper, bar.of, workload_trials)
            ]
        )
    ]
    if not ensembles:
        return None
    states = list(dict.fromkeys(e.state for e in ensembles))
    rows = [
        ChartRow(
            f"r{i}",
            e,
            layout.choose_filesystem_colour(e.first.filesystem),
            1.0 if e.state != states[0] else 0.08,
        )
        for i, e in enumerate(ensembles)
    ]
    words = _load_workload_words(workload)
    figures = {p.title: find_workload_figure(p.figure, words) for p in redrawn_figure.panels}
    panels = [figurecharts.make_figure_panel(rows, f, title=title) for title, f in figures.items()]
    wide, narrow, data = layout.make_panels_specs(rows, panels)
    caption = f"{redrawn_figure.title}, from this run. {figurecharts.RANGE_NOTE}"
    chart = Chart(f"paper-{redrawn_figure.id}", redrawn_figure.title, caption, data, wide, narrow)
    columns = [tables.make_figure_column(f, title) for title, f in figures.items()]
    return figurecharts.ChartWithTable(chart, tables.make_ensemble_table(ensembles, columns))


def _rename_bar_phases(bar: Bar, trial: Trial) -> Trial:
    """The trial with the bar's phases in place of those that the panels name."""
    if not bar.phases:
        return trial
    own = {p.name: p for p in trial.phases}
    pairs = ((name, own.get(replace_phase_patterns(name, bar.phases))) for name in own)
    named = [p.model_copy(update={"name": name}) for name, p in pairs if p is not None]
    return trial.model_copy(update={"phases": named})
