# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of the tracers: the C header's own layout, any records there and back, bad files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import DEVICE
from nandlab.traced import records
from nandlab.traced.records import HEADER, RECORD, Device, EventFlag, EventType, Task

PROGRAM = r"""
#include <stdio.h>
#include "records.h"
#define FIELD(type, name) printf("\"%s\": [%zu, %zu], ", #name,               \
    offsetof(struct type, name), sizeof(((struct type *)0)->name))
#define TYPE(number, name) printf("\"%s\": %d, ", #name, TRACE_##name);
int main(void)
{
    printf("{\"record\": {");
    FIELD(trace_record, seq), FIELD(trace_record, start_ns);
    FIELD(trace_record, latency_ns), FIELD(trace_record, type);
    FIELD(trace_record, cpu), FIELD(trace_record, depth);
    FIELD(trace_record, flags), FIELD(trace_record, task);
    FIELD(trace_record, device), FIELD(trace_record, pid);
    FIELD(trace_record, size), FIELD(trace_record, object);
    FIELD(trace_record, offset), FIELD(trace_record, result);
    FIELD(trace_record, extra), FIELD(trace_record, text);
    printf("\"\": [%zu, 0]}, \"header\": {", sizeof(struct trace_record));
    FIELD(trace_header, magic), FIELD(trace_header, version);
    FIELD(trace_header, record_bytes), FIELD(trace_header, time_ns);
    FIELD(trace_header, lost), FIELD(trace_header, type);
    FIELD(trace_header, missed), FIELD(trace_header, written);
    printf("\"\": [%zu, 0]}, \"types\": {", sizeof(struct trace_header));
    TRACE_TYPES(TYPE)
    printf("\"\": %d}, \"magic\": [%d, %d], ", TRACE_HEADER, TRACE_MAGIC, TRACE_VERSION);
    printf("\"flags\": [%d, %d, %d, %d, %d]}\n", TRACE_OOB, TRACE_RAW, TRACE_SUBPAGE,
           TRACE_VECTOR, TRACE_AROUND);
    return 0;
}
"""


