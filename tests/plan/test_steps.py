# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies of workloads that are lists of steps: jobs, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.stepvalues import find_largest_tree_step
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import steps
from nandlab.trial.filesteps import find_step_cache_states

FRESH = {"name": "fresh"}
S1, S2 = "fs-benchmarking-2012-s1", "fs-benchmarking-2012-s2"


def planned(
    name: str,
    fs: str = "yaffs2",
    folder: Path | None = None,
    mib: int = 32,
    state: dict[str, Any] = FRESH,
    chip: dict[str, Any] | None = None,
    **words: Any,
) -> TrialSpec:
    usual = {"part": "apf27", "bit_rot": name == "bit-rot"}
    told = {
        "name": "t",
        "question": "q",
        "board": "apf27",
        "matrix": {
            "workloads": [{"name": name, **words}],
            "filesystems": [{"name": fs}],
            "chips": [{"partition_mib": mib, **(chip or usual)}],
            "states": [state],
            "seeds": [7],
        },
    }
    made = study.parse_run_study(told, folder or Path(), "here")
    (spec,) = study.plan_trials(made, "here")
    return spec


def commands(spec: TrialSpec) -> dict[str, str]:
    return {step.name: step.command for step in steps.make_trial_job(spec).steps}


def test_the_jobs_of_scenario_2() -> None:
    spec = planned(S2, files="norm(60, 2)", sync=True)
    made = commands(spec)
    assert [name for name in made if name not in ("load", "modules", "counters", "kernel-log")] == [
        *("first_mount", "fill", "remove", "rest", "tree", "sync-after-tree", "unmount", "mount"),
        *("find", "find_again", "delete", "sync-after-delete", "last_unmount"),
    ]
    tree = "filetree make /mnt/tree --depth 5 --dirs 2 --files 'norm(60,2)' --size 750 --seed 7"
    assert made["tree"] == tree
    assert made["fill"] == "filetree fill /mnt/full"
    assert made["remove"] == "rm /mnt/full"
    assert made["rest"] == "settle --quiet-ms 2500 --limit-s 7200"
    assert made["find"] == made["find_again"] == "filetree find /mnt no-such-name"
    assert made["delete"] == "filetree delete /mnt/tree"
    assert find_step_cache_states(spec) == {
        **{"fill": "cold", "remove": "warm", "tree": "warm"},
        **{"find": "cold", "find_again": "warm", "delete": "warm"},
    }


def test_names_of_files_are_asked_for_where_they_are_others() -> None:
    usual = commands(planned("thesis-2007-space", sample="own"))["sample"]
    assert "--names" not in usual
    named = commands(planned("thesis-2007-space", sample="own", names="F0000000"))["sample"]
    assert named == f"{usual} --names F0000000"


def test_busybox_does_what_the_paper_did() -> None:
    made = commands(planned(S2, by="busybox", rest=False))
    assert made["find"] == "find /mnt -name no-such-name > /dev/null"
    assert made["delete"] == "rm -rf /mnt/tree"
    assert "rest" not in made
    assert not [name for name in made if name.startswith("sync-after")]
    assert commands(planned(S1))["first_list"] == "ls -R /mnt > /dev/null"


def test_scenario_2_read_otherwise_differs_in_what_is_read_otherwise() -> None:
    other = "fs-benchmarking-2012-s2-readings"
    usual = commands(planned(S2, by="busybox", rest=False))
    assert commands(planned(other)) == usual
    once = commands(planned(other, finds=1))
    assert once == {name: command for name, command in usual.items() if name != "find_again"}
    drawn = commands(planned(other, filled="at_random"))
    assert {name: drawn[name] for name in drawn if drawn[name] != usual[name]}.keys() == {"fill"}
    assert "-v n=$(($2 / 16)) -v seed=7" in drawn["fill"]
    assert list(drawn) == list(usual)


def test_ffsmark_read_otherwise_makes_ubifs_write_at_once_when_its_state_is_there() -> None:
    usual = commands(planned("ffsmark", fs="ubifs", mib=16))
    made = commands(planned("ffsmark-readings", fs="ubifs", mib=16))
    assert made["ffsmark"] == usual["workload"]
    assert [name for name in made if name in ("mount", "rest", "fill", "ffsmark")] == [
        *("mount", "rest", "fill", "ffsmark")
    ]
    tried = {"remounted": "mount -o remount,sync /mnt", "dirty_bytes": "echo 8192 > /proc/sys/vm/"}
    for how, command in tried.items():
        other = commands(planned("ffsmark-readings", fs="ubifs", mib=16, synchronous=how))
        assert "grep -q ' /mnt ubifs ' /proc/mounts" in other["synchronous"]
        assert command in other["synchronous"]
        order = list(other)
        assert order.index("fill") < order.index("synchronous") < order.index("ffsmark")
        assert {n: c for n, c in other.items() if n != "synchronous"} == made


