# SPDX-License-Identifier: GPL-2.0-or-later
"""The names below the replayed folder, as the trace shows them: what is there, and what was before.

A name that a call finds and that no call has made was there before the trace: it is made before the
replay, with as many bytes as the trace shows that it had. What the trace does not show is not made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

PathParts = tuple[bytes, ...]
"""A path from the replayed folder; empty: the folder itself."""
LINKS_MAX = 40


@dataclass
class FileSize:
    """Bytes of a file, and what the trace shows of how many it had before."""

    size: int | None = None
    """None: not known yet."""
    before: int | None = None
    """That it had before, where a call told."""
    need: int = 0
    """That it had before at the least."""
    top: int = 0
    """The end of what was written while ``now`` is not known."""
    added: int = 0
    """Bytes appended while ``now`` is not known."""

    def read(self, offset: int, requested_bytes: int, returned_bytes: int) -> None:
        """A read: what it got was there, and where it got less there was an end."""
        if self.size is not None or not returned_bytes or offset + returned_bytes <= self.top:
            return
        self.need = max(self.need, offset + returned_bytes)
        if returned_bytes < requested_bytes and not self.added:
            self.before = self.size = offset + returned_bytes

    def write(self, at: int, size: int) -> None:
        if self.size is None:
            self.top = max(self.top, at + size)
        else:
            self.size = max(self.size, at + size)

    def append(self, size: int) -> int | None:
        """Where an append begins; None: not known."""
        if self.size is None:
            self.added += size
            return None
        self.size += size
        return self.size - size

    def note_size(self, size: int) -> None:
        """A call tells the size."""
        if self.size is None and size > self.top:
            self.before = max(0, size - self.added)
        self.size = size

    def cut(self, size: int) -> None:
        self.size = size

    @property
    def first(self) -> int:
        """Bytes that it had before."""
        return self.need if self.before is None else self.before


@dataclass(eq=False)
class NameNode:
    """A file, folder or symbolic link."""

    name: bytes
    parent: NameNode | None
    origin: PathParts | None = None
    """Its path before the trace; None: a call of the trace made it."""
    kind: str = ""
    """file, dir or link; empty: not known, a file."""
    sure: bool = True
    """False: it may have been there before, as the call that opened it creates too."""
    mode: int | None = None
    target: bytes | None = None
    size: FileSize = field(default_factory=FileSize)
    children: dict[bytes, NameNode | None] = field(default_factory=dict)
    """None: there is no such name."""

    @property
    def path(self) -> PathParts | None:
        """Where it is now; None: it has no name any more."""
        parts: list[bytes] = []
        node = self
        while node.parent is not None:
            parts.append(node.name)
            node = node.parent
        return tuple(reversed(parts)) if node.origin == () else None

    def is_known(self) -> bool:
        return self.origin is None or self.kind != ""


class NameTree:
    """The tree of names below the replayed folder."""

    def __init__(self) -> None:
        self.root = NameNode(b"", None, (), "dir")
        self._before: list[NameNode] = []

    def before(self) -> Iterator[NameNode]:
        """What was there before, folders first."""
        return (n for n in self._before if n.sure or n.size.first)

    def find(
        self, path: PathParts, *, follow: bool = True, links: int = LINKS_MAX
    ) -> NameNode | None:
        """What has a path by what is known; None: nothing, or not known."""
        node: NameNode | None = self.root
        for i, name in enumerate(path):
            node = node.children.get(name) if node else None
            if node is None:
                return None
            last = i == len(path) - 1
            if node.kind == "link" and node.target is not None and (follow or not last):
                return self._through(node, path[:i], path[i + 1 :], follow, links)
        return node

    def _through(
        self, link: NameNode, above: PathParts, remaining: PathParts, follow: bool, links: int
    ) -> NameNode | None:
        target = link.target or b""
        if not links or target.startswith(b"/"):
            return None
        joined = normalise_path((*above, *target.split(b"/")))
        return (
            None
            if joined is None
            else self.find((*joined, *remaining), follow=follow, links=links - 1)
        )

    def existing(self, path: PathParts, kind: str = "", *, follow: bool = True) -> NameNode | None:
        """What has a path, which a call found: if it is new to us, it was there before.

        None: it cannot have been, so another program made it, or the trace lacks a call.
        """
        for depth in range(1, len(path) + 1):
            last = depth == len(path)
            kept = self._find_existing(
                path[:depth], kind if last else "dir", follow=follow or not last
            )
            if kept is None:
                return None
        return self.find(path, follow=follow)

    def _find_existing(self, path: PathParts, kind: str, *, follow: bool) -> NameNode | None:
        """The same for a path whose folder is there."""
        node = self.find(path, follow=follow)
        if node is None:
            above = self.find(path[:-1])
            if above is None or above.origin is None or path[-1] in above.children:
                return None
            node = NameNode(path[-1], above, (*above.origin, path[-1]), kind)
            above.children[path[-1]] = node
            self._before.append(node)
        if kind and not node.is_known():
            node.kind = kind
        return node

    def absent(self, path: PathParts) -> None:
        """A call found no such name."""
        above = self.find(path[:-1]) if path else None
        if above is not None and path[-1] not in above.children:
            above.children[path[-1]] = None

    def make(self, path: PathParts, kind: str, node: NameNode | None = None) -> NameNode | None:
        """A name that a call made; None: the folder that it is in is not known to be there."""
        above = self.existing(path[:-1], "dir") if path else None
        if above is None:
            return None
        made = node or NameNode(path[-1], above, None, kind, size=FileSize(size=0))
        made.parent, made.name = above, path[-1]
        above.children[path[-1]] = made
        return made

    def maybe(self, path: PathParts) -> NameNode | None:
        """A file that an open would have made if it was not there; which of both is not known."""
        found = self.find(path)
        above = self.existing(path[:-1], "dir") if path and found is None else None
        if above is None or above.origin is None or path[-1] in above.children:
            return found or self.make(path, "file")
        node = NameNode(path[-1], above, (*above.origin, path[-1]), "file", sure=False)
        above.children[path[-1]] = node
        self._before.append(node)
        return node

    def remove(self, path: PathParts) -> None:
        node = self.find(path, follow=False)
        above = self.find(path[:-1]) if path else None
        if above is not None:
            above.children[path[-1]] = None
        if node is not None and node.parent is above:
            node.parent = None

    def rename(self, old: PathParts, new: PathParts, *, exchange: bool = False) -> bool:
        """False: what is renamed is not known to be there."""
        node = self.existing(old, follow=False)
        exchanged = self.existing(new, follow=False) if exchange else None
        if node is None or (exchange and exchanged is None):
            return False
        if self.find(new, follow=False) is node:
            return True
        self.remove(new)
        self.remove(old)
        if exchanged is not None:
            self.make(old, exchanged.kind, exchanged)
        return self.make(new, node.kind, node) is not None

    def link(self, old: PathParts, new: PathParts) -> bool:
        """A second name; the file keeps the place of its first."""
        node = self.existing(old, follow=False)
        above = self.existing(new[:-1], "dir") if new else None
        if node is None or above is None:
            return False
        above.children[new[-1]] = node
        return True


def normalise_path(parts: PathParts) -> PathParts | None:
    """A path without . and ..; None: it leads out of where it begins."""
    names: list[bytes] = []
    for part in parts:
        if part == b"..":
            if not names:
                return None
            names.pop()
        elif part not in (b"", b"."):
            names.append(part)
    return tuple(names)
