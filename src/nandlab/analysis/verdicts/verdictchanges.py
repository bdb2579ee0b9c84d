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

from nandlab.analysis.differences import reprice
from nandlab.analysis.figures import chiptime, powerdraw
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.verdicts import modelbias
from nandlab.analysis.verdicts.criteria import Criterion, VerdictCell, VerdictScope
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.base.strings import FreeText
from nandlab.results.naming import Naming
from nandlab.results.record import Trial

SAME_ANSWER = "the same"
NOT_RUN_ANSWER = "not run"
LATENCY_PREFIX = "latency."
LONGEST_LATENCIES = "the data sheet's longest latencies"
MEASURED_CONTROLLER = "a measured controller"
GROWS = {
    LONGEST_LATENCIES: "read, program or erase of the chip",
    MEASURED_CONTROLLER: "page read or program",
}
"""The operations whose greatest factor bounds that of any latency; a whole load grows by less."""


@dataclass(frozen=True)
class PossibleChange:
    """Something that could be otherwise."""

    what: FreeText
    then: FreeText
    """What the answer would be."""
    turns: bool | None
    """Whether that is another answer; null: not known."""
    do: FreeText = ""
    """Where it is not known: the edit that tells."""


@dataclass(frozen=True)
class FittingRow:
    """A row that fits: its name, its cells, and the state in which its headline is worst."""

    name: str
    cells: tuple[VerdictCell, ...]
    state: str


def list_verdict_changes(
    scope: VerdictScope, criteria: Sequence[Criterion], fitting: Sequence[FittingRow]
) -> list[PossibleChange]:
    """Of a verdict that has something to take; fitting: the rows that fit, in order."""
    if not fitting:
        return []
    first = scope.settings[0].trials[0]
    changes = [*_find_tighter_limit(criteria, fitting)]
    if not first.own_board:
        changes += [*_list_slower_flash_changes(scope, criteria, fitting)]
    return [*changes, *_list_less_ram_change(first)]


def _suggest_flash_edit(what: str, scope: VerdictScope) -> str:
    """The edit that has trials run with slower flash."""
    part = scope.settings[0].chip.part
    if what == LONGEST_LATENCIES:
        return scope.naming.format_study_edit(part, 'latency = "maximum"')
    return "in your chip's file: t_rc_ns, t_wc_ns as measured"


def _find_tighter_limit(
    criteria: Sequence[Criterion], fitting: Sequence[FittingRow]
) -> Iterator[PossibleChange]:
    """Who would be taken if the nearest limit were as tight as the first one's own value."""
    first, *other_rows = fitting
    limit_shares = [(c.used, i) for i, c in enumerate(first.cells) if c.used and c.state == "met"]
    if not limit_shares:
        return
    limit_share, i = max(limit_shares)
    names_inside = [
        o.name for o in other_rows if (u := o.cells[i].used) is not None and u < limit_share
    ]
    sign = criteria[i].limit[0]  # beyond its own value, whatever the limit's own sign
    change = f"{criteria[i].title} {sign} {first.cells[i].text} asked"
    yield PossibleChange(
        change,
        f"take {names_inside[0]}" if names_inside else "none that was run is fit",
        turns=True,
    )


def _list_slower_flash_changes(
    scope: VerdictScope, criteria: Sequence[Criterion], fitting: Sequence[FittingRow]
) -> Iterator[PossibleChange]:
    """Worst-case latencies of the data sheet, and a controller as it was measured on a board."""
    trials = [e.first for s in scope.settings for e in s.ensembles if e.ok]
    limited = any(c.name.startswith(LATENCY_PREFIX) and c.limit for c in criteria)
    for change, factor, predict in (
        (LONGEST_LATENCIES, _longest, _predict_at_longest_latencies),
        (MEASURED_CONTROLLER, _compute_controller_factor, _predict_with_controller),
    ):
        factors = [f for t in trials if (f := factor(t)) is not None]
        if len(factors) < len(trials):
            continue
        if max(factors) < modelbias.LITTLE_FACTOR:
            continue
        if limited:
            edit = _suggest_flash_edit(change, scope)
            yield _make_scaled_limits_change(change, max(factors), criteria, fitting, edit)
        elif scope.limits.is_empty:
            yield _reorder_by_time(change, scope, fitting, predict)


def _make_scaled_limits_change(
    change: str,
    factor: float,
    criteria: Sequence[Criterion],
    fitting: Sequence[FittingRow],
    edit: str,
) -> PossibleChange:
    """Whether the limits on latencies hold times a factor."""
    first = fitting[0]
    near_limits = [
        criterion.title
        for criterion, cell in zip(criteria, first.cells, strict=True)
        if criterion.name.startswith(LATENCY_PREFIX)
        and cell.used is not None
        and cell.used * factor >= 1
    ]
    if not near_limits:
        bound = f"no {GROWS[change]} takes more than {units.format_ratio(factor)} times as long"
        return PossibleChange(change, f"{SAME_ANSWER}: {bound}, and so no latency", turns=False)
    then = f"{', '.join(near_limits)} may be broken: percentiles are not foretold"
    return PossibleChange(change, then, None, edit)


