# SPDX-License-Identifier: GPL-2.0-or-later
"""A list of steps as a whole: which steps are there with some parameters, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nandlab.catalog.demands import matches_parameters
from nandlab.catalog.noun import Scalar
from nandlab.catalog.parameter import Parameter
from nandlab.catalog.step import UNMOUNTING_STEPS, AnyStep, WorkloadStep

TRIAL_STEPS = ("counters", "format", "load", "modules", "settle", "workload")
"""Steps of a trial that are not a workload's; one of a list may be called as what it does."""
CHOICES_MAX = 4096
"""The most combinations of parameters that a file is checked for; a study checks its own."""
_STEP_ADAPTER: TypeAdapter[WorkloadStep] = TypeAdapter(AnyStep)


def list_valid_steps(given: Sequence[Any]) -> list[WorkloadStep]:
    """The valid steps; the model's own check reports what is wrong with the others."""
    steps = []
    for step in given:
        try:
            steps.append(_STEP_ADAPTER.validate_python(step))
        except ValidationError:
            continue
    return steps


def select_steps_for_parameters(
    steps: Sequence[AnyStep], parameters: Mapping[str, object]
) -> list[AnyStep]:
    """The steps that are there with these parameters."""
    return [step for step in steps if matches_parameters(step.when, parameters)]


def resolve_step_switches(steps: Sequence[AnyStep], words: Mapping[str, str]) -> list[AnyStep]:
    """The steps with their switches set; ValueError names the step and what is wrong."""
    resolved = []
    for step in steps:
        try:
            resolved.append(step.settled(words))
        except ValueError as e:
            raise ValueError(f"step {step.phase}: {e}") from None
    return resolved


def check_step_conditions(
    steps: Sequence[WorkloadStep], parameters: Mapping[str, Parameter]
) -> str | None:
    """What is wrong with a ``when``, or None: a parameter that is not there, or cannot be so."""
    for step in steps:
        for name, value in step.when.items():
            if name not in parameters:
                return f"step {step.phase}: when: there is no parameter {name!r}"
            if wrong := parameters[name].check(value):
                return f"step {step.phase}: when: {name} {wrong}"
    return None


def list_condition_parameter_values(
    steps: Sequence[WorkloadStep], parameters: Mapping[str, Parameter]
) -> Iterator[dict[str, Scalar]]:
    """Values of the parameters that a ``when`` names: each set that makes another list."""
    asked: dict[str, list[Scalar]] = {}
    for step in steps:
        for name, value in step.when.items():
            asked.setdefault(name, []).append(value)
    choices = {name: _list_values(parameters[name], values) for name, values in asked.items()}
    for i, values in enumerate(product(*choices.values())):
        if i >= CHOICES_MAX:
            return
        yield dict(zip(choices, values, strict=True))


def _list_values(parameter: Parameter, step_values: list[Scalar]) -> list[Scalar]:
    """The values that a parameter may have as far as steps tell them apart."""
    if parameter.one_of is not None:
        return list(parameter.one_of)
    if isinstance(parameter.default, bool):
        return [False, True]
    return list(dict.fromkeys([parameter.default, *step_values]))


def check_step_list(steps: Sequence[WorkloadStep]) -> str | None:
    """What is wrong with a list of valid steps that all are there, or None."""
    names = [step.phase for step in steps]
    own = [s.phase for s in steps if s.phase in TRIAL_STEPS and s.phase != s.do]
    if own:
        return f"a trial has a step {own[0]} of its own: give yours another name"
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"steps of one name: {', '.join(twice)}; give each a name"
    if sum(step.do == "save" for step in steps) > 1:
        return "a list saves the chip once at most: the board keeps one image for it"
    if any(s.do == "age" for s in steps) and any(s.do == "cut" for s in steps):
        return "a list cannot both let days pass and cut the power: a chip is loaded as new then"
    return _check_mounts(steps)


def _check_mounts(steps: Sequence[WorkloadStep]) -> str | None:
    """What is wrong with the first step that needs the file system mounted, or not, and finds the
    opposite."""
    mounted = False
    for step in steps:
        if step.do == "mount" and mounted:
            return f"step {step.phase}: it is mounted already"
        if (step.uses_files or step.do in ("unmount", "remount", "cut")) and not mounted:
            return f"step {step.phase}: it is not mounted then; a mount must come before"
        mounted = step.do == "mount" or (mounted and step.do not in UNMOUNTING_STEPS)
    return None
