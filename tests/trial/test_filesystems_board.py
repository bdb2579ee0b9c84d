# SPDX-License-Identifier: GPL-2.0-or-later
"""Every file system of the catalog on the real kernel: each value of each option mounts, files are
there after a remount, a full disk gives its space back, and the kernel's log stays clean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

import pytest
from support import lock
from support.cases import DETACH, FORGET, UNLOAD, Cases, find_first_equals, run_cases
from support.chipsteps import numbers
from support.smalltrial import CHIP, WRITABLE, find_refusal, planned, spec

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.matrix import ChipChoice
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution, mediumsteps, outcome
from nandlab.trial import steps as trial
from nandlab.trial.instruments import memory

pytestmark = [pytest.mark.board, pytest.mark.timeout(900)]
"""Some run one job for many tests."""

LARGE_PAGES = ChipChoice(part="apf27", partition_mib=8)
"""For values of options that small pages cannot have."""
NAMES = WRITABLE
"""Those that are only read have tests of their own, tests/image/test_readonly_board.py."""

VALUES = [
    (name, key, value)
    for name in NAMES
    for key, option in catalog.load_noun("filesystems", name, FilesystemModel).options.items()
    for value, what in option.values.items()
    if not what.refused
]


LOG = Step("kernel-log", "dmesg -r")


def run(board: QemuBoard, made: TrialSpec, *commands: str) -> JobRecord:
    """Mounts the file system, runs the commands one by one, and looks at the kernel's log."""
    steps = [Step(f"c{i}", command, deadline_s=3600) for i, command in enumerate(commands)]
    end = replace(LOG, always=True)
    record = asyncio.run(board.run(Job((*trial.make_steps_until_mounted(made), *steps, end))))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert outcome.filter_kernel_log(made, record) == []
    return record


def command(step: Step) -> str:
    return step.command


def offered(board: QemuBoard, name: str, key: str, value: str) -> Iterator[TrialSpec]:
    """Trials with the value, on the chips that can have it, if the kernel can."""
    for chip in (CHIP, LARGE_PAGES):
        with suppress(UsageError):
            made = planned(board, name, chip, **{key: value})
            if not find_refusal(made, board):
                yield made


COPIED = "head -c 90000 /bin/busybox > /tmp/x; cp /tmp/x /mnt && sync && cmp /tmp/x /mnt/x"


def mount_every_value(board: QemuBoard, name: str) -> Cases:
    """A job that makes and mounts a file system with each value of each option, and then fills it
    in each of the ways below."""
    made = {
        f"{key} {value}": next(offered(board, n, key, value), None)
        for n, key, value in VALUES
        if n == name
    }
    cases = {
        case: (
            FORGET,
            *trial.make_steps_until_mounted(spec),
            Step("mounted", "grep /mnt /proc/mounts"),
            Step("copied", COPIED),
            mediumsteps.make_unmount_step(spec),
            LOG,
            DETACH,
            UNLOAD,
        )
        for case, spec in made.items()
        if spec is not None
    }
    if not find_refusal(planned(board, name), board):
        ways = {"churned": churn, "filled": fill, **({"raw": write_raw} if name == RAW else {})}
        cases |= {case: make_mounted_steps(*way(board, name)) for case, way in ways.items()}
    first = find_first_equals(cases)
    distinct = {case: cases[case] for case in dict.fromkeys(first.values())}
    return run_cases(board, distinct).name_again(first)


@pytest.fixture(scope="module")
def cases(board: QemuBoard) -> Callable[[str], Cases]:
    """mount_every_value() by the file system's name, run once for each."""
    return cache(partial(mount_every_value, board))


def list_cases(names: Sequence[str]) -> pytest.MarkDecorator:
    """The tests of one file system share its job."""
    groups = ((n, pytest.mark.xdist_group(f"values-{n}")) for n in names)
    return pytest.mark.parametrize("name", [pytest.param(n, marks=group) for n, group in groups])


