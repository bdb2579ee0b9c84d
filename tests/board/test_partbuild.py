# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the kernel from another source: what a build is given, what its mistakes tell, versions
of symbols. Builds themselves are in test_sources_board.py."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nandlab.base.cache import INPUTS
from nandlab.base.errors import SourceError, ToolError, UsageError
from nandlab.board.kit.complaints import LINES_SHOWN_MAX
from nandlab.board.kit.partsource import PartFiles, SourceRequest, add_patches, parse_source_words
from nandlab.board.kit.root import raise_disk_full
from nandlab.board.virtual import partbuild, partset
from nandlab.board.virtual.modversions import (
    parse_symvers,
    read_module_versions,
    refuse_unlike_versions,
)
from nandlab.board.virtual.partbuild import (
    CACHE_KIND,
    LIKE,
    PartModules,
    format_config_header,
    format_kbuild,
    has_other_headers,
    list_build_files,
    list_header_words,
    make_build_error,
    write_changed_file,
)
from nandlab.catalog.arch import AMD64, ARMHF
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.part import KIND, PartModel

UBI = load_noun(KIND, "ubi", PartModel)
KERNEL = cast(Any, SimpleNamespace(release="6.1.0-50-amd64"))


def test_a_symbol_is_set_for_make_and_for_the_compiler() -> None:
    settings = UBI.settings({"fastmap": True, "block": False})
    assert format_config_header(settings).splitlines() == [
        *("#undef CONFIG_MTD_UBI_BLOCK", "#undef CONFIG_MTD_UBI_BLOCK_MODULE"),
        *("#undef CONFIG_MTD_UBI_FASTMAP", "#undef CONFIG_MTD_UBI_FASTMAP_MODULE"),
        "#define CONFIG_MTD_UBI_FASTMAP 1",
    ]
    kbuild = format_kbuild(["ubi"], settings).splitlines()
    assert kbuild[:2] == ["CONFIG_MTD_UBI_BLOCK := ", "CONFIG_MTD_UBI_FASTMAP := y"]
    assert kbuild.index("include $(src)/Makefile") < kbuild.index("obj-m := ubi.o")
    assert "#define CONFIG_NFTL_MODULE 1" in format_config_header({"CONFIG_NFTL": "m"})
    number = UBI.settings({"wl_threshold": 2})
    assert "#define CONFIG_MTD_UBI_WL_THRESHOLD 2\n" in format_config_header(number)
    assert "CONFIG_MTD_UBI_WL_THRESHOLD := 2\n" in format_kbuild(["ubi"], number)


def test_a_build_has_the_parts_files() -> None:
    source = PartFiles({"drivers/mtd/ubi/ubi.h": b"1"}, "folder")
    files = list_build_files(UBI, source, {})
    assert files["Kbuild"] == b"obj-m += drivers/mtd/ubi/\n"
    assert files.keys() > {"drivers/mtd/ubi/ubi.h", "drivers/mtd/ubi/Kbuild"}


