# SPDX-License-Identifier: GPL-2.0-or-later
"""Where time went, on the board: known work is in the part that it is known to be in."""

from __future__ import annotations

import pytest
from support.chipsteps import modprobe, run

from nandlab.analysis.figures import timeparts
from nandlab.analysis.figures.timeparts import ProcessorTimeParts, TrialSpan
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip import simnand
from nandlab.results.recordparts import ChipUsage
from nandlab.trial.instruments.cpu import IDLE_WORD, NS_PER_US, READ_COMMAND
from nandlab.trial.instruments.instrument import parse_step_numbers

pytestmark = pytest.mark.board

S = 1_000_000_000
READS, PROGRAMS, ERASES = 1009, 101, 31
LOOPS = 10_007
COUNTED = f"i=0; while [ $i -lt {LOOPS} ]; do i=$((i+1)); done"
WORK = {
    "sleep": "sleep 1",
    "loop": COUNTED,
    "loop-2": f"{COUNTED}; {COUNTED}",
    "loop-3": f"{COUNTED}; {COUNTED}; {COUNTED}",
    "read": f"timecheck --count {READS} read",
    "erase": f"timecheck --count {ERASES} erase",
    "program": f"timecheck --count {PROGRAMS} program",
    "both": f"timecheck --count {READS} read; sleep 1",
}
"""What is done between two readings, by the step's name."""


def parts(record: JobRecord, name: str) -> ProcessorTimeParts:
    """What the instrument would tell of a step, whole: from one reading's end to the next."""
    at = next(i for i, s in enumerate(record.steps) if s.step == name)
    begin, end = record.steps[at - 1], record.steps[at + 1]
    idle = (parse_step_numbers(record, s.step)[IDLE_WORD] for s in (end, begin))
    used = simnand.compute_chip_usage_between(begin.counts, end.counts)
    assert used is not None
    usage = ChipUsage(idle_ns=(next(idle) - next(idle)) * NS_PER_US, **used)
    found = timeparts.split_span_time(TrialSpan(end.start_ns - begin.end_ns, None, usage))
    assert found is not None
    whole = found.cpu_ns + found.waiting_ns + found.idle_ns
    assert whole == end.start_ns - begin.end_ns
    return found


@pytest.fixture(scope="module")
def record(board: QemuBoard) -> JobRecord:
    words = simnand.make_chip_module_parameters(chip(), 64, board.machine.model.store_start)
    steps = [Step("before", READ_COMMAND)]
    for name, command in WORK.items():
        steps += [Step(name, command), Step(f"after-{name}", READ_COMMAND)]
    return run(board, modprobe(words), *steps)


def chip() -> ChipModel:
    return catalog.load_noun("chips", "NAND02GW3B2C", ChipModel)


def latency_ns(kind: str) -> int:
    """Of an operation through /dev/mtd: docs/simnand.md, Time."""
    g, t = chip().geometry, chip().timing
    data, protect = g.writesize + g.oobsize, t.t_wc_ns + t.t_rc_ns
    return {
        "read": 7 * t.t_wc_ns + t.t_r_ns + data * t.t_rc_ns,
        "program": (8 + data) * t.t_wc_ns + t.t_prog_ns + t.t_rc_ns + protect,
        "erase": 6 * t.t_wc_ns + t.t_bers_ns + t.t_rc_ns + protect,
    }[kind]


def test_a_second_s_sleep_is_idle_for_a_second(record: JobRecord) -> None:
    found = parts(record, "sleep")
    assert found.idle_ns == pytest.approx(S, rel=0.01)
    assert found.waiting_ns == 0
    assert found.cpu_ns < S / 50


def test_a_loop_is_the_processor_s_alone_and_each_further_one_adds_as_much(
    record: JobRecord,
) -> None:
    found = [parts(record, name) for name in ("loop", "loop-2", "loop-3")]
    for one in found:
        assert one.waiting_ns == 0
        assert one.idle_ns < one.cpu_ns / 100
    first, second, third = (one.cpu_ns for one in found)
    assert third - second == pytest.approx(second - first, rel=0.05)  # a shell's, not to the ns


@pytest.mark.parametrize(
    ("kind", "count"), [("read", READS), ("program", PROGRAMS), ("erase", ERASES)]
)
def test_operations_of_the_chip_are_waiting_for_as_long_as_they_last(
    record: JobRecord, kind: str, count: int
) -> None:
    found = parts(record, kind)
    assert found.waiting_ns == pytest.approx(count * latency_ns(kind), rel=0.01)
    assert found.idle_ns < found.waiting_ns / 100


def test_flash_and_a_sleep_are_told_apart(record: JobRecord) -> None:
    """What of the sleep may have lain in operations is a seventh of the flash time at most."""
    found = parts(record, "both")
    flash = READS * latency_ns("read")
    assert found.waiting_ns == pytest.approx(flash, rel=0.01)
    assert S - flash / 7 < found.idle_ns < S * 1.01
    assert found.hidden_ns < flash / 7
