# SPDX-License-Identifier: GPL-2.0-or-later
"""Read-ahead as a factor of a study: in its plan, in each mount, in the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.smallruns import TEXT, execute, fake

from nandlab.analysis.figures import figures, workloadwords
from nandlab.base.errors import UsageError
from nandlab.base.paths import ROOT
from nandlab.board.jobs.fake import FakeResult
from nandlab.board.jobs.job import Job
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.figuresfile import read_figures_file
from nandlab.trial.instruments import instruments
from nandlab.trial.steps import make_trial_job

FILES = ("quickstart", "ffsmark-2015")
TWICE = """
name = "twice"
summary = "Mounts twice"
phases = [{ name = "first", title = "first" }, { name = "again", title = "again" }]
steps = [
    { do = "mount", name = "first" }, { do = "unmount" }, { do = "mount", name = "again" }
]
"""


def planned(folder: Path, value: str, workload: str = "ffsmark") -> list[TrialSpec]:
    """JFFS2 with read_ahead as TOML has it; empty: the study does not name it."""
    said = f", read_ahead = {value} " if value else ""
    text = TEXT.replace('{ name = "jffs2" }, { name = "ubifs" }', f'{{ name = "jffs2"{said}}}')
    if workload != "ffsmark":
        text = text.replace('{ name = "ffsmark", files = 10 }', f'{{ name = "{workload}" }}')
        text = text.replace('"aged", valid = 0.5, invalid = 0.25, mix = 1', '"fresh"')
    folder.mkdir(exist_ok=True)
    (folder / "s.toml").write_text(text)
    return study.plan_trials(study.read_study_file(folder / "s.toml"))


@pytest.mark.parametrize("file", FILES)
def test_no_id_of_a_published_trial_has_changed(file: str) -> None:
    ids = read_figures_file(ROOT / f"docs/studies/{file}.figures.json.xz").run.trials
    assert [
        s.id for s in study.plan_trials(study.read_study_file(study.find_study_file(file)))
    ] == ids


def test_a_number_and_its_text_are_one_trial(tmp_path: Path) -> None:
    ids = [planned(tmp_path, v)[0].id for v in ("128", '"128"', "132", '"default"', "")]
    assert len(set(ids)) == 3
    assert ids[0] == ids[1] and ids[3] == ids[4]
    (spec, _) = planned(tmp_path, "128")
    assert spec.options["read_ahead"] == "128"
    assert "read_ahead=128" in spec.title()
    assert planned(tmp_path, "")[0].options["read_ahead"] == "default"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("130", "jffs2: read_ahead = '130' must be a multiple of 4"),
        ('"0128"', "jffs2: read_ahead = '0128' must be written 128"),
        ("128.5", "read_ahead: 128.5 is neither text nor a whole number"),
        ("true", "read_ahead: True is neither text nor a whole number"),
    ],
)
def test_what_is_no_value_is_refused_with_its_place(tmp_path: Path, value: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        planned(tmp_path, value)
    assert "s.toml: matrix.filesystems.0" in str(error.value)
    assert said in str(error.value)


def test_every_mount_of_a_list_of_steps_sets_it(tmp_path: Path) -> None:
    (tmp_path / "catalog/workloads").mkdir(parents=True)
    (tmp_path / "catalog/workloads/twice.toml").write_text(TWICE)
    (spec, _) = planned(tmp_path, "64", "twice")
    mounts = [s for s in make_trial_job(spec).steps if s.command.startswith("mount -t jffs2")]
    assert len(mounts) == 2
    assert all(s.command.count("echo 64 > /sys/class/bdi/mtd-0/") == 1 for s in mounts)
    (left, _) = planned(tmp_path, "", "twice")
    mounts = [s for s in make_trial_job(left).steps if s.command.startswith("mount -t jffs2")]
    assert {s.command for s in mounts} == {"mount -t jffs2 -o rw mtd0 /mnt"}


def test_the_result_tells_what_the_mount_read_back(tmp_path: Path) -> None:
    told = fake(mount=FakeResult("read_ahead_kib 128\n"))
    (t,) = execute(tmp_path / "a", told, planned(tmp_path / "a", "128")[:1])
    assert t.measured["read_ahead"] == {"kib": 128}
    figure = figures.find_workload_figure(
        "read_ahead.kib", workloadwords.make_workload_words_for_trials([t])
    )
    assert (figure(t), figure.form(128), figure.better) == (128, "128", "")
    (t,) = execute(tmp_path / "b", fake(), planned(tmp_path / "b", "")[:1])
    assert "read_ahead" not in t.measured
    assert figure(t) is None


def test_a_mount_that_tells_nothing_is_not_measured(tmp_path: Path) -> None:
    (t,) = execute(tmp_path / "a", fake(), planned(tmp_path / "a", "128")[:1])
    assert t.status == "not_measured"
    assert t.error is not None and "no step printed read_ahead_kib" in t.error


def test_mounts_that_differ_are_not_measured(tmp_path: Path) -> None:
    (tmp_path / "catalog/workloads").mkdir(parents=True)
    (tmp_path / "catalog/workloads/twice.toml").write_text(TWICE)
    specs = planned(tmp_path, "64", "twice")[:1]
    said: Callable[[Job], FakeResult] = lambda job: FakeResult("read_ahead_kib 60\n")  # noqa: E731
    board = fake(first=FakeResult("read_ahead_kib 64\n"))
    board.answers |= {"again": said, "unmount-at-end": FakeResult()}
    (t,) = execute(tmp_path, board, specs)
    assert t.error is not None
    assert t.error.endswith(" in read_ahead_kib: first 64, again 60")


def test_figures_know_every_instrument() -> None:
    known = set(figures.list_figure_families())
    assert {i.name for i in instruments.list_instruments()} <= known
