# SPDX-License-Identifier: GPL-2.0-or-later
"""A run on a board of the user's own beside one of the same configurations on a virtual board.

What a trial is asked has no board in it, so configurations are matched by that; the chip's name
must be the same, as ``nandlab board calibrate`` makes it. Ensembles are compared, never trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nandlab.analysis import words
from nandlab.analysis.figures import find
from nandlab.analysis.groups import Ensemble, group
from nandlab.analysis.named import follows, names
from nandlab.analysis.spread import Spread, quotient
from nandlab.base.units import Quantity
from nandlab.results.record import Trial


@dataclass(frozen=True)
class Like:
    """A figure that both boards have."""

    name: str
    quantity: Quantity
    real: Spread
    simulated: Spread

    @property
    def ratio(self) -> Spread | None:
        """Simulated over real: of the medians, and the widest that the ranges allow; None where
        the real one reaches 0."""
        return quotient(self.simulated, self.real)

    @property
    def within(self) -> bool:
        """Whether the two ranges touch."""
        return self.real.overlaps(self.simulated)


@dataclass(frozen=True)
class Both:
    """A configuration that was run on both boards."""

    setting: str
    label: str
    figures: tuple[Like, ...]

    @property
    def title(self) -> str:
        """What names it among all configurations."""
        return f"{self.label}, {self.setting}"


def both(real: Sequence[Trial], simulated: Sequence[Trial]) -> list[Both]:
    """The configurations that ended well on both boards, in the order of the real one's plan."""
    others = {e.first.configuration(): e for s in group(simulated) for e in s.ensembles if e.ok}
    found = []
    for setting in group(real):
        for e in (e for e in setting.ensembles if e.ok):
            if (other := others.get(e.first.configuration())) is not None:
                found.append(Both(setting.title, e.label, tuple(_figures(e, other))))
    return found


def _figures(real: Ensemble, simulated: Ensemble) -> Iterator[Like]:
    """The figures that both have; those that follow from others are left out."""
    trials = [*real.ok, *simulated.ok]
    of = words.of(trials)
    for name in (n for n in names(trials, of) if not follows(n)):
        figure = find(name, of)
        a, b = real.spread(figure), simulated.spread(figure)
        if a is not None and b is not None:
            yield Like(figure.name, figure.quantity, a, b)
