# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of steps as a workload's file has them: which can be, which are there, and their words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nandlab.base.errors import UsageError
from nandlab.catalog import files
from nandlab.catalog.noun import Scalar
from nandlab.catalog.workload import WorkloadModel

MOUNT: dict[str, Any] = {"do": "mount"}
TREE: dict[str, Any] = {
    **{"do": "tree", "folder": "t", "depth": 2, "dirs": 3},
    **{"files": "norm(4,1)", "size": "{size}"},
}
SIZE = {"default": "750", "grammar": "draw", "help": "Bytes of a file."}
REST = {"default": True, "help": "Whether it rests."}


def workload(*steps: dict[str, Any], **more: Any) -> WorkloadModel:
    parameters = {"size": SIZE, "rest": REST, **more.pop("parameters", {})}
    words = {"name": "w", "summary": "s", "steps": list(steps), "parameters": parameters}
    return WorkloadModel.model_validate(words | more)


def settled(model: WorkloadModel, **given: Scalar) -> WorkloadModel:
    return model.resolve_steps(model.resolve_values(given, "here"))


def test_steps_are_there_with_some_parameters_alone_and_so_are_their_phases() -> None:
    model = workload(MOUNT, {"do": "rest", "when": {"rest": True}}, TREE)
    assert [p.name for p in model.phases] == ["mount", "rest", "tree"]
    assert [s.phase for s in settled(model).steps] == ["mount", "rest", "tree"]
    without = settled(model, rest=False)
    assert [s.phase for s in without.steps] == ["mount", "tree"]
    assert [p.name for p in without.phases] == ["mount", "tree"]


def test_steps_of_one_name_are_one_phase_where_never_two_are_there() -> None:
    big = {**TREE, "name": "make", "when": {"rest": True}}
    small = {**TREE, "name": "make", "files": "1", "when": {"rest": False}}
    model = workload(MOUNT, big, small)
    assert [p.name for p in model.phases] == ["mount", "make"]
    (_, made) = settled(model, rest=False).steps
    assert made.templates()["files"] == "1"


def test_switches_are_turned_by_parameters() -> None:
    by = {"default": "filetree", "one_of": ["filetree", "busybox"], "help": "What lists."}
    listed = {"do": "list", "by": "{by}", "sync": "{rest}"}
    model = workload(MOUNT, listed, parameters={"by": by})
    (_, found) = settled(model, by="busybox", rest=False).steps
    assert found.model_dump()["by"] == "busybox"
    assert found.model_dump()["sync"] is False
    assert settled(model, by="busybox").operations == []
    assert [o.name for o in settled(model).operations][:2] == ["list_lstat", "list_open"]


def test_distributions_are_filled_in_as_filetree_takes_them() -> None:
    (_, tree) = settled(workload(MOUNT, TREE), size="norm( 9, 1 )").steps
    values = tree.templates()
    assert (values["size"], values["files"], values["dirs"]) == ("norm(9,1)", "norm(4,1)", "3")


