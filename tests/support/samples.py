# SPDX-License-Identifier: GPL-2.0-or-later
"""Sample trials and runs, made up but shaped like real ones; the same call gives the same values.

The figures follow FFSMark's own study (2015, figure 1): JFFS2 slower and even, UBIFS faster and
hit harder by ageing, YAFFS2 hit hardest.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from nandlab.base.paths import CATALOG
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.words import WorkloadWords
from nandlab.catalog.workload import WorkloadModel
from nandlab.results.folder import RunFolder
from nandlab.results.naming import Naming
from nandlab.results.record import Host, Run, Trial
from nandlab.results.recordparts import (
    Doubt,
    EraseSpread,
    FlashState,
    Latency,
    OperationCounts,
    PageShares,
    PerBlock,
    Phase,
    Series,
    StepResult,
    TrialChip,
)
from nandlab.results.seals import seal_json, unseal_json

NAMING = Naming("runs/a", "mine.toml")
"""How commands name a sample's run."""
PHASES = ("fill", "creation", "transactions", "deletion")
Round = dict[str, int]

CHIP = TrialChip(
    part="MT29F2G08ABAEAWP", partition_mib=100, pages_per_block=64, blocks=800, writesize=2048
)
FRESH = FlashState(
    name="fresh",
    valid=0,
    invalid=0,
    mix=0,
    obtained=PageShares(before=0.004, valid=0.002, invalid=0.0, programmed=0.006),
)
AGED = FlashState(name="aged", valid=0.5, invalid=0.25, mix=0.5)
SPEED = {"jffs2": 31.0, "ubifs": 12.0, "yaffs2": 22.0}
"""Seconds of the transactions phase on fresh flash."""
AGEING = {"jffs2": 1.34, "ubifs": 1.95, "yaffs2": 15.0}
TITLES = {"jffs2": "JFFS2", "ubifs": "UBIFS", "yaffs2": "YAFFS2", "nftl-fat32": "NFTL+FAT32"}
"""As the catalog has them."""
POWER = {
    "keeps": "synced",
    "promises": "what sync returned from is there; the rest is lost; the structure survives",
    "tested": "ten cuts: nothing lost",
    "source": "A paper, section 1.",
}
"""What file systems promise after a power cut; NFTL+FAT32 promises nothing."""
NO_POWER = {**POWER, "keeps": "nothing", "promises": "nothing is promised", "tested": ""}
WEAR = {"jffs2": (1, 3), "ubifs": (2, 8), "yaffs2": (5, 104)}
"""Erases between the most and the least erased block, fresh and aged."""


def trial(
    filesystem: str = "jffs2",
    state: FlashState = FRESH,
    seed: int = 1,
    *,
    options: dict[str, str] | None = None,
    **change: object,
) -> Trial:
    """One trial that ended well; ``change`` replaces any field."""
    options = {"compr": "none"} if options is None else options
    key = f"{filesystem}-{'-'.join(f'{k}.{v}' for k, v in options.items())}-{state.name}-{seed}"
    rng = random.Random(key)
    slow = SPEED.get(filesystem, 18.0) * (AGEING.get(filesystem, 2.0) if state.valid else 1)
    slow *= 1 + 0.1 * len(options) + rng.uniform(-0.04, 0.04)
    erases, drawn = _erases(filesystem, bool(state.valid), key)
    rng.setstate(drawn)
    values: dict[str, Any] = {
        "id": key.replace("=", "."),
        "study": "ffsmark-2015",
        "status": "ok",
        "filesystem": filesystem,
        "options": options,
        "chip": CHIP,
        "state": _obtained(state, rng),
        "workload": "ffsmark",
        "parameters": {"files": 5000, "transactions": 15000, "sizes": [512, 10240]},
        "seed": seed,
        "phase_offset_ms": float(seed % 7),
        **_times(slow, rng),
        "ops": _ops(rng),
        "bytes": {"read": 42_000_000 + rng.randrange(10**6), "written": 61_000_000},
        "latency_ns": {o: _latency(slow, rng) for o in ("create", "read", "append", "delete")},
        **_flash(erases, slow, rng),
        "provenance": {
            "kernel": {"release": "6.1.0-37-amd64"},
            "qemu": "7.2.15",
            "icount_shift": 2,
            "chip": {"sources": {"id": "Data sheet, page 1.", "geometry.nop": "Assumed: 4."}},
        },
        "host": Host(seconds=rng.uniform(5, 20), board="sha256:0123"),
    }
    values.update(change)
    sources = {"filesystem": catalog_entry(filesystem), **values.pop("provenance")}
    return Trial(**_measured(values)).add_sources(_sources(sources, values["workload"]))


