# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a campaign of power cuts, and the summary beside a run: values changed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from fuzz import texts, values
from fuzz.target import Files, Target
from nandlab.base.errors import UsageError
from nandlab.powercut import campaignresult
from nandlab.results import cutsummaries

HEAD = {
    **{"format": 1, "identity": "x", "filesystem": "jffs2", "changed": {"summaries": "on"}},
    **{"options": {"summaries": "on"}, "chip": "apf27", "partition_mib": 8.0, "board": "apf27"},
    **{"kernel": "6.1", "load": "ace1", "pieces": 2},
    "points": {"variants": ["before", "subset"], "seeds": 1, "seed": 1, "repeat": 1, "bad": [3]},
}
FINDING = {"class": "lost", "count": 1, "first": "2:before:1", "what": "A is not there"}
PIECE = {
    "cpu_s": 1.5,
    "loads": [
        {
            **{"load": "a load", "operations": 4, "points": 5, "held": 4, "recovery_points": 0},
            **{"second_points": 0, "kinds": "ppep", "recording": "ab", "findings": [FINDING]},
            "outcomes": {"before": "..L..", "subset": ". .. "},
        },
        {"load": "another", "refused": "ubifs has no such call"},
    ],
}
AGAIN = {
    **{"load": "a load", "point": "2:before:1", "campaign": "held", "alone": "lost"},
    **{"host": "holds", "host_agrees": False, "same_recording": True, "check": ""},
}
COUNTED = {"load": "a load", "states": ["ab"], "programs": 3, "forbidden": {"nop": 1}}
SUMMARY = [
    {
        **{"filesystem": "jffs2", "options": {}, "chip": "apf27", "kernel": "6.1", "load": "ace1"},
        **{"faulty": False, "operations": 4, "cut": 4, "points": 9, "excused": {}, "lost": {}},
    }
]


def draw(chance: Random) -> Files:
    def drawn(value: object, share: float = 0.4) -> bytes:
        if chance.random() > share:
            return json.dumps(value).encode()
        return values.as_json(values.changed(value, chance), chance)

    lines = drawn(AGAIN) + b"\n"
    return {
        "c/powercut.json": drawn(HEAD),
        "c/00000.json": drawn(PIECE),
        "c/00001.json": drawn(PIECE),
        "c/sample-1.jsonl": lines if chance.random() < 0.2 else b"",
        "c/states.jsonl": drawn(COUNTED) + b"\n" if chance.random() < 0.3 else b"",
        "run/powercut/summary.json": texts.lines_changed(drawn(SUMMARY), chance),
    }


def take(folder: Path) -> None:
    cuts_refused(folder / "run")
    result = campaignresult.read_campaign_result(folder / "c")
    list(campaignresult.format_campaign_result(result))
    for one in result.classes.values():
        result.format_repeat_command(one)
    campaignresult.summarize_campaigns(folder)


def cuts_refused(run: Path) -> None:
    try:
        cutsummaries.read_cut_summaries(run)
    except UsageError:
        return


DEVICE = Target(draw, take)
