# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's packages are taken if a board can run them, and else refused with the reason."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from support import kernelmade
from support.kernelmade import RELEASE, VERSION

from nandlab.base.errors import UsageError
from nandlab.board.kit import ownkernel
from nandlab.board.kit.ownkernel import check_kernel_packages, find_kernel_packages

IMAGE = f"linux-image-{RELEASE}_{VERSION}_amd64.deb"
HEADERS = f"linux-headers-{RELEASE}_{VERSION}_amd64.deb"


def test_the_packages_of_a_folder(tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    for other in (
        f"linux-libc-dev_{VERSION}_amd64.deb",
        f"linux-image-{RELEASE}-dbg_{VERSION}_amd64.deb",
        f"linux-upstream_{VERSION}_amd64.changes",
    ):
        (tmp_path / other).touch()
    parts = find_kernel_packages(tmp_path)
    assert (parts.release, parts.arch) == (RELEASE, "amd64")
    assert (parts.image.name, parts.headers.name) == (IMAGE, HEADERS)
    assert check_kernel_packages(parts)["CONFIG_KPROBES"] == "y"


def refuse(folder: Path, *words: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_kernel_packages(find_kernel_packages(folder))
    for word in words:
        assert word in str(refused.value)


def test_a_folder_that_has_not_one_kernel_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path / "none", str(tmp_path / "none"))
    kernelmade.write_kernel_packages(tmp_path)
    kernelmade.write_kernel_packages(tmp_path, release="6.6.2-ours")
    refuse(tmp_path, "2 packages", IMAGE)
    for path in tmp_path.glob("*6.6.2*"):
        path.unlink()
    (tmp_path / HEADERS).rename(tmp_path / f"linux-headers-6.6.9_{VERSION}_amd64.deb")
    refuse(tmp_path, "of two kernels")
    for path in tmp_path.glob("linux-headers*"):
        path.unlink()
    refuse(tmp_path, "0 packages linux-headers")


def test_a_kernel_of_another_architecture_is_refused(tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    for path in tmp_path.iterdir():
        path.rename(tmp_path / path.name.replace("amd64", "riscv64"))
    refuse(tmp_path, "riscv64", "amd64 and armhf")


@pytest.mark.parametrize("lacking", ["boot/vmlinuz", "boot/config", "modules.builtin"])
def test_an_image_that_lacks_a_part_is_refused(lacking: str, tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    files = kernelmade.list_image_files()
    kernelmade.write_deb(tmp_path / IMAGE, {n: t for n, t in files.items() if lacking not in n})
    refuse(tmp_path, IMAGE, lacking, "bindeb-pkg")


def test_headers_that_lack_a_part_are_refused(tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    files = kernelmade.list_header_files()
    kernelmade.write_deb(tmp_path / HEADERS, {n: t for n, t in files.items() if "symvers" not in n})
    refuse(tmp_path, HEADERS, "Module.symvers")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("CONFIG_KPROBES=y\n", ""), ("CONFIG_KPROBES", "not set")),
        (("CONFIG_DEVMEM=y\n", "# CONFIG_DEVMEM is not set\n"), ("CONFIG_DEVMEM",)),
        (("CONFIG_MTD=y\n", "CONFIG_MODULE_SIG_FORCE=y\n"), ("CONFIG_MODULE_SIG_FORCE", "MTD")),
    ],
)
def test_a_kernel_without_what_the_board_needs_is_refused(
    change: tuple[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    files = kernelmade.list_image_files()
    config = f"boot/config-{RELEASE}"
    kernelmade.write_deb(tmp_path / IMAGE, files | {config: files[config].replace(*change)})
    refuse(tmp_path, IMAGE, *words)


def make_member(name: str, kind: bytes, to: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


@pytest.mark.parametrize(
    ("member", "word"),
    [
        (make_member("./lib/out", tarfile.SYMTYPE, "../../../etc"), "leads out"),
        (make_member("./a/../../b", tarfile.REGTYPE), "leads out"),
        (make_member("/etc/passwd", tarfile.REGTYPE), "leads out"),
        (make_member("./dev/sda", tarfile.BLKTYPE), "neither"),
        (make_member("./shadow", tarfile.LNKTYPE, "etc/shadow"), "neither"),
    ],
)
def test_a_member_that_no_kernel_has_is_refused(
    member: tarfile.TarInfo, word: str, tmp_path: Path
) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    kernelmade.write_deb(tmp_path / IMAGE, kernelmade.list_image_files(), member)
    refuse(tmp_path, IMAGE, word)


def test_the_links_of_a_kernel_are_taken(tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    modules = f"./lib/modules/{RELEASE}"
    links = (
        make_member(f"{modules}/build", tarfile.SYMTYPE, f"/usr/src/linux-headers-{RELEASE}"),
        make_member(f"{modules}/kernel", tarfile.SYMTYPE, "../other/./kernel"),
    )
    kernelmade.write_deb(tmp_path / IMAGE, kernelmade.list_image_files(), *links)
    assert check_kernel_packages(find_kernel_packages(tmp_path))


@pytest.mark.parametrize("kept", [0, 7, 100, 300])
def test_a_package_that_is_cut_is_refused(kept: int, tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    path = tmp_path / IMAGE
    path.write_bytes(path.read_bytes()[:kept])
    refuse(tmp_path, IMAGE)


def test_a_package_that_is_damaged_or_no_file_is_refused(tmp_path: Path) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    path = tmp_path / IMAGE
    content = bytearray(path.read_bytes())
    for place in range(200, len(content) - 1, 37):
        damaged = bytes(content[:place]) + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        path.write_bytes(damaged)
        try:
            check_kernel_packages(find_kernel_packages(tmp_path))
        except UsageError as e:
            assert IMAGE in str(e)
    path.unlink()
    path.mkdir()
    refuse(tmp_path, IMAGE, "a folder")


def test_a_package_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernelmade.write_kernel_packages(tmp_path)
    monkeypatch.setattr(ownkernel, "UNPACKED_BYTES_MAX", 10)
    refuse(tmp_path, IMAGE, "more than")
