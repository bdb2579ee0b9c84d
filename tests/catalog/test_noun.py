# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hash of a noun is of: the fields that differ from their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from nandlab.base.digest import digest_json_value
from nandlab.base.paths import STUDIES
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.instrument import InstrumentModel
from nandlab.catalog.noun import dump_noun_identity
from nandlab.catalog.tree import TreeModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan import study

MODELS: dict[str, type[BaseModel]] = {
    "boards": BoardModel,
    "chips": ChipModel,
    "filesystems": FilesystemModel,
    "workloads": WorkloadModel,
    "instruments": InstrumentModel,
    "trees": TreeModel,
}


class Wheel(BaseModel):
    spokes: int = 32
    tyre: str = ""


class Cart(BaseModel):
    name: str
    summary: str = ""
    wheels: list[Wheel] = Field(default=[])
    spare: Wheel = Wheel()


class CartWithBrakes(Cart):
    brakes: str = "none"


def test_it_has_what_differs_from_the_defaults_at_any_depth() -> None:
    cart = Cart(name="a", wheels=[Wheel(), Wheel(spokes=8)], spare=Wheel(tyre="wide"))
    expected = {"name": "a", "wheels": [{}, {"spokes": 8}], "spare": {"tyre": "wide"}}
    assert dump_noun_identity(cart) == expected
    assert dump_noun_identity(cart.model_copy(update={"summary": "red"}), "summary") == expected


def test_a_new_field_moves_only_what_uses_it() -> None:
    before, after = Cart(name="a"), CartWithBrakes(name="a")
    assert digest_json_value(dump_noun_identity(before)) == digest_json_value(
        dump_noun_identity(after)
    )
    assert digest_json_value(dump_noun_identity(before)) != digest_json_value(
        dump_noun_identity(CartWithBrakes(name="a", brakes="drum"))
    )


@pytest.mark.parametrize("kind", MODELS)
def test_each_noun_of_the_catalog_is_whole_in_it(kind: str) -> None:
    assert list_noun_names(kind)
    for name in list_noun_names(kind):
        noun = load_noun(kind, name, MODELS[kind])  # type: ignore[type-var]
        again = MODELS[kind].model_validate(dump_noun_identity(noun))
        assert again.model_dump() == noun.model_dump()


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda p: p.stem)
def test_each_study_is_whole_in_it(path: Path) -> None:
    read = study.read_study_file(path)
    assert study.parse_run_study(dump_noun_identity(read), read._folder, "identity") == read
