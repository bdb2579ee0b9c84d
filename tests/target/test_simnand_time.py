# SPDX-License-Identifier: GPL-2.0-or-later
"""Time on the board: exact under warp, bounded under sleep and spin, one clock for all."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
from dataclasses import replace

import pytest
from chipsteps import modprobe, numbers, run

from nandlab.board.job import Job, JobRecord, Step
from nandlab.board.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.chip.simulated import chip_parameters

pytestmark = pytest.mark.board

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


def load(board: QemuBoard, chip: ChipModel, **more: str | int) -> Step:
    words = chip_parameters(chip, 16, board.machine.model.store_start) | more
    return modprobe(words)


def counters(record: JobRecord, chip: str = "") -> dict[str, int]:
    return numbers(record[f"{chip}counters"].stdout)


def took_ns(record: JobRecord, step: str) -> int:
    return int(json.loads(record[step].stdout)["ns"])


def predicted_ns(chip: ChipModel) -> dict[str, int]:
    """An operation of each kind, from the data sheet's terms: docs/simnand.md, Time."""
    g, t = chip.geometry, chip.timing
    small = g.writesize == 512
    pages = g.blocks * chip.pages_per_block()
    rows = 3 if pages > 1 << 16 else 2
    address = rows + (1 if small else 2)
    data = (g.writesize + g.oobsize) * 8 // g.bus_bits
    protect = t.t_wc_ns + t.t_rc_ns  # the NAND core looks at the write-protect pin
    return {
        "read": ((1 if small else 2) + address) * t.t_wc_ns + t.t_r_ns + data * t.t_rc_ns,
        "program": (3 + small + address + data) * t.t_wc_ns + t.t_prog_ns + t.t_rc_ns + protect,
        "erase": (3 + rows) * t.t_wc_ns + t.t_bers_ns + t.t_rc_ns + protect,
    }


CHIPS = catalog.names("chips")


@pytest.fixture(
    scope="module", params=[pytest.param(w, marks=pytest.mark.xdist_group(w)) for w in WAITS]
)
def known_work(request: pytest.FixtureRequest, board: QemuBoard) -> tuple[str, JobRecord]:
    """The way to wait, and one job that does the work on every chip, one after another."""
    steps: list[Step] = []
    for name in CHIPS:
        chip = catalog.load("chips", name, ChipModel)
        work = (load(board, chip, wait=request.param), *WORK, Step("unload", "rmmod simnand"))
        steps += (replace(step, name=f"{name} {step.name}") for step in work)
    return request.param, run(board, *steps)


@pytest.mark.parametrize("name", CHIPS)
def test_known_work_takes_the_predicted_time(known_work: tuple[str, JobRecord], name: str) -> None:
    wait, record = known_work
    ns = predicted_ns(catalog.load("chips", name, ChipModel))
    counts = {"erase": ERASED, "program": PROGRAMMED, "read": READ}
    c = counters(record, f"{name} ")
    assert (c["reads"], c["programs"], c["erases"]) == (READ, PROGRAMMED, ERASED)
    assert c["busy_ns"] == sum(n * ns[kind] for kind, n in counts.items())
    each = SYSTEM_CALL_NS + (WAKE_UP_NS if wait == "sleep" else 0)
    for kind, n in counts.items():
        over = took_ns(record, f"{name} {kind}") - n * ns[kind]
        ticks = n * ns[kind] // TICK_NS + 1 if wait == "spin" else 0
        assert 0 <= over < n * each + ticks * TICK_THREADS_NS, kind
    assert (c["warped_ns"] > 0) == (wait == "warp")


def test_maximum_latencies_are_those_that_pass(board: QemuBoard) -> None:
    chip = catalog.load("chips", "NAND256W3A", ChipModel)
    slow = chip.timing.model_copy(update=chip.timing.array_ns("maximum"))
    words = chip_parameters(chip, 16, board.machine.model.store_start, "maximum")
    c = counters(run(board, modprobe(words), *WORK))
    ns = predicted_ns(chip.model_copy(update={"timing": slow}))
    assert ns["program"] == predicted_ns(chip)["program"] + 300_000
    assert c["busy_ns"] == ERASED * ns["erase"] + PROGRAMMED * ns["program"] + READ * ns["read"]


