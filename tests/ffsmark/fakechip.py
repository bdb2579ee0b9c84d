# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's statistics that a test makes up, fixed or growing with files."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

COUNTERS = {
    "reads": 0,
    "programs": 0,
    "erases": 0,
    "partition_pages": 4096,
    "pages_programmed": 0,
    "pages_per_block": 64,
    "blocks": 64,
    "busy_ns": 1,
    "idle_ns": 1,
    "a_key_of_tomorrow": 7,
}


def write_chip(folder: Path, counters: dict[str, int], blocks: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "counters").write_text("".join(f"{k} {v}\n" for k, v in counters.items()))
    (folder / "blocks").write_text("".join(f"{line}\n" for line in blocks))
    return folder


def serve_once(path: Path, content: Callable[[], str]) -> None:
    """Wait for one reader of the FIFO, and give it what `content` then says.

    A fresh FIFO is put in its place first: the next reader cannot join this one.
    """
    with path.open("w") as pipe:
        fresh = path.with_name(f"{path.name}.fresh")
        os.mkfifo(fresh)
        fresh.replace(path)
        with contextlib.suppress(BrokenPipeError):
            pipe.write(content())
            pipe.flush()


@dataclass
class FakeChip:
    """A chip whose `counters` are computed when they are read: it is a FIFO.

    It knows the files in `work` as they grow, and turns their growth into programmed pages by
    `pages`: bytes grown since the last look -> pages. Deleted data stays programmed.
    """

    folder: Path
    work: Path
    pages: Callable[[int], float]
    partition_pages: int = 4096
    before: int = 100
    per_look: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    programmed: float = 0
    turns: list[str] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)
    """Bytes of the two files of a fill, valid and invalid, at each look."""
    looks: int = 0
    stopped: bool = False

    def start(self) -> FakeChip:
        write_chip(self.folder, COUNTERS, [f"{i} 0 0 0" for i in range(64)])
        (self.folder / "counters").unlink()
        os.mkfifo(self.folder / "counters")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def look(self) -> dict[str, int]:
        for file in ("ffsmark.valid", "ffsmark.invalid"):
            with contextlib.suppress(FileNotFoundError):
                size = (self.work / file).stat().st_size
                grown = size - self.sizes.get(file, 0)
                self.sizes[file] = size
                if grown:
                    self.programmed += self.pages(grown)
                    self.turns.append(file.removeprefix("ffsmark."))
        sizes = (self.sizes.get(f"ffsmark.{kind}", 0) for kind in ("valid", "invalid"))
        self.seen.append((next(sizes), next(sizes)))
        self.looks += 1
        return {
            **COUNTERS,
            "partition_pages": self.partition_pages,
            "pages_programmed": self.before + int(self.programmed),
            **{key: value * self.looks for key, value in self.per_look.items()},
        }

    def text(self) -> str:
        return "" if self.stopped else "".join(f"{k} {v}\n" for k, v in self.look().items())

    def serve(self) -> None:
        while not self.stopped:
            serve_once(self.folder / "counters", self.text)

    def stop(self) -> None:
        self.stopped = True
        with contextlib.suppress(OSError):
            os.close(os.open(self.folder / "counters", os.O_RDONLY | os.O_NONBLOCK))
        self.thread.join(5)


ChipMaker = Callable[..., FakeChip]


def like_jffs2(grown: int) -> float:
    """A 68-byte header for each node of at most 4 KiB; pages of 2 KiB."""
    return (grown + 68 * -(-grown // 4096)) / 2048


def like_ubifs(grown: int) -> float:
    """A 48-byte header for each 4 KiB, and an inode written with each push."""
    return (grown + 48 * -(-grown // 4096) + 160) / 2048


def compressed(grown: int) -> float:
    return grown * 0.3 / 2048
