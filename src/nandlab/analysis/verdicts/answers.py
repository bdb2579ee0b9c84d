# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run answers about phases in flash states, in words, and what limits any answer.

No sentence says more than the ranges carry: ``ranking`` puts an order into words. Trials that
failed or are missing are no part of any figure, and are named before every other sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.analysis.figures import doubts, ranking
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding, RankedEntry, RankingWords
from nandlab.analysis.figures.spread import Spread, divide_spreads
from nandlab.analysis.verdicts import modelbias, stalls, wearsteadiness
from nandlab.base import units

NOT_REACHED_LEAD = "Not reached"
"""How a sentence begins that says only that loads were too short."""


@dataclass(frozen=True)
class StateAnswer:
    """The findings for one flash state of a setting."""

    state: str
    findings: tuple[Finding, ...]


def make_headline_ranking_words(setting: Setting) -> RankingWords:
    """The ranking by this workload's headline figure, in its own words."""
    words, figure = setting.words.headline, setting.headline
    return RankingWords(
        "Time" if figure.quantity.name == "time" else words.noun.capitalize(),
        f"{words.noun}s",
        words.best,
        "{v}",
        words.more,
        figure.form,
        greatest=figure.better == "more",
    )


_ERASES_RANKING = RankingWords(
    "Wear",
    "erase counts",
    "wears the flash least",
    "{v} block erases",
    "needs {r} times as many",
    units.format_count,
)
_EVENNESS_RANKING = RankingWords(
    "Evenness",
    "wear spreads",
    "wears the blocks most evenly",
    "their erase counts differ by {v} at most",
    "spreads {r} times as far",
    units.format_count,
)


def list_state_answers(setting: Setting) -> list[StateAnswer]:
    """For each flash state: the order of its subjects, and how far it is from the fresh state."""
    aged = list_aged_states(setting)
    state_answers = []
    for state in setting.states:
        ensembles = [e for e in setting.ensembles if e.state == state]
        ageing = list_ageing_findings(setting, state) if state in aged else []
        state_answers.append(
            StateAnswer(state, (*_list_state_findings(setting, ensembles), *ageing))
        )
    return state_answers


def _list_state_findings(setting: Setting, ensembles: list[Ensemble]) -> list[Finding]:
    """Headline, wear, evenness, tail and stalls of the subjects in one state."""
    topics = (
        (
            make_headline_ranking_words(setting),
            setting.headline,
            f"No {setting.words.headline.noun} was measured.",
        ),
        (_ERASES_RANKING, setting.figure("chip.erases"), "No erases were counted."),
        (_EVENNESS_RANKING, setting.figure("wear.spread"), "No wear per block was recorded."),
    )
    findings = [
        doubts.add_doubts_to_finding(
            make_ranking_finding(ensembles, words, figure, nothing),
            ((e, figure) for e in ensembles),
        )
        for words, figure, nothing in topics
    ]
    tails = [
        (e, tail) for e in ensembles if (tail := find_worst_tail_latency(setting, e)) is not None
    ]
    uses = [(e, setting.figure(f"latency.{tail.operation}.p99")) for e, tail in tails]
    slowest = doubts.add_doubts_to_finding(_make_tail_finding(setting, ensembles), uses)
    findings += [slowest, *stalls.list_stall_findings(setting, ensembles)]
    return [*findings, *modelbias.list_ensembles_model_bias_findings(setting, ensembles)]


def make_ranking_finding(
    ensembles: Sequence[Ensemble], words: RankingWords, figure: Figure, nothing: str
) -> Finding:
    """An order; of figures of wear only among those whose load was long enough."""
    ensemble_entries = [
        (e, RankedEntry(e.subject, s)) for e in ensembles if (s := e.spread(figure)) is not None
    ]
    if not ensemble_entries:
        return ranking.make_undecided_finding(words.topic, nothing)
    short_loads = [e for e, _ in ensemble_entries if not is_wear_steady_for_figure(figure, [e])]
    entries = [entry for e, entry in ensemble_entries if e not in short_loads]
    if not short_loads:
        return ranking.make_ranking_finding_from_entries(entries, words)
    sentence = format_load_too_short_sentence(short_loads)
    if len(entries) > 1:
        sentence = f"{ranking.make_ranking_finding_from_entries(entries, words).text} {sentence}"
    return ranking.make_undecided_finding(words.topic, sentence)


