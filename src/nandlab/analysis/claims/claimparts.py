# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of a paper's parts: figures and quotients, member by member.

Both sides of a quotient did the same work at the same phase offset, so it is taken of each member
and then has a spread. Where a part names many phases (``each``), it is taken of each phase, and
either gives a number for each or one of them all. A part along something has its number of each
member's line through many configurations (analysis/curves/fits.py).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from nandlab.analysis.curves import fits
from nandlab.analysis.curves.curves import is_attribute_name
from nandlab.analysis.curves.fits import MemberKey
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.figures.workloadwords import Words
from nandlab.base import units
from nandlab.catalog.noun import Scalar
from nandlab.catalog.paper import (
    NO_IMAGE,
    ClaimBasis,
    ClaimPart,
    FigureTrend,
    PaperModel,
    Selector,
)
from nandlab.results.record import Trial

COMBINE_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "most": max,
    "least": min,
}


def select_ended_trials_in_selector(
    paper: PaperModel, of: Selector, trials: Iterable[Trial]
) -> list[Trial]:
    """The trials of the selector that ended well."""
    return [t for t in trials if t.ok and is_trial_in_selector(paper, of, t)]


def is_trial_in_selector(paper: PaperModel, selector: Selector, trial: Trial) -> bool:
    """Whether the selector names the trial.

    A parameter that it does not name may have any value but one that is another reading's.
    """
    parameters = {**paper.parameters, **selector.parameters}
    return (
        trial.chip.part == (selector.chip or paper.part)
        and (trial.filesystem, trial.state.name) == (selector.filesystem, selector.state)
        and selector.partition_mib in (None, trial.chip.partition_mib)
        and selector.image in ("", trial.image.name if trial.image else NO_IMAGE)
        and _has_options(trial, selector.options)
        and all(trial.parameters.get(k) == v for k, v in parameters.items())
        and not any(_is_other_way(b, parameters, trial) for b in paper.bases)
    )


def _is_other_way(basis: ClaimBasis, named: Mapping[str, Scalar], trial: Trial) -> bool:
    """Whether the trial has the parameters of a basis's other way, of which none is named."""
    return (
        bool(basis.parameters)
        and not basis.parameters.keys() & named.keys()
        and all(trial.parameters.get(k) == v for k, v in basis.parameters.items())
    )


def _has_options(trial: Trial, named: Mapping[str, str]) -> bool:
    """Whether the named options are as named, and the others at the catalog's defaults."""
    described = trial.find_source("filesystem").get("options", {})
    wanted = {k: o.get("default") for k, o in described.items()} | dict(named)
    return all(trial.options.get(k) == v for k, v in wanted.items())


def compute_claim_part_numbers(
    paper: PaperModel, part: ClaimPart, trials: Sequence[Trial], words: Words
) -> list[tuple[ClaimPart, Spread | None]]:
    """The part's numbers: itself with its spread, or one for each phase that it names.

    A saving is 1 less the quotient. None where nothing was measured.
    """
    if part.along:
        of_lines, over_lines = _collect_both_lines(paper, part, part.along, trials, words)
        return [(part, fits.compute_trend_numbers_spread(part.along, of_lines, over_lines))]
    if not part.each:
        return [
            (part, compute_spread(_compute_member_numbers(paper, part, trials, words).values()))
        ]
    single = [
        _make_phase_part(part, name, words) for name in _list_part_phases(paper, part, trials)
    ]
    if part.taken == "one by one" and single:
        return [
            (p, compute_spread(_compute_member_numbers(paper, p, trials, words).values()))
            for p in single
        ]
    values = [_compute_member_numbers(paper, p, trials, words) for p in single]
    members = set(values[0]).intersection(*values) if values else set()
    combine = COMBINE_FUNCTIONS.get(part.taken, max)
    return [(part, compute_spread(combine([v[m] for v in values]) for m in members))]


def choose_claim_part_formatter(part: ClaimPart, words: Words) -> units.Form:
    """How the part's numbers are written."""
    if part.along:
        by = part.along.by
        return fits.choose_trend_number_formatter(
            part.along, None if is_attribute_name(by) else find_workload_figure(by, words)
        )
    if part.saving:
        return units.format_percent
    figure = part.figure.replace("{}", "any").replace("{rest}", "any")
    return units.format_ratio if part.quotient else find_workload_figure(figure, words).form