def test_ffsmark_at_once_waits_for_nothing() -> None:
    once, usual = (planned(name, fs="jffs2", mib=16) for name in ("ffsmark-at-once", "ffsmark"))
    assert "settle" in commands(usual)
    made = commands(once)
    assert [name for name in made if name in ("mount", "settle", "fill", "ffsmark")] == [
        *("mount", "fill", "ffsmark")
    ]
    configs = [steps.make_trial_job(spec).files["ffsmark.cfg"] for spec in (once, usual)]
    assert configs[0] == configs[1]
    assert [p.name for p in once.workload.phases if p.timed] == [
        *("creation", "transactions", "deletion")
    ]


def test_a_tree_is_copied_from_flash_and_both_have_to_fit() -> None:
    spec = planned("copy-tree", files="4")
    made = commands(spec)
    assert made["copy"] == (
        "{ test ! -e /mnt/copy || { echo /mnt/copy is there already >&2; false; }; } && "
        "cp -a /mnt/tree /mnt/copy"
    )
    assert "sync-after-copy" in made
    assert find_step_cache_states(spec)["copy"] == "cold"
    assert [p.name for p in spec.workload.phases if p.timed] == ["copy"]
    words = {key: str(value) for key, value in spec.parameters.items()} | {"seed": "7"}
    largest = find_largest_tree_step(spec.workload.steps, words | {"mountpoint": "/mnt"})
    assert largest == ("copy", 2 * 31 * 4 * 750)


@pytest.mark.parametrize(
    ("settle", "rests"),
    [
        ("never", []),
        ("after_mount", ["first_rest", "second_rest"]),
        ("before_unmount", ["first_wait", "second_wait"]),
    ],
)
def test_scenario_1_rests_where_it_is_told(settle: str, rests: list[str]) -> None:
    spec = planned(S1, settle=settle)
    names = [p.name for p in spec.workload.phases]
    assert [n for n in names if n.endswith(("rest", "wait"))] == rests
    assert [n for n in names if n not in rests] == [
        f"{turn}_{step}"
        for turn in ("first", "second")
        for step in ("mount", "list", "list_again", "tree", "unmount")
    ]
    assert set(commands(spec)) >= {*names}


@pytest.mark.parametrize("content", ["empty", "half", "full"])
@pytest.mark.parametrize("kind", ["file", "files"])
def test_what_is_mounted_is_empty_or_half_full_or_full(content: str, kind: str) -> None:
    spec = planned("mounts", content=content, kind=kind)
    made = commands(spec)
    assert ("fill" in made) == (content != "empty")
    assert ("room" in made) == ("room_freed" in made) == ((content, kind) == ("half", "files"))
    assert [p.name for p in spec.workload.phases if p.timed and p.name != "first_mount"] == [
        *("first_unmount", "mount", "unmount", "mount_again", "unmount_again"),
    ]


def test_a_state_is_made_beside_a_step_called_fill() -> None:
    aged = {"name": "aged", "valid": 0.2, "invalid": 0.1}
    spec = planned(S2, state=aged)
    made = commands(spec)
    assert made["fill-to-state"] == "ffsmark --json fill.cfg"
    assert made["fill"] == "filetree fill /mnt/full"
    assert steps.map_idle_wait_seconds(spec) == {
        "settle": 1200,
        "rest-before-fill-to-state": 1200,
        "rest": 7200,
    }


