# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages and sources from the machine's own mirror, by apt.

apt runs on a private state folder in the cache, with its own list of sources. These are derived
from the mirrors that this machine's apt is configured with. That configuration is read and never
written.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import find_cache_folder
from nandlab.base.strings import DebianArch, Release, does_text_fit_type

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PRINTED_FILE = re.compile(r"^'\S+' (\S+) \d+ SHA256:([0-9a-f]{64})$", re.MULTILINE)
"""What apt prints of a file that it would fetch: URI, name, size, SHA-256."""


DEB = re.compile(r"([a-z0-9][a-z0-9.+-]*)_((?:[A-Za-z0-9.+~-]|%3a)+)_[a-z0-9-]+\.deb")
"""The file of a package: its name, version and architecture."""


class PackagesUnavailable(NandlabError):
    """The mirror does not have it, or there is no mirror."""


@dataclass(frozen=True)
class Suite:
    """A Debian release and architecture, e.g. bookworm, amd64."""

    release: str
    arch: str

    def __post_init__(self) -> None:
        """UsageError: both become a line of apt's list, and may be of a file from elsewhere."""
        if not does_text_fit_type(Release, self.release) or not does_text_fit_type(
            DebianArch, self.arch
        ):
            raise UsageError(f"{self.release!r}, {self.arch!r}: no release of Debian")

    @property
    def base(self) -> str:
        """The release that a suite of backports is for; else the release itself."""
        return self.release.partition("-")[0]


def _run_apt(*argv: str, cwd: Path | None = None) -> str:
    _refuse_control_characters(argv)
    if shutil.which(argv[0]) is None:
        raise PackagesUnavailable(f"there is no {argv[0]} on this machine")
    env = {**os.environ, "LC_ALL": "C", "LANGUAGE": ""}  # what it says is read
    result = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if "No space left on device" in result.stderr:
        raise OSError(
            errno.ENOSPC, f"No space left on device, while {argv[0]} wrote", str(cwd or "")
        )
    if result.returncode:
        raise PackagesUnavailable(
            _format_complaint(result.stderr) or f"{argv[0]} failed: {result.stderr.strip()}"
        )
    return result.stdout


def _refuse_control_characters(words: Iterable[str]) -> None:
    """UsageError: what apt is given is of one line; the patterns of models see to it before."""
    if wrong := next((word for word in words if not word.isprintable()), None):
        raise UsageError(f"{wrong!r}: apt is not given this")


def _format_complaint(stderr: str) -> str:
    """What apt complains of, in a line: the first two, and how many more."""
    lines = [e[3:] for e in stderr.splitlines() if e.startswith("E: ")]
    lines = [e for e in lines if not re.search("by (glob|regex)", e)]
    more = [f"and {len(lines) - 2} more"] if len(lines) > 2 else []
    return "; ".join([*lines[:2], *more])


def list_debian_mirrors() -> list[str]:
    """The archives with Debian's releases that this machine's apt knows."""
    try:
        return list(dict.fromkeys(uri for _, uri, origin in _list_archives() if origin == "Debian"))
    except PackagesUnavailable:
        return []


def _list_archives() -> list[tuple[str, str, str]]:
    """Release, URI and origin of each archive that this machine's apt is configured with."""
    form = "$(RELEASE) $(REPO_URI) $(ORIGIN)"
    told = _run_apt("apt-get", "indextargets", "--format", form, "Component: main")
    lines = {line.strip() for line in told.splitlines() if line.count(" ") >= 2}
    return [(r, uri, origin) for r, uri, origin in (e.split(maxsplit=2) for e in sorted(lines))]


def _make_source_lines(suite: Suite, kind: str) -> list[str]:
    """Lines for a sources.list: the suite's main component, and its base's, from known mirrors.

    kind: "deb" or "deb-src". Updates and security are left out: not every machine has them, and a
    release without them is what mirrors hold longest.
    """
    known = _list_archives()
    debian = [uri for release, uri, origin in known if origin == "Debian" and "-" not in release]
    lines = []
    for release in dict.fromkeys((suite.base, suite.release)):
        mine = [(uri, origin) for r, uri, origin in known if r == release]
        mine = mine or [(uri, "Debian") for uri in debian[:1]]
        for uri, origin in dict.fromkeys(mine):
            signed = f" signed-by={KEYRING}" if origin == "Debian" else ""
            lines.append(f"{kind} [arch={suite.arch}{signed}] {uri} {release} main")
    if not lines:
        raise PackagesUnavailable(
            "apt on this machine has no source of Debian's main archive, or has not fetched its "
            "lists yet: apt-get update"
        )
    return lines