TimeElsewhere = Callable[[Setting, Ensemble], Spread | None]


def _reorder_by_time(
    change: str, scope: VerdictScope, fitting: Sequence[FittingRow], predict: TimeElsewhere
) -> PossibleChange:
    """Who would be first by the headline, where that is the time of a phase."""
    setting = scope.settings[0]
    if not setting.headline.name.startswith("phase."):
        edit = _suggest_flash_edit(change, scope)
        return PossibleChange(change, "percentiles are not foretold", None, edit)
    times: list[tuple[float, str, Spread]] = []
    for row in fitting:
        e = setting.find(row.name, row.state)
        spread = predict(setting, e) if e else None
        if spread is not None:
            times.append((spread.median, row.name, spread))
    if len(times) < len(fitting):
        return PossibleChange(change, "not known: no counts", None)
    times.sort(key=lambda t: t[0])
    name, first = times[0][1], fitting[0].name
    if name == first:
        return PossibleChange(change, SAME_ANSWER, turns=False)
    first_spread = next(spread for _, n, spread in times if n == first)
    if not times[0][2].is_distinct_from(first_spread):
        return PossibleChange(change, f"{name} could not be told from {first}", turns=True)
    return PossibleChange(change, f"take {name}", turns=True)


def _longest(trial: Trial) -> float | None:
    """How much the longest latency of the data sheet is over the one that was simulated."""
    with suppress(UsageError):
        here, there = _make_simulated_and_longest_parts(trial)
        pairs = ((here.t_r, there.t_r), (here.t_prog, there.t_prog), (here.t_bers, there.t_bers))
        return max(after / before for before, after in pairs if before)
    return None


def _make_simulated_and_longest_parts(
    trial: Trial,
) -> tuple[reprice.PartLatencies, reprice.PartLatencies]:
    shape, timing = reprice.find_trial_geometry_and_timing(trial)
    return reprice.find_trial_part_latencies(trial), reprice.PartLatencies.from_timing(
        trial.chip.part, shape, timing, "maximum"
    )


def _predict_at_longest_latencies(setting: Setting, e: Ensemble) -> Spread | None:
    phase = setting.headline.name.split(".")[1]
    return compute_spread(
        reprice.predict_phase_ns_on_part(t, phase, _make_simulated_and_longest_parts(t)[1])
        for t in e.ok
    )


def _compute_controller_factor(trial: Trial) -> float | None:
    """How much longer a page read or program takes with the measured controller, the greater."""
    page_costs = modelbias.compute_controller_page_costs(trial)
    chip_costs = chiptime.compute_chip_operation_costs(trial)
    if page_costs is None or chip_costs is None:
        return None
    return max(
        (page_costs.simulated_read + page_costs.read) / page_costs.simulated_read,
        1 + page_costs.program / chip_costs.program,
    )


def _predict_with_controller(setting: Setting, e: Ensemble) -> Spread | None:
    found = modelbias.list_controller_effects(setting, [e])
    return found[0].with_controller if found else None


def _list_less_ram_change(first: Trial) -> Iterator[PossibleChange]:
    """A board has one size of RAM."""
    if first.available is not None and not first.own_board:
        half = first.available // 2 >> 20
        name = powerdraw.find_board_name(first)
        file = f"boards/{name}.toml" if name else "your board's file"
        edit = f"in a copy of {file}: available_mib = {half}"
        yield PossibleChange("less RAM", NOT_RUN_ANSWER, None, edit)


TakenNames = tuple[str, frozenset[str]]
"""Who is to be taken in a setting, and that one with those that are as good there."""


def list_changes_on_other_partitions(
    settings: Sequence[Setting], choices: Sequence[TakenNames], naming: Naming
) -> list[list[PossibleChange]]:
    """For each setting: what is taken on other partitions of its part, under the same load. The
    answer stays where the one that is taken here is as good there."""
    return [
        _list_changes_of_setting(s, settings, choices, choice, naming)
        for s, (choice, _) in zip(settings, choices, strict=True)
    ]


def _list_changes_of_setting(
    setting: Setting,
    settings: Sequence[Setting],
    choices: Sequence[TakenNames],
    choice: str,
    naming: Naming,
) -> list[PossibleChange]:
    changes = []
    for s, (name, as_good) in zip(settings, choices, strict=True):
        alike = (s.workload, s.chip.part) == (setting.workload, setting.chip.part)
        alike = alike and s.trials[0].parameters == setting.trials[0].parameters
        if alike and s.chip.partition_mib != setting.chip.partition_mib and name:
            turns = choice not in as_good
            then = f"take {name}" if turns else SAME_ANSWER
            changes.append(PossibleChange(f"{s.chip.partition_mib:g} MiB of the part", then, turns))
    other = 2 * setting.chip.partition_mib
    edit = naming.format_study_edit(setting.chip.part, f"partition_mib = {other:g}")
    return changes or [PossibleChange("another partition size", NOT_RUN_ANSWER, None, edit)]