def test_tables_of_the_study_s_own_catalog_are_in_the_job(tmp_path: Path) -> None:
    tables = tmp_path / "catalog" / "tables"
    tables.mkdir(parents=True)
    words = (
        'name = "mine"\nsummary = "s"\nsource = "s"\ntitle = "t"\ncounts = { "10" = 3, "20" = 1 }'
    )
    (tables / "mine.toml").write_text(words)
    spec = planned(S2, folder=tmp_path, size="table(mine)")
    assert "--size 'table(10:3,20:1)'" in commands(spec)["tree"]
    assert spec.parameters["size"] == "table(mine)"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        (S2, {"colour": "red"}, f"{S2} has no parameter 'colour'; it has: depth, "),
        (S2, {"depth": 0}, "depth must be at least 1, is 0"),
        (S2, {"files": "norm(60,-2)"}, "files 'norm(60,-2)': -2 is negative; give norm("),
        (S2, {"files": "norm(60,nan)"}, "files 'norm(60,nan)': 'nan' is not a number; give"),
        (S2, {"size": "table(unknown)"}, "no 'unknown' in catalog/tables"),
        (S2, {"by": "bash"}, "by must be one of filetree, busybox, is 'bash'"),
        (S2, {"files": "1000", "size": "2000"}, "after step tree its trees are expected to have "),
        (S1, {"settle": "always"}, "settle must be one of never, after_mount, before_unmount"),
        ("mounts", {"content": "third"}, "content must be one of empty, half, full"),
        ("update", {"size": "uniform(9,1)"}, "size 'uniform(9,1)': the first must not be above"),
        ("config", {"files": 100000, "bytes": 4096}, "its files take 409600000 bytes or more"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    name: str, words: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        planned(name, **words)
    (line,) = str(refused.value).splitlines()
    assert line.startswith("here: matrix.workloads.0: ")
    assert said in line


def test_what_could_fit_is_not_refused() -> None:
    """62 MB of files that a compressor takes three quarters of, on 32 MiB."""
    assert planned("update", fs="ubifs", files="72", size="41000", compressibility=0.75)
    with pytest.raises(UsageError, match="after step write its trees"):
        planned("update", fs="ubifs", files="72", size="41000")


@pytest.mark.parametrize("name", list_noun_names("workloads"))
def test_the_phases_and_figures_of_every_list_are_those_of_its_steps(name: str) -> None:
    model = load_noun("workloads", name, WorkloadModel)
    if not model.steps:
        return
    spec = planned(name, mib=120)
    silent = [s.phase for s in spec.workload.steps if not getattr(s, "tells", False)]
    own = [p.name for p in spec.workload.phases if p.name not in silent]
    assert [p.name for p in spec.workload.phases if p.name not in own] == silent
    # what the file has words for beside them, one of its programs tells
    assert not own or len(silent) < len(spec.workload.steps)


def test_a_study_s_limits_may_name_a_phase_that_only_some_trials_have() -> None:
    words = [{"name": S2, "rest": rest} for rest in (True, False)]
    told = {
        **{"name": "t", "question": "q", "board": "apf27"},
        "limits": {"phase.rest": "< 1000 s"},
        "matrix": {
            "workloads": words,
            "filesystems": [{"name": "ubifs"}],
            "chips": [{"part": "apf27", "partition_mib": 32}],
            "states": [{"name": "fresh"}],
            "seeds": [7],
        },
    }
    assert len(study.plan_trials(Study.model_validate(told))) == 2


def test_what_a_file_system_keeps_in_its_top_folder_is_not_deleted(tmp_path: Path) -> None:
    workloads = tmp_path / "catalog" / "workloads"
    workloads.mkdir(parents=True)
    words = """
name = "all"
summary = "s"
steps = [{ do = "mount" }, { do = "delete", by = "{by}" }]
parameters = { by = { default = "filetree", help = "What deletes." } }
"""
    (workloads / "all.toml").write_text(words)
    said = (
        r"^here: matrix.workloads.0: all on YAFFS2: step delete: filetree cannot delete lost\+found"
    )
    with pytest.raises(UsageError, match=said):
        planned("all", folder=tmp_path)
    assert planned("all", fs="jffs2", folder=tmp_path)
    made = commands(planned("all", folder=tmp_path, by="busybox"))
    assert made["delete"] == (
        "find /mnt -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf {} +"
    )


ROT = {"bit_rot": True}


def plan_rot(chip: dict[str, Any], **words: Any) -> TrialSpec:
    return planned("bit-rot", "ubifs", chip=chip, **words)


def test_days_pass_by_a_command_to_the_chip() -> None:
    spec = plan_rot({"part": "apf27", **ROT}, days=30, reads=500, times=4)
    assert commands(spec)["age"] == (
        "i=0; while [ $i -lt 4 ]; do { echo 30 500 > /sys/kernel/debug/simnand/age; } || exit 1; "
        "i=$((i + 1)); done"
    )
    scrubbed = plan_rot({"part": "apf27", **ROT}, scrubber="volume")
    assert "age && dd if=/dev/ubi0_0" in commands(scrubbed)["age"]


def test_bits_rot_as_the_part_s_file_says() -> None:
    faults = plan_rot({"part": "apf27", **ROT, "faults": {"flip_ppt": 7}}).faults
    rates = (faults.flip_ppt, faults.flip_day_ppt, faults.flip_day_wear_ppt, faults.flip_read_ppt)
    assert rates == (7, 130, 1170, 9)
    assert faults.endurance == 100_000
    assert (
        f"flip_day_ppt={faults.flip_day_ppt}"
        in commands(plan_rot({"part": "apf27", **ROT}))["load"]
    )


@pytest.mark.parametrize(
    ("chip", "words", "why"),
    [
        ({"part": "apf27"}, {}, "give it bit_rot = true"),
        ({"part": "nandsim-small"}, {}, "has no .retention.: give faults flip_day_ppt"),
        ({"part": "nandsim-small", **ROT}, {}, "bit_rot: nandsim-small's file has no .retention."),
        ({"part": "apf27", **ROT}, {"days": 36501}, "days"),
        ({"part": "apf27", "faults": {"flip_day_wear_ppt": 1}}, {}, "give endurance too"),
    ],
)
def test_days_that_would_change_nothing_are_refused(
    chip: dict[str, Any], words: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        plan_rot(chip, **words)
