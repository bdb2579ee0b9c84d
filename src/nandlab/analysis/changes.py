# SPDX-License-Identifier: GPL-2.0-or-later
"""What would change a verdict: slower flash, a measured controller, another partition, less RAM, a
tighter limit. What trials or counts can tell is told; what they cannot is told with the edit.

Times of phases are foretold from counts (reprice.py, leans.py). A percentile is not: of it there is
only a bound, for if all operations stay the same none takes longer than by the factor of the chip
operation that grows most. A limit that holds times that factor holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nandlab.analysis import chiptime, leans, reprice
from nandlab.analysis.criteria import Cell, Criterion, Scope
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import Spread, spread
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.base.strings import FreeText
from nandlab.results.record import Trial

SAME = "the same"
NOT_RUN = "not run"
LATENCY = "latency."
LONGEST = "the data sheet's longest latencies"
CONTROLLER = "a measured controller"
EDITS = {
    LONGEST: 'latency = "maximum" of the chip',
    CONTROLLER: "a chip's file with the board's own cycles: docs/own/chip.md",
}
GROWS = {LONGEST: "read, program or erase of the chip", CONTROLLER: "page read or program"}
"""The operations whose greatest factor bounds that of any latency; a whole load grows by less."""


@dataclass(frozen=True)
class Change:
    """Something that could be otherwise."""

    what: FreeText
    then: FreeText
    """What the answer would be."""
    turns: bool | None
    """Whether that is another answer; null: not known."""
    do: FreeText = ""
    """Where it is not known: the edit that tells."""


@dataclass(frozen=True)
class Taken:
    """A row that fits: its name, its cells, and the state in which its headline is worst."""

    name: str
    cells: tuple[Cell, ...]
    state: str


def of(scope: Scope, shown: Sequence[Criterion], fitting: Sequence[Taken]) -> list[Change]:
    """Of a verdict that has something to take; fitting: the rows that fit, in order."""
    if not fitting:
        return []
    first = scope.settings[0].trials[0]
    found = [*_tighter(shown, fitting)]
    if not first.own_board:
        found += [*_slower(scope, shown, fitting)]
    return [*found, *_less_ram(first)]


def _tighter(shown: Sequence[Criterion], fitting: Sequence[Taken]) -> Iterator[Change]:
    """Who would be taken if the nearest limit were as tight as the first one's own value."""
    first, *others = fitting
    limited = [(c.used, i) for i, c in enumerate(first.cells) if c.used and c.state == "met"]
    if not limited:
        return
    used, i = max(limited)
    inside = [o.name for o in others if (u := o.cells[i].used) is not None and u < used]
    sign = shown[i].limit[0]  # beyond its own value, whatever the limit's own sign
    what = f"{shown[i].title} {sign} {first.cells[i].text} asked"
    yield Change(what, f"take {inside[0]}" if inside else "none that was run is fit", turns=True)


def _slower(scope: Scope, shown: Sequence[Criterion], fitting: Sequence[Taken]) -> Iterator[Change]:
    """Worst-case latencies of the data sheet, and a controller as it was measured on a board."""
    trials = [e.first for s in scope.settings for e in s.ensembles if e.ok]
    limited = any(c.name.startswith(LATENCY) and c.limit for c in shown)
    for what, factor, there in (
        (LONGEST, _longest, _at_longest),
        (CONTROLLER, _controller, _at_controller),
    ):
        factors = [f for t in trials if (f := factor(t)) is not None]
        if len(factors) < len(trials):
            continue
        if max(factors) < leans.LITTLE:
            continue
        if limited:
            yield _bounded(what, max(factors), shown, fitting)
        elif scope.limits.none:
            yield _ordered(what, scope.settings[0], fitting, there)