_fetched_lists: ContextVar[set[Path] | None] = ContextVar("fetched", default=None)
"""State folders whose lists were fetched within fetch_lists_once(); None: outside of it."""


@contextmanager
def fetch_lists_once() -> Iterator[None]:
    """Meanwhile the lists of the same archives are fetched once, whatever is asked of them."""
    fetched = _fetched_lists.get()
    token = _fetched_lists.set(set() if fetched is None else fetched)
    try:
        yield
    finally:
        _fetched_lists.reset(token)


class Apt:
    """apt with a state folder of its own."""

    def __init__(self, suite: Suite, kind: str = "deb") -> None:
        lines = _make_source_lines(suite, kind)
        _refuse_control_characters(lines)
        if "signed-by" in "".join(lines) and not KEYRING.exists():
            raise PackagesUnavailable(f"{KEYRING} is missing: install debian-archive-keyring")
        self.folder = find_cache_folder() / "apt" / digest_json_value([lines, suite.arch])[:20]
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
        if suite.release != suite.base:  # backports are taken only when asked for
            settings["APT::Default-Release"] = suite.release
        self.options = [word for k, v in settings.items() for word in ("-o", f"{k}={v}")]

    def update(self) -> None:
        """Fetches the lists of its archives; PackagesUnavailable if one is not to be had."""
        fetched = _fetched_lists.get()
        if fetched is not None and self.folder in fetched:
            return
        _run_apt("apt-get", *self.options, "-q", "update", "--error-on=any")
        if fetched is not None:
            fetched.add(self.folder)

    def depends(self, package: str) -> list[str]:
        text = _run_apt("apt-cache", *self.options, "depends", "--important", package)
        return re.findall(r"Depends: ([^<\s]+)", text)

    def with_dependencies(self, packages: list[str]) -> list[str]:
        """The packages and all that they depend on, as apt would install on an empty system."""
        argv = ("-q", "--simulate", "--no-install-recommends", "install", *packages)
        return re.findall(r"^Inst (\S+)", _run_apt("apt-get", *self.options, *argv), re.MULTILINE)

    def files(self, packages: list[str]) -> dict[str, str]:
        """The newest files of these packages: SHA-256 by file name. Nothing is fetched."""
        told = _run_apt("apt-get", *self.options, "-q", "--print-uris", "download", *packages)
        return dict(sorted(PRINTED_FILE.findall(told)))

    def source_files(self, package: str) -> dict[str, str]:
        """The newest files of a source package: SHA-256 by file name. Nothing is fetched."""
        argv = ("-q", "--print-uris", "--only-source", "source", package)
        return dict(sorted(PRINTED_FILE.findall(_run_apt("apt-get", *self.options, *argv))))

    def download(self, files: list[str], folder: Path) -> None:
        """Fetches packages by the names of their files; NotToBeHad if one is not there."""
        named = [(file, DEB.fullmatch(file)) for file in files]
        if strange := next((file for file, parts in named if parts is None), None):
            raise PackagesUnavailable(f"{strange!r} is no file of a Debian package")
        wanted = [f"{parts[1]}={unquote(parts[2])}" for _, parts in named if parts]
        _run_apt("apt-get", *self.options, "-q", "download", *wanted, cwd=folder)

    def download_source(self, package: str, version: str, folder: Path) -> None:
        """A source package's files, by its version without epoch, as its files' names have it."""
        told = _run_apt("apt-cache", *self.options, "showsrc", "--only-source", package)
        known = re.findall(r"^Version: (\S+)$", told, re.MULTILINE)
        full = next((v for v in known if v.partition(":")[2] == version or v == version), None)
        if full is None:
            raise PackagesUnavailable(
                f"the mirror has no version {version} of the source {package}"
            )
        argv = ("-q", "--download-only", "--only-source", "source", f"{package}={full}")
        _run_apt("apt-get", *self.options, *argv, cwd=folder)
