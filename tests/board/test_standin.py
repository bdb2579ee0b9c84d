# SPDX-License-Identifier: GPL-2.0-or-later
"""A job on an ARM board by its serial line alone: QEMU, Debian's own kernel, nandsim."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import armhf
import pytest
import standin

from nandlab.base.paths import TARGET
from nandlab.board import held
from nandlab.board.guard import Doubt, Partition
from nandlab.board.job import Job, Step
from nandlab.board.remote import RemoteBoard
from nandlab.board.serialline import SerialLine

DATA = Partition(standin.DATA, 104 << 20, 128 << 10)
MANY = 400
WHOLE = "nanddump --bb=dumpbad -o /dev/mtd0 2>/dev/null | sha256sum"
SLOW_S = 120
"""Emulated, beside other work."""


def agent(folder: Path) -> Path:
    """The agent for the board, which has a C library of the same release."""
    out = folder / "built"
    out.mkdir()
    armhf.make(TARGET / "agent", out, f"CROSS={armhf.CROSS}", "STATIC=-s")
    return out / "agent"


def no_program(folder: Path) -> Path:
    raise AssertionError(f"the job names {folder.name}")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_job_runs_on_an_arm_board_by_serial_and_the_system_stays_as_it_is(tmp_path: Path) -> None:
    """JFFS2 is made on the partition that the guard lets pass; then it refuses what is in use."""
    built = agent(tmp_path)
    with standin.board(tmp_path) as tty:
        asyncio.run(_on(SerialLine(tty), built))


async def _on(line: SerialLine, built: Path) -> None:
    board = RemoteBoard(line, built, no_program)
    system = await line.call(WHOLE, limit_s=SLOW_S)
    mtd = await held.erasable(line, DATA, standin.DATA)
    assert (mtd.number, mtd.size, mtd.erasesize) == (1, 104 << 20, 128 << 10)

    steps = (
        Step("erase", f"flash_erase -q /dev/mtd{mtd.number} 0 0"),
        Step("mount", f"mount -t jffs2 mtd{mtd.number} /mnt"),
        Step("write", f"i=0; while [ $i -lt {MANY} ]; do echo $i >/mnt/$i; i=$((i+1)); done; sync"),
        Step("read", "umount /mnt; mount -t jffs2 mtd1 /mnt; cat /mnt/* | md5sum; ls /mnt | wc -l"),
        Step("fails", "exit 255"),
        Step("last", "uname -m; cat /sys/class/mtd/mtd1/bad_blocks", always=True),
    )
    record = await board.run(Job(steps))
    assert [s.step for s in record.steps] == [s.name for s in steps]
    assert record["read"].stdout.split()[-1] == str(MANY)
    assert (record["fails"].rc, record["fails"].ok) == (255, False)
    assert record["last"].stdout.split()[0] == "armv7l"

    with pytest.raises(Doubt, match="in use: mounted, as 'mtd1'"):
        await held.erasable(line, DATA, standin.DATA)
    for how, why in (("ubiattach -m 1", "attached as ubi0"), ("true", "")):
        again = "umount /mnt; ubidetach -m 1; flash_erase -q /dev/mtd1 0 0"
        await line.call(again, limit_s=SLOW_S)
        assert (await line.call(how, limit_s=SLOW_S)).rc == 0
        if why:
            with pytest.raises(Doubt, match=why):
                await held.erasable(line, DATA, standin.DATA)
        else:
            assert (await held.erasable(line, DATA, standin.DATA)).number == 1
    with pytest.raises(Doubt, match="a size of 109051904 bytes"):
        await held.erasable(line, Partition(standin.DATA, 1 << 20, 128 << 10), standin.DATA)

    after = await line.call(WHOLE, limit_s=SLOW_S)
    assert system.rc == 0 and after.out == system.out
    folder = shlex.quote(board.folder)
    assert (await line.call(f"[ -d {folder} ]")).rc == 0
    await board.close()