def _bounded(
    what: str, factor: float, shown: Sequence[Criterion], fitting: Sequence[Taken]
) -> Change:
    """Whether the limits on latencies hold times a factor."""
    first = fitting[0]
    near = [
        criterion.title
        for criterion, cell in zip(shown, first.cells, strict=True)
        if criterion.name.startswith(LATENCY) and cell.used is not None and cell.used * factor >= 1
    ]
    if not near:
        bound = f"no {GROWS[what]} takes more than {units.ratio(factor)} times as long"
        return Change(what, f"{SAME}: {bound}, and so no latency", turns=False)
    then = f"{', '.join(near)} may be broken: percentiles are not foretold"
    edit = (
        'latency = "maximum" in chip' if "latencies" in what else "a chip with the board's cycles"
    )
    return Change(what, then, None, edit)


There = Callable[[Setting, Ensemble], Spread | None]


def _ordered(what: str, setting: Setting, fitting: Sequence[Taken], there: There) -> Change:
    """Who would be first by the headline, where that is the time of a phase."""
    if not setting.headline.name.startswith("phase."):
        return Change(what, "percentiles are not foretold", None, EDITS[what])
    times: list[tuple[float, str, Spread]] = []
    for row in fitting:
        e = setting.find(row.name, row.state)
        found = there(setting, e) if e else None
        if found is not None:
            times.append((found.median, row.name, found))
    if len(times) < len(fitting):
        return Change(what, "not known: no counts", None)
    times.sort(key=lambda t: t[0])
    name, first = times[0][1], fitting[0].name
    if name == first:
        return Change(what, SAME, turns=False)
    own = next(found for _, n, found in times if n == first)
    if not times[0][2].told_apart(own):
        return Change(what, f"{name} could not be told from {first}", turns=True)
    return Change(what, f"take {name}", turns=True)


def _longest(trial: Trial) -> float | None:
    """How much the longest latency of the data sheet is over the one that was simulated."""
    with suppress(UsageError):
        here, there = _parts(trial)
        pairs = ((here.t_r, there.t_r), (here.t_prog, there.t_prog), (here.t_bers, there.t_bers))
        return max(after / before for before, after in pairs if before)
    return None


def _parts(trial: Trial) -> tuple[reprice.Part, reprice.Part]:
    shape, timing = reprice.geometry(trial)
    return reprice.own(trial), reprice.Part.of(trial.chip.part, shape, timing, "maximum")


def _at_longest(setting: Setting, e: Ensemble) -> Spread | None:
    phase = setting.headline.name.split(".")[1]
    return spread(reprice.phase_ns(t, phase, _parts(t)[1]) for t in e.ok)


def _controller(trial: Trial) -> float | None:
    """How much longer a page read or program takes with the measured controller, the greater."""
    costs, own = leans.page_costs(trial), chiptime.costs(trial)
    if costs is None or own is None:
        return None
    return max((costs.here + costs.read) / costs.here, 1 + costs.program / own.program)


def _at_controller(setting: Setting, e: Ensemble) -> Spread | None:
    found = leans.leanings(setting, [e])
    return found[0].then if found else None


def _less_ram(first: Trial) -> Iterator[Change]:
    """A board has one size of RAM."""
    if first.available is not None and not first.own_board:
        half = first.available // 2 >> 20
        yield Change("less RAM", NOT_RUN, None, f"available_mib = {half} in the file of the board")


def of_partitions(settings: Sequence[Setting], taken: Sequence[str]) -> list[list[Change]]:
    """For each setting: what is taken on other partitions of its part, under the same load."""
    return [_of_partition(s, settings, taken, own) for s, own in zip(settings, taken, strict=True)]


def _of_partition(
    setting: Setting, settings: Sequence[Setting], taken: Sequence[str], own: str
) -> list[Change]:
    found = []
    for s, name in zip(settings, taken, strict=True):
        alike = (s.workload, s.chip.part) == (setting.workload, setting.chip.part)
        alike = alike and s.trials[0].parameters == setting.trials[0].parameters
        if alike and s.chip.partition_mib != setting.chip.partition_mib and name:
            turns = name != own
            then = f"take {name}" if turns else SAME
            found.append(Change(f"{s.chip.partition_mib:g} MiB of the part", then, turns))
    other = 2 * setting.chip.partition_mib
    edit = f'chips = [{{ part = "{setting.chip.part}", partition_mib = {other:g} }}]'
    return found or [Change("another partition size", NOT_RUN, None, edit)]
