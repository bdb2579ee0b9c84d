# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up claims of a made-up paper."""

from __future__ import annotations

from typing import Any

from nandlab.catalog.paper import ClaimPart, PaperModel, Selector
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