def is_wear_steady_for_figure(figure: Figure, ensembles: Sequence[Ensemble]) -> bool:
    """Whether the figure tells more than when the loads ended: not of wear, or wear was steady."""
    if not wearsteadiness.is_wear_figure_name(figure.name):
        return True
    return all(wearsteadiness.find_least_steady_wear(e.ok) is None for e in ensembles)


def format_load_too_short_sentence(ensembles: Sequence[Ensemble]) -> str:
    """``Not reached by JFFS2 and UBIFS: the load is too short (...); write at least 1 GiB.``"""
    short = wearsteadiness.find_least_steady_wear(t for e in ensembles for t in e.ok)
    names = ranking.format_name_list(list(dict.fromkeys(e.subject for e in ensembles)))
    return f"{NOT_REACHED_LEAD} by {names}: {short.advice}." if short else ""


class TailLatency(NamedTuple):
    """A kind of operation and the spread of its p99, in ns."""

    operation: str
    p99: Spread


def find_worst_tail_latency(setting: Setting, ensemble: Ensemble) -> TailLatency | None:
    """The kind of operation with the greatest median p99, of those in phases that count."""
    tails: list[TailLatency] = []
    for operation in setting.words.counting:
        found = ensemble.spread(setting.figure(f"latency.{operation.name}.p99"))
        if found is not None:
            tails.append(TailLatency(operation.name, found))
    return max(tails, key=lambda t: t.p99.median) if tails else None


def _make_tail_finding(setting: Setting, ensembles: list[Ensemble]) -> Finding:
    """The subject whose worst kind of operation has the greatest p99."""
    tails = [
        (e.subject, tail)
        for e in ensembles
        if (tail := find_worst_tail_latency(setting, e)) is not None
    ]
    if not tails:
        return ranking.make_undecided_finding("Tail latency", "No latencies were recorded.")
    tails.sort(key=lambda k: -k[1].p99.median)
    (subject, most), next_tails = tails[0], tails[1:]
    value = f"{most.operation}, p99 {units.format_time(most.p99.median)}"
    if not next_tails:
        return ranking.make_undecided_finding(
            "Tail latency", f"Only {subject} was measured; its slowest: {value}."
        )
    if all(tail.p99.n == 1 for _, tail in tails):
        return ranking.make_undecided_finding(
            "Tail latency", f"One trial each: too few to state an order ({subject} {value})."
        )
    alike = [name for name, tail in next_tails if not most.p99.is_distinct_from(tail.p99)]
    if alike:
        names = ranking.format_name_list([subject, *alike])
        text = f"Which has the worst cannot be told of {names}; by its median {subject} ({value})."
        return ranking.make_undecided_finding("Tail latency", text)
    name, tail = next_tails[0]
    then = f"{tail.operation}, {units.format_time(tail.p99.median)}"
    text = f"{subject} has the worst: {value}; then {name}: {then}."
    return Finding("Tail latency", text, firm=True)


def compute_ageing_ratio(
    setting: Setting, subject: str, state: str, figure: Figure
) -> Spread | None:
    """A figure in a state / the same figure in the state that asked for no data (fresh)."""
    aged = setting.find(subject, state)
    fresh = setting.find_reference(aged) if aged else None
    if (
        fresh is None
        or aged is None
        or aged.reference
        or not is_wear_steady_for_figure(figure, [fresh, aged])
    ):
        return None
    return divide_spreads(aged.spread(figure), fresh.spread(figure))


def list_aged_states(setting: Setting) -> list[str]:
    """The states that have a fresh state to be set against, in order."""
    if not any(e.reference for e in setting.ensembles):
        return []
    return [
        s
        for s in setting.states
        if any(e.state == s and not e.reference for e in setting.ensembles)
    ]


