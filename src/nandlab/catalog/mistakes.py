# SPDX-License-Identifier: GPL-2.0-or-later
"""What pydantic finds wrong with data, told in words of ours: a line for each place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from nandlab.base.nearest import nearest
from nandlab.base.strings import meaning

Place = tuple[int | str, ...]

PLAIN = {
    "missing": "must be given",
    "extra_forbidden": "there is no such key here",
    "union_tag_invalid": "{discriminator} = {tag!r} is none of {expected_tags}",
    "union_tag_not_found": "{discriminator} must be given",
    "recursion_loop": "contains itself",
}
"""What pydantic says otherwise, by the type of its error."""
MUST_BE = "must be "
CONTAINERS = (list, dict)


def mistakes(error: ValidationError, model: type[BaseModel], data: Any) -> list[str]:
    """Each mistake as ``place: what is wrong``, one for a place.

    model, data: what was validated, and as what. An unknown key is told with the nearest known.
    """
    found: dict[Place, list[str]] = {}
    for e in error.errors(include_url=False):
        place = _in_data(e["loc"], model, data)
        text = _plain(e)
        if e["type"] == "extra_forbidden":
            text += nearest(str(e["loc"][-1]), _keys_at(model, e["loc"][:-1]))
        found.setdefault(place, []).append(text)
    return [f"{_dotted(place) or 'the file'}: {_any_of(texts)}" for place, texts in found.items()]


def _dotted(place: Place) -> str:
    """A place in a line: whatever a key has in it is told in a line, and not at length."""
    parts = (str(part) for part in place)
    return ".".join(part if part.isprintable() else repr(part) for part in parts)


def _in_data(loc: Place, model: type[BaseModel], data: Any) -> Place:
    """A place without pydantic's names for the members of a union, which no file has."""
    at, kinds, found = data, [model], []
    for part in loc:
        called = _called(kinds, part)
        known = not called and part in _keys(kinds)
        there = not called and _has(at, part)
        if known or there:
            found.append(part)
            at = at[part] if there else None
        kinds = called or [inner for kind in kinds for inner in _below(kind, part)]
    return tuple(found)


def _has(data: Any, part: int | str) -> bool:
    """Whether a dict has this key, or a list this index."""
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _any_of(texts: list[str]) -> str:
    """The mistakes of one place in a clause: those of a union's members are all about one value."""
    texts = list(dict.fromkeys(texts))
    first, *others = texts
    return " or ".join([first, *(text.removeprefix(MUST_BE) for text in others)])


def _plain(error: ErrorDetails) -> str:
    """What is wrong, without the words that are about pydantic."""
    if error["type"] in PLAIN:
        said = {
            k: v.strip("'") if k == "discriminator" else v for k, v in error.get("ctx", {}).items()
        }
        return PLAIN[error["type"]].format(**said)
    if error["type"] == "string_pattern_mismatch" and (text := meaning(error["ctx"]["pattern"])):
        return f"{MUST_BE}{text}"
    told = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    told = re.sub(r"^(Input|String|List|Dictionary) should (?=be|have|match)", "must ", told)
    told = re.sub(r" after validation, not \d+$", "", told)
    return " ".join(told.split())


def _keys_at(model: type[BaseModel], loc: Place) -> set[str]:
    """The keys that a model may have at this place."""
    kinds: list[Any] = [model]
    for part in loc:
        below = [inner for kind in kinds for inner in _below(kind, part)]
        kinds = _called(kinds, part) or below
    return _keys(kinds)


def _keys(kinds: Iterable[Any]) -> set[str]:
    """The keys that these models have."""
    return {key for kind in kinds for m in _members(kind) for key in m.model_fields}


def _called(kinds: Iterable[Any], name: int | str) -> list[type[BaseModel]]:
    """The members of a union of models that a field of theirs gives this name."""
    models = [m for kind in kinds for m in _members(kind)]
    found = [m for m in models if any(name in _literals(f) for f in m.model_fields.values())]
    return found if len(models) > 1 else []


def _literals(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _members(kind: Any) -> Iterator[type[BaseModel]]:
    """The models that a type is, or is a union of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    elif get_origin(kind) not in CONTAINERS:
        for inner in get_args(kind):
            yield from _members(inner)


def _below(kind: Any, part: int | str) -> Iterator[Any]:
    """The types that a field, an index or a key leads to; any other part is of pydantic's words."""
    models = list(_members(kind))
    fields = [m.model_fields[str(part)].annotation for m in models if part in m.model_fields]
    yield from fields or models
    for container in _containers(kind):
        yield get_args(container)[-1]


def _containers(kind: Any) -> Iterator[Any]:
    """The lists and dicts that a type is, or is a union of."""
    if get_origin(kind) in CONTAINERS:
        yield kind
    else:
        for inner in get_args(kind):
            yield from _containers(inner)
