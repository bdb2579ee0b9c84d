# SPDX-License-Identifier: GPL-2.0-or-later
"""A verb takes a class of options in a parameter's place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from nandlab.cli.optionclasses import expand_option_classes

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Place:
    chip: Annotated[str, typer.Option(help="a part")] = "apf27"
    blocks: Annotated[list[int], typer.Option(help="may be repeated")] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OtherPlace(Place):
    board: Annotated[str, typer.Option(help="its board")]


@app.command()
@expand_option_classes
def first(name: str, place: Place, *, end: bool = False) -> None:
    """Has a class between its own."""
    typer.echo(f"{name} {place.chip} {place.blocks} {end}")


@app.command()
@expand_option_classes
def second(*, place: OtherPlace) -> None:
    """Has a class that needs an option."""
    typer.echo(f"{place.chip} {place.board}")


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["first", "x"], "x apf27 [] False\n"),
        (["first", "x", "--blocks", "2", "--blocks", "3", "--chip", "y"], "x y [2, 3] False\n"),
        (["first", "--end", "x"], "x apf27 [] True\n"),
        (["second", "--board", "z"], "apf27 z\n"),
    ],
)
def test_the_fields_are_options(words: list[str], output: str) -> None:
    for _ in range(2):  # no list of one call is that of the next
        assert CliRunner().invoke(app, words).output == output


def test_an_option_without_a_default_is_needed() -> None:
    assert CliRunner().invoke(app, ["second"]).exit_code == 2


def test_help_has_them_in_the_order_of_the_parameters() -> None:
    text = CliRunner().invoke(app, ["first", "--help"]).output
    places = [text.index(option) for option in ("--chip", "--blocks", "--end")]
    assert places == sorted(places)
