# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of fetched packages take the libraries fetched beside them, and no others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nandlab.base.errors import NandlabError
from nandlab.board import debian, hosttools, loader
from nandlab.board.debian import Apt, unpacked
from nandlab.board.hosttools import HostTools
from nandlab.catalog.files import load, names
from nandlab.catalog.filesystem import FilesystemModel

TOOLS = sorted(
    {
        line.split()[0]
        for name in names("filesystems")
        for line in load("filesystems", name, FilesystemModel).image.make
    }
)
"""What the catalog's commands to make an image run."""


def opened(*argv: str | Path) -> set[str]:
    """The shared objects that a program has opened in a real run."""
    env = {**os.environ, "LD_DEBUG": "files"}
    told = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stderr
    return set(re.findall(r"calling init: (\S+)", told))


@pytest.fixture(scope="module")
def fetched() -> Path:
    return unpacked(hosttools.SUITE, [hosttools.PACKAGE])


@pytest.fixture
def root(fetched: Path, tmp_path: Path) -> Path:
    """A copy of the host tools' packages, to break."""
    copy = tmp_path / "tools" / "entry" / "root"
    shutil.copytree(fetched, copy, symlinks=True, copy_function=os.link)
    return copy


def without(root: Path, library: str) -> None:
    """Takes a library away; this machine has one of that name, which must not be taken for it."""
    for path in root.glob(f"**/{library}*"):
        path.unlink()
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    assert f"{library} " in known.stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_each_host_tool_runs(tool: str) -> None:
    HostTools().run(f"{tool} --version")


@pytest.mark.parametrize("tool", TOOLS)
def test_each_library_that_a_tool_opens_is_of_the_packages(fetched: Path, tool: str) -> None:
    found = opened(*loader.command(fetched, fetched / "usr/sbin" / tool), "--version")
    assert [w for w in found if "/libc.so" in w]
    assert not [w for w in found if not Path(w).is_relative_to(fetched)]


def test_a_library_that_only_this_machine_has_is_not_taken(root: Path) -> None:
    without(root, "libz.so.1")
    with pytest.raises(NandlabError) as told:
        loader.command(root, root / "usr/sbin/mkfs.ubifs")
    assert "mkfs.ubifs: libz.so.1: not among the packages fetched for it" in str(told.value)
    assert "remove the folder `tools` of the cache" in str(told.value)


def test_a_library_that_is_nowhere_is_told(root: Path) -> None:
    for path in root.glob("**/libiniparser.so*"):
        path.unlink()
    with pytest.raises(NandlabError, match=r"ubinize: libiniparser\.so\.1: not among"):
        loader.check(root)


def test_a_library_that_leads_out_of_the_packages_is_not_taken(root: Path) -> None:
    library = root / "lib/x86_64-linux-gnu/libz.so.1"
    library.unlink()
    library.symlink_to("/lib/x86_64-linux-gnu/libz.so.1")
    with pytest.raises(NandlabError, match=r"libz\.so\.1"):
        loader.check(root)


def test_packages_without_a_library_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What apt names is fetched; were a name missing there, nothing would be kept of it all."""
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    whole = Apt.with_dependencies
    monkeypatch.setattr(
        debian.Apt,
        "with_dependencies",
        lambda apt, names: [p for p in whole(apt, names) if p != "libiniparser1"],
    )
    with pytest.raises(NandlabError, match=r"ubinize: libiniparser\.so\.1: not among"):
        HostTools()
    assert [p.name for p in (tmp_path / "tools").iterdir() if p.is_dir()] == []


def test_a_wrapped_program_takes_the_libraries_beside_it(root: Path, tmp_path: Path) -> None:
    """As the kernel's build starts its programs: by their path, through links, from anywhere."""
    shutil.copy(root / "usr/sbin/ubinize", root / "usr/sbin/other")  # not linked with the cache's
    (root / "usr/lib/kbuild/deep").mkdir(parents=True)
    (root / "usr/sbin/other").rename(root / "usr/lib/kbuild/deep/tool")
    loader.wrap(root, "usr/lib/kbuild/**")
    moved = root.parent.rename(tmp_path / "moved") / "root"
    (tmp_path / "link").symlink_to(moved / "usr/lib/kbuild")
    found = opened(tmp_path / "link/deep/tool", "--version")
    (taken,) = [Path(w) for w in found if "libiniparser.so" in w]
    assert taken.resolve().is_relative_to(moved)


def test_a_wrapped_program_finds_the_one_that_it_hands_over_to(root: Path, tmp_path: Path) -> None:
    """As modpost and objtool of Debian's kernels do: they start their own name and .real-…."""
    source = tmp_path / "over.c"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        "int main(int argc, char **argv) { char to[4096];"
        'snprintf(to, sizeof(to), "%s.real-x86", argv[0]); execv(to, argv); return 9; }'
    )
    folder = root / "usr/lib/kbuild"
    folder.mkdir()
    subprocess.run(["gcc", "-o", folder / "tool", source], check=True)
    shutil.copy(root / "usr/sbin/ubinize", folder / "tool.real-x86")
    loader.wrap(root, "usr/lib/kbuild/**")
    found = opened(folder / "tool", "--version")
    (taken,) = [Path(w) for w in found if "libiniparser.so" in w]
    assert taken.resolve().is_relative_to(root)
