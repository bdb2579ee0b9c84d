# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the user's own that a trace or a program takes to the board: programs, data for them.

They pass through the store (``board/jobs/cargo.py``), so they take no room that a job has for its
programs, and appear on the board after the file system is mounted: a file that is put below the
mountpoint is on flash.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import stat
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_bytes
from nandlab.board.jobs.job import Step
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB
from nandlab.plan.medium import MOUNTPOINT
from nandlab.traced.setup import RECORD_BYTES

STEP = "copies"
SCRIPT = "copies.sh"
DEADLINE_S = 3600
KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
"""Folders whose files are the kernel's."""
FOLDERS = (
    *("/", "/bin", "/etc", "/job", "/lib", "/lib64", "/mnt", "/root", "/sbin", "/tmp"),
    *("/usr", "/usr/bin", "/usr/lib", "/usr/sbin"),
)
"""Folders that the board has."""
MACHINES = {
    **{2: "SPARC", 3: "i386", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 22: "S/390", 40: "ARM"},
    **{62: "x86-64", 183: "AArch64", 243: "RISC-V", 258: "LoongArch"},
}
"""Machines of programs (e_machine of their ELF header) by number."""
INTERPRETER = 3
"""PT_INTERP: the entry of an ELF file's table of segments that names its loader."""


@dataclass(frozen=True)
class Copy:
    """A file that is put on the board."""

    source: Path
    path: str
    """Where the board has it: absolute."""
    content: bytes
    mode: int
    """Permission bits, as the source has them."""

    @property
    def on_flash(self) -> bool:
        return self.path.startswith(f"{MOUNTPOINT}/")


def read_files_to_copy(
    words: Sequence[str], board: BoardModel, records: int, option: str = "--copy"
) -> tuple[Copy, ...]:
    """The copies that ``FILE:PATH`` words ask for; UsageError lists all that cannot be.

    records: of the trace, which the board's RAM holds beside the files; 0: nothing is traced.
    option: of the command line that the words are of.
    """
    copies, wrong = [], []
    store = board.chip_store_mib * MIB
    for word in words:
        try:
            copies.append(_read_copy(word, board, store))
            store -= len(copies[-1].content)
        except UsageError as e:
            wrong.append(f"{option} {word if word.isprintable() else ascii(word)}: {e}")
    paths = [copy.path for copy in copies]
    wrong += [f"{option}: {p} is given twice" for p in sorted(set(paths)) if paths.count(p) > 1]
    for copy in copies:
        if why := _explain_cannot_run(copy, board, paths):
            wrong.append(f"{option} {copy.source}:{copy.path}: {why}")
    room = board.usable_mib * MIB - records * RECORD_BYTES
    size = sum(len(copy.content) for copy in copies if not copy.on_flash)
    if size > room:
        beside_text, cure = (
            (" beside the trace's records", "lower --records, or ") if records else ("", "")
        )
        wrong.append(
            f"{option}: the files take {size:,} bytes of the RAM of board {board.name}, which has "
            f"{max(room, 0):,}{beside_text}: {cure}put data below {MOUNTPOINT}, on flash"
        )
    if wrong:
        raise UsageError(*wrong)
    return tuple(copies)


def _read_copy(word: str, board: BoardModel, store: int) -> Copy:
    """store: bytes that the board still has for what is carried to it."""
    name, colon, path = word.rpartition(":")
    if not colon or not name:
        raise UsageError("expected FILE:PATH, such as app:/usr/bin/app")
    if wrong := _explain_misplaced(path):
        raise UsageError(wrong)
    source, full = Path(name), board.chip_store_mib * MIB
    if source.is_dir():
        raise UsageError(f"{name} is a folder: copy its files one by one, or make an image of it")
    try:
        status = source.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{name} is no file")
        if status.st_size > store:
            left = f", of which other files leave {store:,} bytes" if store < full else ""
            raise UsageError(
                f"{name} has {status.st_size:,} bytes, and board {board.name} keeps "
                f"{board.chip_store_mib} MiB for the chip and what is carried{left}"
            )
        return Copy(source, path, read_bytes(source, status.st_size), stat.S_IMODE(status.st_mode))
    except (OSError, ValueError) as e:
        raise UsageError(f"{name}: {getattr(e, 'strerror', None) or e}") from None


