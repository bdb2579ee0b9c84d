# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of a board: its packages, unpacked, and where things are in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.kit.lock import Files
from nandlab.board.kit.root import Root
from nandlab.catalog.arch import ARCHS, Arch

IMAGE = re.compile(r"linux-image-([^_]+?)(-unsigned)?_")


@dataclass(frozen=True)
class Kernel:
    """A kernel image, its modules and headers, and the board's own tools, unpacked together."""

    files: tuple[str, ...]
    """The names of the packages."""
    root: Root

    @property
    def release(self) -> str:
        """The kernel's release as ``uname -r`` gives it."""
        return next(found[1] for file in self.files if (found := IMAGE.match(file)))

    @property
    def arch(self) -> Arch:
        """What it runs on."""
        image = next(file for file in self.files if IMAGE.match(file))
        return ARCHS[image.removesuffix(".deb").rpartition("_")[2]]

    @property
    def config(self) -> dict[str, str]:
        """The kernel's configuration, values by symbol; its version is under LINUX."""
        text = self.config_file.read_text()
        version = ".".join(self.release.split(".")[:2])
        return {"LINUX": version, **dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.MULTILINE))}

    @property
    def config_file(self) -> Path:
        """The kernel's configuration, as text."""
        return self.root.path / "boot" / f"config-{self.release}"

    @property
    def vmlinuz(self) -> Path:
        return self.root.path / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        return self.root.path / "usr/lib/modules" / self.release

    @property
    def build(self) -> dict[str, Path]:
        """What a build of modules needs to see, by the place where it looks for it."""
        found = [self.root.path / "usr/src", *self.root.path.glob("usr/lib/linux-kbuild-*")]
        return {f"/{path.relative_to(self.root.path)}": path for path in found}

    @property
    def headers(self) -> str:
        """The folder of the headers, for who sees ``build``."""
        return f"/usr/src/linux-headers-{self.release}"


def find_kernel_in_root(files: Files, unpacked: Root, kinds: tuple[str, ...]) -> Kernel:
    """The kernel of an unpacked set; UsageError if it has none.

    kinds: how the names of the packages begin that the kernel consists of.
    """
    if lacking := [kind for kind in kinds if not any(f.startswith(kind) for f in files)]:
        raise UsageError(f"the lock's set of the kernel has no package {lacking[0]}…")
    whole = Kernel(tuple(sorted(files)), unpacked)
    unpacked.check([whole.vmlinuz, whole.config_file])
    return whole
