# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of a paper's parts: figures and quotients, member by member.

Both sides of a quotient did the same work at the same phase offset, so it is taken of each member
and then has a spread. Where a part names many phases (``each``), it is taken of each phase, and
either gives a number for each or one of them all. A part along something has its number of each
member's line through many configurations (analysis/fits.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from nandlab.analysis import fits
from nandlab.analysis.curves import is_attribute
from nandlab.analysis.figures import Figure, find
from nandlab.analysis.fits import Member
from nandlab.analysis.spread import Spread, spread
from nandlab.analysis.words import Words
from nandlab.base import units
from nandlab.catalog.paper import Along, PaperModel, Part, Selector
from nandlab.results.record import Trial

COMBINED: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "most": max,
    "least": min,
}


def chosen(paper: PaperModel, of: Selector, trials: Iterable[Trial]) -> list[Trial]:
    """The trials of the selector that ended well."""
    return [t for t in trials if t.ok and meant(paper, of, t)]


def meant(paper: PaperModel, of: Selector, trial: Trial) -> bool:
    """Whether the selector names the trial."""
    parameters = {**paper.parameters, **of.parameters}
    return (
        trial.chip.part == (of.chip or paper.part)
        and (trial.filesystem, trial.state.name) == (of.filesystem, of.state)
        and of.partition_mib in (None, trial.chip.partition_mib)
        and of.image in ("", trial.image.name if trial.image else "")
        and _options_are(trial, of.options)
        and all(trial.parameters.get(k) == v for k, v in parameters.items())
    )


def _options_are(trial: Trial, named: Mapping[str, str]) -> bool:
    """Whether the named options are as named, and the others at the catalog's defaults."""
    described = trial.about("filesystem").get("options", {})
    wanted = {k: o.get("default") for k, o in described.items()} | dict(named)
    return all(trial.options.get(k) == v for k, v in wanted.items())


def numbers(
    paper: PaperModel, part: Part, trials: Sequence[Trial], of: Words
) -> list[tuple[Part, Spread | None]]:
    """The part's numbers: itself with its spread, or one for each phase that it names.

    A saving is 1 less the quotient. None where nothing was measured.
    """
    if part.along:
        of_lines, over_lines = _both_lines(paper, part, part.along, trials, of)
        return [(part, fits.numbers(part.along, of_lines, over_lines))]
    if not part.each:
        return [(part, spread(_values(paper, part, trials, of).values()))]
    single = [_of_phase(part, name, of) for name in _phases(paper, part, trials)]
    if part.taken == "one by one" and single:
        return [(p, spread(_values(paper, p, trials, of).values())) for p in single]
    values = [_values(paper, p, trials, of) for p in single]
    members = set(values[0]).intersection(*values) if values else set()
    combined = COMBINED.get(part.taken, max)
    return [(part, spread(combined([v[m] for v in values]) for m in members))]


def form(part: Part, of: Words) -> units.Form:
    """How the part's numbers are written."""
    if part.along:
        by = part.along.by
        return fits.form(part.along, None if is_attribute(by) else find(by, of))
    if part.saving:
        return units.percent
    figure = part.figure.replace("{}", "any").replace("{rest}", "any")
    return units.ratio if part.quotient else find(figure, of).form


def told(paper: PaperModel, part: Part, trials: Sequence[Trial], of: Words) -> str:
    """What stands behind the part's number: of a part along something its lines; else empty."""
    if not part.along:
        return ""
    form_of_y = find(part.figure, of).form
    both = _both_lines(paper, part, part.along, trials, of)
    lines = "; over ".join(filter(None, (fits.lines_in_words(s, form_of_y) for s in both)))
    return lines and f"{lines}, over {fits.title(part.along.by, of)}"


def _both_lines(
    paper: PaperModel, part: Part, along: Along, trials: Sequence[Trial], of: Words
) -> tuple[dict[Member, fits.Points], dict[Member, fits.Points]]:
    """Each member's lines of ``of`` and of ``over``, which may be none."""
    figure = find(part.figure, of)
    of_lines = fits.lines(along.by, chosen(paper, part.of, trials), figure, of)
    if part.over is None:
        return of_lines, {}
    return of_lines, fits.lines(along.by, chosen(paper, part.over, trials), figure, of)


def _phases(paper: PaperModel, part: Part, trials: Sequence[Trial]) -> list[str]:
    """The phases of the part's trials that its pattern names, in order."""
    there = (p.name for t in chosen(paper, part.of, trials) for p in t.phases)
    return [name for name in dict.fromkeys(there) if fnmatchcase(name, part.each)]


def _of_phase(part: Part, name: str, of: Words) -> Part:
    rest = name.removeprefix(part.each.removesuffix("*"))

    def filled(figure: str) -> str:
        return figure.replace("{}", name).replace("{rest}", rest)

    named = {"figure": filled(part.figure), "label": f"{part.label}, {of.phase(name).title}"}
    against = part.against
    if against:
        against = against.model_copy(update={"figure": filled(against.figure)})
    over = filled(part.over_figure) if part.over_figure else None
    return part.model_copy(update={**named, "over_figure": over, "against": against, "each": ""})


def _values(
    paper: PaperModel, part: Part, trials: Sequence[Trial], of: Words
) -> dict[Member, float]:
    """The part's number of each member that has both sides."""
    found = _quotients(paper, part, trials, of)
    if part.against:
        other = {
            "figure": part.against.figure or part.figure,
            "of": part.against.of or part.of,
            "over": part.against.over or part.over,
        }
        below = _quotients(paper, part.model_copy(update=other), trials, of)
        found = {m: v / below[m] for m, v in found.items() if below.get(m)}
    made = {m: v * part.factor for m, v in found.items()}
    return {m: 1 - v for m, v in made.items()} if part.saving else made


def _quotients(
    paper: PaperModel, part: Part, trials: Sequence[Trial], of: Words
) -> dict[Member, float]:
    above = _by_member(chosen(paper, part.of, trials), find(part.figure, of))
    if not part.quotient:
        return above
    divisor = find(part.over_figure or part.figure, of)
    below = _by_member(chosen(paper, part.over or part.of, trials), divisor)
    return {m: v / below[m] for m, v in above.items() if below.get(m)}


def _by_member(trials: Iterable[Trial], figure: Figure) -> dict[Member, float]:
    found = {(t.seed, t.phase_offset_ms): figure(t) for t in trials}
    return {member: v for member, v in found.items() if v is not None}
