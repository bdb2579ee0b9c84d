# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in a root: which files, variables and processes it sees, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.kit import enter, root
from nandlab.board.kit.root import Root

pytestmark = pytest.mark.skipif(
    root.find_root_entry_hindrance() is not None, reason=root.ENTRY_REMEDY
)
TRUSTED = ("bin", "lib", "lib64", "usr")


@pytest.fixture
def own(tmp_path: Path) -> Root:
    """A root with this machine's programs, and nothing else of it."""
    (tmp_path / "of" / "root" / "etc").mkdir(parents=True)
    (tmp_path / "of" / "stage").mkdir()
    (tmp_path / "of" / "root" / "etc" / "mine").write_text("of the root\n")
    return Root(tmp_path / "of")


HOST = {f"/{name}": Path(f"/{name}") for name in TRUSTED if Path(f"/{name}").exists()}


def said(own: Root, command: str, see: Mapping[str, Path] | None = None) -> str:
    return own.checked(["sh", "-ec", command], {**HOST, **(see or {})})


def test_it_sees_the_root_and_what_it_is_given(own: Root, tmp_path: Path) -> None:
    given = tmp_path / "with = and blank"
    given.mkdir()
    (given / "file").write_text("given\n")
    assert said(own, "cat /etc/mine; ls /etc") == "of the root\nmine\n"
    assert said(own, f"cat '{given}/file'", {str(given): given}) == "given\n"
    assert said(own, "cat /etc/deep/file; cat /etc/mine", see={"/etc/deep": given}) == (
        "given\nof the root\n"
    )
    assert said(own, f"test -e {Path(__file__)} || echo no; ls /tmp | wc -l") == "no\n0\n"


def test_what_it_writes_lands_where_it_was_given(own: Root, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    said(own, "echo made > /out/file", see={"/out": tmp_path / "out"})
    assert (tmp_path / "out" / "file").read_text() == "made\n"
    assert (tmp_path / "out" / "file").stat().st_uid == os.getuid()
    assert sorted(p.name for p in own.path.iterdir()) == ["etc"]


def test_what_it_sees_for_reading_only_is_not_written(own: Root, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("ours")
    see = {**HOST, f"{enter.READ_ONLY}/source": given}
    assert own.run(["cat", "/source/file"], see=see).stdout == "ours"
    for line in ("echo more > /source/file", "touch /source/new", "rm /source/file"):
        assert own.run(["sh", "-c", line], see=see).returncode != 0
    assert [(p.name, p.read_text()) for p in given.iterdir()] == [("file", "ours")]


def test_no_variable_of_the_host_reaches_it(own: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("LD_PRELOAD", "")
    names = {line.partition("=")[0] for line in said(own, "env").splitlines()}
    assert names <= {*enter.ENVIRONMENT, "PWD", "OLDPWD", "SHLVL", "_"}


def test_nothing_stays_mounted(own: Root) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    said(own, "true")
    assert Path("/proc/self/mountinfo").read_text() == before
    assert list((own.folder / "stage").iterdir()) == []


def test_it_keeps_its_number_and_open_files_and_dies_with_its_parent(own: Root) -> None:
    command = own.command(["sh", "-c", "echo $$ >&7; exec sleep 600"], HOST)
    parent = (
        "import os, subprocess, sys, time\n"
        "r, w = os.pipe(); os.dup2(w, 7)\n"
        f"p = subprocess.Popen({command!r}, pass_fds=[7])\n"
        "told = os.read(r, 99).decode().strip()\n"
        "print(told, p.pid, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        inside, outside = it.stdout.readline().split()
        assert inside == outside
        it.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{inside}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    alive = Path(f"/proc/{inside}/exe").exists()
    if alive:
        os.kill(int(inside), signal.SIGKILL)
    assert not alive


def test_a_failure_is_told_with_what_was_said(own: Root) -> None:
    with pytest.raises(Exception, match=r"no-such-program in .*: No such file"):
        own.checked(["no-such-program"], see=HOST)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_who_is_not_root_enters_it_too_or_is_told_what_to_do(own: Root, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o111)
    command = own.command(["sh", "-c", "id -u; cat /etc/mine"], HOST)
    script = Path(command[3]).read_text()
    command[1:4] = ["-I", "-S", "-c", script]
    command[0] = "/usr/bin/python3"
    done = subprocess.run(
        command, user=65534, group=65534, cwd="/", capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("65534\nof the root\n", "")


def test_where_no_root_can_be_entered_one_line_says_what_to_do(
    own: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        root, "find_root_entry_hindrance", lambda path: "unshare: Operation not permitted"
    )
    with pytest.raises(UsageError, match="as root; or allow user namespaces") as told:
        root.require_root_entry(own)
    assert "\n" not in str(told.value)


def test_it_cannot_change_the_root(own: Root) -> None:
    done = own.run(["sh", "-c", "touch /etc/poison"], see=HOST)
    assert done.returncode
    assert "Read-only file system" in done.stderr
    (own.path / "tmp").mkdir()
    said(own, "touch /tmp/mine")
    assert list((own.path / "tmp").iterdir()) == []


def test_a_working_folder_that_is_gone_is_no_hindrance(own: Root, tmp_path: Path) -> None:
    command = own.command(["pwd"], HOST)
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, subprocess; os.chdir({str(gone)!r}); os.rmdir('.' + '/../gone'); "
    code += f"print(subprocess.run({command!r}, capture_output=True, text=True).stdout)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "/"


def test_a_full_disk_in_a_root_is_told_as_such(own: Root) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        said(own, "echo 'cc: No space left on device' >&2; false")
