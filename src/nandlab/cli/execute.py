# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab exec``: runs a program of the user's own on a mounted file system of the board."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import NandlabError
from nandlab.base.printer import print_note, print_program_output
from nandlab.cli.arguments import (
    CatalogBoardOption,
    PartitionOption,
    SetOption,
    make_name_completer,
    parse_name_value_pairs,
)
from nandlab.cli.preparation import announce_board_preparation, print_heartbeats
from nandlab.cli.singletrial import find_unused_workload, plan_single_trial

if TYPE_CHECKING:
    from nandlab.trace.execution import Execution, ExecutionOutcome

CommandArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND...",
        help="after --: a program and its arguments, or one line for the board's shell; it runs in "
        "the folder where the file system is mounted",
    ),
]
FsOption = Annotated[
    str,
    typer.Option(
        help="a file system of the catalog", autocompletion=make_name_completer("filesystems")
    ),
]
ChipOption = Annotated[
    str,
    typer.Option(
        metavar="PART", help="a chip of the catalog", autocompletion=make_name_completer("chips")
    ),
]
PutOption = Annotated[
    list[str],
    typer.Option(
        "--put",
        metavar="FILE[:PATH]",
        help="put a file of yours on the board before the program runs: at PATH, else in /usr/bin "
        "if it may be executed, else in /root; a folder with all that is in it; may be repeated",
    ),
]
LimitOption = Annotated[
    int, typer.Option(metavar="S", help="seconds of the board's time that the program may take")
]


def execute(  # noqa: PLR0917 - the command line's own options
    command: CommandArgument,
    fs: FsOption,
    chip: ChipOption = "apf27",
    partition_mib: PartitionOption = None,
    set_: SetOption = [],  # noqa: B006 - typer copies it
    put: PutOption = [],  # noqa: B006
    limit: LimitOption = 600,
    board: CatalogBoardOption = "apf27",
) -> None:
    """Run a program of yours on a new, mounted file system of the board.

    nandlab exec --fs jffs2 --put ./fsx -- fsx -N 1000 file

    Its output is passed on when it has ended, and its exit status is the command's: 124 if it took
    longer than --limit, 128 and the signal's number if a signal killed it. What the kernel warned
    of is on standard error. The program must be static, for the board's machine.

    The exit status is 2, with a line that begins with "nandlab:", where the request cannot be met.
    """
    from nandlab.trace.execution import Execution, read_files_to_put
    from nandlab.trace.job import format_command_as_shell

    spec = plan_single_trial(
        board=board,
        workload={"name": find_unused_workload(fs)},
        filesystem={"name": fs, **parse_name_value_pairs(set_, "--set")},
        chip={"part": chip, "partition_mib": partition_mib},
        state={"name": "fresh", "valid": 0.0, "invalid": 0.0, "mix": 0.0},
        seed=1,
    )
    files = read_files_to_put(put, spec)
    outcome = _run_execution(Execution(spec, format_command_as_shell(command), files, limit))
    print_program_output(outcome.stdout, outcome.stderr)
    for note in outcome.notes:
        print_note(f"nandlab: {note}")
    if outcome.status:
        raise typer.Exit(outcome.status)


def _run_execution(execution: Execution) -> ExecutionOutcome:
    """Runs the program on a board; NandlabError if the board is lost or the program never began."""
    import asyncio

    from nandlab.board.jobs.job import BoardLost
    from nandlab.board.opening import open_board
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.trace.execution import decode_execution_outcome, make_execution_job
    from nandlab.trial.runner import refuse_unsupported_kernel

    job = make_execution_job(execution)  # refuses what does not fit before the board is prepared
    model = find_media_board([execution.spec])
    with announce_board_preparation(model):
        there = open_board(model)
    refuse_unsupported_kernel([execution.spec], there.kernel_config, "--set")
    try:
        with print_heartbeats("the program runs"):
            record = asyncio.run(there.run(job))
    except BoardLost as e:
        raise NandlabError(f"the board is lost: {e.reason}", *e.console_tail[-10:]) from None
    return decode_execution_outcome(execution, record)
