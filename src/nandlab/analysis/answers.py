# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run answers, in words, by rules: no sentence says more than the ranges carry.

``ranking`` puts an order into words, ``lifetime`` has the topics of chips that were worn out.
Trials that failed or are missing are no part of any figure, and are named before every other
sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandlab.analysis import figures, lifetime, ranking, sweep
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.ranking import Entry, Finding, Ranking
from nandlab.analysis.spread import Spread, quotient, spread
from nandlab.base import units
from nandlab.results.record import OPERATIONS, WARNINGS, Run, Trial

ASSUMED = "Assumed:"
"""How the catalog begins the source of a figure that has none."""


@dataclass(frozen=True)
class Answer:
    """The findings for one flash state of a setting."""

    state: str
    findings: tuple[Finding, ...]


_TIME = Ranking(
    "Time",
    "transaction times",
    "finishes the transactions first",
    "{v}",
    "takes {r} times as long",
    units.time,
)
_ERASES = Ranking(
    "Wear",
    "erase counts",
    "wears the flash least",
    "{v} block erases",
    "needs {r} times as many",
    units.count,
)
_EVEN = Ranking(
    "Evenness",
    "wear spreads",
    "wears the blocks most evenly",
    "their erase counts differ by {v} at most",
    "spreads {r} times as far",
    units.count,
)


def answers(setting: Setting) -> list[Answer]:
    """For each flash state: the order of its subjects, and how far it is from the fresh state."""
    if sweep.is_sweep(setting):
        return [Answer("swept", tuple(sweep.findings(setting)))]
    aged = aged_states(setting)
    found = []
    for state in setting.states:
        here = [e for e in setting.ensembles if e.state == state]
        if setting.lifetime:
            found.append(Answer(state, lifetime.findings(here)))
            continue
        grown = ageing(setting, state) if state in aged else []
        found.append(Answer(state, (*_state_findings(here), *grown)))
    return found


