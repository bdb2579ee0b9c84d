# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel makes of an image with a wrong field, its checksums made right again.

Two faults were mended between the kernels of apf27-5.10 and apf27: JFFS2's rtime decompressor wrote
past the end of a page, where a node's last run is too long, and FAT took more folders off a
folder's count of links than it had. One is in each kernel: JFFS2 copies the data of a node that has
none.
"""

from __future__ import annotations

import asyncio
import lzma
from pathlib import Path

import pytest

from nandlab.base.paths import ROOT
from nandlab.board.jobs.job import BoardLost, Job, Step
from nandlab.board.kit.partsource import add_patches
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.flash.layouts.jffs2nodes import (
    DIRENT,
    DIRENT_NODE,
    HEADER_STRUCT,
    INODE,
    INODE_NODE,
    MAGIC,
    compute_jffs2_crc,
)
from nandlab.flash.layouts.unpacking import UNPACKERS

PAGE = 4096
RTIME, REGULAR_TYPE, REGULAR_MODE = 2, 8, 0o100644
FILES = 30
PACKED = b"A\xff" * 15 + b"A\xfe"
"""A byte, and how often what followed it before comes again: all bytes of a page but the last."""
LAST_RUNS = {"sound": b"B\x00", "too long": b"B\xff"}
"""The last byte of a page, and how many follow it."""
CHIP = "modprobe nandsim first_id_byte=0xec second_id_byte=0xa1 third_id_byte=0 fourth_id_byte=0x15"
UP = f"{CHIP} overridesize=5 && nandwrite -q -p /dev/mtd0 image && mount -t jffs2 mtd0 /mnt"
OTHERS, EVERY = 3000, 8
"""Pages of others in memory, and which of them are freed: what is read comes to lie between."""
FILL = (
    f"mkdir /tmp/others && cd /tmp/others && for i in $(seq {OTHERS}); do "
    f"head -c {PAGE} /dev/zero > $i; done; cd - > /dev/null"
)
FREE = f"for i in $(seq 1 {EVERY} {OTHERS}); do rm /tmp/others/$i; done"
READ = "cat /mnt/* 2>&1 >/dev/null | grep -c 'Input/output error'"
SPOILT = "cat /tmp/others/* | tr -d '\\0' | wc -c"
FAULT, FIX = "apf27-5.10", "apf27"
LIMIT_S = 1200
"""Of a test: it has up to four boards, and may build a part of a kernel."""
PATCH = ROOT / "docs/findings/20-jffs2-refused-run.diff"
SIZES_PATCH = ROOT / "docs/findings/22-jffs2-node-without-data.diff"
PLAIN, CUT_SIZE = 0, 2500
"""No compression; and a size that ends within the node, so that a part of the node is read."""


def _open(board: str, *patches: Path) -> QemuBoard:
    sources = add_patches({}, patches, "the test")
    return open_board(load_noun("boards", board, BoardModel), sources=sources)


def _make_node(kind: int, size: int, fields: bytes, data: bytes, *, sums: str) -> bytes:
    """A node with right checksums. fields: behind the header; sums: the order of both at the end
    of the node's head."""
    head = HEADER_STRUCT.pack(MAGIC, kind, size + len(data), 0)[:-4]
    head += compute_jffs2_crc(head).to_bytes(4, "little") + fields
    assert len(head) == size - 8
    both = {"node": compute_jffs2_crc(head), "data": compute_jffs2_crc(data)}
    node = head + b"".join(both[each].to_bytes(4, "little") for each in sums.split()) + data
    return node + b"\xff" * (-len(node) % 4)


def make_file(number: int, data: bytes, compression: int = RTIME, size: int = PAGE) -> bytes:
    """A file whose node stands for a page: the node, with data as they lie on the flash, and its
    name.
    """
    name = f"file{number}".encode()
    kind = (compression, compression, 0)
    fields = (number, 1, REGULAR_MODE, 0, 0, size, 0, 0, 0, 0, len(data), PAGE, *kind)
    inode = INODE_NODE.pack(0, 0, 0, 0, *fields, 0, 0)[HEADER_STRUCT.size : -8]
    entry = DIRENT_NODE.pack(0, 0, 0, 0, 1, number, number, 0, len(name), REGULAR_TYPE, 0, 0, 0)
    dirent = entry[HEADER_STRUCT.size : -8]
    return _make_node(INODE, INODE_NODE.size, inode, data, sums="data node") + _make_node(
        DIRENT, DIRENT_NODE.size, dirent, name, sums="node data"
    )


def make_jffs2_image(last: str) -> bytes:
    return b"".join(make_file(2 + i, PACKED + LAST_RUNS[last]) for i in range(FILES))


def test_only_the_last_run_is_too_long() -> None:
    pages = {last: UNPACKERS["rtime"](PACKED + run) for last, run in LAST_RUNS.items()}
    assert pages["sound"] == b"A" * (PAGE - 1) + b"B"
    assert (len(pages["too long"]), pages["too long"][:PAGE]) == (PAGE + 255, pages["sound"])


