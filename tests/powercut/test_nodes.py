# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of nodes that faultcheck changes: what it takes for a node, and that its checksums are
right afterwards, by the host's own decoders' code and zlib."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nandlab.base.paths import DEVICE
from nandlab.flash.layouts.jffs2nodes import DIRENT, INODE, MAGIC, compute_jffs2_crc
from nandlab.flash.layouts.yaffs2 import compute_tags_ecc

NODES = DEVICE / "programs" / "faultcheck" / "nodes.c"
ALL_ONES = 0xFFFFFFFF
CHECKSUMS = {
    "JFFS2's inode node": (8, 60, 64),
    "JFFS2's name node": (8,),
    "UBIFS's inode node": (4,),
    "UBIFS's index node": (4,),
    "UBI's header of erases": (60,),
    "UBI's header of a volume's block": (32, 60),
    "YAFFS2's tags": (),
}
"""Where its checksums are among the bytes that fields may be of."""
UNCHANGED = {"JFFS2": {0}, "UBIFS": {0, 16, 20}, "UBI": {0}, "YAFFS2": set[int]()}
"""And the words without which it is no node: magic number; UBIFS's length and type."""


class NodeKind(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("first", ctypes.c_uint),
        ("end", ctypes.c_uint),
        ("skipped", ctypes.c_uint64),
        ("is_here", ctypes.c_void_p),
        ("type", ctypes.c_uint),
        ("mend", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)),
    )


def build_library(folder: Path, source: Path = NODES) -> ctypes.CDLL:
    built = folder / "nodes.so"
    flags = ("-shared", "-fPIC", "-std=gnu11", "-Wall", "-Werror", f"-I{NODES.parent}")
    subprocess.run(["gcc", *flags, "-o", built, source], check=True)
    library = ctypes.CDLL(str(built))
    for name in ("node_in_data", "node_in_spare"):
        getattr(library, name).restype = ctypes.POINTER(NodeKind)
        getattr(library, name).argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_library(tmp_path_factory.mktemp("nodes"))


def crc_of(data: bytes) -> int:
    return ~zlib.crc32(data) & ALL_ONES


def make_jffs2(kind: int, head: int, node_crc_at: int) -> bytes:
    node = struct.pack("<HHI", MAGIC, kind, head) + bytes(4) + bytes(range(head - 12))
    return mend_jffs2(node, head - 8, node_crc_at)


def mend_jffs2(node: bytes, covered: int, at: int) -> bytes:
    node = node[:8] + struct.pack("<I", compute_jffs2_crc(node[:8])) + node[12:]
    return node[:at] + struct.pack("<I", compute_jffs2_crc(node[:covered])) + node[at + 4 :]


def mend_ubifs(node: bytes) -> bytes:
    return node[:4] + struct.pack("<I", crc_of(node[8:])) + node[8:]


def mend_ubi(node: bytes) -> bytes:
    return node[:60] + struct.pack(">I", crc_of(node[:60]))


def mend_tags(node: bytes) -> bytes:
    tags = np.frombuffer(node[:16], dtype=np.uint8)[None, :]
    code: bytes = compute_tags_ecc(tags)[0].astype("<u4").tobytes()
    return node[:16] + code


MAKERS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "JFFS2's inode node": (make_jffs2(INODE, 68, 64), lambda n: mend_jffs2(n, 60, 64)),
    "JFFS2's name node": (make_jffs2(DIRENT, 40, 32), lambda n: mend_jffs2(n, 32, 32)),
    "UBIFS's inode node": (
        mend_ubifs(struct.pack("<IIQIBB", 0x06101831, 0, 7, 160, 0, 0) + bytes(range(138))),
        mend_ubifs,
    ),
    "UBIFS's index node": (
        mend_ubifs(struct.pack("<IIQIBB", 0x06101831, 0, 7, 88, 9, 0) + bytes(range(66))),
        mend_ubifs,
    ),
    "UBI's header of erases": (mend_ubi(b"UBI#" + bytes(range(60))), mend_ubi),
    "UBI's header of a volume's block": (mend_ubi(b"UBI!" + bytes(range(60))), mend_ubi),
    "YAFFS2's tags": (mend_tags(bytes(range(3, 19))), mend_tags),
}


def find_kind(library: ctypes.CDLL, name: str, node: bytes) -> NodeKind | None:
    find = library.node_in_spare if name.startswith("YAFFS2") else library.node_in_data
    found = find(node, len(node))
    return found.contents if found else None


def change_each_field(library: ctypes.CDLL, name: str) -> dict[int, tuple[bytes, bytes]]:
    """By each field's place: the node as it is mended after a change, and as it should be."""
    node, mend = MAKERS[name]
    kind = find_kind(library, name, node)
    assert kind is not None and kind.name is not None and kind.name.decode() == name
    changed = {}
    for number in range(library.node_field_count(ctypes.byref(kind))):
        at = library.node_field_at(ctypes.byref(kind), number)
        other = node[:at] + bytes(byte ^ 0x5A for byte in node[at : at + 4]) + node[at + 4 :]
        copy = ctypes.create_string_buffer(other, len(other))
        kind.mend(ctypes.addressof(kind), ctypes.addressof(copy))
        changed[at] = (copy.raw, mend(other))
    return changed


@pytest.mark.parametrize("name", MAKERS)
def test_each_field_is_changed_behind_right_checksums(library: ctypes.CDLL, name: str) -> None:
    changed = change_each_field(library, name)
    assert all(mended == right for mended, right in changed.values())
    kind = find_kind(library, name, MAKERS[name][0])
    assert kind is not None
    left = UNCHANGED[name.split("'", maxsplit=1)[0]] | set(CHECKSUMS[name])
    assert set(changed) == set(range(0, kind.end, 4)) - left
    for mended, _ in changed.values():
        again = find_kind(library, name, mended)
        assert again is not None and again.name == kind.name


@pytest.mark.parametrize("name", MAKERS)
def test_what_has_a_wrong_checksum_is_no_node(library: ctypes.CDLL, name: str) -> None:
    node, _ = MAKERS[name]
    for at in change_each_field(library, name):
        assert find_kind(library, name, node[:at] + bytes([node[at] ^ 1]) + node[at + 1 :]) is None
    assert find_kind(library, name, node[:-1]) is None


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("store_le(at + 8, crc32(0, at, 8));\n", "\n", "JFFS2's inode node"),
        ("at + 8, load_le(at + 16) - 8));\n}\n\n/* UBI:", "at + 8, 8));\n}\n\n/* UBI:", "UBIFS"),
        ("le32toh(htobe32(crc32(ALL_ONES, at, kind->end)))", "0", "UBI's header of erases"),
        ("other ^= ~i;", "other ^= i;", "YAFFS2's tags"),
    ],
)
def test_a_checksum_that_is_not_mended_is_found(
    tmp_path: Path, old: str, new: str, name: str
) -> None:
    name = {"UBIFS": "UBIFS's inode node"}.get(name, name)
    source = NODES.read_text()
    assert source.count(old) == 1
    (tmp_path / "nodes.c").write_text(source.replace(old, new))
    planted = build_library(tmp_path, tmp_path / "nodes.c")
    if find_kind(planted, name, MAKERS[name][0]) is None:
        return  # it finds none
    assert any(a != b for a, b in change_each_field(planted, name).values())
