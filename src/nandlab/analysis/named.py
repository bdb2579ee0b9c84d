# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of the figures that trials have, and those that a reader means."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterator, Sequence
from contextlib import suppress

from nandlab.analysis import energy, life
from nandlab.analysis.durable import DURABLE, WRITES
from nandlab.analysis.figures import (
    CHIP_OPERATIONS,
    EVENNESS,
    IMAGE,
    MOVED,
    OWN_WEAR,
    WEAR,
    find,
)
from nandlab.analysis.groups import Setting
from nandlab.analysis.words import PERCENTILES, Words
from nandlab.base.errors import UsageError
from nandlab.results.record import Trial

NEAREST = 3
"""How many names are told for one that no figure has."""
ALIKE_MIN = 0.5
"""How like an unknown name a figure's must be to be told, 0..1 as difflib counts it."""
FOLLOWS = (
    *("energy.", f"latency.{WRITES}.", f"latency.{DURABLE}.", "chip.amplification"),
    *("ready.", "power."),
)
"""Figures whose names begin so follow from others, which have names of their own, or from the
campaigns beside a run, which are no part of a trial."""


def names(trials: Sequence[Trial], of: Words) -> list[str]:
    """Every name that a trial has a value for; figures of the chip first, as causes of others."""
    ended = [t for t in trials if t.ok]
    every = dict.fromkeys([*_counted(of), *_timed(of), *_told(ended, of)])
    return [name for name in every if _measured(name, of, ended)]


def _measured(name: str, of: Words, trials: Sequence[Trial]) -> bool:
    """Whether a trial has a value; a part's own name may be such that no figure's name has it."""
    with suppress(UsageError):
        figure = find(name, of)
        return any(figure(trial) is not None for trial in trials)
    return False


def known(settings: Sequence[Setting]) -> list[str]:
    """The names of all figures of some settings, each once."""
    return list(dict.fromkeys(name for s in settings for name in names(s.trials, s.words)))


def meant(asked: str, there: Sequence[str]) -> list[str]:
    """The names among ``there`` that a reader means, who may leave out the begin or use ``*``.

    ``commit.p99`` is ``latency.commit.p99`` where no other ends so; ``chip.*`` is all of the chip.
    UsageError tells the nearest names if it is none of them, or the end of several.
    """
    ends = [name for name in there if name.endswith(f".{asked}")]
    if asked in there or len(ends) == 1:
        return [asked] if asked in there else ends
    found = [name for name in there if fnmatch.fnmatchcase(name, asked)]
    if not found:
        nearest = (ends or _nearest(asked, there))[:NEAREST]
        told = f"nearest: {', '.join(nearest)}" if nearest else "docs/workloads.md has their names"
        raise UsageError(f"no trial here has a figure {asked!r}; {told}")
    return found


def follows(name: str) -> bool:
    """Whether a figure follows from others, such as a rate from a time: it never moves alone."""
    return name.startswith(FOLLOWS) or name.endswith("per_s")


def _nearest(asked: str, known: Sequence[str]) -> list[str]:
    """The names most like this one, taken whole or without their family."""
    like: dict[str, float] = {}
    for name in known:
        forms = {name, name.partition(".")[2]} - {""}
        like[name] = max(difflib.SequenceMatcher(None, asked, form).ratio() for form in forms)
    near = sorted((n for n in known if like[n] >= ALIKE_MIN), key=lambda n: -like[n])
    return near


def _counted(of: Words) -> Iterator[str]:
    """What the chip did: in all, by phase, and per block."""
    yield from (f"chip.{what}" for what in (*CHIP_OPERATIONS, "amplification"))
    yield from (f"phase.{p.name}.{what}" for p in of.phases for what in CHIP_OPERATIONS)
    yield from (f"blocks.{what}" for what in CHIP_OPERATIONS)
    yield from (f"wear.{what}" for what in (*WEAR, *EVENNESS))
    yield from (f"wear.all.{what}" for what in EVENNESS)
    yield from (f"wear.own.{what}" for what in OWN_WEAR)


def _timed(of: Words) -> Iterator[str]:
    """Times, rates and latencies of the load."""
    yield "time"
    for phase in of.phases:
        yield from (f"phase.{phase.name}{what}" for what in ("", ".sync", ".per_s"))
        yield from (f"phase.{phase.name}.{what}" for what in MOVED)
    for kind in (*(o.name for o in of.operations), WRITES, DURABLE):
        yield from (f"latency.{kind}.{percentile}" for percentile in PERCENTILES)
    yield from (f"bytes.{way}{per_s}" for way in MOVED.values() for per_s in ("", ".per_s"))


def _told(trials: Sequence[Trial], of: Words) -> Iterator[str]:
    """The workload's own, the steps', the instruments', and those of image, state and life."""
    yield from (f"own.{name}" for name in of.figures)
    for step in dict.fromkeys(step.name for t in trials for step in t.steps):
        yield from (f"step.{step}{what}" for what in ("", *(f".{o}" for o in CHIP_OPERATIONS)))
    measured = ((i, key) for t in trials for i, told in t.measured.items() for key in told)
    yield from (f"{instrument}.{key}" for instrument, key in dict.fromkeys(measured))
    yield from (f"image.{what}" for what in IMAGE)
    yield from (f"state.{what}" for what in ("before", "valid", "invalid", "programmed"))
    yield from (f"life.{what}" for what in life.FIGURES)
    yield from (
        "ready.quiet",
        "ready.reads",
        "ready.cpu",
        "ready.durable",
        "power.lost",
        "power.points",
    )
    yield from (f"energy.{what}" for what in energy.SUMS)
    yield from (f"energy.phase.{phase.name}" for phase in of.phases)
    yield from (f"energy.per.{operation.name}" for operation in of.operations)
