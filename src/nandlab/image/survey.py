# SPDX-License-Identifier: GPL-2.0-or-later
"""How large a folder is as each file system, with each compression that it offers.

Each image is made, mounted and read back as any other (making.py), in a process of its own, several
at once. What cannot be made is a row with the reason. Processes are ended when the survey is.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import NoReturn

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.job import Board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.leastpartition import format_block_mib
from nandlab.image import making, tree
from nandlab.image.sizes import ImageSize, measure_image_size
from nandlab.image.tree import FileTree
from nandlab.plan.medium import Medium
from nandlab.trial.runner import refuse_unsupported_kernel

COMPRESSION = "compression"
"""The option whose values are surveyed."""
NO_COMPRESSION = "none"
NO_CHOICE = "default"
"""A value that leaves the choice to the tool; the others are those that it chooses among."""
ASKED_AGAIN_SECONDS = 0.2
"""How long a process has to end before it is asked again."""
ERROR_PLACE = "image"
"""What errors name as the place of what is asked."""


@dataclass(frozen=True)
class SurveyRow:
    """An image of the tree, or why there is none."""

    filesystem: str
    title: str
    compression: str | None
    """None: it offers none."""
    account: ImageSize | None = None
    hindrances: tuple[str, ...] = ()
    """Why it cannot be made, in lines; empty: it is."""
    lost_properties: tuple[str, ...] = ()
    """What it does not keep of the tree."""
    seconds: float = 0
    saved: float | None = None
    """Share of the pages without UBI's headers that compression saved; None: not known."""
    least_mib: str | None = None
    """MiB of the smallest partition that would do; None: not known."""


@dataclass(frozen=True)
class SurveyTask:
    """An image that is to be made."""

    row: SurveyRow
    medium: Medium


@dataclass(frozen=True)
class SurveySource:
    """The folder that images are made of."""

    folder: Path
    tree: FileTree


def list_filesystem_rows(system: FilesystemModel) -> list[SurveyRow]:
    """A row for each compression of a file system, without any compression first."""
    option = system.options.get(COMPRESSION)
    if option is None:
        return [SurveyRow(system.name, system.title, None)]
    names = [name for name in option.values if name != NO_CHOICE]
    names.sort(key=lambda name: name != NO_COMPRESSION)
    return [SurveyRow(system.name, system.title, name) for name in names]


def plan_survey(
    systems: Sequence[FilesystemModel],
    model: BoardModel,
    chip: ChipModel,
    blocks: int,
    board: Board,
) -> tuple[list[SurveyTask], list[SurveyRow]]:
    """What is to be made, and the rows of what cannot be on this chip, or with this kernel."""
    todo, cannot = [], []
    for system in systems:
        for row in list_filesystem_rows(system):
            chosen = {COMPRESSION: row.compression} if row.compression else {}
            try:
                medium = Medium(
                    board=model,
                    chip=chip,
                    partition_blocks=blocks,
                    filesystem=system,
                    options=system.resolve_values(chosen, ERROR_PLACE, from_image=True),
                )
                making.refuse_unfit_medium(medium)
                refuse_unsupported_kernel([medium], board.kernel_config, ERROR_PLACE)
                todo.append(SurveyTask(row, medium))
            except UsageError as e:
                cannot.append(replace(row, hindrances=_format_error(e)))
    return todo, cannot


def make_survey_rows(
    todo: Sequence[SurveyTask],
    source: SurveySource,
    board: Board,
    at_once: int,
    report_row: Callable[[SurveyRow], None],
) -> list[SurveyRow]:
    """The rows of what is asked for, made ``at_once`` at a time; told: is given each as it ends."""
    rows: dict[int, SurveyRow] = {}
    left = list(enumerate(todo))
    with _hold_processes() as running:
        while left or running:
            while left and len(running) < at_once:
                number, task = left.pop(0)
                _start_process(running, number, task, source, board)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                number, process = running.pop(ready)
                rows[number] = _receive_row(ready, process, todo[number].row)
                report_row(rows[number])
    return add_saving_shares([rows[number] for number in sorted(rows)])


def add_saving_shares(rows: Sequence[SurveyRow]) -> list[SurveyRow]:
    """The rows with the share that each saves against its file system without compression."""
    plain = {
        row.filesystem: row.account.bytes
        for row in rows
        if row.account and row.compression == NO_COMPRESSION
    }
    return [
        replace(row, saved=1 - row.account.bytes / plain[row.filesystem])
        if row.account and row.compression != NO_COMPRESSION and plain.get(row.filesystem)
        else row
        for row in rows
    ]


RunningProcesses = dict[Connection, tuple[int, ForkProcess]]
"""By the end of the pipe that tells its row: the number of what is asked for, and its process."""


@contextmanager
def _hold_processes() -> Iterator[RunningProcesses]:
    """Processes that are running, to be filled; none of them is when the context ends."""
    running: RunningProcesses = {}
    try:
        yield running
    finally:
        while alive := [process for _, process in running.values() if process.is_alive()]:
            for process in alive:
                process.terminate()  # again, since Python misses one that comes as a wait begins
            alive[0].join(ASKED_AGAIN_SECONDS)


def _start_process(
    running: RunningProcesses, number: int, task: SurveyTask, source: SurveySource, board: Board
) -> None:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_make_in_process, args=(task, source, board, theirs))
    process.start()
    theirs.close()
    running[ours] = (number, process)


def _receive_row(ready: Connection, process: ForkProcess, row: SurveyRow) -> SurveyRow:
    """What a process told; NandlabError if it ended without a word."""
    try:
        answer = ready.recv()
    except EOFError:
        answer = None
    process.join()
    if not isinstance(answer, SurveyRow):
        what = " ".join(filter(None, (row.title, row.compression)))
        raise NandlabError(f"{what}: the process that made it ended with {process.exitcode}")
    return answer


def _exit_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    """Leaves by way of what is to be cleaned up, which a second signal does not disturb."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _make_in_process(
    task: SurveyTask, source: SurveySource, board: Board, tell: Connection
) -> None:
    """Makes an image in a process of its own, and tells its row."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked for it ends it
    began, medium = time.monotonic(), task.medium
    try:
        content, lost = tree.drop_unstorable_content(source.tree, medium.filesystem)
        tree.refuse_unstorable_names(content, medium.filesystem)
        image, _ = making.make_filesystem_image(medium, source.folder, content, board)
        least, size = making.count_least_partition(medium, image), medium.chip.geometry.erasesize
        row = replace(
            task.row,
            account=measure_image_size(image, medium.chip),
            lost_properties=tuple(lost),
            least_mib=None if least is None else format_block_mib(least, size),
        )
    except NandlabError as e:
        row = replace(task.row, hindrances=_format_error(e))
    tell.send(replace(row, seconds=round(time.monotonic() - began, 1)))


def _format_error(e: NandlabError) -> tuple[str, ...]:
    """What an error says, without where it was asked and that it cannot be."""
    lines = (line.removeprefix(f"{ERROR_PLACE}: ") for line in e.lines)
    return tuple(line.partition(" cannot be: ")[2] or line for line in lines)
