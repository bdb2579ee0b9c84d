# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual board: what is lost is told, nothing is left behind, nothing depends on the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from support import smalltrial
from support.busyhost import busy
from support.chipsteps import modprobe

from nandlab.base.digest import digest_tree
from nandlab.board.jobs.job import BoardLost, Job, JobRecord, Step
from nandlab.board.virtual import kvm
from nandlab.board.virtual.kvm import QEMU, can_boot_kernel
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog import files as catalog
from nandlab.catalog.arch import HOST_ARCH
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import validate_data
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip.simnand import (
    count_operations_between,
    make_chip_load_step,
    make_chip_module_parameters,
)
from nandlab.trial import execution
from nandlab.trial import steps as trial

pytestmark = pytest.mark.board
S = 1_000_000_000
FILESYSTEMS = catalog.list_noun_names("filesystems")
SMALL = "mount -o remount,size=1m /tmp"
INIT_TEXT = "set -- $(grep r-xp /proc/1/maps | tr '-' ' ')"
OVER_IT = "bs=4096 seek=$((0x$1 / 4096)) count=$(((0x$2 - 0x$1) / 4096)) conv=notrunc"
"""What init runs next is nothing that a processor can run: no signal that a step sends ends it."""


def recorded(board: QemuBoard, job: Job) -> JobRecord:
    return asyncio.run(board.run(job))


def run(board: QemuBoard, command: str) -> str:
    return recorded(board, Job((Step("it", command),)))["it"].stdout


