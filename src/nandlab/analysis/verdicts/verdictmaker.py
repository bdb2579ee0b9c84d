# SPDX-License-Identifier: GPL-2.0-or-later
"""How the verdict of a run is made.

A file system with its options is judged in every flash state and circumstance of its setting, since
a product passes through all; one of a product on all its loads. It is

- *avoid* when a trial of it did not end well, it breaks a limit in a trial, or a campaign of power
  cuts lost what it promises to keep;
- *open* when a limit could not be judged, a state was not run or has a single trial, a doubt
  touches what decides, or it promises nothing after a power cut and nobody said that it may;
- else it *fits*, or without any limit, which nothing can fit, is *next*; the first of them is to
  *take*.

Who meets all comes first. Of these comes first who leaves most room at the limit that is nearest:
to be faster than needed is worth nothing. Only where no limit has a measure the headline decides.
Then those that come close behind the first are as good as it (``verdict.TIE_FACTOR``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nandlab.analysis.figures.groups import Setting, group_trials_into_settings
from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.figures.spread import Spread
from nandlab.analysis.verdicts import (
    conditions,
    criteria,
    gaps,
    promises,
    sweep,
    verdictchanges,
    verdictwords,
)
from nandlab.analysis.verdicts import product as products
from nandlab.analysis.verdicts.criteria import Criterion, VerdictCell, VerdictScope
from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.limits import Limits, make_limits_from_spec
from nandlab.analysis.verdicts.product import Product
from nandlab.analysis.verdicts.promises import Promise
from nandlab.analysis.verdicts.verdict import CALL_ORDER, FIT, Verdict, VerdictCall, VerdictRow
from nandlab.analysis.verdicts.verdictchanges import FittingRow
from nandlab.analysis.verdicts.verdictwords import Candidate
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.results.naming import Naming
from nandlab.results.record import Trial


def make_run_verdicts_from_trials(
    spec: Mapping[str, Any],
    trials: Iterable[Trial],
    naming: Naming,
    limits: Limits | None = None,
) -> list[Verdict]:
    """The verdicts of a run: that of the product first, if its study has one, then of each setting
    that is none of its loads.

    limits: None: those of the study. naming: as commands are to name run and study.
    """
    settings = group_trials_into_settings(trials)
    limits_of_run = make_limits_from_spec(spec) if limits is None else limits
    product = products.make_product_from_spec(spec, settings, limits_of_run)
    loads = [load.setting for load in product.loads] if product else []
    verdicts = [_judge_product(spec, product, naming)] if product else []
    if product and loads:
        verdicts = _add_partition_changes(loads[:1], verdicts, naming)
    other_settings = [s for s in settings if s not in loads]
    setting_limits = (
        Limits(limits_of_run.figures, may_lose=limits_of_run.may_lose)
        if spec.get("product")
        else limits_of_run
    )
    setting_verdicts = [
        replace(
            make_setting_verdict(spec, s, setting_limits, naming),
            absent=tuple(conditions.list_absent_filesystems(s, other_settings)),
        )
        for s in other_settings
    ]
    verdicts += _add_partition_changes(other_settings, setting_verdicts, naming)
    shorts = ["the product"] * bool(product) + _make_short_titles(other_settings)
    alone = len(verdicts) == 1
    return [replace(v, short="" if alone else s) for v, s in zip(verdicts, shorts, strict=True)]


def _add_partition_changes(
    settings: Sequence[Setting], verdicts: list[Verdict], naming: Naming
) -> list[Verdict]:
    """Each with what is taken on the other partitions of its part."""
    choices = [(v.recommended, v.recommended_or_as_good) for v in verdicts]
    changes_by_setting = verdictchanges.list_changes_on_other_partitions(settings, choices, naming)
    return [
        replace(v, changes=(*v.changes, *changes)) if v.recommended else v
        for v, changes in zip(verdicts, changes_by_setting, strict=True)
    ]


def _make_short_titles(settings: Sequence[Setting]) -> list[str]:
    """Chip or workload, where that alone tells the settings apart; else their titles."""
    for names in ([s.chip.part for s in settings], [s.workload for s in settings]):
        if len(set(names)) == len(names):
            return names
    return [s.title for s in settings]


def make_setting_verdict(
    spec: Mapping[str, Any], setting: Setting, limits: Limits, naming: Naming
) -> Verdict:
    """The verdict of a setting; of a sweep and of lives what they answer, in notes."""
    if find_setting_view(setting).is_judged:
        return _judge_scope(spec, setting.title, VerdictScope((setting,), limits, naming))
    notes = tuple(
        f"{f.topic}: {f.text}{f' In doubt: {f.doubts}.' * bool(f.doubts)}"
        for a in find_setting_view(setting).answers(setting)
        for f in a.findings
    )
    sentence = notes[0] if notes else "No trial ended with figures to judge by."
    answer = sentence.partition(": ")[2] or sentence
    answer = answer.partition(". ")[0].rstrip(".") + "."
    about = (setting.title, "", (), (), sentence, (), answer, (setting.title,), setting.states)
    return Verdict(*about, lead=sentence, notes=notes)


def _judge_product(spec: Mapping[str, Any], product: Product, naming: Naming) -> Verdict:
    """Loads without any trial leave all that is not to be avoided open."""
    settings = tuple(load.setting for load in product.loads)
    lack = f"{product.lacks} of the product's loads" if product.lacks else ""
    shares = tuple(load.share for load in product.loads)
    return _judge_scope(
        spec, product.title, VerdictScope(settings, product.limits, naming, shares), lack
    )


def _judge_scope(
    spec: Mapping[str, Any], title: str, scope: VerdictScope, lack: str = ""
) -> Verdict:
    """lack: what has no trial of any file system; empty: nothing."""
    names = list(dict.fromkeys(name for s in scope.settings for name in s.subjects))
    columns = criteria.list_criterion_columns(scope)
    candidates = [_judge_row(spec, scope, columns, name, lack) for name in names]
    is_more_better = scope.settings[0].headline.better == "more"
    candidates.sort(key=lambda candidate: _make_sort_key(candidate, is_more_better))
    if candidates and candidates[0].row.call in FIT:
        other_fits = [candidate for candidate in candidates[1:] if candidate.row.call in FIT]
        leaders = verdictwords.list_state_leaders(scope, candidates[0], other_fits)
        leader_names = tuple((leader.state, leader.better[0][1]) for leader in leaders)
        ties = tuple(
            candidate.row.name
            for candidate in verdictwords.list_ties(scope, candidates[0], other_fits)
        )
        taken = replace(candidates[0].row, call="take", state_leaders=leader_names, as_good=ties)
        candidates[0] = replace(candidates[0], row=taken)
    rows = tuple(candidate.row for candidate in candidates)
    fitting = [
        FittingRow(candidate.row.name, candidate.row.cells, candidate.state)
        for candidate in candidates
        if candidate.row.call in FIT
    ]
    criteria_ = tuple(c.criterion for c in columns)
    sentences = verdictwords.format_verdict_sentences(scope, criteria_, candidates)
    return Verdict(
        title,
        "",
        criteria_,
        rows,
        " ".join(sentences),
        tuple(
            gaps.merge_verdict_gaps(
                [
                    gap
                    for candidate in candidates
                    if candidate.row.call != "avoid"
                    for gap in candidate.gaps
                ]
            )
        ),
        verdictwords.format_verdict_answer(rows),
        tuple(s.title for s in scope.settings),
        tuple(dict.fromkeys(state for s in scope.settings for state in s.states)),
        tuple(conditions.list_load_and_state_conditions(scope)),
        tuple(conditions.list_untested_product_conditions(scope)),
        tuple(criteria.list_unmeasured_criteria(scope)),
        tuple(verdictchanges.list_verdict_changes(scope, criteria_, fitting)),
        conditions.format_cell_rule(scope, criteria_),
        lead=sentences[0],
    )


def _judge_row(
    spec: Mapping[str, Any],
    scope: VerdictScope,
    columns: Sequence[criteria.CriterionColumn],
    name: str,
    lack: str,
) -> Candidate:
    """A row, and what it lacks."""
    ensembles = [(s, e) for s in scope.settings for e in s.ensembles if e.subject == name]
    trial = ensembles[0][1].first
    cells = tuple(column.cell(name) for column in columns)
    wrote = not all(map(promises.is_read_only_load, scope.settings))
    promise = (
        promises.find_trial_filesystem_promise(trial, scope.naming)
        if wrote
        else promises.UNASKED_PROMISE
    )
    failed = [text for _, e in ensembles if (text := _format_failure(e.trials, e.state))]
    broken = [
        _format_broken_criterion(c.criterion, cell, promise)
        for c, cell in zip(columns, cells, strict=True)
        if cell.state == "broken"
    ]
    run_command = scope.naming.run_command
    lacking = [
        gap
        for _, e in ensembles
        for gap in gaps.list_verdict_gaps_of_ensemble(e, spec, scope.naming)
    ]
    absent = _list_absent_loads(scope, name)
    lacking += [VerdictGap("not run", (name,), why, run_command) for why in absent]
    lacking += [VerdictGap(lack, (name,), "no trial", run_command)] if lack else []
    headline, state = _find_worst_headline(scope, name)
    if scope.limits.is_empty and headline is None and not failed:
        noun = scope.settings[0].words.headline.noun
        do = f"nandlab show {scope.naming.run}"
        lacking.append(VerdictGap(noun, (name,), "it was not measured", do))
    unknown = [
        (c.criterion, VerdictGap(c.criterion.title, (name,), cell.why, cell.do))
        for c, cell in zip(columns, cells, strict=True)
        if cell.state == "open"
    ]
    objections = (*failed, *broken)
    options = conditions.format_options_beside_name(trial, name)
    first_write = promises.format_first_write_advice(trial) if wrote else ""
    row = VerdictRow(
        name, trial.filesystem, "fits", cells, objections, promise, options, first_write
    )
    deciding = any(
        verdictwords.is_verdict_deciding_cell(scope, criterion, row) for criterion, _ in unknown
    )
    fit_call: VerdictCall = "next" if scope.limits.is_empty else "fits"
    call: VerdictCall = "avoid" if objections else "open" if lacking or deciding else fit_call
    row_gaps = (*lacking, *(gap for _, gap in unknown if gap.do))
    return Candidate(replace(row, call=call), row_gaps, len(absent), headline, state)


def _list_absent_loads(scope: VerdictScope, name: str) -> list[str]:
    """Loads and states of which a subject has no trial."""
    sentences = []
    for s in scope.settings:
        here = {e.state for e in s.ensembles if e.subject == name}
        if not here:
            sentences.append(f"no trial with {s.workload}")
        elif gone := [state for state in s.states if state not in here]:
            sentences.append(f"no trial with {format_name_list(gone)}")
    return sentences


def _format_failure(trials: Sequence[Trial], state: str) -> str:
    bad = [t for t in trials if t.status in ("trial_failed", "board_lost")]
    if not bad:
        return ""
    return (
        f"{state}: {len(bad)} of {len(trials)} trials did not end well: "
        f"{sweep.shorten_error(bad[0].error)}"
    )


def _format_broken_criterion(criterion: Criterion, cell: VerdictCell, promise: Promise) -> str:
    """A broken criterion in a clause."""
    if criterion.name == LOST_FIGURE:
        nothing = "it promises nothing after a power cut"
        return nothing if cell.value is None else f"power cuts: {promise.outcome}"
    limit = f", asked {criterion.limit}" if criterion.limit else ""
    return f"{criterion.title} {cell.text}{limit}"


def _find_worst_headline(scope: VerdictScope, name: str) -> tuple[Spread | None, str]:
    """The headline's spread in the state where its median is worst, of the first load."""
    setting = scope.settings[0]
    spreads = [
        (s, e.state)
        for _, e in scope.list_ensembles(name, [setting])
        if (s := e.spread(setting.headline))
    ]
    if not spreads:
        return None, ""
    last = min if setting.headline.better == "more" else max
    return last(spreads, key=lambda f: f[0].median)


def _make_sort_key(
    candidate: Candidate, is_more_better: bool
) -> tuple[int, int, int, float, float]:
    """Sort key."""
    row = candidate.row
    unknown = sum(cell.state in ("open", "broken") for cell in row.cells)
    room = 0.0 if candidate.room is None else -candidate.room
    worst = math.inf if candidate.headline is None else candidate.headline.median
    if is_more_better and candidate.headline is not None:
        worst = -worst
    first = 0 if row.call in FIT else unknown
    return CALL_ORDER.index(row.call), candidate.missing, first, room, worst
