# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds what runs on the board: init, programs, our kernel modules.

Sources are in ``device/``; what is built is in the cache, named by the hash of sources and tools.
Builds run in the root of the board's tools and see nothing else of the host. There the sources are
at the same places whatever the host has them at. So the same tools give the same bytes everywhere.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_file, digest_tree
from nandlab.base.paths import DEVICE
from nandlab.board.kit.kernel import Kernel
from nandlab.board.kit.needs import Material
from nandlab.board.kit.root import Root
from nandlab.catalog.arch import AMD64, Arch

LIBRARY = "/library"
"""Where a build sees the libraries that a program is linked with."""
STAND_INS = "/arm"
"""Where builds for ARM see ``device/arm``: what stands for headers that are an x86's."""
SHARED = "/shared"
"""Where a build of a program sees the objects of ``programs/lib``."""
SOURCES_TOGETHER = "gathered"
"""The folder beside a program as it is built that has its sources and those of others together."""
OBJECTS = "objects"
"""The folder beside a program as it is built that has the objects it is linked of."""
MAKE = ("make", "-s", f"-j{os.cpu_count() or 1}")
"""Objects are compiled side by side; they are linked in the order of the rules."""
MODULE_FLAGS = (
    "CONFIG_DEBUG_INFO_BTF_MODULES=",  # BTF needs pahole and a vmlinux, and nothing here reads it
    "KCFLAGS=-g0 -fmacro-prefix-map=/build/=",
)


def build_init_program(tools: Root, arch: Arch = AMD64) -> Path:
    """The static program that is the board's first process."""

    def make(work: Path) -> None:
        see = {"/source": DEVICE / "init", "/out": work, **_stand_in_folders(arch)}
        words = (
            [f"CROSS={arch.cross}", f"EXTRA={' '.join(_extra_flags(arch))}"] if arch.cross else []
        )
        tools.checked(["make", "-s", "-C", "/source", "OUT=/out", *words], see=see)
        tools.checked([f"{arch.cross}strip", "/out/init"], see=see)

    inputs = {"sources": digest_tree(DEVICE / "init"), "tools": tools.key, "stripped": True}
    return make_entry("init", {**inputs, **_stand_in_inputs(arch)}, make) / "init"


def _extra_flags(arch: Arch) -> list[str]:
    """What the compiler is told besides, for a board that is no x86."""
    return [f"-I{STAND_INS}"] if arch.cross else []


def _stand_in_folders(arch: Arch) -> dict[str, Path]:
    return {STAND_INS: DEVICE / "arm"} if arch.cross else {}


def _stand_in_inputs(arch: Arch) -> dict[str, Any]:
    return {"arm": digest_tree(DEVICE / "arm")} if arch.cross else {}


def build_library_objects(tools: Root, arch: Arch = AMD64) -> Path:
    """The folder with the objects of our ``programs/lib``, which all programs are linked with."""
    ours = DEVICE / "programs"

    def make(work: Path) -> None:
        argv = [*MAKE, "-C", "/ours", "OUT=/out", *_compiler_words(arch), "library"]
        tools.checked(argv, see={"/ours": ours, "/out": work, **_stand_in_folders(arch)})

    inputs = {
        "lib": digest_tree(ours / "lib"),
        "rules": digest_file(ours / "Makefile"),
        "tools": tools.key,
    }
    return make_entry("library", {**inputs, **_stand_in_inputs(arch)}, make) / OBJECTS / "lib"


def _compiler_words(arch: Arch, *extra: str) -> list[str]:
    """Make's words for the compiler of an architecture, and what it is given besides."""
    extra = (*_extra_flags(arch), *extra)
    return [
        *[f"CROSS_COMPILE={arch.cross}"] * bool(arch.cross),
        *[f"EXTRA={' '.join(extra)}"] * bool(extra),
    ]


