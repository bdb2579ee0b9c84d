# SPDX-License-Identifier: GPL-2.0-or-later
"""Time on the board: exact under warp, bounded under sleep and spin, one clock for all."""

from __future__ import annotations

import asyncio
import json
import os
import re

import pytest
from support.busyhost import busy
from support.cases import UNLOAD, Cases, run_cases
from support.chipsteps import modprobe, numbers, run

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters

pytestmark = [pytest.mark.board, pytest.mark.timeout(900)]
"""Some run one job for many tests."""

WAITS = ("warp", "sleep", "spin")
ERASED, PROGRAMMED, READ = 3, 11, 13
DEBUGFS = "/sys/kernel/debug/simnand"
WORK = (
    Step("reset", f"echo 1 > {DEBUGFS}/reset"),
    Step("erase", f"timecheck --count {ERASED} erase"),
    Step("program", f"timecheck --count {PROGRAMMED} program"),
    Step("read", f"timecheck --count {READ} read"),
    Step("counters", f"cat {DEBUGFS}/counters"),
)
SYSTEM_CALL_NS = 40_000
"""What a system call of ours may take above the chip's time: MTD, the NAND core, an interrupt."""
WAKE_UP_NS = 40_000
"""What the way back from a sleep may take."""
TICK_NS = 4_000_000
TICK_THREADS_NS = 50_000
"""What a tick within a spin may leave to do once it is over: the kernel's own threads (RCU's,
ksoftirqd) that the tick woke run then. Up to 36 us a tick on Linux 6.12, 14 on 6.1; the chip's own
late_ns stays where it is."""
WITHIN_TICK_NS = 3_500_000
FIRING_NS = 40_000
"""What an interrupt's latency may be where a timer is due, tracing of both included."""
TIMER_LATE_NS = 300_000
"""The bound stated in docs/time.md for a program's timer beside one that writes page by page."""
TRACEFS = "/sys/kernel/tracing"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


PARTITION_BLOCKS = 16
FEWEST_BLOCKS = 64
"""A whole MiB of the smallest blocks, which simnand wants."""
TWO_CYCLE_PAGES = 1 << 16
"""The most pages whose row address has two cycles; with more it has three."""


def count_blocks_enough(chip: ChipModel) -> int:
    """The fewest blocks with which a chip has its row address and room for the partition.

    When the chip is loaded the kernel reads each block's marker, which no time here is about.
    test_simnand.py loads every chip whole.
    """
    per_block = chip.pages_per_block()
    if chip.geometry.blocks * per_block > TWO_CYCLE_PAGES:
        return 2 * TWO_CYCLE_PAGES // per_block  # simnand takes a power of two
    return FEWEST_BLOCKS


def load(board: QemuBoard, chip: ChipModel, **more: str | int) -> Step:
    words = make_chip_module_parameters(chip, PARTITION_BLOCKS, board.machine.model.store_start) | {
        "blocks": count_blocks_enough(chip)
    }
    return modprobe(words | more)


def counters(record: JobRecord) -> dict[str, int]:
    return numbers(record["counters"].stdout)


def took_ns(record: JobRecord, step: str) -> int:
    return int(json.loads(record[step].stdout)["ns"])


def predicted_ns(chip: ChipModel) -> dict[str, int]:
    """An operation of each kind, from the data sheet's terms: docs/simnand.md, Time."""
    g, t = chip.geometry, chip.timing
    small = g.writesize == 512
    pages = g.blocks * chip.pages_per_block()
    rows = 3 if pages > TWO_CYCLE_PAGES else 2
    address = rows + (1 if small else 2)
    data = (g.writesize + g.oobsize) * 8 // g.bus_bits
    protect = t.t_wc_ns + t.t_rc_ns  # the NAND core looks at the write-protect pin
    return {
        "read": ((1 if small else 2) + address) * t.t_wc_ns + t.t_r_ns + data * t.t_rc_ns,
        "program": (3 + small + address + data) * t.t_wc_ns + t.t_prog_ns + t.t_rc_ns + protect,
        "erase": (3 + rows) * t.t_wc_ns + t.t_bers_ns + t.t_rc_ns + protect,
    }


CHIPS = catalog.list_noun_names("chips")


