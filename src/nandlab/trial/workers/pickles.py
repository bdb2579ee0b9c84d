# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scheduler and its workers send is data: no pickle among it becomes code.

Dask's client unpickles in many places: results, exceptions, types, warnings. Python itself tells
of each name that a pickle asks for, before it is looked up ("pickle.find_class", an audit event).
A pickle that gets no name can make numbers, texts and containers, and call nothing. So all that
Dask reads is guarded in one place, in whichever of its modules it is read.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

HARMLESS = {("builtins", "bytes")}
"""Names that a pickle may ask for: Dask sends the type of bytes as a pickle."""

TEXT_MAX = 300
"""Letters of an exception's text that are shown."""

_guarded: ContextVar[bool] = ContextVar("guarded", default=False)


class PickleRefused(TypeError):
    """A pickle asked for a name. Dask goes on after a TypeError where it reads an exception."""


@contextmanager
def refuse_pickles() -> Iterator[None]:
    """Here, and in tasks that are begun here, no pickle gets a name.

    Tasks begun before are not concerned, such as those of a scheduler in the same process.
    """
    _add_audit_hook()
    before = _guarded.set(True)
    try:
        yield
    finally:
        _guarded.reset(before)


@cache
def _add_audit_hook() -> None:
    """Hears of names from now on, once for a process: an audit hook stays."""
    sys.addaudithook(_audit_name)


def _audit_name(event: str, names: tuple[Any, ...]) -> None:
    if event == "pickle.find_class" and _guarded.get() and names not in HARMLESS:
        raise PickleRefused(
            f"it names {'.'.join(map(str, names))}, and only texts and bytes are read"
        )


class _PickledName:
    """Stands for whatever a pickle names; called, it keeps what it is given, and does nothing."""

    arguments: tuple[Any, ...] = ()

    def __init__(self, *arguments: Any, **_: object) -> None:
        self.arguments = arguments

    def __setstate__(self, _: object) -> None:
        """An exception's further state: nothing of it is kept."""


class _SafeUnpickler(pickle.Unpickler):
    def find_class(self, _: str, name: str) -> Any:
        return type(name, (_PickledName,), {})


def describe_exception(error: Exception) -> tuple[str, str]:
    """An exception's class and its text in a line; of one that came as a pickle too, without code.

    Dask gives a pickle that it could not read as the one argument of an Exception.
    """
    sent = error.args[0] if error.args else None
    if not isinstance(sent, bytes):
        kind, text = type(error).__name__, str(error)
    else:
        try:
            kind, text = _split_exception(_SafeUnpickler(io.BytesIO(sent)).load())
        except Exception:  # whatever a pickle of a stranger may bring about
            kind, text = "Exception", "it cannot be read"
    return kind, "".join(text.splitlines()[:1])[:TEXT_MAX]


def _split_exception(named: _PickledName) -> tuple[str, str]:
    """Class and text. Where tblib pickled it, the class is an argument, and its own are the next:
    in a tuple, or among attributes.
    """
    kind, arguments = type(named), named.arguments
    if arguments and isinstance(arguments[0], type):
        kind, arguments = arguments[0], arguments[1]
        arguments = arguments["args"] if isinstance(arguments, dict) else arguments
    return kind.__name__, " ".join(str(word) for word in arguments if isinstance(word, (str, int)))
