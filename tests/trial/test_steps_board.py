# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of steps of files on the board: counted to the last operation, and the same twice."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import UNLOAD, Cases, run_cases
from support.trialsatonce import RecordedTrial, check_ended, run_trials_at_once

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import simnand
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts, Phase
from nandlab.trial import mediumsteps, steps

pytestmark = pytest.mark.board

S1, S2 = "fs-benchmarking-2012-s1", "fs-benchmarking-2012-s2"
SMALL: dict[str, Any] = {"depth": 3, "files": "norm(4,1)", "sync": True}
PLACES: dict[str, dict[str, Any]] = {
    "jffs2": {"part": "apf27", "partition_mib": 4},
    "ubifs": {"part": "apf27", "partition_mib": 10},
    "yaffs2": {"part": "apf27", "partition_mib": 4},
    "nftl-fat32": {"part": "nandsim-small", "partition_mib": 4},
}

PLAIN = {"jffs2": {"compression": "none"}}
"""The files' bytes are drawn: JFFS2 would only try to compress them."""


FULL: dict[str, int] = {"ubifs": 16, "yaffs2": 4}
"""MiB of a partition that is filled with files: of a smaller one UBIFS keeps most for itself."""


def planned(
    board: QemuBoard, fs: str, name: str, mib: int | None = None, **words: Any
) -> TrialSpec:
    place = PLACES[fs] | ({"partition_mib": mib} if mib else {})
    told = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": name, **words}],
            "filesystems": [{"name": fs, **PLAIN.get(fs, {})}],
            "chips": [place],
            "states": [{"name": "fresh"}],
            "seeds": [3],
        },
    }
    (spec,) = study.plan_trials(study.Study.model_validate(told))
    return spec


LOOK = Step("look", f"cat {simnand.COUNTERS_FILE}")
"""Reads the chip's own counters, from mount to unmount, when a trial is over."""
Recorded = dict[str, RecordedTrial]


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> Recorded:
    """Trials of which each needs no board of its own; those that fail come last."""
    files: dict[str, Any] = {"kind": "files", "size": "65536"}
    fails = planned(board, "yaffs2", S2, depth=3, files="4")
    specs = {
        **{f"copy {fs}": planned(board, fs, "copy-tree", depth=3, files="4") for fs in PLACES},
        **{
            f"scenario 1 {fs}": planned(board, fs, S1, depth=2, settle="before_unmount")
            for fs in ("jffs2", "nftl-fat32")
        },
        **{
            f"full {fs}": planned(board, fs, "mounts", mib, content="full", **files)
            for fs, mib in FULL.items()
        },
        **{f"half {fs}": planned(board, fs, "mounts", mib, **files) for fs, mib in FULL.items()},
        **{f"update {fs}": planned(board, fs, "update", depth=2, size="9000") for fs in PLACES},
        "a name that is there": changed(fails, "find", target="tree"),
        "no room": changed(fails, "tree", files="500", size="65536"),
    }
    return run_trials_at_once(board, specs, LOOK)


@pytest.fixture(scope="module")
def scenarios(board: QemuBoard) -> tuple[Recorded, Recorded]:
    """Scenario 2 on each file system, twice."""
    specs = {fs: planned(board, fs, S2, **SMALL) for fs in PLACES}
    return run_trials_at_once(board, specs, LOOK), run_trials_at_once(board, specs, LOOK)


def phase(of: Trial, name: str) -> Phase:
    found = of.phase(name)
    assert found is not None
    return found


def chip(of: Phase | None) -> OperationCounts:
    assert of is not None
    assert of.chip is not None
    return of.chip


@pytest.mark.parametrize("fs", PLACES)
def test_scenario_2_is_counted_whole_and_repeats_to_the_nanosecond(
    scenarios: tuple[Recorded, Recorded], board: QemuBoard, fs: str
) -> None:
    first, again = (check_ended(ran[fs]) for ran in scenarios)
    phases = planned(board, fs, S2, **SMALL).workload.phases
    assert [p.name for p in first.phases] == [p.name for p in phases]
    check_sums(scenarios[0][fs])
    check_told(first)
    changes = {"host"}
    assert again.model_dump(exclude=changes) == first.model_dump(exclude=changes)


def check_sums(recorded: RecordedTrial) -> None:
    """Each step's counts sum to the chip's own, and each phase's to its steps'."""
    found = recorded.trial
    totals = simnand.parse_operation_counts(recorded.record["look"].stdout)
    assert totals
    for kind, total in totals.items():
        assert sum(getattr(s.chip, kind) for s in found.steps) == total
    taken = {s.name: s for s in found.steps}
    for p in found.phases:
        own = [taken[n] for n in (p.name, f"sync-after-{p.name}") if n in taken]
        assert sum(s.ns for s in own) == (p.ns or 0) + (p.sync_ns or 0)
        for kind in totals:
            assert getattr(chip(p), kind) == sum(getattr(s.chip, kind) for s in own)


