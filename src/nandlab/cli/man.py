# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab man``: the manual page, made of the verbs' own help."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from nandlab import __version__
from nandlab.base.printer import print_lines

WIDTH = 72
"""Of a line of the page's source, in letters, before anything is escaped."""
EXITS = {
    0: "all is well",
    1: "it was done, and the answer is no: a trial failed, something differs, something that is "
    "needed is missing; or something failed on the way",
    2: "the request cannot be met: bad input, an unknown name, a file that cannot be read, no "
    "worker or scheduler left to run trials",
    130: "interrupted (Ctrl-C); a run goes on when it is run again",
    141: "who read its output went away",
    143: "ended by SIGTERM; what was half done is removed",
}
"""Exit statuses; docs/scripting.md has the same table."""
VARIABLES = {
    "NANDLAB_CACHE": "the cache: packages, builds, snapshots; default: nandlab in XDG_CACHE_HOME, "
    "else in ~/.cache",
    "NANDLAB_CATALOG": "further folders of the catalog, with a colon between them",
    "NANDLAB_PACKAGES": "folders of Debian packages and board files, with a colon between them",
}
"""What nandlab reads of the environment."""
PLACES = {
    "catalog/": "beside a study, or below the current folder: chips, boards, workloads and file "
    "systems of your own",
    "programs/": "beside it: the sources of your own workloads",
    "results/": "runs, and in results/store the trials of all runs",
}


def man(context: typer.Context) -> None:
    """Print the manual page of nandlab, all verbs in it: nandlab man | man -l -"""
    top = context.find_root().command
    assert isinstance(top, TyperGroup)
    print_lines(*render_man_page(top))


def render_man_page(top: TyperGroup) -> Iterator[str]:
    """The lines of the page, in the macros of man(7)."""
    context = typer.Context(top, info_name="nandlab")
    first, *paragraphs = split_paragraphs(top.help or "")
    yield f'.TH NANDLAB 1 "" "nandlab {__version__}" "User Commands"'
    name, *name_continuation = _wrap_lines(first[0].lower() + first[1:])
    yield from (".SH NAME", f"nandlab \\- {name}", *name_continuation)
    yield from (".SH SYNOPSIS", ".B nandlab", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield ".SH DESCRIPTION"
    yield from _render_text(paragraphs)
    yield from (".SH OPTIONS", *_render_tags(_list_options(top, context)))
    yield ".SH COMMANDS"
    for name in top.list_commands(context):
        yield from _render_command(top.get_command(context, name), name, context)
    yield from (".SH EXIT STATUS", *_render_tags({str(k): v for k, v in EXITS.items()}))
    yield from (".SH ENVIRONMENT", *_render_tags(VARIABLES))
    yield from (".SH FILES", *_render_tags(PLACES))


def _render_command(command: Any, name: str, above: typer.Context) -> Iterator[str]:
    """A verb with its options, or a group: its text and each of its verbs."""
    context = typer.Context(command, info_name=name, parent=above)
    usage = " ".join(piece.strip("{}") for piece in command.collect_usage_pieces(context))
    yield f".SS {escape_man_line(f'{context.command_path} {usage}')}"
    yield from _render_text(split_paragraphs(command.help or ""))
    yield from _render_tags(_list_options(command, context))
    if isinstance(command, TyperGroup):
        for below in command.list_commands(context):
            yield from _render_command(command.get_command(context, below), below, context)


def _list_options(command: Any, context: typer.Context) -> dict[str, str]:
    """Arguments and options with their help; --help goes without saying."""
    records = (p.get_help_record(context) for p in command.get_params(context))
    return dict(found for found in records if found and not found[0].startswith("--help"))


def split_paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, a line each."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _render_text(parts: list[str]) -> Iterator[str]:
    for i, part in enumerate(parts):
        yield from ([".PP"] if i else [])
        yield from _wrap_lines(part)


def _render_tags(told: dict[str, str]) -> Iterator[str]:
    for tag, text in told.items():
        yield from (".TP", f".B {escape_man_line(tag)}", *_wrap_lines(text))


def _wrap_lines(text: str) -> Iterator[str]:
    yield from map(escape_man_line, textwrap.wrap(text, WIDTH, break_on_hyphens=False))


def escape_man_line(text: str) -> str:
    """A text that stands for itself on a line of its own."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe
