# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in the terminal, as a table for people or as JSON for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import create_model

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting, group_trials_into_settings
from nandlab.analysis.figures.spread import Spread
from nandlab.analysis.verdicts import caveats, lifetime, modelbias, promises, verdictmaker
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.base import units
from nandlab.base.console import Console, escape_rich_markup
from nandlab.catalog.noun import StrictModel
from nandlab.report.tables import steptable, verdicttext
from nandlab.results.folder import Results
from nandlab.results.record import Run, Trial

if TYPE_CHECKING:
    from rich.table import Table

TRIAL_FIELDS = (
    *("id", "status", "filesystem", "options", "chip", "state", "image", "workload"),
    *(
        "parameters",
        "seed",
        "phase_offset_ms",
        "available",
        "steps",
        "phases",
        "operations",
        "bytes",
    ),
    *("latency_ns", "figures", "texts", "series", "open_ended", "measured", "erases_per_block"),
    *("artefacts", "warnings", "error"),
)
"""Keys of a trial in the JSON, always all of them and in this order; what is missing is null."""


def _make_nullable(name: str) -> Any:
    """The type of a trial's field with its marks, or null."""
    field = Trial.model_fields[name]
    kind: Any = field.annotation
    return Annotated[(kind, *field.metadata)] | None if field.metadata else kind | None


_FIELDS: Any = {name: (_make_nullable(name), ...) for name in TRIAL_FIELDS}
SHOWN_TRIALS = GenericAlias(list, (create_model("Shown", __base__=StrictModel, **_FIELDS),))
"""The type of what :func:`list_trial_json_objects` yields, as a list."""

LINE_LETTERS_MIN, LINE_LETTERS_MAX = 80, 200
"""Letters of a line that tables have, however narrow or wide the terminal is."""
VERDICT_LETTERS_MAX = 160
"""Letters of a line of the verdict's table at most."""
STATE_WIDTH = 12
STEP_WIDTH, STEP_HEAD = 20, ("time", "sync", "reads", "programs", "erases", "cache")
COLUMN_LETTERS_MIN, COLUMN_LETTERS_MAX = 13, 16
"""Widths in letters, so that tables of several subjects align within 80 columns."""


def list_trial_json_objects(run_folder: Results) -> Iterator[dict[str, Any]]:
    """The finished trials in the order of the plan, with exactly :data:`TRIAL_FIELDS`."""
    for trial in run_folder.trials():
        dumped = trial.model_dump(mode="json", include=set(TRIAL_FIELDS))
        yield {key: dumped[key] for key in TRIAL_FIELDS}


def print_run_results(run_folder: Results, console: Console, *, full: bool = False) -> None:
    """The question, what is missing, the verdicts; last the answer in a line.

    full: before them all that limits the answer, and a table of each setting's figures.
    """
    run, trials, missing = run_folder.head(), list(run_folder.trials()), run_folder.missing()
    console.print(f"[bold]{escape_rich_markup(run.question)}[/bold]")
    console.print(f"[dim]{escape_rich_markup(run.measured_on)}[/dim]", highlight=False)
    if ram := caveats.format_available_ram(trials):
        console.print(f"[dim]{escape_rich_markup(ram)}[/dim]", highlight=False)
    list_limits = caveats.list_caveats if full else caveats.list_grave_caveats
    for line in [*list_limits(run, trials, missing), *run_folder.notes]:
        console.print(f"[yellow]![/yellow] {escape_rich_markup(line)}")
    if not trials:
        console.print("No trial of this run has finished yet.")
        return
    if full:
        _print_figures(run, trials, console)
        for line in promises.format_promise_lines(trials, run_folder.naming()):
            console.print(escape_rich_markup(line), highlight=False)
    verdicts = verdictmaker.make_run_verdicts_from_trials(run.spec, trials, run_folder.naming())
    lines = verdicttext.render_verdicts(
        verdicts, full=full, width=min(_compute_line_width(console), VERDICT_LETTERS_MAX)
    )
    for line in ["", *lines]:
        console.print(escape_rich_markup(line), highlight=False, soft_wrap=True)


def _print_figures(run: Run, trials: Sequence[Trial], console: Console) -> None:
    """The curves that the study asks for, the tables of each setting, and what did not end well."""
    from nandlab.report.charts import curvetables

    for curve in curvetables.render_terminal_curve_tables(
        run.spec, trials, _compute_line_width(console)
    ):
        console.print(curve)
    for setting in group_trials_into_settings(trials):
        _print_setting(setting, console)
    for trial in trials:
        if not trial.ok:
            error = trial.error or "no reason was recorded"
            console.print(
                f"[red]{escape_rich_markup(trial.status)}[/red] {escape_rich_markup(trial.id)}: "
                f"{escape_rich_markup(error)}"
            )


def _compute_line_width(console: Console) -> int:
    """Letters of a line that a table may have."""
    return min(LINE_LETTERS_MAX, max(LINE_LETTERS_MIN, console.width))


