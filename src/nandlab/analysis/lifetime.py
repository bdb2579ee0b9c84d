# SPDX-License-Identifier: GPL-2.0-or-later
"""What chips that were worn out answer, in words: which file system lives longest, and how it ends.

A trial that still lived when its rounds ended gives lower bounds, so that its ensemble's range has
no upper end: it may be told to live longer than others, never shorter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from nandlab.analysis import figures, ranking
from nandlab.analysis.groups import Ensemble
from nandlab.analysis.ranking import Finding, Ranking
from nandlab.analysis.spread import Spread, unended
from nandlab.base import units
from nandlab.results.record import Trial

Figure = Callable[[Trial], float | None]

GAVE_UP_LETTERS = 72
"""Letters that are shown of what a file system gave up with; the trial file has all."""
LONG_NUMBER = re.compile(r"\d{3,}")
"""Names a file or an offset; shorter ones may be error codes, which tell reasons apart."""

_WRITTEN = Ranking(
    "Lifetime",
    "lifetimes",
    "lives longest",
    "{v} written by the load",
    "lives for {v}, {r} times as long",
    units.size,
    greatest=True,
    ranges=True,
)
_AMPLIFICATION = Ranking(
    "Write amplification",
    "write amplifications",
    "programs least for what the load writes",
    "{v} bytes for one",
    "programs {v}, {r} times as many",
    units.ratio,
    ranges=True,
)
_USED = Ranking(
    "Wear used",
    "shares of the rated erases",
    "uses up most of the rated erases",
    "{v}",
    "uses {v}, {r} times as much",
    units.percent,
    greatest=True,
    ranges=True,
)


def written(e: Ensemble) -> Spread | None:
    """Bytes that the load wrote until the file system gave up."""
    return _of_a_life(e, figures.life_written)


def wear_used(e: Ensemble) -> Spread | None:
    """Share of the rated erases that was used until the file system gave up."""
    return _of_a_life(e, figures.wear_used)


def dead_blocks(e: Ensemble) -> Spread | None:
    """Blocks dead at the end."""
    return e.spread(lambda t: figures.life_total(t, "dead_blocks"))


def first_death(e: Ensemble) -> Spread | None:
    """Bytes written until the first block was seen dead, of the trials in which one died."""
    return e.spread(figures.first_death)


def amplification(e: Ensemble) -> Spread | None:
    """Bytes programmed for each byte that the load wrote, over the life so far."""
    return e.spread(figures.life_amplification)


def _of_a_life(e: Ensemble, figure: Figure) -> Spread | None:
    return unended((figure(t), figures.still_lives(t)) for t in e.ok)


def findings(ensembles: Sequence[Ensemble]) -> tuple[Finding, ...]:
    """Lifetime, deaths, amplification, wear and end of the subjects in one state."""
    spreads: list[tuple[Ranking, Callable[[Ensemble], Spread | None], str]] = [
        (_WRITTEN, written, "No life was recorded."),
        (_AMPLIFICATION, amplification, "No page programs were counted."),
        (_USED, wear_used, "The chip has no endurance, or no erases were counted."),
    ]
    first, *others = (_ranked(ensembles, *topic) for topic in spreads)
    return (first, _deaths(ensembles), *others, _ends(ensembles))


def _ranked(
    ensembles: Sequence[Ensemble],
    words: Ranking,
    found: Callable[[Ensemble], Spread | None],
    nothing: str,
) -> Finding:
    entries = [(e.subject, s) for e in ensembles if (s := found(e)) is not None]
    if not entries:
        return ranking.no_order(words.topic, nothing)
    return ranking.rank(entries, words)


def _deaths(ensembles: Sequence[Ensemble]) -> Finding:
    """For each subject the first block's death, and how many died."""
    said = [f"{e.subject}: {_death(e)}." for e in _told(ensembles)]
    if not said:
        return ranking.no_order("Block deaths", "No life was recorded.")
    return Finding("Block deaths", " ".join(said), firm=True)


def _death(e: Ensemble) -> str:
    first, dead = first_death(e), dead_blocks(e)
    if dead is None:
        return "nothing was counted"
    if first is None:
        return "no block died"
    some = f", in {first.n} of {dead.n} trials" if first.n < dead.n else ""
    blocks = "block" if dead.median == dead.max == 1 else "blocks"
    return (
        f"the first block dies after {first.brief(units.size)}{some}; "
        f"at the end {dead.brief(units.count)} {blocks} of {e.first.chip.blocks} are dead"
    )


def _ends(ensembles: Sequence[Ensemble]) -> Finding:
    """How each subject gave up, and how many of its trials still lived."""
    said = [f"{e.subject}: {'; '.join(endings(e))}." for e in _told(ensembles)]
    if not said:
        return ranking.no_order("How it ends", "No life was recorded.")
    return Finding("How it ends", " ".join(said), firm=True)


def _told(ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Those with a life, the longest first, as many as a sentence bears."""
    entries = [(e.subject, s) for e in ensembles if (s := written(e)) is not None]
    by_name = {e.subject: e for e in ensembles}
    return [by_name[name] for name, _ in ranking.few(_WRITTEN.order(entries))]


def endings(e: Ensemble) -> list[str]:
    """Each thing that trials gave up with, and in how many; then those that still lived.

    Texts that differ in numbers of a file or an offset only are one; the first of them is shown.
    """
    lives = [t.lifetime for t in e.ok if t.lifetime]
    first: dict[str, str] = {}
    reasons: Counter[str] = Counter()
    for text in (life.gave_up for life in lives if life.gave_up is not None):
        alike = LONG_NUMBER.sub("#", text)
        reasons[first.setdefault(alike, shortened(text))] += 1
    alive = sum(life.gave_up is None for life in lives)
    parts = [f"{n} of {len(lives)} gave up with “{why}”" for why, n in reasons.most_common()]
    if alive:
        parts.append(f"{alive} of {len(lives)} still lived when the rounds ended")
    return parts


def ended(e: Ensemble) -> str:
    """``2 of 3``: trials whose file system gave up, of those with a life; or a dash."""
    lives = [t for t in e.ok if t.lifetime]
    gone = sum(not figures.still_lives(t) for t in lives)
    return f"{gone} of {len(lives)}" if lives else units.MISSING


def shortened(text: str, letters: int = GAVE_UP_LETTERS) -> str:
    """In one line, and cut where it is longer than what is shown."""
    line = " ".join(text.split()) or "nothing said"
    return line if len(line) <= letters else f"{line[: letters - 1].rstrip()}…"
