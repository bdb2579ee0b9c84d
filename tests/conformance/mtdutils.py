# SPDX-License-Identifier: GPL-2.0-or-later
"""mtd-utils' own tests of file systems, built static for the board.

They come from Debian's source package ``mtd-utils``, at the version that mtdutils.lock names.
Nothing of it is in this repository. Their random numbers begin from the process's number, so a
seed is given by choosing that: see ``seeded``.
"""

from __future__ import annotations

import io
import shlex
import tarfile
import tempfile
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.board.kit import lock, packages
from nandlab.board.kit.apt import PackagesUnavailable, Suite
from nandlab.board.kit.kit import fetch_board_tools
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packagesets import SourceSet
from nandlab.board.kit.root import Root
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

SOURCE = SourceSet(Suite("bookworm", "amd64"), "mtd-utils")
LOCK = Path(__file__).with_suffix(".lock")
FOLDER = "tests/fs-tests"
INTEGCK = "integrity/integck"
PROGRAMS = {
    INTEGCK: ("lib/libubi.c",),
    **dict.fromkeys(
        (
            *("simple/test_1", "simple/test_2", "simple/ftrunc", "simple/orph"),
            *("stress/atoms/stress_1", "stress/atoms/stress_2", "stress/atoms/stress_3"),
            *("stress/atoms/rndrm00", "stress/atoms/rmdir00"),
            *("stress/atoms/rndwrite00", "stress/atoms/fwrite00", "stress/atoms/pdfrun"),
        ),
        (f"{FOLDER}/lib/tests.c",),
    ),
    **dict.fromkeys(("utils/fstest_monitor", "utils/free_space"), ()),
}
"""Programs, each with the sources that it needs besides its own."""
SCRIPTS = ("stress/fs_stress00.sh", "stress/fs_stress01.sh")
HOME = "/tmp/mtdutils"
"""Where the board has them."""
FLAGS = (
    *("-static", "-s", "-O2", "-w", "-D_FILE_OFFSET_BITS=64"),
    *('-DVERSION="debian"', "-DHAVE_EXECINFO_H"),
    *("-Iinclude", f"-I{FOLDER}/lib", "-ffunction-sections", "-Wl,--gc-sections"),
)
FIRST_PID = 1000
"""Past the numbers that the board's own processes have."""


def source() -> Files:
    """The source package's files, in the cache; the newest where the locked are not to be had."""
    files = lock.read_package_lock(LOCK)[SOURCE.name]
    try:
        packages.fetch_packages(SOURCE, files)
    except PackagesUnavailable:
        files = packages.resolve_newest_packages(SOURCE)
        packages.fetch_packages(SOURCE, files)
    return files


def built() -> Path:
    """The folder of programs and scripts, by one compiler for all boards."""
    tools, _ = fetch_board_tools(load_noun("boards", "apf27", BoardModel))
    (archive,) = (sha256 for name, sha256 in source().items() if ".orig.tar." in name)
    inputs = {
        "archive": archive,
        "tools": tools.key,
        "programs": {name: list(more) for name, more in PROGRAMS.items()},
        "flags": FLAGS,
        "scripts": [HOME, *SCRIPTS],
    }
    return make_entry(
        "mtdutils",
        inputs,
        lambda work: _make(packages.make_cached_package_path(archive), tools, work),
    )


def _make(archive: Path, tools: Root, work: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        with tarfile.open(archive) as tar:
            # not given by name: Debian 12's Python has it not yet, and trusts as this one did
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            tar.extractall(scratch)
        (source,) = (d for d in Path(scratch).iterdir() if d.is_dir())
        for name, more in PROGRAMS.items():
            files = [f"{FOLDER}/{name}.c", *more]
            argv = ["gcc", *FLAGS, *files, "-o", f"/out/{Path(name).name}"]
            compile = f"cd /source && {shlex.join(argv)}"
            tools.checked(["sh", "-c", compile], see={"/source": source, "/out": work})
        for name in SCRIPTS:
            text = (source / FOLDER / f"{name}.in").read_text()
            script = work / Path(name).name
            script.write_text(text.replace("@TESTBINDIR@", HOME))
            script.chmod(0o755)


def packed(*names: str) -> dict[str, bytes]:
    """Files for a job: these programs. Packed they are small, for all hold the same C library."""
    folder, out = built(), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            content = (folder / name).read_bytes()
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return {"mtdutils.tar.xz": out.getvalue()}


UNPACK = f"mkdir {HOME} && tar -xJf mtdutils.tar.xz -C {HOME}"
"""The board's command that unpacks them."""


def seeded(seed: int, command: str) -> str:
    """The command as a process whose number is the seed's, so that it does the same again."""
    return f"echo {FIRST_PID + seed - 1} > /proc/sys/kernel/ns_last_pid && {{ {command} || exit; }}"