def test_a_part_for_32_bits_has_no_tables_of_devices(tmp_path: Path) -> None:
    """By a stand-in for the kernel's header, which the compiler finds first."""
    assert not [name for name in list_build_files(UBI, PartFiles({}, ""), {}) if "module.h" in name]
    assert list_header_words(AMD64, has_tree_headers=False) == []
    for path, content in list_build_files(UBI, PartFiles({}, ""), {}, ARMHF).items():
        write_changed_file(tmp_path / path, content)
    write_changed_file(
        tmp_path / "kernel/linux/module.h",
        b"#define MODULE_DEVICE_TABLE(type, name) table(type, name)\nkernel\n",
    )
    write_changed_file(
        tmp_path / "x.c", b"#include <linux/module.h>\nx MODULE_DEVICE_TABLE(of, ids);\n"
    )
    (word,) = list_header_words(ARMHF, has_tree_headers=False)
    name, _, flags = word.partition("=")
    own = [flag.replace("/build", str(tmp_path)) for flag in flags.split("-isystem")[0].split()]
    argv = ["gcc", "-E", "-P", *own, f"-I{tmp_path}/kernel", str(tmp_path / "x.c")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert name == "NOSTDINC_FLAGS"
    assert done.stdout.split() == ["kernel", "x", ";"]


def test_an_error_has_the_compilers_lines_and_no_more_than_help() -> None:
    noise = "In file included from x.c:1:\n"
    wrong = "".join(f"/build/drivers/mtd/ubi/io.c:{n}:2: error: no n{n}\n" for n in range(40))
    error = make_build_error(UBI, PartFiles({}, "folder"), KERNEL, "6.12.95", noise + wrong)
    assert error.exit_code == 2
    head, *lines, more, remedy = error.lines
    assert ("ubi" in head, "6.12.95" in head, "6.1.0-50-amd64" in head) == (True, True, True)
    assert lines == [f"drivers/mtd/ubi/io.c:{n}:2: error: no n{n}" for n in range(LINES_SHOWN_MAX)]
    assert (more, "kernel.md" in remedy) == ("and 28 more errors", True)
    other = make_build_error(UBI, PartFiles({}, "folder"), KERNEL, None, "make: odd\n")
    assert "make: odd" in other.lines


def test_what_the_machine_lacks_is_no_fault_of_the_source() -> None:
    killed = "cc: fatal error: Killed signal terminated program cc1\nmake: *** [a.o] Error 1\n"
    error = make_build_error(UBI, PartFiles({}, "folder"), KERNEL, None, killed)
    assert isinstance(error, ToolError)
    assert not isinstance(error, SourceError)
    full = subprocess.CompletedProcess([], 2, "", "as: cannot write a.o: No space left on device\n")
    with pytest.raises(OSError, match="No space"):
        raise_disk_full(full, "make")
    raise_disk_full(subprocess.CompletedProcess([], 2, "", "a.c:1: error: x\n"), "make")


def test_only_a_changed_file_is_newer_than_before(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.c"
    write_changed_file(path, b"1")
    os.utime(path, (1, 1))
    write_changed_file(path, b"1")
    assert path.stat().st_mtime == 1
    write_changed_file(path, b"2")
    assert (path.read_bytes(), path.stat().st_mtime > 1) == (b"2", True)


def test_a_build_that_is_removed_or_damaged_meanwhile_is_none_to_begin_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    kept = {**dict.fromkeys(LIKE, "1"), "files": {"a.c": "1"}}
    texts = {"old": json.dumps(kept), "new": json.dumps({**kept, "files": {}}), "x": "{", "y": "[]"}
    for number, (name, text) in enumerate(texts.items()):
        folder = tmp_path / CACHE_KIND / name
        folder.mkdir(parents=True)
        (folder / INPUTS).write_text(text)
        os.utime(folder, (number, number))
    (tmp_path / CACHE_KIND / "gone").mkdir()
    (tmp_path / CACHE_KIND / "gone" / INPUTS).symlink_to("nowhere")
    found = partbuild._list_like_inputs({**kept, "files": {"b.c": "2"}})
    assert [inputs["files"] for inputs in found] == [{}, {"a.c": "1"}]
    assert partbuild._list_like_inputs({**kept, "kernel": "2"}) == []


def test_parts_are_built_behind_those_that_they_call() -> None:
    words = [f"{name}=package" for name in ("ubifs", "ubi", "yaffs2", "mtd", "fat")]
    requests = parse_source_words(words, "--source")
    order = list(partset._sort_parts(requests))
    assert sorted(order) == ["fat", "mtd", "ubi", "ubifs"]
    assert order.index("mtd") < order.index("ubi") < order.index("ubifs")
    assert partset.needs_kernel_source(requests)
    assert not partset.needs_kernel_source({"yaffs2": requests["yaffs2"]})


def test_a_part_is_built_with_the_headers_of_those_that_it_calls(tmp_path: Path) -> None:
    header = "include/linux/mtd/ubi.h"
    folder = tmp_path / "usr/src/linux-headers-6.1.0-50-common" / header
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"struct ubi;")
    kernel = cast(Any, SimpleNamespace(root=SimpleNamespace(path=tmp_path)))
    ubifs = load_noun(KIND, "ubifs", PartModel)
    own = PartFiles({"fs/ubifs/ubifs.h": b"1"}, "folder")
    for content, other in ((b"struct ubi;", False), (b"struct ubi { int more; };", True)):
        source = PartFiles({header: content, "drivers/mtd/ubi/ubi.h": b"2"}, "folder")
        ubi = partset.BuiltPart(SourceRequest(UBI), source, PartModules(tmp_path, ("ubi",), {}))
        files = partset.add_called_headers(own, [ubi])
        assert files.content == {header: content, "fs/ubifs/ubifs.h": b"1"}
        assert list_build_files(ubifs, files, {})[header] == content
        assert has_other_headers(ubifs, files, kernel) is other
    assert not has_other_headers(ubifs, own, kernel)


def test_a_part_that_is_built_into_the_kernel_is_refused() -> None:
    board, mtd = load_noun("boards", "apf27-arm", BoardModel), load_noun(KIND, "mtd", PartModel)
    partset.refuse_builtin_part(board, UBI, "kernel/drivers/mtd/mtd.ko\n")
    with pytest.raises(UsageError, match="mtd built in"):
        partset.refuse_builtin_part(board, mtd, "kernel/fs/x.ko\nkernel/drivers/mtd/mtd.ko\n")


def test_a_patch_alone_is_added_to_what_a_board_names(tmp_path: Path) -> None:
    told = {"ubi": {"tree": "package", "fastmap": True}}
    plain = load_noun("boards", "apf27", BoardModel)
    board = BoardModel.model_validate({**plain.model_dump(), "source": told})
    fix = tmp_path / "fix.diff"
    fix.write_text("--- a/drivers/mtd/ubi/wl.c\n+++ b/drivers/mtd/ubi/wl.c\n@@ -1 +1 @@\n-a\n+b\n")
    patched = add_patches({}, [fix], "--patch")
    assert partset.add_board_sources(board, patched) == {
        "ubi": SourceRequest(UBI, None, {"fastmap": True}, (fix,))
    }
    before = {name: replace(request, patches=()) for name, request in patched.items()}
    assert partset.add_board_sources(board, before)["ubi"].options == {"fastmap": True}
    named = add_patches(parse_source_words(["ubi=package"], "--source"), [fix], "--patch")
    assert partset.add_board_sources(board, named)["ubi"].options == {}
    assert partset.add_board_sources(plain, patched) == patched


def test_a_kernel_of_ones_own_has_no_source_package(tmp_path: Path) -> None:
    debian = load_noun("boards", "apf27", BoardModel)
    own = debian.model_copy(update={"name": "mine", "kernel": "mine", "own_kernel": True})
    package = parse_source_words(["ubi=package"], "--source")
    folder = parse_source_words([f"ubi={tmp_path}", "yaffs2=package"], "--source")
    partset.refuse_absent_package(debian, package)
    partset.refuse_absent_package(own, folder)
    with pytest.raises(UsageError, match="--source ubi=FOLDER"):
        partset.refuse_absent_package(own, package)


def test_the_kernels_configuration_has_what_parts_are_built_with() -> None:
    settings = UBI.settings({"fastmap": True, "block": False})
    before = {"CONFIG_MTD_UBI_BLOCK": "y", "CONFIG_MTD": "m"}
    found = partset.set_part_symbols(before, [settings])
    assert found == {"CONFIG_MTD": "m", "CONFIG_MTD_UBI_FASTMAP": "y"}
    assert partset.set_part_symbols(before, []) == before


def elf(versions: dict[str, int], *, wide: bool) -> bytes:
    """A module that has a section with versions of symbols, and one with names."""
    long, name = (8, 56) if wide else (4, 60)
    table = b"".join(
        crc.to_bytes(long, "little") + symbol.encode().ljust(name, b"\0")
        for symbol, crc in versions.items()
    )
    names = b"\0__versions\0.shstrtab\0"
    head = 64 if wide else 52
    body = table + names
    form = "<IIQQQQIIQQ" if wide else "<IIIIIIIIII"
    sections = [(1, head, len(table)), (12, head + len(table), len(names))]
    rows = struct.pack(form, *[0] * 10)
    rows += b"".join(struct.pack(form, n, 1, 0, 0, o, s, 0, 0, 0, 0) for n, o, s in sections)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1]) + bytes(10)
    place = "<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH"
    size = len(rows) // 3
    words = (1, 62, 1, 0, 0, head + len(body), 0, head, 0, 0, size, 3, 2)
    return ident + struct.pack(place, *words) + body + rows


