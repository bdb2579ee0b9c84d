# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on the board is the same bytes wherever it was built, and whatever else lib/ has."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nandlab.base.paths import DEVICE
from nandlab.board.jobs import build
from nandlab.board.kit import needs
from nandlab.board.kit.root import Root
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

INCLUDED_ABOVE = re.compile(r'^#include "(\.\./[^"]*)"', re.MULTILINE)


def test_no_program_has_sources_of_another() -> None:
    """What two programs need is in lib/: a program is built anew where that or its own changes."""
    programs = DEVICE / "programs"
    assert [
        f"{source.relative_to(programs)} includes {path}"
        for source in programs.rglob("*.[ch]")
        for path in INCLUDED_ABOVE.findall(source.read_text())
        if not (source.parent / path)
        .resolve()
        .is_relative_to(programs / source.relative_to(programs).parts[0])
    ] == []


UNUSED = """
#include <stdio.h>
#include <stdlib.h>

int unused_{name}(const char *word, int number);

static int by_size(const void *a, const void *b)
{{
	return *(const int *)a - *(const int *)b;
}}

int unused_{name}(const char *word, int number)
{{
	static int sorted[] = {{3, 1, 2}};

	qsort(sorted, 3, sizeof(*sorted), by_size);
	return number + system(word) + printf("{name} %s %d\\n", word, sorted[0]);
}}
"""
"""Has functions, data and strings, and calls parts of the C library that few programs have."""


def built_in(
    place: Path, make: Callable[[], dict[str, bytes]], *, grown: bool = False
) -> dict[str, bytes]:
    """With sources and cache below ``place``.

    grown: lib/ has new files, before and behind the others, and each file an unused function more.
    """
    shutil.copytree(DEVICE, place / "device")
    if grown:
        lib = place / "device" / "programs" / "lib"
        for path in [*lib.rglob("*.c"), lib / "a.c", lib / "zzz.c"]:
            with path.open("a") as file:
                file.write(UNUSED.format(name=path.stem))
    with pytest.MonkeyPatch.context() as m:
        m.setattr(build, "DEVICE", place / "device")
        m.setenv("NANDLAB_CACHE", str(place / "cache"))
        return make()


@pytest.mark.board
def test_programs_are_the_same_bytes_wherever_they_are_built_and_whatever_else_lib_has(
    tmp_path: Path, tools: Root
) -> None:
    """Both in one, for it builds all programs; they are to be those that boards are given."""
    model = load_noun("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    ours = [f for f in (DEVICE / "programs").iterdir() if f.is_dir() and f.name != "lib"]
    of = {
        f.name: needs.unpack_build_material(f, model, needs.fetch_program_needs(model, f).lock)
        for f in ours
    }

    def make() -> dict[str, bytes]:
        here: Path = build.DEVICE / "programs"  # type: ignore[attr-defined]
        arch = model.arch_traits
        built = [build.build_program(tools, here / name, each, arch) for name, each in of.items()]
        return {p.name: p.read_bytes() for p in (build.build_init_program(tools, arch), *built)}

    here = make()
    there = built_in(tmp_path / "another/place", make, grown=True)
    assert {"ffsmark", "init", "speedtest1", "sqlbench"} <= set(here)
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


@pytest.mark.board
@pytest.mark.parametrize("folder", ["simnand", pytest.param("yaffs2", marks=pytest.mark.long)])
def test_modules_are_the_same_bytes_wherever_they_are_built(
    board: QemuBoard, tmp_path: Path, folder: str
) -> None:
    machine = board.machine
    foreign = {"core": machine.yaffs2.folder} if folder == "yaffs2" else None

    def make() -> dict[str, bytes]:
        found = build.build_kernel_modules(machine.kit.tools, folder, machine.kit.kernel, foreign)
        return {p.name: p.read_bytes() for p in found}

    here, there = make(), built_in(tmp_path / "another/place", make)
    assert set(here) == {f"{folder}.ko"}
    assert here == there
