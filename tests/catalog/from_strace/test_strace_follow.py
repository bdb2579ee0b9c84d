# SPDX-License-Identifier: GPL-2.0-or-later
"""What each call of a trace becomes: descriptors, folders, names, sizes, and what is left out."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from support import straces

from nandlab.base.errors import UsageError
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.from_strace.recordedload import KIND_OF, VERBS_OF_KIND
from nandlab.catalog.from_strace.workload import TraceWorkload
from nandlab.catalog.workload import WorkloadModel

OPEN = 'openat(AT_FDCWD, "/data/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3'
MAP = "mmap2(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f"
EDGE = "across the folder's edge, replayed with a name below it"
UNNAMED = "opens with O_TMPFILE, and what is done with their files"
OPENED = "open 1 a O_RDWR|O_CREAT|O_EXCL 644"


def load(tmp_path: Path, *calls: str) -> list[str]:
    return straces.load(straces.trace(tmp_path, *calls))


CHANGED = 'chdir("app") = 0'
STATE = 'openat(AT_FDCWD</data/app>, "new", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3</data/app/new>'


def test_the_folder_that_y_names_is_where_a_process_is(tmp_path: Path) -> None:
    calls = (CHANGED, STATE, 'rename("new", "state") = 0')
    assert load(tmp_path, *calls)[-2:] == [
        "open 1 app/new O_WRONLY|O_CREAT|O_TRUNC 644",
        "rename app/new app/state",
    ]
    before = ('unlink("old") = 0', STATE.replace("</data/app>,", "</data>,"))
    assert "unlink old" in load(tmp_path, *before)


def test_a_trace_without_writes_and_closes_is_told_as_filtered(tmp_path: Path) -> None:
    def is_filtered(*calls: str) -> bool:
        made = TraceWorkload(straces.trace(tmp_path, *calls), "/data", "made")
        return any("-e" in doubt for doubt in made.doubts())

    assert is_filtered(OPEN, 'unlink("/data/b") = 0')
    for more in ('write(3, "x", 1) = 1', "close(3) = 0"):
        assert not is_filtered(OPEN, more)
    assert not is_filtered('openat(AT_FDCWD, "/data/a", O_RDONLY) = 3')


@pytest.mark.parametrize(
    ("calls", "lines"),
    [
        (
            ["dup(3) = 4", "close(3) = 0", "write(4, 0, 5) = 5", "close(4) = 0"],
            ["write 1 5", "close 1"],
        ),
        (["dup2(3, 9) = 9", "close(3) = 0", "dup3(9, 5, O_CLOEXEC) = 5", "close(9) = 0"], []),
        (["fcntl(3, F_DUPFD, 10) = 10", "close(3) = 0", "fsync(10) = 0"], ["fsync 1"]),
        (  # a shell turns its output to the file, and back to where it went before the trace
            [
                *("fcntl(1, F_DUPFD, 10) = 12", "dup2(3, 1) = 1", "close(3) = 0"),
                *("write(1, 0, 3) = 3", "dup2(12, 1) = 1", "write(1, 0, 9) = 9"),
            ],
            ["write 1 3", "close 1"],
        ),
        (
            ['write(3, "abc"..., 100) = 100', "lseek(3, 0, SEEK_SET) = 0"],
            ["write 1 100", "lseek 1 0 SEEK_SET = 0"],
        ),
        (["_llseek(3, 7, [7], SEEK_SET) = 0"], ["lseek 1 7 SEEK_SET = 7"]),
        (['write(3, "", 100) = 40'], ["write 1 40"]),
        (['pread64(3, "", 100, 5) = 0'], ["pread 1 100 5 = 0"]),
        (
            ['writev(3, [{iov_base="a,]", iov_len=3}, {iov_base="iov_len=9", iov_len=9}], 2) = 12'],
            ["writev 1 3,9"],
        ),
        (["writev(3, [{iov_base=..., iov_len=3}, ...], 99) = 120"], ["writev 1 120"]),
        (['pwritev2(3, [{iov_base="", iov_len=3}], 1, -1, 0) = 3'], ["writev 1 3"]),
        (
            ['pwritev2(3, [{iov_base="", iov_len=3}], 1, 7, RWF_HIPRI|RWF_DSYNC) = 3'],
            ["pwritev 1 3 7", "fdatasync 1"],
        ),
        (
            ['pwritev2(3, [{iov_base="", iov_len=3}], 1, -1, RWF_SYNC) = 3'],
            ["writev 1 3", "fsync 1"],
        ),
        (['pwritev2(3, [{iov_base="", iov_len=3}], 1, 0, RWF_APPEND) = 3'], []),
        (['preadv2(3, [{iov_base="", iov_len=3}], 1, 0, RWF_NOWAIT) = 3'], ["preadv 1 3 0"]),
        (["read(3, 0x7f, 10) = -1 EIO (Input/output error)"], []),
        (
            ["read(3,  <unfinished ...>", "8| exit(0) = ?", '<... read resumed>"", 9) = 0'],
            ["read 1 9 = 0"],
        ),
        (["sync() = 0", "syncfs(3) = 0", "fdatasync(3) = 0"], ["sync", "syncfs 1", "fdatasync 1"]),
        (["sync_file_range(3, 0, 100, SYNC_FILE_RANGE_WRITE) = 0"], ["sync_range 1 0 100 2"]),
        (["sync_file_range2(3, SYNC_FILE_RANGE_WRITE, 0, 100) = 0"], ["sync_range 1 0 100 2"]),
        (
            ["ftruncate(3, 5) = 0", "fallocate(3, 0, 0, 100) = 0"],
            ["ftruncate 1 5", "fallocate 1 0 0 100"],
        ),
        (["copy_file_range(3, NULL, 3, [50], 20, 0) = 20"], ["read 1 20", "pwrite 1 20 50"]),
        (["sendfile(3, 3, [5] => [15], 10) = 10"], ["pread 1 10 5", "write 1 10"]),
        (['rename("/data/a", "/data/b") = 0', 'unlink("/data/b") = 0'], ["rename a b", "unlink b"]),
        (['symlink("/data/a", "/data/d") = 0'], ["symlink a d"]),
        (['unlinkat(AT_FDCWD, "/data/a", 0) = 0'], ["unlink a"]),
        (
            ['newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0'],
            ["fstat 1"],
        ),
        (['statx(AT_FDCWD, "/data/a", AT_SYMLINK_NOFOLLOW, STATX_ALL, {}) = 0'], ["lstat a"]),
        (['access("/data/x", F_OK) = -1 ENOENT (No such file)'], ["access x = -ENOENT"]),
        (['open("/data/a", O_RDONLY) = -1 EACCES (Permission denied)'], []),
        (['chdir("/data") = 0', 'mkdir("s/../n", 0700) = 0'], ["mkdir n 700"]),
        (["fchmod(3, 0600) = 0", "fchown(3, -1, 5) = 0"], ["fchmod 1 600", "fchown 1 -1 5"]),
        (["utimensat(3, NULL, NULL, 0) = 0"], ["futimes 1"]),
        (["close_range(3, 4294967295, 0) = 0"], ["close 1"]),
        (["+++ exited with 0 +++"], ["close 1"]),
    ],
)
def test_calls_on_an_open_file(tmp_path: Path, calls: list[str], lines: list[str]) -> None:
    assert load(tmp_path, OPEN, *calls) == ["calls", OPENED, *lines]


def test_a_child_has_the_parent_s_files_and_an_execve_closes_what_it_is_told_to(
    tmp_path: Path,
) -> None:
    kept = OPEN.replace("O_EXCL", "O_EXCL|O_CLOEXEC")
    found = load(
        tmp_path,
        kept,
        "vfork( <unfinished ...>",
        '8| execve("/bin/x", ["x"], 0x7 /* 3 vars */) = 0',
        '8| write(3, "", 5) = -1 EBADF (Bad file descriptor)',
        "8| +++ exited with 0 +++",
        "<... vfork resumed>) = 8",
        "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 9",
        "close(3) = 0",
        '9| write(3, "", 7) = 7',
        "9| +++ exited with 0 +++",
    )
    assert found == [
        "calls",
        "open 1 a O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC 644",
        "write 1 7",
        "close 1",
    ]


def test_threads_share_their_files(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        "clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, ...}, 88) = 8",
        OPEN.replace("openat", "8| openat"),
        "read(3,  <unfinished ...>",
        "8| close(3) = 0",
        '<... read resumed>"", 10) = 0',
        'chdir("/data") = 0',
        '8| openat(AT_FDCWD, "b", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3',
    )
    assert found[1:] == [OPENED, "read 1 10 = 0", "close 1", "open 1 b O_WRONLY|O_CREAT|O_EXCL 600"]


def test_a_number_that_is_freed_and_got_at_once_is_not_mistaken(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        "clone(flags=CLONE_VM|CLONE_FILES) = 8",
        OPEN,
        '8| openat(AT_FDCWD, "/data/b", O_RDWR|O_CREAT|O_EXCL, 0644 <unfinished ...>',
        "close(3) = 0",
        "8| <... openat resumed>) = 3",
        '8| write(3, "", 9) = 9',
    )
    assert found[1:] == [OPENED, OPENED.replace("1 a", "2 b"), "close 1", "write 2 9"]


def test_folders_are_told_by_descriptor_getcwd_and_y(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        'openat(AT_FDCWD, "/data", O_RDONLY|O_DIRECTORY) = 5',
        'mkdirat(5, "m", 0755) = 0',
        'openat(5, "m", O_RDONLY|O_DIRECTORY) = 6',
        'renameat(5, "m", 5, "n") = 0',
        'openat(6, "f", O_WRONLY|O_CREAT|O_EXCL, 0600) = 7',
        "fchdir(6) = 0",
        'stat("f", {st_mode=S_IFREG|0600, st_size=0, ...}) = 0',
    )
    assert found[-2:] == ["open 3 n/f O_WRONLY|O_CREAT|O_EXCL 600", "stat n/f"]
    assert load(tmp_path, 'open("f", O_RDONLY) = 3', 'getcwd("/data/w", 4096) = 8')[-1] == (
        "open 1 w/f O_RDONLY"
    )
    assert load(tmp_path, 'openat(AT_FDCWD</data>, "f", O_RDONLY) = 3')[-1] == "open 1 f O_RDONLY"


@pytest.mark.parametrize(
    ("calls", "before"),
    [
        (['read(3, "", 4096) = 4096', 'read(3, "", 4096) = 904'], 5000),
        (['pread64(3, "", 100, 7000) = 100'], 7100),
        (["lseek(3, 0, SEEK_END) = 1234", 'write(3, "", 10) = 10'], 1234),
        (["fstat(3, {st_mode=S_IFREG|0644, st_size=99, ...}) = 0"], 99),
        (['write(3, "", 500) = 500', 'pread64(3, "", 500, 0) = 500'], 0),
        (['pwrite64(3, "", 10, 90) = 10', "fstat(3, {st_mode=S_IFREG|0644, st_size=100}) = 0"], 0),
        (
            ['pwrite64(3, "", 10, 90) = 10', "fstat(3, {st_mode=S_IFREG|0644, st_size=150}) = 0"],
            150,
        ),
        (["ftruncate(3, 9) = 0", 'pread64(3, "", 10, 0) = 9'], 0),
    ],
)
def test_a_file_that_was_there_has_the_bytes_that_the_trace_shows(
    tmp_path: Path, calls: list[str], before: int
) -> None:
    found = load(tmp_path, 'open("/data/d/a", O_RDWR) = 3', *calls)
    assert found[:3] == ["dir d 755", f"file d/a {before}", "calls"]


def test_an_append_begins_where_a_later_stat_shows(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        'open("/data/log", O_WRONLY|O_APPEND) = 3',
        'write(3, "", 100) = 100',
        "fstat(3, {st_mode=S_IFREG|0644, st_size=1100, ...}) = 0",
    )
    assert found[0] == "file log 1000"


def test_what_a_call_found_in_its_way_is_made(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        'mkdir("/data/m", 0755) = -1 EEXIST (File exists)',
        'rmdir("/data/full") = -1 ENOTEMPTY (Directory not empty)',
        'rmdir("/data/f") = -1 ENOTDIR (Not a directory)',
        'open("/data/x", O_RDWR|O_CREAT|O_EXCL, 0600) = -1 EEXIST (File exists)',
        'readlink("/data/l", "f", 100) = 1',
        'lstat("/data/l", {st_mode=S_IFLNK|0777, st_size=1, ...}) = 0',
    )
    assert found[: found.index("calls")] == [
        *("file m 0", "dir full 755", "file full/.something 0", "file f 0", "file x 0"),
        "symlink f l",
    ]


def left(tmp_path: Path, *calls: str) -> dict[str, int]:
    return TraceWorkload(straces.trace(tmp_path, OPEN, *calls), "/data", "made").recorded.left_out


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f", "maps of files, read"),
        (MAP, "maps of files that are written through"),
        ('fgetxattr(3, "user.x", 0x7, 0) = 0', "fgetxattr, which the replay does not know"),
        ('setxattr("/data/a", "x", "", 0, 0) = 0', "setxattr, which the replay does not know"),
        ("fsync(99) = 0", "on a descriptor of before the trace"),
        ("fcntl(3, F_SETLK, {l_type=F_WRLCK}) = 0", "locks"),
        ('open("/data/a", O_RDWR|O_DIRECT) = 4', "O_DIRECT, which is left out of opens"),
        ('write(3, "", 9) = -1 ENOSPC (No space left)', "failed with ENOSPC"),
        ('rename("/tmp/x", "/data/b") = 0', EDGE),
        ('open("/data", O_RDWR|O_TMPFILE, 0600) = 4', UNNAMED),
    ],
)
def test_what_is_not_replayed_is_counted(tmp_path: Path, call: str, why: str) -> None:
    assert left(tmp_path, call) == {why: 1}


def test_calls_elsewhere_are_counted_and_not_replayed(tmp_path: Path) -> None:
    path = straces.trace(
        tmp_path, OPEN, 'open("/etc/passwd", O_RDONLY) = 4', 'read(4, "", 9) = 9', "close(4) = 0"
    )
    made = TraceWorkload(path, "/data", "made")
    assert made.followed.elsewhere == 3
    assert made.recorded.left_out == {}


def test_a_file_that_strace_y_names_was_open_before(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        'write(4</data/log>, "", 30) = 30',
        'pwrite64(5</data/db>, "", 30, 60) = 30',
        "fdatasync(4</data/log>) = 0",
    )
    assert found == [
        *("file log 0", "file db 0", "opened 1 log O_WRONLY|O_APPEND", "opened 2 db O_RDWR"),
        *("calls", "write 1 30", "pwrite 2 30 60", "fdatasync 1"),
    ]


def test_time_between_calls_is_from_an_end_to_a_start(tmp_path: Path) -> None:
    path = straces.trace(
        tmp_path,
        f"{OPEN} <0.000250>",
        'write(3, "", 1) = 1 <0.000900>',
        "fsync(3 <unfinished ...>",
        "getpid() = 7 <0.000001>".replace("getpid", "8| getpid"),
        "<... fsync resumed>) = 0 <0.001500>",
        "close(3) = 0 <0.000001>",
    )
    text = TraceWorkload(path, "/data", "made").recorded.text.splitlines()
    assert text[1:] == [OPENED, "+750 write 1 1", "+100 fsync 1", "+1500 close 1"]


def test_without_below_the_only_folder_is_taken_and_several_are_told(tmp_path: Path) -> None:
    one = straces.trace(tmp_path, OPEN, 'unlink("/data/s/b") = 0', 'stat("/etc/x", {}) = 0')
    assert TraceWorkload(one, None, "made").folder == "/data"
    several = straces.trace(
        tmp_path, OPEN, 'unlink("/var/log/b") = 0', 'mkdir("/var/lib/x", 0) = 0'
    )
    with pytest.raises(UsageError) as refused:
        TraceWorkload(several, None, "made")
    assert "--below /var  (2 calls)" in str(refused.value)
    assert "--below /data  (1 calls)" in str(refused.value)
    none = straces.trace(tmp_path, 'open("/etc/passwd", O_RDONLY) = 4')
    with pytest.raises(UsageError, match="no call changes a file"):
        TraceWorkload(none, None, "made")


def test_a_relative_path_of_an_unknown_folder_is_below_a_dot(tmp_path: Path) -> None:
    path = straces.trace(tmp_path, 'open("d/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3')
    assert TraceWorkload(path, None, "made").folder == "./d"
    assert straces.load(path, "./d")[1:] == [OPENED]


def test_requests_that_no_call_of_the_replay_makes_are_a_doubt(tmp_path: Path) -> None:
    def list_doubts(*calls: str) -> str:
        made = TraceWorkload(straces.trace(tmp_path, OPEN, *calls), "/data", "made")
        return "; ".join(made.doubts())

    assert "io_uring" in list_doubts("io_uring_setup(8, {flags=0}) = 4", "io_uring_enter(4, 1) = 1")
    assert "io_submit" in list_doubts("io_submit(0x7f, 1, [{aio_fildes=3}]) = 1")
    assert "requests" not in list_doubts('write(3, "abc", 3) = 3')


def test_relative_paths_that_are_taken_for_elsewhere_are_a_doubt(tmp_path: Path) -> None:
    def list_doubts(*calls: str, below: str = "/data") -> str:
        made = TraceWorkload(straces.trace(tmp_path, *calls), below, "made")
        return "; ".join(made.doubts())

    relative = ('unlink("d/b") = 0', 'unlink("d/c") = 0', 'unlink("e") = 0')
    said = list_doubts(OPEN, *relative)
    assert "; 3 calls " in said
    assert "--below ./d," in said
    assert "relative" not in list_doubts('getcwd("/data", 99) = 6', OPEN, *relative)
    assert "relative" not in list_doubts(OPEN, *relative, below="./")


@pytest.mark.parametrize("name", ["sqlite-rollback", "sqlite-wal", "attached"])
def test_the_file_is_a_workload_whose_head_tells_what_it_is(tmp_path: Path, name: str) -> None:
    made = TraceWorkload(straces.recording(name), None, name)
    path = tmp_path / f"{name}.toml"
    path.write_text(made.text())
    model = read_noun_file(path, WorkloadModel)
    assert [p.name for p in model.phases if p.timed] == ["replay"]
    assert {o.name for o in model.operations} == {k for k, n in made.recorded.kinds.items() if n}
    assert set(model.parameters) == {"think", "payload", "compressibility", "cache"}
    assert model.config.format().endswith(made.recorded.text)
    head = path.read_text().partition("\n\n")[0]
    assert f"Replayed: {len(made.followed.operations):,} calls" in head
    assert all(doubt in head for doubt in made.doubts())
    assert tomllib.loads(path.read_text())["name"] == name


def test_kinds_are_those_of_the_program() -> None:
    source = (Path(__file__).parents[3] / "device/programs/replay/calls.c").read_text()
    for verb, kind in KIND_OF.items():
        line = next(line for line in source.splitlines() if line.startswith(f'\t{{"{verb}", '))
        assert f"KIND_{kind.upper()}," in line
    named = [line.split('"')[1] for line in source.splitlines() if line.startswith("\t[KIND_")]
    assert named == list(VERBS_OF_KIND)
