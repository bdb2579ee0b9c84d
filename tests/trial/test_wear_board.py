# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument wear on the board: a known amount of erases, and the chip's own counters."""

from __future__ import annotations

import asyncio

import pytest
from support.smalltrial import WRITABLE, find_refusal, planned, skip_where_refused
from support.trialsatonce import RecordedTrial, run_trials_at_once

from nandlab.analysis.figures import wear
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import simnand
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import Wear
from nandlab.trial import execution
from nandlab.trial.instruments.bits import INSTRUMENT as BITS
from nandlab.trial.instruments.wear import INSTRUMENT as WEAR
from nandlab.trial.instruments.wear import collect_trial_wear
from nandlab.trial.steps import make_trial_job

pytestmark = pytest.mark.board

KNOWN = {3: 2, 4: 2, 17: 5, 511: 1}
"""Erases of blocks of the 8 MiB partition, by hand."""
BLOCK = 16384


def measured(board: QemuBoard, name: str, *instruments: str) -> TrialSpec:
    spec = skip_where_refused(planned(board, name), board)
    return spec.model_copy(update={"measure": list(instruments)})


def run(board: QemuBoard, spec: TrialSpec) -> Trial:
    found = asyncio.run(execution.run_trial(spec, board, "t"))
    assert found.error is None
    return found


def told(trial: Trial) -> Wear:
    assert trial.wear is not None
    return trial.wear


def test_known_erases_of_known_blocks_are_told_exactly(board: QemuBoard) -> None:
    spec = measured(board, "jffs2", "wear")
    erase = "; ".join(
        f"flash_erase -q /dev/mtd0 {block * BLOCK} 1 || exit 1"
        for block, times in KNOWN.items()
        for _ in range(times)
    )
    steps = []
    for step in make_trial_job(spec).steps:
        if step.name == "wear-unmounted":
            steps.append(Step("known", erase))
        steps.append(Step("workload", "true") if step.name == "workload" else step)
    record = asyncio.run(board.run(Job(tuple(steps))))
    assert record.failed() is None
    found = collect_trial_wear(spec, record)
    assert found is not None
    last = found.readings[-1]
    by_hand = [KNOWN.get(block, 0) for block in range(512)]
    assert (last.after, wear.unpack_erases_of_reading(last)) == ("unmounted", by_hand)
    even = wear.compute_erase_evenness(by_hand)
    assert even is not None
    assert (even.erases, even.max, even.min) == (10, 5, 0)
    assert even.mean == 10 / 512
    assert even.never_share == 508 / 512
    assert even.sd == pytest.approx((34 / 512 - (10 / 512) ** 2) ** 0.5)
    # 1*509 + 2*510 + 2*511 + 5*512 in order of erases, by the definition
    assert even.gini == pytest.approx((2 * (509 + 2 * 510 + 2 * 511 + 5 * 512) - 513 * 10) / 5120)


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> dict[str, RecordedTrial]:
    """A trial of each file system without the instrument and with it."""
    specs = {
        f"{name} {kind}": planned(board, name).model_copy(update={"measure": measure})
        for name in WRITABLE
        if not find_refusal(planned(board, name), board)
        for kind, measure in (("plain", []), ("wear", ["wear"]))
    }
    return run_trials_at_once(board, specs)


@pytest.mark.parametrize("name", WRITABLE)
def test_each_step_s_erases_are_the_chip_s_own(
    trials: dict[str, RecordedTrial], board: QemuBoard, name: str
) -> None:
    spec = measured(board, name, "wear")
    names = {s.name for s in make_trial_job(spec).steps if s.beside}
    record = trials[f"{name} wear"].record
    assert record.failed() is None
    found = collect_trial_wear(spec, record)
    assert found is not None
    at = [s for s in record.steps if s.step in names and s.step.startswith("wear-")]
    for before, after, reading in zip(at, at[1:], found.readings, strict=False):
        own = simnand.count_operations_between(before.counts, after.counts)
        assert own is not None
        assert sum(wear.unpack_erases_of_reading(reading)) == own["erases"], reading.after
    assert (
        sum(wear.count_all_erases_per_block(found))
        == simnand.parse_operation_counts(at[-1].counts)["erases"]
    )


