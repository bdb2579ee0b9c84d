# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study and a report must know of an instrument; measure/ has what it does."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nandlab.base.paths import CATALOG
from nandlab.base.strings import Line, Word
from nandlab.base.units import QUANTITIES
from nandlab.catalog.files import load_noun
from nandlab.catalog.noun import Noun, StrictModel

KIND = "instruments"
Better = Literal["less", "more", ""]


def _refuse_unknown_quantity(name: str) -> str:
    if name not in QUANTITIES:
        raise ValueError(f"no quantity {name!r}; there are: {', '.join(QUANTITIES)}")
    return name


class InstrumentFigure(StrictModel):
    """What is special of one of an instrument's figures."""

    better: Better = Field(default="less", description="which end is better; empty: neither")
    short: Line = Field(default="", description="its title where there is room for ten letters")


class InstrumentModel(Noun):
    """An instrument, which measures beside a trial's load."""

    measures: dict[Word, Line] = Field(
        default={},
        description="the names by which a study's measure asks for it, each with what is measured "
        "then; none: it measures where it can",
    )
    quantity: Annotated[Word, AfterValidator(_refuse_unknown_quantity)] = Field(
        default="count", description="of its figures, but of those named NAME_ns, _off or _mean"
    )
    better: Better = Field(
        default="less", description="which end of its figures is better; empty: neither"
    )
    figures: dict[Word, InstrumentFigure] = Field(
        default={}, description="figures of which that, or the title, is different"
    )


@cache
def load_instruments() -> dict[str, InstrumentModel]:
    """All instruments, by name: a project brings none, for they are code."""
    names = sorted(path.stem for path in (CATALOG / KIND).glob("*.toml"))
    return {name: load_noun(KIND, name, InstrumentModel) for name in names}


@cache
def list_measures() -> dict[str, str]:
    """All that a study's measure may name, each with what is measured then."""
    return {
        name: text for one in load_instruments().values() for name, text in one.measures.items()
    }


def _refuse_unknown_measure(name: str) -> str:
    if name not in list_measures():
        raise ValueError(f"nothing measures {name!r}; there are: {', '.join(list_measures())}")
    return name


Measure = Annotated[Word, AfterValidator(_refuse_unknown_measure)]
"""What a study's measure may name."""
