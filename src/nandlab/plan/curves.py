# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with a study's curves, before anything runs: names and values that no trial has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nandlab.analysis.curves import curveplaces
from nandlab.analysis.curves.curvemodels import CURVE_MODELS
from nandlab.analysis.curves.curves import ATTRIBUTE_FAMILIES, ATTRIBUTE_NAMES, Curve
from nandlab.analysis.figures import figures, workloadwords
from nandlab.plan.trialspec import TrialSpec

POINT = "point."
WORDS = ("filesystem", "chip", "state", "workload", "image", "phase")
"""Attributes that are never numbers."""


def check_curves(curves: Sequence[Curve], trials: Sequence[TrialSpec]) -> list[str]:
    """Each with its place in the study file."""
    count = Counter(c.name for c in curves)
    wrong = [f"curves: two are called {name!r}" for name, n in count.items() if n > 1]
    for i, curve in enumerate(curves):
        wrong += [f"curves.{i}.{text}" for text in _check_curve(curve, trials)]
    return wrong


def _check_curve(curve: Curve, trials: Sequence[TrialSpec]) -> Iterator[str]:
    for field, name in curve.attributes.items():
        if mistake := _check_attribute(name, trials):
            yield f"{field}: {mistake}"
    for field, name in curve.figures.items():
        if mistake := _check_figure(name, trials) or _check_figure_scope(curve, name, trials):
            yield f"{field}: {mistake}"
    for name, wanted_value in curve.where.items():
        for value in wanted_value if isinstance(wanted_value, list) else [wanted_value]:
            if mistake := _check_value(name, value, trials):
                yield f"where.{name}: {mistake}"
    if curve.gain:
        for end in ("of", "over"):
            if mistake := _check_value(curve.gain.by, getattr(curve.gain, end), trials):
                yield f"gain.{end}: {mistake}"
    if curve.fit and (words := _list_words_of_x(curve.x, trials)):
        yield f"fit: {curve.x} has {', '.join(words)}, and a line goes over numbers"
    if curve.modelled and curve.modelled not in CURVE_MODELS:
        model_names = ", ".join(CURVE_MODELS) or "none"
        yield f"modelled: there is no model {curve.modelled!r}; there are: {model_names}"


def _check_attribute(name: str, trials: Sequence[TrialSpec]) -> str | None:
    """Why no trial can have an attribute; None: one can."""
    family, _, short_name = name.partition(".")
    if name in ATTRIBUTE_NAMES:
        return None
    if family not in ATTRIBUTE_FAMILIES:
        names = ", ".join((*ATTRIBUTE_NAMES, *(f"{f}.NAME" for f in ATTRIBUTE_FAMILIES)))
        return f"{name}: there is no such attribute; there are: {names}"
    known_names = dict.fromkeys(k for t in trials for k in _list_names(family, t))
    if short_name in known_names:
        return None
    noun = "file system" if family == "option" else "workload"
    names = ", ".join(f"{family}.{k}" for k in known_names) or "none"
    hint = "; a workload's file declares them: docs/workloads.md" if family == "at" else ""
    return f"{name}: no {noun} of this study has it; there are: {names}{hint}"


def _list_words_of_x(name: str, trials: Sequence[TrialSpec]) -> list[str]:
    """The values of an option or a parameter that are no numbers; of others only runs tell."""
    family, _, rest = name.partition(".")
    if family not in ("option", "parameter"):
        return ["words"] if name in WORDS else []
    of = "options" if family == "option" else "parameters"
    values = dict.fromkeys(v for t in trials if (v := getattr(t, of).get(rest)) is not None)
    return [str(v) for v in values if not isinstance(curveplaces.parse_number_or_word(v), float)]


def _list_names(family: str, trial: TrialSpec) -> Sequence[str]:
    if family == "at":
        return list(trial.workload.at)
    return list(trial.options if family == "option" else trial.parameters)


def _check_figure(name: str, trials: Sequence[TrialSpec]) -> str | None:
    """Why no trial can have a figure; None: one can."""
    if name.startswith(POINT):
        if name.removeprefix(POINT) in curveplaces.PHASE_FIGURES:
            return None
        there = ", ".join(POINT + k for k in curveplaces.PHASE_FIGURES)
        return f"{name}: a point has no such figure; there are: {there}"
    models = {t.workload.name: t.workload for t in trials}
    wrong = [
        figures.explain_unavailable_figure(name, workloadwords.make_words_from_declaration(w))
        for w in models.values()
    ]
    return None if None in wrong else f"{wrong[0]}; or {POINT}NAME of a phase with attributes"


def _check_figure_scope(curve: Curve, name: str, trials: Sequence[TrialSpec]) -> str | None:
    """Why a figure of a whole trial is not drawn over an attribute of its phases; None: it is not
    such a figure, or x is not such an attribute."""
    of_phase = not curve.scatter and curve.x.startswith(curveplaces.PHASE_NAME_PREFIXES)
    if not of_phase or name.startswith(POINT) or _check_attribute(curve.x, trials):
        return None
    there = ", ".join(POINT + k for k in curveplaces.PHASE_FIGURES)
    return f"{name} is of a whole trial, and x = {curve.x!r} of its phases; take one of: {there}"


def _check_value(name: str, value: object, trials: Sequence[TrialSpec]) -> str | None:
    """Why no trial has this value; None: one has, or only its run will tell."""
    read = {
        "filesystem": lambda t: t.filesystem.name,
        "state": lambda t: t.state.name,
        "chip": lambda t: t.chip.name,
        "workload": lambda t: t.workload.name,
    }.get(name)
    family, _, rest = name.partition(".")
    if family in ("option", "parameter"):
        of = "options" if family == "option" else "parameters"
        values = [getattr(t, of)[rest] for t in trials if rest in getattr(t, of)]
    elif read:
        values = [read(t) for t in trials]
    else:
        return None
    if not values or any(curveplaces.are_attribute_values_alike(value, v) for v in values):
        return None
    known = ", ".join(dict.fromkeys(str(v) for v in values))
    return f"no trial of this study has {name} = {value!r}; they have: {known}"
