# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages of a built kernel: which files they have, and that equal files give equal bytes."""

from __future__ import annotations

import os
from pathlib import Path

from support.hostroot import HostRoot

from nandlab.board.kit.deb import unpack_package
from nandlab.board.kit.kernelpack import list_header_files, pack_kernel_package
from nandlab.catalog.arch import AMD64

TOOLS = HostRoot()


def write_files(top: Path, *names: str, content: bytes = b"x") -> Path:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return top


def test_a_package_unpacks_to_its_files(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"a program")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "text").write_bytes(b"odd")
    package = tmp_path / "linux-image-6.1.7-lean_1_amd64.deb"
    files = {"boot/vmlinuz": tmp_path / "text", "lib/modules/p": tmp_path / "program"}
    pack_kernel_package(package, files, TOOLS)
    unpack_package(package, tmp_path / "root")
    assert (tmp_path / "root/boot/vmlinuz").read_bytes() == b"odd"
    assert (tmp_path / "root/usr/lib/modules/p").read_bytes() == b"a program"
    assert os.access(tmp_path / "root/usr/lib/modules/p", os.X_OK)
    assert not os.access(tmp_path / "root/boot/vmlinuz", os.X_OK)


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    made = []
    for name, time_s in (("a", 1), ("b", 1_000_000)):
        folder = write_files(tmp_path / name, "one", "two")
        os.utime(folder / "one", (time_s, time_s))
        package = folder / "linux-image-6.1.7_1_amd64.deb"
        order = ("one", "two") if name == "a" else ("two", "one")
        pack_kernel_package(package, {f"boot/{n}": folder / n for n in order}, TOOLS)
        made.append(package.read_bytes())
    assert made[0] == made[1]
    assert made[0].startswith(b"!<arch>\n")


def test_headers_have_what_builds_of_modules_read(tmp_path: Path) -> None:
    source = write_files(
        tmp_path / "source",
        *("Makefile", "include/linux/mtd.h", "scripts/Makefile.build", "init/main.c"),
        *("arch/x86/Makefile", "arch/x86/include/asm/io.h", "arch/x86/mm/fault.c"),
        *("arch/x86/entry/Makefile", "scripts/kconfig/conf.c", "scripts/mod/modpost.c"),
    )
    out = write_files(
        tmp_path / "out",
        *(".config", "Module.symvers", "include/generated/autoconf.h", "vmlinux"),
        *("arch/x86/include/generated/asm/a.h", "scripts/mod/modpost.o"),
    )
    write_files(out, "scripts/mod/modpost", "tools/objtool/objtool", content=b"\x7fELF")
    for name in ("scripts/mod/modpost", "tools/objtool/objtool"):
        (out / name).chmod(0o755)
    files = list_header_files(source, out, AMD64)
    assert sorted(files) == [
        ".config",
        "Makefile",
        "Module.symvers",
        "arch/x86/Makefile",
        "arch/x86/entry/Makefile",
        "arch/x86/include/asm/io.h",
        "arch/x86/include/generated/asm/a.h",
        "include/generated/autoconf.h",
        "include/linux/mtd.h",
        "scripts/Makefile.build",
        "scripts/mod/modpost",
        "scripts/mod/modpost.c",
        "tools/objtool/objtool",
    ]
    assert files["scripts/mod/modpost"] == out / "scripts/mod/modpost"
