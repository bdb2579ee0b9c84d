# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run answers about phases in flash states, in words, and what limits any answer.

No sentence says more than the ranges carry: ``ranking`` puts an order into words. Trials that
failed or are missing are no part of any figure, and are named before every other sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.analysis import doubts, leans, life, members, ranking, stalls, steady
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.ranking import Entry, Finding, Ranking
from nandlab.analysis.spread import Spread, quotient
from nandlab.analysis.totals import chip_total
from nandlab.base import units
from nandlab.results.record import MEMBERS_MIN, WARNINGS, Run, Trial

NOT_REACHED = "Not reached"
"""How a sentence begins that says only that loads were too short."""
ASSUMED = "Assumed:"
"""How the catalog begins the source of a figure that no data sheet gives."""


@dataclass(frozen=True)
class Answer:
    """The findings for one flash state of a setting."""

    state: str
    findings: tuple[Finding, ...]


def headline_order(setting: Setting) -> Ranking:
    """The ranking by this workload's headline figure, in its own words."""
    words, figure = setting.words.headline, setting.headline
    return Ranking(
        "Time" if figure.quantity.name == "time" else words.noun.capitalize(),
        f"{words.noun}s",
        words.best,
        "{v}",
        words.more,
        figure.form,
        greatest=figure.better == "more",
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


def state_answers(setting: Setting) -> list[Answer]:
    """For each flash state: the order of its subjects, and how far it is from the fresh state."""
    aged = aged_states(setting)
    found = []
    for state in setting.states:
        here = [e for e in setting.ensembles if e.state == state]
        grown = ageing(setting, state) if state in aged else []
        found.append(Answer(state, (*_state_findings(setting, here), *grown)))
    return found


def _few(trials: Sequence[Trial]) -> int:
    """Configurations with less trials than a board that does not repeat asks for."""
    return sum(n < MEMBERS_MIN for n in members.counts(trials).values())


def _of_times(run: Run, trials: Sequence[Trial]) -> str:
    """What is to be known of times that do not repeat."""
    if not run.own_board:
        return (
            "The board's clock was not deterministic in this run: its times carry noise "
            f"and do not repeat. {WARNINGS['not_deterministic']}"
        )
    line = "On a board of your own no time repeats: each is told with the range of its trials."
    n = min(members.counts(trials).values(), default=0)
    if n < MEMBERS_MIN:
        return line
    # each trial is above the median or below it, as a coin falls
    chance = 1 - 2 ** (1 - n)
    return f"{line} Of {n} trials it holds the true median with {chance:.0%} confidence."


def grave(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    """What limits any answer: trials that are in no figure, and times that do not repeat."""
    lines = _absences(run, trials, missing)
    trials = members.joined(trials)
    if not run.deterministic:
        lines.append(_of_times(run, trials))
        if few := _few(trials):
            has = _verb(few, "configuration has", "configurations have")
            lines.append(f"{few} {has} less than {MEMBERS_MIN} trials: their spread is in doubt.")
    return lines


def caveats(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    """What limits the answer, the gravest first; empty when nothing does."""
    lines = grave(run, trials, missing)
    trials = members.joined(trials)
    lines += members.lines(trials)
    single = singles(trials)
    if single:
        has = _verb(single, "configuration has", "configurations have")
        lines.append(
            f"{single} {has} a single trial: how far the figures spread is unknown, so there is no "
            "order to state. Give the study more seeds."
        )
    codes = Counter(code for t in trials for code in {w.code for w in t.warnings})
    codes.pop("not_deterministic", None)
    for code, n in sorted(codes.items()):
        advice = doubts.advice(code, trials)
        carry = _verb(n, "carries", "carry")
        lines.append(f"{_trials(n)} of {len(trials)} {carry} the doubt {code}. {advice}")
    alive = sum(t.open_ended for t in trials if t.ok and not life.was_steady(t))
    if alive:
        lines.append(
            f"{_trials(alive)} still lived when the rounds ended: what was written until then is "
            "less than the whole life. Give the workload more rounds, or the chip less endurance."
        )
    wrote = [t for t in trials if t.ok and not life.lived(t) and chip_total(t, "programs") != 0]
    late = [t for t in wrote if steady.short([t])]
    if short := steady.short(late):
        loads = _verb(len(late), "load", "loads")
        lines.append(
            f"The {loads} of {_trials(len(late))} ended before wear was steady: wear, evenness and "
            f"lifetime are not reached, times hold. For the one that lacks most, {short.advice}."
        )
    uncounted = sum(1 for t in trials if t.ok and not _counted(t))
    if uncounted:
        has = _verb(uncounted, "has", "have")
        lines.append(f"{_trials(uncounted)} {has} no counts of chip operations.")
    return lines


def available(trials: Sequence[Trial]) -> str | None:
    """The RAM that was available as trials began: one size, or a range; None: not known."""
    known = sorted(t.available for t in trials if t.available is not None)
    if not known:
        return None
    sizes = dict.fromkeys(units.size(n) for n in (known[0], known[-1]))
    return f"{' to '.join(sizes)} of RAM available as a trial begins"


def _counted(trial: Trial) -> bool:
    """Whether anything says what the chip did."""
    counts = [*(p.chip for p in trial.phases), *(s.chip for s in trial.steps)]
    return any(c is not None for c in counts) or trial.line("erases") is not None


def assumed(setting: Setting) -> list[tuple[str, str]]:
    """Figures of the setting's chip that are not from a data sheet: dotted key, and the source.

    The catalog marks them; each trial holds the catalog file that it was run with.
    """
    sources: dict[str, str] = setting.ensembles[0].first.about("chip").get("sources", {})
    return [
        (figure, text.removeprefix(ASSUMED).strip())
        for figure, text in sources.items()
        if text.startswith(ASSUMED)
    ]


def singles(trials: Sequence[Trial]) -> int:
    """Configurations of which exactly one trial ended well."""
    return sum(n == 1 for n in members.counts(members.joined(trials)).values())


def _absences(run: Run, trials: Sequence[Trial], missing: Sequence[str]) -> list[str]:
    failed = sum(t.status == "trial_failed" for t in trials)
    lost = sum(t.status == "board_lost" for t in trials)
    unmeasured = sum(t.status == "not_measured" for t in trials)
    parts = [
        text
        for n, text in (
            (failed, f"{failed} failed"),
            (lost, f"{lost} lost the board"),
            (unmeasured, f"{unmeasured} could not be measured, by the workload's own fault"),
            (len(missing), f"{len(missing)} {_verb(len(missing), 'has', 'have')} not been run"),
        )
        if n
    ]
    absent = failed + lost + unmeasured + len(missing)
    if not absent:
        return []
    are = _verb(absent, "is", "are")
    return [
        f"{absent} of {_trials(len(run.trials))} {are} not in the figures: {', '.join(parts)}. "
        "What they would have shown is unknown."
    ]


def incomplete(setting: Setting) -> list[str]:
    """Configurations of which a finished trial did not end well."""
    lines = []
    for e in setting.ensembles:
        bad = e.failed
        if bad and not e.ok:
            lines.append(f"{e.label} has no trial that ended well and is not ranked.")
        elif bad:
            lines.append(f"{e.label} stands on {len(e.trials) - bad} of {_trials(len(e.trials))}.")
    return lines


def _state_findings(setting: Setting, ensembles: list[Ensemble]) -> list[Finding]:
    """Headline, wear, evenness, tail and stalls of the subjects in one state."""
    topics = (
        (
            headline_order(setting),
            setting.headline,
            f"No {setting.words.headline.noun} was measured.",
        ),
        (_ERASES, setting.figure("chip.erases"), "No erases were counted."),
        (_EVEN, setting.figure("wear.spread"), "No wear per block was recorded."),
    )
    told = [
        doubts.marked(ranked(ensembles, words, figure, nothing), ((e, figure) for e in ensembles))
        for words, figure, nothing in topics
    ]
    tails = [(e, tail) for e in ensembles if (tail := worst_tail(setting, e)) is not None]
    used = [(e, setting.figure(f"latency.{tail.operation}.p99")) for e, tail in tails]
    slowest = doubts.marked(_tail(setting, ensembles), used)
    told += [slowest, *stalls.findings(setting, ensembles)]
    return [*told, *leans.findings(setting, ensembles)]


def ranked(ensembles: Sequence[Ensemble], words: Ranking, figure: Figure, nothing: str) -> Finding:
    """An order; of figures of wear only among those whose load was long enough."""
    known = [(e, Entry(e.subject, s)) for e in ensembles if (s := e.spread(figure)) is not None]
    if not known:
        return ranking.no_order(words.topic, nothing)
    late = [e for e, _ in known if not reached(figure, [e])]
    entries = [entry for e, entry in known if e not in late]
    if not late:
        return ranking.rank(entries, words)
    told = not_reached(late)
    if len(entries) > 1:
        told = f"{ranking.rank(entries, words).text} {told}"
    return ranking.no_order(words.topic, told)


def reached(figure: Figure, ensembles: Sequence[Ensemble]) -> bool:
    """Whether the figure tells more than when the loads ended: not of wear, or wear was steady."""
    if not steady.is_of_wear(figure.name):
        return True
    return all(steady.short(e.ok) is None for e in ensembles)


def not_reached(ensembles: Sequence[Ensemble]) -> str:
    """``Not reached by JFFS2 and UBIFS: the load is too short (...); write at least 1 GiB.``"""
    short = steady.short(t for e in ensembles for t in e.ok)
    names = ranking.joined(list(dict.fromkeys(e.subject for e in ensembles)))
    return f"{NOT_REACHED} by {names}: {short.advice}." if short else ""


class Tail(NamedTuple):
    """A kind of operation and the spread of its p99, in ns."""

    operation: str
    p99: Spread


def worst_tail(setting: Setting, ensemble: Ensemble) -> Tail | None:
    """The kind of operation with the greatest median p99, of those in phases that count."""
    tails: list[Tail] = []
    for operation in setting.words.counting:
        found = ensemble.spread(setting.figure(f"latency.{operation.name}.p99"))
        if found is not None:
            tails.append(Tail(operation.name, found))
    return max(tails, key=lambda t: t.p99.median) if tails else None


def _tail(setting: Setting, ensembles: list[Ensemble]) -> Finding:
    """The subject whose worst kind of operation has the greatest p99."""
    known = [(e.subject, tail) for e in ensembles if (tail := worst_tail(setting, e)) is not None]
    if not known:
        return ranking.no_order("Tail latency", "No latencies were recorded.")
    known.sort(key=lambda k: -k[1].p99.median)
    (subject, most), rest = known[0], known[1:]
    value = f"{most.operation}, p99 {units.time(most.p99.median)}"
    if not rest:
        return ranking.no_order(
            "Tail latency", f"Only {subject} was measured; its slowest: {value}."
        )
    if all(tail.p99.n == 1 for _, tail in known):
        return ranking.no_order(
            "Tail latency", f"One trial each: too few to state an order ({subject} {value})."
        )
    alike = [name for name, tail in rest if not most.p99.told_apart(tail.p99)]
    if alike:
        names = ranking.joined([subject, *alike])
        text = f"Which has the worst cannot be told of {names}; by its median {subject} ({value})."
        return ranking.no_order("Tail latency", text)
    name, tail = rest[0]
    then = f"{tail.operation}, {units.time(tail.p99.median)}"
    text = f"{subject} has the worst: {value}; then {name}: {then}."
    return Finding("Tail latency", text, firm=True)


def ageing_ratio(setting: Setting, subject: str, state: str, figure: Figure) -> Spread | None:
    """A figure in a state / the same figure in the state that asked for no data (fresh)."""
    fresh = next((e for e in setting.ensembles if e.subject == subject and e.reference), None)
    aged = setting.find(subject, state)
    if fresh is None or aged is None or aged.reference or not reached(figure, [fresh, aged]):
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
    """By how much headline and erases grow from fresh; the subject that suffers most first."""
    words = setting.words.headline
    topics = (
        (
            _ageing_topic(setting),
            f"its {words.noun} is {{r}} times that of fresh flash",
            setting.headline,
        ),
        (
            "Ageing, wear",
            "it needs {r} times the block erases of fresh flash",
            setting.figure("chip.erases"),
        ),
    )
    found = []
    for topic, lead, figure in topics:
        late = _not_aged(setting, state, figure)
        ratios = [(s, ageing_ratio(setting, s, state, figure)) for s in setting.subjects]
        known = [Entry(s, r) for s, r in ratios if r is not None]
        from_zero = [f for s in setting.subjects if (f := _from_zero(setting, s, state, figure))]
        used = [(e, figure) for e in setting.ensembles if e.reference or e.state == state]
        if known and not from_zero:
            more = figure.better == "more"
            told = _ageing_finding(topic, lead, known, falls=more)
            found.append(doubts.marked(told, used))
        elif known or from_zero:
            grown = [f"{name} {_times_fresh(r)} times" for name, r in known]
            each = "; ".join([*from_zero, *grown])
            text = f"Which suffers most cannot be told, for some begin at 0: {each}."
            found.append(doubts.marked(ranking.no_order(topic, text), used))
        elif late:
            found.append(ranking.no_order(topic, not_reached(late)))
    return found


def _not_aged(setting: Setting, state: str, figure: Figure) -> list[Ensemble]:
    """The ensembles whose loads were too short to compare the state with fresh flash."""
    both = [e for e in setting.ensembles if e.reference or e.state == state]
    return [e for e in both if not reached(figure, [e])]


def _from_zero(setting: Setting, subject: str, state: str, figure: Figure) -> str | None:
    """A figure that is 0 on fresh flash and not in this state has no ratio, but it has grown."""
    fresh = next((e for e in setting.ensembles if e.subject == subject and e.reference), None)
    aged = setting.find(subject, state)
    both = [e for e in (fresh, aged) if e is not None]
    before, after = (e.spread(figure) if e else None for e in (fresh, aged))
    if not reached(figure, both):
        return None
    if before is None or after is None or before.min > 0 or after.max <= 0:
        return None
    return f"{subject} from {before.brief(figure.form)} to {after.brief(figure.form)}"


def _ageing_topic(setting: Setting) -> str:
    words = setting.words.headline
    return f"Ageing, {'time' if setting.headline.quantity.name == 'time' else words.noun}"


def _ageing_finding(topic: str, lead: str, known: list[Entry], *, falls: bool) -> Finding:
    """Who suffers most: whose figure grows most, or falls most where more is better."""
    known = sorted(known, key=lambda e: e.spread.median if falls else -e.spread.median)
    (name, most), rest = known[0], known[1:]
    first = lead.format(r=_times_fresh(most))
    if not rest:
        return ranking.no_order(topic, f"{name}: {first}.")
    others = "; ".join(f"{n} {_times_fresh(r)}" for n, r in ranking.few(rest))
    if all(r.median >= 1 if falls else r.median <= 1 for _, r in known):
        moves = "falls" if falls else "grows"
        return ranking.no_order(
            topic, f"None {moves} by its median: {name} {_times_fresh(most)}; {others}."
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


def _verb(n: int, one: str, many: str) -> str:
    return one if n == 1 else many
