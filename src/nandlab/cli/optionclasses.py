# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several verbs share: a dataclass, whose fields are the options.

A verb with a parameter of such a class takes the options in its place, and has their values in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def expand_option_classes(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its classes as parameters of their own, as typer reads it."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    classes: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }
    expanded = [
        option
        for p in parameters
        for option in (
            _list_options(p.annotation)
            if p.name in classes
            else [p.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    ]

    @wraps(command)
    def run_command(**values: Any) -> None:
        shared = {
            name: options(**{field.name: values.pop(field.name) for field in fields(options)})
            for name, options in classes.items()
        }
        command(**values, **shared)

    run_command.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run_command.__annotations__ = {p.name: p.annotation for p in expanded}
    return run_command


def _list_options(options: Any) -> Iterator[inspect.Parameter]:
    """The fields of a class as parameters."""
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_find_default(field),
            annotation=hints[field.name],
        )


def _find_default(field: Field[Any]) -> Any:
    """The default of a field, as a parameter has it; typer copies a list."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
