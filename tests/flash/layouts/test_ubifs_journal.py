# SPDX-License-Identifier: GPL-2.0-or-later
"""A UBIFS that was not unmounted: the nodes of its journal hold as a mount would have them."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ubimade
from support.dumpsteps import as_file

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import ubi, ubifsnodes
from nandlab.flash.layouts.flashfile import FlashFileOptions, read_flash_file_layout
from nandlab.flash.layouts.layout import ByteKind, Layout
from nandlab.flash.layouts.ubifsnodes import (
    ATTRIBUTE,
    ATTRIBUTE_KEY,
    COLLECTOR_HEAD,
    DATA,
    DENT,
    DIRTY,
    INO,
    NAME_KEY,
    REF,
    TRUN,
    XENT,
)

LOG, ROOT, NEW = 3, 1, 4000
BASE_HEAD = 1
FILE_MODE = 0o100644


class Journal:
    """The sample's UBIFS with a journal head in a block that its index does not use."""

    def __init__(self) -> None:
        self.device = ubimade.Device()
        self.sequence = 1 << 30
        self.content = b""
        self.master_log = 0
        """Where the masters say that the log begins; 0: as it is."""
        self.bud = (
            max(
                h[1]
                for h in map(self.device.header, range(len(self.device.blocks)))
                if h and not h[0]
            )
            + 1
        )

    def add(self, kind: int, key: tuple[int, int], rest: bytes, group: int = 0) -> None:
        """A node at the journal's end."""
        body = struct.pack("<II8x", *key) + rest
        self.content += self.make(kind, body, group)
        self.content += b"\0" * (-len(self.content) % 8)

    def make(self, kind: int, body: bytes, group: int = 0) -> bytes:
        self.sequence += 1
        size = 24 + len(body)
        raw = struct.pack("<QIBBxx", self.sequence, size, kind, group) + body
        return struct.pack("<II", ubifsnodes.MAGIC, ubi.compute_ubi_crc(raw)) + raw

    def inode(self, number: int, size: int, links: int = 1, group: int = 0) -> None:
        fields = struct.pack("<QQ36xIIII", 0, size, links, 0, 0, FILE_MODE)
        self.add(INO, (number, 0), fields.ljust(160 - 40, b"\0"), group)

    def name(self, name: str, number: int, group: int = 0) -> None:
        """A name of the root; number: 0 deletes it."""
        fields = struct.pack("<QxBHI", number, 0, len(name), 0) + name.encode() + b"\0"
        self.add(DENT, (ROOT, NAME_KEY << 29 | compute_name_hash(name)), fields, group)

    def data(self, number: int, block: int, content: bytes) -> None:
        self.add(DATA, (number, 1 << 29 | block), struct.pack("<IHH", len(content), 0, 0) + content)

    def truncate(self, number: int, before: int, after: int) -> None:
        self.content += self.make(TRUN, struct.pack("<I12xQQ", number, before, after))

    def attribute(self, owner: int, number: int) -> None:
        """An attribute of a file, and the inode of its value."""
        name = struct.pack("<QxBHI", number, 0, 1, 0) + b"a\0"
        self.add(XENT, (owner, ATTRIBUTE_KEY << 29 | 97), name)
        fields = struct.pack("<QQ36xIIIII", 0, 3, 1, 0, 0, FILE_MODE, ATTRIBUTE)
        self.add(INO, (number, 0), fields.ljust(160 - 40, b"\0") + b"abc")

    def dump(self, tail: bytes = b"", head: int = BASE_HEAD, references: int = 1) -> bytes:
        """The device with the journal, its log and its masters."""
        header = self.device.named(0, self.bud)
        self.device.write(self.device.free()[-1], header, self.content + tail)
        places = (struct.pack("<III28x", self.bud, 0, head + n) for n in range(references))
        self._append(LOG, b"".join(self.make(REF, place) for place in places))
        for logical in (1, 2):
            self._dirty(logical)
        return self.device.dump()

    def _append(self, logical: int, node: bytes) -> None:
        block = self.device.held(0, logical)
        data = self.device.blocks[block]
        end = -(-len(data.rstrip(b"\xff")) // 512) * 512
        self.device.blocks[block] = (data[:end] + node).ljust(len(data), b"\xff")

    def _dirty(self, logical: int) -> None:
        block = self.device.held(0, logical)
        data = bytearray(self.device.blocks[block])
        at = data.rindex(struct.pack("<I", ubifsnodes.MAGIC))
        while data[at + 20] != ubifsnodes.MST:
            at = data.rindex(struct.pack("<I", ubifsnodes.MAGIC), 0, at)
        (flags,) = struct.unpack_from("<I", data, at + 40)
        struct.pack_into("<I", data, at + 40, flags | DIRTY)
        if self.master_log:
            struct.pack_into("<I", data, at + 44, self.master_log)
        struct.pack_into("<I", data, at + 4, ubi.compute_ubi_crc(bytes(data[at + 8 : at + 512])))
        self.device.blocks[block] = bytes(data)


def compute_name_hash(name: str) -> int:
    """UBIFS's r5 hash of a name, as key_r5_hash() has it."""
    found = 0
    for letter in name.encode():
        found = (found + (letter << 4) + (letter >> 4)) * 11 & 0xFFFFFFFF
    found &= 0x1FFFFFFF
    return found + 3 if found <= 2 else found


def read(folder: Path, data: bytes) -> Layout:
    options = FlashFileOptions(None, ubimade.MIB, ubimade.SHAPE)
    layout, _ = read_flash_file_layout(as_file(folder / "dump", data), options)
    assert sum(layout.sums().values()) == layout.partition_bytes
    return layout


def sizes(layout: Layout) -> dict[str, int]:
    return {p: layout.sizes[n] for p, n in layout.names.items() if n in layout.sizes}


@pytest.fixture
def before(tmp_path: Path) -> Layout:
    return read(tmp_path, ubimade.Device().dump())


def pick(layout: Layout) -> tuple[str, int]:
    """A file of several blocks with one name."""
    names = list(layout.names.values())
    return next(
        (p, n)
        for p, n in sorted(layout.names.items())
        if layout.sizes.get(n, 0) > 8192 and names.count(n) == 1
    )


def test_a_file_of_the_journal_is_there(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.inode(NEW, 0, group=1)
    made.name("new", NEW, group=2)
    made.data(NEW, 0, b"a" * 4096)
    made.data(NEW, 1, b"b" * 100)
    made.inode(NEW, 4196)
    after = read(tmp_path, made.dump())
    assert sizes(after) == sizes(before) | {"/new": 4196}
    assert after.sums()[ByteKind.USER] == before.sums()[ByteKind.USER] + 4196
    assert len(after.notes) == 1


def test_data_past_a_size_that_was_not_written_make_it(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.inode(NEW, 0, group=1)
    made.name("new", NEW, group=2)
    made.data(NEW, 0, b"a" * 1000)
    assert sizes(read(tmp_path, made.dump())) == sizes(before) | {"/new": 1000}


def test_a_truncation_drops_what_is_behind_it(tmp_path: Path, before: Layout) -> None:
    path, number = pick(before)
    made = Journal()
    made.inode(number, 4096)
    made.truncate(number, before.sizes[number], 4096)
    after = read(tmp_path, made.dump())
    assert sizes(after)[path] == 4096
    assert [p.offset for p in after.pieces_by_owner[number]] == [0]


def test_a_deleted_file_is_gone(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.inode(NEW, 10)
    made.name("gone", NEW)
    made.data(NEW, 0, b"0123456789")
    made.name("gone", 0)
    made.inode(NEW, 0, links=0)
    after = read(tmp_path, made.dump())
    assert (after.names, sizes(after)) == (before.names, sizes(before))
    assert after.sums()[ByteKind.USER] == before.sums()[ByteKind.USER]


@pytest.mark.parametrize("tail", [b"\x31\x18\x10\x06" + b"torn" * 40, b"\0" * 700])
def test_what_was_cut_off_is_told_apart(tmp_path: Path, before: Layout, tail: bytes) -> None:
    made = Journal()
    made.inode(NEW, 0, group=1)
    made.name("new", NEW, group=2)
    after = read(tmp_path, made.dump(tail))
    assert sizes(after) == sizes(before) | {"/new": 0}
    assert after.parts()[ByteKind.OBSOLETE]["torn writes"] >= len(tail)


def test_a_group_without_its_end_does_not_hold(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.name("half", NEW, group=1)
    after = read(tmp_path, made.dump())
    assert after.names == before.names


def test_what_the_collector_moved_out_of_a_group_holds(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.name("moved", NEW)
    made.inode(NEW, 0, group=1)
    after = read(tmp_path, made.dump(head=COLLECTOR_HEAD))
    assert sizes(after) == sizes(before) | {"/moved": 0}


def test_a_file_that_got_its_name_late_keeps_its_data(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.data(NEW, 0, b"0123456789")
    made.inode(NEW, 10, links=0)
    made.name("late", NEW)
    made.inode(NEW, 10)
    after = read(tmp_path, made.dump())
    assert sizes(after) == sizes(before) | {"/late": 10}
    assert after.sums()[ByteKind.USER] == before.sums()[ByteKind.USER] + 10


def test_a_deleted_file_takes_its_attributes_along(tmp_path: Path, before: Layout) -> None:
    made = Journal()
    made.inode(NEW, 0)
    made.name("gone", NEW)
    made.attribute(NEW, NEW + 1)
    kept = read(tmp_path, made.dump()).parts()[ByteKind.METADATA]["extended attributes"]
    had = before.parts()[ByteKind.METADATA].get("extended attributes", 0)
    assert kept > had
    made.name("gone", 0)
    made.inode(NEW, 0, links=0)
    made.device = Journal().device
    after = read(tmp_path, made.dump())
    assert after.parts()[ByteKind.METADATA].get("extended attributes", 0) == had


def test_a_block_of_two_heads_is_refused(tmp_path: Path) -> None:
    made = Journal()
    made.inode(NEW, 0)
    with pytest.raises(UsageError, match="two heads"):
        read(tmp_path, made.dump(references=2))


def test_a_master_that_leads_to_no_log_is_refused(tmp_path: Path) -> None:
    """A ring of blocks that never comes back to its begin has no end."""
    made = Journal()
    made.inode(NEW, 0)
    made.master_log = made.bud
    with pytest.raises(UsageError, match="no log"):
        read(tmp_path, made.dump())


def test_of_two_names_of_one_hash_each_is_its_own(tmp_path: Path, before: Layout) -> None:
    names = find_clash()
    made = Journal()
    for name, number in zip(names, (NEW, NEW + 1), strict=True):
        made.inode(number, 0)
        made.name(name, number)
    made.name(names[0], 0)
    made.inode(NEW, 0, links=0)
    assert sizes(read(tmp_path, made.dump())) == sizes(before) | {f"/{names[1]}": 0}


def find_clash() -> Sequence[str]:
    """Two names with one hash: 11 x 16 of the first letter is 16 of the second."""
    first = "aa"
    others = (chr(a) + chr(b) for a in range(33, 127) for b in range(33, 127))
    wanted = compute_name_hash(first)
    found = [n for n in others if n != first and compute_name_hash(n) == wanted and n != "/"]
    if found:
        return first, found[0]
    letters = "".join(map(chr, range(97, 123)))
    seen: dict[int, str] = {}
    for name in (a + b + c for a in letters for b in letters for c in letters):
        other = seen.setdefault(compute_name_hash(name), name)
        if other != name:
            return other, name
    raise AssertionError("no two names have one hash")


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_journal_is_read_or_refused(data: st.DataObject) -> None:
    made = Journal()
    made.inode(NEW, 0)
    made.name("new", NEW)
    made.data(NEW, 0, b"a" * 4096)
    made.truncate(NEW, 4096, 100)
    whole = bytearray(made.content)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    made.content = bytes(whole)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(UsageError):
        read(Path(folder), made.dump())
