# SPDX-License-Identifier: GPL-2.0-or-later
"""On the real board: two lengths of one load tell the same lifetime, and a short one tells none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nandlab.analysis.verdicts import forecast, wearsteadiness
from nandlab.analysis.verdicts.forecast import WriteForecast
from nandlab.analysis.verdicts.wearsteadiness import WearSteadiness
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.results.record import Trial
from nandlab.trial import runner

pytestmark = pytest.mark.board

TEXT = """
name = "lengths"
question = "Does the length of a load change its lifetime?"
board = "apf27"
[matrix]
workloads = [
    {{ name = "ffsmark", files = 60, transactions = 200 }},
    {{ name = "ffsmark", files = 60, transactions = {long} }},
    {{ name = "ffsmark", files = 60, transactions = {longer} }},
    {{ name = "lifetime", until = "steady", files = 60, transactions = 100 }},
]
filesystems = [{{ {filesystem} }}]
chips = [{{ part = "S34ML01G1", partition_mib = {mib} }}]
states = [{{ name = "fresh" }}]
seeds = [3]
"""


@pytest.mark.parametrize(
    ("filesystem", "mib", "long_load"),
    [('name = "jffs2", compression = "none"', 2, 2000), ('name = "yaffs2"', 2, 750)],
    ids=["jffs2", "yaffs2"],
)
def test_the_length_of_a_load_does_not_decide_the_years(
    board: QemuBoard, tmp_path: Path, filesystem: str, mib: int, long_load: int
) -> None:
    """On small partitions, which wear the soonest; each file system erases one at its own pace."""
    path = tmp_path / "lengths.toml"
    text = TEXT.format(filesystem=filesystem, mib=mib, long=long_load, longer=2 * long_load)
    path.write_text(text)
    made = study.read_study_file(path)
    specs = study.plan_trials(made)
    folder = runner.open_run_folder(runner.make_run_head(made, specs, board), tmp_path / "run")
    asyncio.run(
        runner.run_trials(folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher())
    )
    short, long, longer, rounds = folder.trials()
    assert all(t.ok for t in (short, long, longer, rounds))
    assert isinstance(forecast.forecast_writable_bytes(short), WearSteadiness)
    one, two, three = (interval(t) for t in (long, longer, rounds))
    assert one.least <= two.most
    assert two.least <= one.most
    assert rounds.texts == {"ended": "its wear was steady"}
    assert three.least < three.most


def interval(trial: Trial) -> WriteForecast:
    found = forecast.forecast_writable_bytes(trial)
    assert isinstance(found, WriteForecast), (found, wearsteadiness.count_load_block_erases(trial))
    return found
