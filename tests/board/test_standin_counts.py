# SPDX-License-Identifier: GPL-2.0-or-later
"""What flashmon counts on an emulated ARM board: known amounts by mtd-utils, and trials by them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from standinssh import SLOW_S, There, reached
from support import armhf, standin
from typer.testing import CliRunner

from nandlab.base.paths import find_cache_folder
from nandlab.board.own import flashcounts
from nandlab.board.own.crossbuild import CrossCompiler
from nandlab.board.own.transport import connect_ssh, write_file_on_board
from nandlab.cli.main import app
from nandlab.results.folder import RunFolder

READ, WRITTEN, BLOCKS = 1009, 193, 3
"""Pages that nanddump reads; that nandwrite writes, to the fourth block's first; blocks erased."""
COUNTERS = "cat /sys/kernel/debug/simnand/counters"
STUDY = """
name = "counted"
question = "Does a real chip's count make states, rest and wear as the simulated one's does?"
board = "apf27"
measure = ["wear"]
[matrix]
filesystems = [{ name = "jffs2", compression = "none" }, { name = "ubifs", compression = "none" }]
chips = [{ part = "apf27", partition_mib = 32 }]
states = [{ name = "aged", valid = 0.3, invalid = 0.2, mix = 1 }]
seeds = [1]
workloads = [{ name = "ffsmark", files = 50, transactions = 100, size_max = 4096 }]
"""


def counters(there: There) -> dict[str, int]:
    rows = (line.split() for line in there.says(COUNTERS).splitlines())
    return {name: int(value) for name, value in rows}


def known_amounts(there: There) -> None:
    """Pages read, written and erased by mtd-utils are counted as many, by both modules."""
    modules = flashcounts.build_counting_modules(
        CrossCompiler(armhf.CROSS), armhf.kernel(), "armv7l"
    )
    there.says("mkdir -p /tmp/it/modules /tmp/it/job")
    for path in modules:
        at = f"/tmp/it/modules/{path.name}"
        asyncio.run(write_file_on_board(connect_ssh(standin.HOST), at, path.read_bytes()))
    there.says(
        f"flash_erase -q /dev/mtd1 0 0; cd /tmp/it/job && "
        f"{flashcounts.make_counting_start_command(1)}"
    )
    begun = counters(there)
    assert {begun[name] for name in ("reads", "programs", "erases", "pages_programmed")} == {0}
    assert begun["blocks_erased"] == begun["blocks"] - 2  # two are bad
    there.says(f"nanddump -q -s 0 -l {READ * 2048} /dev/mtd1 | wc -c")
    there.says(f"head -c {WRITTEN * 2048} /dev/zero | nandwrite -q /dev/mtd1 -")
    there.says("nanddump -q --oob -l 2048 /dev/mtd0 | wc -c")  # of another partition
    now = counters(there)
    assert (now["reads"], now["programs"], now["erases"]) == (READ, WRITTEN, 0)
    assert (now["pages_programmed"], now["missed"]) == (WRITTEN, 0)
    assert now["blocks_erased"] == begun["blocks_erased"] - BLOCKS - 1
    there.says(f"flash_erase -q /dev/mtd1 0 {BLOCKS}")
    last = counters(there)
    assert (last["erases"], last["pages_programmed"]) == (BLOCKS, WRITTEN - BLOCKS * 64)
    assert last["missed"] == 0
    told = there.says("grep -E '^flashmon.(reads|programs|erases) ' /proc/tracers/status").split()
    assert told[1::2] == [str(READ), str(WRITTEN), str(BLOCKS)]
    there.says(f"{flashcounts.STOP_COMMAND}; rm -r /tmp/it; ! grep -q tracers /proc/modules")


@pytest.mark.long
@pytest.mark.timeout(6 * SLOW_S)
def test_a_real_chips_counts_are_those_of_flashmon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known amounts; then an aged state, rest and wear of JFFS2 and UBIFS, by the same counts."""
    run = tmp_path / "run"
    (tmp_path / "study.toml").write_text(STUDY)
    assert find_cache_folder().is_dir()
    with reached(tmp_path, monkeypatch, f'kdir = "{armhf.kernel()}"\n') as there:
        system = there.cells(0)
        known_amounts(there)
        asked = ["run", str(tmp_path / "study.toml"), "--board", str(there.mine), "--out", str(run)]
        ran = CliRunner().invoke(app, [*asked, "--erase", standin.DATA, "--discard"])
        assert ran.exit_code == 0, (ran.output, ran.exception)
        assert there.cells(0) == system
        assert there.says("ls /tmp; ! grep -q tracers /proc/modules") == ""
    for trial in RunFolder(run).trials():
        assert {d.code for d in trial.warnings} <= {"not_deterministic", "state_missed"}
        assert trial.state.obtained is not None
        assert trial.state.obtained.valid == pytest.approx(0.3, abs=0.05)
        assert trial.per_block is not None and len(trial.per_block.erases) == 256
        assert trial.wear is not None and trial.wear.bad == [108, 208]
        for phase in trial.phases:
            assert phase.chip is not None
        assert sum(p.chip.programs for p in trial.phases if p.chip) > 0
        assert "settle --quiet-ms" in str([s.command for s in trial.steps])
