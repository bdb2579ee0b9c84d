# SPDX-License-Identifier: GPL-2.0-or-later
"""Until the chip is quiet after a mount, by hand."""

from __future__ import annotations

from support import samples

from nandlab.analysis.figures import readyfigures
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts, StepResult

MS = 1_000_000


def started(*names: str) -> Trial:
    """A trial of these steps; the n-th takes 1000 n ms and reads n pages."""
    steps = [
        StepResult(name=name, ns=1000 * n * MS, chip=OperationCounts(reads=n, programs=0, erases=0))
        for n, name in enumerate(names, 1)
    ]
    told = {"filesystem": {"settle": {"quiet_ms": 400, "limit_s": 60}}}
    trial = samples.trial("jffs2", provenance=told)
    return trial.model_copy(update={"steps": steps}).add_sources(trial.sources)


def test_a_rest_that_a_list_has_right_after_the_mount_counts_as_the_trial_s_own() -> None:
    own = started("load", "mount", "settle", "unmount")
    listed = started("load", "mount", "rest", "saves", "quiet")
    for trial in (own, listed):
        assert readyfigures.compute_mount_to_quiet_ns(trial) == (2000 + 3000 - 400) * MS
        assert readyfigures.count_page_reads_until_quiet(trial) == 5


def test_a_rest_after_work_says_nothing_of_the_mount() -> None:
    for names in (("load", "mount", "tree", "rest"), ("load", "rest", "mount"), ("load", "mount")):
        assert readyfigures.compute_mount_to_quiet_ns(started(*names)) is None
        assert readyfigures.count_page_reads_until_quiet(started(*names)) is None