def make_mounted_steps(made: TrialSpec, *commands: str) -> tuple[Step, ...]:
    """Mounts the file system, runs the commands one by one, which unmount it, and looks at the
    kernel's log."""
    steps = [Step(f"c{i}", command, deadline_s=3600) for i, command in enumerate(commands)]
    return (FORGET, *trial.make_steps_until_mounted(made), *steps, LOG, DETACH, UNLOAD)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [pytest.param(*v, marks=pytest.mark.xdist_group(f"values-{v[0]}")) for v in VALUES],
)
def test_every_value_of_every_option_runs_or_is_refused(
    cases: Callable[[str], Cases], board: QemuBoard, name: str, key: str, value: str
) -> None:
    made = next(offered(board, name, key, value), None)
    if made is None:
        return
    words = made.filesystem.options[key].values[value].mount
    record = cases(name)[f"{key} {value}"]
    assert outcome.filter_kernel_log(made, record) == []
    mounted = record["mounted"].stdout.split()[3]
    assert set(filter(None, words.split(","))) <= set(mounted.split(","))


CHURNED = ChipChoice(part=CHIP.part, partition_mib=4)
# To draw bytes costs more than to write them: drawn once, they are moved by some bytes each time.
DRAW = "head -c 70000 /dev/urandom > /tmp/drawn"
# More than that partition holds is written, so collectors and folds have moved what stays.
CHURN = (
    f"{DRAW} && cd /mnt && mkdir kept && for i in $(seq 1 24); do "
    "head -c $((i * 997)) /dev/urandom > kept/$i || exit 1; "
    "for j in 1 2 3; do { printf %$((3 * i + j))s; cat /tmp/drawn; } > churn$j && sync || exit 1; "
    "done; done; "
    "find . -type f | sort | xargs md5sum > /tmp/sums && wc -l < /tmp/sums"
)


def churn(board: QemuBoard, name: str) -> tuple[TrialSpec, *tuple[str, ...]]:
    """More than the partition holds, a remount, and all files summed again."""
    made = planned(board, name, CHURNED)
    return (
        made,
        CHURN,
        command(mediumsteps.make_unmount_step(made)),
        command(mediumsteps.make_mount_step(made)),
        "cd /mnt && md5sum -c /tmp/sums | grep -c OK; find . -type f | wc -l",
        "cat /sys/kernel/debug/simnand/counters",
        command(mediumsteps.make_unmount_step(made)),
    )


@list_cases(NAMES)
def test_every_file_is_there_after_a_remount_with_its_checksum(
    cases: Callable[[str], Cases], board: QemuBoard, name: str
) -> None:
    made = spec(board, name, CHURNED)
    record = cases(name)["churned"]
    assert outcome.filter_kernel_log(made, record) == []
    assert record["c0"].stdout.split() == ["27"]
    assert record["c3"].stdout.split() == ["27", "27"]
    counters = numbers(record["c4"].stdout)
    assert counters["programs"] > counters["partition_pages"]
    assert counters["illegal"] == 0


# dd of older busybox does not say why a write came out short; cat does.
FILL = (
    f"{DRAW} && cd /mnt && echo precious > kept && sync && i=0; "
    "while dd if=/tmp/drawn of=f$i bs=50000 count=1 conv=fsync 2> /dev/null; "
    "do i=$((i + 1)); done; "
    "while cat /tmp/drawn; do :; done 2> /tmp/said > f-last; "
    "head -n 1 /tmp/said; echo $i; cat kept"
)


def choose_filled_chip(name: str) -> ChipChoice:
    """Of the whole chip UBI keeps a share, of a small partition most."""
    return CHIP if name == "ubifs" else CHURNED


def fill(board: QemuBoard, name: str) -> tuple[TrialSpec, *tuple[str, ...]]:
    """The disk full twice, and then a remount."""
    made = planned(board, name, choose_filled_chip(name))
    unmount = command(mediumsteps.make_unmount_step(made))
    again = f"{unmount} && {command(mediumsteps.make_mount_step(made))}"
    return made, FILL, "rm /mnt/f*; sync", FILL, again, "cat /mnt/kept", unmount