def _read_files(board: str, last: str, *patches: Path) -> list[int]:
    """Files whose read fails, and bytes in the memory of others that are not theirs then."""
    steps = (Step("mount", UP), Step("fill", FILL), Step("free", FREE))
    count = (Step("read", f"{READ}; true"), Step("count", SPOILT))
    job = Job((*steps, *count), {"image": make_jffs2_image(last)})
    record = asyncio.run(_open(board, *patches).run(job))
    failed = record.failed()
    assert failed is None, failed.failure()
    return [int(record[name].stdout) for name in ("read", "count")]


@pytest.mark.long
@pytest.mark.board
@pytest.mark.timeout(LIMIT_S)
def test_a_run_that_is_too_long_overwrites_the_memory_of_others_until_it_is_refused() -> None:
    assert _read_files(FAULT, "sound") == [0, 0]
    failed, spoilt = _read_files(FAULT, "too long")
    assert (failed, spoilt > 0) == (0, True)
    with pytest.raises(BoardLost, match="panicked"):  # docs/findings/20
        _read_files(FIX, "too long")
    assert _read_files(FIX, "too long", PATCH) == [FILES, 0]


def _read_cut_file(board: str, data: bytes, *patches: Path) -> tuple[str, str]:
    """Bytes of a file that ends within its node, and what failed, if the kernel lives."""
    image = make_file(2, data, PLAIN, CUT_SIZE)
    steps = (
        Step("mount", UP),
        Step("read", "cat /mnt/file2 | wc -c; cat /mnt/file2 2>&1 >/dev/null; true"),
    )
    record = asyncio.run(_open(board, *patches).run(Job(steps, {"image": image})))
    failed = record.failed()
    assert failed is None, failed.failure()
    size, _, error = record["read"].stdout.partition("\n")
    return size.strip(), error.rpartition(":")[2].strip()


@pytest.mark.long
@pytest.mark.board
@pytest.mark.timeout(LIMIT_S)
def test_a_node_without_its_data_kills_the_kernel_until_its_sizes_are_compared() -> None:
    sound = (str(CUT_SIZE), "")
    assert _read_cut_file(FIX, b"A" * PAGE) == sound
    for board in (FAULT, FIX, "apf27-6.12"):
        with pytest.raises(BoardLost, match="panicked"):  # docs/findings/22
            _read_cut_file(board, b"")
    assert _read_cut_file(FIX, b"", SIZES_PATCH) == ("0", "Input/output error")
    assert _read_cut_file(FIX, b"A" * PAGE, SIZES_PATCH) == sound


VOLUME = (
    "insmod ./loop.ko && dd if=/dev/zero of=volume bs=1M count=4 2>/dev/null && mkfs.fat volume"
)
UP_FAT = "losetup /dev/loop0 volume && mount -t vfat /dev/loop0 /mnt"
DOWN_FAT = "umount /mnt && losetup -d /dev/loop0"
NO_FOLDERS = "; ".join(
    f"at=$(strings -t d -n 11 volume | sed -n 's/^ *\\([0-9]*\\) {name} .*/\\1/p' | head -n 1); "
    f"printf ' ' | dd of=volume bs=1 seek=$((at + 11)) conv=notrunc 2>/dev/null"
    for name in ("\\.", "\\.\\.")
)
"""The two entries of the first folder for itself and its parent become files', so that it has two
links fewer than it should."""


def _remove_folders(name: str) -> list[str]:
    """Warnings of the kernel when a folder loses more folders than its links."""
    board = _open(name)
    (loop,) = board.machine.kit.kernel.modules.glob("kernel/drivers/block/loop.ko*")
    steps = (
        Step("make", f"{VOLUME} >/dev/null; {UP_FAT} && mkdir /mnt/A /mnt/A/x /mnt/A/y"),
        Step("damage", f"{DOWN_FAT} && {{ {NO_FOLDERS}; }} && {UP_FAT} && stat -c %h /mnt/A"),
        Step("remove", "rmdir /mnt/A/x; rmdir /mnt/A/y; mkdir /mnt/A/z; true"),
        Step("warnings", "dmesg | grep -o 'inc_nlink+\\|link count too low' | uniq; true"),
    )
    content = loop.read_bytes() if loop.suffix == ".ko" else lzma.decompress(loop.read_bytes())
    record = asyncio.run(board.run(Job(steps, {"loop.ko": content})))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert record["damage"].stdout.split() == ["2"]
    return record["warnings"].stdout.splitlines()


@pytest.mark.long
@pytest.mark.board
@pytest.mark.timeout(LIMIT_S)
def test_a_folder_loses_no_more_links_than_it_has_once_that_is_looked_at() -> None:
    assert _remove_folders(FAULT) == ["inc_nlink+"]
    assert _remove_folders(FIX) == ["link count too low"]
