# SPDX-License-Identifier: GPL-2.0-or-later
"""The table says what failed, and the JSON has exactly the keys that scripts may rely on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support import lifesamples, samples

from nandlab.base.console import Console
from nandlab.report.page import html
from nandlab.report.page import terminal as show
from nandlab.report.tables import exports
from nandlab.results.record import Trial


def printed(folder: Path, trials: list[Trial] | None, width: int) -> str:
    out = io.StringIO()
    run = samples.folder(folder, trials)
    show.print_run_results(run, Console(file=out, width=width), full=True)
    return out.getvalue()


def test_json_has_exactly_these_keys_and_survives_a_round_trip(tmp_path: Path) -> None:
    found = [*show.list_trial_json_objects(samples.folder(tmp_path / "run"))]
    assert json.loads(json.dumps(found)) == found
    assert len(found) == len(samples.study())
    for trial in found:
        assert tuple(trial) == show.TRIAL_FIELDS
    good, bad = found[0], found[-1]
    by_name = {p["name"]: p for p in good["phases"]}
    assert list(by_name) == ["fill", "creation", "transactions", "deletion"]
    assert set(by_name["creation"]["chip"]) == {"reads", "programs", "erases"}
    assert good["parameters"] == samples.trial().parameters
    assert [s["name"] for s in good["steps"]] == ["format", "mount", "settle"]
    assert good["measured"] == {}
    assert set(good["erases_per_block"]) == {"mean", "stddev", "min", "max"}
    assert bad["status"] == "board_lost"
    assert bad["phases"] == []


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_holds_medians_ranges_and_doubts(tmp_path: Path, width: int) -> None:
    text = printed(tmp_path / "run", None, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    flat = " ".join(text.split())
    for expected in (
        "3 of 33 trials are not in the figures",
        "n = 5 of 6",
        "kernel_log YAFFS2, aged: 1 trial",
        "trial_failed ubifs-compr.none-aged-90: ffsmark: write: No space left on device",
        "board_lost",
    ):
        assert expected in flat


def test_a_wide_terminal_has_more_columns_and_ranges_are_in_one_piece(tmp_path: Path) -> None:
    narrow, wide = (printed(tmp_path / str(width), None, width) for width in (80, 180))
    assert len(wide.splitlines()) < len(narrow.splitlines())
    assert "13291..13736" in narrow
    head = next(line for line in wide.splitlines() if "create p99" in line)
    assert len(head) > 120
    assert head.split()[-2:] == ["delete", "max"]


def test_it_tells_what_single_operations_took(tmp_path: Path) -> None:
    lines = printed(tmp_path / "run", None, 180).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Latency: 99 of 100"))
    head, first = lines[at + 2], lines[at + 3]
    assert head.split()[:4] == ["create", "p99", "create", "max"]
    trials = [t for t in samples.study() if t.filesystem == "jffs2" and t.state.name == "fresh"]
    p99 = [t.latency_ns["create"].p99 for t in trials if t.latency_ns["create"]]
    assert first.split()[:3] == ["fresh", f"{sorted(p99)[2] / 1e6:.3g}", "ms"]


def test_the_verdict_is_last_and_its_doubts_stand_in_it(tmp_path: Path) -> None:
    lines = printed(tmp_path / "run", None, 160).splitlines()
    title = "ffsmark on MT29F2G08ABAEAWP, 100 MiB; cells: the worse of fresh and aged"
    at = next(i for i, line in enumerate(lines) if line.startswith(title))
    rows = [line.split()[:2] for line in lines[at + 4 : at + 7]]
    assert rows == [["take", "JFFS2"], ["avoid", "UBIFS"], ["avoid", "YAFFS2"]]
    assert lines[-1].startswith("Take JFFS2 (power cuts not tried)")
    assert "state_missed YAFFS2, aged: 1 trial" in lines


def test_without_more_the_verdict_is_all(tmp_path: Path) -> None:
    out = io.StringIO()
    show.print_run_results(samples.folder(tmp_path / "run"), Console(file=out, width=80))
    text = out.getvalue()
    assert "3 of 33 trials are not" in " ".join(text.split())
    assert "Latency: 99 of 100" not in text
    assert len(text.splitlines()) < 40


def test_it_tells_the_board_and_the_commit_that_it_was_measured_with(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", commit="0123456789ab-dirty")
    out = io.StringIO()
    show.print_run_results(run, Console(file=out, width=80))
    board = run.head().board_id
    text = " ".join(out.getvalue().split())
    assert f"virtual board {board}, simulated chip, commit of nandlab 0123456789ab-dirty" in text
    page = html.write_report_page_and_charts(run).read_text()
    assert f"<td>{board}," in page and "<td>0123456789ab-dirty</td>" in page
    assert "commit" not in printed(tmp_path / "older", None, 80)
    older = exports.render_run_figures(samples.folder(tmp_path / "old"), "markdown")
    assert f"Virtual board {board}, simulated chip." in older
    unknown = html.write_report_page_and_charts(samples.folder(tmp_path / "oldest")).read_text()
    assert "not known, for nandlab was no" in unknown
    other = samples.head(samples.study(), provenance={"kernel": "another"})
    assert len(board) == 12 and other.board_id != board


def test_ram_has_a_column_where_it_was_measured(tmp_path: Path) -> None:
    text = printed(tmp_path / "run", None, 80)
    assert "format mount settle" in " ".join(text.split())
    assert "RAM\n" not in text
    assert "50 ms" in text
    measured = printed(tmp_path / "memory", [samples.trial(memory=samples.MEMORY)], 80)
    assert max(map(len, measured.splitlines())) <= 80
    assert "RAM\n" in measured
    assert "512 KiB" in measured


@pytest.mark.parametrize("width", [80, 120])
def test_a_life_has_its_own_table_and_its_end(tmp_path: Path, width: int) -> None:
    text = printed(tmp_path / "run", lifesamples.lifetime_study(), width)
    assert max(map(len, text.splitlines()[:-1])) <= width
    flat = " ".join(text.split())
    for expected in (
        "lifetime on S34ML01G1, 16 MiB, endurance 50 ± 20 %",
        "written first death dead erases",
        "460..525+",
        "2 of 3 gave up with “ffsmark: open f0000907: Read-only file system (EROFS)”",
        "1 of 3 still lived when the rounds ended",
    ):
        assert expected in flat
    assert "trans./s" not in flat


def test_the_json_of_a_life_has_its_rounds(tmp_path: Path) -> None:
    trials = lifesamples.lifetime_study()
    found = [*show.list_trial_json_objects(samples.folder(tmp_path / "run", trials))]
    for one, trial in zip(found, trials, strict=True):
        written = next(s for s in one["series"] if s["name"] == "bytes_written")
        assert len(written["values"]) == one["figures"]["rounds"] > 10
        assert one["texts"].get("gave_up") == trial.texts.get("gave_up")
        assert one["phases"] == []


def test_a_null_is_a_dash_and_markup_in_data_is_only_text(tmp_path: Path) -> None:
    odd = samples.trial(flash=None, erases_per_block=None, options={"x": "[red]"})
    other = samples.trial(options={"x": "b"})
    text = printed(tmp_path / "run", [odd, other], 100)
    assert "JFFS2 x=[red]" in text
    assert "—" in text


def test_a_file_system_has_the_title_of_the_catalog(tmp_path: Path) -> None:
    trials = [samples.trial("nftl-fat32"), samples.failed("nftl-fat32")]
    text = printed(tmp_path / "run", trials, 100)
    assert "NFTL+FAT32" in text
    assert "NFTL-FAT32" not in text
    page = html.write_report_page_and_charts(samples.folder(tmp_path / "again", trials)).read_text()
    assert "NFTL+FAT32: compr=none" in page
    assert "(NFTL+FAT32, aged, seed 90)" in page
    assert "NFTL-FAT32" not in page


def test_an_empty_run_is_said_to_be_empty(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", [], ["a"])
    out = io.StringIO()
    show.print_run_results(run, Console(file=out, width=100))
    assert "No trial of this run has" in out.getvalue()
    assert [*show.list_trial_json_objects(run)] == []
