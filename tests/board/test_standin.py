# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs and studies on an emulated ARM board, by its serial line and by ssh."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from standinssh import board_file, reached
from support import armhf, standin
from support.remotes import no_program
from typer.testing import CliRunner

from nandlab.board.jobs.job import Job, Step
from nandlab.board.own import boardlock
from nandlab.board.own.guard import PartitionSpec
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.serialline import SerialLine
from nandlab.board.own.tables import Doubt
from nandlab.cli.main import app
from nandlab.results.folder import RunFolder

DATA = PartitionSpec(standin.DATA, standin.DATA_BYTES, 128 << 10)
MANY = 400
WHOLE = "nanddump --bb=dumpbad -o /dev/mtd0 2>/dev/null | sha256sum"
SLOW_S = 120
"""Emulated, beside other work."""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_job_runs_on_an_arm_board_by_serial_and_the_system_stays_as_it_is(tmp_path: Path) -> None:
    """JFFS2 is made on the partition that the guard lets pass; then it refuses what is in use."""
    built = armhf.agent(tmp_path)
    with standin.board(tmp_path) as there:
        asyncio.run(_on(SerialLine(there.tty), built))


async def _on(line: SerialLine, built: Path) -> None:
    board = RemoteBoard(line, built, no_program)
    system = await line.call(WHOLE, limit_s=SLOW_S)
    mtd = await boardlock.read_erasable_partition(line, DATA, standin.DATA)
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

    with pytest.raises(Doubt, match="in use: mounted at /mnt, as 'mtd1'"):
        await boardlock.read_erasable_partition(line, DATA, standin.DATA)
    for how, why in (("ubiattach -m 1", "attached as ubi0"), ("true", "")):
        again = "umount /mnt; ubidetach -m 1; flash_erase -q /dev/mtd1 0 0"
        await line.call(again, limit_s=SLOW_S)
        assert (await line.call(how, limit_s=SLOW_S)).rc == 0
        if why:
            with pytest.raises(Doubt, match=why):
                await boardlock.read_erasable_partition(line, DATA, standin.DATA)
        else:
            assert (await boardlock.read_erasable_partition(line, DATA, standin.DATA)).number == 1
    with pytest.raises(Doubt, match="a size of 33554432 bytes"):
        await boardlock.read_erasable_partition(
            line, PartitionSpec(standin.DATA, 1 << 20, 128 << 10), standin.DATA
        )

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


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("way", ["ssh", "serial"])
def test_a_study_runs_and_is_read_as_any_other(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JFFS2 and UBIFS end well; the system's partition is the same before and after."""
    study, run = tmp_path / "study.toml", tmp_path / "run"
    study.write_text(STUDY)
    with reached(tmp_path, monkeypatch) as there:
        mine = there.mine
        if way == "serial":
            mine = board_file(tmp_path, reach=f'serial = "{there.board.tty}"')
        before = there.says(WHOLE)
        asked = ["run", str(study), "--board", str(mine), "--out", str(run)]
        refused = CliRunner().invoke(app, [*asked, "--erase", "another"])
        assert refused.exit_code and isinstance(refused.exception, Doubt)
        ran = CliRunner().invoke(app, [*asked, "--erase", standin.DATA])
        assert ran.exit_code == 0, ran.output
        assert there.says(WHOLE) == before
        assert there.says("ls /tmp; grep -c mtd1 /proc/mounts || true") == "0"
    trials = RunFolder(run).trials()
    assert {t.filesystem: t.status for t in trials} == {"jffs2": "ok", "ubifs": "ok"}
    for trial in trials:
        assert {d.code for d in trial.warnings} == {"not_deterministic"}
        assert trial.phases and all(p.chip is None for p in trial.phases)
    assert CliRunner().invoke(app, ["show", str(run)]).exit_code == 0
    assert CliRunner().invoke(app, ["advise", str(run)]).exit_code in (0, 1)
