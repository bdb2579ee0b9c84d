# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a kernel from a tree of the user's, and packs it as `make bindeb-pkg` does.

A tree's Makefiles are programs. They run in a root of their own, of the board's tools and of what
only a kernel's build needs, and see nothing of the host: the tree is at /source, for reading only,
what is built at /out. These places, the time and the names are fixed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.cache import has_entry, make_entry, trim_cache_kind
from nandlab.base.digest import digest_json_value
from nandlab.base.errors import SourceError, ToolError, UsageError
from nandlab.base.paths import find_cache_folder
from nandlab.base.printer import print_note
from nandlab.board.kit.complaints import list_complaints
from nandlab.board.kit.enter import READ_ONLY
from nandlab.board.kit.kernelconfig import (
    check_built_config,
    find_config_fragment,
    format_kernel_config,
    read_config_fragment,
    read_lean_config,
)
from nandlab.board.kit.kernelpack import list_header_files, pack_kernel_package
from nandlab.board.kit.kerneltree import KernelTree, read_kernel_tree
from nandlab.board.kit.ownkernel import PACKAGE, KernelPackages, parse_kernel_config
from nandlab.board.kit.root import Root, is_fault_of_machine, raise_disk_full
from nandlab.catalog.arch import ARCHS, Arch

CACHE_KIND = "kernel-packages"
KEPT_BYTES_MAX = 1 << 30
"""The most that the packages of built kernels may take; those of one have some 25 MiB."""
BUILD_BYTES = 2 << 30
"""Room that a build may take; a lean kernel's takes a quarter of it."""
FORM = 1
"""Part of what names a built kernel: raise it when kernels are built or packed in another way."""
FIXED = (
    "KBUILD_BUILD_TIMESTAMP=2020-01-01",
    "KBUILD_BUILD_USER=nandlab",
    "KBUILD_BUILD_HOST=nandlab",
    "KBUILD_BUILD_VERSION=1",
    "LOCALVERSION=",
)
"""What make is told that a kernel would else take from the clock, the machine and git."""


@dataclass(frozen=True)
class KernelRequest:
    """A kernel that is to be built."""

    tree: KernelTree
    arch: str
    """Debian's name of the board's architecture."""
    lean: Mapping[str, str]
    """nandlab's settings by symbol."""
    fragment: Mapping[str, str]
    """The user's, which go before them."""
    where: str
    """What an error calls the user's settings."""


def make_kernel_request(tree: Path, fragments: Sequence[str], arch: str) -> KernelRequest:
    """Reads a tree and fragments of a configuration; UsageError if one is none.

    fragments: each goes before those that are named earlier; see find_config_fragment().
    """
    settings: dict[str, str] = {}
    for word in fragments:
        settings |= read_config_fragment(find_config_fragment(word))
    lean = read_lean_config(arch)
    print_note(f"reading {tree}")
    where = ", ".join(fragments) or str(tree)
    return KernelRequest(read_kernel_tree(tree, ARCHS[arch]), arch, lean, settings, where)


def build_kernel_packages(request: KernelRequest, tools: Root) -> KernelPackages:
    """The two packages of a kernel, built, or found in the cache.

    tools: the root of the compiler and of what a kernel's build needs besides. SourceError has the
    compiler's lines where the tree does not build.
    """
    config = {**request.lean, **request.fragment}
    inputs = {
        "tree": request.tree.sha256,
        "config": digest_json_value(config),
        "tools": tools.key,
        "form": FORM,
    }
    is_built = has_entry(CACHE_KIND, inputs)
    if not is_built:
        refuse_full_disk()
    entry = make_entry(CACHE_KIND, inputs, lambda work: _build(request, tools, work))
    if not is_built:
        trim_cache_kind(CACHE_KIND, KEPT_BYTES_MAX)
    release = (entry / "release").read_text()
    image, headers = (
        entry / _name_package(kind, release, request.arch) for kind in ("image", "headers")
    )
    return KernelPackages(release, request.arch, image, headers)


