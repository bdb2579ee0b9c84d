# SPDX-License-Identifier: GPL-2.0-or-later
"""The page: one HTML file that opens from a disk without a network, and the charts beside it.

The same run gives the same bytes: no date, no name of the machine that wrote the report.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from nandlab import __version__
from nandlab.analysis.differences.compare import format_source_runs_of_trials
from nandlab.analysis.figures import groups
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.verdicts import (
    answers,
    caveats,
    modelbias,
    promises,
    verdict,
    verdictmaker,
)
from nandlab.analysis.verdicts.battery import Battery, format_battery_sentences
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.base.digest import digest_json_value
from nandlab.base.files import encode_page, write_files_together
from nandlab.base.paths import REPORT_TEMPLATES, RESULTS
from nandlab.base.ulimits import refuse_drawing_below_limits
from nandlab.report.charts import charts, curvecharts, layout, powercuts, verdictchart
from nandlab.report.charts.charts import Chart
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.page import viewreports
from nandlab.report.page.papercomparison import PaperComparison, make_paper_comparison
from nandlab.report.tables import steptable, tables
from nandlab.report.tables.verdicttext import (
    format_marked_verdict_cell,
    format_possible_change_lines,
    format_verdict_gap_lines,
    format_verdict_legend,
)
from nandlab.results.folder import Results, RunFolder
from nandlab.results.record import WARNINGS, Trial

UNFOLDED_SETTINGS_MAX = 4
"""With more settings, the page folds what is not the first sentence of each."""
INLINE_MAX = 40
"""Charts that the page itself has, for readers without scripts; of more the files beside it."""
LINKS_MAX = 24
"""How many trials a row of a table links to; the list of all trials has the others."""
ID_LETTERS_SHOWN = 14
"""How many letters of a trial's id the page shows; its link and title have all."""


@dataclass(frozen=True)
class SettingSection:
    """All that the page shows of one setting."""

    setting: Setting
    answers: list[answers.StateAnswer]
    unreached_topics: str
    """Topics that no load was long enough for, and why, once."""
    incomplete: list[str]
    overview: tables.ReportTable
    figures: list[ChartWithTable]
    flattered: tables.ReportTable
    """What the model leaves out."""
    options: list[str]
    assumed: list[tuple[str, str]]
    steps: tables.ReportTable | None
    """Of a list of steps, each with what the chip did."""
    texts: list[steptable.StepText]
    lasting: list[str]
    """How long a battery lasts, if that was asked."""


@dataclass(frozen=True)
class PageHead:
    """What stands first on the page, and the charts of the campaigns beside the run."""

    verdicts: list[Verdict]
    chart: Chart | None
    cut: list[Chart]
    trials_path: str | None
    """Where the page finds the trials' files; None: there are none."""

    def charted(self, others: Sequence[Chart]) -> list[Chart]:
        """Every chart of the page, in its order."""
        return [*([self.chart] if self.chart else []), *others, *self.cut]


def write_report_page_and_charts(
    run_folder: Results, out: Path | None = None, battery: Battery | None = None
) -> Path:
    """Writes page and charts; the old report stays until all of it is written. Returns its path."""
    refuse_drawing_below_limits()
    finished = list(run_folder.trials())
    sections = [_make_section(s, battery) for s in groups.group_trials_into_settings(finished)]
    lines = curvecharts.render_study_curves(run_folder.head().spec, finished)
    paper = make_paper_comparison(run_folder.head(), finished)
    folder = out or find_report_folder(run_folder)
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = verdictmaker.make_run_verdicts_from_trials(
        run_folder.head().spec, finished, run_folder.naming()
    )
    cut_charts, trials_path = (
        powercuts.render_run_campaign_charts(run_folder.path),
        _find_trials_path(run_folder, folder),
    )
    head = PageHead(verdicts, verdictchart.render_verdict_chart(verdicts), cut_charts, trials_path)
    page = folder / "index.html"
    text = _render_page(run_folder, finished, lines, sections, paper, head)
    write_files_together(
        _list_report_files(page, text, head.charted(_list_charts(lines, sections, paper)))
    )
    return page


def find_report_folder(run_folder: Results) -> Path:
    """Where a report goes: into the run's folder; of a figures file, below results."""
    if isinstance(run_folder, RunFolder):
        return run_folder.path / "report"
    return RESULTS / "published" / run_folder.head().study / "report"


def _find_trials_path(run_folder: Results, folder: Path) -> str | None:
    """Where the page finds the trials' files; None: there are none."""
    if not isinstance(run_folder, RunFolder):
        return None
    return Path(os.path.relpath(run_folder.path / "trials", folder)).as_posix()


def _list_report_files(
    page: Path, text: str, charted: Sequence[Chart]
) -> Iterator[tuple[Path, bytes]]:
    """The page and each chart in both forms, drawn as they are asked for."""
    yield page, encode_page(text)
    for chart in charted:
        svg = chart.svg()
        yield page.with_name(f"{chart.name}.svg"), encode_page(svg)
        yield page.with_name(f"{chart.name}.png"), charts.convert_svg_to_png(svg)


def _make_section(setting: Setting, battery: Battery | None) -> SettingSection:
    state_answers, not_reached = _split_not_reached(find_setting_view(setting).answers(setting))
    return SettingSection(
        setting,
        state_answers,
        not_reached,
        caveats.list_incomplete_configurations(setting),
        viewreports.render_setting_overview(setting),
        viewreports.render_view_charts(setting),
        tables.make_ensemble_table(
            setting.ensembles,
            [tables.make_figure_column(f) for f in modelbias.list_model_bias_figures(setting)],
        ),
        _list_shared_options(setting),
        caveats.list_setting_assumed_chip_figures(setting),
        steptable.render_file_steps_table(setting),
        steptable.list_step_outputs(setting),
        format_battery_sentences(setting, battery) if battery else [],
    )