def check_told(found: Trial) -> None:
    """What filetree told is in the phase and, by the phase's name, in the trial."""
    tree, deleted, find = (phase(found, name) for name in ("tree", "delete", "find"))
    files, folders = found.figures["tree_files"], found.figures["tree_folders"]
    assert folders == 7
    assert tree.operations == {
        **{"tree_mkdir": folders, "tree_create": files},
        **{"tree_write": files, "tree_close": files},
    }
    assert tree.bytes["written"] == found.figures["tree_bytes"] == 750 * files
    assert find.operations["find_lstat"] >= files + folders
    assert deleted.operations["delete_unlink"] == files
    assert deleted.operations["delete_rmdir"] == folders
    unlinks = found.latency_ns["delete_unlink"]
    assert unlinks is not None and unlinks.count == files
    assert len(found.texts["tree_digest"]) == 64
    assert [phase(found, n).at.get("cache") for n in ("find", "find_again", "delete", "mount")] == [
        *("cold", "warm", "warm", None),
    ]
    assert chip(find).reads > chip(phase(found, "find_again")).reads
    assert tree.sync_ns and deleted.sync_ns
    assert phase(found, "mount").sync_ns is None


@pytest.mark.parametrize("fs", PLACES)
def test_a_copied_tree_is_read_and_made(trials: Recorded, fs: str) -> None:
    """The step compare fails where a byte differs; the copy's counts are the chip's."""
    found = check_ended(trials[f"copy {fs}"])
    check_sums(trials[f"copy {fs}"])
    copy = phase(found, "copy")
    assert copy.at.get("cache") == "cold"
    pages = found.figures["tree_files"] * 750 // found.chip.writesize
    assert chip(copy).reads >= pages
    assert chip(copy).programs >= pages
    assert copy.ns and copy.sync_ns


@pytest.mark.parametrize("fs", ["jffs2", "nftl-fat32"])
def test_scenario_1_by_the_paper_s_commands(trials: Recorded, fs: str) -> None:
    found = check_ended(trials[f"scenario 1 {fs}"])
    assert found.texts["first_tree_digest"] == found.texts["second_tree_digest"]
    assert phase(found, "first_wait").ns
    assert phase(found, "second_list").operations == {}
    assert chip(phase(found, "second_list")).reads > chip(phase(found, "second_list_again")).reads


@pytest.mark.parametrize("fs", FULL)
def test_a_partition_full_of_files_is_mounted(trials: Recorded, fs: str) -> None:
    """Files come until there is no room, which ends the step and not the trial."""
    found = check_ended(trials[f"full {fs}"])
    made = found.figures["fill_files"]
    most = FULL[fs] * 16
    assert most * 100 / 256 < made < most
    assert phase(found, "fill").operations["fill_create"] >= made
    assert phase(found, "mount_again").ns
    half = check_ended(trials[f"half {fs}"])
    assert made * 0.3 < half.figures["fill_files"] < made * 0.7


@pytest.mark.parametrize("fs", PLACES)
def test_an_update_leaves_the_new_version(trials: Recorded, fs: str) -> None:
    found = check_ended(trials[f"update {fs}"])
    assert found.figures["old_files"] == found.figures["write_files"] == 40
    assert found.figures["read_files"] == 40
    assert found.texts["read_digest"] == found.texts["write_digest"]
    assert found.texts["write_digest"] != found.texts["old_digest"]


DELETED: list[tuple[str, str, list[str]]] = [
    ("jffs2", "filetree", []),
    ("ubifs", "busybox", []),
    ("yaffs2", "busybox", ["lost+found"]),
]


@pytest.fixture(scope="module")
def deleted(board: QemuBoard) -> Cases:
    """What is in a mountpoint when all that is there was deleted, by file system."""
    cases = {}
    for fs, by, _ in DELETED:
        spec = changed(planned(board, fs, S2, depth=2, files="3", by=by), "delete", folder="")
        made = steps.make_trial_job(spec).steps
        names = [s.name for s in made]
        look = Step("look", "ls -A /mnt")
        unmount = mediumsteps.make_unmount_step(spec, "unmount-after-look")
        cases[fs] = (*made[: names.index("delete") + 1], look, unmount, UNLOAD)
    return run_cases(board, cases)


@pytest.mark.parametrize(("fs", "by", "left"), DELETED)
def test_all_that_is_in_the_mountpoint_is_deleted(
    deleted: Cases, fs: str, by: str, left: list[str]
) -> None:
    """But for what the file system itself keeps there."""
    assert deleted[fs]["look"].stdout.split() == left


def changed(spec: TrialSpec, name: str, **how: object) -> TrialSpec:
    """The trial with other words for one of its steps."""
    listed = [s.model_copy(update=how) if s.phase == name else s for s in spec.workload.steps]
    whole = spec.workload.model_copy(update={"steps": listed})
    return spec.model_copy(update={"workload": whole})


def test_a_name_that_is_there_and_a_tree_that_does_not_fit_fail_the_trial(
    trials: Recorded,
) -> None:
    found = trials["a name that is there"].trial
    assert found.status == "trial_failed"
    assert found.error is not None and "step find" in found.error and "tree" in found.error
    found = trials["no room"].trial
    assert found.status == "trial_failed"
    assert found.error is not None and "No space left" in found.error
