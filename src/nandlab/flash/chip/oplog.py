# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip's operation log: the file ``log`` of its debugfs folder, as a numpy array.

The layout is that of ``device/modules/simnand/oplog.h``; both sides assert its size.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import NandlabError

MAGIC = 0x474F4C4E
VERSION = 1
HEADER = struct.Struct("<IHHQQQ")
RECORD = np.dtype(
    [
        ("time_ns", "<u8"),
        ("op", "<u8"),
        ("page", "<u4"),
        ("bytes", "<u4"),
        ("array_ns", "<u4"),
        ("phase", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)
assert RECORD.itemsize == 32
assert HEADER.size == 32


class OperationKind(IntEnum):
    """What an operation of the array was."""

    READ = 1
    OOB_READ = 2
    HIT = 3
    PROGRAM = 4
    OOB_PROGRAM = 5
    ERASE = 6


@dataclass(frozen=True)
class OperationLog:
    """A log: its records, and how many found no room."""

    records: NDArray[np.void]
    lost: int

    def count(self, kind: OperationKind) -> int:
        """Records of a kind."""
        return int(np.count_nonzero(self.records["kind"] == kind))


def decode_operation_log(data: bytes) -> OperationLog:
    """The log that a chip wrote; NandlabError if it is no log, or incomplete."""
    if len(data) < HEADER.size:
        raise NandlabError(f"an operation log of {len(data)} bytes has no header")
    magic, version, record_bytes, count, lost, _ = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise NandlabError("not an operation log of simnand")
    if version != VERSION or record_bytes != RECORD.itemsize:
        raise NandlabError(f"an operation log of version {version}; this reads {VERSION}")
    if len(data) != HEADER.size + count * record_bytes:
        raise NandlabError(f"an operation log that lacks records: {count} were promised")
    return OperationLog(np.frombuffer(data, RECORD, count, HEADER.size), lost)
