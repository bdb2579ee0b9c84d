# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's curves: every mistake with its place, and a study without them as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.plan import study

HEAD = """
name = "small"
question = "Which?"
board = "apf27"
"""
CURVE = """
[[curves]]
name = "programs"
title = "Programs by files"
x = "parameter.files"
y = "chip.programs"
where = { "option.compression" = "none", filesystem = "jffs2" }
lines = ["filesystem", "state"]
"""
MATRIX = """
[matrix]
workloads = [{ name = "ffsmark", files = 10 }]
filesystems = [{ name = "jffs2", compression = "none" }, { name = "ubifs" }]
chips = [{ part = "apf27", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""


def read(folder: Path, curve: str) -> study.Study:
    path = folder / "small.toml"
    path.write_text(HEAD + MATRIX + curve)
    return study.read_study_file(path)


def test_curves_are_kept_and_change_no_trial(tmp_path: Path) -> None:
    bare, asked = read(tmp_path, ""), read(tmp_path, CURVE)
    assert asked.model_dump(mode="json")["curves"][0]["name"] == "programs"
    assert [t.id for t in study.plan_trials(bare)] == [t.id for t in study.plan_trials(asked)]


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("parameter.files", "parameter.fils", "curves.0.x", "parameter.fils: no workload"),
        ("parameter.files", "at.share", "curves.0.x", "at.share: no workload"),
        ("parameter.files", "opton.a", "curves.0.x", "opton.a: no figure begins so"),
        ("chip.programs", "chip.program", "curves.0.y", "no figure 'chip.program'"),
        ("chip.programs", "point.tim", "curves.0.y", "there are: point.time, point.mean"),
        ("option.compression", "option.compresion", "curves.0.where.option.compresion", "it"),
        ('"none"', '"lzop"', "curves.0.where.option.compression", "they have: none"),
        ('"jffs2" }', '"yaffs2" }', "curves.0.where.filesystem", "they have: jffs2, ubifs"),
        ('"state"]', '"stat"]', "curves.0.lines.1", "there are: filesystem, state"),
    ],
)
def test_what_no_trial_has_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, place: str, words: str
) -> None:
    wrong = CURVE.replace(old, new, 1)
    assert wrong != CURVE
    with pytest.raises(UsageError) as e:
        read(tmp_path, wrong)
    (line,) = str(e.value).splitlines()
    assert line.startswith(f"{tmp_path / 'small.toml'}: {place}: ")
    assert words in line


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('gain = { by = "option.compression", of = "none", over = "zlib" }', "gain.over"),
        ('gain = { by = "option.compressor", of = "none", over = "zlib" }', "gain.by"),
        ('gain = { option = "compression", of = "none", over = "zlib" }', "gain.by"),
        ('modelled = "linux-6.1"', 'give y = "point.reads" and a gain'),
        ('label = "option.nothing"', "label: option.nothing"),
        ('scale = "cubic"', "curves.0.scale"),
        ('fit = "yes please"', "curves.0.fit"),
        ('name2 = "x"', "curves.0.name2"),
    ],
)
def test_the_rest_of_a_curve_is_checked_too(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(UsageError) as e:
        read(tmp_path, CURVE + more)
    assert f"curves.0.{said}" in str(e.value) or said in str(e.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('y = "chip.programs"', 'y = "filesystem"', "it is an attribute; y must be a figure"),
        ('x = "parameter.files"', 'x = "time"', "over a figure there is no gain"),
        ("parameter.files", "option.compression", "the gain is taken by it"),
    ],
)
def test_a_gain_that_cannot_be_drawn_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    gain = 'gain = { by = "option.compression", of = "none", over = "none" }'
    with pytest.raises(UsageError, match=said):
        read(tmp_path, CURVE.replace(old, new, 1) + gain)


def test_a_model_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    gain = 'gain = { by = "option.compression", of = "none", over = "none" }'
    asked = CURVE.replace("chip.programs", "point.reads") + gain + '\nmodelled = "linux-1.0"'
    with pytest.raises(UsageError, match=r"curves.0.modelled: .*'linux-1.0'.*linux-2.6.37"):
        read(tmp_path, asked)


def test_a_line_through_words_is_refused(tmp_path: Path) -> None:
    for x, words in (("option.compression", "none, default"), ("filesystem", "words")):
        asked = CURVE.replace('x = "parameter.files"', f'x = "{x}"') + "fit = true"
        with pytest.raises(UsageError, match=f"curves.0.fit: {x} has {words}, "):
            read(tmp_path, asked)
    assert read(tmp_path, CURVE + "fit = true").curves[0].fit


def test_two_curves_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="curves: two are called 'programs'"):
        read(tmp_path, CURVE + CURVE)


def test_a_figure_of_a_whole_trial_is_not_drawn_over_an_attribute_of_phases(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        """
        name = "sweep"
        question = "?"
        board = "apf27"
        [matrix]
        workloads = [{ name = "readbench", points = "8,64x4K seq" }]
        filesystems = [{ name = "yaffs2" }]
        chips = [{ part = "S34ML01G1", partition_mib = 16 }]
        states = [{ name = "fresh" }]
        seeds = [1]
        [[curves]]
        name = "c"
        title = "t"
        x = "at.share"
        y = "chip.programs"
        """
    )
    with pytest.raises(UsageError, match=r"curves\.0\.y: chip\.programs is of a whole"):
        study.read_study_file(path)
