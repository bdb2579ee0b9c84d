# SPDX-License-Identifier: GPL-2.0-or-later
"""The points of the workload ``readbench``, on this machine: known requests are made exactly."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.native import dynamic, native, preload

from nandlab.catalog import readpoints

SHIM = Path(__file__).with_name("readcalls.c")
K64 = ("--file-bytes", "65536")


def readbench(
    folder: Path, listed: str, *more: str, program: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """The program with lines of points; what it would drop caches by is a file beside."""
    beside = folder.parent
    (beside / "points").write_text(listed)
    (beside / "drop").touch()
    names = {"points": beside / "points", "control": beside / "drop", "flash": beside / "chip"}
    words = [f"--{key}={path}" for key, path in names.items()]
    argv = [str(program or native("readbench")), str(folder), *words, *more]
    env = {**os.environ, **env}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env)


def told(folder: Path, text: str, *more: str, **env: Any) -> dict[str, Any]:
    done = readbench(folder, readpoints.expand_read_points(text), "--verify=true", *more, **env)
    assert done.returncode == 0, done.stderr
    for file in folder.iterdir():
        file.unlink()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "w"
    made.mkdir()
    return made


def calls(folder: Path, text: str, *more: str) -> list[str]:
    """What the points ask of the kernel, after the files are written."""
    log = folder.parent / "calls"
    log.unlink(missing_ok=True)
    words = ("--rest-ms=0", *(more or K64))
    told(
        folder,
        text,
        *words,
        program=dynamic("readbench"),
        LD_PRELOAD=str(preload(SHIM)),
        CALLS=str(log),
    )
    lines = log.read_text().splitlines()
    return lines[lines.index("drop 1") if "drop 1" in lines else 0 :]


def offsets(made: list[str]) -> list[int]:
    """Where the requests with pread are."""
    return [int(line.split()[1]) for line in made if line.startswith("pread")]


def test_a_point_is_a_phase_with_its_requests_bytes_and_attributes(folder: Path) -> None:
    found = told(folder, "8x4K seq; 3x2K stride=5 pread fadv=random pause=10us drop=3", *K64)
    writing, first, second = found["phases"]
    assert (writing["name"], writing["bytes"]) == ("writing", {"read": 0, "written": 65536})
    assert first["name"] == "sequential_8x4096"
    assert first["operations"] == {"sequential_8x4096": 8}
    assert first["bytes"] == {"read": 8 * 4096, "written": 0}
    assert first["at"] == {
        "count": 8,
        "size": 4096,
        "file_bytes": 65536,
        "share": 0.5,
        "pattern": "sequential",
        "access": "read",
        "advice": "none",
        "pause_us": 0,
        "drop": 1,
    }
    assert second["name"] == "stride_5_3x2048_pread_fadv_random_pause_10_drop_3"
    told_at = {k: second["at"][k] for k in ("stride", "access", "advice", "pause_us", "drop")}
    assert told_at == {
        "stride": 5,
        "access": "pread",
        "advice": "fadv_random",
        "pause_us": 10,
        "drop": 3,
    }
    assert "usage" in first and "usage" not in second  # a pause's idle time is no request's
    assert found["operations"] == {first["name"]: 8, second["name"]: 3}
    assert found["bytes"] == {"read": 8 * 4096 + 3 * 2048, "written": 0}
    latency = found["latency_ns"][first["name"]]
    assert latency["count"] == 8
    assert latency["min"] <= found["figures"]["sequential_8x4096_first_ns"] <= latency["max"]
    assert 8 * latency["min"] <= first["ns"] <= 8 * latency["max"]


def test_a_file_is_dropped_opened_read_and_closed(folder: Path) -> None:
    made = calls(folder, "2x4K seq; 2x1K backward drop=3")
    opened = f"open {os.O_RDONLY}"
    assert made == [
        *("drop 1", opened, "read 4096", "read 4096", "close"),
        *("drop 3", opened, "seek 64512", "read 1024", "seek 63488", "read 1024", "close"),
    ]


def test_a_file_may_be_opened_for_each_request(folder: Path) -> None:
    """Then each request seeks, the first of a sequence too, and opens are in no request's time."""
    made = calls(folder, "3x4K seq reopen; 2x1K backward pread reopen")
    opened = f"open {os.O_RDONLY}"
    reads = [("seek 0", "read 4096"), ("seek 4096", "read 4096"), ("seek 8192", "read 4096")]
    back = [("pread 64512 1024",), ("pread 63488 1024",)]
    assert [m for m in made if m not in ("drop 1", opened, "close")] == [
        *(word for words in reads for word in words),
        *(word for words in back for word in words),
    ]
    assert (made.count(opened), made.count("close"), made.count("drop 1")) == (5, 5, 2)
    found = told(folder, "3x4K seq reopen", *K64)
    phase = found["phases"][1]
    assert (phase["name"], phase["at"]["reopen"]) == ("sequential_3x4096_reopen", 1)
    assert phase["bytes"]["read"] == 3 * 4096 and phase["at"]["share"] == 3 / 16
    assert found["latency_ns"]["sequential_3x4096_reopen"]["count"] == 3