def children() -> set[int]:
    """Pids of the QEMUs that this very process started."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(
                line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line
            )
            if fields["PPid"] == str(os.getpid()) and fields["Name"].startswith(QEMU[:15]):
                found.add(int(fields["Pid"]))
    return found


@pytest.mark.anew
def test_a_panic_is_a_lost_board_with_the_consoles_tail(board: QemuBoard) -> None:
    with pytest.raises(BoardLost) as lost:
        run(board, "echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger")
    assert "panicked" in lost.value.reason
    assert any("sysrq triggered crash" in line for line in lost.value.console_tail)
    assert not children()


@pytest.mark.anew
def test_a_job_leaves_the_saved_state_as_it_was(board: QemuBoard) -> None:
    """QEMU maps its RAM, and no page that a job writes to gets there."""
    before = digest_tree(board.snapshot)
    assert before.keys() == {"inputs.json", "kernel.txt", "ram", "state"}
    step = Step("it", "dd if=/dev/zero of=/tmp/x bs=64k count=64; md5sum /tmp/x; cat /proc/uptime")
    first, second = (asyncio.run(board.run(Job((step,)))) for _ in range(2))
    assert first == second
    assert digest_tree(board.snapshot) == before


@pytest.mark.anew
def test_a_board_that_hangs_is_lost_at_its_deadline(board: QemuBoard) -> None:
    model = board.machine.model.model_copy(update={"trial_deadline_s": 2})
    machine = type(board.machine)(**{**vars(board.machine), "model": model})
    busy = QemuBoard(machine, board.snapshot)
    began = time.monotonic()
    with pytest.raises(BoardLost, match="no answer within 2 s"):
        run(busy, "while :; do :; done")
    assert time.monotonic() - began < 20
    assert not children()


@pytest.mark.anew
def test_orphans_do_not_put_a_deadline_off(board: QemuBoard) -> None:
    """Each of them ends, and wakes init, before the deadline since the one before has passed."""
    left = "for i in 1 2 3 4 5 6; do (sleep $i &); done"
    job = Job((Step("it", f"{left}; sleep 7", deadline_s=3), Step("next", "true", always=True)))
    record = asyncio.run(board.run(job))
    assert record["it"].timed_out
    assert 3 * S <= record["it"].ns < 3.1 * S
    assert not record["next"].timed_out


@pytest.mark.anew
def test_a_step_that_is_killed_at_its_deadline_is_no_longer_waited_for(board: QemuBoard) -> None:
    record = asyncio.run(board.run(Job((Step("it", "sleep 5 & sleep 100", deadline_s=2),))))
    assert record["it"].timed_out
    assert 2 * S <= record["it"].ns < 2.1 * S


NO_LIMIT = "mount -o remount,size=100% /tmp"
"""Else the RAM disk may be full first, as on Linux 5.10."""
CHANNEL = "$(ls -l /proc/1/fd | grep -o /dev/ttyS.)"
"""The status channel: the serial port that init has open."""
PLANTED = {
    "a malformed step": (
        Job(files={"steps": b'no tabs, and a "quote"\n'}),
        "board_lost",
        'init on the board: malformed step: no tabs, and a "quote": Invalid argument',
    ),
    "a missing shell": (
        Job((Step("gone", "rm /bin/sh"), Step("it", "true"))),
        "trial_failed",
        "step it exited with 127: init: /bin/sh: No such file or directory",
    ),
    "a full RAM disk": (
        Job((Step("fill", f"{SMALL}; dd if=/dev/zero of=/tmp/x; true"), Step("it", "echo a"))),
        "trial_failed",
        "step it exited with 1: the board's RAM disk, which takes what steps print, is full",
    ),
    "a RAM disk that takes all memory": (
        Job(
            (Step("fill", f"{NO_LIMIT} && dd if=/dev/zero of=/tmp/x bs=64k"), Step("it", "echo a"))
        ),
        "trial_failed",
        "step fill was ended by signal 9: the board ran out of memory",
    ),
    "no place for what steps print": (
        Job((Step("away", "mount -t tmpfs -o ro none /tmp"), Step("it", "echo a"))),
        "board_lost",
        "init on the board: /tmp/stdout: Read-only file system",
    ),
    "a killed init": (
        Job((Step("it", f"{INIT_TEXT}; dd if=/dev/zero of=/proc/1/mem {OVER_IT}"),)),
        "board_lost",
        "the board's kernel panicked: not syncing: Attempted to kill init! exitcode=0x0000000b",
    ),
    "an unknown record format": (
        Job((Step("it", f'echo \'{{"event":"ready","format":99}}\' > {CHANNEL}; sleep 1d'),)),
        "board_lost",
        "the board speaks record format 99, this nandlab 3",
    ),
    "a record that is none": (
        Job((Step("it", f"echo Oops > {CHANNEL}; sleep 1d"),)),
        "board_lost",
        "the status channel holds a line that is no record: b'Oops'",
    ),
}
ON_ARM = {
    "a RAM disk that takes all memory": ("board_lost", "the board ran out of memory in step fill")
}
"""There the kernel finds nothing left to kill, and panics, where an x86 kills dd and goes on."""


@pytest.mark.anew
@pytest.mark.parametrize("cause", PLANTED)
def test_why_a_job_came_to_nothing_is_named(
    board: QemuBoard, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, *told = PLANTED[cause]
    if board.machine.model.arch == "armhf":
        told = list(ON_ARM.get(cause, told))
    monkeypatch.setattr(trial, "make_trial_job", lambda spec: planted)
    # a board that is waited for in vain is lost after an hour: the test's own limit comes before
    result = asyncio.run(execution.run_trial(smalltrial.planned(board, "jffs2"), board, "t"))
    assert [result.status, result.error] == told
    assert not children()


@pytest.mark.anew
def test_memory_run_out_of_is_a_lost_board(board: QemuBoard) -> None:
    with pytest.raises(BoardLost, match="out of memory in step it"):
        run(board, "echo -1000 > /proc/self/oom_score_adj; exec tail /dev/zero")
    assert not children()


@pytest.mark.anew
def test_an_unkillable_stop_leaves_no_qemu(board: QemuBoard) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(board.run(Job((Step("long", "sleep 100000"),))))
        await asyncio.sleep(1)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not children()


@pytest.mark.anew
def test_jobs_at_once_do_not_meet(board: QemuBoard) -> None:
    async def both() -> list[str]:
        jobs = [Job((Step("it", f"echo {n} > /tmp/x; sleep 1; cat /tmp/x"),)) for n in "ab"]
        records = await asyncio.gather(*(board.run(j) for j in jobs))
        return [r["it"].stdout for r in records]

    assert asyncio.run(both()) == ["a\n", "b\n"]


@pytest.mark.anew
def test_random_numbers_and_dates_repeat(board: QemuBoard) -> None:
    command = "head -c 64 /dev/urandom | sha256sum; date; cat /proc/uptime"
    assert run(board, command) == run(board, command)


@pytest.mark.anew
def test_a_busy_host_does_not_move_the_clock(board: QemuBoard) -> None:
    command = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; cat /proc/uptime"
    job = Job((Step("it", command),))
    alone = asyncio.run(board.run(job))
    with busy(os.cpu_count() or 1):
        beside = asyncio.run(board.run(job))
    assert alone == beside


@pytest.mark.anew
def test_a_job_begins_on_a_board_at_rest(board: QemuBoard) -> None:
    look = "cat /proc/uptime"
    before, after = (
        [float(word) for word in line.split()]
        for line in run(board, f"{look}; sleep 0.5; {look}").splitlines()
    )
    passed_s, idle_s = (b - a for a, b in zip(before, after, strict=True))
    assert idle_s > 0.9 * passed_s > 0.4


@pytest.mark.anew
def test_a_job_begins_at_the_same_moment_whatever_it_carries(board: QemuBoard) -> None:
    jobs = (
        Job((Step("it", "true"),)),
        Job((Step("it", "true"),), {"much": bytes(900_000)}),
        Job((Step("it", "type fsops ffsmark lifetime fsx"),)),
    )
    begun = [recorded(board, job)["it"].start_ns for job in jobs]
    assert max(begun) - min(begun) < 1_000_000
    assert max(begun) // 1_000_000_000 == min(begun) // 1_000_000_000


def test_a_board_has_no_program_that_its_job_does_not_name(board: QemuBoard) -> None:
    record = recorded(board, Job((Step("it", "ls /usr/bin; fsops --help"),)))
    there = set(record["it"].stdout.split())
    assert {"ferry", "fsops"} <= there
    assert not there & {"ffsmark", "lifetime", "settle"}
    own = {name for name in board.identity["parts"] if not name.endswith(".ko")}
    assert own == {"init", "ferry"}


@pytest.mark.parametrize("name", smalltrial.WRITABLE)
def test_a_board_has_no_modules_of_file_systems_that_its_job_does_not_mount(
    board: QemuBoard, name: str
) -> None:
    job = trial.make_trial_job(smalltrial.spec(board, name))
    look = Step("look", "ls -R /lib/modules; lsmod")
    at = next(i for i, step in enumerate(job.steps) if step.name == "unmount")
    record = recorded(board, replace(job, steps=(*job.steps[:at], look, *job.steps[at:])))
    assert record.failed() is None
    there = {word.removesuffix(".ko") for word in record["look"].stdout.split()}
    own = set(catalog.load_noun("filesystems", name, FilesystemModel).modules)
    others = {
        m for n in FILESYSTEMS for m in catalog.load_noun("filesystems", n, FilesystemModel).modules
    }
    assert own <= there
    assert not there & ((others | {"nandsim", "tracers", "fsram"}) - own)


def test_the_nand_core_is_loaded_before_the_job_and_no_file_systems(board: QemuBoard) -> None:
    record = recorded(board, Job((Step("look", "cut -d' ' -f1 /proc/modules"),)))
    loaded = {*record["look"].stdout.split()}
    assert loaded == {*board.machine.modules.in_image}
    files = (catalog.load_noun("filesystems", name, FilesystemModel) for name in FILESYSTEMS)
    systems = {module for file in files for module in file.modules}
    assert not loaded & systems


def test_a_shell_has_all_modules(board: QemuBoard) -> None:
    archive = board.machine.modules.find_job_modules(Job())
    names = {Path(where).stem for where in archive}
    modules = board.machine.modules
    assert names == {*modules.needs} - {*modules.in_image}
    assert {"doorbell", "nopidle"} < {*modules.in_image}
    assert {"jffs2", "ubifs", "yaffs2", "vfat", "simnand", "tracers", "nandsim"} <= names
    assert {"squashfs", "erofs"} <= names
    assert ("nftl" in names) == ("CONFIG_NFTL" in board.kernel_config)  # the ARM kernel has none


def test_each_step_s_chip_counts_are_in_its_record(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "nandsim-small", ChipModel)
    words = make_chip_module_parameters(chip, 64, board.machine.model.store_start)
    steps = (
        Step("before", "true"),
        make_chip_load_step(words),
        Step("read", "dd if=/dev/mtd0 of=/dev/null bs=512 count=7"),
        Step("erase", "flash_erase -q /dev/mtd0 0 3"),
        Step("nothing", "true"),
    )
    record = recorded(board, Job(steps))
    assert record["before"].counts == ""
    names = [s.name for s in steps]
    did = {
        now: count_operations_between(record[was].counts, record[now].counts)
        for was, now in pairwise(names)
    }
    zero = {"reads": 0, "programs": 0, "erases": 0}
    assert did["load"] == did["nothing"] == zero
    assert did["read"] == zero | {"reads": 7}
    assert did["erase"] == zero | {"erases": 3}


def test_the_kernel_has_the_ram_that_the_board_says(board: QemuBoard) -> None:
    total_kib = int(run(board, "grep MemTotal /proc/meminfo").split()[1])
    ram_mib = board.machine.model.ram_mib
    assert ram_mib and total_kib < ram_mib * 1024


@pytest.mark.parametrize("ram_mib", [113, 160, None])
def test_a_board_may_have_any_ram(board: QemuBoard, ram_mib: int | None) -> None:
    """The chip's cells lie past what the kernel keeps for itself behind its RAM.

    None: the most that the board's architecture has room for.
    """
    given = board.machine.model
    beside = given.memory_bytes - given.kernel_bytes
    ram_mib = ram_mib or (given.arch_traits.memory_max - beside) // (64 * MIB) * 64
    model = validate_data(given.model_dump() | {"ram_mib": ram_mib}, BoardModel, "here")
    odd = open_board(model)
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    words = make_chip_module_parameters(chip, 64, model.store_start)
    record = asyncio.run(
        odd.run(Job((modprobe(words), Step("chip", "cat /proc/mtd /proc/meminfo"))))
    )
    assert "mtd0: 00800000" in record["chip"].stdout
    assert int(record["chip"].stdout.partition("MemTotal:")[2].split()[0]) < ram_mib * 1024


def test_the_kvm_probe_knows_a_guest_that_boots_and_one_that_hangs(
    board: QemuBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    if board.machine.model.arch != HOST_ARCH:
        pytest.skip("KVM runs a host's own kind of processor alone: such a board refuses it")
    kit = board.machine.kit
    assert can_boot_kernel("tcg", kit.tools, kit.kernel.vmlinuz)
    monkeypatch.setattr(kvm, "DEADLINE_S", 1)
    with pytest.raises(subprocess.TimeoutExpired):
        can_boot_kernel("tcg", kit.tools, kit.kernel.vmlinuz)


def test_the_shell_takes_commands_and_leaves(board: QemuBoard) -> None:
    name = board.machine.model.name
    argv = [sys.executable, "-m", "nandlab", "board", "shell", "--board", name]
    talk = "\necho $((6*7)); cat /proc/version\n"  # the end of input leaves
    done = subprocess.run(argv, input=talk, capture_output=True, text=True, timeout=60, check=False)
    assert "42" in done.stdout
    assert "Linux version" in done.stdout


def test_ctrl_c_leaves_no_qemu_and_whole_results_only(board: QemuBoard, tmp_path: Path) -> None:
    out = tmp_path / "run"
    argv = [
        # a shell starts background jobs with SIGINT ignored, which children inherit
        "env",
        "--default-signal=INT",
        sys.executable,
        "-m",
        "nandlab",
        "run",
        "ffsmark-2015",  # every board's kernel has its file systems
        "--board",
        board.machine.model.name,
        "--out",
        str(out),
        "--progress",
        "json",
    ]
    # where no store has these trials
    process = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if '"workload"' in line:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    left = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=False)
    assert not left.stdout
    assert not list(out.rglob(".part-*"))
