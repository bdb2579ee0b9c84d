# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on a user's own board: what it becomes, what it asks of the board, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.own.flash import PartitionFlash, refuse_other_chip_shape
from nandlab.board.own.tables import Mtd
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun, validate_data
from nandlab.catalog.remote import RemoteModel
from nandlab.plan.ownboardstudy import fit_study_to_partition
from nandlab.plan.study import Study, find_study_file, plan_trials, read_study_file
from nandlab.trial.steps import make_trial_job

SIZE = 32 << 20
MINE = RemoteModel.model_validate(
    {
        "name": "mine",
        "summary": "on my desk",
        "kind": "remote",
        "reach": {"ssh": "mine"},
        "partition": {"name": "data", "size": SIZE, "erasesize": 128 << 10, "part": "S34ML01G1"},
    }
)
CHIP = load_noun("chips", "S34ML01G1", ChipModel)


def on_mine(study: Study, **lacking: str) -> tuple[Study, list[str]]:
    return fit_study_to_partition(study, "mine", CHIP, SIZE, lacking)


def test_the_partition_takes_the_place_of_every_chip() -> None:
    study, left_out = on_mine(
        read_study_file(find_study_file("quickstart")), yaffs2="the kernel has none"
    )
    assert [line.partition(":")[0] for line in left_out] == ["yaffs2", "nftl-fat32"]
    specs = plan_trials(study, board=MINE)
    assert {(s.filesystem.name, s.chip.name, s.partition_bytes) for s in specs} == {
        (name, "S34ML01G1", SIZE) for name in ("jffs2", "ubifs")
    }
    assert len(specs) == 2 * 2 * 2  # file systems, states, seeds
    again = validate_data(study.model_dump(mode="json"), Study, "a run's head")
    assert [s.id for s in plan_trials(again, board=MINE)] == [s.id for s in specs]


def test_a_study_that_cannot_be_there_at_all_says_why() -> None:
    with pytest.raises(UsageError, match="can be there: jffs2: no, ubifs"):
        lacking = {name: f"no, {name}" for name in ("jffs2", "ubifs", "yaffs2")}
        fit_study_to_partition(
            read_study_file(find_study_file("quickstart")),
            "mine",
            CHIP,
            SIZE,
            lacking | {"jffs2": "no, ubifs"},
        )


def test_a_job_uses_the_guards_partition_and_puts_it_away_whatever_happens() -> None:
    study, _ = on_mine(read_study_file(find_study_file("quickstart")), yaffs2="none")
    specs = [s.model_copy(update={"mtd": 5}) for s in plan_trials(study, board=MINE)]
    jobs = {s.filesystem.name: make_trial_job(s) for s in specs if s.state.name == "fresh"}
    for each in jobs.values():
        said = " ".join(step.command for step in each.steps)
        assert "simnand" not in said and "mtd0" not in said
        assert each.steps[0].command.startswith("flash_erase -q /dev/mtd5 0 1 && ")
        assert [s.name for s in each.steps if s.always] == ["put-away", "kernel-log"]
    rests = {name: j.steps[[s.name for s in j.steps].index("settle")] for name, j in jobs.items()}
    assert "--thread jffs2_gcd_mtd5 " in rests["jffs2"].command
    assert "--thread ubi_bgt0d --thread ubifs_bgt0_0 " in rests["ubifs"].command


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"measure": ["memory"]}, "measure: memory: on the virtual board only"),
        ({"cut": True}, "step cut: cut: on the virtual board only"),
    ],
)
def test_what_a_real_chip_cannot_do_is_refused(change: dict[str, Any], why: str) -> None:
    study = read_study_file(find_study_file("quickstart"))
    if change.pop("cut", None):
        entries = [{"do": "mount"}, {"do": "cut"}, {"do": "mount", "name": "again"}]
        workload = load_steps(entries)
        specs = plan_trials(on_mine(study, yaffs2="none")[0], board=MINE)
        from nandlab.plan.ownboard import check_trial_on_own_board

        assert list(
            check_trial_on_own_board(specs[0].model_copy(update={"workload": workload}))
        ) == [f"{workload.name}: {why}"]
        return
    with pytest.raises(UsageError, match=why):
        plan_trials(on_mine(study.model_copy(update=change), yaffs2="none")[0], board=MINE)


def load_steps(entries: list[dict[str, str]]) -> Any:
    from nandlab.catalog.workload import WorkloadModel

    told = {"name": "cutting", "summary": "it", "steps": entries}
    return validate_data(told, WorkloadModel, "cutting")


SHAPE = {"writesize": 2048, "oobsize": 64}
MTD = Mtd(1, SIZE, 128 << 10, "data")


@pytest.mark.parametrize(
    ("shape", "mtd", "why"),
    [
        ({"writesize": 4096, "oobsize": 64}, MTD, "writesize 4096 there, 2048 of the part"),
        ({"writesize": 2048, "oobsize": 128}, MTD, "oobsize 128 there, 64"),
        (SHAPE, Mtd(1, SIZE, 64 << 10, "data"), "erasesize 65536 there, 131072"),
        (SHAPE, Mtd(1, 256 << 20, 128 << 10, "data"), "268435456 bytes of 'data', 134217728"),
    ],
)
def test_a_part_of_another_shape_is_refused(shape: dict[str, int], mtd: Mtd, why: str) -> None:
    refuse_other_chip_shape(
        CHIP, PartitionFlash("armv7l", "Linux", SHAPE, has_ubi_device=False), MTD
    )
    with pytest.raises(UsageError, match=why):
        refuse_other_chip_shape(
            CHIP, PartitionFlash("armv7l", "Linux", shape, has_ubi_device=False), mtd
        )
