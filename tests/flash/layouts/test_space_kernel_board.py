# SPDX-License-Identifier: GPL-2.0-or-later
"""A known load on the board: what decoders find is what the kernel and other tools count."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from onboard import LEFT_BYTES, THREE_THOUSAND, After, after
from support.place import Place

from nandlab.board.jobs.job import Board, Step
from nandlab.board.kit.root import Root
from nandlab.flash.chip import simnand
from nandlab.flash.layouts import ubi
from nandlab.flash.layouts.layout import ByteKind, LayoutCollector
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

PLAIN = {"compression": "none"}
JFFS2 = Place("jffs2", "apf27", mib=16, options=PLAIN)
UBIFS = Place("ubifs", "apf27", mib=16, options=PLAIN)
YAFFS2, YAFFS1 = Place("yaffs2", "apf27", mib=16), Place("yaffs2", "nandsim-small", mib=16)
NFTL = Place("nftl-fat32", "nandsim-small", mib=16)
FREE = f"stat -f -c %f {MOUNTPOINT}"
"""Prints the free blocks that statfs(2) tells."""


def measured(board: Board, place: Place, *more: Step) -> After:
    found = after(board, place, THREE_THOUSAND, *more)
    sums = found.layout.sums()
    assert sums[ByteKind.USER] == found.layout.logical_bytes == LEFT_BYTES
    assert sum(sums.values()) == found.layout.partition_bytes == 16 << 20
    assert sorted(found.layout.sizes.values()) == [3000] * 95
    return found


def test_jffs2_has_the_nodes_that_jffs2dump_counts(
    board: Board, tools: Root, tmp_path: Path
) -> None:
    found = measured(board, JFFS2)
    on = found.partition
    blocks = (on.data(i) if not on.erased(i) else b"\xff" * on.erasesize for i in range(on.blocks))
    (tmp_path / "data").write_bytes(b"".join(blocks))
    lines = tools.checked(["jffs2dump", "-c", "/in/data"], see={"/in": tmp_path}).splitlines()
    kinds = [m[1] for line in lines if (m := re.match(r"\s*(\w+)\s+node at", line))]
    counts = found.layout.counts
    assert kinds.count("Inode") == counts["inode"] == 213
    assert kinds.count("Dirent") == counts["dirent"] == 106


LPROPS = "/sys/kernel/debug/ubifs/ubi0_0/dump_lprops"
LEB = re.compile(r"LEB (\d+)\s+free (\d+)\s+dirty (\d+)\s+used (\d+)")


def test_ubifs_has_the_bytes_that_the_kernel_has(board: Board) -> None:
    look = Step("look", f"{UBIFS.remount()} && dmesg -c > /dev/null && echo 1 > {LPROPS} && dmesg")
    found = measured(board, UBIFS, look)
    said = {
        int(m[1]): tuple(map(int, m.groups()[1:]))
        for m in LEB.finditer(found.record["look"].stdout)
    }
    on = found.partition
    ours: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    attached = ubi.attach_ubi(on, LayoutCollector())
    holds = {block: leb for leb, block in attached.volumes[0].blocks.items()}
    for extent in found.layout.extents:
        block = extent.at // on.erasesize
        if block in holds and extent.part != "UBI headers":
            ours[holds[block]][_column(extent.kind, extent.part)] += extent.bytes
    assert said
    mapped = {leb: tuple(ours[leb]) for leb in said if leb in ours}
    assert mapped == {leb: said[leb] for leb in mapped}
    assert all(free == attached.leb_bytes for leb, (free, *_) in said.items() if leb not in mapped)


def _column(kind: ByteKind, part: str) -> int:
    """The kernel's word for it: free, dirty or used."""
    if kind is ByteKind.FREE:
        return 0
    return 1 if kind is ByteKind.OBSOLETE or part == "padding" else 2


@pytest.mark.parametrize("place", [YAFFS2, YAFFS1], ids=["yaffs2", "yaffs1"])
def test_yaffs2_has_the_live_pages_that_statfs_has(board: Board, place: Place) -> None:
    free = Step("free", f"{place.remount()} && {FREE}")
    empty, found = after(board, place, "seq 0\n", free), measured(board, place, free)
    taken = int(empty.record["free"].stdout) - int(found.record["free"].stdout)
    assert live_pages(found) - live_pages(empty) == taken


def live_pages(of: After) -> int:
    counts, parts = of.layout.counts, of.layout.parts()[ByteKind.METADATA]
    headers = parts["headers"] // of.layout.writesize
    return headers + counts["data_chunks"] + counts.get("summary_chunks", 0)


def test_nftl_has_the_clusters_that_statfs_has(board: Board) -> None:
    used = Step("used", f"set -- $(stat -f -c '%b %f' {MOUNTPOINT}); echo $(($1 - $2))")
    found = measured(board, NFTL, used)
    assert found.layout.counts["used_clusters"] == int(found.record["used"].stdout) == 584
    assert found.layout.parts()[ByteKind.OBSOLETE]["freed by FAT, kept by NFTL"] == 10 * 6 * 512


KEPT = "/tmp/kept"
UNCLEAN = Step(
    "unclean",
    f"sync; echo more > {MOUNTPOINT}/more; sync; cat {simnand.IMAGE_FILE} > {KEPT}",
)
"""Keeps the chip as it is while the file system is mounted."""


@pytest.mark.parametrize(
    "place", [JFFS2, UBIFS, YAFFS2, YAFFS1, NFTL], ids=lambda p: p.system + p.part
)
def test_what_is_on_flash_is_summed_without_an_unmount(board: Board, place: Place) -> None:
    """What was synced is there; of what came after, what had reached the flash."""
    found = after(board, place, THREE_THOUSAND, UNCLEAN, image=KEPT)
    sums = found.layout.sums()
    assert sum(sums.values()) == found.layout.partition_bytes
    assert sums[ByteKind.USER] == LEFT_BYTES + len("more\n")