@list_cases(NAMES)
def test_a_full_disk_says_so_loses_nothing_and_gives_its_space_back(
    cases: Callable[[str], Cases], board: QemuBoard, name: str
) -> None:
    chip = choose_filled_chip(name)
    made = spec(board, name, chip)
    record = cases(name)["filled"]
    assert outcome.filter_kernel_log(made, record) == []
    first, second = (record[c].stdout.splitlines() for c in ("c0", "c2"))
    for said, files, kept in (first, second):
        assert "No space left on device" in said
        assert chip.partition_mib and int(files) * 50000 > chip.partition_mib * (3 << 17)
        assert kept == "precious"
    assert int(second[1]) >= int(first[1]) * 9 // 10
    assert record["c4"].stdout == "precious\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_repeats_to_the_nanosecond_and_the_byte_and_none_is_lost(
    board: QemuBoard, name: str
) -> None:
    """All of its figures and times, with its memory measured beside."""
    made = spec(board, name).model_copy(update={"measure": ["memory"]})
    first, second = (asyncio.run(execution.run_trial(made, board, "test")) for _ in range(2))
    assert second.model_dump(exclude={"host"}) == first.model_dump(exclude={"host"})
    assert (first.error, first.kernel_log) == (None, [])
    assert lock.doubts(first.warnings) == ["memory_measured"]
    m = first.measured["memory"]
    assert 0 < m["mounted"] <= m["peak"]
    assert m["unmounted"] < m["end"] <= m["peak"]
    assert m["slab"] + m["kmalloc"] + m["vmalloc"] == m["end"]
    again = [
        command(mediumsteps.make_mount_step(made)),
        "cp /bin/busybox /mnt/x && sync && rm /mnt/x",
        command(mediumsteps.make_unmount_step(made)),
        f"cat {memory.USAGE_FILE}",
    ]
    record = run(board, made, *again[2:], *again * 2)
    left = [numbers(record[c].stdout) for c in ("c1", "c5", "c9")]
    assert {now["bytes"] for now in left} == {m["unmounted"]}
    assert left[0]["allocations"] < left[1]["allocations"] < left[2]["allocations"]


def test_what_file_systems_count_agrees_with_others(board: QemuBoard) -> None:
    """Each against an instrument of ours that saw the same work."""

    def told(name: str) -> tuple[Trial, dict[str, int | float]]:
        made = spec(board, name).model_copy(update={"measure": ["memory"]})
        found = asyncio.run(execution.run_trial(made, board, "test"))
        return found, found.measured.get("counters", {})

    ubifs, counters = told("ubifs")
    assert ubifs.per_block is not None
    assert counters["ubi_max_ec"] == max(ubifs.per_block.erases)
    assert counters["ubi_total_eraseblocks"] == ubifs.chip.blocks
    assert counters["ubi_bad_peb_count"] == 0
    yaffs, counters = told("yaffs2")
    # Its own sum is of the core alone; the port's few structures come on top.
    assert 0 <= yaffs.measured["memory"]["end"] - counters["memory_bytes"] < 16384
    assert told("jffs2")[1] == {}


RAW = "nftl-fat32"


def write_raw(board: QemuBoard, name: str) -> tuple[TrialSpec, *tuple[str, ...]]:
    """Thirteen pages of 4096 bytes onto the device below the file system."""
    made = planned(board, name)
    look = made.filesystem.counters
    assert look
    raw = "dd if=/dev/urandom of=/dev/nftla bs=4096 count=13 conv=fsync 2> /dev/null"
    return made, f"umount /mnt && {look}", raw, look, "rmmod nftl"


@list_cases([RAW])
def test_sectors_given_to_nftl_are_counted_exactly(
    cases: Callable[[str], Cases], board: QemuBoard, name: str
) -> None:
    made = spec(board, name)
    record = cases(name)["raw"]
    assert outcome.filter_kernel_log(made, record) == []
    before, after = (numbers(record[c].stdout) for c in ("c0", "c2"))
    assert after["nftla_sectors_written"] - before["nftla_sectors_written"] == 13 * 8