def test_what_a_step_tells_has_words_but_for_those_of_the_file() -> None:
    words = {"tree_files": {"title": "files made", "unit": "count"}}
    model = workload(MOUNT, {**TREE, "title": "making"}, figures=words)
    titles = {o.name: (o.title, o.writes) for o in model.operations}
    assert titles["tree_create"] == ("making: create", True)
    assert titles["tree_close"] == ("making: close", False)
    assert model.figures["tree_files"].title == "files made"
    assert model.figures["tree_bytes"].unit == "bytes"
    assert model.at["cache"].title == "cache before"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([MOUNT, {"do": "dance"}], "steps.1: "),
        ([MOUNT, {"do": "list", "colour": "red"}], "steps.1.colour: "),
        ([MOUNT, {"do": "tree", "folder": "t"}], "steps.1.depth: "),
        ([TREE], "step tree: it is not mounted then"),
        ([MOUNT, {"do": "unmount"}, {"do": "list"}], "step list: it is not mounted then"),
        ([{"do": "fill", "file": "f"}], "step fill: it is not mounted then"),
        ([MOUNT, {**MOUNT, "name": "b"}], "step b: it is mounted already"),
        ([MOUNT, TREE, TREE], "steps of one name: tree"),
        ([MOUNT, {**TREE, "depth": 0}], "step tree: depth must be a whole number of 1 to "),
        ([MOUNT, {**TREE, "depth": "1.5"}], "step tree: depth must be a whole number of 1 to "),
        ([MOUNT, {**TREE, "files": "norm(4,-1)"}], "step tree: files: 'norm(4,-1)': -1 is neg"),
        ([MOUNT, {**TREE, "files": "norm(4,nan)"}], "step tree: files: 'norm(4,nan)': 'nan' is"),
        ([MOUNT, {**TREE, "size": "table(none)"}], "step tree: size: 'table(none)': no 'none' in"),
        ([MOUNT, {**TREE, "size": "{bytes}"}], "{bytes} stands for nothing; there are: "),
        (
            [MOUNT, {**TREE, "depth": 2, "dirs": 3000000, "files": 9}],
            "filetree makes 10,000,000 at",
        ),
        ([MOUNT, {**TREE, "depth": 2048, "dirs": 99}], "some inf folders and files are expected"),
        ([MOUNT, {"do": "remount", "options": "ro; reboot"}], "steps.1.options: "),
        ([MOUNT, {**TREE, "names": "f12"}], "names must be a letter and 1 to 19 zeros, such as"),
        ([MOUNT, {**TREE, "names": "f0; reboot"}], "names must be a letter and 1 to 19 zeros"),
        ([MOUNT, {**TREE, "payload": "zeros"}], "step tree: payload must be one of random, "),
        ([MOUNT, {**TREE, "compressibility": 2}], "compressibility must be 0 to 1, is '2'"),
        ([MOUNT, {**TREE, "folder": "/t"}], "folder must be a path below the mountpoint"),
        ([MOUNT, {**TREE, "folder": "a/../.."}], "folder must be a path below the mountpoint"),
        ([MOUNT, {**TREE, "folder": "a" * 256}], "folder has a name of more than 255 bytes"),
        ([MOUNT, {**TREE, "folder": "a/" * 3000 + "a"}], "folder is a path of more than 4095"),
        ([MOUNT, {"do": "find", "target": "a/b"}], "target must be a name without a slash"),
        ([MOUNT, {"do": "find", "target": "a*"}], "target must be a plain name, not a pattern"),
        ([MOUNT, {"do": "find"}], "steps.1.target: "),
        ([MOUNT, {"do": "list", "by": "bash"}], "step list: by must be one of filetree, busybox"),
        ([MOUNT, {"do": "list", "sync": "{size}"}], "step list: sync must be true or false"),
        ([MOUNT, {"do": "fill", "file": "f", "share": 0}], "share must be more than 0"),
        ([MOUNT, {"do": "fill", "share": 0.5}], "sync and share are of a fill that names a file"),
        ([MOUNT, {"do": "read", "list": "l", "by": "busybox"}], "list is of by = filetree"),
        ([MOUNT, TREE, {"do": "copy", "folder": "t"}], "steps.2.to: "),
        ([MOUNT, TREE, {"do": "copy", "folder": "t", "to": "t/u"}], "to must not be the folder"),
        ([MOUNT, TREE, {"do": "copy", "folder": "t", "to": "../u"}], "to must be a path below the"),
        ([{**MOUNT, "when": {"rests": True}}], "when: there is no parameter 'rests'"),
        ([{**MOUNT, "when": {"rest": "no"}}], "when: rest must be of type bool, is 'no'"),
        (
            [MOUNT, {"do": "unmount", "when": {"rest": False}}, {"do": "list"}],
            "with rest = False: step list: it is not mounted then",
        ),
        (
            [MOUNT, TREE, {**TREE, "folder": "u", "when": {"rest": True}}],
            "with rest = True: steps of one name: tree",
        ),
    ],
)
def test_a_list_that_cannot_be_is_refused_as_it_is_read(
    steps: list[dict[str, Any]], said: str
) -> None:
    parameters = {"size": SIZE, "rest": REST}
    told = {"name": "w", "summary": "s", "steps": steps, "parameters": parameters}
    with pytest.raises(UsageError) as refused:
        files.validate_data(told, WorkloadModel, "w.toml")
    assert said in str(refused.value)


def test_parameters_with_which_a_list_cannot_be_are_refused_with_their_place() -> None:
    model = workload(MOUNT, {**TREE, "folder": "{folder}"}, parameters={"folder": FOLDER})
    with pytest.raises(UsageError, match=r"^here: w: step tree: folder .* path below"):
        model.resolve_values({"folder": "../etc"}, "here")
    with pytest.raises(UsageError, match=r"^here: w: step tree: .*one line"):
        model.resolve_values({"folder": "a\nb"}, "here")
    with pytest.raises(UsageError, match=r"^here: w: size 'uniform\(3,1\)': the first"):
        model.resolve_values({"size": "uniform(3,1)"}, "here")


FOLDER = {"default": "t", "help": "The folder."}


def test_combinations_that_the_file_refuses_need_not_be() -> None:
    need = {"when": {"rest": False}, "why": "it would not end", "cure": "let it rest"}
    steps = (MOUNT, {"do": "unmount", "when": {"rest": False}}, TREE)
    with pytest.raises(ValidationError):
        workload(*steps)
    assert workload(*steps, needs=[need]).needs


@pytest.mark.parametrize("key", ["phases", "operations"])
@pytest.mark.parametrize("words", [2.5, 0, "x", {}, [5], ["x"], [[]]])
def test_words_beside_a_list_s_own_are_tables_in_a_list(key: str, words: Any) -> None:
    with pytest.raises(ValidationError, match=key):
        workload(MOUNT, TREE, **{key: words})


@pytest.mark.parametrize(
    ("steps", "after", "held"),
    [
        ([TREE], "tree", 4 * 4 * 750),
        ([{**TREE, "compressibility": 0.5}], "tree", 4 * 4 * 375),
        ([{**TREE, "payload": "postmark"}], "tree", 4 * 4 * 600),
        ([TREE, {**TREE, "name": "b", "folder": "u"}], "b", 2 * 4 * 4 * 750),
        (
            [TREE, {"do": "delete", "folder": "t"}, {**TREE, "name": "b", "folder": "t"}],
            "tree",
            4 * 4 * 750,
        ),
    ],
)
def test_the_most_that_trees_hold_at_once_is_known(
    steps: list[dict[str, Any]], after: str, held: int
) -> None:
    model = workload(MOUNT, *steps)
    parameters = model.resolve_values({}, "here")
    found = model.resolve_steps(parameters).most_bytes(parameters)
    assert found is not None
    assert found[0] == after
    assert found[1] == pytest.approx(held, abs=20)