@pytest.mark.parametrize("wide", [True, False])
def test_the_versions_that_a_module_takes_are_read(*, wide: bool) -> None:
    wanted = {"module_layout": 0xDEADBEEF, "ubi_open_volume": 1}
    assert read_module_versions(elf(wanted, wide=wide)) == wanted


SYMVERS = "0x00000001\tubi_open\tdrivers/mtd/ubi/ubi\tEXPORT_SYMBOL_GPL\t\n"


def test_a_module_of_another_part_is_refused(tmp_path: Path) -> None:
    assert parse_symvers(SYMVERS) == {"ubi_open": (1, "ubi")}
    module = elf({"ubi_open": 1, "probes_disarm": 7}, wide=True)  # ours exports the second
    (tmp_path / "ubifs.ko").write_bytes(module)
    refuse_unlike_versions(tmp_path, ["ubifs"], SYMVERS, {})
    refuse_unlike_versions(tmp_path, ["ubifs"], SYMVERS, {"ubi": SYMVERS})
    other = SYMVERS.replace("0x00000001", "0x00000002")
    gone = other.replace("ubi_open", "ubi_close")
    for text in (other, gone):
        with pytest.raises(UsageError, match="--source ubi=TREE --source ubifs=TREE"):
            refuse_unlike_versions(tmp_path, ["ubifs"], SYMVERS, {"ubi": text})
    with pytest.raises(UsageError, match="another kernel"):
        refuse_unlike_versions(tmp_path, ["ubifs"], other, {})


def test_what_to_build_too_is_a_part_or_nothing(tmp_path: Path) -> None:
    """Module vfat is of part fat; no part has simnand, which is nandlab's own."""
    other = SYMVERS.replace("0x00000001", "0x00000002")
    cures = {"vfat": "--source ubi=TREE --source fat=TREE", "simnand": "nearer to the board's"}
    for name, cure in cures.items():
        (tmp_path / f"{name}.ko").write_bytes(elf({"ubi_open": 1}, wide=True))
        with pytest.raises(UsageError, match=cure):
            refuse_unlike_versions(tmp_path, [name], SYMVERS, {"ubi": other})


@pytest.mark.parametrize("size", [0, 4, 60, 100])
def test_a_damaged_module_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.ko").write_bytes(elf({"ubi_open": 1}, wide=True)[:size])
    with pytest.raises(UsageError, match="module x "):
        refuse_unlike_versions(tmp_path, ["x"], SYMVERS, {})
