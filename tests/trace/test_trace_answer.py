# SPDX-License-Identifier: GPL-2.0-or-later
"""The sentences of a trace say what its summary has, and no more than that."""

from __future__ import annotations

from typing import Any

from nandlab.trace import answer

CHIP = {"reads": 2, "programs": 1, "erases": 0, "ns": 300}


def summary(**change: Any) -> dict[str, Any]:
    told = {
        "trace_ns": 1000,
        "flash": CHIP,
        "requests": [{"event": "FLASH_READ"}],
        "flash_by_cause": [{"cause": "vfs_read", "ns": 100}, {"cause": "write_back", "ns": 200}],
        "flash_by_file": [
            {"path": "(no file)", "ns": 180},
            {"path": "/a", "ns": 20},
            {"path": "/b", "ns": 100},
        ],
        "amplification": {"write": {"program_bytes": 100, "chip_bytes": 150, "factor": 1.5}},
    }
    return told | change


def test_it_tells_time_chip_cause_file_and_amplification() -> None:
    assert list(answer.format_summary_sentences(summary())) == [
        "It took 1 µs; the chip worked for 300 ns of it (30.0 %): 2 reads, 1 program, 0 erases.",
        "Of the chip's time 66.7 % was for write-back, 33.3 % for /b.",
        "Programs wrote 100 bytes, and the chip was given 150: 1.50 for each.",
    ]


def test_what_was_not_traced_is_not_called_nothing() -> None:
    idle = {"reads": 0, "programs": 0, "erases": 0, "ns": 0}
    still = {"write": {"program_bytes": 0, "chip_bytes": 0, "factor": None}}
    none = summary(
        flash=idle, requests=[{"event": "VFS_READ"}], flash_by_cause=[], amplification=still
    )
    assert list(answer.format_summary_sentences(none)) == ["It took 1 µs; no flash was traced."]
    assert list(answer.format_summary_sentences(summary(trace_ns=0))) == ["No event was traced."]


def test_events_without_a_function_share_a_line() -> None:
    listed = [
        "event FS_READAHEAD: the kernel has none that can be probed: jffs2_readahead",
        "event FS_WRITE_PAGE: the file system has none:",
        "event FS_WRITE_END: no file system is named:",
        "cause erase: none of a, b",
    ]
    assert answer.format_untraced_events(listed) == [
        "readahead, write page: the file system has no such function here",
        *listed[2:],
    ]
