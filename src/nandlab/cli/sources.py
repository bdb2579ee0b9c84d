# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that say what parts of the board's kernel are built from: --source and --patch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest


def complete_source(incomplete: str) -> list[str]:
    """For the shell's completion: parts with the locked source, while no tree is named."""
    from nandlab.catalog.files import list_noun_names
    from nandlab.catalog.part import KIND, PACKAGE

    words = [f"{name}={PACKAGE}" for name in list_noun_names(KIND)]
    return [word for word in words if word.startswith(incomplete)]


SourceOption = Annotated[
    list[str],
    typer.Option(
        "--source",
        metavar="PART=TREE[,OPTION=VALUE]",
        help="build a part of the kernel, such as ubifs, from TREE: package, the locked source of "
        "the board's kernel, or a folder (docs/own/kernel.md); may be repeated",
        autocompletion=complete_source,
    ),
]
PatchOption = Annotated[
    list[Path],
    typer.Option(
        "--patch",
        metavar="FILE",
        help="apply a patch to a copy of what --source or the board's file names, else of the "
        "locked source, and build the parts that it changes; may be repeated",
    ),
]


def read_source_options(
    sources: Sequence[str], patches: Sequence[Path]
) -> dict[str, SourceRequest]:
    """What the options ask for; UsageError for what can be known to be wrong before a build."""
    from nandlab.board.kit.partsource import add_patches, parse_source_words, refuse_absent_trees

    requests = add_patches(
        parse_source_words(sources, "--source"), [p.absolute() for p in patches], "--patch"
    )
    refuse_absent_trees(requests, "--source")
    return requests