def list_ageing_findings(setting: Setting, state: str) -> list[Finding]:
    """By how much headline and erases grow from fresh; the subject that suffers most first."""
    words = setting.words.headline
    topics = (
        (
            _name_ageing_topic(setting),
            f"its {words.noun} is {{r}} times that of fresh flash",
            setting.headline,
        ),
        (
            "Ageing, wear",
            "it needs {r} times the block erases of fresh flash",
            setting.figure("chip.erases"),
        ),
    )
    findings = []
    for topic, lead, figure in topics:
        short_loads = _list_short_load_ensembles(setting, state, figure)
        ratios = [(s, compute_ageing_ratio(setting, s, state, figure)) for s in setting.subjects]
        entries = [RankedEntry(s, r) for s, r in ratios if r is not None]
        from_zero = [
            f
            for s in setting.subjects
            if (f := _format_growth_from_zero(setting, s, state, figure))
        ]
        uses = [(e, figure) for e in _list_compared_ensembles(setting, state)]
        if entries and not from_zero:
            is_more_better = figure.better == "more"
            finding = _make_ageing_finding(topic, lead, entries, falls=is_more_better)
            findings.append(doubts.add_doubts_to_finding(finding, uses))
        elif entries or from_zero:
            growths = [f"{name} {_format_ratio_to_fresh(r)} times" for name, r in entries]
            clauses = "; ".join([*from_zero, *growths])
            text = f"Which suffers most cannot be told, for some begin at 0: {clauses}."
            findings.append(
                doubts.add_doubts_to_finding(ranking.make_undecided_finding(topic, text), uses)
            )
        elif short_loads:
            findings.append(
                ranking.make_undecided_finding(topic, format_load_too_short_sentence(short_loads))
            )
    return findings


def _list_short_load_ensembles(setting: Setting, state: str, figure: Figure) -> list[Ensemble]:
    """The ensembles whose loads were too short to compare the state with fresh flash."""
    both = _list_compared_ensembles(setting, state)
    return [e for e in both if not is_wear_steady_for_figure(figure, [e])]


def _list_compared_ensembles(setting: Setting, state: str) -> list[Ensemble]:
    """A state's ensembles and their references."""
    aged = [e for e in setting.ensembles if e.state == state]
    references = [setting.find_reference(e) for e in aged]
    return [*filter(None, references), *aged]


def _format_growth_from_zero(
    setting: Setting, subject: str, state: str, figure: Figure
) -> str | None:
    """A figure that is 0 on fresh flash and not in this state has no ratio, but it has grown."""
    aged = setting.find(subject, state)
    fresh = setting.find_reference(aged) if aged else None
    both = [e for e in (fresh, aged) if e is not None]
    before, after = (e.spread(figure) if e else None for e in (fresh, aged))
    if not is_wear_steady_for_figure(figure, both):
        return None
    if before is None or after is None or before.min > 0 or after.max <= 0:
        return None
    return f"{subject} from {before.brief(figure.form)} to {after.brief(figure.form)}"


def _name_ageing_topic(setting: Setting) -> str:
    words = setting.words.headline
    return f"Ageing, {'time' if setting.headline.quantity.name == 'time' else words.noun}"


def _make_ageing_finding(
    topic: str, lead: str, entries: list[RankedEntry], *, falls: bool
) -> Finding:
    """Who suffers most: whose figure grows most, or falls most where more is better."""
    entries = sorted(entries, key=lambda e: e.spread.median if falls else -e.spread.median)
    (name, most), next_entries = entries[0], entries[1:]
    first = lead.format(r=_format_ratio_to_fresh(most))
    if not next_entries:
        return ranking.make_undecided_finding(topic, f"{name}: {first}.")
    next_text = "; ".join(
        f"{n} {_format_ratio_to_fresh(r)}"
        for n, r in ranking.select_entries_for_sentence(next_entries)
    )
    if all(r.median >= 1 if falls else r.median <= 1 for _, r in entries):
        moves = "falls" if falls else "grows"
        return ranking.make_undecided_finding(
            topic,
            f"None {moves} by its median: {name} {_format_ratio_to_fresh(most)}; {next_text}.",
        )
    if any(not most.is_distinct_from(r) for _, r in next_entries):
        return ranking.make_undecided_finding(
            topic, f"Which suffers most cannot be told: {name}, {first}; {next_text}."
        )
    return Finding(topic, f"{name} suffers most: {first}; {next_text}.", firm=True)


def _format_ratio_to_fresh(ratio: Spread) -> str:
    """``1.95 (1.90 to 2.00)``."""
    extent = (
        f" ({units.format_ratio(ratio.min)} to {units.format_ratio(ratio.max)})"
        if ratio.n > 1
        else ""
    )
    return f"{units.format_ratio(ratio.median)}{extent}"