def format_claim_part_fit_lines(
    paper: PaperModel, part: ClaimPart, trials: Sequence[Trial], words: Words
) -> str:
    """What stands behind the part's number: of a part along something its lines; else empty."""
    if not part.along:
        return ""
    form_of_y = find_workload_figure(part.figure, words).form
    side_lines = _collect_both_lines(paper, part, part.along, trials, words)
    lines = "; over ".join(
        filter(None, (fits.format_median_slope_line(s, form_of_y) for s in side_lines))
    )
    return lines and f"{lines}, over {fits.format_x_axis_title(part.along.by, words)}"


def _collect_both_lines(
    paper: PaperModel, part: ClaimPart, along: FigureTrend, trials: Sequence[Trial], words: Words
) -> tuple[dict[MemberKey, fits.ValueByPlace], dict[MemberKey, fits.ValueByPlace]]:
    """Each member's lines of ``of`` and of ``over``, which may be none."""
    figure = find_workload_figure(part.figure, words)
    of_lines = fits.collect_points_by_member(
        along.by, select_ended_trials_in_selector(paper, part.of, trials), figure, words
    )
    if part.over is None:
        return of_lines, {}
    return of_lines, fits.collect_points_by_member(
        along.by, select_ended_trials_in_selector(paper, part.over, trials), figure, words
    )


def _list_part_phases(paper: PaperModel, part: ClaimPart, trials: Sequence[Trial]) -> list[str]:
    """The phases of the part's trials that its pattern names, in order."""
    there = (
        p.name for t in select_ended_trials_in_selector(paper, part.of, trials) for p in t.phases
    )
    return [name for name in dict.fromkeys(there) if fnmatchcase(name, part.each)]


def _make_phase_part(part: ClaimPart, name: str, words: Words) -> ClaimPart:
    name_rest = name.removeprefix(re.split(r"[*?\[]", part.each)[0])

    def fill_placeholders(figure: str) -> str:
        return figure.replace("{}", name).replace("{rest}", name_rest)

    phase_fields = {
        "figure": fill_placeholders(part.figure),
        "label": f"{part.label}, {words.phase(name).title}",
    }
    against = part.against
    if against:
        against = against.model_copy(update={"figure": fill_placeholders(against.figure)})
    over = fill_placeholders(part.over_figure) if part.over_figure else None
    return part.model_copy(
        update={**phase_fields, "over_figure": over, "against": against, "each": ""}
    )


def _compute_member_numbers(
    paper: PaperModel, part: ClaimPart, trials: Sequence[Trial], words: Words
) -> dict[MemberKey, float]:
    """The part's number of each member that has both sides."""
    quotients = _compute_member_quotients(paper, part, trials, words)
    if part.against:
        against_fields = {
            "figure": part.against.figure or part.figure,
            "of": part.against.of or part.of,
            "over": part.against.over or part.over,
        }
        divisors = _compute_member_quotients(
            paper, part.model_copy(update=against_fields), trials, words
        )
        quotients = {m: v / divisors[m] for m, v in quotients.items() if divisors.get(m)}
    scaled = {m: v * part.factor for m, v in quotients.items()}
    return {m: 1 - v for m, v in scaled.items()} if part.saving else scaled


def _compute_member_quotients(
    paper: PaperModel, part: ClaimPart, trials: Sequence[Trial], words: Words
) -> dict[MemberKey, float]:
    above = _compute_by_member(
        select_ended_trials_in_selector(paper, part.of, trials),
        find_workload_figure(part.figure, words),
    )
    if not part.quotient:
        return above
    divisor = find_workload_figure(part.over_figure or part.figure, words)
    below = _compute_by_member(
        select_ended_trials_in_selector(paper, part.over or part.of, trials), divisor
    )
    return {m: v / below[m] for m, v in above.items() if below.get(m)}


def _compute_by_member(trials: Iterable[Trial], figure: Figure) -> dict[MemberKey, float]:
    return {t.member: v for t in trials if (v := figure(t)) is not None}
