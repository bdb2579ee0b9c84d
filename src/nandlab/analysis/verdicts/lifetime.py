# SPDX-License-Identifier: GPL-2.0-or-later
"""What chips that were worn out answer, in words: which file system lives longest, and how it ends.

A trial that still lived when its rounds ended gives lower bounds, so its ensemble's range has no
upper end: it may be said to live longer than others, never shorter.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence

from nandlab.analysis.figures import life, ranking
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding, RankedEntry, RankingWords
from nandlab.analysis.figures.spread import compute_spread
from nandlab.analysis.verdicts import forecast
from nandlab.analysis.verdicts.forecast import ForecastScore, WriteForecast
from nandlab.analysis.verdicts.wearsteadiness import WearSteadiness
from nandlab.base import units

GAVE_UP_LETTERS = 72
"""How many letters are shown of the text that a trial gave up with; its file has all."""
LONG_NUMBER_PATTERN = re.compile(r"\d{3,}")
"""A number of a file or an offset; shorter ones may be error codes, which tell reasons apart."""

_LIFETIME_TOPICS = (
    (
        RankingWords(
            "Lifetime",
            "lifetimes",
            "lives longest",
            "{v} written by the load",
            "lives for {v}, {r} times as long",
            units.format_size,
            greatest=True,
            ranges=True,
        ),
        "life.written",
        "No life was recorded.",
    ),
    (
        RankingWords(
            "Write amplification",
            "write amplifications",
            "programs least for what the load writes",
            "{v} bytes for one",
            "programs {v}, {r} times as many",
            units.format_ratio,
            ranges=True,
        ),
        "life.amplification",
        "No page programs were counted.",
    ),
    (
        RankingWords(
            "Wear used",
            "shares of the rated erases",
            "uses up most of the rated erases",
            "{v}",
            "uses {v}, {r} times as much",
            units.format_percent,
            greatest=True,
            ranges=True,
        ),
        "life.wear_used",
        "The chip has no endurance, or no erases were counted.",
    ),
)
"""Rankings, the figure of each, and what is said where nothing has it."""


def list_lifetime_findings(setting: Setting, ensembles: Sequence[Ensemble]) -> tuple[Finding, ...]:
    """Lifetime, deaths, amplification, wear and end of the subjects in one state."""
    first, *other_findings = (
        _rank_by_figure(setting, ensembles, *topic) for topic in _LIFETIME_TOPICS
    )
    leaders = _select_leading_ensembles(setting, ensembles)
    forecasts = [_make_forecast_finding(leaders)] if any(map(_format_forecast, leaders)) else []
    return (
        first,
        _make_deaths_finding(setting, leaders),
        *other_findings,
        _make_ends_finding(leaders),
        *forecasts,
    )


def _rank_by_figure(
    setting: Setting, ensembles: Sequence[Ensemble], words: RankingWords, name: str, nothing: str
) -> Finding:
    figure = setting.figure(name)
    entries = [RankedEntry(e.subject, s) for e in ensembles if (s := e.spread(figure)) is not None]
    if not entries:
        return ranking.make_undecided_finding(words.topic, nothing)
    return ranking.make_ranking_finding_from_entries(entries, words)


def _make_deaths_finding(setting: Setting, leaders: Sequence[Ensemble]) -> Finding:
    """For each subject the first block's death, and how many died."""
    said = [f"{e.subject}: {_format_block_deaths(setting, e)}." for e in leaders]
    if not said:
        return ranking.make_undecided_finding("Block deaths", "No life was recorded.")
    return Finding("Block deaths", " ".join(said), firm=True)


def _format_block_deaths(setting: Setting, e: Ensemble) -> str:
    first, dead = (
        e.spread(setting.figure(name)) for name in ("life.first_death", "life.dead_blocks")
    )
    if dead is None:
        return "nothing was counted"
    if first is None:
        return "no block died"
    some = f", in {first.n} of {dead.n} trials" if first.n < dead.n else ""
    blocks = "block" if dead.median == dead.max == 1 else "blocks"
    return (
        f"the first block dies after {first.brief(units.format_size)}{some}; "
        f"at the end {dead.brief(units.format_count)} {blocks} of {e.first.chip.blocks} are dead"
    )


