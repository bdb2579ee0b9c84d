# SPDX-License-Identifier: GPL-2.0-or-later
"""What boards and programs ask for: sets of packages, by what is to be in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from nandlab.board.kit.apt import Apt, PackagesUnavailable, Suite
from nandlab.board.kit.lock import Files
from nandlab.catalog.arch import ARCHS, HOST_ARCH

TOOLS = (
    *("make", "kmod", "mtd-utils", "gzip"),
    *("bash", "coreutils", "dash", "findutils", "grep", "mawk", "sed"),  # what builds run
    "libelf1",  # the kernel's own build programs need it
)
"""What builds need beside emulator and compiler, and what makes images."""
IMAGE_TOOLS = ("squashfs-tools", "erofs-utils", "coreutils")
"""What makes images of read-only file systems, and what starts it."""
KERNEL_BUILDERS = (
    *("bc", "bison", "diffutils", "flex", "m4", "perl-base", "xz-utils", "zstd"),
    *("libelf-dev", "libssl-dev"),
)
"""What a kernel's own build needs beside a board's tools: no module needs it."""
LINUX_SOURCE = "linux-source-"
"""How the packages of kernels' sources begin."""
IMAGE_PARTS = ("linux-base-", "linux-binary-", "linux-modules-")
"""How the names of the packages begin that newer releases have the image's files in."""
GUEST = ("busybox-static", "dosfstools", "libc6", "mtd-utils")
"""What the board's own tools come from."""
KERNEL_PACKAGES = ("linux-image-", "linux-headers-", "linux-kbuild-")
"""How the names of the packages begin that Debian's kernel consists of."""
OWN_KERNEL_PACKAGES = KERNEL_PACKAGES[:2]
"""The same of a kernel that `make bindeb-pkg` packed: its headers have the build programs."""


@dataclass(frozen=True)
class SuiteSet(ABC):
    """A set of packages of a suite."""

    suite: Suite
    kind: ClassVar[str] = "deb"
    """What apt calls their archive."""
    fixed: ClassVar[bool] = False
    """Whether no mirror has newer packages for it: a lock of it is never made anew."""

    @property
    def places(self) -> tuple[Path, ...]:
        """Folders of this machine that have packages of the set."""
        return ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The set's name in a lock."""

    @abstractmethod
    def resolve(self, apt: Apt) -> Files:
        """The mirror's newest files for the set."""

    def download(self, apt: Apt, files: Files, lacking: list[str], folder: Path) -> None:
        """Fetches into a folder what is lacking of the set's files; it may fetch others too."""
        apt.download(lacking, folder)


@dataclass(frozen=True)
class ToolSet(SuiteSet):
    """The emulator, compiler, image makers, which run on this machine."""

    board: str = HOST_ARCH
    """The architecture that they build for."""

    @property
    def name(self) -> str:
        own = "" if self.board == HOST_ARCH else f" for {self.board}"
        return f"tools {self.suite.release} {self.suite.arch}{own}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies([*ARCHS[self.board].tools, *TOOLS]))


@dataclass(frozen=True)
class ImageSet(SuiteSet):
    """The makers of read-only file systems; no board has them."""

    @property
    def name(self) -> str:
        return f"images {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies(list(IMAGE_TOOLS)))


@dataclass(frozen=True)
class KernelBuildSet(SuiteSet):
    """What builds a kernel from its tree, beside a board's tools; no board has it."""

    @property
    def name(self) -> str:
        return f"builders {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies(list(KERNEL_BUILDERS)))


