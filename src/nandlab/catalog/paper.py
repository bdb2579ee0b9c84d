# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper of the catalog: what it claims, and which figures of a run each claim is set beside.

A claim is made of parts. A part is a figure of one configuration, or its quotient over another
configuration, or over another figure. The paper's own number for it may be absent: a paper often
states an order without one. The report of a run whose study names the paper has a row for every
claim of a workload that the run has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Empty, FigureName, Line, Lines, Word
from nandlab.catalog.claimbounds import (
    FACTOR_BOUNDS,
    SAVING_BOUND,
    TREND_BOUNDS,
    PartKind,
    TrendKind,
    find_quotient_bound,
)
from nandlab.catalog.noun import Noun, Scalar, StrictModel

Id = Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
PhasePattern = Annotated[str, Field(pattern=r"^[a-z0-9_*?\[\]!-]*$")]


NO_IMAGE = "none"
"""In a selector's place of an image: the chip began without one."""


class Selector(StrictModel):
    """Which trials: those of this file system, state, and options and parameters where named."""

    filesystem: Word = Field(description="the file system's name in the catalog")
    state: Word = Field(description="the flash state's name in the study")
    options: dict[Word, Line] = Field(default={}, description="options that must have these values")
    parameters: dict[Word, Scalar] = Field(
        default={}, description="parameters of the workload that must have these values"
    )
    chip: Word | Empty = Field(default="", description="the chip's part name; empty: the paper's")
    partition_mib: float | None = Field(
        default=None, gt=0, description="MiB of the chip that the file system has; absent: any"
    )
    image: Line = Field(
        default="",
        description="the image, or the tree, that the chip began from, as the study names it; "
        "none: no image; empty: any, or none",
    )
    label: Line = Field(
        default="", description="as counts name it; empty: file system, options and state"
    )


class QuotientDivisor(StrictModel):
    """What a part's quotient is divided by: the same quotient, with what is named here instead."""

    figure: FigureName | Empty = Field(default="", description="empty: the part's")
    of: Selector | None = Field(default=None, description="absent: the part's")
    over: Selector | None = Field(default=None, description="absent: the part's")


Direction = Literal["above 1", "below 1", "not above 1", "none"]


class FigureTrend(StrictModel):
    """A part of many configurations, which differ in one thing: how its figure goes along with it.

    Of each member a least-squares line is laid through them, or two lines are crossed:

    - linear: the number is R², which must be 1 less ``within`` at the least;
    - grows, does not depend: the number is the change, what the line rises from the least place
      to the greatest, as a share of the mean; it must be over ``within``, or at most that much to
      either side of 0;
    - falls below: the number is the place from which on ``of`` is below ``over``, by straight lines
      between places; the paper's number is near by the factor ``within``.
    """

    by: FigureName = Field(
        description="in what they differ: parameter.NAME, chip.partition_mib, or a figure such as "
        "own.tree_files"
    )
    says: TrendKind


class ClaimPart(StrictModel):
    """One figure, or the quotient of two, and what the paper says of it."""

    label: Line = Field(description="in a few words: what the number is")
    figure: FigureName = Field(
        description="{} in it stands for the phases that each names, {rest} for their names "
        "after its fixed beginning"
    )
    each: PhasePattern = Field(
        default="",
        description="a pattern of phases, such as sequential_*: the figure is taken of each",
    )
    taken: Literal["one by one", "mean", "most", "least"] = Field(
        default="one by one",
        description="what is made of the numbers of the phases that each names",
    )
    of: Selector
    over: Selector | None = Field(
        default=None, description="the configuration to divide by; absent: the figure itself"
    )
    over_figure: FigureName | None = Field(
        default=None, description="the figure to divide by; absent: the same"
    )
    along: FigureTrend | None = Field(
        default=None, description="over what the configurations that of means are a line"
    )
    against: QuotientDivisor | None = Field(
        default=None, description="what the quotient is divided by in its turn; absent: nothing"
    )
    factor: float = Field(
        default=1.0, gt=0, description="what the quotient is multiplied by: powers for an energy"
    )
    saving: bool = Field(
        default=False,
        description="shown as what is saved, 1 less the quotient; the paper's number is one too, "
        "and within is in points of it",
    )
    paper: float | None = Field(
        default=None, description="the paper's number; absent: it gives none, only the direction"
    )
    bound: Literal["about", "over", "under"] = Field(
        default="about", description="whether the paper's number is a value or a bound"
    )
    direction: Direction = Field(
        default="none", description="on which side of 1 the paper puts the quotient"
    )
    far: bool = Field(
        default=False,
        description="whether the paper says by far, without a number: reproduced only if the "
        "quotient is away from 1 by the factor within",
    )
    kind: PartKind = Field(
        default="number",
        description="spread: a deviation, a most or a least, or a difference of such; magnitude: "
        "only the power of ten is meant. It decides how near ours must be",
    )
    within: float | None = Field(
        default=None,
        gt=0,
        description="factor from the paper's number that counts as reproduced, where the paper "
        "gives one; of a saving the distance; of a part along something what strongly and highly "
        "mean. Absent: the bound of all papers",
    )
    incomparable: Lines = Field(
        default="",
        description="why the paper's number cannot be set beside ours: it has no part in the "
        "verdict; empty: it can",
    )

    @property
    def quotient(self) -> bool:
        """Whether it is a quotient and no figure."""
        return not self.along and (self.over is not None or self.over_figure is not None)

    @property
    def sided(self) -> bool:
        """Whether it can go the way that the paper says, or another."""
        return self.along is not None or self.direction != "none"

    @property
    def nearness(self) -> float:
        """``within`` or what stands for it."""
        if self.along:
            return self.within or TREND_BOUNDS[self.along.says]
        if self.within or self.saving:
            return self.within or SAVING_BOUND
        if self.quotient and self.paper is not None and self.kind == "number":
            return find_quotient_bound(self.paper)
        return FACTOR_BOUNDS[self.kind]

    @model_validator(mode="after")
    def _stands_alone_along(self) -> ClaimPart:
        if self.along is None:
            return self
        crosses = self.along.says == "falls below"
        if crosses != (self.over is not None):
            raise ValueError("along: over is the other line of falls below, and of nothing else")
        if self.paper is not None and not crosses:
            raise ValueError(f"along: {self.along.says} has no number of the paper's")
        alone = {"over_figure", "each", "against", "factor", "saving", "far", "direction"}
        if many := sorted(alone & self.model_fields_set):
            raise ValueError(f"along: {many[0]} does not go with it")
        return self

    @model_validator(mode="after")
    def _says_something(self) -> ClaimPart:
        if self.along is not None:
            return self
        if not self.quotient and (self.direction != "none" or self.saving or self.against):
            raise ValueError("direction, saving and against belong to a quotient: name over")
        if self.paper is None and self.direction == "none":
            raise ValueError("without the paper's number it must have a direction")
        if bool(self.each) != any(word in self.figure for word in ("{}", "{rest}")):
            raise ValueError("each and the {} or {rest} in figure go together")
        if not self.saving and self.within is not None and self.within < 1:
            raise ValueError("within is a factor: 1 or more")
        return self


