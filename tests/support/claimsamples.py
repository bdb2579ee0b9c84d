# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up claims of a made-up paper."""

from __future__ import annotations

from typing import Any

from nandlab.analysis.claims import claims
from nandlab.analysis.figures import workloadwords
from nandlab.catalog.paper import ClaimPart, PaperModel, Selector
from nandlab.results.record import Trial
from nandlab.results.recordparts import FlashState
from support import samples

FRESH = Selector(filesystem="jffs2", state="fresh")
AGED = Selector(filesystem="jffs2", state="aged")


def part(**change: Any) -> ClaimPart:
    given = {"label": "aged / fresh", "figure": "phase.transactions", "of": AGED, "over": FRESH}
    return ClaimPart.model_validate({**given, "direction": "above 1", **change})


def paper(*parts: ClaimPart, **change: Any) -> PaperModel:
    claim = {"id": "c", "text": "Ages.", "said": "+34 %", "where": "5", "parts": list(parts)}
    given = {"name": "p", "summary": "s", "citation": "c", "platform": "f", "workload": "ffsmark"}
    given["part"] = samples.CHIP.part
    return PaperModel.model_validate({**given, "claims": [claim], **change})


S = 1_000_000_000
CHIP = {
    "geometry": {"writesize": 2048, "oobsize": 64, "bus_bits": 16},
    "timing": {"t_r_ns": 25_000, "t_prog_ns": 220_000, "t_bers_ns": 500_000, "t_rc_ns": 35}
    | {"t_wc_ns": 35},
}


def timed(state: FlashState, seconds: list[float], **change: Any) -> list[Trial]:
    """A trial a member, whose transactions take so many seconds."""
    return [
        samples.trial(
            "jffs2",
            state,
            seed,
            phase_ns={"transactions": int(s * S)},
            sync_ns=None,
            provenance={"chip": CHIP},
            **change,
        )
        for seed, s in enumerate(seconds, 1)
    ]


def rows(of: PaperModel, trials: list[Trial]) -> list[claims.ClaimResult]:
    return claims.list_paper_claim_results(
        of, trials, lambda _: workloadwords.make_workload_words_for_trials(trials)
    )
