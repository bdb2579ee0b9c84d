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
"""Stands for a folder where a file has its bytes, and for a symbolic link or a whiteout: of these
the host sees the name."""
Tree = Mapping[str, bytes | None]
NEVER = 1 << 62
SAME_WORD = (1 << 32) - 1
"""What load.c of the program has: words of a write that compresses are drawn as this one."""
EXTENDED_BYTES = 8192
"""By which the board's check makes a file longer; lib/cuts/cuts.h of the program has it too."""
CONTENT_CALLS = ("write", "swrite", "mwrite", "truncate", "fallocate", "tmplink")
"""Calls that change what a file has."""
MAKING_CALLS = ("create", "mkdir", "symlink", "tmplink")
OPENING_CALLS = ("open", "tmpfile")
"""Calls after which a file may be written that has no name."""
RENAMING_CALLS = ("rename", "noreplace", "whiteout")
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
    before, extensions = dict(tree), list[str]()
    for name in sorted(longer):
        content = tree.get(name)
        if content is FOLDER:
            continue  # the oracle tells that the file is not there
        end = max(0, len(content) - EXTENDED_BYTES)
        before[name] = content[:end]
        stale = content[end:].lstrip(b"\0")
        if stale or len(content) < EXTENDED_BYTES:
            at = len(content) - len(stale)
            extensions.append(
                f"{name}: made longer, byte {at} of {len(content)} is {stale[0]}, not 0"
                if stale
                else f"{name}: made longer by {EXTENDED_BYTES} bytes, it has {len(content)}"
            )
    return before, extensions


@dataclass(frozen=True)
class TreeState:
    """Names and files after a call."""

    names: dict[str, int]
    """Path -> number of its file or folder."""
    files: dict[int, bytes | None]


def _change_content(content: bytes, kind: str, numbers: Sequence[int], call: int) -> bytes:
    if kind == "truncate":
        return content[: numbers[0]].ljust(numbers[0], b"\0")
    at, count = numbers if len(numbers) > 1 else (0, *numbers)
    if kind == "fallocate":
        return content.ljust(at + count, b"\0")
    new = make_call_bytes(call, at, count)
    return content[:at].ljust(at, b"\0") + new + content[at + count :]


def _move_names(names: Mapping[str, int], moves: Mapping[str, str]) -> dict[str, int]:
    """The names once some have moved, and all below them; what had a new name has it no more."""

    def move(name: str) -> str:
        for old, new in moves.items():
            if name == old or name.startswith(f"{old}/"):
                return new + name[len(old) :]
        return name

    moved = {name for name in names if move(name) != name}
    staying = {name: number for name, number in names.items() if name not in moved}
    return staying | {move(name): names[name] for name in moved}


def _apply_rename(state: TreeState, call: int, kind: str, words: list[str]) -> TreeState:
    name, to = words
    names, files = state.names, dict(state.files)
    if names.get(to) == names[name]:
        return state  # two names of one file stay, by POSIX
    moves = {name: to, to: name} if kind == "exchange" else {name: to}
    after = _move_names(names, moves)
    if kind == "whiteout":
        after[name], files[call] = call, FOLDER
    return TreeState(after, files)


