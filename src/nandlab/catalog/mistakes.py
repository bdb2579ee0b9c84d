# SPDX-License-Identifier: GPL-2.0-or-later
"""What pydantic finds wrong with data, told in words of ours: a line for each place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.strings import describe_pattern

DataPlace = tuple[int | str, ...]

PLAIN_TEXTS = {
    "missing": "must be given",
    "model_type": "must be an object, in TOML a table: {{ KEY = VALUE }}",
    "dict_type": "must be an object, in TOML a table: {{ KEY = VALUE }}",
    "extra_forbidden": "there is no such key here",
    "union_tag_invalid": "{discriminator} = {tag!r} is none of {expected_tags}",
    "union_tag_not_found": "{discriminator} must be given",
    "recursion_loop": "contains itself",
}
"""What pydantic says otherwise, by the type of its error."""
MUST_BE = "must be "
CONTAINERS = (list, dict)


def list_validation_mistakes(
    error: ValidationError, model: type[BaseModel], data: Any
) -> list[str]:
    """Each mistake as ``place: what is wrong``, one for a place.

    model, data: what was validated, and as what. An unknown key is told with the nearest known.
    """
    texts_by_place: dict[DataPlace, list[str]] = {}
    for e in error.errors(include_url=False):
        place = _find_place_in_data(e["loc"], model, data)
        text = _explain_error(e)
        if e["type"] == "extra_forbidden":
            text += suggest_nearest_name(str(e["loc"][-1]), _list_keys_at(model, e["loc"][:-1]))
        texts_by_place.setdefault(place, []).append(text)
    return [
        f"{_format_place(place) or 'the file'}: {_join_alternatives(texts)}"
        for place, texts in texts_by_place.items()
    ]


def _format_place(place: DataPlace) -> str:
    """A place in a line: whatever a key has in it is told in a line, and not at length."""
    parts = (str(part) for part in place)
    return ".".join(part if part.isprintable() else repr(part) for part in parts)


def _find_place_in_data(loc: DataPlace, model: type[BaseModel], data: Any) -> DataPlace:
    """A place without pydantic's names for the members of a union, which no file has."""
    value, kinds, place = data, [model], []
    for part in loc:
        called = _find_union_members(kinds, part)
        known = not called and part in _list_keys(kinds)
        there = not called and _has_part(value, part)
        if known or there:
            place.append(part)
            value = value[part] if there else None
        kinds = called or [inner for kind in kinds for inner in _list_inner_types(kind, part)]
    return tuple(place)


def _has_part(data: Any, part: int | str) -> bool:
    """Whether a dict has this key, or a list this index."""
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _join_alternatives(texts: list[str]) -> str:
    """The mistakes of one place in a clause: those of a union's members are all about one value."""
    texts = list(dict.fromkeys(texts))
    first, *others = texts
    return " or ".join([first, *(text.removeprefix(MUST_BE) for text in others)])


def _explain_error(error: ErrorDetails) -> str:
    """What is wrong, without the words that are about pydantic."""
    if error["type"] in PLAIN_TEXTS:
        said = {
            k: v.strip("'") if k == "discriminator" else v for k, v in error.get("ctx", {}).items()
        }
        return PLAIN_TEXTS[error["type"]].format(**said)
    if error["type"] == "string_pattern_mismatch" and (
        text := describe_pattern(error["ctx"]["pattern"])
    ):
        return f"{MUST_BE}{text}"
    told = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    told = re.sub(r"^(Input|String|List|Dictionary) should (?=be|have|match)", "must ", told)
    told = re.sub(r" after validation, not \d+$", "", told)
    return " ".join(told.split())


def _list_keys_at(model: type[BaseModel], loc: DataPlace) -> set[str]:
    """The keys that a model may have at this place."""
    kinds: list[Any] = [model]
    for part in loc:
        below = [inner for kind in kinds for inner in _list_inner_types(kind, part)]
        kinds = _find_union_members(kinds, part) or below
    return _list_keys(kinds)


def _list_keys(kinds: Iterable[Any]) -> set[str]:
    """The keys that these models have."""
    return {key for kind in kinds for m in _list_models(kind) for key in m.model_fields}


def _find_union_members(kinds: Iterable[Any], name: int | str) -> list[type[BaseModel]]:
    """The members of a union of models that a field of theirs gives this name."""
    models = [m for kind in kinds for m in _list_models(kind)]
    found = [m for m in models if any(name in _list_literals(f) for f in m.model_fields.values())]
    return found if len(models) > 1 else []


def _list_literals(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _list_models(kind: Any) -> Iterator[type[BaseModel]]:
    """The models that a type is, or is a union of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    elif get_origin(kind) not in CONTAINERS:
        for inner in get_args(kind):
            yield from _list_models(inner)


def _list_inner_types(kind: Any, part: int | str) -> Iterator[Any]:
    """The types that a field, an index or a key leads to; any other part is of pydantic's words."""
    models = list(_list_models(kind))
    fields = [m.model_fields[str(part)].annotation for m in models if part in m.model_fields]
    yield from fields or models
    for container in _list_containers(kind):
        yield get_args(container)[-1]


def _list_containers(kind: Any) -> Iterator[Any]:
    """The lists and dicts that a type is, or is a union of."""
    if get_origin(kind) in CONTAINERS:
        yield kind
    else:
        for inner in get_args(kind):
            yield from _list_containers(inner)