def caveats(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    """What limits the answer, the gravest first; empty when nothing does."""
    lines = _absences(run, trials, missing)
    if not run.deterministic:
        lines.append(
            "The board's clock was not deterministic in this run: its times carry noise of the "
            f"host and do not repeat. {WARNINGS['not_deterministic']}"
        )
    single = singles(trials)
    if single:
        has = "configuration has" if single == 1 else "configurations have"
        lines.append(
            f"{single} {has} a single trial: how far the figures spread is unknown, so there is no "
            "order to state. Give the study more seeds."
        )
    codes = Counter(code for t in trials for code in {w.code for w in t.warnings})
    codes.pop("not_deterministic", None)
    for code, n in sorted(codes.items()):
        advice = WARNINGS.get(code, "See the trial files.")
        lines.append(f"{_trials(n)} of {len(trials)} carr{_y(n)} the doubt {code}. {advice}")
    alive = sum(figures.still_lives(t) for t in trials if t.ok)
    if alive:
        lines.append(
            f"{_trials(alive)} still lived when the rounds ended: what was written until then is "
            "less than the whole life. Give the workload more rounds, or the chip less endurance."
        )
    uncounted = sum(1 for t in trials if t.ok and t.flash is None and t.lifetime is None)
    if uncounted:
        lines.append(f"{_trials(uncounted)} ha{_s(uncounted)} no counts of chip operations.")
    return lines


def assumed(setting: Setting) -> list[tuple[str, str]]:
    """Figures of the setting's chip that no data sheet was read for: dotted key, and what for it.

    The catalog marks them, and each trial holds the catalog's file that it was run with.
    """
    chip = setting.ensembles[0].first.provenance.get("chip", {})
    sources: dict[str, str] = chip.get("sources", {})
    return [
        (figure, text.removeprefix(ASSUMED).strip())
        for figure, text in sources.items()
        if text.startswith(ASSUMED)
    ]


def singles(trials: Sequence[Trial]) -> int:
    """Configurations of which exactly one trial ended well."""
    ended_well = Counter(t.configuration() for t in trials if t.ok)
    return sum(n == 1 for n in ended_well.values())


def _absences(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    failed = sum(t.status == "trial_failed" for t in trials)
    lost = sum(t.status == "board_lost" for t in trials)
    parts = [
        text
        for n, text in (
            (failed, f"{failed} failed"),
            (lost, f"{lost} lost the board"),
            (len(missing), f"{len(missing)} {'has' if len(missing) == 1 else 'have'} not been run"),
        )
        if n
    ]
    absent = failed + lost + len(missing)
    if not absent:
        return []
    are = "is" if absent == 1 else "are"
    return [
        f"{absent} of {_trials(len(run.trials))} {are} not in the figures: {', '.join(parts)}. "
        "What they would have shown is unknown."
    ]


def incomplete(setting: Setting) -> list[str]:
    """Configurations of which a finished trial did not end well."""
    lines = []
    for e in setting.ensembles:
        bad = len(e.trials) - len(e.ok)
        if bad and not e.ok:
            lines.append(f"{e.label} has no trial that ended well and is not ranked.")
        elif bad:
            lines.append(f"{e.label} stands on {len(e.ok)} of {_trials(len(e.trials))}.")
    return lines


def _state_findings(ensembles: list[Ensemble]) -> list[Finding]:
    """Time, wear, evenness and tail of the subjects in one state."""

    def entries(figure: Callable[[Trial], float | None]) -> list[Entry]:
        spreads = ((e.subject, e.spread(figure)) for e in ensembles)
        return [(name, s) for name, s in spreads if s is not None]

    time = entries(_transactions_ns)
    erases = entries(_erases)
    uneven = entries(figures.wear_spread)
    return [
        ranking.rank(time, _TIME)
        if time
        else ranking.no_order("Time", "No transaction time was measured."),
        ranking.rank(erases, _ERASES)
        if erases
        else ranking.no_order("Wear", "No erases were counted."),
        ranking.rank(uneven, _EVEN)
        if uneven
        else ranking.no_order("Evenness", "No wear per block was recorded."),
        _tail(ensembles),
    ]


Tail = tuple[str, Spread]
"""A kind of operation and the spread of its p99, in ns."""


def worst_tail(ensemble: Ensemble) -> Tail | None:
    """The kind of operation with the greatest median p99."""
    tails: list[Tail] = []
    for operation in OPERATIONS:
        found = spread(figures.latency_ns(t, operation, "p99") for t in ensemble.ok)
        if found is not None:
            tails.append((operation, found))
    return max(tails, key=lambda t: t[1].median) if tails else None


def _tail(ensembles: list[Ensemble]) -> Finding:
    """The subject whose worst kind of operation has the greatest p99."""
    known = [(e.subject, tail) for e in ensembles if (tail := worst_tail(e)) is not None]
    if not known:
        return ranking.no_order("Tail latency", "No latencies were recorded.")
    known.sort(key=lambda k: -k[1][1].median)
    subject, (operation, most) = known[0]
    value = f"{operation}, p99 {units.time(most.median)}"
    if len(known) == 1:
        return ranking.no_order(
            "Tail latency", f"Only {subject} was measured; its slowest: {value}."
        )
    if all(tail[1].n == 1 for _, tail in known):
        return ranking.no_order(
            "Tail latency", f"One trial each: too few to state an order ({subject} {value})."
        )
    alike = [name for name, tail in known[1:] if not most.told_apart(tail[1])]
    if alike:
        names = ranking.joined([subject, *alike])
        text = f"Which has the worst cannot be told of {names}; by its median {subject} ({value})."
        return ranking.no_order("Tail latency", text)
    name, (other, less) = known[1]
    text = f"{subject} has the worst: {value}; then {name}: {other}, {units.time(less.median)}."
    return Finding("Tail latency", text, firm=True)


def ageing_ratio(
    setting: Setting, subject: str, state: str, figure: Callable[[Trial], float | None]
) -> Spread | None:
    """A figure in a state / the same figure in the state that asked for no data (fresh)."""
    fresh = next((e for e in setting.ensembles if e.subject == subject and e.reference), None)
    aged = setting.find(subject, state)
    if fresh is None or aged is None or aged.reference:
        return None
    return quotient(aged.spread(figure), fresh.spread(figure))


def aged_states(setting: Setting) -> list[str]:
    """The states that have a fresh state to be set against, in order."""
    if not any(e.reference for e in setting.ensembles):
        return []
    return [
        s
        for s in setting.states
        if any(e.state == s and not e.reference for e in setting.ensembles)
    ]


def ageing(setting: Setting, state: str) -> list[Finding]:
    """By how much time and erases grow from fresh; the subject that suffers most first."""
    found = []
    for topic, lead, figure in AGEING_FIGURES:
        ratios = [(s, ageing_ratio(setting, s, state, figure)) for s in setting.subjects]
        known = [(s, r) for s, r in ratios if r is not None]
        if known:
            found.append(_ageing_finding(topic, lead, known))
    return found


def _transactions_ns(trial: Trial) -> float | None:
    return figures.total_ns(trial, "transactions")


def _erases(trial: Trial) -> float | None:
    return figures.chip_total(trial, "erases")


AGEING_FIGURES = (
    ("Ageing, time", "its transactions take {r} times as long as on fresh flash", _transactions_ns),
    ("Ageing, wear", "it needs {r} times the block erases of fresh flash", _erases),
)


def _ageing_finding(topic: str, lead: str, known: list[Entry]) -> Finding:
    known = sorted(known, key=lambda k: -k[1].median)
    (name, most), rest = known[0], known[1:]
    first = lead.format(r=_times_fresh(most))
    if not rest:
        return ranking.no_order(topic, f"{name}: {first}.")
    others = "; ".join(f"{n} {_times_fresh(r)}" for n, r in ranking.few(rest))
    if all(r.median <= 1 for _, r in known):
        return ranking.no_order(
            topic, f"None grows by its median: {name} {_times_fresh(most)}; {others}."
        )
    if any(not most.told_apart(r) for _, r in rest):
        return ranking.no_order(
            topic, f"Which suffers most cannot be told: {name}, {first}; {others}."
        )
    return Finding(topic, f"{name} suffers most: {first}; {others}.", firm=True)


def _times_fresh(ratio: Spread) -> str:
    """``1.95 (1.90 to 2.00)``."""
    extent = f" ({units.ratio(ratio.min)} to {units.ratio(ratio.max)})" if ratio.n > 1 else ""
    return f"{units.ratio(ratio.median)}{extent}"


def _trials(n: int) -> str:
    return f"{n} trial" if n == 1 else f"{n} trials"


def _s(n: int) -> str:
    return "s" if n == 1 else "ve"


def _y(n: int) -> str:
    return "ies" if n == 1 else "y"
