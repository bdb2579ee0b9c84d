# SPDX-License-Identifier: GPL-2.0-or-later
"""A compiler for 32-bit ARM and a kernel's headers, from packages that armhf.lock names.

Packages of armhf are unpacked and never installed. The kernel's build programs run on this machine,
so their package is this machine's.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandlab.base.paths import DEVICE
from nandlab.board.kit.apt import Apt, Suite
from nandlab.board.kit.kit import fetch_package_sets
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packagesets import TOOLS, SuiteSet
from nandlab.board.kit.root import Root, prepare_package_root
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

LOCK = Path(__file__).parent / "armhf.lock"
CROSS = "arm-linux-gnueabihf-"
FLAVOUR = "armmp"
MORE = ("libc6-dev-armhf-cross", "linux-kbuild-6.1")
NO_BTF = "CONFIG_DEBUG_INFO_BTF_MODULES="
NOT_NEEDED = ("mtd-utils",)


@dataclass(frozen=True)
class CrossSet(SuiteSet):
    """A compiler for armhf, what builds run, and the kernel's build programs."""

    @property
    def name(self) -> str:
        return f"cross {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        tools = [name for name in TOOLS if name not in NOT_NEEDED]
        return apt.files(apt.with_dependencies([*tools, f"gcc-{CROSS.rstrip('-')}", *MORE]))


@dataclass(frozen=True)
class HeaderSet(SuiteSet):
    """The headers of armhf's kernel, without what they depend on."""

    @property
    def name(self) -> str:
        return f"headers {self.suite.release} {self.suite.arch} {FLAVOUR}"

    def resolve(self, apt: Apt) -> Files:
        (headers,) = apt.depends(f"linux-headers-{FLAVOUR}")
        common = [p for p in apt.depends(headers) if p.endswith("-common")]
        return apt.files([headers, *common])


@cache
def tools() -> Root:
    """The root of the compiler."""
    return _roots()[0]


@cache
def _roots() -> tuple[Root, Root]:
    sets = (CrossSet(Suite("bookworm", "amd64")), HeaderSet(Suite("bookworm", "armhf")))
    taken, _ = fetch_package_sets(load_noun("boards", "apf27", BoardModel), sets, path=LOCK)
    compiler, headers = (prepare_package_root(taken[each.name]) for each in sets)
    return compiler, headers


def module(folder: Path) -> None:
    """Builds the modules of a folder's Kbuild, there, with the folders beside it in sight;
    NandlabError tells what is wrong."""
    compiler, headers = _roots()
    sources = headers.path / "usr/src"
    at = next(sources.glob(f"linux-headers-*-{FLAVOUR}")).name
    words = ("ARCH=arm", f"CROSS_COMPILE={CROSS}", f"CC={CROSS}gcc", "KCFLAGS=-g0 -Werror")
    see = {"/build": folder.parent, "/usr/src": sources}
    place = f"M=/build/{folder.name}"
    argv = ["make", "-s", "-j2", "-C", f"/usr/src/{at}", place, *words, NO_BTF, "modules"]
    compiler.checked(argv, see=see)


def kernel() -> Path:
    """The build folder of the kernel, unpacked; only kernel_make() can use it."""
    sources = _roots()[1].path / "usr/src"
    return next(sources.glob(f"linux-headers-*-{FLAVOUR}"))


def kernel_make(*seen: Path) -> str:
    """The shell's words that are make for kernel(), with what is in ``seen`` of the host."""
    sources = kernel().parent
    see = {str(path.resolve()): path.resolve() for path in seen}
    words = shlex.join(tools().command(["make"], see={**see, "/usr/src": sources}))
    return f'{words} $(echo "$@" | sed "s:{sources}:/usr/src:g")'


def on_path(folder: Path, *seen: Path) -> Path:
    """A folder with the compiler's programs for PATH; they see what is in ``seen`` of the host."""
    see = {str(path.resolve()): path.resolve() for path in seen}
    for name in ("gcc", "strip"):
        words = tools().command([f"{CROSS}{name}"], see=see)
        script = folder / f"{CROSS}{name}"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        script.chmod(0o755)
    return folder


def make(folder: Path, out: Path, *words: str) -> None:
    """Runs make in a folder of target/, for the compiler; what it builds goes to ``out``."""
    see = {"/target": DEVICE, "/out": out}
    place = f"/target/{folder.relative_to(DEVICE)}"
    tools().checked(["make", "-s", "-j2", "-C", place, "OUT=/out", *words], see=see)


def agent(folder: Path) -> Path:
    """The agent, built below a folder, for a board that has a C library of the same release."""
    out = folder / "built"
    out.mkdir()
    make(DEVICE / "agent", out, f"CROSS={CROSS}", "STATIC=-s")
    return out / "agent"