@pytest.mark.parametrize("kind", ["erase", "program", "read"])
@pytest.mark.parametrize("name", catalog.names("chips"))
def test_under_warp_a_latency_is_in_the_clock_to_the_ns(
    board: QemuBoard, name: str, kind: str
) -> None:
    chip = catalog.load("chips", name, ChipModel)
    term = {"erase": "t_bers_ns", "program": "t_prog_ns", "read": "t_r_ns"}[kind]
    # A latency longer than a tick would end within a tick's interrupt, or not, by chance.
    usual = min(getattr(chip.timing, term), WITHIN_TICK_NS // 3)
    more = 1009
    # Less than a tick in all, and the timer interrupt never set: the same instructions twice.
    one_ns = predicted_ns(chip)[kind] - getattr(chip.timing, term) + usual + SYSTEM_CALL_NS
    # Not so for reads, which loading does too, of all blocks' markers: after another tR the kernel
    # may place the buffer of a read elsewhere in its slab, and take three instructions less for one
    # on the slab's first page. A page that is in the register is read into the same buffer, without
    # tR: what the others took longer is of the array alone.
    again = kind == "read"
    count = max(1, min(7, WITHIN_TICK_NS // (one_ns * (1 + again))))
    what = "reread" if again else kind
    it = Step("it", f"timecheck --count {count} {what}")
    counted = Step("counters", f"cat {DEBUGFS}/counters")

    def array_ns(latency_ns: int) -> int:
        words: dict[str, str | int] = {"warp_slice_ns": 10**9, "register_hits": 1, term: latency_ns}
        record = run(board, load(board, chip, **words), it, counted)
        assert counters(record)["buffer_hits"] == count * again
        took = json.loads(record["it"].stdout)
        return int(took["ns"]) - int(took.get("again_ns", 0))

    over = array_ns(usual + more) - array_ns(usual) - count * more
    # A ns each way: the TSC's cycles at 999.999 MHz are rounded to ns wherever the clock is read.
    assert abs(over) <= 1 + 2 * again


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


def timers_beside_writer(
    board: QemuBoard,
    slice_ns: int,
    period_us: int,
    write_bytes: int,
    before: tuple[Step, ...] = (),
    after: tuple[Step, ...] = (),
) -> JobRecord:
    """53 timers of each kind, while a program writes 32 MiB to the chip, so many bytes a call."""
    chip = catalog.load("chips", "MT29F4G08ABADA", ChipModel)
    sizes = f"bs={write_bytes} count={(32 << 20) // write_bytes}"
    record = run(
        board,
        load(board, chip, warp_slice_ns=slice_ns, partition_blocks=256),
        *before,
        Step("start", f"dd if=/dev/zero of=/dev/mtd0 {sizes} conv=notrunc >/dev/null 2>&1 &"),
        Step("timers", f"sleep 0.1; timecheck --count 53 --period-us {period_us} timers"),
        Step("counters", f"cat {DEBUGFS}/counters"),
        *after,
    )
    assert counters(record)["programs"] > 53
    return record


@pytest.mark.parametrize("slice_ns", [0, 100_000])
@pytest.mark.parametrize("period_us", [97, 4001])
def test_timers_fire_within_the_slice_beside_a_writer(
    board: QemuBoard, period_us: int, slice_ns: int
) -> None:
    trace = Step(
        "trace",
        f"mount -t tracefs tracefs {TRACEFS} && cd {TRACEFS} && echo mono > trace_clock"
        " && echo 2048 > buffer_size_kb && echo 1 > events/timer/hrtimer_start/enable"
        " && echo 1 > events/timer/hrtimer_expire_entry/enable",
    )
    fired = Step("fired", f"grep timerfd_tmrproc {TRACEFS}/trace")
    record = timers_beside_writer(board, slice_ns, period_us, 128 << 10, (trace,), (fired,))
    late = firing_late_ns(record["fired"].stdout)
    assert len(late) >= 53
    assert max(late) < slice_ns + FIRING_NS


@pytest.mark.parametrize("slice_ns", [0, 100_000])
@pytest.mark.parametrize("period_us", [97, 770, 4001])
def test_timers_are_in_time_beside_a_writer(
    board: QemuBoard, period_us: int, slice_ns: int
) -> None:
    record = timers_beside_writer(board, slice_ns, period_us, 2 << 10)
    late = json.loads(record["timers"].stdout)
    assert late["nanosleep_max_ns"] < TIMER_LATE_NS
    assert late["timerfd_max_ns"] < TIMER_LATE_NS


def test_the_whole_guest_agrees_on_the_clock(board: QemuBoard) -> None:
    chip = catalog.load("chips", "MT29F4G08ABADA", ChipModel)
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
    chip = catalog.load("chips", "apf27", ChipModel)
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
    chip = catalog.load("chips", "apf27", ChipModel)
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
    chip = catalog.load("chips", "apf27", ChipModel)
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
    chip = catalog.load("chips", "apf27", ChipModel)
    unbind = "echo tsc > /sys/devices/system/clocksource/clocksource0/unbind_clocksource"
    record = run(board, Step("unbind", unbind), load(board, chip), *WORK, Step("clock", "sleep 60"))
    ns = predicted_ns(chip)
    over = took_ns(record, "program") - PROGRAMMED * ns["program"]
    assert 0 <= over < PROGRAMMED * SYSTEM_CALL_NS
    assert 60e9 <= record["clock"].ns < 60.2e9  # longer than the HPET's 32 bits last


def test_background_work_overlaps_with_flash_time(board: QemuBoard) -> None:
    chip = catalog.load("chips", "apf27", ChipModel)
    count = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    erase = "flash_erase -q /dev/mtd0 0 0; flash_erase -q /dev/mtd0 0 0"
    for wait in ("warp", "sleep"):
        record = run(
            board,
            load(board, chip, wait=wait),
            Step("alone", count),
            Step("erase", erase),
            Step("both", f"({count}) & {erase}; wait"),
        )
        saved_ns = record["alone"].ns + record["erase"].ns - record["both"].ns
        assert saved_ns > min(record["alone"].ns, record["erase"].ns) / 2, wait


def test_jitter_is_bounded_and_follows_its_seed(board: QemuBoard) -> None:
    chip = catalog.load("chips", "MT29F4G08ABADA", ChipModel)
    ns = predicted_ns(chip)["erase"]
    spread = chip.timing.t_bers_ns * 0.1

    def busy_ns(seed: int) -> list[int]:
        erase = Step("erase", f"echo 1 > {DEBUGFS}/reset; timecheck --count 1 erase")
        steps = [
            Step(f"{n}", f"{erase.command} >/dev/null; cat {DEBUGFS}/counters") for n in range(23)
        ]
        record = run(board, load(board, chip, jitter_ppm=100_000, jitter_seed=seed), *steps)
        texts = (record[f"{n}"].stdout.splitlines() for n in range(23))
        return [int(line.split()[1]) for t in texts for line in t if line.startswith("busy_ns")]

    times = busy_ns(1)
    assert times == busy_ns(1) != busy_ns(2)
    assert all(abs(t - ns) <= spread for t in times)
    assert min(times) < ns - spread / 2 < ns + spread / 2 < max(times)


@pytest.mark.parametrize("words", ["wait=doze", "jitter_ppm=400001"])
def test_what_makes_no_time_is_refused(board: QemuBoard, words: str) -> None:
    step = Step("load", f"! modprobe simnand {words} 2>/dev/null && dmesg")
    assert words.partition("=")[0] + " must be" in run(board, step)["load"].stdout


def test_the_same_job_gives_the_same_record_beside_a_busy_host(board: QemuBoard) -> None:
    chip = catalog.load("chips", "apf27", ChipModel)
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
    alone = [asyncio.run(board.run(job)) for _ in range(3)]
    spin = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in spin:
        process.start()
    try:
        beside = [asyncio.run(board.run(job)) for _ in range(2)]
    finally:
        for process in spin:
            process.kill()
            process.join()
    assert alone[0].failed() is None
    assert all(record == alone[0] for record in alone + beside)


def _spin() -> None:
    while True:
        pass
