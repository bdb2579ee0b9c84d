# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages are unpacked as Debian's own tool does it, merged, and no bad one gets through."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from support.debmirror import ar, deb

from nandlab.base.errors import UsageError
from nandlab.board.kit.deb import unpack_package


def test_files_and_links_are_where_they_belong(tmp_path: Path) -> None:
    deb(tmp_path / "a.deb", there="text", link=None)
    unpack_package(tmp_path / "a.deb", tmp_path / "root")
    assert (tmp_path / "root/usr/share/there").read_text() == "text"
    assert (tmp_path / "root/usr/share/link").read_text() == "text"  # absolute in the package


def test_a_package_may_bring_the_links_of_merged_folders(tmp_path: Path) -> None:
    """As base-files of trixie does; the folders may be there already."""
    tree = tmp_path / "tree"
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/tool").write_text("a tool")
    for top in ("bin", "lib"):
        (tree / top).symlink_to(f"usr/{top}")
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        "Package: t\nVersion: 1\nArchitecture: all\nMaintainer: t <t@nowhere>\nDescription: t\n"
    )
    subprocess.run(["dpkg-deb", "-b", tree, tmp_path / "t.deb"], check=True, capture_output=True)
    (tmp_path / "root/usr/bin").mkdir(parents=True)
    unpack_package(tmp_path / "t.deb", tmp_path / "root")
    assert (tmp_path / "root/usr/bin/tool").read_text() == "a tool"
    assert not (tmp_path / "root/usr/lib").is_symlink()


def test_it_gives_what_dpkg_deb_gives(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name, mode in (("bin/tool", 0o4755), ("usr/lib/x/data", 0o640), ("usr/share/man/m", 0o644)):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(bytes(range(256)) * 50)
        (tree / name).chmod(mode)
    (tree / "usr/lib/x/hard").hardlink_to(tree / "usr/lib/x/data")
    (tree / "usr/lib/x/soft").symlink_to("data")
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        "Package: t\nVersion: 1\nArchitecture: all\nMaintainer: t <t@nowhere>\nDescription: t\n"
    )
    package = tmp_path / "t.deb"
    subprocess.run(["dpkg-deb", "-Zxz", "-b", tree, package], check=True, capture_output=True)
    subprocess.run(["dpkg-deb", "-x", package, tmp_path / "theirs"], check=True)
    unpack_package(package, tmp_path / "ours")
    for name in ("usr/lib/x/data", "usr/lib/x/hard", "usr/lib/x/soft"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    assert (tmp_path / "ours/usr/lib/x/soft").is_symlink()
    assert (tmp_path / "ours/usr/bin/tool").stat().st_mode & 0o7777 == 0o755
    assert not (tmp_path / "ours/bin").exists()
    assert not (tmp_path / "ours/usr/share/man").exists()


def leads_out(name: str, **how: object) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        info = tarfile.TarInfo(name)
        for key, value in how.items():
            setattr(info, key, value)
        tar.addfile(info)
    return ar({"debian-binary": b"2.0\n", "data.tar.xz": data.getvalue()})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it does not begin as one"),
        (b"<html>not found</html>", "it does not begin as one"),
        (ar({"debian-binary": b"2.0\n"}), "it has no data"),
        (ar({"data.tar.zst": b"x"}), "its data are packed as zst"),
        (ar({"data.tar.xz": b"rubbish"}), "invalid|lzma|open"),
        (leads_out("../out"), "leads out of the root"),
        (leads_out("/etc/passwd"), "leads out of the root"),
        (leads_out("x", type=tarfile.LNKTYPE, linkname="../../y"), "leads out of the root"),
    ],
)
def test_what_is_no_package_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.deb").write_bytes(content)
    with pytest.raises(UsageError, match=rf"a\.deb: not a Debian package.*: .*({said})"):
        unpack_package(tmp_path / "a.deb", tmp_path / "root")


def test_a_package_that_ends_too_early_is_told(tmp_path: Path) -> None:
    deb(tmp_path / "a.deb", there="text" * 5000)
    whole = (tmp_path / "a.deb").read_bytes()
    (tmp_path / "a.deb").write_bytes(whole[: len(whole) - 90])
    with pytest.raises(UsageError, match="not a Debian package"):
        unpack_package(tmp_path / "a.deb", tmp_path / "root")
