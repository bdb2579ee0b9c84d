# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves as a study asks for them: a figure over an attribute, a line for each kind of trial.

``nandlab.plan.curves`` checks their names against the study's trials,
``nandlab.analysis.curves.curvevalues``
has their values. Names are those of analysis/curves/curveplaces.py and of the registry of figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nandlab.analysis.curves.curveplaces import PHASE_NAME_PREFIXES, TRIAL_ATTRIBUTES
from nandlab.base.strings import Empty, FigureName, Line, Lines, Word
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import Scalar, StrictModel

ATTRIBUTE_NAMES = (*TRIAL_ATTRIBUTES, "phase")
"""Names that are attributes as they are."""
ATTRIBUTE_FAMILIES = ("option", "parameter", "at")
"""Attributes whose name goes on behind a dot."""


def is_attribute_name(name: str) -> bool:
    """Whether a name is of an attribute; else it is of a figure."""
    return name in ATTRIBUTE_NAMES or name.partition(".")[0] in ATTRIBUTE_FAMILIES


CurveName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]


class Gain(StrictModel):
    """What is saved: 1 - of / over, member by member, as a share; below 0 it costs."""

    by: FigureName = Field(
        description="the attribute in which the two differ: option.read_ahead, ..."
    )
    of: Scalar = Field(description="its value where something is saved")
    over: Scalar = Field(description="its value that this is compared with")


class Curve(StrictModel):
    """A chart of the report."""

    name: CurveName = Field(description="names its files too")
    title: Line = Field(min_length=1, description="above the chart")
    caption: Lines = Field(default="", description="below it: what it shows and does not say")
    x: FigureName = Field(
        description="an attribute; or a figure: then each configuration is a point by itself"
    )
    y: FigureName = Field(
        description="a figure: point.NAME of a phase with attributes, or a trial's"
    )
    where: dict[FigureName, Scalar | list[Scalar]] = Field(
        default={}, description="attributes and the value, or values, that they must have"
    )
    lines: list[FigureName] = Field(
        default=[],
        description="attributes: a line for each combination of their values; what else differs "
        "makes further lines, and their names say so",
    )
    gain: Gain | None = Field(default=None, description="y is then what one value saves of it")
    label: FigureName | Empty = Field(
        default="", description="an attribute that is written beside each point"
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="of x")
    y_scale: Literal["linear", "log"] = Field(default="linear", description="of y")
    fit: bool = Field(
        default=False,
        description="whether each line's least-squares line is drawn, and told with its R²; x must "
        "be numbers then",
    )
    modelled: Word | Empty = Field(
        default="", description="a model whose lines are drawn too, dashed; empty: none"
    )

    @model_validator(mode="after")
    def _is_drawable(self) -> Curve:
        if is_attribute_name(self.y):
            raise ValueError(f"y = {self.y!r}: it is an attribute; y must be a figure")
        if self.gain and self.scatter:
            raise ValueError(f"x = {self.x!r}: over a figure there is no gain; x: an attribute")
        if self.gain and self.y_scale == "log":
            raise ValueError("y_scale: a gain may be 0 or less, so it has no logarithm")
        if self.modelled and not (self.gain and self.y == "point.reads"):
            raise ValueError(
                "modelled: a model counts pages of the cache: give y = "
                '"point.reads" and a gain, so that it compares with flash reads'
            )
        if self.fit and self.modelled:
            raise ValueError("fit: a line is laid through what was measured; leave modelled out")
        if self.gain and self.gain.by == self.x:
            raise ValueError(f"x = {self.x!r}: the gain is taken by it; let x be another one")
        return self

    @property
    def scatter(self) -> bool:
        """Whether x is a figure too."""
        return not is_attribute_name(self.x)

    @property
    def attributes(self) -> dict[str, str]:
        """Every attribute that is named, by its place in the table."""
        told = {"x": self.x} if not self.scatter else {}
        told |= {f"where.{name}": name for name in self.where}
        told |= {f"lines.{i}": name for i, name in enumerate(self.lines)}
        told |= {"gain.by": self.gain.by} if self.gain else {}
        return told | ({"label": self.label} if self.label else {})

    @property
    def figures(self) -> dict[str, str]:
        """Every figure that is named, by its place in the table."""
        return {"y": self.y} | ({"x": self.x} if self.scatter else {})

    @property
    def has_phase_values(self) -> bool:
        """Whether a value is one of a phase, not of a whole trial."""
        names = (*self.attributes.values(), *self.figures.values())
        return any(
            name.startswith(PHASE_NAME_PREFIXES) and not _is_trial_figure(name) for name in names
        )


def _is_trial_figure(name: str) -> bool:
    """The registry's figures ``phase.NAME`` are a trial's."""
    return name.startswith("phase.")


def make_curves_from_spec(spec: Mapping[str, Any]) -> list[Curve]:
    """The curves of a study, as a run's head keeps it; UsageError if they are none today."""
    told = spec.get("curves") or []
    return [validate_data(c, Curve, f"curves.{i}") for i, c in enumerate(told)]