def catalog_entry(filesystem: str) -> dict[str, Any]:
    """What a run keeps of a file system's entry, as far as analysis reads it."""
    power = NO_POWER if filesystem.startswith("nftl") else POWER
    return {"title": TITLES.get(filesystem, filesystem), "power": power}


def _sources(said: dict[str, Any], workload: str) -> dict[str, dict[str, Any]]:
    """What a trial ran with; what is said of no noun is of the board."""
    entries: dict[str, Any] = {k: said[k] for k in ("chip", "filesystem") if k in said}
    board = {k: v for k, v in said.items() if k not in (*entries, "workload")}
    entry = said.get("workload", {})
    if workload in OWN_WORKLOADS:
        entry = _read_words_once(workload) | entry
    elif workload in list_noun_names("workloads"):
        entry = _read_words(workload) | entry
    return {**entries, "board": board, "workload": entry}


OWN_WORKLOADS = frozenset(path.stem for path in (CATALOG / "workloads").glob("*.toml"))
"""Those of nandlab's own catalog, which no test changes."""


def _read_words(workload: str) -> dict[str, Any]:
    full = load_noun("workloads", workload, WorkloadModel).model_dump(mode="json")
    return {k: full[k] for k in WorkloadWords.model_fields}


_read_words_once = cache(_read_words)


PARTS = ("phase_ns", "sync_ns", "flash", "flash_sync")
"""What a sample says by phase."""
TOTALS = {"bytes_written": "bytes", "programs": "count", "erases": "count", "dead_blocks": "count"}
"""The totals of a round of a lifetime, each with its quantity."""


def _measured(values: dict[str, Any]) -> dict[str, Any]:
    """A trial's fields from what samples say in short: by phase, by kind of operation, by round."""
    short = {key: values.pop(key, None) or {} for key in (*PARTS, "ops", "step_ns")}
    life = values.pop("lifetime", None)
    beside = {name: values.pop(name) for name in ("memory", "counters") if values.get(name)}
    ops: dict[str, dict[str, int]] = short["ops"]
    values["phases"] = _phases(short, ops)
    values["operations"] = {k: counts["total"] for k, counts in ops.items() if "total" in counts}
    values["steps"] = [StepResult(name=name, ns=ns) for name, ns in short["step_ns"].items()]
    values.setdefault("measured", beside)
    for name in ("bytes", "latency_ns"):
        values[name] = values[name] or {}
    return values | (_life(life) if life else {})


def _phases(short: dict[str, dict[str, Any]], ops: dict[str, dict[str, int]]) -> list[Phase]:
    phases = dict.fromkeys(name for part in PARTS for name in short[part])
    return [
        Phase(
            name=name,
            ns=short["phase_ns"].get(name),
            sync_ns=short["sync_ns"].get(name),
            operations=_operations(ops, name),
            chip=short["flash"].get(name),
            chip_sync=short["flash_sync"].get(name),
        )
        for name in phases
    ]


def _operations(ops: dict[str, dict[str, int]], phase: str) -> dict[str, int]:
    """Those of a phase; what has a total alone is of the transactions."""
    alone = phase == "transactions"
    counts = {
        k: c.get(phase, c["total"] if alone and set(c) == {"total"} else None)
        for k, c in ops.items()
    }
    return {kind: count for kind, count in counts.items() if count is not None}


def _life(life: dict[str, Any]) -> dict[str, Any]:
    """A chip's life: totals after each round, last those after the round that failed."""
    points = [*life["rounds"], *([life["end"]] if life.get("end") else [])]
    at = [point["t_ns"] for point in points]
    gave_up = life["gave_up"]
    return {
        "series": [
            Series(name=name, unit=unit, t_ns=at, values=[point[name] for point in points])
            for name, unit in TOTALS.items()
        ],
        "figures": {"rounds": len(life["rounds"])},
        "open_ended": gave_up is None,
        "texts": {} if gave_up is None else {"gave_up": gave_up},
    }


