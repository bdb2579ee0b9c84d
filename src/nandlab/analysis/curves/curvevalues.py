# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of a study's curves: lines of points, each with its spread over the members.

A point is an ensemble: the members of one configuration, or of one phase of it. Two configurations
are never one point: where a study's ``lines`` do not set them apart, what differs between them
does, and the line's name says so. Trials that did not end well have no values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from nandlab.analysis.curves import curvemodels, curveplaces, fits
from nandlab.analysis.curves.curveplaces import AttributeValue, CurvePlace
from nandlab.analysis.curves.curves import Curve, Gain
from nandlab.analysis.curves.fits import LineFit
from nandlab.analysis.figures import figures, workloadwords
from nandlab.analysis.figures.members import join_memory_trials
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.base.units import QUANTITIES, Quantity
from nandlab.results.record import Trial

PlaceReader = Callable[[CurvePlace], float | None]
VALUE_LETTERS_MAX = 40
"""Letters of an attribute's value in a line's name."""


@dataclass(frozen=True)
class PlotAxis:
    """What one direction of the chart shows."""

    title: str
    quantity: Quantity


class MemberValue(NamedTuple):
    """A member's value at a point."""

    place: CurvePlace
    """For a gain, that which it is compared with."""
    y: float
    x: float | None
    """Where x is a figure."""
    parts: tuple[float, ...]
    """For a gain, what is compared: of, over."""
    trials: tuple[str, ...]
    """Ids of the trials that it is from."""


@dataclass(frozen=True)
class PlotPoint:
    """An ensemble's values at one place of x."""

    x: AttributeValue
    """The attribute's value; of a figure its median."""
    label: str
    members: tuple[MemberValue, ...]

    @property
    def y(self) -> Spread:
        return _require_spread(compute_spread(m.y for m in self.members))

    @property
    def x_spread(self) -> Spread | None:
        """The spread of x; None where x is an attribute."""
        return compute_spread(m.x for m in self.members)

    @property
    def parts(self) -> list[Spread]:
        """The spreads of what a gain compares; empty: there is no gain."""
        columns = zip(*(m.parts for m in self.members), strict=True)
        return [_require_spread(compute_spread(values)) for values in columns]

    @property
    def trials(self) -> list[str]:
        return list(dict.fromkeys(i for m in self.members for i in m.trials))


@dataclass(frozen=True)
class PlotLine:
    """The points of one combination."""

    key: tuple[str, ...]
    """The combination; a modelled line has that of the measured one."""
    title: str
    filesystem: str
    points: tuple[PlotPoint, ...]
    modelled: bool = False
    """Whether a model gives the values: then they were not measured."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least x and the greatest, where x is a number."""
        at = [float(p.x) for p in self.points]
        return min(at), max(at)

    @property
    def fits(self) -> list[LineFit]:
        """Each member's least-squares line, the steepest last; none where x is words."""
        if not all(isinstance(p.x, float) for p in self.points):
            return []
        points_by_member: dict[tuple[int, float], list[tuple[float, float]]] = {}
        for p in self.points:
            for m in p.members:
                x = float(p.x) if m.x is None else m.x
                points_by_member.setdefault(m.place.member, []).append((x, m.y))
        fitted_lines = [f for points in points_by_member.values() if (f := fits.fit_line(points))]
        return sorted(fitted_lines, key=lambda f: f.slope)


@dataclass(frozen=True)
class CurvePlot:
    """A curve with its values."""

    curve: Curve
    x: PlotAxis
    y: PlotAxis
    measured_axis: PlotAxis
    """The study's y; with a gain, what is saved."""
    lines: tuple[PlotLine, ...]

    @property
    def numeric(self) -> bool:
        """Whether every x is a number; else they are words, in the order of the plan."""
        return all(isinstance(p.x, float) for line in self.lines for p in line.points)

    @property
    def places(self) -> list[AttributeValue]:
        """Every x once, in order."""
        found = dict.fromkeys(p.x for line in self.lines for p in line.points)
        return sorted(found) if self.numeric else list(found)


ATTRIBUTE_TITLES = {"chip.partition_mib": "partition, MiB"}
"""Attributes of a trial whose names are no words."""


def make_curve_plots(curves: Sequence[Curve], trials: Sequence[Trial]) -> list[CurvePlot]:
    """Every curve with the values that the trials have; a curve without any has no lines."""
    ended = [t for t in join_memory_trials(trials) if t.ok]
    return [_make_curve_plot(curve, ended) for curve in curves]