def refuse_full_disk() -> None:
    """UsageError if the cache's disk has no room for a build."""
    cache = find_cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cache).free
    if free < BUILD_BYTES:
        raise UsageError(
            f"{cache}: a build of a kernel takes up to {BUILD_BYTES >> 20} MiB there, and "
            f"{free >> 20} MiB are free: make room, or set NANDLAB_CACHE to another disk's folder"
        )


def _build(request: KernelRequest, tools: Root, work: Path) -> None:
    """Fills a folder with the two packages and the kernel's release."""
    source, out, stage = request.tree.top.absolute(), work / "out", work / "stage"
    out.mkdir()
    stage.mkdir()
    tools.check()
    see = {f"{READ_ONLY}/source": source, "/out": out, "/stage": stage}
    build = _Build(request, tools, see)
    (stage / "asked").write_text(format_kernel_config({**request.lean, **request.fragment}))
    build.make("KCONFIG_ALLCONFIG=/stage/asked", "allnoconfig")
    config = (out / ".config").read_text()
    check_built_config(request.fragment, parse_kernel_config(config), request.arch, request.where)
    print_note(f"building Linux {request.tree.version}; a lean kernel takes some minutes")
    build.make(f"-j{os.cpu_count() or 1}", build.arch.image, "modules")
    words = ("INSTALL_MOD_PATH=/stage/image", "INSTALL_MOD_STRIP=1", "DEPMOD=true")
    build.make(*words, "modules_install")
    request.tree.refuse_changed()
    release = _read_release(out, request)
    image = stage / "image"
    boot = image / "boot"
    boot.mkdir()
    compressed = out / "arch" / build.arch.source / "boot" / build.arch.image
    shutil.copy(compressed, boot / f"vmlinuz-{release}")
    (boot / f"config-{release}").write_text(config)
    packages = {
        "image": {str(p.relative_to(image)): p for p in image.rglob("*") if _is_file(p)},
        "headers": {
            f"usr/src/linux-headers-{release}/{path}": place
            for path, place in list_header_files(source, out, build.arch).items()
        },
    }
    for kind, files in packages.items():
        pack_kernel_package(work / _name_package(kind, release, request.arch), files, tools)
    (work / "release").write_text(release)
    for folder in (out, stage):
        shutil.rmtree(folder)


def _read_release(out: Path, request: KernelRequest) -> str:
    """The release of a built kernel; UsageError if no package can have it in its name."""
    release = (out / "include/config/kernel.release").read_text().strip()
    if not PACKAGE.fullmatch(_name_package("image", release, request.arch)):
        raise UsageError(
            f"{request.where}: the kernel's release is {release!r}, and no package can be called "
            "that: set a plain CONFIG_LOCALVERSION of small letters and digits"
        )
    return release


def _name_package(kind: str, release: str, arch: str) -> str:
    return f"linux-{kind}-{release}_1_{arch}.deb"


def _is_file(path: Path) -> bool:
    """Whether a path is a regular file; a kernel's modules have links to where they were built."""
    return path.is_file() and not path.is_symlink()


@dataclass(frozen=True)
class _Build:
    """A build of a kernel: what it is of, where it runs, and what it sees there."""

    request: KernelRequest
    tools: Root
    see: Mapping[str, Path]

    @property
    def arch(self) -> Arch:
        return ARCHS[self.request.arch]

    def make(self, *words: str) -> None:
        """Runs the tree's make; SourceError, or what this machine lacks, if it fails."""
        architecture = [] if self.arch.cross else [f"ARCH={self.arch.source}"]
        argv = ["make", "-s", "-C", "/source", "O=/out", *architecture, *self.arch.kbuild, *FIXED]
        result = self.tools.run([*argv, *words], see=self.see)
        if result.returncode == 0:
            return
        raise_disk_full(result, argv[0])
        lines = (result.stdout + result.stderr).splitlines()
        tree_name = f"Linux {self.request.tree.version} of {self.request.tree.top}"
        if is_fault_of_machine(lines):
            remedy = "this machine has too little memory to build it: end other programs"
            raise ToolError(f"{tree_name}: {remedy}", *list_complaints(lines))
        raise SourceError(
            f"{tree_name} does not build:",
            *(line.replace("/source/", "") for line in list_complaints(lines)),
            "correct the tree or the configuration",
        )