def _times(slow: float, rng: random.Random) -> dict[str, Any]:
    s = 1_000_000_000
    return {
        "phase_ns": {
            "fill": 3 * s,
            "creation": int(slow * 0.4 * s),
            "transactions": int(slow * s) + rng.randrange(1000),
            "deletion": int(slow * 0.06 * s),
        },
        "sync_ns": {p: int(slow * rng.uniform(0.01, 0.06) * s) for p in PHASES},
        "step_ns": {"format": s // 5, "mount": s // 20, "settle": 2 * s},
    }


def _ops(rng: random.Random) -> dict[str, dict[str, int]]:
    made = 7500 + rng.randrange(-80, 80)
    return {
        "create": {"total": 5000 + made, "creation": 5000, "transactions": made},
        "read": {"total": 7480},
        "append": {"total": 7520},
        "delete": {
            "total": 5000 + made,
            "transactions": 15000 - made,
            "deletion": 2 * made - 10000,
        },
    }


def _latency(slow: float, rng: random.Random) -> Latency:
    middle = int(slow * 20_000 * rng.uniform(0.7, 1.3))
    scale = (2.5, 8.0, 90.0, 240.0)
    p95, p99, p99_9, top = (int(middle * f * rng.uniform(0.9, 1.1)) for f in scale)
    return Latency(
        count=7500, min=middle // 3, median=middle, p95=p95, p99=p99, p99_9=p99_9, max=top
    )


@cache
def _erases(filesystem: str, aged: bool, key: str) -> tuple[list[int], tuple[Any, ...]]:
    """Erases per block, steady: a band as wide as WEAR says, and a worn few where it is wide.

    They are drawn after the trial's speed; with them comes the generator's state after that.
    """
    rng = random.Random(key)
    rng.random()
    width = WEAR.get(filesystem, (3, 9))[1 if aged else 0]
    low = 3
    counts = [
        low + min(width, int(rng.expovariate(1.0) * (1 + width / 8))) for _ in range(CHIP.blocks)
    ]
    counts[rng.randrange(400)], counts[400 + rng.randrange(400)] = low, low + width
    return counts, rng.getstate()


def _flash(erases: list[int], slow: float, rng: random.Random) -> dict[str, Any]:
    total, programs = sum(erases), 40_000 + int(slow * 300) + rng.randrange(400)
    parts = {"creation": 0.3, "transactions": 0.65, "deletion": 0.05}
    mean = total / len(erases)
    return {
        "flash": {
            "fill": OperationCounts(reads=10, programs=20_000, erases=3),
            **{
                p: OperationCounts(
                    reads=int(programs * 2 * f), programs=int(programs * f), erases=int(total * f)
                )
                for p, f in parts.items()
            },
        },
        "flash_sync": {p: OperationCounts(reads=4, programs=40, erases=1) for p in parts},
        "erases_per_block": EraseSpread(
            mean=mean,
            stddev=(sum((e - mean) ** 2 for e in erases) / len(erases)) ** 0.5,
            min=min(erases),
            max=max(erases),
        ),
        "per_block": PerBlock(
            reads=[120 * (e + 1) for e in erases],
            programs=[64 * e for e in erases],
            erases=[*erases],
        ),
    }


def erasing(erases: int) -> dict[str, OperationCounts]:
    """Counts of a load with so many erases in each phase, and hardly a program."""
    return {p: OperationCounts(reads=1, programs=1, erases=erases) for p in PHASES}


def _obtained(state: FlashState, rng: random.Random) -> FlashState:
    if state.obtained is not None:
        return state
    valid, invalid = state.valid + rng.uniform(0, 0.03), state.invalid - rng.uniform(0, 0.06)
    seen = PageShares(
        before=0.004, valid=valid, invalid=invalid, programmed=0.004 + valid + invalid
    )
    return state.model_copy(update={"obtained": seen})


def failed(filesystem: str = "ubifs", state: FlashState = AGED, seed: int = 90) -> Trial:
    """A trial whose workload stopped: no figures at all, and what the console last said."""
    return _bare(filesystem, state, seed).model_copy(
        update={
            "status": "trial_failed",
            "error": "ffsmark: write: No space left on device (ENOSPC) after 8,204 transactions",
            "console_tail": ["ubifs: error: <no space>", "ffsmark: exit 1"],
        }
    )


MEMORY = {
    "mounted": 424 << 10,
    "peak": 512 << 10,
    "end": 480 << 10,
    "unmounted": 332 << 10,
    "slab": 30 << 10,
    "kmalloc": 100 << 10,
    "vmalloc": 350 << 10,
}


def board_lost(filesystem: str = "yaffs2", state: FlashState = AGED, seed: int = 91) -> Trial:
    """A trial whose board stopped to answer."""
    return _bare(filesystem, state, seed).model_copy(
        update={"status": "board_lost", "error": "no answer within 600 s of host time"}
    )


def _bare(filesystem: str, state: FlashState, seed: int) -> Trial:
    empty = dict.fromkeys(
        ("phase_ns", "sync_ns", "ops", "bytes", "latency_ns", "flash", "flash_sync", "per_block")
    )
    return trial(filesystem, state, seed, **empty, erases_per_block=None, step_ns={})


def study(seeds: int = 5) -> list[Trial]:
    """Three file systems x two states x seeds, with doubts, a failure, a lost board, null flash."""
    good = [
        trial(fs, state, seed)
        for fs in ("jffs2", "ubifs", "yaffs2")
        for state in (FRESH, AGED)
        for seed in range(1, seeds + 1)
    ]
    good[-1] = trial("yaffs2", AGED, seeds, flash=None, flash_sync=None, per_block=None)
    doubt = Doubt(code="state_missed", text="asked 25 % invalid, the chip held 19 %")
    log = Doubt(code="kernel_log", text="2 lines")
    good[-2] = good[-2].model_copy(
        update={"warnings": [doubt, log], "kernel_log": ["yaffs: warning <odd & old>"]}
    )
    return [*good, failed(), board_lost()]


LONG_OPTIONS: list[dict[str, str]] = [
    {"compr": "none"},
    {"compr": "zlib", "bulk_read": "yes", "chk_data_crc": "no"},
    {
        "compr": "lzo",
        "sync": "yes",
        "assert": "read-only",
        "format": "--space-fixup --log-lebs=5",
    },
]


def big_study() -> list[Trial]:
    """A dozen configurations with long option labels."""
    return [
        trial(fs, state, seed, options=o)
        for fs in ("jffs2", "ubifs")
        for o in LONG_OPTIONS
        for state in (FRESH, AGED)
        for seed in (1, 2, 3)
    ]


def head(of: list[Trial], **change: object) -> Run:
    values: dict[str, Any] = {
        "id": "run-0123456789abcdef",
        "study": "ffsmark-2015",
        "question": "How do fresh and aged flash change the order of three flash file systems?",
        "deterministic": True,
        "trials": [t.id for t in of],
        "spec": {"workload": "ffsmark", "seeds": 5, "states": ["fresh", "aged"]},
        "provenance": {
            "nandlab": "0.1.0",
            "kernel": {"release": "6.1.0-37-amd64", "sha256": "ab" * 32},
            "qemu": "7.2.15",
            "board": {"name": "virt-x86_64", "memory_mib": 256},
        },
    }
    values.update(change)
    return Run(**values)


def folder(
    path: Path,
    trials: list[Trial] | None = None,
    never_run: Sequence[str] = (),
    **change: object,
) -> RunFolder:
    """A run folder with these trials; by default :func:`study` and one that was never run."""
    if trials is None:
        trials, never_run = study(), ["never-run-1"]
    run = head(trials, trials=[*(t.id for t in trials), *never_run], **change)
    made = RunFolder.create(path, run)
    for one in trials:
        made.save(one)
    return made


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    """Changes the text of a result's file, and seals it anew: another result, and no damage."""
    told = change(json.dumps(unseal_json(path.read_bytes()), separators=(",", ":")))
    path.write_bytes(seal_json(told))