def replace_phase_patterns(name: str, phases: Mapping[str, str]) -> str:
    """A name with what stands instead of each regular expression."""
    for pattern, instead in phases.items():
        name = re.sub(pattern, instead, name)
    return name


class ClaimBasis(StrictModel):
    """What the paper leaves to interpretation, how a run reads it, and another way beside it."""

    id: Id
    read_as: Lines = Field(description="in a sentence: how it is read, and by which source")
    other: Lines = Field(description="in a few words: the other way to read it")
    states: dict[Word, Word] = Field(
        default={}, description="flash states of the study that have the other way's, by name"
    )
    parameters: dict[Word, Scalar] = Field(
        default={}, description="the workload's parameters that the other way has"
    )
    options: dict[Word, dict[Word, Line]] = Field(
        default={}, description="by file system: its options that the other way has"
    )
    part: Word | Empty = Field(
        default="",
        description="the chip of the catalog that stands for the paper's by the other way",
    )
    partition_mib: float | None = Field(
        default=None, gt=0, description="MiB that the file system has by the other way"
    )
    board: Word | Empty = Field(
        default="",
        description="the board of the catalog that the other way has: a run on it is judged beside "
        "the first one",
    )
    workload: Word | Empty = Field(
        default="",
        description="the workload of the catalog that stands for the paper's load by the other "
        "way; its phases have the same names",
    )
    phases: dict[Line, Line] = Field(
        default={},
        description="phases that the other way has: regular expressions in names of figures, and "
        "what stands there instead, such as random_ = random_replace_",
    )
    untried: bool = Field(
        default=False,
        description="no study that names the paper has the other way: reports name it "
        "as not run, and it has no part in a verdict",
    )

    def replace_phases(self, name: str) -> str:
        """A figure's name, or a pattern of phases, with the other way's phases."""
        return replace_phase_patterns(name, self.phases)

    @model_validator(mode="after")
    def _is_another(self) -> ClaimBasis:
        replaced = (self.states, self.parameters, self.options, self.phases, self.board)
        if self.untried == any((*replaced, self.part, self.partition_mib, self.workload)):
            raise ValueError(
                "the other way must differ: name states, parameters, options, a part, its "
                "partition_mib, a board, a workload or phases, or else that it is untried"
            )
        return self


class Claim(StrictModel):
    """A statement of the paper, and how a run is set beside it."""

    id: Id
    text: Lines = Field(description="in a sentence: what the paper says")
    said: Lines = Field(description="the paper's figure, as the report shows it")
    where: Line = Field(description="section and figure of the paper")
    workload: Word | Empty = Field(
        default="", description="whose trials it is of; empty: the paper's"
    )
    parts: list[ClaimPart] = Field(min_length=1)
    rests_on: list[Id] = Field(
        default=[], description="the bases that it rests on, by id: each gives its numbers anew"
    )
    counted: list[Selector] = Field(
        default=[], description="further configurations whose counts show the cause"
    )
    traced: Lines = Field(
        default="",
        description="the cause of a difference as a trace showed it, and which trace; empty: none",
    )
    shown: Id | Empty = Field(
        default="", description="the table of flash time by cause that shows it, by its id"
    )
    phase: Word | Empty = Field(
        default="", description="the phase whose time the counts split; empty: the headline's"
    )


