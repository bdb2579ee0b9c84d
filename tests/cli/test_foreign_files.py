# SPDX-License-Identifier: GPL-2.0-or-later
"""Files from strangers, on the real command line: exit status 2 within seconds and in little
memory, no traceback, and nothing left. None of them may be waited for, or be read without end.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzz import xz
from refusing import NEVER
from support import samples
from support.commandline import run_command
from support.tracefolders import board, request
from test_bad_days import SMALL
from typer.testing import CliRunner

from nandlab.base import xzpack
from nandlab.base.ulimits import ADDRESSES_MIB_MIN
from nandlab.cli.main import app
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.results.seals import unseal_json
from nandlab.trace import job, writer

CPU_S, MEMORY_MIB = 5, 200
DIGITS = "9" * 5_000
FIGURES = b'{"kind":"nandlab figures","format":1,"trials":[%s[]]}'
DEEP = b"[" * 200_000
GIB = 1 << 30
DUMP = ["--page", "2048", "--erase-block", "131072"]
MADE = {
    **{"filesystem": "jffs2", "options": {}, "part": "apf27", "partition_blocks": 64},
    **{"board": "apf27", "tools": None},
    "tree": dict.fromkeys(("files", "hard_links", "folders", "symbolic_links", "bytes"), 0),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good file of each kind, that each try has a copy of."""
    home = tmp_path_factory.mktemp("good")
    samples.folder(home / "run", samples.study(2))
    (home / "s.toml").write_text(SMALL)
    shape = ChipGeometry(2048, 64, 131072, 64)
    cells = b"\x85\x19" + bytes(shape.block_bytes - 2)
    chip = ChipImage(shape, 0, 1, 0, [ChipBlock(1, 1, 0, 0, [], [0x80] * 64, cells)])
    given = board()
    record = asyncio.run(given.run(job.make_trace_job(request())))
    kept = chipimage.encode_chip_image(chip)
    writer.write_trace_folder(
        home / "t", request(), record, job.decode_trace_outcome(request(), record), given, kept
    )
    chipimage.write_cells_and_sidecar(
        chip, home / "i.nand", home / "i.nand.json", 64, {"made": MADE}
    )
    return home


def there(folder: Path) -> dict[str, tuple[int, ...]]:
    """All that is below a folder, with what a change would change; files may be of gigabytes."""
    every = ((p, p.lstat()) for p in folder.rglob("*"))
    return {str(p): (s.st_mode, s.st_size, s.st_mtime_ns) for p, s in every}


def refused(home: Path, argv: list[str], **limits: int) -> str:
    """What a command says as it is refused, under limits of the system's by their names."""
    found = there(home)
    limits = {"RLIMIT_CPU": 3 * CPU_S, "RLIMIT_DATA": 2 * GIB, **limits}
    done = run_command(*argv, cwd=home, limits=limits)
    said = done.stderr
    assert done.returncode == 2, said
    assert said.startswith("nandlab: ")
    assert not [word for word in NEVER if word in said], said
    assert done.cpu_s < CPU_S
    assert done.memory_mib < MEMORY_MIB
    assert done.stdout == ""
    assert there(home) == found
    return said


def trial(home: Path) -> Path:
    return min((home / "run" / "trials").glob("*.json"))


def changed(path: Path, change: Callable[[Any], object]) -> None:
    """A JSON file with a change; a seal is taken off, as a file from before seals has none."""
    told = unseal_json(path.read_bytes())
    change(told)
    path.write_text(json.dumps(told))


def instead(path: Path, content: bytes | None = None) -> Path:
    """Another content in place of a file; None: nothing."""
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    return path


def packed(path: Path, pack: Callable[[], bytes]) -> None:
    """A file with what takes long to pack, packed when its test comes."""
    instead(path, pack())


def pipe(path: Path) -> None:
    os.mkfifo(instead(path))


def endless(path: Path) -> None:
    instead(path).symlink_to("/dev/zero")


def holes(path: Path, begin: bytes = b"", size: int = 8 * GIB) -> None:
    """A file of so many bytes that takes no room."""
    os.truncate(instead(path, begin), size)


def image_of(name: str) -> str:
    return SMALL.replace('name = "jffs2"', f'name = "jffs2", image = {json.dumps(name)}')


def states(told: Any) -> None:
    told["blocks"][0]["states"] = ["x"] * 64


def minus(told: Any) -> None:
    told["blocks"][0]["index"] = -1


def unnamed(told: Any) -> None:
    told["latency_ns"] = {"": next(iter(told["latency_ns"].values()))}


def text_of_blocks(told: Any) -> None:
    told["partition_blocks"] = "16"


def no_page(told: Any) -> None:
    told["geometry"]["writesize"] = 0


