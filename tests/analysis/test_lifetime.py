# SPDX-License-Identifier: GPL-2.0-or-later
"""lifetime: rounds are counted, bytes add up, and the round that fails says why."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nandlab.board.build import programs

ROUND = (
    'echo "{\\"bytes\\":{\\"read\\":1,\\"written\\":1009}}"; '
    'if [ "$ROUND" = 4 ]; then echo Creating files >&2; echo "ffsmark: disk full" >&2; exit 1; fi'
)


@pytest.fixture
def flash(tmp_path: Path) -> Path:
    (tmp_path / "counters").write_text("programs 20\nerases 3\nworn_out 2\n")
    (tmp_path / "blocks").write_text("0 1 11 2\n1 0 9 1\n")
    return tmp_path


def lifetime(flash: Path, *more: str) -> subprocess.CompletedProcess[str]:
    argv = [str(programs() / "lifetime"), "--flash", str(flash), *more]
    return subprocess.run(argv, cwd=flash, capture_output=True, text=True, timeout=30, check=False)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_it_ends_with_the_round_that_fails_and_its_complaint(flash: Path) -> None:
    told = result(lifetime(flash, "--round", ROUND))
    assert told["gave_up"] == "ffsmark: disk full"
    assert [r["bytes_written"] for r in told["rounds"]] == [1009, 2018, 3027]
    assert [r["dead_blocks"] for r in told["rounds"]] == [2, 2, 2]
    assert [r["erases"] for r in told["rounds"]] == [0, 0, 0]
    assert told["end"] | {"t_ns": 0} == told["rounds"][-1] | {"t_ns": 0}
    times = [r["t_ns"] for r in (*told["rounds"], told["end"])]
    assert times == sorted(times)
    assert told["per_block"] == {"reads": [1, 0], "programs": [11, 9], "erases": [2, 1]}


def test_it_ends_alive_with_its_rounds(flash: Path) -> None:
    told = result(lifetime(flash, "--rounds", "2", "--round", ROUND))
    assert told["gave_up"] is None
    assert len(told["rounds"]) == 2


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        ((), 2, "--round is missing"),
        (("--rounds", "0", "--round", "true"), 2, "--rounds 0"),
        (("--round", "true"), 1, 'a round printed no "written":'),
        (("--flash", "/nowhere", "--round", "true"), 1, "/nowhere"),
    ],
)
def test_what_is_wrong_is_told(flash: Path, argv: tuple[str, ...], status: int, said: str) -> None:
    done = lifetime(flash, *argv)
    assert done.returncode == status
    assert said in done.stderr
    assert not done.stdout
