# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a part of the kernel from another source, for a board's own kernel.

The build runs in the root of the board's tools against the kernel's locked headers, as our modules'
do. Each folder is built by its own Makefile, of which only the wanted modules are taken. Symbols of
the configuration are set for make before that Makefile, and for the compiler after the kernel's.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nandlab.base.cache import INPUTS, has_entry, hold_entry, make_entry, trim_cache_kind
from nandlab.base.digest import digest_file
from nandlab.base.errors import SourceError, ToolError
from nandlab.base.paths import find_cache_folder
from nandlab.base.printer import print_note
from nandlab.board.jobs.build import MAKE, MODULE_FLAGS
from nandlab.board.kit.complaints import list_complaints
from nandlab.board.kit.kernel import Kernel
from nandlab.board.kit.partsource import PartFiles
from nandlab.board.kit.root import Root, is_fault_of_machine, raise_disk_full
from nandlab.catalog.arch import AMD64, Arch
from nandlab.catalog.part import PartModel, PartValue, Setting

CONFIG_HEADER = "nandlab-config.h"
SYMVERS = "Module.symvers"
CACHE_KIND = "part-modules"
OBJECTS = "build"
"""The folder of a build that is kept beside its modules."""
LIKE = ("part", "tools", "kernel", "flags", "before", "form")
"""What two builds must have alike for one to begin from what the other left."""
KEPT_BYTES_MAX = 1 << 30
"""The most that modules and what their builds left may take; a part's are 2 to 8 MiB."""
OWN_HEADERS = ("/build/include", "/build/include/uapi")
"""Folders of a build with the tree's own headers."""
STAND_INS = "stand-ins"
"""The folder of a build with what stands for headers of the kernel's."""
NO_TABLES = """\
#include_next <linux/module.h>
#undef MODULE_DEVICE_TABLE
#define MODULE_DEVICE_TABLE(type, name)
"""
"""Of 32 bits: no module has aliases of its table of devices. Debian's modpost for 32 bits has the
sizes of 64 and refuses such a table; a board loads each module by its own name."""


@dataclass(frozen=True)
class PartModules:
    """The modules that a part was built to."""

    folder: Path
    """Has NAME.ko for each, and Module.symvers."""
    modules: tuple[str, ...]
    settings: Mapping[str, Setting]
    """Symbols of the configuration that it was built with, where they were set."""

    @property
    def paths(self) -> list[Path]:
        return [self.folder / f"{name}.ko" for name in self.modules]

    @property
    def symvers(self) -> Path:
        """The symbols that the modules export, with their versions."""
        return self.folder / SYMVERS


def format_config_header(settings: Mapping[str, Setting]) -> str:
    """What the compiler is told of symbols, whatever the kernel's configuration says."""
    lines = []
    for symbol, value in sorted(settings.items()):
        lines += [f"#undef {symbol}", f"#undef {symbol}_MODULE"]
        if value != "n":
            number = value if value.isdecimal() else "1"
            lines.append(f"#define {symbol}{'_MODULE' if value == 'm' else ''} {number}")
    return "".join(f"{line}\n" for line in lines)


def format_kbuild(modules: Sequence[str], settings: Mapping[str, Setting]) -> str:
    """The Kbuild file beside a folder's own Makefile: only these modules, so configured."""
    values = {symbol: "" if value == "n" else value for symbol, value in sorted(settings.items())}
    return "\n".join(
        [
            *(f"{symbol} := {value}" for symbol, value in values.items()),
            "include $(src)/Makefile",
            "obj-y :=",
            f"obj-m := {' '.join(f'{name}.o' for name in modules)}",
            f"ccflags-y += -include /build/{CONFIG_HEADER} -I$(src)",
            "",
        ]
    )


def list_build_files(
    part: PartModel, source: PartFiles, settings: Mapping[str, Setting], arch: Arch = AMD64
) -> dict[str, bytes]:
    """All files of a build, by their paths in its folder; a part of a port is built elsewhere."""
    ours = {build.folder: format_kbuild(build.modules, settings) for build in part.builds}
    return {
        **source.content,
        **{f"{folder}/Kbuild": text.encode() for folder, text in ours.items()},
        "Kbuild": "".join(f"obj-m += {folder}/\n" for folder in part.folders).encode(),
        CONFIG_HEADER: format_config_header(settings).encode(),
        **({f"{STAND_INS}/linux/module.h": NO_TABLES.encode()} if arch.cross else {}),
    }


def list_header_words(arch: Arch, *, has_tree_headers: bool) -> list[str]:
    """The word of make that puts headers before the kernel's: no other flag of kbuild comes first.

    has_tree_headers: whether the tree's own are among them.
    """
    folders = [
        *[f"/build/{STAND_INS}"] * bool(arch.cross),
        *(OWN_HEADERS if has_tree_headers else ()),
    ]
    before = " ".join(f"-I{folder}" for folder in folders)
    compilers = "-isystem $(shell $(CC) -print-file-name=include)"
    return [f"NOSTDINC_FLAGS=-nostdinc {before} {compilers}"] if folders else []


