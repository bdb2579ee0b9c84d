# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial on one of several MTD partitions, for tests of several rooms."""

from __future__ import annotations

from nandlab.cli.singletrial import parse_layout_words, plan_single_trial
from nandlab.plan.trialspec import TrialSpec

TEXT = "2M(boot),4M(kernel),16M(rootfs),8M(data)"


def make_spec(
    chosen: str = "rootfs", text: str = TEXT, fs: str = "jffs2", board: str = "apf27"
) -> TrialSpec:
    """A trial of FFSMark, on apf27's chip or one that NFTL takes."""
    part = "nandsim-small" if fs == "nftl-fat32" else "apf27"
    return plan_single_trial(
        board=board,
        workload={"name": "ffsmark"},
        filesystem={"name": fs},
        chip={"part": part, **parse_layout_words(text, chosen)},
        state={"name": "fresh"},
        seed=1,
    )