def _print_setting(setting: Setting, console: Console) -> None:
    """Its doubts; the tables of its view; where chips were worn out the ends."""
    read = find_setting_view(setting)
    console.print(f"\n[bold]{escape_rich_markup(setting.title)}[/bold]")
    for line in _list_warnings(setting):
        console.print(line)
    for answer in read.answers(setting):
        for text in (f.text for f in answer.findings if f.topic == modelbias.MODEL_BIAS_TOPIC):
            where = f"{modelbias.MODEL_BIAS_TOPIC}, {escape_rich_markup(answer.state)}:"
            console.print(f"[dim]{where}[/dim] {escape_rich_markup(text)}", highlight=False)
    _print_steps(setting, console)
    for block in read.blocks(setting):
        columns = [f for name in block.figures if _is_known(f := setting.figure(name), setting)]
        if not columns:
            continue
        console.print(f"[dim]{escape_rich_markup(block.note)}[/dim]")
        for part in _split_columns(columns, _compute_line_width(console)):
            for i, subject in enumerate(setting.subjects):
                console.print(
                    _make_states_table(
                        setting, subject, part, _compute_line_width(console), with_head=i == 0
                    )
                )
    for e in setting.ensembles if read.shows_endings else ():
        for ending in lifetime.format_life_endings(e):
            console.print(f"{escape_rich_markup(e.label)}: {escape_rich_markup(ending)}")


def _print_steps(setting: Setting, console: Console) -> None:
    """Of a list of steps all phases of each configuration, and what they said in words."""
    if not steptable.has_file_steps(setting):
        return
    console.print("[dim]Step by step: median, and the range below it; a time with its sync.[/dim]")
    for e in setting.ensembles:
        if e.ok:
            console.print(_make_steps_table(setting, e, _compute_line_width(console)))
    for said in steptable.list_step_outputs(setting):
        console.print(
            f"[dim]{escape_rich_markup(said.name)}:[/dim] {escape_rich_markup(said.text)}",
            highlight=False,
        )


def _make_steps_table(setting: Setting, e: Ensemble, width: int) -> Table:
    """The steps of one configuration, a row each."""
    table = _make_plain_table(f"{e.label}, n = {len(e.ok)}", with_head=True)
    table.add_column("", width=STEP_WIDTH, overflow="fold")
    for title in STEP_HEAD:
        table.add_column(
            title, width=_compute_column_width(width - STEP_WIDTH, len(STEP_HEAD)), justify="right"
        )
    for phase in setting.words.phases:
        if any(t.phase(phase.name) for t in e.ok):
            figures = [setting.figure(f"phase.{phase.name}{w}") for w in steptable.FIGURE_SUFFIXES]
            cells = [_format_spread_lines(e.spread(f), f.quantity.sizes) for f in figures]
            cache = steptable.find_step_cache_state(e, phase.name) or units.MISSING
            table.add_row(f"  {escape_rich_markup(phase.title)}", *cells, cache)
    return table


def _is_known(figure: Figure, setting: Setting) -> bool:
    """Whether any trial has it."""
    return any(figure(t) is not None for t in setting.trials if t.ok)


def _compute_column_width(width: int, columns: int) -> int:
    """Letters of each of so many columns."""
    return min(COLUMN_LETTERS_MAX, width // columns)


def _split_columns(columns: Sequence[Figure], width: int) -> Iterator[Sequence[Figure]]:
    """As many columns at a time as a line has room for, as evenly as possible."""
    fit = (width - STATE_WIDTH) // COLUMN_LETTERS_MIN
    lines = max(1, -(-len(columns) // fit))
    each = -(-len(columns) // lines)
    for i in range(0, len(columns), each):
        yield columns[i : i + each]


def _make_states_table(
    setting: Setting, subject: str, columns: Sequence[Figure], width: int, *, with_head: bool
) -> Table:
    """The states of a subject under its name."""
    table = _make_plain_table(subject, with_head=with_head)
    each = _compute_column_width(width - STATE_WIDTH, len(columns))
    table.add_column("", width=STATE_WIDTH, overflow="fold")
    for figure in columns:
        title = figure.short or figure.title
        table.add_column(escape_rich_markup(title), width=each, justify="right", overflow="fold")
    for e in setting.ensembles:
        if e.subject == subject:
            cells = (_format_spread_lines(e.spread(f), f.quantity.sizes) for f in columns)
            table.add_row(_format_state(e), *cells)
    return table


def _make_plain_table(title: str, *, with_head: bool) -> Table:
    """A table without lines under its title."""
    from rich.table import Table

    return Table(
        title=escape_rich_markup(title),
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 0),
        show_header=with_head,
        header_style="dim",
    )


def _format_state(e: Ensemble) -> str:
    """n counts the trials that ended well, and says of how many where that differs."""
    n = f"{len(e.ok)}" if len(e.ok) == len(e.trials) else f"{len(e.ok)} of {len(e.trials)}"
    return f"  {escape_rich_markup(e.state)}\n  [dim]n = {n}[/dim]"


def _format_spread_lines(spread: Spread | None, sizes: units.Units) -> str:
    """Median with its unit, and below it the range in the same unit."""
    if spread is None:
        return units.MISSING
    unit, name = units.choose_unit(spread.median, sizes)
    plus = "+" if spread.is_median_lower_bound else ""
    median = f"{units.format_three_figures(spread.median / unit)}{plus} {name}".strip()
    if spread.n == 1:
        return median
    low, high = (
        units.format_three_figures(v / unit).replace(",", "") for v in (spread.min, spread.max)
    )
    return f"{median}\n[dim]{low}..{high}{'+' if spread.has_lower_bounds else ''}[/dim]"


def _list_warnings(setting: Setting) -> list[str]:
    """Each doubt with the configurations and the number of trials that carry it."""
    carried: dict[str, Counter[str]] = {}
    for e in setting.ensembles:
        for trial in e.trials:
            for code in {w.code for w in trial.warnings}:
                carried.setdefault(code, Counter())[e.label] += 1
    return [
        f"[yellow]{escape_rich_markup(code)}[/yellow] "
        + escape_rich_markup(
            "; ".join(f"{label}: {n} trial{'s' if n > 1 else ''}" for label, n in by.items())
        )
        for code, by in sorted(carried.items())
    ]
