# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel modules a job brings along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nandlab.board.job import Job, Step
from nandlab.board.modules import INDEXES, Modules, closed, depends

NEEDS: dict[str, tuple[str, ...]] = {
    "doorbell": (),
    "nopidle": (),
    "jffs2": ("mtd",),
    "mtd": (),
    "mtd_blkdevs": ("mtd",),
    "one_way": ("other_way",),
    "other_way": ("one_way",),
}


def brought(*commands: str, **files: bytes) -> set[str]:
    job = Job(tuple(Step(f"s{i}", c) for i, c in enumerate(commands)), files)
    found = Modules(Path("/made"), "lib/modules/6", NEEDS).of(job)
    assert all(where == f"lib/modules/6/{path.name}" for where, path in found.items())
    return {path.stem for path in found.values()}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("true", set()),
        ("modprobe jffs2 && mount -t jffs2 mtd0 /mnt", {"jffs2", "mtd"}),
        ("modprobe mtd-blkdevs", {"mtd_blkdevs", "mtd"}),
        ("cat /dev/mtd0", set()),
        ("modprobe one_way", {"one_way", "other_way"}),
        ("modprobe doorbell nosuch", set()),
    ],
)
def test_a_job_brings_what_its_commands_name(command: str, names: set[str]) -> None:
    assert brought(command) == names


def test_a_job_brings_what_its_files_name() -> None:
    assert brought("sh ./do", do=b"modprobe mtd\n\xff") == {"mtd"}


def test_a_shell_brings_all_but_inits_own() -> None:
    assert brought() == {*NEEDS} - {"doorbell", "nopidle"}


@pytest.fixture
def beside(tmp_path: Path) -> Modules:
    """Modules with some beside that the image's index does not have."""
    (tmp_path / "beside").mkdir()
    needs = {"erofs": ["sums", "mtd"], "sums": [], "squashfs": []}
    (tmp_path / "beside/needs.json").write_text(json.dumps(needs))
    return Modules(tmp_path, "lib/modules/6", NEEDS)


def test_modules_beside_come_with_an_index_of_all(beside: Modules) -> None:
    found = beside.of(Job((Step("s", "modprobe erofs && modprobe one-way"),)))
    own = {"erofs.ko", "sums.ko", *INDEXES}
    assert found == {
        f"lib/modules/6/{name}": (beside.beside if name in own else beside.folder) / name
        for name in (*own, "mtd.ko", "one_way.ko", "other_way.ko")
    }


def test_a_job_that_names_none_beside_knows_nothing_of_them(beside: Modules) -> None:
    """Not even one that names what these need: that word is no module's elsewhere."""
    job = Job((Step("s", "modprobe jffs2 && echo sums"),))
    assert beside.of(job) == Modules(Path(beside.folder), beside.home, NEEDS).of(job)
    assert {Path(where).name for where in beside.of(job)} == {"jffs2.ko", "mtd.ko"}


def test_a_shell_has_those_beside_too(beside: Modules) -> None:
    names = {Path(where).name for where in beside.of(Job())}
    assert {"squashfs.ko", "erofs.ko", "sums.ko", "jffs2.ko", "modules.dep"} <= names


def test_dependencies_are_read_from_the_module() -> None:
    assert depends(b"\x7fELF\0name=a\0depends=mtd-blkdevs,nand\0x") == ["mtd_blkdevs", "nand"]
    assert depends(b"\0depends=\0") == depends(b"") == []


def test_what_does_not_exist_needs_nothing() -> None:
    assert closed(["a", "none"], {"a": ["b", "none"], "b": ["a"]}.get) == ["a", "b"]
