# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems that are only read: what they cannot take is refused when a study is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.step import PlainStep
from nandlab.catalog.workload import WorkloadModel
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.image import ChipGeometry, ChipImage
from nandlab.flash.chip.imagefile import ImageDescription, TreeCounts
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import mediumsteps

GEOMETRY = ChipGeometry(512, 16, 16384, 8192)
"""That of the part nandsim-small."""
STUDY = """
name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "WORKLOAD" }]
filesystems = [{ name = "squashfs"IMAGE }]
chips = [{ part = "nandsim-small", partition_mib = 1 }]
states = [{ name = "flashed"STATE }]
seeds = [1]
"""
WORKLOADS = {
    "look": 'command = "ls -R {mountpoint}"\nreads_only = true',
    "touch": 'command = "touch {mountpoint}/x"',
    "steps": """
steps = [
    { do = "mount" },
    { do = "fill" },
    { do = "run", name = "look", command = "ls {mountpoint}", reads_only = true },
    { do = "run", name = "touch", command = "touch {mountpoint}/x" },
]""",
    "writable": """
steps = [{ do = "mount" }, { do = "remount", options = "rw" }]""",
    "reading": """
steps = [
    { do = "mount" }, { do = "drop" }, { do = "rest" }, { do = "sync" }, { do = "unmount" },
]""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with workloads and an image of a squashfs."""
    folder = tmp_path / "catalog/workloads"
    folder.mkdir(parents=True)
    for name, text in WORKLOADS.items():
        (folder / f"{name}.toml").write_text(f'name = "{name}"\nsummary = "?"\n{text}\n')
    system = load_noun("filesystems", "squashfs", FilesystemModel)
    counts = {"files": 1, "hard_links": 0, "folders": 0, "symbolic_links": 0, "bytes": 1}
    made = ImageDescription(
        filesystem="squashfs",
        options=system.resolve_values({}, "here"),
        part="nandsim-small",
        partition_blocks=64,
        board="apf27",
        tools=None,
        tree=TreeCounts(**counts),
    )
    chipfile.write_image_files(tmp_path / "a.nand", ChipImage(GEOMETRY, 0, 0, 0, []), made)
    return tmp_path


def planned(
    project: Path, workload: str, image: str = ', image = "a.nand"', state: str = ""
) -> list[TrialSpec]:
    text = STUDY.replace("WORKLOAD", workload).replace("IMAGE", image).replace("STATE", state)
    (project / "s.toml").write_text(text)
    return study.plan_trials(study.read_study_file(project / "s.toml"))


@pytest.mark.parametrize("workload", ["look", "reading"])
def test_what_only_reads_is_planned(project: Path, workload: str) -> None:
    (spec,) = planned(project, workload)
    assert (
        "mount -t squashfs -o ro /dev/ubiblock0_0 /mnt" in mediumsteps.make_mount_step(spec).command
    )
    assert mediumsteps.make_format_steps(spec) == []


@pytest.mark.parametrize(
    ("given", "place", "said"),
    [
        ({"image": ""}, "matrix.filesystems.0", "squashfs is only read, so a trial of it begins"),
        ({"workload": "touch"}, "matrix.workloads.0", "touch on squashfs, which is only read: its"),
        ({"workload": "writable"}, "matrix.workloads.0", "step remount writes"),
        ({"workload": "steps"}, "matrix.workloads.0", "step touch writes; if its command only"),
        ({"workload": "ffsmark"}, "matrix.workloads.0", "its file says reads_only = true"),
        ({"state": ", valid = 0.5"}, "matrix.states.0", "flashed: squashfs is only read"),
        ({"image": ', image = "a.nand", compression = "lz4"'}, "matrix.filesystems.0", "is fixed"),
        ({"image": ', compression = "lzma"'}, "matrix.filesystems.0", "is none of gzip, none"),
    ],
)
def test_what_it_cannot_take_is_refused_with_its_place(
    project: Path, given: dict[str, str], place: str, said: str
) -> None:
    with pytest.raises(UsageError) as e:
        planned(project, **{"workload": "look", **given})
    (line,) = str(e.value).splitlines()
    assert line.startswith(f"{project / 's.toml'}: {place}: ")
    assert said in line


def test_each_step_that_writes_is_named(project: Path) -> None:
    with pytest.raises(UsageError) as e:
        planned(project, "steps")
    assert "step look" not in str(e.value)
    assert "step fill" not in str(e.value), "nothing is asked of it"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"format": ["true"]}, "has no format"),
        ({"image": {}}, "it is made as an image"),
    ],
)
def test_a_file_that_says_it_is_only_read_can_be(wrong: dict[str, object], said: str) -> None:
    told = load_noun("filesystems", "squashfs", FilesystemModel).model_dump()
    with pytest.raises(ValueError, match=said):
        FilesystemModel.model_validate({**told, **wrong})


def test_reads_only_is_said_of_what_runs() -> None:
    with pytest.raises(ValueError, match="reads_only"):
        PlainStep.model_validate({"do": "sync", "reads_only": True})
    steps = [{"do": "mount"}]
    with pytest.raises(ValueError, match="reads_only is of a command"):
        WorkloadModel.model_validate(
            {"name": "a", "summary": "?", "steps": steps, "reads_only": True}
        )
