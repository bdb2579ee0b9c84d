# SPDX-License-Identifier: GPL-2.0-or-later
"""The samples of the thesis of 2007 are those of its tables, to the last digit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from filetrees import drawn, options, told

from nandlab.catalog import distributions, files, steplist
from nandlab.catalog.step import TreeStep
from nandlab.catalog.tables import TableModel
from nandlab.catalog.workload import WorkloadModel

KIB = 1024
SAMPLES = {
    "small": ("thesis-2007-small", 40_500, 4_599_000, "4491.211"),
    "large": ("thesis-2007-large", 121, 45_034 * KIB, "45034.000"),
    "very-large": ("thesis-2007-very-large", 6, 45_056 * KIB, "45056.000"),
    "normal": ("irlam-1993", 1_998, 46_197_800, "45115.039"),
}
"""The table, files, bytes, and KiB as the thesis's tables would print them."""


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_has_its_files_and_bytes(sample: str) -> None:
    table, count, size, printed = SAMPLES[sample]
    counts = files.load_noun("tables", table, TableModel).counts
    assert sum(counts.values()) == count
    assert sum(each * n for each, n in counts.items()) == size
    assert f"{size / KIB:.3f}" == printed


def test_each_size_is_there_as_often_as_the_thesis_has_it() -> None:
    small = files.load_noun("tables", "thesis-2007-small", TableModel).counts
    assert small == {2**i: 4_500 for i in range(1, 10)}
    large = files.load_noun("tables", "thesis-2007-large", TableModel).counts
    assert large == {2**i * KIB: 11 for i in range(1, 12)}
    normal = files.load_noun("tables", "irlam-1993", TableModel).counts
    # 23.4 % of the files have 512 bytes or fewer, by the thesis
    assert sum(n for size, n in normal.items() if size <= 512) == round(0.234 * 2000)


def tree_of(sample: str) -> dict[str, str]:
    """What the workload's tree is made of for a sample."""
    workload = files.load_noun("workloads", "thesis-2007-space", WorkloadModel)
    chosen = workload.resolve_values({"sample": sample}, "here")
    (tree,) = (
        s
        for s in steplist.select_steps_for_parameters(workload.steps, chosen)
        if isinstance(s, TreeStep)
    )
    settled: Any = tree.settled({})
    return {key: getattr(settled, key) for key in ("depth", "dirs", "files", "size")}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_workload_deals_each_table_whole(sample: str) -> None:
    """Not one file more or fewer than the table has: so no draw is by share."""
    _, count, size, _ = SAMPLES[sample]
    tree = tree_of(sample)
    found = distributions.compute_expected_tree(
        int(tree["depth"]), tree["dirs"], tree["files"], tree["size"]
    )
    assert (
        found.files
        == sum(n for _, n in distributions.parse_distribution(tree["size"]).bins)
        == count
    )
    assert found.bytes == size


@pytest.mark.parametrize("sample", ["small", "large", "normal"])
def test_filetree_makes_the_counts_exactly(sample: str) -> None:
    """Its own count, and the sizes that our second hand draws by its documentation."""
    _, count, size, _ = SAMPLES[sample]
    tree: dict[str, Any] = tree_of(sample)
    tree["depth"] = int(tree["depth"])
    made = told("make", "nowhere", *options(**tree, seed=7), "--dry-run")["figures"]
    assert (made["files"], made["bytes"]) == (count, size)
    sizes = Counter(size for _, size in drawn(**tree, seed=7) if size is not None)
    assert sizes == dict(distributions.parse_distribution(tree["size"]).bins)
