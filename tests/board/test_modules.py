# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel modules a job brings along."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.board.jobs.job import Job, Step
from nandlab.board.jobs.modules import (
    ModuleSet,
    add_module_dependencies,
    parse_module_dependencies,
    strip_module_signature,
)

NEEDS: dict[str, tuple[str, ...]] = {
    "doorbell": (),
    "nopidle": (),
    "jffs2": ("mtd",),
    "mtd": (),
    "nand": ("nandcore",),
    "nandcore": ("mtd",),
    "simnand": ("nand",),
    "mtd_blkdevs": ("mtd",),
    "one_way": ("other_way",),
    "other_way": ("one_way",),
}


def brought(*commands: str, **files: bytes) -> set[str]:
    job = Job(tuple(Step(f"s{i}", c) for i, c in enumerate(commands)), files)
    found = ModuleSet(Path("/made"), "lib/modules/6", NEEDS).find_job_modules(job)
    assert all(where == f"lib/modules/6/{path.name}" for where, path in found.items())
    return {path.stem for path in found.values()}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("true", set()),
        ("modprobe jffs2 && mount -t jffs2 mtd0 /mnt", {"jffs2"}),
        ("modprobe mtd-blkdevs", {"mtd_blkdevs"}),
        ("modprobe simnand", {"simnand"}),
        ("cat /dev/mtd0", set()),
        ("modprobe one_way", {"one_way", "other_way"}),
        ("modprobe doorbell nosuch", set()),
    ],
)
def test_a_job_brings_what_its_commands_name(command: str, names: set[str]) -> None:
    assert brought(command) == names


def test_a_job_brings_what_its_files_name() -> None:
    assert brought("sh ./do", do=b"modprobe jffs2\n\xff") == {"jffs2"}


def test_a_shell_brings_all_but_those_in_the_image() -> None:
    image = {"doorbell", "nopidle", "nand", "nandcore", "mtd"}
    assert {*ModuleSet(Path("/made"), "lib/modules/6", NEEDS).in_image} == image
    assert brought() == {*NEEDS} - image


def test_a_core_that_is_built_into_the_kernel_is_in_no_image() -> None:
    assert ModuleSet(Path("/made"), "lib/modules/6", {"doorbell": ()}).in_image == ["doorbell"]


def test_a_signature_is_cut_off() -> None:
    """As scripts/sign-file.c of the kernel appends it."""
    module, signature = b"\x7fELF~Module signature appended~\n and more", b"\x30\x82" * 5
    info = bytes([0, 0, 2, 0, 0, 0, 0, 0]) + len(signature).to_bytes(4, "big")
    signed = module + signature + info + b"~Module signature appended~\n"
    assert strip_module_signature(signed) == strip_module_signature(module) == module


def test_dependencies_are_read_from_the_module() -> None:
    assert parse_module_dependencies(b"\x7fELF\0name=a\0depends=mtd-blkdevs,nand\0x") == [
        "mtd_blkdevs",
        "nand",
    ]
    assert parse_module_dependencies(b"\0depends=\0") == parse_module_dependencies(b"") == []


def test_what_does_not_exist_needs_nothing() -> None:
    assert add_module_dependencies(["a", "none"], {"a": ["b", "none"], "b": ["a"]}.get) == [
        "a",
        "b",
    ]