def _make_curve_plot(curve: Curve, trials: Sequence[Trial]) -> CurvePlot:
    places = [
        p for t in trials for p in curveplaces.list_curve_places(t, phases=curve.has_phase_values)
    ]
    places = [p for p in places if _is_selected_place(curve, p)]
    members = list(_list_member_values(curve, places, partial(compute_figure_at_place, curve.y)))
    keys = _choose_line_attributes(curve, members)
    measured = _make_lines(curve, keys, members)
    model = curvemodels.CURVE_MODELS.get(curve.modelled)
    if model is not None:
        given = list(_list_member_values(curve, places, partial(model, curve.y)))
        measured += _name_modelled_lines(curve.modelled, _make_lines(curve, keys, given), measured)
    x, of = _make_axis(curve.x, trials), _make_axis(curve.y, trials)
    y = PlotAxis(f"{of.title} saved", QUANTITIES["share"]) if curve.gain else of
    return CurvePlot(curve, x, y, of, tuple(measured))


def _name_modelled_lines(
    name: str, lines: Sequence[PlotLine], measured: Sequence[PlotLine]
) -> list[PlotLine]:
    """What a model gives, by the names of what was measured; lines of the same values are one."""
    titles = {line.key: line.title for line in measured}
    by_values: dict[Hashable, list[PlotLine]] = {}
    for line in lines:
        by_values.setdefault(tuple((p.x, p.y) for p in line.points), []).append(line)
    renamed = []
    for same in by_values.values():
        first, alone = same[0], len(same) == 1
        title = f"{titles.get(first.key, first.title)}, modelled: {name}"
        renamed.append(replace(first, title=title, modelled=True))
        if not alone:
            renamed[-1] = replace(renamed[-1], key=(), title=f"modelled: {name}")
    return renamed


def compute_figure_at_place(name: str, place: CurvePlace) -> float | None:
    """A figure of a place by name; None: it has none."""
    family, _, short_name = name.partition(".")
    if family == "point":
        figure = curveplaces.PHASE_FIGURES.get(short_name)
        return (
            None
            if figure is None or place.phase is None
            else figure.compute(place.trial, place.phase)
        )
    words = workloadwords.make_workload_words_for_trials([place.trial])
    return (
        None
        if figures.explain_unavailable_figure(name, words)
        else figures.find_workload_figure(name, words)(place.trial)
    )


def _is_selected_place(curve: Curve, at: CurvePlace) -> bool:
    attributes = at.identity
    for name, wanted in curve.where.items():
        one_of = wanted if isinstance(wanted, list) else [wanted]
        if name not in attributes or not any(
            curveplaces.are_attribute_values_alike(attributes[name], w) for w in one_of
        ):
            return False
    return curve.scatter or curve.x in attributes


def _list_member_values(
    curve: Curve, places: Sequence[CurvePlace], read: PlaceReader
) -> Iterable[MemberValue]:
    if curve.gain:
        yield from _list_gain_values(curve.gain, places, read)
        return
    for at in places:
        y = read(at)
        x = compute_figure_at_place(curve.x, at) if curve.scatter else None
        if y is not None and (x is not None or not curve.scatter):
            yield MemberValue(at, y, x, (), (at.trial.id,))


def _list_gain_values(
    gain: Gain, places: Sequence[CurvePlace], read: PlaceReader
) -> Iterable[MemberValue]:
    """1 - of / over for each pair that differs in nothing else, of one seed and phase offset."""
    partners = {
        _make_partner_key(gain, p): p for p in places if _has_attribute_value(p, gain.by, gain.of)
    }
    for over in places:
        partner = (
            partners.get(_make_partner_key(gain, over))
            if _has_attribute_value(over, gain.by, gain.over)
            else None
        )
        if partner is None:
            continue
        partner_value, over_value = read(partner), read(over)
        if partner_value is not None and over_value:
            trials = (partner.trial.id, over.trial.id)
            yield MemberValue(
                over, 1 - partner_value / over_value, None, (partner_value, over_value), trials
            )


def _has_attribute_value(place: CurvePlace, name: str, wanted: AttributeValue) -> bool:
    identity = place.identity
    return name in identity and curveplaces.are_attribute_values_alike(identity[name], wanted)


def _make_partner_key(gain: Gain, at: CurvePlace) -> Hashable:
    """What two partners share. Phases that differ in an attribute have names of their own."""
    leave = {gain.by, *(["phase"] if gain.by.startswith("at.") else [])}
    return at.member, tuple(sorted((k, str(v)) for k, v in at.identity.items() if k not in leave))


def _choose_line_attributes(curve: Curve, members: Sequence[MemberValue]) -> list[str]:
    """The attributes that lines are told by: the study's, and more while a point would mix."""
    keys = list(curve.lines)
    aside = {curve.x, curve.gain.by if curve.gain else ""}
    while not curve.scatter:
        mixed = _find_varying_attributes(curve, keys, members) - {*keys, *aside}
        if not mixed:
            break
        order = [k for m in members for k in m.place.identity if k in mixed]
        keys.append(min(dict.fromkeys(order), key=lambda k: _count_lines([*keys, k], members)))
    return keys


