# SPDX-License-Identifier: GPL-2.0-or-later
"""lifetime: rounds are counted, bytes add up, and the round that fails says why."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.native import native

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
    argv = [str(native("lifetime")), "--flash", str(flash), *more]
    return subprocess.run(argv, cwd=flash, capture_output=True, text=True, timeout=30, check=False)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_it_ends_with_the_round_that_fails_and_its_complaint(flash: Path) -> None:
    told = result(lifetime(flash, "--round", ROUND))
    assert told["texts"] == {"gave_up": "ffsmark: disk full"}
    assert (told["figures"], told["open_ended"]) == ({"rounds": 3}, False)
    series = {s["name"]: s for s in told["series"]}
    assert series["bytes_written"]["values"] == [1009, 2018, 3027, 3027]
    assert series["dead_blocks"]["values"] == [2, 2, 2, 2]
    assert series["erases"]["values"] == series["programs"]["values"] == [0, 0, 0, 0]
    assert {s["unit"] for s in told["series"]} == {"bytes", "count"}
    times = series["erases"]["t_ns"]
    assert times == sorted(times)
    assert all(s["t_ns"] == times for s in told["series"])
    assert told["per_block"] == {"reads": [1, 0], "programs": [11, 9], "erases": [2, 1]}


def test_it_ends_alive_with_its_rounds(flash: Path) -> None:
    told = result(lifetime(flash, "--rounds", "2", "--round", ROUND))
    assert (told["texts"], told["figures"]) == ({}, {"rounds": 2})
    assert told["open_ended"]


def test_the_wear_of_the_blocks_is_told_after_each_round(flash: Path) -> None:
    told = result(lifetime(flash, "--rounds", "2", "--round", ROUND))
    series = {s["name"]: s["values"] for s in told["series"]}
    assert [n for n in series if n.startswith("wear_")] == [f"wear_{p}" for p in range(0, 101, 10)]
    assert (series["wear_0"], series["wear_100"]) == ([1, 1, 1], [2, 2, 2])


def erasing(each: str) -> str:
    """A round that erases as often as the shell's words say, of a chip of two blocks."""
    return (
        'echo "{\\"written\\":100}"; set -- $(tail -n 1 counters); '
        f'printf "worn_out 0\\nblocks 2\\nerases %d\\n" $(($2 + {each})) > counters'
    )


@pytest.mark.parametrize(
    ("each", "rounds"),
    [
        ("1", 6),  # three erases for each of two blocks, at a constant rate
        ("(ROUND < 7 ? ROUND : 7)", 10),  # constant over the last half only then
        ("0", 12),
    ],
)
def test_it_ends_when_wear_is_steady(flash: Path, each: str, rounds: int) -> None:
    (flash / "counters").write_text("worn_out 0\nblocks 2\nerases 4\n")
    argv = ("--until", "steady", "--rounds", "12", "--round", erasing(each))
    told = result(lifetime(flash, *argv))
    assert told["figures"] == {"rounds": rounds}
    assert told["open_ended"]
    assert told["texts"] == ({"ended": "its wear was steady"} if rounds < 12 else {})


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        ((), 2, "--round is missing"),
        (("--rounds", "0", "--round", "true"), 2, "--rounds: 0 is out of range"),
        (("--until", "noon", "--round", "true"), 2, "--until 'noon': give one of death, steady"),
        (("--round", "true"), 1, 'a round printed no "written":'),
        (("--flash", "/nowhere", "--round", "true"), 1, "/nowhere"),
    ],
)
def test_what_is_wrong_is_told(flash: Path, argv: tuple[str, ...], status: int, said: str) -> None:
    done = lifetime(flash, *argv)
    assert done.returncode == status
    assert said in done.stderr
    assert not done.stdout
