# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU loads of the root of a board's tools: it is read before QEMU runs, and the rest is not.

To read a root of 300 MB takes a process as long as a tenth of a trial, and what QEMU maps and opens
is a sixth of that. The loader lists its libraries, once for a root; patterns name its firmware.
"""

from __future__ import annotations

import json
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.board.kit.root import Root
from nandlab.board.virtual.image import list_loaded_libraries
from nandlab.catalog.arch import ARCHS, HOST_ARCH

HELPER_PROGRAMS = ("cat", "dash", "true")
"""Programs that run in the root beside QEMU: sh and cat write a state; true tries the root."""
PLUGINS = "usr/lib/*/qemu/accel-*.so"
FIRMWARE = ("usr/share/seabios/*.bin", "usr/share/qemu/*.bin")
FILE = "files"


def list_emulator_files(tools: Root, emulator: str) -> list[Path]:
    """The files of a root that a board's emulator loads, and what runs beside it."""

    def make(work: Path) -> None:
        plugins = [str(p.relative_to(tools.path)) for p in sorted(tools.path.glob(PLUGINS))]
        programs = [*(f"usr/bin/{name}" for name in (emulator, *HELPER_PROGRAMS)), *plugins]
        shell = ("/bin/sh",)
        libraries = list_loaded_libraries(tools, ARCHS[HOST_ARCH].loader, programs, shell)
        files = [tools.path / program for program in programs]
        files += [tools.path / library.relative_to("/") for library in libraries]
        files += [file for pattern in FIRMWARE for file in tools.path.glob(pattern)]
        home = tools.path.resolve()
        paths = {str(file.resolve().relative_to(home)) for file in files}
        (work / FILE).write_text(json.dumps(sorted(paths), indent=1))

    inputs = {
        "tools": tools.key,
        "emulator": emulator,
        "beside": [*HELPER_PROGRAMS, PLUGINS, *FIRMWARE],
    }
    listed = make_entry("emulator", inputs, make) / FILE
    return [tools.path / path for path in json.loads(listed.read_text())]
