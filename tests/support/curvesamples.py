# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up trials for curves: a reader whose phases are points, and a database's loads.

The reader's time is 1 ms a request and, with read-ahead, 7 ms for the window at the end: so what
turning it off saves is known by hand, 7 / (7 + count), times a seed's own part of a thousandth.
"""

from __future__ import annotations

from typing import Any

from nandlab.base.digest import digest_json_value
from nandlab.results.record import Trial
from nandlab.results.recordparts import Latency, OperationCounts, Phase, StepResult, TrialChip
from support import samples

MS = 1_000_000
COUNTS = (8, 64, 256, 1024)
WHOLE = 1280
WINDOW = {"sequential": 7, "random": 1}
"""Milliseconds that read-ahead adds, by pattern."""
OTHER_CHIP = TrialChip(
    part="NAND256W3A", partition_mib=16, pages_per_block=32, blocks=1024, writesize=512
)
READER = {
    "name": "reader",
    "view": "points",
    "phases": [{"name": "writing", "title": "writing", "timed": False}],
    "at": {
        "count": {"title": "requests"},
        "size": {"title": "size of a request", "unit": "bytes"},
        "share": {"title": "share of the file", "unit": "share"},
        "pattern": {"title": "pattern"},
        "pause_us": {"title": "pause between requests"},
    },
}
DATABASE = {
    "name": "database",
    "figures": {"commits_per_s": {"title": "commits/s", "unit": "per_s", "better": "more"}},
}


def point(count: int, pattern: str, ahead: int, slow: float, **at: int | str) -> Phase:
    ms = count + (WINDOW[pattern] if ahead else 0)
    name = "_".join([pattern, str(count), *map(str, at.values())])
    attributes: dict[str, Any] = {"count": count, "size": 4096, "share": count / WHOLE}
    return Phase(
        name=name,
        ns=int(ms * MS * slow),
        operations={name: count},
        bytes={"read": count * 4096},
        chip=OperationCounts(reads=2 * ms, programs=0, erases=0),
        at={**attributes, "pattern": pattern, **at},
    )


def latency(phase: Phase) -> Latency:
    count = next(iter(phase.operations.values()))
    mean = (phase.ns or 0) // count
    return Latency(
        count=count, min=mean // 2, median=mean, p95=mean, p99=2 * mean, p99_9=3 * mean, max=9 * MS
    )


def reader(
    filesystem: str = "jffs2",
    ahead: int = 128,
    seed: int = 1,
    *,
    phases: list[Phase] | None = None,
    **change: object,
) -> Trial:
    """A trial of the reader; ``ahead``: its option read_ahead, in KiB."""
    slow = {"jffs2": 1.0, "ubifs": 1.1, "yaffs2": 0.9, "nftl-fat32": 1.5}[filesystem]
    slow *= 1 + seed / 1000
    if phases is None:
        kinds = ("sequential", "random")
        phases = [point(n, p, ahead, slow) for p in kinds for n in COUNTS]
    base = samples.trial(filesystem, seed=seed, options={"read_ahead": str(ahead)})
    sources = {"workload": READER, "filesystem": samples.catalog_entry(filesystem)}
    digest = digest_json_value([p.model_dump() for p in phases])
    values: dict[str, Any] = {
        "id": f"{filesystem}-{ahead}-{seed}-{digest[:4]}",
        "workload": "reader",
        "parameters": {"file_mib": 5},
        "phases": [Phase(name="writing", ns=MS), *phases],
        "operations": {k: n for p in phases for k, n in p.operations.items()},
        "latency_ns": {p.name: latency(p) for p in phases if p.operations},
        "steps": [StepResult(name="mount", ns=3 * MS)],
        "phase_offset_ms": float(seed),
        "erases_per_block": None,
        "per_block": None,
        **change,
    }
    return base.model_copy(update=values).add_sources(sources)


def readers(seeds: int = 3) -> list[Trial]:
    """Four file systems, one of them on another chip, with read-ahead and without."""
    return [
        reader(fs, ahead, seed, chip=OTHER_CHIP if fs == "nftl-fat32" else samples.CHIP)
        for fs in ("jffs2", "ubifs", "yaffs2", "nftl-fat32")
        for ahead in (0, 128)
        for seed in range(1, seeds + 1)
    ]


def database(filesystem: str, journal: str, seed: int = 1) -> Trial:
    """A trial of the database: commits a second, and the p99 of its commits."""
    per_s = {"delete": 146.0, "truncate": 151.0, "wal": 361.0}[journal] * (1 + seed / 100)
    per_s *= {"jffs2": 1.0, "ubifs": 0.9, "yaffs2": 1.4}[filesystem]
    p99 = int(2.2e9 / per_s)
    base = samples.trial(filesystem, seed=seed, options={})
    latency = Latency(count=100, min=MS, median=p99 // 2, p95=p99, p99=p99, p99_9=p99, max=p99)
    sources = {"workload": DATABASE, "filesystem": samples.catalog_entry(filesystem)}
    run = Phase(
        name="run",
        ns=int(100e9 / per_s),
        operations={"commit": 100},
        chip=OperationCounts(reads=9, programs=int(160_000 / per_s), erases=1),
    )
    values: dict[str, Any] = {
        "id": f"{filesystem}-{journal}-{seed}",
        "workload": "database",
        "parameters": {"journal": journal, "rows": 100},
        "phases": [run],
        "operations": {"commit": 100},
        "latency_ns": {"commit": latency},
        "figures": {"commits_per_s": per_s},
        "phase_offset_ms": float(seed),
    }
    return base.model_copy(update=values).add_sources(sources)


def databases(seeds: int = 3) -> list[Trial]:
    return [
        database(fs, journal, seed)
        for fs in ("jffs2", "ubifs", "yaffs2")
        for journal in ("delete", "truncate", "wal")
        for seed in range(1, seeds + 1)
    ]


GAIN = {
    "name": "gain-over-share",
    "title": "Time saved by turning read-ahead off",
    "caption": "Reads of 4 KiB in a file of 5 MiB.",
    "x": "at.share",
    "y": "point.time",
    "where": {"at.size": 4096},
    "lines": ["filesystem", "at.pattern"],
    "gain": {"by": "option.read_ahead", "of": "0", "over": "128"},
    "scale": "log",
}
READS = {
    "name": "reads-over-count",
    "title": "Flash reads over requests",
    "x": "at.count",
    "y": "point.reads",
    "where": {"at.pattern": "sequential"},
    "lines": ["filesystem", "option.read_ahead"],
    "scale": "log",
    "y_scale": "log",
}
SCATTER = {
    "name": "commits-against-p99",
    "title": "Commits a second against their p99",
    "x": "own.commits_per_s",
    "y": "latency.commit.p99",
    "lines": ["filesystem"],
    "label": "parameter.journal",
}
BY_JOURNAL = {
    "name": "programs-by-journal",
    "title": "Page programs by journal",
    "x": "parameter.journal",
    "y": "chip.programs",
    "lines": ["filesystem"],
}
CURVES: list[dict[str, Any]] = [GAIN, READS, SCATTER, BY_JOURNAL]