@dataclass(frozen=True)
class KernelSet(SuiteSet):
    """A kernel, its headers and build programs, and the board's tools."""

    flavour: str
    """The package that stands for the newest one is linux-image-FLAVOUR."""

    @property
    def name(self) -> str:
        return f"kernel {self.suite.release} {self.suite.arch} {self.flavour}"

    def resolve(self, apt: Apt) -> Files:
        found = apt.depends(f"linux-image-{self.flavour}")
        image = next((p for p in found if p.startswith("linux-image-")), None)
        if image is None:
            raise PackagesUnavailable(f"linux-image-{self.flavour} depends on no kernel")
        headers = image.replace("linux-image-", "linux-headers-").replace("-unsigned", "")
        parts = apt.depends(headers)
        more = [p for p in parts if p.startswith("linux-headers-")]
        more += [p for p in apt.depends(image) if p.startswith(IMAGE_PARTS)]
        own = apt.files([image, headers, *more, *apt.with_dependencies(list(GUEST))])
        run_here = self._of_host(apt).files([p for p in parts if p.startswith("linux-kbuild-")])
        return dict(sorted({**own, **run_here}.items()))

    def download(self, apt: Apt, files: Files, lacking: list[str], folder: Path) -> None:
        run_here = [file for file in lacking if file.startswith("linux-kbuild-")]
        if own := [file for file in lacking if file not in run_here]:
            apt.download(own, folder)
        if run_here:
            self._of_host(apt).download(run_here, folder)

    def _of_host(self, apt: Apt) -> Apt:
        """apt for what runs on this machine: the kernel's build programs."""
        if self.suite.arch == HOST_ARCH:
            return apt
        found = Apt(replace(self.suite, arch=HOST_ARCH))
        found.update()
        return found


@dataclass(frozen=True)
class OwnKernelSet(SuiteSet):
    """A kernel of the user's own and its headers; and the board's tools, which are Debian's."""

    kernel: str
    """The board that it was made for first."""
    folder: Path | None = field(default=None, compare=False)
    """Has the two packages of the kernel; None: only the cache does."""
    fixed: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"kernel own {self.suite.arch} {self.kernel}"

    @property
    def places(self) -> tuple[Path, ...]:
        return (self.folder,) if self.folder and self.folder.is_dir() else ()

    def resolve(self, apt: Apt) -> Files:
        raise PackagesUnavailable(self._explain("its packages"))

    def download(self, apt: Apt, files: Files, lacking: list[str], folder: Path) -> None:
        if absent := next((file for file in lacking if file.startswith(OWN_KERNEL_PACKAGES)), None):
            raise PackagesUnavailable(self._explain(absent))
        apt.download(lacking, folder)

    def _explain(self, missing: str) -> str:
        where = f" in {self.folder}" if self.folder else ""
        return (
            f"{missing}: a kernel of your own is on no mirror: put the two packages back{where}, "
            "or make the board anew by `nandlab board make`"
        )


@dataclass(frozen=True)
class LibrarySet(SuiteSet):
    """What programs are linked with: these packages, without what they depend on."""

    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"library {self.suite.release} {self.suite.arch} {' '.join(self.packages)}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(list(self.packages))


@dataclass(frozen=True)
class SourceSet(SuiteSet):
    """A source package."""

    package: str
    kind: ClassVar[str] = "deb-src"

    @property
    def name(self) -> str:
        return f"source {self.suite.release} {self.package}"

    def resolve(self, apt: Apt) -> Files:
        return apt.source_files(self.package)

    def download(self, apt: Apt, files: Files, lacking: list[str], folder: Path) -> None:
        dsc = next((name for name in files if name.endswith(".dsc")), "")
        apt.download_source(self.package, dsc.removesuffix(".dsc").partition("_")[2], folder)


@dataclass(frozen=True)
class KernelSourceSet(SuiteSet):
    """The source of a kernel, with Debian's changes: the package linux-source-VERSION."""

    version: str
    """Of the kernel, such as 6.1."""

    @property
    def name(self) -> str:
        return f"source {self.suite.release} {LINUX_SOURCE}{self.version}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files([f"{LINUX_SOURCE}{self.version}"])


@dataclass(frozen=True)
class TreeSet(SuiteSet):
    """What a root file system is unpacked from: these packages alone."""

    packages: tuple[str, ...]
    tree: str

    @property
    def name(self) -> str:
        return f"tree {self.suite.release} {self.suite.arch} {self.tree}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(list(self.packages))
