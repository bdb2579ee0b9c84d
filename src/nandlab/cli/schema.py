# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab schema``: what the files and outputs of nandlab look like, for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from nandlab.base.printer import print_json, print_lines


def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="default: list the names")
    ] = None,
) -> None:
    """Print the JSON Schema of a JSON that nandlab prints or writes, or of a TOML that it reads.

    Without a name it lists what there is. An editor with a language server for TOML completes and
    checks a study by its schema.
    """
    from nandlab.cli.schemas import SCHEMAS, make_json_schema

    if name is not None:
        print_json(make_json_schema(name))
        return
    for each, told in SCHEMAS.items():
        print_lines(f"{each:16} {told.description}")
