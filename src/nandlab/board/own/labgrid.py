# SPDX-License-Identifier: GPL-2.0-or-later
"""A place of labgrid, which a board may stand at: who has it, and its power.

labgrid's own client does both, and finds its coordinator as always (LG_COORDINATOR). The board is
reached by ssh or serial as any other: labgrid's way to ssh does not check host keys.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note

CLIENT = "labgrid-client"


def make_power_cycle_command(place: str) -> str:
    """The shell's words that switch a place's power off and on again."""
    return shlex.join([CLIENT, "-p", place, "power", "cycle"])


@asynccontextmanager
async def hold_labgrid_place(place: str | None) -> AsyncIterator[None]:
    """Holds a place of labgrid meanwhile; None: there is none.

    UsageError if it is not to be had, in the client's words.
    """
    if place is None:
        yield
        return
    if shutil.which(CLIENT) is None:
        raise UsageError(f"reach.labgrid: no {CLIENT} in PATH: pip install 'nandlab[labgrid]'")
    if (complaint := await _run_client(place, "acquire")) is not None:
        raise UsageError(f"reach.labgrid: the place {place} is not to be had: {complaint}")
    try:
        yield
    finally:
        if (complaint := await _run_client(place, "release")) is not None:
            print_note(f"the place {place} could not be released: {complaint}")


async def _run_client(place: str, verb: str) -> str | None:
    """Runs the client: its last words if it fails."""
    process = await asyncio.create_subprocess_exec(
        *(CLIENT, "-p", place, verb),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode == 0:
        return None
    return said.decode(errors="replace").strip().rpartition("\n")[2] or "it says nothing"
