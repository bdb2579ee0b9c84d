# SPDX-License-Identifier: GPL-2.0-or-later
"""Every file system of the catalog on the real kernel: each value of each option mounts, files are
there after a remount, a full disk gives its space back, and the kernel's log stays clean."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from chipsteps import numbers

from nandlab import catalog, trial
from nandlab.board.job import ALWAYS, Job, JobRecord, Step
from nandlab.board.qemu import QemuBoard
from nandlab.errors import UsageError
from nandlab.filesystem import FilesystemModel
from nandlab.run import refuse_what_the_kernel_lacks
from nandlab.study import (
    ChipChoice,
    FilesystemChoice,
    Matrix,
    StateChoice,
    Study,
    TrialSpec,
    WorkloadChoice,
    plan,
)

pytestmark = pytest.mark.board

CHIP = ChipChoice(part="nandsim-small", partition_mib=8)
"""Small pages: what all four can live on."""
NAMES = catalog.names("filesystems")
BROKEN = {("checkpoint", "off"), ("inband_tags", "on"), ("empty_lost_and_found", "on")}
"""YAFFS2's values whose mount was refused with EINVAL when last run: to be repaired."""

VALUES = [
    pytest.param(
        *(name, key, value),
        marks=[pytest.mark.xfail(strict=False)]
        if name == "yaffs2" and (key, value) in BROKEN
        else [],
    )
    for name in NAMES
    for key, option in catalog.load("filesystems", name, FilesystemModel).options.items()
    for value, what in option.values.items()
    if not what.refused
]


def spec(board: QemuBoard, name: str, **options: str) -> TrialSpec:
    """A small trial on the very board that the tests run on."""
    matrix = Matrix(
        workloads=[WorkloadChoice.model_validate({"name": "ffsmark", "files": 20})],
        filesystems=[FilesystemChoice.model_validate({"name": name, **options})],
        chips=[CHIP],
        states=[StateChoice(name="fresh")],
        seeds=[1],
    )
    model = board.machine.model
    (found,) = plan(Study(name="t", question="?", board=model.name, matrix=matrix))
    return found


def run(board: QemuBoard, made: TrialSpec, *commands: str) -> JobRecord:
    """Mounts the file system, runs the commands one by one, and looks at the kernel's log."""
    steps = [Step(f"c{i}", command, deadline_s=3600) for i, command in enumerate(commands)]
    end = Step(ALWAYS + "kernel-log", "dmesg -r")
    record = asyncio.run(board.run(Job((*trial.setup(made), *steps, end))))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert trial.kernel_log(made, record) == []
    return record


def command(step: Step) -> str:
    return step.command


@pytest.mark.parametrize(("name", "key", "value"), VALUES)
def test_every_value_of_every_option_runs_or_is_refused(
    board: QemuBoard, name: str, key: str, value: str
) -> None:
    try:
        made = spec(board, name, **{key: value})
        refuse_what_the_kernel_lacks([made], board.kernel_config, "here")
    except UsageError:
        return
    words = made.filesystem.options[key].values[value].mount
    copied = "head -c 90000 /bin/busybox > /tmp/x; cp /tmp/x /mnt && sync && cmp /tmp/x /mnt/x"
    record = run(board, made, "grep /mnt /proc/mounts", copied, command(trial.unmount(made)))
    mounted = record["c0"].stdout.split()[3]
    assert set(filter(None, words.split(","))) <= set(mounted.split(","))


# More than the partition holds is written, so collectors and folds have moved what stays.
CHURN = (
    "cd /mnt && mkdir kept && for i in $(seq 1 24); do "
    "head -c $((i * 997)) /dev/urandom > kept/$i || exit 1; "
    "for j in 1 2 3; do head -c 140000 /dev/urandom > churn$j && sync || exit 1; done; done; "
    "find . -type f | sort | xargs md5sum > /tmp/sums && wc -l < /tmp/sums"
)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_there_after_a_remount_with_its_checksum(board: QemuBoard, name: str) -> None:
    made = spec(board, name)
    record = run(
        board,
        made,
        CHURN,
        command(trial.unmount(made)),
        command(trial.mount(made)),
        "cd /mnt && md5sum -c /tmp/sums | grep -c OK; find . -type f | wc -l",
        "cat /sys/kernel/debug/simnand/counters",
        command(trial.unmount(made)),
    )
    assert record["c0"].stdout.split() == ["27"]
    assert record["c3"].stdout.split() == ["27", "27"]
    counters = numbers(record["c4"].stdout)
    assert counters["programs"] > counters["partition_pages"]
    assert counters["illegal"] == 0


FILL = (
    "cd /mnt && echo precious > kept && sync && i=0; "
    "while dd if=/dev/urandom of=f$i bs=50000 count=1 conv=fsync 2> /tmp/said; "
    "do i=$((i + 1)); done; "
    "head -n 1 /tmp/said; echo $i; cat kept"
)


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_says_so_loses_nothing_and_gives_its_space_back(
    board: QemuBoard, name: str
) -> None:
    made = spec(board, name)
    again = f"{command(trial.unmount(made))} && {command(trial.mount(made))}"
    record = run(board, made, FILL, "rm /mnt/f*; sync", FILL, again, "cat /mnt/kept")
    first, second = (record[c].stdout.splitlines() for c in ("c0", "c2"))
    for said, files, kept in (first, second):
        assert "No space left on device" in said
        assert int(files) * 50000 > 3 << 20
        assert kept == "precious"
    assert int(second[1]) >= int(first[1]) * 9 // 10
    assert record["c4"].stdout == "precious\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_repeats_to_the_nanosecond(board: QemuBoard, name: str) -> None:
    made = spec(board, name)

    def figures() -> dict[str, Any]:
        return asyncio.run(trial.run(made, board, "test")).model_dump(exclude={"host"})

    assert figures() == figures()
