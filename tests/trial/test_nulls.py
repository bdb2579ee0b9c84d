# SPDX-License-Identifier: GPL-2.0-or-later
"""Each member of what a workload may print, as null and left out: no reader of results minds."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from support import samples
from test_measured import LIFE, LOAD, OWN, paths, put, told

from nandlab import report
from nandlab.base.console import Console
from nandlab.report.page import terminal
from nandlab.report.tables import exports
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.results.recordparts import PerBlock

BASES: dict[str, dict[str, Any]] = {"load": LOAD, "life": LIFE, "own": OWN}


def without(base: dict[str, Any]) -> dict[str, Trial]:
    """Trials whose workload told null for a member, or left it out, by what was done; each once."""
    found: dict[str, Trial] = {}
    for path in paths(base):
        for value in (None, KeyError):
            if value is KeyError and path.rpartition(".")[2].isdigit():
                continue  # a list that is one shorter lacks no member
            result = told(json.dumps(put(base, path, value)))
            if result not in found.values():
                found[f"{path} {'null' if value is None else 'missing'}"] = result
    return found


def read_all(folder: RunFolder) -> None:
    """Everything that reads a run and makes no picture."""
    for form in ("csv", "markdown"):
        assert exports.render_run_figures(folder, form)
    json.dumps([*terminal.list_trial_json_objects(folder)], allow_nan=False)
    terminal.print_run_results(folder, Console(file=io.StringIO()), full=True)


@pytest.mark.parametrize("base", BASES)
def test_a_null_costs_no_more_than_its_own_trial(base: str, tmp_path: Path) -> None:
    right = told(json.dumps(BASES[base])).model_copy(update={"id": "right", "seed": 999})
    trials = []
    for n, (what, result) in enumerate(without(BASES[base]).items()):
        assert result.status in ("ok", "not_measured"), what
        assert (result.error is None) == result.ok, what
        mine = result.model_copy(update={"id": f"trial-{n}", "seed": n})
        trials.append(mine.add_sources(result.sources))
        folder = samples.folder(tmp_path / str(n), [trials[-1]])
        try:
            read_all(folder)
        except Exception as e:
            raise AssertionError(f"{what}: {type(e).__name__}: {e}") from e
    whole = samples.folder(tmp_path / "run", [*trials, right.add_sources(right.sources)])
    read_all(whole)
    assert report.write_run_report(whole).read_text().count("<h2") > 1


def test_counts_per_block_are_packed_and_written_as_they_were() -> None:
    for most, size in ((255, 1), (256, 2), (1 << 32, 8)):
        told = {"reads": [0, most], "programs": [], "erases": [1]}
        blocks = PerBlock.model_validate(told)
        assert blocks.reads.itemsize == size  # type: ignore[attr-defined]
        assert blocks.model_dump() == told
        assert json.loads(blocks.model_dump_json()) == told