@pytest.fixture(
    scope="module", params=[pytest.param(w, marks=pytest.mark.xdist_group(w)) for w in WAITS]
)
def known_work(request: pytest.FixtureRequest, board: QemuBoard) -> tuple[str, Cases]:
    """The way to wait, and one job that does the work on every chip, one after another."""
    chips = {name: catalog.load_noun("chips", name, ChipModel) for name in CHIPS}
    cases = {
        name: (load(board, chip, wait=request.param), *WORK, UNLOAD) for name, chip in chips.items()
    }
    return request.param, run_cases(board, cases)


@pytest.mark.parametrize("name", CHIPS)
def test_known_work_takes_the_predicted_time(known_work: tuple[str, Cases], name: str) -> None:
    wait, works = known_work
    record = works[name]
    ns = predicted_ns(catalog.load_noun("chips", name, ChipModel))
    counts = {"erase": ERASED, "program": PROGRAMMED, "read": READ}
    c = counters(record)
    assert (c["reads"], c["programs"], c["erases"]) == (READ, PROGRAMMED, ERASED)
    assert c["busy_ns"] == sum(n * ns[kind] for kind, n in counts.items())
    each = SYSTEM_CALL_NS + (WAKE_UP_NS if wait == "sleep" else 0)
    for kind, n in counts.items():
        over = took_ns(record, kind) - n * ns[kind]
        ticks = n * ns[kind] // TICK_NS + 1 if wait == "spin" else 0
        assert 0 <= over < n * each + ticks * TICK_THREADS_NS, kind
    assert (c["warped_ns"] > 0) == (wait == "warp" and c["busy_ns"] > 0)


def test_maximum_latencies_are_those_that_pass(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "NAND256W3A", ChipModel)
    slow = chip.timing.model_copy(update=chip.timing.array_ns("maximum"))
    words = make_chip_module_parameters(chip, 16, board.machine.model.store_start, "maximum")
    c = counters(run(board, modprobe(words), *WORK))
    ns = predicted_ns(chip.model_copy(update={"timing": slow}))
    assert ns["program"] == predicted_ns(chip)["program"] + 300_000
    assert c["busy_ns"] == ERASED * ns["erase"] + PROGRAMMED * ns["program"] + READ * ns["read"]


def firing_late_ns(trace: str) -> list[int]:
    """By how much each timer fired late, from the kernel's own trace points, in ns: after its
    instant, or after it was set if that instant was over by then."""
    due, late = None, []
    for line in trace.splitlines():
        if started := re.search(r" (\d+\.\d+): hrtimer_start: .* expires=(\d+)", line):
            due = max(int(started[2]), round(float(started[1]) * 1e9))
        elif (fired := re.search(r"hrtimer_expire_entry: .* now=(\d+)", line)) and due is not None:
            late.append(int(fired[1]) - due)
            due = None
    return late


FIRINGS = [(period_us, slice_ns) for period_us in (97, 4001) for slice_ns in (0, 100_000)]
LATENESSES = [(period_us, slice_ns) for period_us in (97, 770, 4001) for slice_ns in (0, 100_000)]
EVENTS = ("hrtimer_start", "hrtimer_expire_entry")
TRACING = Step(
    "trace",
    f"mount -t tracefs tracefs {TRACEFS}; cd {TRACEFS} && echo mono > trace_clock"
    " && echo 2048 > buffer_size_kb && echo > trace"
    " && { [ -e /tmp/timerfd ] || grep ' timerfd_tmrproc$' /proc/kallsyms > /tmp/timerfd; } && "
    + " && ".join(
        f'echo "function == 0x$(cut -c1-16 /tmp/timerfd)" > events/timer/{event}/filter'
        f" && echo 1 > events/timer/{event}/enable"
        for event in EVENTS
    ),
)
"""Traces the timers of timerfd: to print those of the whole kernel takes seconds."""
FIRED = Step("fired", f"cat {TRACEFS}/trace; echo 0 > {TRACEFS}/events/enable")


def timers_beside_writer(
    board: QemuBoard,
    cases: list[tuple[int, int]],
    write_bytes: int,
    before: tuple[Step, ...] = (),
    after: tuple[Step, ...] = (),
) -> Cases:
    """53 timers of each kind, while a program writes to the chip, so many bytes a call.

    cases: the timers' period, us, and the chip's slice, ns; each has the chip to itself.
    """
    chip = catalog.load_noun("chips", "MT29F4G08ABADA", ChipModel)
    sizes = f"bs={write_bytes} count={(32 << 20) // write_bytes}"
    end = Step("end", "killall dd; while pidof dd; do sleep 0.1; done")
    return run_cases(
        board,
        {
            f"{period_us} {slice_ns}": (
                load(board, chip, warp_slice_ns=slice_ns, partition_blocks=256),
                *before,
                Step(
                    "start", f"dd if=/dev/zero of=/dev/mtd0 {sizes} conv=notrunc >/dev/null 2>&1 &"
                ),
                Step("timers", f"sleep 0.1; timecheck --count 53 --period-us {period_us} timers"),
                Step("counters", f"cat {DEBUGFS}/counters"),
                *after,
                end,
                UNLOAD,
            )
            for period_us, slice_ns in cases
        },
    )


