# SPDX-License-Identifier: GPL-2.0-or-later
"""The one way to standard output and standard error: what comes from elsewhere is shown, escaped.

Commands print by the functions below, and tables by ``base/console.py``; ruff refuses ``print`` and
``sys.stdout`` elsewhere. What else writes to the two streams (the parser of the command line, a
log, a warning, a traceback) meets the Guard that ``guard`` sets before them. No control character
passes any of them, but for line ends and tabs, and the styles of a console of ours.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast

from nandlab.base.printable import make_lines_printable, make_printable

STDERR_NUMBER = 2
"""Standard error, for a program of the user's own that prints there itself."""
STREAM_NAMES = {"stdout": "standard output", "stderr": "standard error"}
"""What an error of a standard stream is told of."""
HIDDEN_ATTRIBUTES = ("buffer", "detach")
"""Ways around a Guard, which it does not have."""


@dataclass
class Notes:
    """When standard error was last written to by ``note``."""

    last_note_s: float = 0.0
    """On the clock of time.monotonic; 0: not yet."""


NOTES = Notes()


def print_lines(*lines: object) -> None:
    """Prints lines: each stays one, whatever is in it."""
    print(*(make_printable(str(line)) for line in lines), sep="\n")


def print_text(text: str) -> None:
    """Prints a text as it is, line ends and all."""
    is_guarded = isinstance(sys.stdout, StreamGuard)  # then it is escaped there
    print(text if is_guarded else make_lines_printable(text), end="")


def print_paragraphs(paragraphs: Iterable[Iterable[str]]) -> None:
    """Prints paragraphs of lines, an empty one between them."""
    lines = [line for paragraph in paragraphs for line in ("", *paragraph)]
    print_lines(*lines[1:])


def print_json(value: Any, indent: int = 1) -> None:
    """Prints a value as JSON in lines."""
    print_text(format_json(value, indent))


def format_json(value: Any, indent: int | None = 1) -> str:
    """A value as JSON, all of it printable ASCII, in lines that are indented; None: in one line."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f") + "\n"


def print_note(*lines: object) -> None:
    """Prints lines to standard error at once, after what standard output was given.

    If standard error takes none, they are lost, and no more. OSError: standard output takes none.
    """
    sys.stdout.flush()
    NOTES.last_note_s = time.monotonic()
    with ignore_stderr_errors():
        print(*(make_printable(str(line)) for line in lines), sep="\n", file=sys.stderr, flush=True)


@contextmanager
def ignore_stderr_errors() -> Iterator[None]:
    """Whoever prints to standard error here goes on if that takes nothing."""
    try:
        yield
    except OSError:
        discard_unwritten_output("stderr")


def print_program_output(stdout: bytes, stderr: bytes) -> None:
    """Passes on what a program of the user's own printed, each stream to its own.

    Byte for byte, but to a terminal: there it is shown as a text from elsewhere.
    """
    for name, content in (("stdout", stdout), ("stderr", stderr)):
        stream = getattr(sys, name)
        stream.flush()
        if stream.isatty():
            print(make_lines_printable(content.decode(errors="replace")), end="", file=stream)
        else:
            find_inner_stream(stream).buffer.write(content)
        stream.flush()


def flush_stdout() -> None:
    """Writes what standard output still holds back."""
    sys.stdout.flush()


def discard_unwritten_output(name: str = "stdout") -> None:
    """What a standard stream did not take is not tried again as the interpreter ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), getattr(sys, name).fileno())


def is_stderr_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


class NamedStream:
    """A text stream whose errors name it, as those of a file do."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, text: str) -> int:
        """See TextIO."""
        with self._name_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        """See TextIO."""
        with self._name_errors():
            self._stream.flush()

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            e.filename = self._name
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class StreamGuard:
    """A text stream that passes no control character but line ends and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = stream
        """What rich calls it; its consoles write there."""

    def write(self, text: str) -> int:
        """See TextIO."""
        return self._stream.write(make_lines_printable(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """See TextIO."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in HIDDEN_ATTRIBUTES:
            raise AttributeError(name)
        return getattr(self._stream, name)


def guard_standard_streams() -> None:
    """Sets a Guard before both streams, for the process. A closed one becomes /dev/null.

    What the encoding of a stream lacks is written as an escape of Python's.
    """
    _open_closed_streams()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, StreamGuard):
            continue
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        named = NamedStream(stream, STREAM_NAMES[name])
        setattr(sys, name, StreamGuard(cast(TextIO, named)))


def find_inner_stream(stream: TextIO) -> TextIO:
    """The stream itself, behind all that stand before it: for a console that escapes."""
    while (inner := getattr(stream, "rich_proxied_file", None)) is not None:
        stream = cast(TextIO, inner)
    return stream


def _open_closed_streams() -> None:
    """So that no file that is opened later is taken for a standard stream, by us or by a child."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
