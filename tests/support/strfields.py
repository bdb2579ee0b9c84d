# SPDX-License-Identifier: GPL-2.0-or-later
"""Every text that a model may hold, by its place and by what it may be: nandlab.base.strings.

A place is written as in ``phases[].at{}``: ``[]`` is an item of a list, ``{}`` a value of a table,
``{key}`` a key of one. ``Any`` may hold texts too.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import pkgutil
import types
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter

import nandlab
from nandlab.base.strings import FreeMark, ShellMark

Kind = Literal["pattern", "enum", "free", "command", "anything"]
PLAIN = (int, float, bool, bytes, type(None), Path)
"""Types without texts. A path is a file of this machine that the user names."""


class Text(NamedTuple):
    """A text of a model."""

    place: str
    kind: Kind


def models() -> list[type[BaseModel]]:
    """Every model of nandlab."""
    for module in pkgutil.walk_packages(nandlab.__path__, "nandlab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    own = {model for model in _below(BaseModel) if model.__module__.startswith("nandlab.")}
    return sorted(own, key=lambda model: (model.__module__, model.__qualname__))


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        yield child
        yield from _below(child)


def texts(model: type[BaseModel], *, deep: bool = False) -> list[Text]:
    """The texts of a model; deep: those of the models in it too."""
    return list(dict.fromkeys(_of_model(model, "", deep, ())))


def fields(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """A model's fields and their types with all marks; without a name: of further fields."""
    for name, info in model.model_fields.items():
        yield name, annotated(info.annotation, info.metadata)
    if "__pydantic_extra__" in model.__annotations__:
        yield "", get_type_hints(model, include_extras=True)["__pydantic_extra__"]


def annotated(annotation: Any, marks: Sequence[Any]) -> Any:
    """A type with marks."""
    for mark in marks:
        annotation = Annotated[annotation, mark]
    return annotation


def _of_model(
    model: type[BaseModel], place: str, deep: bool, above: tuple[type[Any], ...]
) -> Iterator[Text]:
    if model in above:
        return
    for name, annotation in fields(model):
        inner = f"{place}.{name}" if place and name else place or name
        yield from _of_type(annotation, inner, deep, (*above, model))


def _of_type(
    annotation: Any, place: str, deep: bool, above: tuple[type[Any], ...]
) -> Iterator[Text]:
    annotation, marks = bare(annotation)
    if get_origin(annotation) is Literal:
        yield from [Text(place, "enum")] if str in map(type, get_args(annotation)) else ()
    elif _is(annotation, enum.Enum):
        yield Text(place, "enum")
    elif annotation is str or annotation is Any:
        yield Text(place, kind_of(marks))
    elif _is(annotation, BaseModel):
        yield from _of_model(annotation, place, deep, above) if deep else ()
    elif annotation not in PLAIN:
        for ending, inner in _inside(annotation):
            yield from _of_type(inner, place + ending, deep, above)


def _inside(annotation: Any) -> list[tuple[str, Any]]:
    """The types that a type is made of, and what a place has for each."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return [("", branch) for branch in args]
    if _is(origin, Mapping):
        return [("{key}", args[0]), ("{}", args[1])]
    if _is(origin, Sequence) or _is(origin, AbstractSet):
        return [("[]", item) for item in args if item is not ...]
    assert dataclasses.is_dataclass(annotation) or _is(annotation, dict | tuple), annotation
    hints = get_type_hints(annotation, include_extras=True)
    return [(f".{name}", hint) for name, hint in hints.items()]


def _is(annotation: Any, kind: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, kind)


def bare(annotation: Any) -> tuple[Any, list[Any]]:
    """A type without its marks, and these."""
    marks: list[Any] = []
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            marks += more
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation, marks


def kind_of(marks: Sequence[Any]) -> Kind:
    """What a text may be, by the marks of its type."""
    flat = [m for mark in marks for m in (mark, *getattr(mark, "metadata", ()))]
    if any(isinstance(mark, ShellMark) for mark in flat):
        return "command"
    if any(isinstance(mark, FreeMark) for mark in flat):
        return "free"
    return "pattern" if any(getattr(mark, "pattern", None) for mark in flat) else "anything"


def accepts(annotation: Any, value: object) -> bool:
    """Whether a type takes a value."""
    try:
        TypeAdapter(annotation).validate_python(value, strict=True)
    except ValueError:
        return False
    return True
