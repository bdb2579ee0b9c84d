# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree's archive gives the tree back, and a stranger's reaches nothing outside of its folder."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path

import pytest
from support import trees

from nandlab.base.errors import NandlabError
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.image import tree, treearchive

UBIFS = load_noun("filesystems", "ubifs", FilesystemModel)


def test_an_archive_holds_the_tree_and_gives_it_back(tmp_path: Path) -> None:
    trees.grow(tmp_path / "t", odd=True)
    whole = tree.add_file_checksums(tree.scan_folder_tree(tmp_path / "t"), tmp_path / "t")
    assert whole.counts()["files"] == len([p for p in (tmp_path / "t").rglob("*") if p.is_file()
                                           and not p.is_symlink()]) - 1  # fmt: skip
    archive, first_bytes = treearchive.pack_tree_archives(whole, tmp_path / "t")
    treearchive.unpack_archive(archive[:first_bytes], tmp_path / "u", set_id=True)
    again = tree.add_file_checksums(tree.scan_folder_tree(tmp_path / "u"), tmp_path / "u")
    assert tree.format_tree_differences(whole, again, UBIFS) == []
    (tmp_path / "u/big").write_bytes(bytes(1 << 20))
    (tmp_path / "u/upper").unlink()
    spoilt = tree.add_file_checksums(tree.scan_folder_tree(tmp_path / "u"), tmp_path / "u")
    found = "\n".join(tree.format_tree_differences(whole, spoilt, UBIFS))
    assert "upper is missing" in found
    assert "big: CRC-32 is" in found


def test_set_id_bits_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/program").touch()
    (tmp_path / "t/program").chmod(0o6755)
    archive, first_bytes = treearchive.pack_tree_archives(
        tree.scan_folder_tree(tmp_path / "t"), tmp_path / "t"
    )
    for keep, mode in ((False, 0o755), (True, 0o6755)):
        to = tmp_path / f"u{keep}"
        treearchive.unpack_archive(archive[:first_bytes], to, set_id=keep)
        assert stat.S_IMODE((to / "program").stat().st_mode) == mode


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_devices_and_fifos_are_left_out_and_named(tmp_path: Path, kind: bytes) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        entries = [("./", tarfile.DIRTYPE), ("./a", kind), ("./also", tarfile.LNKTYPE)]
        for name, of in [*entries, ("./b", tarfile.REGTYPE)]:
            member = tarfile.TarInfo(name)
            member.type, member.mode = of, 0o777
            member.linkname = "./a" if of == tarfile.LNKTYPE else ""
            tar.addfile(member)
    assert treearchive.unpack_archive(content.getvalue(), tmp_path / "t") == ["a", "also"]
    assert [p.name for p in (tmp_path / "t").iterdir()] == ["b"]


Members = list[tuple[bytes, str, str]]
"""Type, name and link of each member of an archive."""
OUT = "../../victim"


@pytest.mark.parametrize(
    "members",
    [
        [(tarfile.LNKTYPE, "./a", OUT)],
        [(tarfile.LNKTYPE, "./a", "/victim")],
        [(tarfile.SYMTYPE, "./a", OUT), (tarfile.LNKTYPE, "./b", "./a")],
        [(tarfile.SYMTYPE, "./a", ".."), (tarfile.LNKTYPE, "./b", "./a/victim")],
        [(tarfile.SYMTYPE, "./a", OUT), (tarfile.REGTYPE, "./a", "")],
        [(tarfile.SYMTYPE, "./a", ".."), (tarfile.REGTYPE, "./a/victim", "")],
        [(tarfile.SYMTYPE, "./a", ".."), (tarfile.DIRTYPE, "./a", "")],
        [(tarfile.REGTYPE, "./a", ""), (tarfile.REGTYPE, "./a", "")],
        [(tarfile.REGTYPE, OUT, "")],
        [(tarfile.REGTYPE, "./a/b", "")],
    ],
)
def test_no_archive_reaches_out_of_its_folder(tmp_path: Path, members: Members) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    before = victim.stat()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for kind, name, link in [(tarfile.DIRTYPE, "./", ""), *members]:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode, member.uid = kind, link, 0o777, 1000
            tar.addfile(member)
    (tmp_path / "in").mkdir()
    with pytest.raises(NandlabError):
        treearchive.unpack_archive(content.getvalue(), tmp_path / "in/to")
    assert victim.stat() == before  # its links, owner and mode too
    assert victim.read_text() == "whole"
