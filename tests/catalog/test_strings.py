# SPDX-License-Identifier: GPL-2.0-or-later
"""What each text of each model may hold: nandlab.base.strings has the types, strfields walks."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from support import hostile, strfields

from nandlab.base import strings
from nandlab.base.strings import Command, Empty, FreeText, FreeValue, Line, Word, does_text_fit_type
from nandlab.results.figuresfile import FiguresFile
from nandlab.results.record import Run, Trial
from nandlab.trace.shapes import TraceMeta

MODELS = strfields.models()
RUNS = {
    "catalog.filesystem.FilesystemModel": "counters format[] mount unmount[]",
    "catalog.powerpromise.Power": "checks[]",
    "catalog.filesystem.Settle": "threads[]",
    "catalog.imagetools.ImageTools": "also{}[] files{} flash make[] prepare probe{}",
    "catalog.option.OptionNumber": "file",
    "catalog.option.OptionValue": "tool words",
    "catalog.remote.BoardAccess": "power",
    "catalog.step.AgeStep": "between days reads times",
    "catalog.step.CopyStep": "folder sync to",
    "catalog.step.FileStep": "sync",
    "catalog.step.FillStep": "file share sync",
    "catalog.step.FindStep": "by folder sync target",
    "catalog.step.ListStep": "by folder sync",
    "catalog.step.ReadStep": "by folder list sync",
    "catalog.step.RemoveStep": "file sync",
    "catalog.step.RunStep": "command sync",
    "catalog.step.TreeStep": "compressibility depth dirs files folder names payload seed size sync",
    "catalog.step.WalkStep": "by folder sync",
    "catalog.tree.TreeModel": "texts{}",
    "catalog.volumelayout.VolumeLayout": "fill make",
    "catalog.workload.WorkloadModel": "command config",
}
"""All that a model has of commands: nouns of the catalog, and nothing of a study or a result."""


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.__module__}.{m.__name__}")
def test_each_text_has_a_pattern_or_is_one_of_a_list_or_is_marked(model: type[BaseModel]) -> None:
    assert [t.place for t in strfields.texts(model) if t.kind == "anything"] == []


class Inner(BaseModel):
    plain: str


class Outer(BaseModel):
    __pydantic_extra__: dict[str, str] = Field(init=False)
    plain: str | None
    line: Line = ""
    patterned: str = Field(pattern="^a$")
    listed: Literal["a", "b"] | None
    word_or_not: Word | Empty
    free: list[FreeText]
    value: dict[Line, FreeValue]
    unmarked: dict[str, list[Any]]
    command: tuple[Command, ...]
    nested: Annotated[dict[Word, str | int], "a mark of others"]
    inner: list[Inner]
    number: int


def test_the_walk_sees_texts_wherever_a_type_may_have_them() -> None:
    kinds = dict(strfields.texts(Outer, deep=True))
    assert [place for place, kind in kinds.items() if kind == "anything"] == [
        *("plain", "unmarked{key}", "unmarked{}[]", "nested{}", "inner[].plain", "{key}", "{}"),
    ]
    assert kinds["line"] == kinds["patterned"] == kinds["nested{key}"] == "pattern"
    assert kinds["listed"] == "enum"
    assert kinds["free[]"] == kinds["value{}"] == "free"
    assert kinds["command[]"] == "command"
    assert strfields.texts(Outer) == [
        t for t in strfields.texts(Outer, deep=True) if t[0][:5] != "inner"
    ]


def test_commands_are_of_the_catalog_alone() -> None:
    found = {
        f"{model.__module__.removeprefix('nandlab.')}.{model.__name__}": " ".join(sorted(places))
        for model in MODELS
        if (places := [t.place for t in strfields.texts(model) if t.kind == "command"])
    }
    assert found == RUNS


@pytest.mark.parametrize("model", [Run, Trial, FiguresFile, TraceMeta])
def test_no_file_of_results_has_a_command(model: type[BaseModel]) -> None:
    assert "command" not in {t.kind for t in strfields.texts(model, deep=True)}


SAMPLES = {
    Run: [hostile.whole_run],
    Trial: [hostile.whole_trial],
    FiguresFile: [hostile.whole_figures],
    TraceMeta: [hostile.whole_meta, hostile.whole_own_meta],
}


@pytest.mark.parametrize("model", SAMPLES, ids=lambda m: m.__name__)
def test_the_hostile_cases_reach_each_text_of_a_model(model: type[BaseModel]) -> None:
    wholes = [make() for make in SAMPLES[model]]
    for whole in wholes:
        model.model_validate(whole)
    reached = {case.place for whole in wholes for case in hostile.spoiled(whole, ["equals"])}
    for text in strfields.texts(model, deep=True):
        assert any(re.fullmatch(_pattern(text.place), place) for place in reached), text


def _pattern(place: str) -> str:
    """A place of strfields as those of hostile: an index or a key for each [] and {}."""
    parts = re.split(r"(\[\]|\{key\}|\{\})", place)
    words = {"[]": r"\.\d+", "{}": r"\.[^{]+", "{key}": r"\.[^{]+\{key\}"}
    return "".join(words.get(part, re.escape(part)) for part in parts)


CONTROLS = [chr(n) for n in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029)]
PATTERNED = [
    kind
    for name, kind in vars(strings).items()
    if hasattr(kind, "__metadata__") and strfields.kind_of(kind.__metadata__) == "pattern"
]


@pytest.mark.parametrize("kind", PATTERNED, ids=str)
def test_no_pattern_takes_a_control_character(kind: Any) -> None:
    good = next(
        w for w in (*hostile.WORDS, "a b", "3:few:1", "#2f7ebc") if does_text_fit_type(kind, w)
    )
    for control in CONTROLS:
        assert not does_text_fit_type(kind, good + control), hex(ord(control))
        assert not does_text_fit_type(kind, control + good), hex(ord(control))
    assert kind is strings.Lines or not does_text_fit_type(kind, good + "\n")
    assert not does_text_fit_type(kind, good + "\r")


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (
            strings.Word,
            ["a", "MT29F", "a_b.c+d-e"],
            ["", ".", "..", "-a", "a/b", "a b", "ä", "a" * 121],
        ),
        (
            strings.FileName,
            ["jffs2-fresh-0a", "a b"],
            ["", ".", "..", "a/b", ".a", "-a", "a" * 241],
        ),
        (strings.StudyName, ["a-1.b"], ["..", "a/b", "A", "a" * 101]),
        (strings.Sha256, ["0" * 64], ["0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61]),
        (
            strings.Release,
            ["bookworm", "bookworm-backports"],
            ["", "bookworm main", "a-updates", "a/b"],
        ),
        (strings.DebianArch, ["amd64", "kfreebsd-i386"], ["", "-a", "a]", "a b"]),
        (strings.KernelFlavour, ["amd64", "cloud-amd64"], ["", "-o", "amd64=1", "a/b"]),
        (strings.PackageName, ["libc6", "g++"], ["", "-o", "a b", "a=1", "A"]),
        (
            strings.PackageFile,
            ["gcc_4%3a12.2.0-3_amd64.deb", "u-boot_2023.01.orig.tar.bz2"],
            [
                "a",
                "../a_1_all.deb",
                "a_1%2f..%2f_all.deb",
                "a_%0a_all.deb",
                "-a_1_all.deb",
                "a b_1",
            ],
        ),
        (
            strings.PackageSet,
            ["tools bookworm amd64 for armhf"],
            ["", "tools  a", "a ../b", "a\n", "a [b]"],
        ),
        (
            strings.MachineType,
            ["pc-i440fx-7.2", "virt-7.2,highmem=off,dtb-randomness=off"],
            [
                "",
                "pc,accel=kvm",
                "pc,dumpdtb=/tmp/a",
                "pc,a=on,",
                "pc -monitor stdio",
                "pc,kernel=a",
            ],
        ),
        (
            strings.Cpu,
            ["qemu64", "cortex-a7", "max,-rdrand", "max,rdrand=off"],
            ["", "qemu64 -monitor", "a,b=c", "a,model-id=x y", "a,,b"],
        ),
        (strings.KernelWords, ["", 'dyndbg="file a +p"'], ["a\nb", "ä"]),
        (strings.MountWords, ["", "compr=none,{a}"], ["a b", "a;b", "$a", "a\n"]),
        (
            strings.Point,
            ["0:before:1", "5:few:18446744073709551615 recovery 3", "5:few:1 recovery 3, 17"],
            ["", "5", "5:few", "05:few:1", "5:few:1 ", "5:few:1 recovery", "5:few:1, 3", "5:a b:1"],
        ),
        (
            strings.FigureName,
            ["phase.a+own.b_c", "select_*", "open_{}"],
            ["", "=a", "-a", "a b", "@a"],
        ),
    ],
)
def test_patterns_take_what_they_are_for(kind: Any, good: list[str], wrong: list[str]) -> None:
    assert [text for text in good if not does_text_fit_type(kind, text)] == []
    assert [text for text in wrong if does_text_fit_type(kind, text)] == []
