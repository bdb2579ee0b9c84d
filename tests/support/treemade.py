# SPDX-License-Identifier: GPL-2.0-or-later
"""A small root file system from packages of our own, which need no mirror."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

from nandlab.base.digest import digest_file
from support.debmirror import ar

BEGAN_S = 1_200_000_000
"""The time of the first entry of a package, in seconds; each further one is a second later."""
TREE = """\
name = "small"
summary = "A tree for tests"
release = "bookworm"
arch = "amd64"
packages = ["one", "two"]
leave_out = ["usr/share/doc", "**/*.a"]
keep = ["usr/share/doc/*/copyright"]
[links]
"bin/sh" = "tool"
[copies]
"etc/passwd" = "usr/share/passwd"
[texts]
"etc/boot.list" = "bin/tool\\netc/conf\\n"
"""
UNMERGED = TREE.replace("packages =", "merged_usr = false\npackages =")


def entry(name: str, content: bytes | None = None, **how: object) -> tuple[tarfile.TarInfo, bytes]:
    """An entry of a package: a file if it has content, else a folder, or what ``how`` says."""
    info = tarfile.TarInfo(f"./{name}")
    info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    info.mode = 0o755 if content is None else 0o644
    info.size = len(content or b"")
    for key, value in how.items():
        setattr(info, key, value)
    return info, content or b""


def package(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> str:
    """Writes a package with these entries; its SHA-256. Equal entries give equal bytes."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        for n, (info, content) in enumerate(entries):
            info.mtime = BEGAN_S + n
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(ar({"debian-binary": b"2.0\n", "data.tar.xz": data.getvalue()}))
    return digest_file(path)


def packages(folder: Path) -> dict[str, str]:
    """The two packages of TREE, in a folder."""
    data = random.Random(1).randbytes(40_000)
    folder.mkdir(parents=True, exist_ok=True)
    one = package(
        folder / "one_1_amd64.deb",
        entry("bin"),
        entry("bin/tool", data, mode=0o4755),
        entry("bin/again", type=tarfile.LNKTYPE, linkname="./bin/tool"),
        entry("etc"),
        entry("etc/conf", b"one = 1\n", mode=0o640, uid=7, gid=8),
        entry("dev/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
        entry("usr/share/doc/one"),
        entry("usr/share/doc/one/copyright", b"free\n"),
        entry("usr/share/doc/one/manual", b"long\n" * 99),
    )
    two = package(
        folder / "two_2_amd64.deb",
        entry("usr/share", mode=0o775),
        entry("usr/share/passwd", b"root:x:0:0\n"),
        entry("usr/lib/libx.a", b"x" * 99),
        entry("usr/lib/libx.so", type=tarfile.SYMTYPE, linkname="/usr/lib/libx.so.1"),
        entry("usr/lib/libx.so.1", data[:9000]),
        entry("etc"),
    )
    return {"one_1_amd64.deb": one, "two_2_amd64.deb": two}


def project(home: Path, text: str = TREE, files: dict[str, str] | None = None) -> dict[str, str]:
    """A project's catalog with the tree, its lock beside it, its packages in ``debs``.

    NANDLAB_PACKAGES is to name that folder.
    """
    debs = packages(home / "debs") if files is None else files
    trees = home / "catalog" / "trees"
    trees.mkdir(parents=True, exist_ok=True)
    (trees / "small.toml").write_text(text)
    lines = "".join(f'"{name}" = "{sha256}"\n' for name, sha256 in debs.items())
    (trees / "trees.lock").write_text(f'["tree bookworm amd64 small"]\n{lines}')
    return debs