def _explain_misplaced(path: str) -> str | None:
    """Why no file can be put at a path of the board; None: one can."""
    if not path.startswith("/"):
        return f"{path!r} is no path from the board's root: begin it with /"
    if re.search(r"[\x00-\x1f\x7f]", path):
        return "a path has no control characters"
    if path in FOLDERS or path.endswith("/") or path in KERNEL_FOLDERS:
        return f"{path} is a folder: name the file too, such as {path.rstrip('/')}/NAME"
    if posixpath.normpath(path) != path:
        return f"write {path} as {posixpath.normpath(path)}"
    under = next((k for k in (*KERNEL_FOLDERS, "/job") if path.startswith(f"{k}/")), None)
    return f"{under} is the system's: take another folder" if under else None


def _explain_cannot_run(copy: Copy, board: BoardModel, paths: Sequence[str]) -> str | None:
    """Why the board cannot run a program; None: it may, or the file is none."""
    if not copy.mode & 0o111 or not copy.content.startswith(b"\x7fELF"):
        return None
    try:
        machine, loader = _parse_elf(copy.content)
    except (struct.error, IndexError):
        return "its ELF header is damaged"
    arch = board.arch_traits
    if machine != arch.elf:
        of = MACHINES.get(machine, f"machine {machine}")
        runs = MACHINES[arch.elf]
        return f"a program for {of}, and board {board.name} runs {runs}: build it for that, static"
    if loader and loader not in (arch.loader, *paths):
        return f"it needs the loader {loader}, which the board lacks: build it static"
    return None


def _parse_elf(content: bytes) -> tuple[int, str]:
    """The machine that an ELF file is for, and its loader; empty: it needs none."""
    end = "<" if content[5] == 1 else ">"
    (machine,) = struct.unpack_from(f"{end}H", content, 18)
    # where the table of segments is, the size and number of its entries; and in an entry the kind
    # of the segment, where it begins and its bytes
    table, sizes, entry = (32, 54, "I4xQ16xQ") if content[4] == 2 else (28, 42, "II8xI")
    (at,) = struct.unpack_from(f"{end}Q" if content[4] == 2 else f"{end}I", content, table)
    size, count = struct.unpack_from(f"{end}HH", content, sizes)
    for i in range(count):
        kind, where, length = struct.unpack_from(f"{end}{entry}", content, at + i * size)
        if kind == INTERPRETER:
            return machine, content[where : where + length].rstrip(b"\0").decode(errors="replace")
    return machine, ""


def make_copy_files_step() -> Step:
    """Puts the copies where they belong; needs :func:`make_copy_files_script` as SCRIPT."""
    return Step(STEP, f"sh ./{SCRIPT}", DEADLINE_S)


def make_copy_files_script(
    copies: Sequence[Copy], get: Callable[[int], str], option: str = "--copy"
) -> bytes:
    """The step's script; get: the board's command that writes a copy's content to stdout."""
    lines = ["set -e"]
    for i, copy in enumerate(copies):
        path, folder = shlex.quote(copy.path), shlex.quote(posixpath.dirname(copy.path))
        there = shlex.quote(f"{option}: {copy.path}: the board has that already; name another")
        lines += [
            f"[ ! -e {path} ] || {{ echo {there} >&2; exit 2; }}",
            f"mkdir -p {folder}",
            f"{get(i)} > {path}",
            f"chmod {copy.mode:o} {path}",
        ]
    return ("\n".join(lines) + "\n").encode()
