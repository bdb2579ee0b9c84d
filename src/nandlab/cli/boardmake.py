# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab board make``: a board of a kernel of one's own, or of another release of Debian's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli.arguments import make_name_completer

if TYPE_CHECKING:
    from nandlab.board.kit.newboard import NewBoard
    from nandlab.catalog.board import BoardModel


def make(  # noqa: PLR0917 - the command line's own options
    name: Annotated[str, typer.Argument(metavar="NAME", help="the new board's name")],
    packages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="has a kernel's packages, built by `make bindeb-pkg`"),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="a kernel's tree, which is built"),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FRAGMENT",
            help="with --tree: settings that go before nandlab's, a file, or kasan or lockdep; "
            "repeatable",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(metavar="RELEASE", help="of Debian, whose newest kernel the mirror has"),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="FLAVOUR", help="with --release: the kernel's; default: as --like"),
    ] = None,
    like: Annotated[
        str,
        typer.Option(
            help="the board that it takes all but the kernel from",
            autocompletion=make_name_completer("boards"),
        ),
    ] = "apf27",
    ram_mib: Annotated[
        int | None, typer.Option(metavar="MIB", help="RAM that the kernel uses; default: as --like")
    ] = None,
) -> None:
    """Make a board with a kernel of your own, or with that of another release of Debian.

    The board boots once. Only then are its file, the lock of its packages and the kernel's own
    packages written, into ./catalog/boards. Studies name it as any board, and its trials repeat to
    the nanosecond. A kernel's headers bring programs that run on this machine, and a tree's
    Makefiles are programs: take packages and trees of your own only.
    """
    from nandlab.board.kit import newboard
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    if sum(each is not None for each in (packages, tree, release)) != 1:
        raise UsageError("board make: give one of --packages, --tree and --release")
    if config and tree is None:
        raise UsageError("board make: --config is of a kernel that is built: give --tree with it")
    if kernel is not None and release is None:
        raise UsageError("board make: --kernel is of a release of Debian: give --release with it")
    model = load_noun("boards", like, BoardModel)
    if ram_mib is not None:
        model = _change_ram(model, ram_mib)
    if packages is not None:
        new = newboard.make_packages_board(name, model, packages)
    elif tree is not None:
        new = newboard.make_tree_board(name, model, tree, config or [])
    else:
        new = newboard.make_release_board(name, model, str(release), kernel or model.kernel)
    boot_new_board(new)
    print_lines(newboard.write_new_board(new))


def _change_ram(model: BoardModel, ram_mib: int) -> BoardModel:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import validate_data

    values = model.model_dump(exclude_none=True) | {"ram_mib": ram_mib}
    values.pop("available_mib", None)
    changed = validate_data(values, BoardModel, "--ram-mib")
    changed._home = model.home
    return changed


def boot_new_board(new: NewBoard) -> None:
    """Builds nandlab's modules for the kernel and boots it; its saved state stays in the cache.

    UsageError with the compiler's lines, or the console's, if either fails.
    """
    from time import monotonic

    from nandlab.base.errors import NandlabError
    from nandlab.board.jobs.job import BoardLost
    from nandlab.board.virtual.qemu import open_board

    began = monotonic()
    try:
        board = open_board(new.model, locked=True, lock=new.lock)
    except BoardLost as e:
        raise UsageError(f"board {new.model.name}: its kernel does not boot:", *e.lines) from None
    except UsageError:
        raise
    except NandlabError as e:
        raise UsageError(f"board {new.model.name}: not made:", *e.lines) from None
    release = board.machine.kit.kernel.release
    print_note(f"Linux {release} has booted, {monotonic() - began:.0f} s with all builds")
