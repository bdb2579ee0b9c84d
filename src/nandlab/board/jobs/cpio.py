# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes cpio archives in the "newc" format, which the kernel unpacks as an initramfs.

Owners and times are all zero, so the same content gives the same bytes. Format: the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat

_TRAILER = "TRAILER!!!"


class Archive:
    """Collects entries; parent folders are added as they are needed."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes, int]] = {}

    def folder(self, path: str) -> None:
        self._add(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._add(path, stat.S_IFREG | mode, content)

    def link(self, path: str, to: str) -> None:
        self._add(path, stat.S_IFLNK | 0o777, to.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        """A character device."""
        self._add(path, stat.S_IFCHR | 0o600, b"", (major << 8) | minor)

    def _add(self, path: str, mode: int, content: bytes, rdev: int = 0) -> None:
        path = path.strip("/")
        if path in self._entries:
            raise ValueError(f"{path} is in the archive already")
        parent = path.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.folder(parent)
        self._entries[path] = (mode, content, rdev)

    def paths(self) -> list[str]:
        """The paths of all entries, in order."""
        return list(self._entries)

    def bytes(self) -> bytes:
        out = bytearray()
        for inode, (path, (mode, content, rdev)) in enumerate(self._entries.items(), start=1):
            out += _entry(path, inode, mode, content, rdev)
        return bytes(out + _entry(_TRAILER, 0, 0, b"", 0))


def _entry(path: str, inode: int, mode: int, content: bytes, rdev: int) -> bytes:
    name = path.encode() + b"\0"
    fields = (
        inode,
        mode,
        0,  # uid
        0,  # gid
        2 if stat.S_ISDIR(mode) else 1,
        0,  # mtime
        len(content),
        0,  # major of the device that holds the file
        0,
        rdev >> 8,
        rdev & 0xFF,
        len(name),
        0,  # checksum: unused in this format
    )
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + name
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
