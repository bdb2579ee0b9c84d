# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command ends: each error is a line on standard error and an exit status, at one place.

The line says what, where, and what to do. The status is 2 where the request cannot be met, 1 where
the disk is full or a trial failed, 130 after Ctrl-C, 141 where nobody reads the output any more.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from typer._click.exceptions import ClickException

from nandlab.base.errors import NandlabError
from nandlab.base.files import DISK_FULL
from nandlab.base.paths import find_cache_folder
from nandlab.base.printable import shorten_line
from nandlab.base.printer import (
    STREAM_NAMES,
    discard_unwritten_output,
    flush_stdout,
    guard_standard_streams,
    ignore_stderr_errors,
    print_note,
)
from nandlab.base.ulimits import has_address_space_limit

INTERRUPTED = 128 + signal.SIGINT
OUTPUT_UNREAD = 128 + signal.SIGPIPE
PLACE = "give another place, or the right to use this one"
CURES = {
    errno.ENOTDIR: "a file is where a folder is needed: give another path, or remove that file",
    errno.EISDIR: "a folder is where a file is needed: give another path, or remove that folder",
    errno.EEXIST: "a file is where a folder is needed: give another path, or remove that file",
    errno.ENOENT: "give a path that exists",
    errno.EACCES: PLACE,
    errno.EPERM: PLACE,
    errno.EROFS: PLACE,
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "its links lead to each other: give another path",
    errno.EMFILE: "too many files are open: raise ulimit -n",
}
"""What to do about an error of the operating system."""
RESUMING_VERBS = (["run"], ["check"], ["bisect"], ["powercut"], ["faults"], ["reproduce"])
"""First words of commands that go on where they were interrupted."""
REPEAT_S = 0.01
"""Seconds after which an exit that was ignored is tried again."""
LITTLE_MEMORY = "memory ran out: raise ulimit -v if it is set, or give the machine more"


def run_command_line(command: Callable[[], int | None]) -> NoReturn:
    """Runs the command line; whatever it raises ends it with its line and its exit status."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a job in the background has it
        signal.signal(signal.SIGINT, _exit_on_signal)
    sys.unraisablehook = _repeat_ignored_exit
    if not os.environ.get("COLUMNS", "").strip("0"):  # rich prints nothing at 0
        os.environ.pop("COLUMNS", None)
    guard_standard_streams()
    try:
        try:
            status = command()
        finally:
            flush_stdout()
        sys.exit(status or 0)
    except NandlabError as e:
        exit_with_message(*e.lines, status=e.exit_code)
    except ClickException as e:
        _exit_on_parse_error(e)
    except SystemExit as e:
        _replace_exit(e)
        raise
    except KeyboardInterrupt:
        _note_interruption()
        sys.exit(INTERRUPTED)
    except (MemoryError, ImportError) as e:
        if isinstance(e, ImportError) and not has_address_space_limit():
            raise
        exit_with_message(LITTLE_MEMORY, status=2)
    except BrokenPipeError:
        discard_unwritten_output()
        sys.exit(OUTPUT_UNREAD)
    except OSError as e:
        if e.filename == STREAM_NAMES["stdout"]:
            discard_unwritten_output()
        exit_with_message(format_os_error(e), status=1 if e.errno in DISK_FULL else 2)


def _replace_exit(error: SystemExit) -> None:
    """Says that a command was interrupted; ends one whose output nobody reads with its status."""
    if error.code == INTERRUPTED:
        _note_interruption()
    if isinstance(error.__context__, BrokenPipeError):  # of which click makes a status of 1
        discard_unwritten_output()
        sys.exit(OUTPUT_UNREAD)


def exit_with_message(first: str, *more: str, status: int) -> NoReturn:
    """Ends with this message and status; nobody may be there to read it."""
    print_note(f"nandlab: {shorten_line(first)}", *map(shorten_line, more))
    sys.exit(status)


def _exit_on_parse_error(error: ClickException) -> NoReturn:
    """Ends where the parser of the command line refuses it: it draws a box, by our console."""
    from typer import rich_utils

    from nandlab.base.console import Console

    error.message = shorten_line(error.message)
    vars(rich_utils)["Console"] = Console
    with ignore_stderr_errors():
        rich_utils.rich_format_error(error)
    sys.exit(error.exit_code)


def format_os_error(error: OSError) -> str:
    """An error of the operating system: where, what, and what to do."""
    is_full = error.errno in DISK_FULL
    nowhere = "a file that was being written" if is_full else "the operating system"
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else nowhere
    reason = error.strerror or str(error) or type(error).__name__
    if is_full:
        cure = f"make room; nothing is left half written (the cache is {find_cache_folder()}, "
        return f"{where}: {reason}: {cure}NANDLAB_CACHE moves it)"
    cure = CURES.get(error.errno or 0, "")
    return f"{where}: {reason}" + (f": {cure}" if cure else "")


def _note_interruption() -> None:
    resumes = "; run again to go on" if sys.argv[1:2] in RESUMING_VERBS else ""
    print_note(f"nandlab: interrupted{resumes}")


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Ends the command, so that what is half done is removed; another signal does not disturb that.

    Tasks that had not begun, or that nobody waits for any more, are no news then.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited")
    logging.getLogger("asyncio").disabled = True
    sys.exit(128 + number)


def _repeat_ignored_exit(ignored: sys.UnraisableHookArgs) -> None:
    """Ends the command after all where the exit was raised in code that cannot pass it on.

    pydantic reads a pattern, and Python runs ``__del__``, so that an exception there is only shown.
    """
    end = ignored.exc_value
    if not isinstance(end, SystemExit) or not isinstance(end.code, int):
        sys.__unraisablehook__(ignored)
        return
    number = end.code - 128
    signal.signal(number, _exit_on_signal)
    again = threading.Timer(REPEAT_S, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