def _find_varying_attributes(
    curve: Curve, keys: Sequence[str], members: Sequence[MemberValue]
) -> set[str]:
    """The attributes in which the members of some point differ."""
    points: dict[Hashable, list[dict[str, AttributeValue]]] = {}
    for m in members:
        identity = m.place.identity
        points.setdefault(
            (_make_line_key(keys, m), curveplaces.parse_number_or_word(identity[curve.x])), []
        ).append(identity)
    return {
        k
        for identities in points.values()
        for k in dict.fromkeys(k for identity in identities for k in identity)
        if len({str(identity.get(k)) for identity in identities}) > 1
    }


def _count_lines(keys: Sequence[str], members: Sequence[MemberValue]) -> int:
    """How many lines these attributes make."""
    return len({_make_line_key(keys, m) for m in members})


def _make_line_key(keys: Sequence[str], member: MemberValue) -> tuple[str, ...]:
    identity = member.place.identity
    return tuple(str(identity.get(k, "")) for k in keys)


def _make_lines(
    curve: Curve, keys: Sequence[str], members: Sequence[MemberValue]
) -> list[PlotLine]:
    by_key: dict[tuple[str, ...], list[MemberValue]] = {}
    for m in members:
        by_key.setdefault(_make_line_key(keys, m), []).append(m)
    several = len(by_key) > 1
    title_keys = [
        k for i, k in enumerate(keys) if not several or len({key[i] for key in by_key}) > 1
    ] or ["filesystem"]
    return [
        PlotLine(
            key,
            ", ".join(
                filter(
                    None, (format_attribute_at_place(k, line_members[0].place) for k in title_keys)
                )
            ),
            line_members[0].place.trial.filesystem,
            _make_points(curve, line_members),
        )
        for key, line_members in by_key.items()
    ]


def _make_points(curve: Curve, members: Sequence[MemberValue]) -> tuple[PlotPoint, ...]:
    by_x: dict[Hashable, list[MemberValue]] = {}
    for m in members:
        by_x.setdefault(_make_point_key(curve, m), []).append(m)
    numbers = all(
        isinstance(curveplaces.parse_number_or_word(m.place.identity.get(curve.x, 0)), float)
        for m in members
    )
    points = []
    for point_members in by_x.values():
        x_spread = compute_spread(m.x for m in point_members)
        place_text = point_members[0].place.identity.get(curve.x, "")
        point_x: AttributeValue = (
            float(x_spread.median)
            if x_spread
            else curveplaces.parse_number_or_word(place_text)
            if numbers
            else str(place_text)
        )
        label = str(point_members[0].place.identity.get(curve.label, ""))
        points.append(PlotPoint(point_x, label, tuple(point_members)))
    return tuple(sorted(points, key=lambda p: float(p.x)) if numbers else points)


def _make_point_key(curve: Curve, m: MemberValue) -> Hashable:
    """What the members of one point share: x, or where x is a figure their configuration."""
    if not curve.scatter:
        return curveplaces.parse_number_or_word(m.place.identity[curve.x])
    return m.place.trial.configuration(), m.place.phase and m.place.phase.name


def format_attribute_at_place(name: str, place: CurvePlace) -> str:
    """An attribute's value as a line's name has it: ``JFFS2``, ``random``, ``size 4.00 KiB``."""
    value = place.identity.get(name)
    if value is None:
        return ""
    if name == "filesystem":
        return place.trial.filesystem_title
    family, _, short_name = name.partition(".")
    if family == "at":
        attribute_words = workloadwords.find_declared_workload_words(place.trial).at.get(short_name)
        if isinstance(value, str):
            return value
        amount = QUANTITIES[attribute_words.unit].form(value) if attribute_words else value
        return f"{short_name} {amount}"
    text = str(value)
    text = text if len(text) <= VALUE_LETTERS_MAX else f"{text[: VALUE_LETTERS_MAX - 1]}…"
    return f"{short_name}={text}" if family in ("option", "parameter") else text


def _make_axis(name: str, trials: Sequence[Trial]) -> PlotAxis:
    family, _, short_name = name.partition(".")
    if family == "point":
        figure = curveplaces.PHASE_FIGURES[short_name]
        return PlotAxis(figure.title, figure.quantity)
    if family == "at":
        for t in trials:
            if attribute_words := workloadwords.find_declared_workload_words(t).at.get(short_name):
                return PlotAxis(attribute_words.title, QUANTITIES[attribute_words.unit])
    if family in ("option", "parameter", "at"):
        return PlotAxis(short_name.replace("_", " "), QUANTITIES["count"])
    words_by_trial = (workloadwords.make_workload_words_for_trials([t]) for t in trials)
    words = next(
        (w for w in words_by_trial if figures.explain_unavailable_figure(name, w) is None), None
    )
    if words is None:
        return PlotAxis(ATTRIBUTE_TITLES.get(name, name.replace("_", " ")), QUANTITIES["count"])
    axis_figure = figures.find_workload_figure(name, words)
    return PlotAxis(axis_figure.title, axis_figure.quantity)


def _require_spread(found: Spread | None) -> Spread:
    assert found is not None, "a point has a member"
    return found
