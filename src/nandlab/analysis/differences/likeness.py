# SPDX-License-Identifier: GPL-2.0-or-later
"""A run on a board of the user's own beside one of the same configurations on a virtual board.

What a trial is asked has no board in it, so configurations are matched by that; the chip's name
must be the same, as ``nandlab board calibrate`` makes it. Ensembles are compared, never trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.figurenames import list_underived_figure_names
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.groups import Ensemble, group_trials_into_settings
from nandlab.analysis.figures.spread import Spread, divide_spreads
from nandlab.base.units import Quantity
from nandlab.results.record import Trial


@dataclass(frozen=True)
class FigureLikeness:
    """A figure that both boards have."""

    name: str
    quantity: Quantity
    real: Spread
    simulated: Spread

    @property
    def ratio(self) -> Spread | None:
        """Simulated over real: of the medians, and the widest that the ranges allow; None where
        the real one reaches 0."""
        return divide_spreads(self.simulated, self.real)

    @property
    def within(self) -> bool:
        """Whether the two ranges touch."""
        return self.real.overlaps(self.simulated)


@dataclass(frozen=True)
class ConfigurationLikeness:
    """A configuration that was run on both boards."""

    setting: str
    label: str
    figures: tuple[FigureLikeness, ...]

    @property
    def title(self) -> str:
        """What names it among all configurations."""
        return f"{self.label}, {self.setting}"


def compare_real_and_simulated_trials(
    real: Sequence[Trial], simulated: Sequence[Trial]
) -> list[ConfigurationLikeness]:
    """The configurations that ended well on both boards, in the order of the real one's plan."""
    simulated_ensembles = {
        e.first.configuration(): e
        for s in group_trials_into_settings(simulated)
        for e in s.ensembles
        if e.ok
    }
    likenesses = []
    for setting in group_trials_into_settings(real):
        for e in (e for e in setting.ensembles if e.ok):
            if (simulated_ensemble := simulated_ensembles.get(e.first.configuration())) is not None:
                likenesses.append(
                    ConfigurationLikeness(
                        setting.title,
                        e.label,
                        tuple(_list_figure_likenesses(e, simulated_ensemble)),
                    )
                )
    return likenesses


def _list_figure_likenesses(real: Ensemble, simulated: Ensemble) -> Iterator[FigureLikeness]:
    """The figures that both have; those that follow from others are left out."""
    trials = [*real.ok, *simulated.ok]
    of = workloadwords.make_workload_words_for_trials(trials)
    for name in list_underived_figure_names(trials, of):
        figure = find_workload_figure(name, of)
        a, b = real.spread(figure), simulated.spread(figure)
        if a is not None and b is not None:
            yield FigureLikeness(figure.name, figure.quantity, a, b)
