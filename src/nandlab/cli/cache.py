# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab cache``: what is kept between runs, and can be made again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.printer import print_lines, print_note

cache_app = typer.Typer(
    no_args_is_help=True,
    help="Packages, roots, builds and booted boards that are kept. All of it can be made again.",
)
DAY_S = 86400


@cache_app.command("list")
def list_cache() -> None:
    """List what the cache keeps, by kind: how many, how large, where."""
    from nandlab.base.cache import list_cache_items
    from nandlab.base.paths import find_cache_folder
    from nandlab.base.units import format_size

    items = list(list_cache_items())
    for kind in dict.fromkeys(item.kind for item in items):
        sizes = [item.bytes for item in items if item.kind == kind]
        print_lines(f"{kind:12} {len(sizes):5}  {format_size(sum(sizes)):>10}")
    print_lines(
        f"{'in all':12} {len(items):5}  {format_size(sum(item.bytes for item in items)):>10}  "
        f"{find_cache_folder()}"
    )


@cache_app.command("empty")
def empty(
    older_than: Annotated[
        float, typer.Option(metavar="DAYS", min=0, help="only what was not used for so many days")
    ] = 0,
) -> None:
    """Remove what the cache keeps; let no other nandlab run meanwhile. Trials are not in it."""
    from nandlab.base.cache import list_cache_items, remove_item
    from nandlab.base.units import format_size

    oldest = time.time() - older_than * DAY_S
    gone = [one for one in list_cache_items() if not older_than or one.used_s < oldest]
    for one in gone:
        remove_item(one)
    print_lines(f"{len(gone)} removed, {format_size(sum(one.bytes for one in gone))}")


@cache_app.command("verify")
def verify_cache(
    store: Annotated[
        Path | None,
        typer.Option(help="the folder of finished trials; default: results/store", metavar="DIR"),
    ] = None,
) -> None:
    """Read all that the cache keeps, and the finished trials; remove what is damaged.

    What is removed is made again when it is needed. Progress goes to standard error, a line for
    each damaged thing to standard output. The exit status is 1 if there is one.
    """
    from nandlab.base.cache import list_cache_items, remove_item_if_damaged
    from nandlab.base.errors import UsageError
    from nandlab.base.paths import RESULTS, find_cache_folder
    from nandlab.base.units import format_size
    from nandlab.results.store import Store

    if store is not None and not store.is_dir():
        raise UsageError(f"--store {store}: no such folder")
    things = list(list_cache_items())
    damaged = 0
    for kind in dict.fromkeys(thing.kind for thing in things):
        same = [thing for thing in things if thing.kind == kind]
        print_note(f"reading {kind}: {len(same)}")
        for thing in same:
            if why := remove_item_if_damaged(thing):
                damaged += 1
                print_lines(f"{thing.path.relative_to(find_cache_folder())}: {why}")
    trials = store or RESULTS / "store"
    print_note(f"reading {trials}")
    for path, why in Store(trials).drop_damaged():
        damaged += 1
        print_lines(f"{path}: {why}")
    total = format_size(sum(thing.bytes for thing in things))
    print_lines(f"{len(things)} in the cache, {total}: {damaged} damaged")
    if damaged:
        raise typer.Exit(1)
