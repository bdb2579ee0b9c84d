# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told of the kernel's log where a point does not hold."""

from __future__ import annotations

from nandlab.powercut import kernellog

LOG = """\
<3>[   13.24] ubi0 error: ubi_io_read [ubi]: error -74 (ECC error) while reading
<3>[   13.28] UBIFS error (ubi0:0 pid 109): check_leaf [ubifs]: not within inode size 2500
<3>[   13.28] \tmagic          0x6101831
<3>[   13.28] \tkey            (68, data, 0)
<3>[   13.28] zbranches:
<3>[   13.29] UBIFS error (ubi0:0 pid 109): check_leaf [ubifs]: not within inode size 2500
"""


def test_errors_are_told_once_and_without_dumps() -> None:
    assert kernellog.parse_kernel_errors(LOG) == [
        "ubi0 error: ubi_io_read [ubi]: error -74 (ECC error) while reading",
        "UBIFS error (ubi0:0 pid 109): check_leaf [ubifs]: not within inode size 2500",
    ]
    assert kernellog.parse_kernel_errors("") == []
    many = "".join(f"<2>[ 1.0] jffs2: error {i}\n" for i in range(99))
    assert len(kernellog.parse_kernel_errors(many)) == kernellog.LINES_MAX


def test_last_words_are_those_of_the_point_and_end_with_the_trace() -> None:
    point = "cut a: 5:unstable:2"
    before = ["cut a: 4:before:1", "noise", point + "\r"]
    words = ["[ 1.0] invalid opcode: 0000", "", "[ 1.0] RIP: 0010:yaffs_put_chunk_in_file+0x1f8"]
    after = ["[ 1.0] ---[ end trace 0 ]---", "[ 1.0] RIP: again"]
    assert kernellog.find_kernel_crash_lines([*before, *words, *after], point) == [
        words[0],
        words[2],
    ]
    assert kernellog.find_kernel_crash_lines([*before, *words], point) == [words[0], words[2]]
    assert kernellog.find_kernel_crash_lines(before, point) == []
