# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of an ensemble from the saved state after their setup: the same as without it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from test_board import children

from nandlab.base import cache
from nandlab.board.jobs.job import Job, JobRecord, Setup, Step
from nandlab.board.virtual import states
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.board.virtual.vm import Vm

pytestmark = [pytest.mark.board, pytest.mark.anew]
MIB = 1 << 20
S = 1_000_000_000
LIMIT = "NANDLAB_STATES_MIB"
SETUP = Setup(1, frozenset({"setup"}), 1000)
JOB = Job(
    (
        Step("setup", "cat setup > /tmp/kept; dd if=/dev/urandom of=/tmp/more bs=64k count=1"),
        Step("work", "cat /tmp/kept member; md5sum /tmp/more; cat /proc/uptime /proc/interrupts"),
        Step("fails", "echo it; exit 3", may_fail=True),
        Step("log", "dmesg -r | tail -n 3", always=True),
    ),
    files={"setup": b"of the setup\n", "member": b"of the first member\n"},
    setup=SETUP,
)
SECOND = replace(
    JOB,
    files={**JOB.files, "member": b"of another one, with more to say\n"},
    setup=replace(SETUP, offset_ns=377_000_000),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The states of a cache of its own."""
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    return tmp_path / states.KIND


def run(board: QemuBoard, job: Job) -> JobRecord:
    return asyncio.run(board.run(job))


def kept(place: Path) -> list[Path]:
    return sorted(p for p in place.glob("*") if p.is_dir())


def test_members_share_a_state_and_are_as_without_it(
    board: QemuBoard, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage makes the state anew; another setup has another; the limit holds."""
    monkeypatch.setenv(LIMIT, "0")
    alone = [run(board, job) for job in (JOB, SECOND)]
    assert kept(place) == []
    monkeypatch.delenv(LIMIT)
    assert [run(board, job) for job in (JOB, SECOND, JOB)] == [*alone, alone[0]]
    (state,) = kept(place)
    first, second = alone
    assert first["setup"] == second["setup"]
    assert first["work"].stdout.startswith("of the setup\nof the first member\n")
    assert second["work"].stdout.startswith("of the setup\nof another one")
    later = second["work"].start_ns - first["work"].start_ns
    assert abs(later - 377_000_000) < 100_000
    assert [s.rc for s in first.steps] == [0, 0, 0, 0]

    for name, content in (("state", b"x"), ("channel", b"{}\n")):
        with (state / name).open("r+b") as f:
            f.seek(-len(content), 2)
            f.write(content)
        cache._list_times.clear()
        assert run(board, SECOND) == second
        assert kept(place) == [state]
    (state / "store").write_bytes(b"")
    cache._list_times.clear()
    assert run(board, SECOND) == second

    other = replace(JOB, files={**JOB.files, "setup": b"of another setup\n"})
    assert run(board, other)["work"].stdout.startswith("of another setup\n")
    assert len(kept(place)) == 2
    assert {one.path for one in cache.list_cache_items() if one.kind == states.KIND} == {
        *kept(place)
    }
    size = max(one.bytes for one in cache.list_cache_items())
    monkeypatch.setenv(LIMIT, f"{size * 3 // 2 // MIB}")
    third = replace(JOB, files={**JOB.files, "setup": b"of a third setup\n"})
    run(board, third)
    (left,) = kept(place)
    assert left != state


def test_a_setup_that_fails_leaves_no_state(board: QemuBoard, place: Path) -> None:
    steps = (Step("setup", "echo why >&2; exit 4"), *JOB.steps[1:])
    record = run(board, replace(JOB, steps=steps))
    assert [(s.step, s.rc) for s in record.steps] == [("setup", 4), ("log", 0)]
    assert record["setup"].stderr == "why\n"
    assert kept(place) == []


def test_a_disk_without_room_for_a_state_changes_nothing(
    board: QemuBoard, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(vm: Vm, work: Path) -> None:
        (work / "state").write_bytes(b"half of a")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work / "state"))

    with monkeypatch.context() as m:
        m.setattr(states, "save_vm_state", full)
        record = run(board, JOB)
    assert kept(place) == []
    assert record == run(board, JOB)
    assert len(kept(place)) == 1


def test_an_interrupt_while_a_state_is_made_leaves_nothing(board: QemuBoard, place: Path) -> None:
    begun = asyncio.Event()

    async def interrupted() -> None:
        slow = (Step("setup", "while :; do :; done"), *JOB.steps[1:])
        task = asyncio.create_task(
            board.run(replace(JOB, steps=slow), lambda step: begun.set()), name="setup"
        )
        await begun.wait()
        (work,) = kept(place)
        assert work.name.startswith(".part-")
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert kept(place) == []
    assert not children()


def test_a_member_that_nobody_may_wait_for_runs_its_setup_itself(
    board: QemuBoard, place: Path
) -> None:
    """Two at once: one makes the state, the other waits for nobody; what killed ones left goes."""

    async def both() -> list[JobRecord]:
        return list(await asyncio.gather(board.run(JOB), board.run(SECOND)))

    left = place / f".part-{'0' * 20}-abcdefgh"
    left.mkdir(parents=True)
    records = asyncio.run(both())
    assert len(kept(place)) == 1
    assert records == [run(board, JOB), run(board, SECOND)]
    assert not left.exists()
