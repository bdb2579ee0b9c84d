# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages for the board, fetched and verified by apt, unpacked without root.

apt runs on a private state folder in the cache, with its own list of sources and Debian's archive
keys. The sources are derived from the mirrors that this machine's apt is configured with. That
configuration is read and never written.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base.digest import digest, file_digest
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import cache_dir
from nandlab.board import loader
from nandlab.board.cache import entry, place

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Suite:
    """A Debian release and architecture, e.g. bookworm, amd64."""

    release: str
    arch: str


def _run(*argv: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            f"{argv[0]} is not on this machine: nandlab fetches the board's kernel with Debian's "
            "apt; run `nandlab doctor`"
        ) from None
    if done.returncode:
        raise NandlabError(f"{' '.join(argv[:1] + argv[-2:])} failed:\n{done.stderr.strip()}")
    return done.stdout


def _source_lines(suite: Suite, kind: str) -> list[str]:
    """Lines for a sources.list, taken from what this machine's apt is configured with.

    kind: "deb" for packages, with all updates; "deb-src" for sources of the release, without
    updates.
    """
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = _run("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    found = {tuple(line.split()) for line in targets.splitlines() if line.strip()}
    debian = sorted(t for t in found if t[2] == "main" and "-" not in t[1])
    if not debian:
        raise UsageError(
            "apt on this machine has no source of Debian's main archive; the board's kernel comes "
            "from there: add one for the release that this machine runs"
        )
    codename = suite.release.partition("-")[0]
    mine = sorted(t for t in found if t[1].partition("-")[0] == codename and t[2] == "main")
    if suite.release not in (release for _, release, _ in mine):
        mine.append((debian[0][0], suite.release, "main"))
    if kind == "deb-src":  # an archive of updates may name sources that it no longer holds
        mine = [t for t in mine if t[1] == suite.release]
    options = f"[arch={suite.arch} signed-by={KEYRING}]"
    return [f"{kind} {options} {uri} {release} {component}" for uri, release, component in mine]


class Apt:
    """apt with a state folder of its own."""

    def __init__(self, suite: Suite, kind: str = "deb") -> None:
        if not KEYRING.exists():
            raise UsageError(f"{KEYRING} is missing: install debian-archive-keyring")
        lines = _source_lines(suite, kind)
        self.folder = cache_dir() / "apt" / digest([lines, suite.arch])[:20]
        for sub in ("lists/partial", "archives/partial"):
            (self.folder / sub).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        sources = self.folder / "sources.list"
        sources.write_text("\n".join(lines) + "\n")
        settings: dict[str, str | Path] = {
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "-",
            "Dir::State": self.folder,
            "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",  # empty: nothing counts as installed
            "Dir::Cache": self.folder,
            "APT::Architecture": suite.arch,
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        if "-" in suite.release:  # backports are taken only when asked for
            settings["APT::Default-Release"] = suite.release
        self.options = [word for k, v in settings.items() for word in ("-o", f"{k}={v}")]

    def update(self) -> None:
        _run("apt-get", *self.options, "-q", "update", "--error-on=any")

    def depends(self, package: str) -> list[str]:
        text = _run("apt-cache", *self.options, "depends", "--important", package)
        return re.findall(r"Depends: ([^<\s]+)", text)

    def with_dependencies(self, packages: list[str]) -> list[str]:
        """The packages and all that they depend on, as apt would install on an empty system."""
        argv = ("-q", "--simulate", "--no-install-recommends", "install", *packages)
        return re.findall(r"^Inst (\S+)", _run("apt-get", *self.options, *argv), re.MULTILINE)

    def download(self, packages: list[str], folder: Path) -> None:
        _run("apt-get", *self.options, "-q", "download", *packages, cwd=folder)

    def download_source(self, package: str, folder: Path) -> None:
        """A source package's files, each of which apt checks against the signed list."""
        argv = ("-q", "--download-only", "--only-source", "source", package)
        _run("apt-get", *self.options, *argv, cwd=folder)


def _fetch(suite: Suite, kernel: str, tools: list[str], folder: Path) -> None:
    apt = Apt(suite)
    apt.update()
    image = next(p for p in apt.depends(f"linux-image-{kernel}") if p.startswith("linux-image-"))
    headers = image.replace("linux-image-", "linux-headers-").replace("-unsigned", "")
    parts = apt.depends(headers)
    common = [p for p in parts if p.startswith("linux-headers-")]
    programs = [p for p in parts if p.startswith("linux-kbuild-")] + tools
    _unpack(apt, [image, headers, *common, *apt.with_dependencies(programs)], folder)
    _make_relocatable(folder / "root/usr/src" / headers)
    loader.wrap(folder / "root", "usr/lib/linux-kbuild-*/**")
    (folder / "release.txt").write_text(image.removeprefix("linux-image-") + "\n")


def _unpack(apt: Apt, names: list[str], folder: Path) -> None:
    """Unpacks packages into ``folder/root``; lists files and digests in ``packages.txt``."""
    debs = folder / "debs"
    debs.mkdir()
    apt.download(names, debs)
    for deb in sorted(debs.iterdir()):
        _run("dpkg-deb", "-x", str(deb), str(folder / "root"))
    loader.check(folder / "root")
    listing = [f"{deb.name} {file_digest(deb)}\n" for deb in sorted(debs.iterdir())]
    (folder / "packages.txt").write_text("".join(listing))
    shutil.rmtree(debs)


def _make_relocatable(headers: Path) -> None:
    """Makes the headers' one-line Makefile include from its own parent, not from /usr/src."""
    makefile = headers / "Makefile"
    beside = "$(dir $(lastword $(MAKEFILE_LIST)))../"
    makefile.write_text(makefile.read_text().replace("/usr/src/", beside))


@dataclass(frozen=True)
class Packages:
    """Unpacked packages: a kernel image, its modules and headers, and tools for the board."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def release(self) -> str:
        """The kernel's release as ``uname -r`` gives it."""
        return (self.folder / "release.txt").read_text().strip()

    @property
    def versions(self) -> list[str]:
        """File name (with version) and SHA-256 of each package."""
        return (self.folder / "packages.txt").read_text().splitlines()

    @property
    def config(self) -> dict[str, str]:
        """The kernel's configuration, values by symbol; its version is under LINUX."""
        text = (self.root / "boot" / f"config-{self.release}").read_text()
        version = ".".join(self.release.split(".")[:2])
        return {"LINUX": version, **dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.MULTILINE))}

    @property
    def vmlinuz(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        return self.root / "lib/modules" / self.release

    @property
    def headers(self) -> Path:
        return self.root / "usr/src" / f"linux-headers-{self.release}"


def packages(suite: Suite, kernel: str, tools: list[str]) -> Packages:
    """The kernel package ``linux-image-KERNEL``, its headers and some tools, from the cache.

    Once fetched they stay as they are, so that results keep their kernel. To take a newer one,
    remove the folder ``packages`` of the cache (``nandlab doctor`` names it).
    """
    inputs = _inputs(suite, kernel, tools)
    return Packages(entry("packages", inputs, lambda f: _fetch(suite, kernel, tools, f)))


def unpacked(suite: Suite, names: list[str]) -> Path:
    """The folder of some packages and their dependencies, unpacked, cached as in packages()."""

    def fetch(folder: Path) -> None:
        apt = Apt(suite)
        apt.update()
        _unpack(apt, apt.with_dependencies(names), folder)

    inputs = {"suite": [suite.release, suite.arch], "names": names, "form": 2}
    return entry("tools", inputs, fetch) / "root"


def packages_here(suite: Suite, kernel: str, tools: list[str]) -> Packages | None:
    """The result of packages() if it is in the cache, else None; fetches nothing."""
    folder = place("packages", _inputs(suite, kernel, tools))
    return Packages(folder) if folder.is_dir() else None


def _inputs(suite: Suite, kernel: str, tools: list[str]) -> dict[str, Any]:
    return {"suite": [suite.release, suite.arch], "kernel": kernel, "tools": tools, "form": 3}
