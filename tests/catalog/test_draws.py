# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expected value of drawn numbers costs a study of many trials."""

from __future__ import annotations

import time

from nandlab.catalog import distributions


def test_trials_of_a_study_share_what_is_expected_of_a_draw() -> None:
    began = time.process_time()
    for _ in range(1000):
        distributions.compute_expected_tree(4, "norm(5,1)", "norm(6,2)", "lognormal(4000,1)")
    assert time.process_time() - began < 1
