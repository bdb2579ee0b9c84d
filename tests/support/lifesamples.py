# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials of a chip's life on sample file systems."""

from __future__ import annotations

import random
from typing import Any

from nandlab.results.record import Trial
from nandlab.results.recordparts import (
    PerBlock,
    TrialChip,
)
from support.samples import FRESH, Round, trial

WORN = TrialChip(
    part="S34ML01G1",
    partition_mib=16,
    pages_per_block=64,
    blocks=128,
    writesize=2048,
    faults={"endurance": 50, "endurance_spread": 20},
)


ROUND_BYTES = 5 << 20


LIFE = {"jffs2": (1.9, 0.86, 0.3), "ubifs": (1.45, 0.97, 0.05)}
"""Write amplification, share of the rated erases after which it gives up, unevenness of wear."""


GAVE_UP = {
    "jffs2": "ffsmark: write f0001283: No space left on device (ENOSPC)",
    "ubifs": "ffsmark: open f0000907: Read-only file system (EROFS)",
}


def lifetime_trial(
    filesystem: str = "jffs2",
    seed: int = 1,
    *,
    alive: bool = False,
    **change: object,
) -> Trial:
    """A chip worn by rounds until its file system gave up; ``alive``: its rounds ended before."""
    rng = random.Random(f"life-{filesystem}-{seed}")
    amplification, share, uneven = (f * rng.uniform(0.97, 1.03) for f in LIFE[filesystem])
    stands = [50 * rng.uniform(0.8, 1.2) for _ in range(WORN.blocks)]
    pace = [rng.uniform(1 - uneven, 1 + uneven) for _ in stands]
    rounds: list[Round] = []
    erases = 0.0
    while erases < share * (0.9 if alive else 1) * WORN.blocks * 50:
        n = len(rounds) + 1
        programs = int(n * ROUND_BYTES * amplification / WORN.writesize)
        erases = programs / WORN.pages_per_block
        rounds.append(
            {
                "t_ns": n * 9_000_000_000,
                "bytes_written": n * ROUND_BYTES,
                "programs": programs,
                "erases": int(erases),
                "dead_blocks": sum(
                    s < p * erases / WORN.blocks for s, p in zip(stands, pace, strict=True)
                ),
            }
        )
    each = [min(int(s), round(p * erases / WORN.blocks)) for s, p in zip(stands, pace, strict=True)]
    empty = dict.fromkeys(
        ("phase_ns", "sync_ns", "ops", "bytes", "latency_ns", "flash", "flash_sync")
    )
    values: dict[str, Any] = {
        "id": f"{filesystem}-lifetime-{seed}",
        "study": "lifetime",
        "chip": WORN,
        "workload": "lifetime",
        "parameters": {"rounds": 5000, "files": 200, "transactions": 500},
        **empty,
        "erases_per_block": None,
        "per_block": PerBlock(reads=each, programs=[64 * e for e in each], erases=each),
        "lifetime": {"rounds": rounds, "gave_up": None if alive else GAVE_UP[filesystem]},
    }
    lived = trial(filesystem, FRESH, seed, **{**values, **change})
    return lived.model_copy(update={"state": FRESH.model_copy(update={"obtained": None})})


def lifetime_study() -> list[Trial]:
    """JFFS2 and UBIFS with three seeds each; one UBIFS still lived when its rounds ended."""
    return [
        lifetime_trial(fs, seed, alive=(fs, seed) == ("ubifs", 2))
        for fs in ("jffs2", "ubifs")
        for seed in (1, 2, 3)
    ]
