#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast a trace is decoded: from the tracers' records to a Parquet file.

Measures: events a second of wall time, from the file of records as the board gives it to the
finished Parquet file, put in order, with names instead of numbers; and of processor time, which
other load on the machine does not change. Beside it, in the same run, the same records through
struct.unpack, one by one, with nothing written: what a plain loop costs.
Needs: numpy and duckdb; some 200 bytes of disk and memory an event.
Costs: seconds; --events scales it.

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import struct
import tempfile
import time
from pathlib import Path

import numpy as np

from nandlab.traced import records, tables
from nandlab.traced.records import HEADER, RECORD, RECORD_BYTES, EventType, Names, Task

PYTHON_EVENTS = 200_000
"""Records that the plain loop is timed on."""
AS_STRUCT = struct.Struct("<QQQBBBBHHIIQQiI")


def made_up(events: int) -> bytes:
    """A file of records like those of a busy file system, in the order of the events' ends."""
    rng = np.random.default_rng(1)
    events_array = np.zeros(events, RECORD)
    events_array["seq"] = np.arange(1, events + 1)
    events_array["start_ns"] = 10**9 + np.cumsum(rng.integers(200, 30_000, events))
    events_array["latency_ns"] = rng.integers(1_000, 300_000, events)
    kinds = [
        EventType.VFS_READ,
        EventType.PC_HIT,
        EventType.FLASH_READ,
        EventType.FLASH_PROGRAM,
        EventType.FUNC,
    ]
    events_array["type"] = rng.choice(kinds, events)
    events_array["task"] = rng.integers(0, 8, events)
    events_array["object"] = rng.integers(0, 65536, events)
    events_array["offset"] = events_array["object"] * 2048
    events_array["size"] = 2048
    swapped = np.arange(events)
    swapped[: events // 2 * 2] = swapped[: events // 2 * 2].reshape(-1, 2)[:, ::-1].ravel()
    head = np.zeros(1, HEADER)
    head["magic"], head["version"] = records.MAGIC, records.VERSION
    head["record_bytes"], head["type"] = RECORD_BYTES, records.HEADER_TYPE
    return head.tobytes() + events_array[swapped].tobytes()


def plain_loop(data: bytes) -> float:
    """Seconds that struct.unpack takes for an event, one after the other."""
    part = data[RECORD_BYTES : RECORD_BYTES * (PYTHON_EVENTS + 1)]
    began = time.perf_counter()
    events = [AS_STRUCT.unpack_from(part, at) for at in range(0, len(part), RECORD_BYTES)]
    events.sort()
    return (time.perf_counter() - began) / len(events)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many counts")
    options = parser.parse_args()
    names = Names(tasks={n: Task(n, False, f"task{n}") for n in range(1, 8)})
    data = made_up(options.events)
    wall, processor = [], []
    with tempfile.TemporaryDirectory() as scratch:
        source, out = Path(scratch) / "records", Path(scratch) / "events.parquet"
        source.write_bytes(data)
        for _ in range(options.repeat):
            began = time.perf_counter(), time.process_time()
            tables.write_event_tables(records.read_trace_records(source), names, out)
            wall.append(time.perf_counter() - began[0])
            processor.append(time.process_time() - began[1])
        rows = tables.query_parquet_rows(out, "SELECT count(*), sum(seq) FROM events")[0]
        if rows != (options.events, options.events * (options.events + 1) // 2):
            raise SystemExit(f"the Parquet file has {rows}")
        size = out.stat().st_size
    rate = options.events / min(wall)
    loop = plain_loop(data)
    print(f"{options.events:,} events, {size / options.events:.1f} bytes each as Parquet")
    print(f"{rate / 1e6:.2f} million events/s, {rate * loop:.1f} times a plain loop")
    summary = {
        "events_per_s": round(rate),
        "events_per_cpu_s": round(options.events / min(processor)),
        "loop_events_per_s": round(1 / loop),
        "ratio": round(rate * loop, 2),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
