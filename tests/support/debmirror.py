# SPDX-License-Identifier: GPL-2.0-or-later
"""Small packages, and an archive of them that apt takes for a mirror."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from nandlab.base.digest import digest_file
from nandlab.board.kit.lock import Files


def deb(path: Path, **files: str | None) -> str:
    """Writes a package with these files (``None``: a link to ``there``); its SHA-256."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"./usr/share/{name}")
            if text is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/usr/share/there"
            else:
                info.size = len(text)
            tar.addfile(info, io.BytesIO((text or "").encode()))
    path.write_bytes(ar({"debian-binary": b"2.0\n", "data.tar.xz": data.getvalue()}))
    return digest_file(path)


def ar(members: dict[str, bytes]) -> bytes:
    """An ar archive."""
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def _temporary(prefix: str) -> Path:
    """A folder that is removed at the process's end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _key() -> Path:
    """A folder with a key of its own, made once a process."""
    home = _temporary("nandlab-gpg-")
    _gpg(home, "--quick-gen-key", "test@nowhere", "default", "default", "never")
    return home


def _gpg(home: Path, *words: str) -> bytes:
    argv = ["gpg", "--homedir", str(home), "--batch", "--passphrase", "", "--yes", *words]
    told = subprocess.run(argv, check=True, capture_output=True).stdout
    # gpg has left an agent running
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True)
    return told


def gpg(*words: str) -> bytes:
    """What gpg prints; it has one key."""
    return _gpg(_key(), *words)


@cache
def _public_key() -> bytes:
    return gpg("--export")


class Mirror:
    """A signed archive of one suite, which the machine's apt is configured with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "keys").mkdir(parents=True)
        (folder / "keys" / "test.gpg").write_bytes(_public_key())
        (folder / "sources.list").write_text(f"deb file:{folder} bookworm main\n")
        (folder / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "-";\n'
            f'Dir::Etc::trustedparts "{folder}/keys";\nDir::State::lists "{folder}/lists";\n'
            # two processes that write the machine's own cache take it from each other
            f'Dir::Cache "{folder}/cache";\n'
        )
        (folder / "lists" / "partial").mkdir(parents=True)
        (folder / "cache").mkdir()

    def has(self, *packages: tuple[str, str, str]) -> Files:
        """Now has these packages (name, version, dependencies) and no others; their files."""
        for part in ("pool", "dists"):
            shutil.rmtree(self.folder / part, ignore_errors=True)
            # by its time apt knows that a file is another: a copy has the time of now
            made, copy = _archive(packages) / part, shutil.copy
            shutil.copytree(made, self.folder / part, copy_function=copy)
        # the machine's own apt knows the archive once it has been updated
        env = {"APT_CONFIG": str(self.folder / "apt.conf"), "PATH": "/usr/bin:/bin"}
        subprocess.run(["apt-get", "update", "-q"], env=env, check=True, capture_output=True)
        return {p.name: digest_file(p) for p in sorted((self.folder / "pool").iterdir())}


@cache
def _archive(packages: tuple[tuple[str, str, str], ...]) -> Path:
    """A folder with these packages and their signed index, made once a process."""
    folder = _temporary("nandlab-archive-")
    (folder / "pool").mkdir()
    for name, version, depends in packages:
        _build(folder / "pool", name, version, depends)
    where = folder / "dists/bookworm/main/binary-amd64"
    where.mkdir(parents=True)
    scan = ["dpkg-scanpackages", "--multiversion", "pool"]
    index = subprocess.run(scan, cwd=folder, check=True, capture_output=True).stdout
    (where / "Packages").write_bytes(index)
    release = where.parents[1] / "Release"
    release.write_text(
        "Origin: Test\nSuite: bookworm\nCodename: bookworm\nComponents: main\n"
        "Architectures: amd64\nDate: Sun, 01 Nov 2026 00:00:00 UTC\nSHA256:\n "
        f"{digest_file(where / 'Packages')} {len(index)} main/binary-amd64/Packages\n"
    )
    gpg("--clearsign", "--output", str(release.with_name("InRelease")), str(release))
    return folder


def _build(pool: Path, name: str, version: str, depends: str) -> None:
    out = pool / f"{name}_{version.replace(':', '%3a')}_amd64.deb"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        tree.chmod(0o755)
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN" / "control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: t <t@nowhere>\n"
            f"Description: for tests\n" + (f"Depends: {depends}\n" if depends else "")
        )
        argv = ["dpkg-deb", "--root-owner-group", "-Zxz", "-b", str(tree), str(out)]
        # fixed times: the same package has the same bytes whenever it is made
        env = {"SOURCE_DATE_EPOCH": "0", "PATH": "/usr/bin:/bin"}
        for path in (tree / "DEBIAN", tree / "DEBIAN/control", tree):
            os.utime(path, (0, 0))
        subprocess.run(argv, env=env, check=True, capture_output=True)