def test_pauses_are_slept_between_requests_and_in_no_time(folder: Path) -> None:
    made = calls(folder, "3x4K seq pause=20ms")
    assert [m for m in made if m.startswith(("read", "sleep"))] == [
        *("read 4096", "sleep 20000", "read 4096", "sleep 20000", "read 4096"),
    ]
    found = told(folder, "3x4K seq pause=20ms", *K64)
    assert found["phases"][1]["ns"] < 20_000_000


@pytest.mark.parametrize("pattern", ["random", "random-replace", "random-unaligned"])
def test_random_places_come_from_the_seed_alone(folder: Path, pattern: str) -> None:
    text = f"8x1K {pattern} pread"
    eight = offsets(calls(folder, text))
    assert eight == offsets(calls(folder, f"4x2K seq pread; {text}"))[4:]
    assert eight == offsets(calls(folder, f"16x1K {pattern} pread"))[:8]
    assert eight != offsets(calls(folder, text, *K64, "--seed=2"))
    assert all(0 <= offset <= 65536 - 1024 for offset in eight)
    assert all(offset % 1024 == 0 for offset in eight) == (pattern != "random-unaligned")


def test_random_takes_each_place_once_and_with_replacement_some_twice(folder: Path) -> None:
    every = list(range(0, 65536, 1024))
    once = offsets(calls(folder, "64x1K random pread"))
    assert once != every
    assert sorted(once) == every
    again = offsets(calls(folder, "64x1K random-replace pread"))
    assert len(again) == 64 > len(set(again))


def test_a_stride_leaves_places_out(folder: Path) -> None:
    assert offsets(calls(folder, "4x1K stride=5 pread")) == [0, 5120, 10240, 15360]


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("normal", os.POSIX_FADV_NORMAL),
        ("random", os.POSIX_FADV_RANDOM),
        ("sequential", os.POSIX_FADV_SEQUENTIAL),
        ("willneed", os.POSIX_FADV_WILLNEED),
    ],
)
def test_advice_is_given_before_the_first_request(folder: Path, word: str, number: int) -> None:
    made = calls(folder, f"1x4K seq fadv={word}")
    assert made[1:4] == [f"open {os.O_RDONLY}", f"fadvise {number}", "read 4096"]
    asked = getattr(mmap, f"MADV_{word.upper()}")
    mapped = f"map 65536 {mmap.PROT_READ} {mmap.MAP_SHARED}"
    made = calls(folder, f"1x4K seq mmap madv={word}")
    assert made[1:] == [f"open {os.O_RDONLY}", mapped, f"madvise {asked}", "close"]


def test_a_head_is_whole_requests_of_each_file_and_all_its_tail(folder: Path) -> None:
    pool = ("--files=3", "--file-bytes=10000")
    found = told(folder, "4K,1K head=25; 4K head=100", *pool)
    names = {p["name"]: (p["bytes"]["read"], p["at"]["count"]) for p in found["phases"][1:]}
    assert names == {
        "head_25_4096": (3 * 4096, 3),  # one at the least
        "head_25_1024": (3 * 2048, 6),
        "head_100_4096": (30000, 9),
    }
    made = calls(folder, "4K head=100", *pool)
    each = [f"open {os.O_RDONLY}", "read 4096", "read 4096", "read 1808", "close"]
    assert made == ["drop 1", *each, *each, *each]
    assert found["phases"][1]["at"]["head"] == 25


def test_a_pool_s_sizes_come_from_the_seed(folder: Path) -> None:
    found = []
    for seed in (1, 1, 2):
        pool = ("--files=20", "--bytes-min=500", "--bytes-max=9000", f"--seed={seed}")
        (phase,) = told(folder, "512 head=100", *pool)["phases"][1:]
        found.append(phase["at"]["file_bytes"])
        assert phase["bytes"]["read"] == phase["at"]["file_bytes"]
    assert found[0] == found[1] != found[2]
    assert all(20 * 500 < total < 20 * 9000 for total in found)