class PaperTrace(StrictModel):
    """A trace that was taken: its figures lie in ``traces/PAPER/FILE.json`` beside this file."""

    file: Id
    label: Line = Field(description="in a few words: whose trace it is")
    command: Lines = Field(description="the command that takes it again, up to -- ffsmark")


class TraceComparison(StrictModel):
    """Traces side by side: whose work took the flash's time."""

    id: Id
    title: Line
    text: Lines = Field(description="what is to be seen in it")
    traces: list[PaperTrace] = Field(min_length=1)


class Bar(StrictModel):
    """A row of a redrawn figure."""

    label: Line = Field(description="what the row is")
    of: Selector
    phases: dict[Line, Line] = Field(
        default={},
        description="phases that it is of instead of the panels', as a basis has them: first_ = "
        "second_",
    )


class Panel(StrictModel):
    """One of a figure's diagrams: a figure of the run over the rows."""

    title: Line
    figure: FigureName


class RedrawnFigure(StrictModel):
    """A figure of the paper, redrawn from a run."""

    id: Id
    title: Line = Field(description="what the paper's figure shows")
    said: list[Lines] = Field(description="the numbers that the paper states of it, as sentences")
    workload: Word | Empty = Field(
        default="", description="whose trials it is of; empty: the paper's"
    )
    panels: list[Panel] = Field(default=[])
    bars: list[Bar] = Field(default=[])
    curves: list[Word] = Field(
        default=[], description="instead of bars: the study's curves that redraw it, by name"
    )

    @model_validator(mode="after")
    def _is_drawn_one_way(self) -> RedrawnFigure:
        bars = bool(self.panels) and bool(self.bars)
        if bars == bool(self.curves) or bool(self.panels) != bool(self.bars):
            raise ValueError("it is drawn as panels of bars, or as curves of the study: name one")
        return self


def _resolve_selectors(value: Any, selectors: dict[str, Any]) -> Any:
    """A copy in which each ``of``, ``over`` and ``counted`` that is a name is that selector."""
    if isinstance(value, list):
        return [_resolve_selectors(v, selectors) for v in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _resolve_selectors(v, selectors) for key, v in value.items()}
    for key in {"of", "over", "counted"} & copy.keys():
        if isinstance(copy[key], list):
            copy[key] = [_find_selector(key, name, selectors) for name in copy[key]]
        else:
            copy[key] = _find_selector(key, copy[key], selectors)
    return copy


def _find_selector(key: str, told: Any, known: dict[str, Any]) -> Any:
    """The selector of this name; what is no name is itself one."""
    if isinstance(told, str) and told not in known:
        raise ValueError(f"{key} = {told!r}: no such selector; there are: {', '.join(known)}")
    return known[told] if isinstance(told, str) else told


class PaperModel(Noun):
    """A paper: what it measured on, and what it claims."""

    citation: Lines
    platform: Lines = Field(description="board, kernel and chip that its figures are from")
    workload: Word = Field(description="the workload of the catalog that stands for its load")
    part: Word = Field(description="the chip of the catalog that stands for its chip")
    parameters: dict[Word, Scalar] = Field(
        default={}, description="the workload's parameters that must have these values"
    )
    differs: list[Lines] = Field(
        default=[], description="how a run here differs from the paper's, each in a sentence"
    )
    selectors: dict[Word, Selector] = Field(
        default={}, description="selectors by name: a part may name one instead of having its own"
    )
    bases: list[ClaimBasis] = Field(default=[])
    claims: list[Claim] = Field(min_length=1)
    drawn: list[RedrawnFigure] = Field(default=[])
    causes: list[TraceComparison] = Field(default=[])

    @model_validator(mode="before")
    @classmethod
    def _selectors_by_name(cls, data: Any) -> Any:
        """Names where selectors belong become the selectors."""
        known = data.get("selectors") if isinstance(data, dict) else None
        return _resolve_selectors(data, known) if isinstance(known, dict) else data

    def find_workload(self, claim: Claim) -> str:
        """The workload that a claim is of."""
        return claim.workload or self.workload

    @model_validator(mode="after")
    def _each_id_once(self) -> PaperModel:
        for kind, entries in (("claims", self.claims), ("bases", self.bases)):
            ids = [e.id for e in entries]
            if twice := sorted({i for i in ids if ids.count(i) > 1}):
                raise ValueError(f"{kind}: two have the id {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _shows_what_there_is(self) -> PaperModel:
        known = {c.id for c in self.causes}
        lacking = [c.id for c in self.claims if c.shown and c.shown not in known]
        if lacking:
            raise ValueError(f"claims {', '.join(lacking)}: shown names no [[causes]]")
        bases = {b.id for b in self.bases}
        lacking = [c.id for c in self.claims if not bases.issuperset(c.rests_on)]
        if lacking:
            raise ValueError(f"claims {', '.join(lacking)}: rests_on names no [[bases]]")
        return self
