# SPDX-License-Identifier: GPL-2.0-or-later
"""Our YAFFS2 port compiles with any core from 2012 to today: with what each age of it declares.

The cores themselves are not here; ``yaffs2core/`` has their signatures, in our own words. An age is
year and month.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nandlab.base.paths import DEVICE
from nandlab.board.jobs import build
from nandlab.board.kit.kit import fetch_board_kit
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

PORT = DEVICE / "modules" / "yaffs2"
STUBS = Path(__file__).parent / "yaffs2core"
AGES = {
    201203: "the flash's functions among the parameters: U-Boot's, of 2023 and of 2025",
    201301: "a structure for the driver, and one for the tags' functions",
    201606: "flushing may drop what was flushed",
    201607: "packing tags takes the device; plain ints are unsigned",
    201801: "the cache has a manager; times may be 64 bits wide",
}
"""Ages of the core, by what each declares otherwise than the one before."""
CALLS = """
#include <stddef.h>
#define __YPORTENV_H__
#define YCHAR char
#define YTIME_T unsigned
typedef unsigned char u8;
typedef unsigned u32;
typedef long long loff_t;
struct list_head { struct list_head *next, *prev; };
#include "core.h"

int flush(struct yaffs_obj *obj, struct yaffs_dev *dev)
{
	core_flush_cache(dev);
	core_forget_reads(obj);
	return core_flush_file(obj, 1);
}

void flash(struct yaffs_dev *dev, const struct yl_flash_fns *fns)
{
	core_set_flash(dev, fns);
}

void tags(struct yaffs_dev *dev, struct yaffs_packed_tags2 *packed, struct yaffs_ext_tags *tags)
{
	core_pack_tags2(dev, packed, tags, 1);
	core_pack_tags2_only(dev, &packed->t, tags);
	core_unpack_tags2(dev, tags, packed, 1);
	core_unpack_tags2_only(dev, tags, &packed->t);
}
"""
"""Calls all that core.h has; the kernel's words that it needs stand above."""


def keep_age(text: str, age: int) -> str:
    """A stub's lines that a core of this age has; the marks ``#if CORE`` go."""
    kept, open_ifs = [], list[bool]()
    for line in text.splitlines(keepends=True):
        if mark := re.match(r"#if CORE (>=|<) (\d+)", line):
            is_younger = age >= int(mark[2])
            open_ifs.append(is_younger if mark[1] == ">=" else not is_younger)
        elif open_ifs and line.startswith("#else"):
            open_ifs[-1] = not open_ifs[-1]
        elif open_ifs and line.startswith("#endif"):
            open_ifs.pop()
        elif all(open_ifs):
            kept.append(line)
    return "".join(kept)


def write_core(folder: Path, age: int) -> Path:
    """A core of this age, signatures alone, as Kbuild expects one."""
    folder.mkdir(parents=True)
    for stub in STUBS.glob("*.h"):
        (folder / stub.name).write_text(keep_age(stub.read_text(), age))
    return folder


def list_core_flags(core: Path) -> list[str]:
    """What Kbuild would define for this core: it looks into the core's header."""
    asked = re.findall(r"grep -qs '(.*?)' \$\(src\)/core/(\S+) && echo (\S+)\)", KBUILD)
    return [flag for text, name, flag in asked if text in (core / name).read_text()]


KBUILD = (PORT / "Kbuild").read_text()


def compile_calls(core: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    argv = ["gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", *flags, f"-I{core}"]
    argv += [f"-I{PORT}", "-x", "c", "-"]
    return subprocess.run(argv, input=CALLS, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("age", AGES)
def test_core_h_takes_the_signatures_of_each_age(tmp_path: Path, age: int) -> None:
    core = write_core(tmp_path / "core", age)
    seen = compile_calls(core, *list_core_flags(core))
    assert (seen.returncode, seen.stderr) == (0, "")


def test_what_kbuild_looks_for_is_in_the_cores_that_have_it(tmp_path: Path) -> None:
    flags = {age: list_core_flags(write_core(tmp_path / str(age), age)) for age in AGES}
    driver, manager = "-DCORE_HAS_DRIVER", "-DCORE_HAS_CACHE_MANAGER"
    assert [flags[age] for age in AGES] == [[], *[[driver]] * 3, [driver, manager]]


@pytest.mark.parametrize(
    ("before", "since"),
    [
        ("int discard_cache", "long discard_cache"),
        ("void yaffs_flush_whole_cache", "int yaffs_flush_whole_cache"),
    ],
)
def test_a_signature_that_is_not_known_ends_the_build(
    tmp_path: Path, before: str, since: str
) -> None:
    """It is not called with arguments that it does not have."""
    core = write_core(tmp_path / "core", max(AGES))
    header = core / "yaffs_guts.h"
    header.write_text(header.read_text().replace(before, since))
    seen = compile_calls(core, *list_core_flags(core))
    assert seen.returncode != 0
    assert "_Generic" in seen.stderr


@pytest.mark.board
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("age", AGES)
def test_the_whole_port_compiles_with_each_age(tmp_path: Path, age: int) -> None:
    """Every file of it, for the board's kernel; there is no core to link it with."""
    name = os.environ.get("NANDLAB_TEST_BOARD", "apf27")
    kit = fetch_board_kit(load_noun("boards", name, BoardModel), locked=True)
    kernel, tools = kit.kernel, kit.tools
    shutil.copytree(PORT, tmp_path / "port")
    write_core(tmp_path / "port" / "core", age)
    flags = (*kernel.arch.kbuild, *build.MODULE_FLAGS, "KBUILD_MODPOST_WARN=1")
    argv = ["make", "-s", "-C", kernel.headers, "M=/build", *flags, "modules"]
    tools.checked(argv, see={"/build": tmp_path / "port", **kernel.build})
    objects = {o.stem for o in (tmp_path / "port").glob("*.o")}
    assert {c.stem for c in PORT.glob("*.c")} <= objects