def damaged(path: Path) -> None:
    content = path.read_bytes()
    instead(path, content[:4] + bytes(900) + content[904:])


OPENED = '1 1.0 openat(AT_FDCWD, "/a", O_RDWR) = {}\n'


def at(name: str, make: Callable[..., object], *more: object) -> Callable[[Path], object]:
    """Does something to a file of the folder."""
    return lambda home: make(home / name, *more)


def at_a_trial(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda home: make(trial(home))


Case = tuple[Callable[[Path], object], list[str]]
SPACE = ["space", "t/chip.image"]
CASES: dict[str, Case] = {
    "a folder as image": (
        lambda home: (home / "s.toml").write_text(image_of(".")),
        ["plan", "s.toml"],
    ),
    **{
        f"{what} as {name}": (at(name, make), argv)
        for what, make in (("a pipe", pipe), ("/dev/zero", endless), ("8 GiB of holes", holes))
        for name, argv in (
            ("s.toml", ["plan", "s.toml"]),
            ("run/run.json", ["show", "run"]),
            ("figures.json", ["reproduce", "figures.json"]),
            ("x.strace", ["workload", "from-strace", "x.strace"]),
            ("x.fio", ["workload", "from-fio", "x.fio"]),
            ("x.board", ["board", "import", "x.board"]),
            ("t/meta.json", ["trace", "show", "t"]),
            ("t/events.parquet", ["trace", "parts", "t"]),
            ("i.nand", ["space", "i.nand"]),
            ("i.nand.json", ["space", "i.nand"]),
            ("x.nand", ["space", "x.nand", *DUMP]),
        )
    },
    **{
        f"{what} as a trial": (at_a_trial(make), ["show", "run"])
        for what, make in (("a pipe", pipe), ("/dev/zero", endless), ("8 GiB of holes", holes))
    },
    "a dump of 512 MiB of holes": (
        lambda home: holes(home / "x.nand", size=GIB // 2),
        ["space", "x.nand", *DUMP],
    ),
    "a chip that goes on in holes": (
        lambda home: holes(home / "c", (home / "t/chip.image").read_bytes(), 4 * GIB),
        ["space", "c"],
    ),
    **{
        f"a parquet that is {what}, for {verb}": (
            at("t/events.parquet", make),
            ["trace", verb, "t"],
        )
        for verb in ("parts", "report")
        for what, make in (
            ("gone", instead),
            ("empty", lambda path: instead(path, b"")),
            ("no parquet", lambda path: instead(path, b"x" * 5_000)),
            ("truncated", lambda path: instead(path, path.read_bytes()[:-100])),
            (
                "damaged",
                lambda path: instead(path, b"PAR1" + bytes(900) + path.read_bytes()[-200:]),
            ),
        )
    },
    **{
        f"meta.json: {content[:6]!r}, for {' '.join(argv)}": (
            at("t/meta.json", instead, content),
            argv,
        )
        for content in (b"{}", b"[]", b"null", b'{"format": 3, "fil', DEEP, b"\xff", b"")
        for argv in (SPACE, ["trace", "show", "t"])
    },
    **{
        f"meta.json: {change.__name__}, for {' '.join(argv)}": (
            at("t/meta.json", changed, change),
            argv,
        )
        for change, argv in (
            (text_of_blocks, SPACE),
            (no_page, ["trace", "report", "t"]),
            (no_page, ["trace", "brief", "t"]),
        )
    },
    "summary.json with an event less": (
        lambda home: changed(home / "t/summary.json", lambda told: told.pop("events")),
        ["trace", "brief", "t"],
    ),
    **{
        f"figures in xz, {what}, for {argv[0]}": (
            at("f.json.xz", packed, pack),
            argv,
        )
        for what, pack in (
            ("a bomb", xz.bomb),
            (
                "of many values",
                lambda: xzpack.pack_xz(b'{"trials": [' + b"[]," * 3_000_000 + b"0]}"),
            ),
            ("of many bad trials", lambda: xzpack.pack_xz(FIGURES % (b"[]," * 1_490_000))),
            ("of a greedy dictionary", lambda: xz.greedy(b"{}")),
            ("cut", lambda: xzpack.pack_xz(b"{}" * 99)[:-9]),
            ("of two streams", lambda: xzpack.pack_xz(b"{}") * 2),
            ("with more behind it", lambda: xzpack.pack_xz(b"{}") + b"{}"),
            ("of another kind", lambda: xzpack.pack_xz(b"{}")),
        )
        for argv in (
            ["reproduce", "f.json.xz"],
            ["check", "--against", "f.json.xz", "--run", "run"],
        )
    },
    "a deep sidecar": (lambda home: instead(home / "i.nand.json", DEEP), ["space", "i.nand"]),
    **{
        f"a sidecar: {change.__name__}": (
            at("i.nand.json", changed, change),
            ["space", "i.nand"],
        )
        for change in (states, minus)
    },
    "reprice: 5,000 digits": (str, ["reprice", "run", "--set", f"t_r_ns={DIGITS}"]),
    "a trial: 5,000 digits": (
        lambda home: instead(trial(home), b'{"format": 2, "seed": %s}' % DIGITS.encode()),
        ["show", "run"],
    ),
    "a study: 5,000 digits": (
        lambda home: (home / "s.toml").write_text(SMALL.replace("[1,", f"[{DIGITS},")),
        ["plan", "s.toml"],
    ),
    "loads of a power cut: 5,000 digits": (
        lambda home: (home / "loads").write_text(f"create x\nload a\nwrite x 0 {DIGITS}\n"),
        ["powercut", "--fs", "jffs2", "--load", "loads", "--out", "out"],
    ),
    "a bad block of 5,000 digits": (
        str,
        ["powercut", "--fs", "jffs2", "--load", "ace1", "--bad-blocks", DIGITS, "--out", "out"],
    ),
    "fio: 5,000 digits": (
        lambda home: (home / "x.fio").write_text(f"[a]\nrw=write\nsize={DIGITS}\n"),
        ["workload", "from-fio", "x.fio"],
    ),
    "strace: 5,000 digits": (
        lambda home: (home / "x.strace").write_text(
            f'1 1.0 openat(AT_FDCWD, "/a", O_RDWR) = {DIGITS}\n'
        ),
        ["workload", "from-strace", "x.strace"],
    ),
    "below nothing": (
        lambda home: (home / "x.strace").write_text(OPENED.format(3)),
        ["workload", "from-strace", "x.strace", "--below", ""],
    ),
    "an empty command": (str, ["trace", "run", "--fs", "jffs2", "--", ""]),
    "a blank command": (str, ["trace", "run", "--fs", "jffs2", "--", " "]),
    "a board file whose begin is 4 GiB": (
        lambda home: holes(home / "x.board", huge_header(), 5 * GIB),
        ["board", "import", "x.board"],
    ),
}


def huge_header() -> bytes:
    """The begin of a tar whose first member is a pax header of 4 GiB."""
    member = tarfile.TarInfo("x")
    member.size, member.type = 4 * GIB, tarfile.XHDTYPE
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_at_once_and_leaves_nothing(name: str, good: Path, tmp_path: Path) -> None:
    make, argv = CASES[name]
    home = tmp_path / "home"
    shutil.copytree(good, home)
    make(home)
    refused(home, argv)


def test_few_open_files_are_said(good: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(good, home)
    (home / "run/report").mkdir(exist_ok=True)  # the report's own folder, which is empty then
    said = refused(home, ["report", "run"], RLIMIT_NOFILE=12)
    assert "ulimit -n" in said


def test_little_to_map_is_said(good: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(good, home)
    (home / "run/report").mkdir(exist_ok=True)
    assert "ulimit -v" in refused(home, ["report", "run"], RLIMIT_AS=4 * GIB)


def with_memory(mib: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Python in so many MiB that it may map."""
    argv = ["bash", "-c", f'ulimit -v {mib << 10}; exec "$@"', "", sys.executable, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mib", [40, 55, 104, 128, 160, 200, ADDRESSES_MIB_MIN - 1])
def test_who_may_map_little_is_refused_before_a_library_aborts(mib: int) -> None:
    done = with_memory(mib, "-m", "nandlab", "plan", "quickstart")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"ulimit -v {ADDRESSES_MIB_MIN << 10}" in done.stderr


def test_who_may_map_little_is_refused_where_nobody_reads_the_output() -> None:
    closed = 'ulimit -v 50000; exec "$@" >&-'
    argv = ["bash", "-c", closed, "", sys.executable, "-m", "nandlab", "plan", "quickstart"]
    done = subprocess.run(argv, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_who_may_map_enough_is_served(good: Path) -> None:
    for words in (["show", str(good / "run")], ["plan", "quickstart"], ["advise", "quickstart"]):
        assert with_memory(ADDRESSES_MIB_MIN, "-m", "nandlab", *words).returncode == 0


@pytest.mark.parametrize("verb", [["show"], ["compare", "run"], ["advise"]], ids=lambda v: v[0])
def test_an_operation_without_a_name_is_shown(verb: list[str], good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "home")
    changed(trial(tmp_path / "home"), unnamed)
    words = [str(tmp_path / "home/run") if word == "run" else word for word in verb[1:]]
    assert CliRunner().invoke(app, [verb[0], str(tmp_path / "home/run"), *words]).exit_code == 0