@pytest.fixture(scope="module")
def firings(board: QemuBoard) -> Cases:
    """The timers of FIRINGS beside large writes, traced."""
    return timers_beside_writer(board, FIRINGS, 128 << 10, (TRACING,), (FIRED,))


@pytest.fixture(scope="module")
def latenesses(board: QemuBoard) -> Cases:
    """The timers of LATENESSES beside small writes."""
    return timers_beside_writer(board, LATENESSES, 2 << 10)


@pytest.mark.xdist_group("firings")
@pytest.mark.parametrize(("period_us", "slice_ns"), FIRINGS)
def test_timers_fire_within_the_slice_beside_a_writer(
    firings: Cases, period_us: int, slice_ns: int
) -> None:
    record = firings[f"{period_us} {slice_ns}"]
    assert counters(record)["programs"] > 53
    late = firing_late_ns(record["fired"].stdout)
    assert len(late) >= 53
    assert max(late) < slice_ns + FIRING_NS


@pytest.mark.xdist_group("latenesses")
@pytest.mark.parametrize(("period_us", "slice_ns"), LATENESSES)
def test_timers_are_in_time_beside_a_writer(
    latenesses: Cases, period_us: int, slice_ns: int
) -> None:
    record = latenesses[f"{period_us} {slice_ns}"]
    assert counters(record)["programs"] > 53
    late = json.loads(record["timers"].stdout)
    assert late["nanosleep_max_ns"] < TIMER_LATE_NS
    assert late["timerfd_max_ns"] < TIMER_LATE_NS


def test_the_whole_guest_agrees_on_the_clock(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "MT29F4G08ABADA", ChipModel)
    record = run(
        board,
        load(board, chip),
        Step("before", "timecheck clocks"),
        *(Step(f"erase{n}", "flash_erase -q /dev/mtd0 0 0") for n in range(50)),
        Step("after", "timecheck clocks"),
        Step("counters", f"cat {DEBUGFS}/counters"),
    )
    before, after = (json.loads(record[step].stdout) for step in ("before", "after"))
    look_ns = 500_000
    slack = {"uptime_ns": 10_000_000 + look_ns, "file_ns": TICK_NS + look_ns}
    passed = after["first_ns"] - before["first_ns"]
    assert counters(record)["warped_ns"] > 50 * 16 * chip.timing.t_bers_ns * 0.9
    for name in after.keys() - {"program"}:
        limit = slack.get(name, TICK_NS if "coarse" in name else look_ns)
        assert abs(after[name] - before[name] - passed) <= limit, name
    assert before["first_ns"] < before["monotonic_syscall_ns"] < before["last_ns"]