def has_other_headers(part: PartModel, source: PartFiles, kernel: Kernel) -> bool:
    """Whether a header is not as the kernel's packages have it.

    Headers are the files outside of the part's folders: its own, and those of parts that it calls.
    """
    sources = kernel.root.path / "usr/src"
    for header, wanted in source.content.items():
        if str(PurePosixPath(header).parent) in part.folders:
            continue
        known = [path.read_bytes() for path in sources.glob(f"linux-headers-*-common*/{header}")]
        if wanted not in known:
            return True
    return False


def build_part_modules(
    tools: Root,
    kernel: Kernel,
    part: PartModel,
    source: PartFiles,
    options: Mapping[str, PartValue],
    *,
    before: Sequence[PartModules] = (),
    version: str | None = None,
) -> PartModules:
    """The part's modules for a kernel; SourceError has the compiler's lines where it is the source
    that does not build, OSError or ToolError tells what this machine lacks.

    before: parts built already, whose symbols it takes. version: of the source's kernel, to tell.
    """
    settings = part.settings(options)
    files = list_build_files(part, source, settings, kernel.arch)
    own = has_other_headers(part, source, kernel)
    flags = (
        *kernel.arch.kbuild,
        *MODULE_FLAGS,
        *list_header_words(kernel.arch, has_tree_headers=own),
    )

    def make(work: Path) -> None:
        print_note(f"building {part.name} from {source.origin}")
        kernel.root.check()
        build = work / OBJECTS
        _copy_kept_objects(inputs, build)
        for path, content in files.items():
            write_changed_file(build / path, content)
        see = {"/build": build, "/out": work, **kernel.build}
        see |= {f"/before/{i}": modules.folder for i, modules in enumerate(before)}
        extra = " ".join(f"/before/{i}/{SYMVERS}" for i in range(len(before)))
        argv = [*MAKE, "-C", kernel.headers, "M=/build"]
        argv += [*flags, *([f"KBUILD_EXTRA_SYMBOLS={extra}"] if extra else []), "modules"]
        done = tools.run(argv, see=see)
        if done.returncode:
            raise_disk_full(done, argv[0])
            raise make_build_error(part, source, kernel, version, done.stdout + done.stderr)
        for folder in part.builds:
            for name in folder.modules:
                built = f"/build/{folder.folder}/{name}.ko"
                strip = [f"{kernel.arch.cross}strip", "--strip-debug", "-o", f"/out/{name}.ko"]
                tools.checked([*strip, built], see=see)
        shutil.copy(build / SYMVERS, work / SYMVERS)

    inputs: dict[str, Any] = {
        "part": part.name,
        "files": PartFiles(files, "").digests,
        "tools": tools.key,
        "kernel": kernel.root.key,
        "flags": flags,
        "before": [digest_file(modules.symvers) for modules in before],
        "form": 1,
    }
    is_built = has_entry(CACHE_KIND, inputs)
    made = make_entry(CACHE_KIND, inputs, make)
    if not is_built:
        trim_cache_kind(CACHE_KIND, KEPT_BYTES_MAX)
    return PartModules(made, tuple(part.modules), settings)


def _copy_kept_objects(inputs: Mapping[str, Any], build: Path) -> None:
    """Copies what the newest like build has left, so that only what changed is compiled.

    Files keep their times, by which make knows what is older than its source.
    """
    for like_inputs in _list_like_inputs(inputs):
        with hold_entry(CACHE_KIND, like_inputs) as folder:
            if folder is None:
                continue
            shutil.copytree(folder / OBJECTS, build, symlinks=True)
            for path in like_inputs["files"].keys() - inputs["files"].keys():
                (build / path).unlink(missing_ok=True)
            return


def _list_like_inputs(inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs of builds that differ in nothing but their files' content, the newest first.

    An entry may be removed, or be damaged, while it is looked at: then it is no such build.
    """
    like_values = {key: json.loads(json.dumps(inputs[key])) for key in LIKE}
    builds: list[tuple[float, dict[str, Any]]] = []
    for path in (find_cache_folder() / CACHE_KIND).glob(f"*/{INPUTS}"):
        with suppress(OSError, ValueError):
            build_inputs = json.loads(path.read_text())
            if isinstance(build_inputs, dict) and all(
                build_inputs.get(key) == like_values[key] for key in LIKE
            ):
                builds.append((path.parent.stat().st_mtime, build_inputs))
    return [
        build_inputs for _, build_inputs in sorted(builds, key=lambda build: build[0], reverse=True)
    ]


def write_changed_file(path: Path, content: bytes) -> None:
    """Writes a file unless it has this content: its time tells make that it changed."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def make_build_error(
    part: PartModel, source: PartFiles, kernel: Kernel, version: str | None, output: str
) -> SourceError | ToolError:
    """Why a part could not be built: the compiler's lines, as many as help, and what to do.

    ToolError where the machine has too little memory: that tells nothing of the source.
    """
    lines = list_complaints(output.splitlines())
    if is_fault_of_machine(output.splitlines()):
        what = f"{part.name}: this machine has too little memory to build it: end other programs"
        return ToolError(what, *lines)
    named = f"{source.origin}, Linux {version}," if version else source.origin
    return SourceError(
        f"{part.name} from {named} does not build for the board's kernel, {kernel.release}:",
        *(line.replace("/build/", "") for line in lines),
        "correct the source; or give one of the kernel's own version: a tree of another one takes "
        "a kernel of its own (docs/own/kernel.md)",
    )
