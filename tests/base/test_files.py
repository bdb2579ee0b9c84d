# SPDX-License-Identifier: GPL-2.0-or-later
"""Files have their name once they are whole, the umask's permissions, and leave no part."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from nandlab.base import files
from nandlab.base.cache import make_entry
from nandlab.base.errors import UsageError
from nandlab.base.files import (
    PART,
    PART_NAME,
    name_full_disk,
    open_whole_file,
    write_files_together,
    write_whole_file,
)
from nandlab.base.scratch import hold_scratch_folder

WRITER = """
import sys, time
from pathlib import Path
from nandlab.base.files import open_whole_file
with open_whole_file(Path(sys.argv[1])) as out:
    out.write(b"half")
    out.flush()
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def another_process() -> None:
    """Each test cleans folders as a new process does."""
    files._clean_once.cache_clear()


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o000], indirect=True)
def test_permissions_are_those_that_the_umask_leaves(umask: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"other"):
        write_whole_file(path, content)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def parts(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob(f"{PART}*"))


def writing(path: Path) -> subprocess.Popen[str]:
    """A process that is in the middle of a file."""
    it = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert it.stdout is not None and it.stdout.readline() == "begun\n"
    return it


def test_the_part_of_a_killed_process_is_removed_that_of_a_living_one_stays(tmp_path: Path) -> None:
    with writing(tmp_path / "killed") as killed, writing(tmp_path / "living") as living:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(parts(tmp_path)) == 2 and all(map(PART_NAME.fullmatch, parts(tmp_path)))
        write_files_together([(tmp_path / "a", b"a"), (tmp_path / "b", b"b")])
        assert len(parts(tmp_path)) == 1
        living.terminate()
    assert sorted(p.name for p in tmp_path.iterdir() if p.name not in parts(tmp_path)) == ["a", "b"]


def test_what_others_called_so_is_never_removed(tmp_path: Path) -> None:
    others = [f"{PART}mine", f"{PART}{'0' * 17}", "x" + PART + "0" * 16]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / f"{PART}{'1' * 16}").symlink_to(tmp_path / others[0])
    before = sorted(tmp_path.iterdir())
    write_whole_file(tmp_path / "file", b"")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "file"])


def test_a_part_that_is_taken_for_one_that_was_left_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    taken: list[Path] = []

    def flock(file: IO[bytes], how: int) -> None:
        if not taken:  # another process comes between open and lock
            taken.extend(tmp_path.glob(f"{PART}*"))
            taken[0].unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_whole_file(tmp_path / "file", b"whole")
    assert taken and (tmp_path / "file").read_bytes() == b"whole" and not parts(tmp_path)


def test_what_fails_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    write_whole_file(tmp_path / "file", b"old")
    with pytest.raises(ZeroDivisionError), open_whole_file(tmp_path / "file") as out:
        out.write(b"new")
        raise ZeroDivisionError
    assert (tmp_path / "file").read_bytes() == b"old" and not parts(tmp_path)
    with pytest.raises(FileNotFoundError) as refused:
        write_whole_file(tmp_path / "no" / "file", b"")
    assert refused.value.filename == str(tmp_path / "no" / "file")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EACCES])
def test_a_full_disk_is_no_mistake_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(path: Path, content: bytes) -> None:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(files, "write_whole_file", refuse)
    kind = UsageError if code == errno.EACCES else OSError
    with pytest.raises(kind) as refused:
        files.write_requested_file(tmp_path / "x", b"")
    assert f"{tmp_path / 'x'}" in str(refused.value)


def write_to_full_disk() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def test_a_full_disk_names_the_folder_that_was_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OSError) as full, name_full_disk(tmp_path):
        write_to_full_disk()
    assert full.value.filename == str(tmp_path)
    with pytest.raises(OSError) as full, hold_scratch_folder(str(tmp_path)):
        write_to_full_disk()
    assert Path(full.value.filename).parent == tmp_path
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    with pytest.raises(OSError) as full:
        make_entry("things", {}, lambda work: write_to_full_disk())
    assert Path(full.value.filename).is_relative_to(tmp_path)
    with pytest.raises(OSError) as full, name_full_disk(tmp_path):
        raise OSError(errno.ENOSPC, "full", "its own name")
    assert full.value.filename == "its own name"
    with pytest.raises(OSError) as other, name_full_disk(tmp_path):
        raise OSError(errno.EIO, "broken")
    assert other.value.filename is None