def test_the_chip_and_its_users_agree_on_the_clock(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    record = run(
        board,
        load(board, chip),
        Step("it", f"timecheck --count 5 erase; cat {DEBUGFS}/counters; timecheck clocks"),
    )
    first, *lines, last = record["it"].stdout.splitlines()
    idle_ns = next(int(line.split()[1]) for line in lines if line.startswith("idle_ns"))
    waited_ns = json.loads(last)["first_ns"] - json.loads(first)["ended_ns"]
    assert 0 < idle_ns < waited_ns + SYSTEM_CALL_NS


def test_loading_and_unloading_give_the_clock_source_back(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    one = f"{load(board, chip).command} && cat {CLOCK} && rmmod simnand && cat {CLOCK}"
    record = run(
        board,
        Step("former", f"cat {CLOCK}"),
        *(Step(f"cycle{n}", one) for n in range(20)),
        Step("log", "dmesg -r"),
    )
    former = record["former"].stdout.strip()
    for n in range(20):
        assert record[f"cycle{n}"].stdout.split() == ["simnand", former]
    told = record["log"].stdout
    assert "unstable" not in told
    assert "BUG" not in told
    assert "WARNING" not in told


def test_a_source_chosen_by_hand_ends_warping_and_not_waiting(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    record = run(board, load(board, chip), Step("choose", f"echo hpet > {CLOCK}"), *WORK)
    ns = predicted_ns(chip)
    assert took_ns(record, "program") >= PROGRAMMED * ns["program"]
    other = run(
        board,
        Step("choose", f"echo hpet > {CLOCK}"),
        Step("refused", f"! {load(board, chip).command} 2>/dev/null"),
        Step("log", "dmesg"),
        Step("clock", f"cat {CLOCK}"),
    )
    assert "did not take our clock source" in other["log"].stdout
    assert other["clock"].stdout == "hpet\n"


def test_other_bases_serve_as_well(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    unbind = "echo tsc > /sys/devices/system/clocksource/clocksource0/unbind_clocksource"
    record = run(board, Step("unbind", unbind), load(board, chip), *WORK, Step("clock", "sleep 60"))
    ns = predicted_ns(chip)
    over = took_ns(record, "program") - PROGRAMMED * ns["program"]
    assert 0 <= over < PROGRAMMED * SYSTEM_CALL_NS
    assert 60e9 <= record["clock"].ns < 60.2e9  # longer than the HPET's 32 bits last


def test_background_work_overlaps_with_flash_time(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    count = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    erase = "flash_erase -q /dev/mtd0 0 0; flash_erase -q /dev/mtd0 0 0"
    work = (
        Step("alone", count),
        Step("erase", erase),
        Step("both", f"({count}) & {erase}; wait"),
        UNLOAD,
    )
    waits = ("warp", "sleep")
    works = run_cases(board, {wait: (load(board, chip, wait=wait), *work) for wait in waits})
    for wait in waits:
        alone, erased, both = (works[wait][n].ns for n in ("alone", "erase", "both"))
        assert alone + erased - both > min(alone, erased) / 2, wait


def test_jitter_is_bounded_and_follows_its_seed(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "MT29F4G08ABADA", ChipModel)
    ns = predicted_ns(chip)["erase"]
    spread = chip.timing.t_bers_ns * 0.1

    seeds = (1, 1, 2)
    erase = (
        f"echo 1 > {DEBUGFS}/reset; timecheck --count 1 erase >/dev/null; cat {DEBUGFS}/counters"
    )
    works = run_cases(
        board,
        {
            f"{turn}": (
                load(board, chip, jitter_ppm=100_000, jitter_seed=seed),
                *(Step(f"{n}", erase) for n in range(23)),
                UNLOAD,
            )
            for turn, seed in enumerate(seeds)
        },
    )
    times, again, other = (
        [numbers(works[f"{turn}"][f"{n}"].stdout)["busy_ns"] for n in range(23)]
        for turn in range(len(seeds))
    )
    assert times == again != other
    assert all(abs(t - ns) <= spread for t in times)
    assert min(times) < ns - spread / 2 < ns + spread / 2 < max(times)


NO_TIME = ("wait=doze", "jitter_ppm=400001")


@pytest.fixture(scope="module")
def refusals(board: QemuBoard) -> Cases:
    """What the kernel's log says of each of NO_TIME, in a job of a step each."""
    say = "dmesg -c > /dev/null; ! modprobe simnand {} 2>/dev/null && dmesg"
    return run_cases(board, {words: [Step("load", say.format(words))] for words in NO_TIME})


@pytest.mark.xdist_group("no-time")
@pytest.mark.parametrize("words", NO_TIME)
def test_what_makes_no_time_is_refused(refusals: Cases, words: str) -> None:
    assert words.partition("=")[0] + " must be" in refusals[words]["load"].stdout


def test_the_same_job_gives_the_same_record_beside_a_busy_host(board: QemuBoard) -> None:
    chip = catalog.load_noun("chips", "apf27", ChipModel)
    job = Job(
        (
            load(board, chip, jitter_ppm=50_000),
            Step("mount", "modprobe jffs2 && mount -t jffs2 mtd0 /mnt"),
            Step("write", "for i in 1 2 3 4 5; do head -c 99999 /dev/urandom > /mnt/$i; done"),
            Step("timers", "timecheck timers"),
            Step("unmount", "umount /mnt"),
            Step("counters", f"cat {DEBUGFS}/counters"),
        )
    )
    alone = [asyncio.run(board.run(job)) for _ in range(2)]
    with busy(os.cpu_count() or 1):
        beside = asyncio.run(board.run(job))
    assert alone[0].failed() is None
    assert all(record == alone[0] for record in (*alone, beside))
