# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that is given up while it begins: nothing is left running, and nothing else is raised."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from qemu.qmp import QMPClient

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.virtual import vm

SILENT = """
import socket, sys, time
monitor = socket.socket(socket.AF_UNIX)
monitor.connect(sys.argv[1])
print(flush=True)
time.sleep(100)
"""
"""Opens the monitor's socket and says nothing."""


async def give_up(folder: Path) -> list[dict[str, Any]]:
    """What the loop was told of, after a start was cancelled that waits for QEMU's greeting."""
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    qmp = QMPClient("test")
    path = str(folder / "qmp")
    await vm._listen(qmp, path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SILENT, path, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    accepting = asyncio.ensure_future(vm._accept(qmp, process, folder))
    await process.stdout.readline()
    accepting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await accepting
    await vm._end_process(process, qmp)
    assert process.returncode is not None
    gc.collect()
    return said


def test_a_start_that_is_cancelled_raises_nothing_else() -> None:
    with hold_scratch_folder("/tmp") as folder:
        assert asyncio.run(give_up(folder)) == []


async def cancel_listening(folder: Path) -> QMPClient:
    qmp = QMPClient("test")
    listening = asyncio.ensure_future(vm._listen(qmp, str(folder / "qmp")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    return qmp


def test_a_socket_whose_opening_is_cancelled_leaves_no_coroutine() -> None:
    with warnings.catch_warnings(), hold_scratch_folder("/tmp") as folder:
        warnings.simplefilter("error")
        asyncio.run(cancel_listening(folder))
        gc.collect()
