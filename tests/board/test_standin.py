# SPDX-License-Identifier: GPL-2.0-or-later
"""A job on an ARM board by its serial line alone: QEMU, Debian's own kernel, nandsim."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from pathlib import Path

import armhf
import pytest
import standin
from typer.testing import CliRunner

from nandlab.base.paths import TARGET, cache_dir
from nandlab.board import held
from nandlab.board.guard import Doubt, Partition
from nandlab.board.job import Job, Step
from nandlab.board.reach import ssh as over_ssh
from nandlab.board.remote import RemoteBoard
from nandlab.board.serialline import SerialLine
from nandlab.cli.main import app
from nandlab.results.folder import RunFolder

DATA = Partition(standin.DATA, standin.DATA_BYTES, 128 << 10)
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
    with standin.board(tmp_path) as there:
        asyncio.run(_on(SerialLine(there.tty), built))


async def _on(line: SerialLine, built: Path) -> None:
    board = RemoteBoard(line, built, no_program)
    system = await line.call(WHOLE, limit_s=SLOW_S)
    mtd = await held.erasable(line, DATA, standin.DATA)
    assert (mtd.number, mtd.size, mtd.erasesize) == (1, standin.DATA_BYTES, 128 << 10)

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
    with pytest.raises(Doubt, match="a size of 33554432 bytes"):
        await held.erasable(line, Partition(standin.DATA, 1 << 20, 128 << 10), standin.DATA)

    after = await line.call(WHOLE, limit_s=SLOW_S)
    assert system.rc == 0 and after.out == system.out
    folder = shlex.quote(board.folder)
    assert (await line.call(f"[ -d {folder} ]")).rc == 0
    await board.close()


STUDY = """
name = "small"
question = "Do trials end well on a board that is not ours?"
board = "apf27"
[matrix]
filesystems = [{ name = "jffs2" }, { name = "ubifs" }, { name = "yaffs2" }]
chips = [{ part = "apf27", partition_mib = 32 }]
states = [{ name = "fresh" }]
seeds = [1]
workloads = [{ name = "ffsmark", files = 50, transactions = 100, size_max = 4096 }]
"""


def board_file(folder: Path, reach: str) -> Path:
    path = folder / "my.toml"
    path.write_text(
        f'name = "mine"\nsummary = "a stand-in"\nkind = "remote"\n[reach]\n{reach}\n'
        f'[partition]\nname = "{standin.DATA}"\nsize = {standin.DATA_BYTES}\n'
        f'erasesize = 131072\npart = "S34ML01G1"\n[programs]\ncross = "{armhf.CROSS}"\n'
    )
    return path


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("way", ["ssh", "serial"])
def test_a_study_runs_and_is_read_as_any_other(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JFFS2 and UBIFS end well; the system's partition is the same before and after."""
    programs = tmp_path / "programs"
    programs.mkdir()
    armhf.on_path(programs, TARGET, cache_dir())
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "study.toml").write_text(STUDY)
    run = tmp_path / "run"
    with standin.board(tmp_path) as there:
        reach = f'ssh = "{standin.HOST}"' if way == "ssh" else f'serial = "{there.tty}"'
        mine = board_file(tmp_path, reach)
        ssh = programs / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {there.config} "$@"\n')
        ssh.chmod(0o755)
        before = asyncio.run(over_ssh(standin.HOST).call(WHOLE, limit_s=SLOW_S))
        asked = ["run", str(tmp_path / "study.toml"), "--board", str(mine), "--out", str(run)]
        refused = CliRunner().invoke(app, [*asked, "--erase", "another"])
        assert refused.exit_code and isinstance(refused.exception, Doubt)
        ran = CliRunner().invoke(app, [*asked, "--erase", standin.DATA])
        assert ran.exit_code == 0, ran.output
        after = asyncio.run(over_ssh(standin.HOST).call(WHOLE, limit_s=SLOW_S))
        left = asyncio.run(over_ssh(standin.HOST).call("ls /tmp; grep -c mtd1 /proc/mounts"))
    assert before.rc == 0 and after.out == before.out
    assert left.text == "0"
    trials = RunFolder(run).trials()
    assert {t.filesystem: t.status for t in trials} == {"jffs2": "ok", "ubifs": "ok"}
    for trial in trials:
        assert {d.code for d in trial.warnings} == {"not_deterministic"}
        assert trial.phases and all(p.chip is None for p in trial.phases)
    assert CliRunner().invoke(app, ["show", str(run)]).exit_code == 0
    assert CliRunner().invoke(app, ["advise", str(run)]).exit_code in (0, 1)
