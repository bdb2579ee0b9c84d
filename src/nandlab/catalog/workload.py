# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload of the catalog: what exercises a file system, and the words for what it measures."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from pydantic import Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.strings import Command, Empty, Word
from nandlab.catalog import readpoints, steplist, stepvalues, stepwords
from nandlab.catalog.demands import Need, StoredData, WrittenData
from nandlab.catalog.noun import Noun, Scalar
from nandlab.catalog.parameter import Parameter
from nandlab.catalog.step import AnyStep
from nandlab.catalog.words import WorkloadWords

WORDS = ("seed", "mountpoint")
"""Words of every template, beside the parameters."""
FILES = ("fill.cfg", "start", "steps")
"""Files of a job that are not a workload's."""


class WorkloadModel(Noun, WorkloadWords):
    """What exercises a file system: a command or a list of steps, its configuration, its words.

    Commands and ``config`` may use the parameters by name, and ``{seed}``, ``{mountpoint}``.
    """

    command: Command = Field(
        default="", description="the command, a template, run where the configuration file is"
    )
    programs: list[Word] = Field(
        default=[],
        description="the programs, nandlab's or the project's, that its commands run: the board "
        "has no others",
    )
    steps: list[AnyStep] = Field(
        default=[],
        description="what is done in order, instead of one command; the file system is made and "
        "not mounted before; each step is a phase",
    )
    reads_only: bool = Field(
        default=False, description="whether the command writes nothing to the file system"
    )
    config_file: Word | Empty = Field(
        default="", description="the configuration file's name; empty: none"
    )
    config: Command = Field(default="", description="the configuration file's text, a template")
    parameters: dict[Word, Parameter] = Field(default={})
    needs: list[Need] = Field(
        default=[], description="values of parameters that are refused, everywhere or somewhere"
    )
    stores: StoredData | None = Field(
        default=None, description="the least that it keeps on flash; absent: not told"
    )
    written: WrittenData | None = Field(
        default=None,
        description="about what its load writes, by which `plan` tells a load that is too short "
        "for the chip's years; absent: not told",
    )
    before: StoredData | None = Field(
        default=None,
        description="what it writes before its load begins; absent: nothing, or not told",
    )

    @model_validator(mode="after")
    def _asks_by_its_parameters(self) -> WorkloadModel:
        parameter_names = {name for need in self.needs for name in need.when}
        templates = filter(None, (self.stores, self.written, self.before))
        parameter_names |= {name for template in templates for name in template.parameters()}
        parameter_names |= {
            name for o in self.operations for unless in o.durable_unless for name in unless
        }
        parameter_names |= {p.at_most for p in self.parameters.values() if p.at_most}
        if lost := sorted(parameter_names - set(self.parameters)):
            raise ValueError(
                "needs, stores, written, before, at_most, durable_unless: there is no parameter "
                f"{lost[0]!r}"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _steps_have_words(cls, data: Any) -> Any:
        """Steps bring words for what they tell, but for what the file has words for."""
        if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
            return data
        return stepwords.add_step_words(data, steplist.list_valid_steps(data["steps"]))

    @model_validator(mode="after")
    def _can_be_done(self) -> WorkloadModel:
        if bool(self.command) == bool(self.steps):
            raise ValueError("it is a command or a list of steps: give one of the two")
        if self.reads_only and not self.command:
            raise ValueError("reads_only is of a command; in a list, each step that runs says it")
        if bool(self.config) != bool(self.config_file):
            raise ValueError("config and config_file go together")
        if self.config_file in FILES:
            raise ValueError(f"config_file {self.config_file}: a job has a file of that name")
        self._check_templates()
        self._check_points()
        lost = {f.parameter for f in self.figures.values() if f.parameter} - set(self.parameters)
        if lost:
            raise ValueError(f"figures: there is no parameter {min(lost)!r}")
        self._check_steps()
        return self

    def _check_steps(self) -> None:
        """ValueError if the list cannot be done with values that its parameters may have."""
        if wrong := steplist.check_step_conditions(self.steps, self.parameters):
            raise ValueError(wrong)
        defaults = {key: p.default for key, p in self.parameters.items()}
        for values in steplist.list_condition_parameter_values(self.steps, self.parameters):
            if any(need.unmet({**defaults, **values}, ()) for need in self.needs):
                continue
            if wrong := self._misfit({**defaults, **values}):
                with_ = ", ".join(f"{name} = {value!r}" for name, value in values.items())
                raise ValueError(f"with {with_}: {wrong}" if values else wrong)

    def _misfit(self, parameters: Mapping[str, Scalar]) -> str | None:
        """What is wrong with the list with these parameters, or None."""
        steps = steplist.select_steps_for_parameters(self.steps, parameters)
        if wrong := steplist.check_step_list(steps):
            return wrong
        words = self._make_template_words(parameters)
        try:
            return next(
                stepvalues.check_step_values(steplist.resolve_step_switches(steps, words), words),
                None,
            )
        except ValueError as e:
            return str(e)

    def _make_template_words(self, parameters: Mapping[str, Scalar]) -> dict[str, str]:
        """The words of templates before there is a trial; its seed stands for all seeds."""
        said = {key: p.word(parameters[key]) for key, p in self.parameters.items()}
        return {**said, "seed": "1", "mountpoint": "/"}

    def resolve_steps(self, parameters: Mapping[str, Scalar]) -> WorkloadModel:
        """The workload as it is with these parameters: with the steps that are there, and words
        for what these tell."""
        words = self._make_template_words(parameters)
        steps = steplist.resolve_step_switches(
            steplist.select_steps_for_parameters(self.steps, parameters), words
        )
        gone = stepwords.list_step_word_names(self.steps) - stepwords.list_step_word_names(steps)
        if steps == self.steps:
            return self
        return self.model_copy(
            update={
                "steps": steps,
                "phases": [p for p in self.phases if p.name not in gone],
                "operations": [o for o in self.operations if o.name not in gone],
                "figures": {k: f for k, f in self.figures.items() if k not in gone},
            }
        )

    def list_emptying_steps(self, parameters: Mapping[str, Scalar]) -> list[str]:
        """The steps in which filetree deletes all that is in the mountpoint."""
        return (
            stepvalues.list_emptying_steps(self.steps, self._make_template_words(parameters))
            if self.steps
            else []
        )

    def most_bytes(self, parameters: Mapping[str, Scalar]) -> tuple[str, int] | None:
        """The step after which its trees are largest, and their expected bytes; None: no tree."""
        return stepvalues.find_largest_tree_step(self.steps, self._make_template_words(parameters))

    def _check_templates(self) -> None:
        """ValueError if a template has a word that stands for nothing."""
        unknown = sorted(self.words() - {*WORDS, *self.parameters})
        if unknown:
            known = ", ".join(f"{{{word}}}" for word in (*WORDS, *self.parameters))
            raise ValueError(
                f"{{{unknown[0]}}} stands for nothing; there are: {known}; a brace itself is "
                "written twice"
            )

    def words(self) -> set[str]:
        """The words that its templates use."""
        listed = (text for step in self.steps for text in step.templates().values())
        templates = (self.command, self.config, *listed)
        parts = (part for t in templates for part in Formatter().parse(t))
        return {name for _, name, _, _ in parts if name is not None}

    def _out_of_order(self, values: Mapping[str, Scalar]) -> list[str]:
        """What is wrong with values that exceed one that they may not."""
        pairs = [(key, p.at_most) for key, p in self.parameters.items() if p.at_most]
        return [
            f"{key} must be at most {most} ({values[most]}), is {values[key]}"
            for key, most in pairs
            if float(values[key]) > float(values[most])
        ]

    def _points(self) -> list[str]:
        """The parameters that are lists of points."""
        return [key for key, p in self.parameters.items() if p.grammar == "points"]

    def _check_points(self) -> None:
        """ValueError if the files of its points are not told, or its own points are wrong."""
        lost = sorted(set(readpoints.NEEDED_PARAMETERS) - set(self.parameters))
        if self._points() and lost:
            raise ValueError(f"points are of files: there is no parameter {lost[0]!r}")
        defaults = {key: p.default for key, p in self.parameters.items()}
        for key in self._points():
            wrong = readpoints.check_read_points(str(defaults[key]))
            wrong = wrong or next(
                iter(readpoints.check_points_fit_files(str(defaults[key]), defaults)), None
            )
            if wrong:
                raise ValueError(f"{key}: {wrong}")

    def least_bytes(self, parameters: Mapping[str, Scalar]) -> int | None:
        """Bytes that its files take at the least; None: its file does not tell."""
        if self.stores is not None:
            return self.stores.least(parameters)
        if not self._points():
            return None
        pool = readpoints.make_file_pool(parameters)
        return pool.files * pool.least

    def resolve_values(self, choices: dict[str, Scalar], where: str) -> dict[str, Scalar]:
        """Every parameter with its value; UsageError lists what is wrong."""
        wrong = [
            f"{where}: {self.name} has no parameter {key!r}; it has: {', '.join(self.parameters)}"
            f"{suggest_nearest_name(key, self.parameters)}"
            for key in choices
            if key not in self.parameters
        ]
        for key, value in choices.items():
            mistake = self.parameters[key].check(value) if key in self.parameters else None
            if mistake:
                wrong.append(f"{where}: {self.name}: {key} {mistake}")
        if wrong:
            raise UsageError(*wrong)
        values = {key: choices.get(key, p.default) for key, p in self.parameters.items()}
        wrong += [f"{where}: {self.name}: {text}" for text in self._out_of_order(values)]
        for key in self._points():
            misfits = readpoints.check_points_fit_files(str(values[key]), values)
            wrong += [f"{where}: {self.name}: {key}: {text}" for text in misfits]
        if not wrong and self.steps and (misfit := self._misfit(values)):
            wrong.append(f"{where}: {self.name}: {misfit}")
        if wrong:
            raise UsageError(*wrong)
        return values
