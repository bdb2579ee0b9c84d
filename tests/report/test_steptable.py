# SPDX-License-Identifier: GPL-2.0-or-later
"""A list of steps is told step by step: every phase, its sync, its counts, the cache, the texts."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from support import samples

from nandlab.analysis.figures import groups
from nandlab.base.console import Console
from nandlab.catalog.files import load_noun
from nandlab.catalog.words import OperationWords, PhaseWords
from nandlab.catalog.workload import WorkloadModel
from nandlab.report.charts import figurecharts, latencychart
from nandlab.report.page import html
from nandlab.report.page import terminal as show
from nandlab.report.tables import steptable
from nandlab.results.record import Trial
from nandlab.results.recordparts import Latency, OperationCounts, Phase

NAME = "fs-benchmarking-2012-s2"
MS = 1_000_000


def listed(seed: int, digest: str) -> Trial:
    """A trial of scenario 2 as far as its tree was found again."""
    chip = OperationCounts(reads=10, programs=20 + seed, erases=3)
    waits = Latency(count=3, min=1, median=2, p95=3, p99=3, p99_9=3, max=3)
    phases = [
        Phase(name="rest", ns=5 * MS, chip=OperationCounts(reads=0, programs=0, erases=790)),
        Phase(
            name="tree",
            ns=(9 + seed) * MS,
            sync_ns=2 * MS,
            chip=chip,
            chip_sync=OperationCounts(reads=0, programs=5, erases=0),
            operations={"tree_create": 3},
            at={"cache": "warm"},
        ),
        Phase(name="unmount", ns=MS, chip=chip),
        Phase(name="find", ns=4 * MS, chip=chip, at={"cache": "cold"}),
    ]
    found = samples.trial("jffs2", seed=seed)
    model = load_noun("workloads", NAME, WorkloadModel)
    values = {
        "workload": NAME,
        "parameters": {"files": "64"},
        "phases": phases,
        "operations": {"tree_create": 3, "tree_close": 3, "rest_create": 3},
        "latency_ns": {"tree_create": waits, "tree_close": waits, "fill_create": waits},
        "figures": {"tree_folders": 31, "tree_files": 1984},
        "texts": {"tree_digest": digest},
    }
    told = found.model_copy(update=values)
    return told.add_sources({**found.sources, "workload": model.model_dump()})


TRIALS = [listed(seed, str(seed) * 64) for seed in (1, 2, 3)]


def test_every_phase_is_a_row_with_its_counts_and_the_cache() -> None:
    (setting,) = groups.group_trials_into_settings(TRIALS)
    table = steptable.render_file_steps_table(setting)
    assert table is not None
    assert table.lead == ("step", "configuration")
    assert [(row.subject, row.state) for row in table.rows] == [
        *(("rest (prepares)", "JFFS2, fresh"), ("tree", "JFFS2, fresh")),
        *(("unmount", "JFFS2, fresh"), ("find", "JFFS2, fresh")),
    ]
    cells = {row.subject: [c.middle.text for c in row.cells] for row in table.rows}
    assert cells["tree"] == ["13 ms", "2 ms", "10", "22", "3", "warm"]
    assert cells["find"][-1] == "cold"
    assert cells["unmount"][1:] == ["—", "10", "22", "3", "—"]


def test_texts_are_told_where_they_agree_and_where_they_do_not() -> None:
    (setting,) = groups.group_trials_into_settings([listed(1, "a" * 64), listed(2, "a" * 64)])
    (said,) = steptable.list_step_outputs(setting)
    assert (said.name, said.text) == ("tree digest", f"{'a' * 16}…, in all 2 trials")
    (setting,) = groups.group_trials_into_settings(TRIALS)
    (said,) = steptable.list_step_outputs(setting)
    assert said.text.startswith("3 different in 3 trials: 1111111111111111…, 2222")


def test_latencies_are_drawn_of_calls_that_write_or_look() -> None:
    (setting,) = groups.group_trials_into_settings(TRIALS)
    drawn = latencychart.render_latency_chart(setting)
    assert drawn is not None
    assert [v["title"] for v in drawn.chart.wide["concat"]] == ["Tree: create"]
    assert figurecharts.render_flash_operations_chart(setting) is None
    assert figurecharts.render_throughput_chart(setting) is None


def test_an_operation_of_a_step_that_prepares_does_not_count() -> None:
    phases = (
        PhaseWords(name="fill", title="fill", timed=False),
        PhaseWords(name="tree", title="tree"),
    )
    operations = tuple(OperationWords(name=n) for n in ("fill_fsync", "tree_write", "filled"))
    (setting,) = groups.group_trials_into_settings(TRIALS)
    words = replace(setting.words, phases=phases, operations=operations)
    assert [o.name for o in words.counting] == ["tree_write", "filled"]


def test_the_terminal_and_the_page_have_the_table(tmp_path: Path) -> None:
    out = io.StringIO()
    folder = samples.folder(tmp_path / "run", TRIALS)
    show.print_run_results(folder, Console(file=out, width=80), full=True)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert "time sync reads programs erases cache" in flat
    assert "tree 13 ms 2 ms 10 22 3 warm" in flat
    assert "tree digest: 3 different in 3 trials" in flat
    assert "tree: folders tree: files" in flat
    page = html.write_report_page_and_charts(folder).read_text()
    assert "<h3>Step by step</h3>" in page
    assert "rest (prepares)" in page


def test_other_workloads_have_no_such_table() -> None:
    (setting,) = groups.group_trials_into_settings([samples.trial()])
    assert steptable.render_file_steps_table(setting) is None
    assert steptable.list_step_outputs(setting) == []
    assert figurecharts.render_flash_operations_chart(setting) is not None