def _split_not_reached(
    state_answers: Sequence[answers.StateAnswer],
) -> tuple[list[answers.StateAnswer], str]:
    """The answers without those that only say that a load was too short, and that in a line."""
    short_findings = [
        f for a in state_answers for f in a.findings if f.text.startswith(answers.NOT_REACHED_LEAD)
    ]
    reached_answers = [
        replace(a, findings=tuple(f for f in a.findings if f not in short_findings))
        for a in state_answers
    ]
    topics = ", ".join(dict.fromkeys(f.topic.lower() for f in short_findings))
    return (
        reached_answers,
        f"{topics.capitalize()}: {short_findings[0].text}" if short_findings else "",
    )


def _list_shared_options(setting: Setting) -> list[str]:
    """Each file system with the options that all its configurations here share."""
    lines = []
    titles = {e.first.filesystem: e.first.filesystem_title for e in setting.ensembles}
    for name, title in titles.items():
        sets = [
            set(e.first.options.items()) for e in setting.ensembles if e.first.filesystem == name
        ]
        shared = sorted(set.intersection(*sets))
        if shared:
            lines.append(f"{title}: {', '.join(f'{k}={v}' for k, v in shared)}")
    return lines


def _list_charts(
    lines: list[curvecharts.StudyCurve],
    sections: list[SettingSection],
    paper: PaperComparison | None,
) -> list[Chart]:
    """Every chart of the page."""
    redrawn = [found.chart for _, found in paper.figures if found] if paper else []
    own = [a.drawing.chart for a in lines if a.drawing]
    return [*own, *redrawn, *(d.chart for s in sections for d in s.figures)]


def _render_page(
    run_folder: Results,
    trials: list[Trial],
    lines: list[curvecharts.StudyCurve],
    sections: list[SettingSection],
    paper: PaperComparison | None,
    head: PageHead,
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pretty"] = lambda v: json.dumps(v, indent=2, ensure_ascii=False)
    run, missing = run_folder.head(), run_folder.missing()
    drawn = head.charted(_list_charts(lines, sections, paper))
    inlined = {chart.name for chart in drawn[:INLINE_MAX]}
    return environment.get_template("report.html.j2").render(
        run=run,
        version=__version__,
        caveats=[*caveats.list_caveats(run, trials, missing), *run_folder.notes],
        curves=lines,
        sections=sections,
        paper=paper,
        available=caveats.format_available_ram(trials),
        promised=promises.list_filesystem_promise_lines(trials, run_folder.naming()),
        naming=run_folder.naming(),
        limit_example=_make_limit_example(sections),
        cut=head.cut,
        verdicts=head.verdicts,
        answer=verdict.format_run_answer(head.verdicts),
        gaps=format_verdict_gap_lines(head.verdicts),
        first_writes=verdict.list_first_write_lines(head.verdicts),
        first=head.chart,
        marked=format_marked_verdict_cell,
        change_lines=format_possible_change_lines,
        legend=format_verdict_legend(head.verdicts),
        column_notes=verdict.list_criterion_notes(head.verdicts),
        inline=lambda chart: _inline_chart(chart) if chart.name in inlined else "",
        singles=caveats.count_single_trial_configurations(trials),
        missing=missing,
        taken=format_source_runs_of_trials(trials),
        finished=len(trials),
        trials=trials,
        bad=[t for t in trials if not t.ok],
        doubts=_group_doubts(trials),
        provenance=list_board_identity_facts(run.provenance),
        trials_path=head.trials_path,
        id_shown=ID_LETTERS_SHOWN,
        links_max=LINKS_MAX,
        range_note=tables.RANGE_NOTE,
        wide=layout.WIDE,
        many=UNFOLDED_SETTINGS_MAX,
        chart_data=encode_script_json(
            {c.name: {"wide": c.wide, "narrow": c.narrow, "datasets": c.datasets} for c in drawn}
        ),
        bundle=charts.make_vega_script_bundle().replace("</script", "<\\/script") if drawn else "",
    )


def _make_limit_example(sections: Sequence[SettingSection]) -> str:
    """A limit to try, on what the run's own loads do."""
    names = [s.setting.headline.name for s in sections]
    latencies = [name.removeprefix("latency.") for name in names if name.startswith("latency.")]
    return f"{latencies[0]} < 20ms" if latencies else "step.mount < 1s"


def _inline_chart(chart: Chart) -> Markup:
    """Both forms of a chart, of which the page shows the one that fits."""
    forms = ((form, chart.inline(narrow=form == "narrow")) for form in ("wide", "narrow"))
    return Markup("".join(f'<div class="{form}">{svg}</div>' for form, svg in forms))


def _group_doubts(trials: list[Trial]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Code, advice, and the trials (id, what was seen) of each doubt that any trial carries."""
    by_code: dict[str, list[tuple[str, str]]] = {}
    for trial in trials:
        for doubt in trial.warnings:
            by_code.setdefault(doubt.code, []).append((trial.id, doubt.text))
    return [(code, WARNINGS.get(code, ""), seen) for code, seen in sorted(by_code.items())]


def list_board_identity_facts(identity: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A row for each value of a board's identity, and for each set of packages."""
    sets = identity.get("lock")
    lock = {
        name: f"{len(files)} packages; SHA-256 of their list: {digest_json_value(files)[:12]}…"
        for name, files in (sets.items() if isinstance(sets, dict) else ())
    }
    return list(flatten_values({**identity, **({"lock": lock} if lock else {})}))


def flatten_values(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and value of every leaf of nested dictionaries."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten_values(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def encode_script_json(value: object) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