def _apply_call(
    state: TreeState, call: int, kind: str, words: list[str], open_files: Mapping[str, int]
) -> TreeState:
    """The state after a call; open_files: the file numbers by the name that each was opened by."""
    if kind in RENAMING_CALLS or kind == "exchange":
        return _apply_rename(state, call, kind, words)
    names, files = dict(state.names), dict(state.files)
    if kind in MAKING_CALLS:
        names[words[0]] = call
        files[call] = FOLDER if kind in ("mkdir", "symlink") else b""
    elif kind == "tmpfile":
        files[call] = b""
    elif kind == "linktmp":
        names[words[0]] = open_files[words[0]]
    elif kind == "link":
        names[words[1]] = names[words[0]]
    elif kind in ("unlink", "rmdir"):
        del names[words[0]]
    if kind in CONTENT_CALLS:
        number = names[words[0]] if words[0] in names else open_files[words[0]]
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
        held: dict[str, int] = {}
        for i, (kind, *words) in enumerate(self.calls):
            state = _apply_call(state, i, kind, words, held)
            if kind in OPENING_CALLS:
                held[words[0]] = state.names.get(words[0], i)
            self.states.append(state)

    def list_violations(self, tree: Tree, operations: int, *, in_next: bool) -> list[str]:
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
        violations = [f"{name} never was" for name in sorted(tree.keys() - names)]
        held: dict[str, set[int]] = {}
        for name in sorted(names):
            held[name], why = self._name(tree, name, operations, last)
            violations += [f"{name}: {why}"] if why else []
        return violations + list(self._nameless(held, operations, last))

    def _find_last_kept_call(self, operations: int, last: int, ways: Sequence[list[str]]) -> int:
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

    def _since(self, name: str, cut: int, last: int) -> int:
        """The last call that kept a name; -1: none. An fsync of its folder is none where that may
        be another folder still."""
        folder = name.rpartition("/")[0]
        since = self._find_last_kept_call(
            cut, last, [["fsyncdir", folder] if folder else ["fsyncdir"]]
        )
        if not folder:
            return since
        above = self._since(folder, cut, last)
        may = {state.names.get(folder) for state in self.states[max(above, 0) : last + 1]}
        return above if above < since and len(may - {None}) > 1 else since

    def _may_lack_folder(self, name: str, cut: int, last: int) -> bool:
        """Whether a folder above a name may not be there, such as one that was renamed."""
        folder = name.rpartition("/")[0]
        if not folder:
            return False
        since = self._since(folder, cut, last)
        states = self.states[max(since, 0) : last + 1]
        gone = since < 0 or any(folder not in state.names for state in states)
        return gone or self._may_lack_folder(folder, cut, last)

    def _name(self, tree: Tree, name: str, cut: int, last: int) -> tuple[set[int], str]:
        """The files that what is under a name may be, and what is wrong if there are none."""
        since = self._since(name, cut, last)
        may = {s.names.get(name) for s in self.states[max(since, 0) : last + 1]}
        if since < 0:
            may.add(None)
        if name not in tree:
            lacks = None in may or self._may_lack_folder(name, cut, last)
            return set(), "" if lacks else "is not there"
        fit = {n for n in may if n is not None and self._fits(tree[name], n, cut, last)}
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
        since = max([0, *self._synced(number, cut, last, "fsync", "fdatasync")])
        versions = [(i, self.states[i].files.get(number)) for i in range(since, last + 1)]
        if since <= number <= last and self.calls[number][0] == "tmplink":
            versions.append((number, b""))  # made, not written yet: the call does both
        contents = [(i, v) for i, v in versions if v is not None]
        if content is FOLDER or not contents:
            return content is FOLDER and not contents
        # an O_SYNC write keeps its own bytes, and no others of before
        wrote = [
            (i, int(self.calls[i][2]), int(self.calls[i][3]))
            for i in self._synced(number, cut, last, "swrite")
            if i > since and self.calls[i][0] == "swrite"
        ]
        least = [
            min(offset + n, *(len(v) for k, v in contents if k >= i)) for i, offset, n in wrote
        ]
        sizes = [len(v) for _, v in contents]
        if not max([min(sizes), *least]) <= len(content) <= max(sizes):
            return False

        def right(offset: int, byte: int) -> bool:
            first = max([since, *(i for i, a, n in wrote if a <= offset < a + n)])
            return any(
                byte == (v[offset] if offset < len(v) else 0) for i, v in contents if i >= first
            )

        first = max([since, *(i for i, _, _ in wrote)])
        return any(content == v for i, v in contents if i >= first) or all(
            right(offset, byte) for offset, byte in enumerate(content)
        )

    def _nameless(
        self, calls_by_name: Mapping[str, set[int]], cut: int, last: int
    ) -> Iterator[str]:
        """Files that were kept under a name, have had one ever since, and have none."""
        for number in self.states[last].files:
            kept = self._synced(number, cut, last, "fsync", "fdatasync", "swrite")
            since = max([-1, *kept, *self._named(number, cut, last)])
            span = self.states[max(since, 0) : last + 1]
            if since < 0 or not all(number in s.names.values() for s in span):
                continue
            if not any(number in calls for calls in calls_by_name.values()):
                yield f"what was made by call {number} has no name"
