# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a trace takes to the board, and images that it begins from: what is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli.trace import trace_app
from nandlab.trace.copies import read_files_to_copy

BOARD = load_noun("boards", "apf27", BoardModel)
ARM = load_noun("boards", "apf27-arm", BoardModel)
INTERP = 3


def elf(machine: int, wide: bool = True, end: str = "<", loader: str = "") -> bytes:
    """The head of a program for a machine; loader: that it asks for."""
    ident = b"\x7fELF" + bytes([1 + wide, 1 if end == "<" else 2, 1]) + bytes(9)
    name, some, form = (
        loader.encode() + b"\0",
        int(bool(loader)),
        f"{end}HHI{'QQQ' if wide else 'III'}IHHHHHH",
    )
    at, size = (64, 56) if wide else (52, 32)
    head = struct.pack(form, 2, machine, 1, 0, at, 0, 0, at, size, some, 0, 0, 0)
    length, where = len(name), at + size
    if wide:
        entry = struct.pack(f"{end}IIQQQQQQ", INTERP, 4, where, 0, 0, length, length, 1)
    else:
        entry = struct.pack(f"{end}IIIIIIII", INTERP, where, 0, 0, length, length, 4, 1)
    return ident + head + entry + name


def program(folder: Path, content: bytes, mode: int = 0o755) -> Path:
    path = folder / "app"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def refused(word: str) -> str:
    with pytest.raises(UsageError) as e:
        read_files_to_copy([word], BOARD, 1 << 17)
    said = str(e.value)
    assert "\n" not in said
    assert said.startswith("--copy")
    return said


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("opt/app", "begin it with /"),
        ("", "begin it with /"),
        ("/usr/bin", "is a folder: name the file too, such as /usr/bin/NAME"),
        ("/", "is a folder"),
        ("/opt/", "name the file too, such as /opt/NAME"),
        ("/proc/app", "/proc is the system's"),
        ("/sys/kernel/app", "/sys is the system's"),
        ("/dev/mtd0", "/dev is the system's"),
        ("/job/steps", "/job is the system's"),
        ("/opt/../usr/bin/app", "write /opt/../usr/bin/app as /usr/bin/app"),
        ("/opt//app", "write /opt//app as /opt/app"),
        ("/opt/a\nb", "control characters"),
    ],
)
def test_paths_of_the_board_that_no_file_may_have(tmp_path: Path, path: str, said: str) -> None:
    assert said in refused(f"{program(tmp_path, b'x')}:{path}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (elf(40, wide=False), "a program for ARM, and board apf27 runs x86-64"),
        (elf(183), "for AArch64"),
        (elf(8, wide=False, end=">"), "for MIPS"),
        (elf(9999), "for machine 9999"),
        (elf(62, loader="/lib/ld-musl-x86_64.so.1"), "needs the loader /lib/ld-musl-x86_64.so.1"),
        (elf(62)[:10], "its ELF header is damaged"),
    ],
)
def test_programs_that_the_board_cannot_run(tmp_path: Path, content: bytes, said: str) -> None:
    path = program(tmp_path, content)
    assert said in refused(f"{path}:/opt/app")
    path.chmod(0o644)  # then it is data
    assert len(read_files_to_copy([f"{path}:/opt/app"], BOARD, 1)) == 1


def test_programs_that_it_can_run_and_their_modes(tmp_path: Path) -> None:
    path = program(tmp_path, elf(62), 0o4711)
    (copy,) = read_files_to_copy([f"{path}:/opt/app"], BOARD, 1)
    assert (copy.path, copy.mode, copy.content) == ("/opt/app", 0o4711, elf(62))
    program(tmp_path, elf(62, loader="/lib64/ld-linux-x86-64.so.2"))
    assert read_files_to_copy([f"{path}:/opt/app"], BOARD, 1)
    # a loader that is brought along is there
    program(tmp_path, elf(62, loader="/lib/ld-musl-x86_64.so.1"))
    (tmp_path / "ld").write_bytes(b"")
    words = [f"{path}:/opt/app", f"{tmp_path / 'ld'}:/lib/ld-musl-x86_64.so.1"]
    assert len(read_files_to_copy(words, BOARD, 1)) == len(words)


def test_a_board_of_another_processor_runs_its_programs_alone(tmp_path: Path) -> None:
    word = f"{program(tmp_path, elf(40, wide=False, loader='/lib/ld-linux-armhf.so.3'))}:/opt/app"
    assert read_files_to_copy([word], ARM, 1)
    program(tmp_path, elf(40, wide=False, loader="/lib/ld-linux.so.3"))
    with pytest.raises(UsageError, match=r"needs the loader /lib/ld-linux\.so\.3"):
        read_files_to_copy([word], ARM, 1)
    program(tmp_path, elf(62))
    with pytest.raises(UsageError, match="x86-64, and board apf27-arm runs ARM"):
        read_files_to_copy([word], ARM, 1)


def test_files_that_are_none_and_too_many_bytes(tmp_path: Path) -> None:
    assert "expected FILE:PATH" in refused("app")
    assert "nothing: No such file" in refused(f"{tmp_path}/nothing:/opt/app")
    assert "is a folder: copy its files" in refused(f"{tmp_path}:/opt/app")
    assert "/dev/zero is no file" in refused("/dev/zero:/opt/app")
    path = tmp_path / "large"
    with path.open("wb") as f:
        f.truncate(1 << 40)
    assert "has 1,099,511,627,776 bytes, and board apf27 keeps" in refused(f"{path}:/mnt/large")
    with path.open("wb") as f:
        f.truncate(BOARD.usable_mib << 20)
    assert "the files take" in refused(f"{path}:/opt/large")
    assert read_files_to_copy([f"{path}:/mnt/large"], BOARD, 1)  # that is on flash
    path.write_bytes(b"")
    with pytest.raises(UsageError, match="/opt/a is given twice"):
        read_files_to_copy([f"{path}:/opt/a", f"{path}:/opt/a"], BOARD, 1)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "give --fs, a file system of the catalog, or --from"),
        (["--from", "nothing.nand"], "--from: nothing.nand: no such image"),
        (["--fs", "jffs2", "--copy", "nothing:/opt/x"], "--copy nothing:/opt/x: nothing: No such"),
    ],
)
def test_nothing_is_begun_then(argv: list[str], said: str) -> None:
    done = CliRunner().invoke(trace_app, ["run", *argv, "--", "true"])
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
