# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of the figures that trials have, and those that a reader means."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from nandlab.analysis.figures import energy, life
from nandlab.analysis.figures.chipfigures import CHIP_OPERATION_TITLES, IMAGE_FIGURES
from nandlab.analysis.figures.durability import DURABLE_GROUP, WRITES_GROUP
from nandlab.analysis.figures.figures import BYTE_RATE_DIRECTIONS, find_workload_figure
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.wear import EVENNESS_FIGURES, UBI_WEAR_FIGURES, WEAR_SPREAD_FIGURES
from nandlab.analysis.figures.workloadwords import PERCENTILES, Words
from nandlab.base.errors import UsageError
from nandlab.catalog.instrument import load_instruments
from nandlab.results.record import Trial

NEAREST_NAMES_MAX = 3
"""How many names are told for one that no figure has."""
LIKENESS_MIN = 0.5
"""How like an unknown name a figure's must be to be told, 0..1 as difflib counts it."""
DERIVED_PREFIXES = (
    *("energy.", f"latency.{WRITES_GROUP}.", f"latency.{DURABLE_GROUP}.", "chip.amplification"),
    *("ready.", "power."),
)
"""Figures whose names begin so follow from others, which have names of their own, or from the
campaigns beside a run, which are no part of a trial."""


def list_figure_names_of_trials(trials: Sequence[Trial], of: Words) -> list[str]:
    """Every name that a trial has a value for; figures of the chip first, as causes of others."""
    ended = [t for t in trials if t.ok]
    return [name for name in _list_figure_names(ended, of) if _is_measured(name, of, ended)]


def list_underived_figure_names(trials: Sequence[Trial], of: Words) -> list[str]:
    """The same without those that follow from others, which are not even computed."""
    ended = [t for t in trials if t.ok]
    names = (name for name in _list_figure_names(ended, of) if not is_derived_figure_name(name))
    return [name for name in names if _is_measured(name, of, ended)]


def _list_figure_names(ended: Sequence[Trial], words: Words) -> Iterable[str]:
    """Every name that these trials may have a value for, once; UsageError if the catalog of
    instruments is bad, which _is_measured() would take for a figure that nobody has."""
    load_instruments()
    return dict.fromkeys(
        [
            *_list_chip_figure_names(words),
            *_list_time_figure_names(words),
            *_list_other_figure_names(ended, words),
        ]
    )


def _is_measured(name: str, of: Words, trials: Sequence[Trial]) -> bool:
    """Whether a trial has a value; a part's own name may be such that no figure's name has it."""
    with suppress(UsageError):
        figure = find_workload_figure(name, of)
        return any(figure(trial) is not None for trial in trials)
    return False


def list_figure_names_of_settings(settings: Sequence[Setting]) -> list[str]:
    """The names of all figures of some settings, each once."""
    return list(
        dict.fromkeys(
            name for s in settings for name in list_figure_names_of_trials(s.trials, s.words)
        )
    )


def match_figure_names(pattern: str, names: Sequence[str]) -> list[str]:
    """The names among ``there`` that a reader means, who may leave out the begin or use ``*``.

    ``commit.p99`` is ``latency.commit.p99`` where no other ends so; ``chip.*`` is all of the chip.
    UsageError tells the nearest names if it is none of them, or the end of several.
    """
    ends = [name for name in names if name.endswith(f".{pattern}")]
    if pattern in names or len(ends) == 1:
        return [pattern] if pattern in names else ends
    matches = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    if not matches:
        nearest = (ends or _find_nearest_names(pattern, names))[:NEAREST_NAMES_MAX]
        told = f"nearest: {', '.join(nearest)}" if nearest else "docs/workloads.md has their names"
        raise UsageError(f"no trial here has a figure {pattern!r}; {told}")
    return matches


def is_derived_figure_name(name: str) -> bool:
    """Whether a figure follows from others, such as a rate from a time: it never moves alone."""
    return name.startswith(DERIVED_PREFIXES) or name.endswith("per_s")


def _find_nearest_names(requested_name: str, known_names: Sequence[str]) -> list[str]:
    """The names most like this one, taken whole or without their family."""
    like: dict[str, float] = {}
    for name in known_names:
        forms = {name, name.partition(".")[2]} - {""}
        like[name] = max(
            difflib.SequenceMatcher(None, requested_name, form).ratio() for form in forms
        )
    near = sorted((n for n in known_names if like[n] >= LIKENESS_MIN), key=lambda n: -like[n])
    return near


def _list_chip_figure_names(words: Words) -> Iterator[str]:
    """What the chip did: in all, by phase, and per block."""
    yield from (f"chip.{key}" for key in (*CHIP_OPERATION_TITLES, "amplification"))
    yield from (f"phase.{p.name}.{key}" for p in words.phases for key in CHIP_OPERATION_TITLES)
    yield from (f"blocks.{key}" for key in CHIP_OPERATION_TITLES)
    yield from (f"wear.{key}" for key in (*WEAR_SPREAD_FIGURES, *EVENNESS_FIGURES))
    yield from (f"wear.all.{key}" for key in EVENNESS_FIGURES)
    yield from (f"wear.own.{key}" for key in UBI_WEAR_FIGURES)


def _list_time_figure_names(words: Words) -> Iterator[str]:
    """Times, rates and latencies of the load."""
    yield "time"
    for phase in words.phases:
        yield from (f"phase.{phase.name}{suffix}" for suffix in ("", ".sync", ".per_s"))
        yield from (f"phase.{phase.name}.{suffix}" for suffix in BYTE_RATE_DIRECTIONS)
    for kind in (*(o.name for o in words.operations), WRITES_GROUP, DURABLE_GROUP):
        yield from (f"latency.{kind}.{percentile}" for percentile in PERCENTILES)
    yield from (
        f"bytes.{way}{per_s}" for way in BYTE_RATE_DIRECTIONS.values() for per_s in ("", ".per_s")
    )


def _list_other_figure_names(trials: Sequence[Trial], words: Words) -> Iterator[str]:
    """The workload's own, the steps', the instruments', and those of image, state and life."""
    yield from (f"own.{name}" for name in words.figures)
    for step in dict.fromkeys(step.name for t in trials for step in t.steps):
        yield from (f"step.{step}{key}" for key in ("", *(f".{o}" for o in CHIP_OPERATION_TITLES)))
    measured = (
        (i, figure) for t in trials for i, values in t.measured.items() for figure in values
    )
    yield from (f"{instrument}.{figure}" for instrument, figure in dict.fromkeys(measured))
    yield from (f"image.{key}" for key in IMAGE_FIGURES)
    yield from (f"state.{key}" for key in ("before", "valid", "invalid", "programmed"))
    yield from (f"life.{key}" for key in life.LIFE_FIGURES)
    yield from (
        "ready.quiet",
        "ready.reads",
        "ready.cpu",
        "ready.durable",
        "power.lost",
        "power.points",
    )
    yield from (f"energy.{key}" for key in energy.CONSUMERS_OF_SUM)
    yield from (f"energy.phase.{phase.name}" for phase in words.phases)
    yield from ("energy.profile", *(f"energy.profile.{phase.name}" for phase in words.phases))
    yield from (f"energy.per.{operation.name}" for operation in words.operations)