def test_the_layout_is_the_c_header_s(tmp_path: Path) -> None:
    (tmp_path / "layout.c").write_text(PROGRAM)
    include = f"-I{DEVICE / 'modules/tracers'}"
    build = ["gcc", include, "-o", str(tmp_path / "layout"), str(tmp_path / "layout.c")]
    subprocess.run(build, check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(printed.stdout)

    def layout(dtype: np.dtype[np.void]) -> dict[str, list[int]]:
        fields = {k: [v[1], v[0].itemsize] for k, v in (dtype.fields or {}).items()}
        return {**fields, "": [dtype.itemsize, 0]}

    assert layout(RECORD) == told["record"]
    assert layout(HEADER) == told["header"]
    assert {t.name: t.value for t in EventType} | {"": records.HEADER_TYPE} == told["types"]
    assert told["magic"] == [records.MAGIC, records.VERSION]
    assert [f.value for f in EventFlag] == told["flags"]


def header(**figures: int) -> bytes:
    head = np.zeros(1, HEADER)
    head["magic"], head["version"], head["record_bytes"] = records.MAGIC, 1, 64
    head["type"] = records.HEADER_TYPE
    for key, value in figures.items():
        head[key] = value
    return head.tobytes()


FIELDS = [n for n in RECORD.names or () if n not in ("text", "seq", "type", "cpu")]


@st.composite
def some_records(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Records of one CPU with any content, no number twice."""
    numbers = draw(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=20))
    made = np.zeros(len(numbers), RECORD)
    made["seq"] = np.array(numbers, np.uint64)
    for name in FIELDS:
        info = np.iinfo(RECORD[name])
        each = st.integers(info.min, info.max)
        made[name] = draw(st.lists(each, min_size=len(made), max_size=len(made)))
    kinds = st.sampled_from([t.value for t in EventType])
    made["type"] = draw(st.lists(kinds, min_size=len(made), max_size=len(made)))
    return made


@given(some_records(), st.integers(0, 20), st.integers(0, 2**63))
def test_any_records_come_back_in_the_order_of_their_numbers(
    made: np.ndarray[Any, Any], cut: int, lost: int
) -> None:
    data = (
        header(lost=1) + made[:cut].tobytes() + header(lost=lost, missed=3) + made[cut:].tobytes()
    )
    back = records.decode_trace_records(data)
    expected = made[np.argsort(made["seq"])]
    for name in RECORD.names or ():
        assert (back.records[name] == expected[name]).all(), name
    assert (back.lost, back.missed) == (lost, 3)
    assert (made[back.closed] == back.records).all()


@given(st.binary(max_size=400))
def test_noise_is_refused_not_decoded(noise: bytes) -> None:
    with pytest.raises(NandlabError):
        records.decode_trace_records(noise)


@given(some_records().filter(len), st.integers(1, 63))
def test_a_cut_file_is_refused(made: np.ndarray[Any, Any], cut: int) -> None:
    data = header() + made.tobytes()
    with pytest.raises(NandlabError, match=rf"truncated: of record {len(made)} only {64 - cut} "):
        records.decode_trace_records(data[:-cut])


def one(**fields: int) -> bytes:
    record = np.zeros(1, RECORD)
    record["type"] = EventType.VFS_READ
    for key, value in fields.items():
        record[key] = value
    return record.tobytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes are no trace"),
        (one(), "not a trace: it does not begin with a header"),
        (header(magic=7), "corrupt: its first word is 0x7"),
        (header(magic=0x4E524352), "big-endian"),
        (header(version=2), "of format 2; this reads 1"),
        (header(record_bytes=32), "of format"),
        (header() + one(type=200), "corrupt: record 1 has type 200, which is none"),
        (header() + one(type=0), "corrupt: record 1 has type 0"),
        (header() + one(seq=5) + one(seq=5), "corrupt: two records have the number 5"),
        (header() + one(seq=5) + header() + one(seq=5), "two records have the number 5"),
    ],
)
def test_a_bad_file_is_told_what_is_wrong(data: bytes, said: str) -> None:
    with pytest.raises(NandlabError, match=said):
        records.decode_trace_records(data)


def test_a_file_is_read_as_its_bytes_are(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(header(written=9) + one(seq=2) + one(seq=1))
    back = records.read_trace_records(tmp_path / "t")
    assert back.records["seq"].tolist() == [1, 2]
    assert (back.written, back.closed.tolist()) == (9, [1, 0])
    (tmp_path / "empty").touch()
    with pytest.raises(NandlabError, match="empty"):
        records.read_trace_records(tmp_path / "empty")
    with pytest.raises(UsageError, match="no such file"):
        records.read_trace_records(tmp_path / "none")


def test_several_cpus_close_by_the_clock() -> None:
    inner = one(seq=2, start_ns=20, latency_ns=10, cpu=1)
    outer = one(seq=1, start_ns=10, latency_ns=30, cpu=0)
    assert records.decode_trace_records(header() + outer + inner).closed.tolist() == [1, 0]


def test_a_mark_is_its_text() -> None:
    record = np.zeros(1, RECORD)
    record["type"], record["text"] = EventType.MARK, b"before the sync"
    assert (
        records.decode_trace_records(header() + record.tobytes()).records["text"][0]
        == b"before the sync"
    )


def test_names() -> None:
    found = records.parse_trace_names(
        "task 1 77 user cat\ntask 2 9 kernel jffs2_gcd mtd0\n"
        "mtd 0 0 65536 2048 131072 64 test part\nfunction 0 jffs2_mark_erased_block.part.0\n"
    )
    assert found.tasks == {1: Task(77, False, "cat"), 2: Task(9, True, "jffs2_gcd mtd0")}
    assert found.devices == {0: Device("test part", 0, 65536, 2048, 131072, 64)}
    assert found.devices[0].pages_per_block == 64
    assert found.functions == {0: "jffs2_mark_erased_block.part.0"}
    assert (found.task(1), found.task(5)) == ("cat", "?")
    with pytest.raises(NandlabError, match="'tusk 1'"):
        records.parse_trace_names("tusk 1\n")


@pytest.mark.parametrize(
    "line",
    [
        "task 4294967296 7 user x",
        "function 18446744073709551616 f",
        f"mtd 0 0 {'9' * 5000} 2048 131072 64 nand0",
        f"task 1 {'9' * 5000} user x",
    ],
)
def test_a_number_that_no_kernel_has_is_refused(line: str) -> None:
    with pytest.raises(NandlabError, match="no line like"):
        records.parse_trace_names(f"{line}\n")
