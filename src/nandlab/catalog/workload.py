# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload of the catalog: what exercises a file system, and the words for what it measures."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any, Literal, Protocol

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from nandlab.base.errors import UsageError
from nandlab.base.units import QUANTITIES
from nandlab.catalog import counts, points
from nandlab.catalog.asks import Need, Stores
from nandlab.catalog.noun import Noun, Scalar, Strict


class Grammar(Protocol):
    """What a text means that is more than a word."""

    def mistake(self, text: str) -> str | None:
        """What is wrong with a text, or None."""

    def expanded(self, text: str) -> str:
        """A text as templates have it."""


GRAMMARS: Mapping[str, Grammar] = {"points": points, "counts": counts}
NAME = r"^[a-z][a-z0-9_]*$"


class Parameter(Strict):
    """A number or word that a study may set for a workload."""

    help: str = Field(description="in a sentence with unit: what it is")
    default: Scalar = Field(description="the value when a study names none; its type is the type")
    min: float | None = Field(default=None, description="least value")
    max: float | None = Field(default=None, description="greatest value")
    one_of: list[str] | list[int] | None = Field(
        default=None, description="the words or whole numbers that it may be"
    )
    grammar: Literal["", "points", "counts"] = Field(
        default="",
        description="points: its text is a list of points (docs/readbench.md), checked before the "
        "board starts; templates have it expanded, a point a line; counts: numbers from 1 up, "
        "between commas",
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_used(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a grammar it is written as before there were any: files keep their hashes."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v or k != "grammar"}

    @model_validator(mode="after")
    def _grammar_is_of_texts(self) -> Parameter:
        if self.grammar and not isinstance(self.default, str):
            raise ValueError("a grammar is of a text")
        if self.grammar == "counts" and (wrong := counts.mistake(str(self.default))):
            raise ValueError(f"default: {wrong}")
        return self

    def word(self, value: Scalar) -> str:
        """A value as templates have it."""
        if self.grammar:
            return GRAMMARS[self.grammar].expanded(str(value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    def check(self, value: object) -> str | None:
        """What is wrong with a value, or None."""
        wanted = type(self.default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            return f"must be of type {wanted.__name__}, is {value!r}"
        if self.one_of is not None and value not in self.one_of:
            return f"must be one of {', '.join(map(str, self.one_of))}, is {value!r}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.min is not None and value < self.min:
                return f"must be at least {self.min:g}, is {value!r}"
            if self.max is not None and value > self.max:
                return f"must be at most {self.max:g}, is {value!r}"
        return GRAMMARS[self.grammar].mistake(str(value)) if self.grammar else None


class PhaseWords(Strict):
    """A phase that the workload reports."""

    name: str = Field(pattern=NAME)
    title: str = Field(description="in a word or two, as tables and charts show it")
    short: str = Field(default="", description="the same in ten letters; empty: the title")
    timed: bool = Field(default=True, description="false: it prepares, and no total includes it")
    moves_data: bool = Field(
        default=True,
        description="whether rates in bytes per second count its time",
    )


class OperationWords(Strict):
    """A kind of operation that the workload reports."""

    name: str = Field(pattern=NAME)
    title: str = Field(default="", description="as tables show it; empty: its name")
    writes: bool = Field(default=False, description="whether it writes: the kind writes has it")
    durable: bool = Field(
        default=False,
        description="whether what it returns from is on flash: an fsync, a commit, an O_SYNC write",
    )
    durable_unless: list[dict[str, Scalar]] = Field(
        default=[], description="values of parameters with which it is not durable all the same"
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_used(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without exceptions it is written as before there were any: files keep their hashes."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v or k != "durable_unless"}


class OwnFigure(Strict):
    """A figure that the workload prints, or a parameter's number over a figure of time."""

    title: str = Field(description="in a few words, as tables show it")
    short: str = Field(default="", description="the same in ten letters; empty: the title")
    unit: str = Field(description="what it is an amount of: time, bytes, per_s, count, ...")
    better: Literal["less", "more", ""] = Field(
        default="", description="which end is the better one; empty: neither, it is not ranked"
    )
    parameter: str = Field(
        default="", description="it is this parameter's number; empty: the program prints it"
    )
    over: str = Field(default="", description="a figure of time: the number is per second of it")
    open_ended: bool = Field(
        default=False, description="where the load was stopped early, it is a lower bound"
    )

    @model_validator(mode="after")
    def _is_of_a_known_quantity(self) -> OwnFigure:
        if self.unit not in QUANTITIES:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(QUANTITIES)}")
        return self


class AttributeWords(Strict):
    """An attribute by which phases of the workload are set apart, and curves are drawn."""

    title: str = Field(description="in a few words, as the axis of a chart shows it")
    unit: str = Field(
        default="count", description="what its numbers are amounts of; of words it says nothing"
    )

    @model_validator(mode="after")
    def _is_of_a_known_quantity(self) -> AttributeWords:
        if self.unit not in QUANTITIES:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(QUANTITIES)}")
        return self


class Headline(Strict):
    """The figure that file systems are ranked and advised by."""

    figure: str = Field(description="its name, such as phase.transactions or own.queries")
    noun: str = Field(description="what it is, in words: transaction time")
    best: str = Field(description="what the best one does: finishes the transactions first")
    more: str = Field(
        default="takes {r} times as long", description="what another one does; {r}: the factor"
    )
    told: str = Field(default="", description="a value of it in a sentence: transactions take {v}")


Do = Literal[
    "run", "mount", "unmount", "remount", "drop", "sync", "rest", "fill", "save", "cut"
]  # fmt: skip
TIMED: tuple[Do, ...] = ("run", "mount", "unmount", "remount", "sync")
"""Steps that count unless their file says otherwise; the others prepare."""
AWAY: tuple[Do, ...] = ("unmount", "cut")
"""Steps that leave the file system not mounted."""


WORDS = ("seed", "mountpoint")
"""Words of every template, beside the parameters."""
FILES = ("fill.cfg", "start", "steps")
"""Files of a job that are not a workload's."""
STEPS = ("counters", "fill", "format", "load", "modules", "settle", "workload")
"""Steps of a trial that are not a workload's; one of a list may be called as what it does."""


class StepWords(Strict):
    """A step of a workload that is a list of steps; each is a phase."""

    do: Do = Field(
        description="run a command; mount, unmount, remount the file system; drop the caches; "
        "sync; rest until the chip is quiet; fill the flash to the state that is asked for; save "
        "the chip; cut the power"
    )
    name: str = Field(
        default="", pattern=r"^$|" + NAME, description="its phase; empty: what it does"
    )
    title: str = Field(default="", description="as tables show it; empty: its name")
    command: str = Field(
        default="", description="of run: the command, a template, in the job's folder"
    )
    options: str = Field(
        default="", description="of remount: what follows mount -o remount, such as ro"
    )
    tells: bool = Field(
        default=False, description="of run: its last line reports phases and figures of its own"
    )
    timed: bool | None = Field(
        default=None,
        description="whether totals include it; absent: those that run, sync, mount or unmount",
    )
    may_fail: bool = Field(default=False, description="whether the trial goes on if it fails")
    always: bool = Field(default=False, description="whether it runs after a failure too")

    @property
    def phase(self) -> str:
        """Its phase's name."""
        return self.name or self.do

    @property
    def counts(self) -> bool:
        """Whether totals include it."""
        return self.do in TIMED if self.timed is None else self.timed

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> StepWords:
        if (self.do == "run") != bool(self.command):
            raise ValueError("a command belongs to do = run, which needs one")
        if self.tells and self.do != "run":
            raise ValueError("tells is of do = run")
        if (self.do == "remount") != bool(self.options):
            raise ValueError("options belong to do = remount, which needs them: ro, rw, ...")
        return self


class WorkloadWords(Strict):
    """The words for what a workload reports; all of them may be left out."""

    phases: list[PhaseWords] = Field(default=[], description="in the order in which they come")
    operations: list[OperationWords] = Field(default=[], description="in the order of tables")
    figures: dict[str, OwnFigure] = Field(
        default={}, description="its own figures, by name; elsewhere they are own.NAME"
    )
    at: dict[str, AttributeWords] = Field(
        default={}, description="attributes that its phases may have, by name: docs/workloads.md"
    )
    headline: Headline | None = Field(
        default=None,
        description='absent: the first timed phase; with view = "points" all of them together',
    )
    view: Literal["phases", "lifetime", "points"] = Field(
        default="phases", description="how its results are read: docs/workloads.md"
    )


class WorkloadModel(Noun, WorkloadWords):
    """What exercises a file system: a command or a list of steps, its configuration, its words.

    Commands and ``config`` may use the parameters by name, and ``{seed}``, ``{mountpoint}``.
    """

    command: str = Field(
        default="", description="the command, a template, run where the configuration file is"
    )
    steps: list[StepWords] = Field(
        default=[],
        description="what is done in order, instead of one command; the file system is made and "
        "not mounted before; each step is a phase",
    )
    config_file: str = Field(default="", description="the configuration file's name; empty: none")
    config: str = Field(default="", description="the configuration file's text, a template")
    parameters: dict[str, Parameter] = Field(default={})
    needs: list[Need] = Field(
        default=[], description="values of parameters that are refused, everywhere or somewhere"
    )
    stores: Stores | None = Field(
        default=None, description="the least that it keeps on flash; absent: not told"
    )

    @model_serializer(mode="wrap")
    def _without_what_it_does_not_ask(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What asks for nothing is written as before it could: files keep their hashes."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v or k not in ("needs", "stores")}

    @model_validator(mode="after")
    def _asks_by_its_parameters(self) -> WorkloadModel:
        asked = {name for need in self.needs for name in need.when}
        asked |= self.stores.parameters() if self.stores else set()
        asked |= {name for o in self.operations for unless in o.durable_unless for name in unless}
        if lost := sorted(asked - set(self.parameters)):
            raise ValueError(f"needs, stores, durable_unless: there is no parameter {lost[0]!r}")
        return self

    @model_validator(mode="before")
    @classmethod
    def _steps_are_phases(cls, data: Any) -> Any:
        """A step is a phase, unless it reports phases of its own or the file has words for it."""
        if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
            return data
        given = [p for p in data.get("phases") or [] if isinstance(p, dict)]
        known = {p.get("name") for p in given}
        made = [
            {"name": step.phase, "title": step.title or _spaced(step.phase), "timed": step.counts}
            for step in _steps(data["steps"])
            if not step.tells and step.phase not in known
        ]
        return {**data, "phases": [*given, *made]}

    @model_validator(mode="after")
    def _can_be_done(self) -> WorkloadModel:
        if bool(self.command) == bool(self.steps):
            raise ValueError("it is a command or a list of steps: give one of the two")
        if bool(self.config) != bool(self.config_file):
            raise ValueError("config and config_file go together")
        if self.config_file in FILES:
            raise ValueError(f"config_file {self.config_file}: a job has a file of that name")
        unknown = sorted(self.words() - {*WORDS, *self.parameters})
        if unknown:
            known = ", ".join(f"{{{word}}}" for word in (*WORDS, *self.parameters))
            raise ValueError(
                f"{{{unknown[0]}}} stands for nothing; there are: {known}; a brace itself is "
                "written twice"
            )
        self._check_points()
        lost = [f.parameter for f in self.figures.values() if f.parameter]
        lost = sorted(set(lost) - set(self.parameters))
        if lost:
            raise ValueError(f"figures: there is no parameter {lost[0]!r}")
        names = [step.phase for step in self.steps]
        own = [s.phase for s in self.steps if s.phase in STEPS and s.phase != s.do]
        if own:
            raise ValueError(f"a trial has a step {own[0]} of its own: give yours another name")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"steps of one name: {', '.join(twice)}; give each a name")
        if sum(step.do == "save" for step in self.steps) > 1:
            raise ValueError("a list saves the chip once at most: the board keeps one image for it")
        wrong = _unmounted(self.steps)
        if wrong:
            raise ValueError(wrong)
        return self

    def words(self) -> set[str]:
        """The words that its templates use."""
        templates = (self.command, self.config, *(step.command for step in self.steps))
        parts = (part for t in templates for part in Formatter().parse(t))
        return {name for _, name, _, _ in parts if name is not None}

    def _points(self) -> list[str]:
        """The parameters that are lists of points."""
        return [key for key, p in self.parameters.items() if p.grammar == "points"]

    def _check_points(self) -> None:
        """ValueError if the files of its points are not told, or its own points are wrong."""
        lost = sorted(set(points.NEEDS) - set(self.parameters))
        if self._points() and lost:
            raise ValueError(f"points are of files: there is no parameter {lost[0]!r}")
        defaults = {key: p.default for key, p in self.parameters.items()}
        for key in self._points():
            wrong = points.mistake(str(defaults[key]))
            wrong = wrong or next(iter(points.misfits(str(defaults[key]), defaults)), None)
            if wrong:
                raise ValueError(f"{key}: {wrong}")

    def least_bytes(self, parameters: Mapping[str, Scalar]) -> int | None:
        """Bytes that its files take at the least; None: its file does not tell."""
        if self.stores is not None:
            return self.stores.least(parameters)
        if not self._points():
            return None
        pool = points.pool_of(parameters)
        return pool.files * pool.least

    def chosen(self, given: dict[str, Scalar], where: str) -> dict[str, Scalar]:
        """Every parameter with its value; UsageError lists what is wrong."""
        wrong = [
            f"{where}: {self.name} has no parameter {key!r}; it has: {', '.join(self.parameters)}"
            for key in given
            if key not in self.parameters
        ]
        for key, value in given.items():
            what = self.parameters[key].check(value) if key in self.parameters else None
            if what:
                wrong.append(f"{where}: {self.name}: {key} {what}")
        if wrong:
            raise UsageError("\n".join(wrong))
        found = {key: given.get(key, p.default) for key, p in self.parameters.items()}
        for key in self._points():
            misfits = points.misfits(str(found[key]), found)
            wrong += [f"{where}: {self.name}: {key}: {text}" for text in misfits]
        if wrong:
            raise UsageError("\n".join(wrong))
        return found


def _steps(given: list[Any]) -> list[StepWords]:
    """The valid steps; the model's own check reports what is wrong with the others."""
    found = []
    for step in given:
        try:
            found.append(StepWords.model_validate(step))
        except ValidationError:
            continue
    return found


def _unmounted(steps: list[StepWords]) -> str | None:
    """What is wrong with the first step that needs the file system mounted, or not, and finds the
    opposite."""
    mounted = False
    for step in steps:
        if step.do == "mount" and mounted:
            return f"step {step.phase}: it is mounted already"
        if step.do in ("unmount", "remount", "run", "cut") and not mounted:
            return f"step {step.phase}: it is not mounted then; a mount must come before"
        mounted = step.do == "mount" or (mounted and step.do not in AWAY)
    return None


def _spaced(name: str) -> str:
    return name.replace("_", " ")
