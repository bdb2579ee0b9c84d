# SPDX-License-Identifier: GPL-2.0-or-later
"""The second oracle: what may lie on flash after a cut, worked out from whole states of the files.

``device/programs/lib/cuts/judge.c`` is the first, on the board. This one shares no code with it: it
keeps each file's bytes after each call, and is given what the host's own decoders read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from nandlab.base.errors import NandlabError
from nandlab.powercut.loads import Load, LoadSet

MASK = (1 << 64) - 1
FOLDER = None
"""Stands for a folder where a file has its bytes."""
Tree = Mapping[str, bytes | None]
NEVER = 1 << 62
SAME_WORD = (1 << 32) - 1
"""What load.c of the program has: words of a write that compresses are drawn as this one."""
EXTENDED_BYTES = 8192
"""By which the board's check makes a file longer; lib/cuts/cuts.h of the program has it too."""
CONTENT_CALLS = ("write", "swrite", "mwrite", "truncate")
"""Calls that change what a file has."""
SYNC_CALLS = ("sync", "readonly")
"""Calls that keep all."""


def _draw_number(state: int) -> int:
    """SplitMix64's number after a state; device/programs/lib/payload.c has it too."""
    x = (state + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def _make_word(call: int, at: int) -> bytes:
    drawn = call // 2 % 2 or at % 8 == 0
    return _draw_number((at if drawn else SAME_WORD) + (call << 32)).to_bytes(8, "little")


@cache
def make_call_bytes(call: int, at: int, count: int) -> bytes:
    """What a call of a load writes at an offset."""
    first, last = at // 8, (at + count + 7) // 8
    words = b"".join(_make_word(call, w) for w in range(first, last))
    return words[at - 8 * first :][:count].replace(b"\0", b"\1")


def undo_file_extensions(tree: Tree, longer: Iterable[str]) -> tuple[Tree, list[str]]:
    """The tree with the files as they were before the check made these longer, and what is wrong
    with what they have now behind their old ends, where zeros should be."""
    before, told = dict(tree), list[str]()
    for name in sorted(longer):
        content = tree.get(name)
        if content is FOLDER:
            continue  # the oracle tells that the file is not there
        end = max(0, len(content) - EXTENDED_BYTES)
        before[name] = content[:end]
        stale = content[end:].lstrip(b"\0")
        if stale or len(content) < EXTENDED_BYTES:
            at = len(content) - len(stale)
            told.append(
                f"{name}: made longer, byte {at} of {len(content)} is {stale[0]}, not 0"
                if stale
                else f"{name}: made longer by {EXTENDED_BYTES} bytes, it has {len(content)}"
            )
    return before, told


@dataclass(frozen=True)
class TreeState:
    """Names and files after a call."""

    names: dict[str, int]
    """Path -> number of its file or folder."""
    files: dict[int, bytes | None]


def _change_content(content: bytes, kind: str, numbers: Sequence[int], call: int) -> bytes:
    if kind == "truncate":
        return content[: numbers[0]].ljust(numbers[0], b"\0")
    at, count = numbers
    new = make_call_bytes(call, at, count)
    return content[:at].ljust(at, b"\0") + new + content[at + count :]


def _apply_call(state: TreeState, call: int, kind: str, words: list[str]) -> TreeState:
    names, files = dict(state.names), dict(state.files)
    if kind in ("create", "mkdir"):
        names[words[0]] = call
        files[call] = b"" if kind == "create" else FOLDER
    elif kind in ("rename", "link"):
        names[words[1]] = names[words[0]]
        if kind == "rename" and state.names.get(words[1]) != names[words[0]]:
            del names[words[0]]  # two names of one file stay, by POSIX
    elif kind in ("unlink", "rmdir"):
        del names[words[0]]
    elif kind in CONTENT_CALLS:
        number = names[words[0]]
        numbers = [int(word) for word in words[1:]]
        files[number] = _change_content(files[number] or b"", kind, numbers, call)
    return TreeState(names, files)


class Oracle:
    """What may be there, for one load and its marks."""

    def __init__(self, loads: LoadSet, load: Load, marks: str) -> None:
        """marks: as the chip's journal tells them, lines of operations and mark."""
        self.calls = [each.split() for each in (*loads.base, "sync", *load.calls)]
        self.base = len(loads.base) + 1
        self.begun = [0] * self.base + [NEVER] * len(load.calls)
        self.returned = list(self.begun)
        for line in marks.splitlines():
            operations, mark = map(int, line.split())
            if not self.base <= mark // 2 < len(self.calls):
                raise NandlabError(
                    f"powercut: {load.title}: call {mark // 2} was played, and the load has "
                    f"{len(self.calls)} calls, of which {self.base} come before: they are of two "
                    "loads"
                )
            (self.returned if mark % 2 else self.begun)[mark // 2] = operations
        state, self.states = TreeState({}, {}), list[TreeState]()
        for i, (kind, *words) in enumerate(self.calls):
            state = _apply_call(state, i, kind, words)
            self.states.append(state)

    def wrong(self, found: Tree, operations: int, *, in_next: bool) -> list[str]:
        """What of a tree cannot be there after so many flash operations; empty: it holds.

        in_next: whether the next operation has begun. Links: two names have equal bytes.
        """
        last = max(
            i
            for i in range(len(self.calls))
            if i < self.base
            or self.begun[i] < operations + in_next
            or self.returned[i] <= operations
        )
        names = {name for state in self.states for name in state.names}
        told = [f"{name} never was" for name in sorted(found.keys() - names)]
        held: dict[str, set[int]] = {}
        for name in sorted(names):
            held[name], why = self._name(found, name, operations, last)
            told += [f"{name}: {why}"] if why else []
        return told + list(self._nameless(held, operations, last))

    def _kept(self, operations: int, last: int, ways: Sequence[list[str]]) -> int:
        """The last call that had returned and is one of these; -1: none."""
        return max(
            (
                i
                for i in range(last + 1)
                if self.returned[i] <= operations
                and (self.calls[i][0] in SYNC_CALLS or self.calls[i] in ways)
            ),
            default=-1,
        )

    def _name(self, found: Tree, name: str, cut: int, last: int) -> tuple[set[int], str]:
        """The files that what is under a name may be, and what is wrong if there are none."""
        folder = name.rpartition("/")[0]
        since = self._kept(cut, last, [["fsyncdir", folder] if folder else ["fsyncdir"]])
        may = {s.names.get(name) for s in self.states[max(since, 0) : last + 1]}
        if since < 0:
            may.add(None)
        if name not in found:
            return set(), "" if None in may else "is not there"
        fit = {n for n in may if n is not None and self._fits(found[name], n, cut, last)}
        return fit, "" if fit else "is no file that it may be"

    def _synced(self, number: int, cut: int, last: int, *kinds: str) -> list[int]:
        """The calls that had returned and kept a file, in order."""

        def keeps(i: int) -> bool:
            kind, *words = self.calls[i]
            of_it = kind in kinds and self.states[i].names.get(words[0]) == number
            return self.returned[i] <= cut and (of_it or kind in SYNC_CALLS)

        return [i for i in range(last + 1) if keeps(i)]

    def _named(self, number: int, cut: int, last: int) -> Iterator[int]:
        """The calls that had returned and kept a folder in which a file had a name."""
        for i in range(last + 1):
            kind, *words = self.calls[i]
            if kind == "fsyncdir" and self.returned[i] <= cut:
                folder = words[0] if words else ""
                named = (n for n, which in self.states[i].names.items() if which == number)
                if any(name.rpartition("/")[0] == folder for name in named):
                    yield i

    def _fits(self, content: bytes | None, number: int, cut: int, last: int) -> bool:
        since = max([0, *self._synced(number, cut, last, "fsync")])
        versions = [(i, self.states[i].files.get(number)) for i in range(since, last + 1)]
        whole = [(i, v) for i, v in versions if v is not None]
        if content is FOLDER or not whole:
            return content is FOLDER and not whole
        # an O_SYNC write keeps its own bytes, and no others of before
        wrote = [
            (i, int(self.calls[i][2]), int(self.calls[i][3]))
            for i in self._synced(number, cut, last, "swrite")
            if i > since and self.calls[i][0] == "swrite"
        ]
        least = [min(at + n, *(len(v) for k, v in whole if k >= i)) for i, at, n in wrote]
        sizes = [len(v) for _, v in whole]
        if not max([min(sizes), *least]) <= len(content) <= max(sizes):
            return False

        def right(at: int, byte: int) -> bool:
            first = max([since, *(i for i, a, n in wrote if a <= at < a + n)])
            return any(byte == (v[at] if at < len(v) else 0) for i, v in whole if i >= first)

        first = max([since, *(i for i, _, _ in wrote)])
        return any(content == v for i, v in whole if i >= first) or all(
            right(at, byte) for at, byte in enumerate(content)
        )

    def _nameless(self, held: Mapping[str, set[int]], cut: int, last: int) -> Iterator[str]:
        """Files that were kept under a name, have had one ever since, and have none."""
        for number in self.states[last].files:
            kept = self._synced(number, cut, last, "fsync", "swrite")
            since = max([-1, *kept, *self._named(number, cut, last)])
            span = self.states[max(since, 0) : last + 1]
            if since < 0 or not all(number in s.names.values() for s in span):
                continue
            if not any(number in numbers for numbers in held.values()):
                yield f"what was made by call {number} has no name"