def test_data_that_is_not_what_was_written_is_told(folder: Path) -> None:
    """A hole is cut into the file during the long pause between two requests."""
    argv = [str(native("readbench")), str(folder), "--verify=true", *K64]
    listed, control = folder.parent / "points", folder.parent / "drop"
    listed.write_text(readpoints.expand_read_points("2x4K seq pause=2s"))
    control.touch()
    more = [f"--points={listed}", f"--control={control}"]
    with subprocess.Popen([*argv, *more], stderr=subprocess.PIPE, text=True) as running:
        while control.stat().st_size == 0:
            assert running.poll() is None
        with (folder / "read.000000").open("r+b") as file:
            file.seek(4096)
            file.write(bytes(4096))
        _, said = running.communicate()
    assert running.returncode == 1
    assert "4096 bytes from 4096, some are not" in said


GOOD = "a sequential 0 8 4096 read none 0 1 0"


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("", "there is no point"),
        (f"# a comment\n{GOOD}\n{GOOD}", "points:3: a second point of that name"),
        (GOOD.replace("a ", "A ", 1), "'A': a name has"),
        (GOOD.replace("sequential", "sideways"), "unknown word 'sideways'"),
        (GOOD.replace(" 8 ", " 0 "), "count is 0"),
        (GOOD.replace("4096", "0"), "0 is out of range: give 1 to"),
        (GOOD.replace("none 0", "none -1"), "'-1' is not a whole number"),
        (GOOD.replace("0 1", "0 2"), "drop is 2: give 1 or 3"),
        (GOOD.replace("none", "madv_random"), "the access must be mmap"),
        (GOOD.replace("sequential 0", "stride 0"), "n is 0: a stride has 1 or more"),
        (GOOD.replace("sequential 0", "head 25"), "count is 8: a head has 0"),
        (f"{GOOD} 1", "more than ten columns"),
        (GOOD.removesuffix(" 0"), "9 of ten columns"),
        (GOOD.removesuffix(" 0") + " 2", "2 is out of range: give 0 to 1"),
        (GOOD.replace(" 8 ", " 17 "), "a needs a file of 69632 bytes; this one has 65536"),
    ],
)
def test_a_list_that_cannot_be_done_is_refused(folder: Path, listed: str, said: str) -> None:
    done = readbench(folder, listed, *K64)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--files", "2"), "only a head is of more than one file"),
        (("--bytes-min", "9", "--bytes-max", "8"), "--bytes-min 9 is above --bytes-max 8"),
        (("--bytes-min", "9"), "give both"),
        (("--files", "0"), "--files: 0 is out of range"),
        (("--verify", "maybe"), "expected true or false"),
    ],
)
def test_options_that_contradict_are_refused(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    done = readbench(folder, GOOD, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_file_that_is_there_is_not_written_over(folder: Path) -> None:
    (folder / "read.000000").write_text("mine")
    done = readbench(folder, GOOD, *K64)
    assert (done.returncode, done.stdout) == (1, "")
    assert "File exists" in done.stderr
    assert (folder / "read.000000").read_text() == "mine"


def chip_that_idles(folder: Path, idle_ns: int) -> None:
    chip = folder.parent / "chip"
    chip.mkdir(exist_ok=True)
    (chip / "counters").write_text(f"reads 7\nprograms 8\nerases 9\nidle_ns {idle_ns}\n")


def test_the_chip_is_what_it_did_for_the_requests(folder: Path) -> None:
    assert "chip" not in told(folder, "8x4K seq", *K64)["phases"][1]
    chip_that_idles(folder, 100_000_000)
    found = told(folder, "8x4K seq", *K64)
    assert found["phases"][1]["chip"] == {"reads": 0, "programs": 0, "erases": 0}
    assert found["figures"]["sequential_8x4096_open_reads"] == 0
    assert found["warnings"] == []


def test_a_chip_that_does_not_come_to_rest_is_a_doubt(folder: Path) -> None:
    chip_that_idles(folder, 9_999_999)
    (doubt,) = told(folder, "8x4K seq", "--rest-ms=10", *K64)["warnings"]
    assert doubt.startswith("not-at-rest: ") and "sequential_8x4096" in doubt
    assert told(folder, "8x4K seq", "--rest-ms=9", *K64)["warnings"] == []