@cache
def build_program(
    tools: Root, folder: Path, material: Material | None = None, arch: Arch = AMD64
) -> Path:
    """The static program built from a folder of C sources, our ``programs/lib``, and its material.

    A process builds each once: an edit while a study runs does not change its later trials.
    """
    ours = DEVICE / "programs"

    def make(work: Path) -> None:
        see = {"/ours": ours, "/from": folder.parent, "/out": work}
        see |= {SHARED: build_library_objects(tools, arch), **_stand_in_folders(arch)}
        words, extra = ["OUT=/out", "FROM=/from", f"LIB={SHARED}"], list[str]()
        if material is not None:
            see |= _prepare_material(material, folder, work)
            extra = _material_flags(material, arch)
            words += ["WARN=-w"] * bool(material.foreign)  # sources of others may warn
        words += [*_compiler_words(arch, *extra), f"/out/{folder.name}"]
        tools.checked([*MAKE, "-C", "/ours", *words], see=see)
        # the board keeps its programs in RAM, and nothing there reads symbols or debug information
        tools.checked([f"{arch.cross}strip", f"/out/{folder.name}"], see=see)
        for aside in (SOURCES_TOGETHER, OBJECTS):
            shutil.rmtree(work / aside, ignore_errors=True)

    inputs: dict[str, Any] = {
        "name": folder.name,
        "own": digest_tree(folder),
        "lib": digest_tree(ours / "lib"),
        "rules": digest_file(ours / "Makefile"),
        "stripped": True,
        "tools": tools.key,
    }
    if material is not None:
        inputs["library"] = material.library and material.library.key
        inputs["foreign"] = material.foreign and digest_tree(material.foreign)
    return make_entry("program", {**inputs, **_stand_in_inputs(arch)}, make) / folder.name


def _prepare_material(material: Material, folder: Path, work: Path) -> dict[str, Path]:
    """What a build with material sees besides, or instead: by where it sees it."""
    visible_paths = {}
    if material.library:
        material.library.check()
        visible_paths[LIBRARY] = material.library.path
    if material.foreign is None:
        return visible_paths
    shutil.copytree(folder, work / SOURCES_TOGETHER / folder.name)
    shutil.copytree(material.foreign, work / SOURCES_TOGETHER / folder.name, dirs_exist_ok=True)
    return {**visible_paths, "/from": work / SOURCES_TOGETHER}


def _material_flags(material: Material, arch: Arch) -> list[str]:
    """What compiler and linker are told of the material."""
    places = (f"-I{LIBRARY}/usr/include", f"-I{LIBRARY}/usr/include/{arch.triplet}")
    found = [*places, f"-L{LIBRARY}/usr/lib/{arch.triplet}"] if material.library else []
    return [*found, *material.link]


def build_kernel_modules(
    tools: Root, folder: str, kernel: Kernel, foreign: Mapping[str, Path] | None = None
) -> list[Path]:
    """Paths of the .ko files built from ``device/modules/FOLDER`` for a kernel.

    foreign: folders of sources that are not ours, by the subfolder that each is copied to.
    """
    source = DEVICE / "modules" / folder
    foreign = foreign or {}
    arch = kernel.arch
    flags = (*arch.kbuild, *MODULE_FLAGS)

    def make(work: Path) -> None:
        kernel.root.check()
        build = work / "build"
        shutil.copytree(source, build)
        for subfolder, source_folder in foreign.items():
            shutil.copytree(source_folder, build / subfolder)
        see = {"/build": build, "/out": work, **kernel.build}
        argv = [*MAKE, "-C", kernel.headers, "M=/build", *flags, "modules"]
        tools.checked(argv, see=see)
        # nothing reads debug symbols, and the board keeps its modules in RAM
        for built in sorted(ko.name for ko in build.glob("*.ko")):
            strip = [
                f"{arch.cross}strip",
                "--strip-debug",
                "-o",
                f"/out/{built}",
                f"/build/{built}",
            ]
            tools.checked(strip, see=see)
        shutil.rmtree(build)

    inputs: dict[str, Any] = {
        "sources": digest_tree(source),
        "tools": tools.key,
        "kernel": kernel.root.key,
        "flags": flags,
    }
    if foreign:
        inputs["foreign"] = {k: digest_tree(source_folder) for k, source_folder in foreign.items()}
    return sorted(make_entry("modules", inputs, make).glob("*.ko"))
