#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of catalog/read-model.toml, fitted to traces of reads whose work is known.

Measures: five traces on a board of each kernel: files of 1 MiB written in sequence and in pieces,
on fresh and aged flash, and a program as LZO and zlib pack it. From each call's time it takes the
chip's time and the tracers' own; what is left is fitted to what the call did, so that the sum of
the calls' relative errors is least. So a call that another thread disturbed counts little.
Needs: a board (the virtual one of catalog/boards). Costs: a boot, then five pairs of runs.

Prints how well the fit reproduces its own traces; what it foretells is for others to score, with
``nandlab model score``. --write puts the numbers into the catalog. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.model import score, times
from nandlab.trace.folder import TraceFolder
from nandlab.traced import cost

DROP = "; sync; sync; sleep 2; echo 3 > /proc/sys/vm/drop_caches"
PLAIN = "dd if=/dev/urandom of=a bs=4k count=256"
LOADS = {
    "sequence": ("none", "fresh", PLAIN),
    "aged-300": ("none", "aged", f"{PLAIN}; fileload update a --count 1000 --bytes 300"),
    "pieces-512": ("none", "fresh", f"{PLAIN}; fileload update a --count 3000 --bytes 512"),
    "lzo": ("lzo", "fresh", "cp /bin/busybox a; fileload update a --count 600 --bytes 1500"),
    "zlib": ("zlib", "fresh", "cp /bin/busybox a"),
}
"""Compression, flash state, and what writes the file."""
ROUNDS, LEAST = 60, 1e-5
"""Of the fit, and the relative error below which all errors count alike."""


def traced(board: str, name: str, to: Path) -> TraceFolder:
    compression, state, before = LOADS[name]
    words = ["--fs", "jffs2", "--set", f"compression={compression}", "--partition-mib", "32"]
    words += ["--board", board, "--state", state, "--before", before + DROP, "--image"]
    argv = [sys.executable, "-m", "nandlab", "trace", *words, "-o", str(to)]
    subprocess.run([*argv, "--", "cat a > /dev/null"], check=True, stdout=subprocess.DEVNULL)
    return TraceFolder(to)


def fitted(trace_times: list[score.Times]) -> tuple[dict[str, float], NDArray[Any]]:
    """Instructions by key, and the relative error of each call."""
    keys = sorted({key for t in trace_times for key in times.amounts(t.scored.call)})
    amounts = [times.amounts(t.scored.call) for t in trace_times]
    x = np.array([[found.get(key, 0) for key in keys] for found in amounts], float)
    y = np.array([t.processor for t in trace_times])
    whole = np.array([t.ns for t in trace_times]) / trace_times[0].instruction_ns
    weight = 1 / whole
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(x * weight[:, None], y * weight, rcond=None)
        error = (x @ found - y) / whole
        weight = 1 / whole / np.sqrt(np.maximum(abs(error), LEAST))
    return dict(zip(keys, found.round(3).tolist(), strict=True)), error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", default="apf27", help="a board of the catalog")
    parser.add_argument("--write", action="store_true", help="put the numbers into the catalog")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-") as made:
        traces = [traced(given.board, name, Path(made) / name) for name in LOADS]
        each = [t for trace in traces for t in score.times_of(trace, score.calls(trace))]
        kernel = cost.series(str(traces[0].meta["board"]["kernel"]))
    found, error = fitted(each)
    off = abs(error)
    for key, value in found.items():
        print(f"{key:20} {value:12.3f}")
    median, p99 = (float(np.quantile(off, q)) for q in (0.5, 0.99))
    if given.write:
        write(kernel, found)
    told = {"kernel": kernel, "calls": len(each), "median": round(median, 6), "p99": round(p99, 6)}
    print(json.dumps(told))


def write(kernel: str, found: dict[str, float]) -> None:
    """Puts a kernel's numbers into the catalog's file; those of other kernels stay."""
    kernels = {k: v.model_dump() for k, v in times.kernels().items()}
    kernels[kernel] = {k: v for k, v in found.items() if "." not in k}
    for key, value in found.items():
        table, dot, name = key.partition(".")
        if dot:
            kernels[kernel].setdefault(table, {})[name] = value
    lines = [times.HEAD]
    for series, told in sorted(kernels.items()):
        lines += ["", f'[kernels."{series}"]']
        lines += [f"{k} = {v}" for k, v in told.items() if not isinstance(v, dict)]
        for table in (k for k, v in told.items() if isinstance(v, dict) and v):
            inside = ", ".join(f"{k} = {v}" for k, v in told[table].items())
            lines.append(f"{table} = {{ {inside} }}")
    times.SOURCE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
