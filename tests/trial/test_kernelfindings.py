# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a kernel's own checks are findings, and a kernel that has checks is marked."""

from __future__ import annotations

import pytest

from nandlab.trial.kernelfindings import list_debug_checks, list_kernel_findings

KASAN = """\
[   12.100001] ==================================================================
[   12.100002] BUG: KASAN: use-after-free in jffs2_free_inode+0x12/0x30 [jffs2]
[   12.100003] Read of size 4 at addr ffff888003a51c40 by task sh/61
[   12.100004] CPU: 0 PID: 61 Comm: sh Tainted: G           O       6.1.176 #1
[   12.100005] Call Trace:
"""
LOCKDEP = """\
[   13.000001] ======================================================
[   13.000002] WARNING: possible circular locking dependency detected
[   13.000003] 6.1.176 #1 Tainted: G           O
"""
UBSAN = "[   14.5] UBSAN: shift-out-of-bounds in fs/io.c:12:3\n"
WARN = "[   15.5][  T61] WARNING: CPU: 0 PID: 61 at fs/tnc.c:99 tnc_add+0x5/0x9 [ubifs]\n"
SLUB = "[   16.5] BUG kmalloc-64 (Tainted: G    B): Redzone overwritten\n"
TASK = "[   17.5] INFO: task ubi_bgt0d:40 blocked for more than 120 seconds.\n"
NONE = """\
[   18.0] UBIFS warning (ubi0:0 pid 61): ubifs_ro_mode: switched to read-only mode
[   18.1] FAULT_INJECTION: forcing a failure.
[   18.2] jffs2: warning: (61) jffs2_sum_write_data: Not enough space for summary
"""


@pytest.mark.parametrize(
    ("log", "findings"),
    [
        (KASAN, ["BUG: KASAN: use-after-free in jffs2_free_inode+0x12/0x30 [jffs2]"]),
        (LOCKDEP, ["WARNING: possible circular locking dependency detected"]),
        (UBSAN, ["UBSAN: shift-out-of-bounds in fs/io.c:12:3"]),
        (
            WARN,
            ["WARNING: CPU: 0 PID: 61 at fs/tnc.c:99 tnc_add+0x5/0x9 [ubifs]"],
        ),
        (SLUB, ["BUG kmalloc-64 (Tainted: G    B): Redzone overwritten"]),
        (TASK, ["INFO: task ubi_bgt0d:40 blocked for more than 120 seconds."]),
        (
            UBSAN + UBSAN.replace("14.5", "14.6"),
            ["UBSAN: shift-out-of-bounds in fs/io.c:12:3"],
        ),
        (NONE, []),
        ("", []),
    ],
)
def test_the_line_that_says_what_a_report_is_of_is_a_finding(log: str, findings: list[str]) -> None:
    assert list_kernel_findings(log.splitlines()) == findings


def test_the_checks_of_a_kernel_are_read_from_its_configuration() -> None:
    config = {
        "CONFIG_KASAN": "y",
        "CONFIG_PROVE_LOCKING": "y",
        "CONFIG_FAULT_INJECTION": "y",
        "CONFIG_UBSAN": "m",
        "CONFIG_KFENCE": "y",  # Debian's 6.12 has it
    }
    assert list_debug_checks(config) == ["KASAN", "lockdep", "fault injection"]
    assert list_debug_checks({}) == []
