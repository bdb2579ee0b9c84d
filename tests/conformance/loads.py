# SPDX-License-Identifier: GPL-2.0-or-later
"""A mixed load in which the power goes again and again, each time as sync(2) returns.

Files stay open, and mapped, over the syncs. Between the last two of a cut lies work of one kind
alone, and little: a sync must not need another kind's work to do its own. All operations find what
they name, but for what comes of a link where there are none.
"""

from __future__ import annotations

from random import Random

from support.sequences import CUT, OLDEST, REMOUNT, SIZES, Sequence

BEFORE = (4, 30)
"""Operations between a mount and the sync before the last."""
SINCE = (1, 1, 2)
"""And between that one and the last, all of one kind."""
SINCE_KINDS = (
    *("put", "mapwrite", "setxattr", "rename", "ftrunc", "unlink", "mkdir", "write", "create"),
    *("chmod", "trunc", "link", "utime", "symlink", "rename_folder", "rmdir", "replace"),
)
"""That kind, in turn."""
WEIGHTS = {
    "create": 10, "open": 8, "write": 22, "put": 14, "mapwrite": 10, "ftrunc": 6, "trunc": 5,
    "fsync": 2, "close": 3, "rename": 6, "replace": 3, "rename_folder": 2, "link": 4, "symlink": 3,
    "unlink": 10, "mkdir": 4, "rmdir": 3, "chmod": 5, "utime": 4, "setxattr": 8, "sync": 4,
    "drop": 1,
}  # fmt: skip
KINDS = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
HELD, HELD_BYTES = "held", 9000
"""The file that is open whenever power goes, in slot 0."""
SLOTS = (1, 2, 3)
"""For all others."""
DATED = "dated"
"""The one file that is given times; a mapping's time of change is the file system's own affair."""
OFFSETS = (0, 100, 4090, 8192)
LITTLE = (1, 7, 100, 511)
"""Bytes of a write to the held file: less than any page."""
VALUES = (1, 17, 100)
"""Bytes of an attribute's value: any file system has room for them."""
MODES = ("600", "644", "755")


class _Load:
    """Draws operations, and knows what is there."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.made = 0
        self.files: list[str] = []
        self.links: list[str] = []
        self.folders: list[str] = []
        self.opened: list[int] = []

    def new(self) -> str:
        self.made += 1
        folder = self.random.choice(["", *self.folders])
        return f"{folder}/n{self.made}" if folder else f"n{self.made}"

    def file(self) -> str:
        return self.random.choice(self.files) if self.files else HELD

    def slot(self) -> int:
        return self.random.choice(self.opened) if self.opened else 0

    def data(self) -> int:
        return self.random.randrange(100)

    def operation(self, kind: str) -> str:
        make = getattr(self, f"_{kind}", None)
        return make() if make else kind  # sync, drop

    def little(self, kind: str) -> str:
        """An operation of the kind; what it writes is little, and to the held file."""
        self.opened = []
        if kind not in ("put", "write", "mapwrite"):
            return self.operation(kind)
        place = "" if kind == "put" else f"{self.random.choice(OFFSETS)} "
        return f"{kind} 0 {place}{self.random.choice(LITTLE)} {self.data()}"

    def ready(self) -> list[str]:
        """Something of each kind is there, and synced: a file that is held open, among it."""
        made = [self._create(), self._symlink(), self._mkdir()]
        held = [f"open 0 {HELD} c", f"write 0 0 {HELD_BYTES} {self.data()}"]
        return [*made, *held, "sync"]

    def _open(self) -> str:
        return self._opened(self.file(), self.random.choice(("-", "a", "t")))

    def _create(self) -> str:
        path = self.new()
        self.files.append(path)
        return self._opened(path, "cx")

    def _opened(self, path: str, flags: str) -> str:
        slot = self.random.choice(SLOTS)
        self.opened.append(slot)
        return f"open {slot} {path} {flags}"

    def _close(self) -> str:
        slot = self.slot()
        self.opened = [s for s in self.opened if s != slot]
        return f"close {slot}" if slot else "sync"

    def _place(self) -> str:
        return f"{self.random.choice(OFFSETS)} {self.random.choice(SIZES)} {self.data()}"

    def _write(self) -> str:
        return f"write {self.slot()} {self._place()}"

    def _mapwrite(self) -> str:
        return f"mapwrite {self.slot()} {self._place()}"

    def _put(self) -> str:
        return f"put {self.slot()} {self.random.choice(SIZES)} {self.data()}"

    def _ftrunc(self) -> str:
        return f"ftrunc {self.slot()} {self.random.choice(SIZES)}"

    def _trunc(self) -> str:
        return f"trunc {self.file()} {self.random.choice(SIZES)}"

    def _fsync(self) -> str:
        return f"fsync {self.slot()}"

    def _rename(self) -> str:
        old, new = self.file(), self.new()
        if old == HELD:
            return "sync"
        self.files[self.files.index(old)] = new
        return f"rename {old} {new}"

    def _replace(self) -> str:
        old, new = self.file(), self.file()
        if old != new:
            self.files.remove(old)
        return f"rename {old} {new}"

    def _rename_folder(self) -> str:
        old = self.random.choice(self.folders)
        self.made += 1
        new = f"n{self.made}"
        for paths in (self.files, self.links, self.folders):
            paths[:] = [new + p[len(old) :] if f"{p}/".startswith(f"{old}/") else p for p in paths]
        return f"rename {old} {new}"

    def _link(self) -> str:
        old, new = self.file(), self.new()
        self.links.append(new)
        return f"link {old} {new}"

    def _symlink(self) -> str:
        path = self.new()
        self.links.append(path)
        return f"symlink {self.file()} {path}"

    def _unlink(self) -> str:
        """Of a file or a link, whether it is open or not."""
        paths = self.random.choice([p for p in (self.files, self.links) if p])
        return f"unlink {paths.pop(self.random.randrange(len(paths)))}"

    def _mkdir(self) -> str:
        self.made += 1
        path = f"n{self.made}"
        self.folders.append(path)
        return f"mkdir {path} {self.random.choice(MODES)}"

    def _rmdir(self) -> str:
        """Of a folder that is empty, if it is not the only one."""
        there = self.files + self.links
        free = [f for f in self.folders if not any(p.startswith(f"{f}/") for p in there)]
        if not free or len(self.folders) == 1:
            return "sync"
        self.folders.remove(free[0])
        return f"rmdir {free[0]}"

    def _chmod(self) -> str:
        return f"chmod {self.file()} {self.random.choice(MODES)}"

    def _utime(self) -> str:
        return f"utime {DATED} {OLDEST + self.random.randrange(10**8) * 2}"

    def _setxattr(self) -> str:
        path = self.random.choice([HELD, *self.files, *self.folders])
        size = self.random.choice(VALUES)
        return f"setxattr {path} {self.random.choice('pq')} {size} {self.data()}"


def load(seed: int, cuts: int) -> Sequence:
    """So many cuts, each with a check after it of all that there is."""
    maker = _Load(seed)
    random = maker.random
    done = [f"open 0 {DATED} c", *maker.ready()]
    for cut in range(cuts):
        done.append(maker.operation("create"))
        done += [maker.operation(random.choice(KINDS)) for _ in range(random.randint(*BEFORE))]
        done += maker.ready()
        kind = SINCE_KINDS[cut % len(SINCE_KINDS)]
        done += [maker.little(kind) for _ in range(random.choice(SINCE))]
        done += [CUT, REMOUNT, "check"]
        maker.opened = []
    return tuple(done)