@pytest.mark.parametrize("name", WRITABLE)
def test_the_instrument_costs_the_steps_no_more_than_it_tells(
    trials: dict[str, RecordedTrial], board: QemuBoard, name: str
) -> None:
    measured(board, name)
    plain, looked = (trials[f"{name} {kind}"].trial for kind in ("plain", "wear"))
    assert plain.error is looked.error is None
    assert plain.wear is None
    erased = sum(s.chip.erases for s in looked.steps if s.chip)
    whole = sum(wear.count_all_erases_per_block(told(looked)))
    assert whole == erased + looked.measured["wear"]["reading_erases"]
    cost = looked.measured["wear"]["reading_ns"]
    assert [s.name for s in plain.steps] == [s.name for s in looked.steps]
    for a, b in zip(plain.steps, looked.steps, strict=True):
        assert abs(b.ns - a.ns) <= cost, a.name
    if name == "ubifs":
        assert looked.measured["wear"]["own.moves"] == 0


def test_ubi_s_own_moves_are_the_chip_s_programs_and_erases(board: QemuBoard) -> None:
    """Each block gets a wrong bit, all data is read, and UBI moves what it then scrubs."""
    spec = measured(board, "ubifs", "wear")
    pages = spec.chip.pages_per_block()
    flips = (
        f"i=0; while [ $i -lt {spec.partition_blocks} ]; do "
        f"echo $((i * {pages} + 4)) 100 > {simnand.DEBUG_FOLDER}/flip; i=$((i + 1)); done"
    )
    read = "cat /dev/ubi0_0 > /dev/null && sleep 20 && dmesg | grep -c 'scrubbed PEB'"
    steps = []
    for step in make_trial_job(spec).steps:
        if step.name == "unmount":
            steps.append(Step("keep", "cat /dev/urandom | head -c 300000 > /mnt/keep; sync"))
        if step.name == "wear-unmounted":
            steps += [
                Step("attach", f"{flips}; ubiattach -m 0 -d 0"),
                Step("scrub", read),
                Step("detach", "ubidetach -d 0"),
            ]
        steps.append(Step("workload", "true") if step.name == "workload" else step)
    record = asyncio.run(board.run(Job(tuple(steps))))
    assert record.failed() is None
    found = WEAR.reading.figures(spec, record, ())
    moves = int(record["scrub"].stdout)
    did = simnand.count_operations_between(record["unmount"].counts, record["detach"].counts)
    assert did is not None
    assert moves > 3
    assert found["own.moves"] == moves
    assert BITS.reading.figures(spec, record, ())["scrubs"] == moves
    assert (found["own.programs"], found["own.erases"]) == (did["programs"], did["erases"])


def test_each_step_of_a_list_has_a_reading_and_with_the_chip_s_sum(board: QemuBoard) -> None:
    words = {"name": "fs-benchmarking-2012-s2", "depth": 3, "files": "norm(4,1)", "sync": True}
    study_of = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "measure": ["wear"],
        "matrix": {
            "workloads": [words],
            "filesystems": [{"name": "ubifs"}],
            "chips": [{"part": "nandsim-small", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(study_of))
    found = run(board, spec)
    listed = [s.phase for s in spec.workload.steps]
    read = [r.after for r in told(found).readings]
    assert [name for name in read if name in listed] == listed
    assert read[told(found).before - 1] == listed[0]
    erased = sum(s.chip.erases for s in found.steps if s.chip)
    beside = found.measured["wear"]["reading_erases"]
    assert sum(wear.count_all_erases_per_block(told(found))) == erased + beside