def _make_ends_finding(leaders: Sequence[Ensemble]) -> Finding:
    """How each subject gave up, and how many of its trials still lived."""
    said = [f"{e.subject}: {'; '.join(format_life_endings(e))}." for e in leaders]
    if not said:
        return ranking.make_undecided_finding("How it ends", "No life was recorded.")
    return Finding("How it ends", " ".join(said), firm=True)


def _make_forecast_finding(forecasts: Sequence[Ensemble]) -> Finding:
    """How well the first tenth of each life foretold its end; the end of those that still live."""
    scores = [
        s
        for e in forecasts
        for t in e.ok
        if isinstance(s := forecast.score_life_forecast(t), ForecastScore)
    ]
    sentences = [f"{e.subject}: {words}." for e in forecasts if (words := _format_forecast(e))]
    if scores:
        median = statistics.median(abs(s.error) for s in scores)
        sentences.insert(
            0,
            f"From the first tenth of each life, the median error of its end is "
            f"{units.format_percent(median)}, and {sum(s.is_within_forecast for s in scores)} of "
            f"{len(scores)} ends lie "
            "within the interval.",
        )
    return Finding("Foretold", " ".join(sentences), firm=True)


def _format_forecast(e: Ensemble) -> str:
    """Foretold by, and the error; empty where nothing tells it."""
    forecasts = [
        forecast.score_life_forecast(t) or forecast.forecast_writable_bytes(t)
        for t in e.ok
        if life.has_life_rounds(t)
    ]
    scores = [f for f in forecasts if isinstance(f, ForecastScore)]
    ahead = [f for f in forecasts if isinstance(f, WriteForecast)]
    short = [f for f in forecasts if isinstance(f, WearSteadiness)]
    parts = []
    if scores:
        errors = compute_spread(s.error for s in scores)
        assert errors is not None
        parts.append(f"foretold {errors.brief(_format_error)} than it was")
    if ahead:
        least, most = min(f.least for f in ahead), max(f.most for f in ahead)
        parts.append(
            f"still alive, its end is at {units.format_size(least)} to {units.format_size(most)}"
        )
    if short:
        parts.append(f"not known in {len(short)} of {len(forecasts)}, {short[0].advice}")
    return "; ".join(parts)


def _format_error(error: float) -> str:
    return f"{units.format_percent(abs(error))} {'less' if error < 0 else 'more'}"


def _select_leading_ensembles(setting: Setting, ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Ensembles with a life, the longest first, as many as fit a sentence."""
    words, name, _ = _LIFETIME_TOPICS[0]
    figure = setting.figure(name)
    entries = [RankedEntry(e.subject, s) for e in ensembles if (s := e.spread(figure)) is not None]
    by_name = {e.subject: e for e in ensembles}
    return [by_name[name] for name, _ in ranking.select_entries_for_sentence(words.order(entries))]


def format_life_endings(e: Ensemble) -> list[str]:
    """Each text that trials gave up with and in how many, then how many still lived.

    Texts that differ only in the number of a file or an offset count as one; the first is shown.
    """
    lives = [t for t in e.ok if life.has_life_rounds(t)]
    first: dict[str, str] = {}
    reasons: Counter[str] = Counter()
    for text in (said for t in lives if (said := life.find_give_up_error(t)) is not None):
        alike = LONG_NUMBER_PATTERN.sub("#", text)
        reasons[first.setdefault(alike, shorten_text(text))] += 1
    alive = sum(t.open_ended and not life.has_ended_at_steady_wear(t) for t in lives)
    steady = sum(map(life.has_ended_at_steady_wear, lives))
    parts = [f"{n} of {len(lives)} gave up with “{why}”" for why, n in reasons.most_common()]
    if alive:
        parts.append(f"{alive} of {len(lives)} still lived when the rounds ended")
    if steady:
        parts.append(f"{steady} of {len(lives)} ended when its wear was steady, as asked")
    return parts


def format_given_up_count(e: Ensemble) -> str:
    """``2 of 3``: trials whose file system gave up, of those with a life; or a dash."""
    lives = [t for t in e.ok if life.has_life_rounds(t)]
    gone = sum(not t.open_ended for t in lives)
    return f"{gone} of {len(lives)}" if lives else units.MISSING


def shorten_text(text: str, letters: int = GAVE_UP_LETTERS) -> str:
    """The text in one line, cut to so many letters."""
    line = " ".join(text.split()) or "nothing said"
    return line if len(line) <= letters else f"{line[: letters - 1].rstrip()}…"
