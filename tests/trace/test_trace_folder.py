# SPDX-License-Identifier: GPL-2.0-or-later
"""From a board's answers to a trace's folder, its page and its Perfetto file, without a board."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from support.fitting import fits
from support.tracefolders import STATUS, board, counters, made, request, traced
from support.tracemade import Made, ev
from typer.testing import CliRunner

from nandlab.base.console import Console
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printable import make_lines_printable
from nandlab.board.jobs.fake import FakeResult
from nandlab.cli.main import app
from nandlab.report.page import tracepage as page
from nandlab.report.page.tracepage import FLASH_EVENTS
from nandlab.trace import job, show, timeline, writer
from nandlab.trace.folder import TraceFolder
from nandlab.traced import tables, tree
from nandlab.traced.records import EventType, Names

BEGIN, END, INSTANT = 1, 2, 3
"""Types of Perfetto's TrackEvent, by its protocol."""


def test_a_folder_has_all_of_a_trace(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    assert sorted(p.name for p in trace.path.iterdir()) == [
        "events.csv", "events.parquet", "meta.json", "summary.json", "trace.pftrace",
    ]  # fmt: skip
    fits("trace-summary", trace.summary)
    fits("trace-meta", trace.meta)
    assert trace.summary["warnings"] == []
    assert trace.summary["not_traced"][0].startswith("event FS_READAHEAD: ")
    causes = {row["cause"]: row["ns"] for row in trace.summary["flash_by_cause"]}
    assert causes == {"vfs_write": 220, "garbage_collection": 220 + 500 + 25, "vfs_read": 25}
    rows = tables.query_parquet_rows(
        trace.events, "SELECT seq, parent, event, cause, path, text FROM events"
    )
    assert rows[0] == (1, 0, "MARK", "", "", "begin")
    assert rows[2] == (3, 2, "FLASH_PROGRAM", "vfs_write", "/a b", "")
    assert len(rows) == len(made().written)
    with pytest.raises(UsageError, match="is there already"):
        traced(tmp_path / "t")


def test_a_trace_that_differs_from_the_chip_says_so(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t", board(chip_after=counters(reads=3, programs=2, erases=1)))
    assert len(trace.summary["warnings"]) == 1
    assert trace.summary["warnings"][0].startswith("flash reads: 2 in ")
    assert trace.summary["warnings"][0].endswith(" the chip counted 3")


@pytest.mark.parametrize(("end_ns", "reads", "warns"), [(0, 1, 1), (10**9, 1, 0), (10**9, 3, 1)])
def test_what_began_before_the_chip_was_counted_is_no_difference(
    tmp_path: Path, end_ns: int, reads: int, warns: int
) -> None:
    """A collector at work when the trace begins: its first read ends before the counters are
    read."""
    given = board(chip_after=counters(reads=reads, programs=2, erases=1))
    record = asyncio.run(given.run(job.make_trace_job(request())))
    steps = [replace(s, end_ns=end_ns) if s.step == job.COUNTERS_STEP else s for s in record.steps]
    record = replace(record, steps=tuple(steps))
    outcome = job.decode_trace_outcome(request(), record)
    writer.write_trace_folder(tmp_path / "t", request(), record, outcome, given)
    assert len(TraceFolder(tmp_path / "t").summary["warnings"]) == warns


def test_names_are_the_bytes_that_they_are(tmp_path: Path) -> None:
    command = FakeResult(stdout="é\udcff")
    given = board(command=command)
    record = asyncio.run(given.run(job.make_trace_job(request())))
    assert job.decode_trace_outcome(request(), record).paths[18] == "/é\\xff\\x0a"
    assert traced(tmp_path / "t", given).meta["stdout"] == command.stdout


def test_output_that_was_cut_is_told(tmp_path: Path) -> None:
    given = board(command=FakeResult(stdout="x", stdout_bytes=9_000_000))
    told = "step command printed 9000000 bytes on stdout; the first 8388608 are kept"
    assert traced(tmp_path / "t", given).summary["warnings"] == [told]


def test_the_energy_of_a_trace_is_the_chips_and_null_where_its_data_sheet_does_not_tell(
    tmp_path: Path,
) -> None:
    assert traced(tmp_path / "t").summary["chip"]["energy_nj"] is None
    before, after = (FakeResult(counters().stdout + f"energy_nj {n}\n") for n in (4000, 4700))
    told = traced(tmp_path / "u", board(chip_before=before, chip_after=after))
    assert told.summary["chip"]["energy_nj"] == 700


def test_a_flash_that_does_not_come_to_rest_is_told(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t", board(settle_after=FakeResult('{"settled": false}')))
    limit_s = request().spec.filesystem.settle.limit_s
    told = f"the flash was still at work {limit_s} s after the command: "
    assert trace.summary["warnings"][0].startswith(told)


def test_lost_records_and_failed_commands_are_told(tmp_path: Path) -> None:
    lost = STATUS.replace("lost 0", "lost 3").replace("missed 0", "missed 4")
    given = board(status=FakeResult(lost), command=FakeResult(stderr="no such", rc=3))
    warnings = traced(tmp_path / "t", given).summary["warnings"]
    assert re.match("3 records were overwritten .* raise --records above 131072", warnings[0])
    assert warnings[1].startswith("4 events were seen by no probe")
    assert warnings[2].endswith(": step command exited with 3: no such")


def test_perfetto_gets_every_event_on_nested_tracks(tmp_path: Path) -> None:
    trace = timeline.read_perfetto_timeline(traced(tmp_path / "t").path / "trace.pftrace")
    tracks = {
        p.track_descriptor.uuid: p.track_descriptor.name or p.track_descriptor.thread.thread_name
        for p in trace.packet
        if p.HasField("track_descriptor")
    }
    assert set(timeline.GROUPS) | {"cat", "gcd"} == set(tracks.values())
    kinds: Counter[tuple[int, int]] = Counter()
    open_now: Counter[int] = Counter()
    events = [p for p in trace.packet if p.HasField("track_event")]
    for packet in sorted(events, key=lambda p: p.timestamp):
        event = packet.track_event
        kinds[event.track_uuid, event.type] += 1
        open_now[event.track_uuid] += {BEGIN: 1, END: -1}.get(event.type, 0)
        assert open_now[event.track_uuid] >= 0
    assert not any(open_now.values())
    cat, gcd = (timeline.TASKS_UUID + pid for pid in (7, 8))
    # the mark and the miss are instants
    assert (kinds[cat, BEGIN], kinds[cat, INSTANT], kinds[gcd, BEGIN]) == (8, 2, 2)
    assert kinds[timeline.LAYERS_UUID + (timeline.FLASH << 32), BEGIN] == 5
    collector = timeline.LAYERS_UUID + (timeline.COLLECTOR << 32) + 1
    assert (kinds[collector + 7, BEGIN], kinds[collector + 8, BEGIN]) == (1, 1)


def test_perfetto_gets_what_a_record_tells(tmp_path: Path) -> None:
    failed = ev(EventType.VFS_WRITE, 5, object=7, offset=2**63 + 1, size=3, result=-28)
    made = Made().task(7, failed, ev(EventType.VFS_READ, 5, object=8, result=2)).recording()
    none = Names()
    timeline.write_perfetto_timeline(
        made, none, tree.make_event_tree(made, none, {}), {}, tmp_path / "t"
    )
    packets = timeline.read_perfetto_timeline(tmp_path / "t").packet
    events = [p.track_event for p in packets if p.track_event.type == BEGIN]
    told = [{n.name: n.int_value for n in e.debug_annotations} for e in events]
    first = {"object": 7, "offset": 1, "size": 3, "result": -28, "extra": 0}
    then = {"object": 8, "offset": 0, "size": 0, "result": 2, "extra": 0}
    assert told == [first, first, then, then]  # on the task's track and on the layer's


def _spoiled(value: Any) -> Any:
    """A value whose texts command a terminal, but for those that the parts are known by."""
    if isinstance(value, dict):
        return {k: _spoiled(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_spoiled(v) for v in value]
    return f"{value}\x1b]0;pwn\x07\n[red]PWNED\x9b" if isinstance(value, str) else value


def test_no_text_of_a_trace_commands_the_terminal(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    trace.summary, trace.meta = _spoiled(trace.summary), _spoiled(trace.meta)
    out = io.StringIO()
    show.print_trace_summary(trace, Console(file=out, width=500))
    shown = out.getvalue()
    assert shown.count("[red]PWNED") > 5
    assert make_lines_printable(shown) == shown
    assert not [line for line in shown.splitlines() if line.startswith("[red]PWNED")]


def test_the_summary_prints(tmp_path: Path) -> None:
    console = Console(record=True, width=120, file=(tmp_path / "out").open("w"))
    show.print_trace_summary(traced(tmp_path / "t"), console)
    text = console.export_text()
    assert re.search(r"garbage collection +0\.001 +\S+ % +1 +1 +1\n", text)
    assert re.search(r"/a b +0\.001", text)
    assert "page cache: 0 of 1 pages hit (0.0 %)" in text
    assert re.search(r"call of the VFS +2 +[\d,]+ +[\d,]+ *\n", text)
    assert re.search(r"tracing cost [\d,]+ instructions$", text, re.MULTILINE)


def test_the_parts_of_a_folder_add_up(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    run = CliRunner().invoke(app, ["trace", "parts", str(trace.path), "--json"])
    assert run.exit_code == 0
    whole, *_ = fits("trace-parts", run.stdout)["phases"]
    assert whole["elapsed_ns"] == trace.summary["trace_ns"]
    assert sum(whole["parts_ns"].values()) == whole["elapsed_ns"]
    assert whole["parts_ns"]["chip"] == trace.summary["flash"]["ns"]
    assert whole["for_ns"]["collector_in_calls"] == {"processor": 25, "mtd": 0, "chip": 720}
    assert whole["for_ns"]["collector_in_threads"] == {"processor": 9, "mtd": 0, "chip": 25}
    printed = CliRunner().invoke(app, ["trace", "parts", str(trace.path)]).stdout
    assert re.search(r"collector in threads +1 +0 +0\n", printed)
    assert "a trace with --functions schedule." in " ".join(printed.split())
    assert "collector in threads" in page.write_trace_page(trace).read_text()


def test_the_parts_of_a_folder_of_before_them_are_refused(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    meta = json.loads((trace.path / "meta.json").read_text())
    del meta["kernel_threads"]
    (trace.path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(UsageError, match="trace again"):
        CliRunner().invoke(app, ["trace", "parts", str(trace.path)], catch_exceptions=False)
    assert "trace again" in page.write_trace_page(TraceFolder(trace.path)).read_text()


def _no_layer(summary: dict[str, Any], meta: dict[str, Any]) -> None:
    del summary["calls"][0]["layers_ns"]["VFS"]


def _no_time(summary: dict[str, Any], meta: dict[str, Any]) -> None:
    summary["calls"][0]["ns"] = 0


def _long_number(summary: dict[str, Any], meta: dict[str, Any]) -> None:
    summary["flash"]["ns"] = 10**400


def _thread_of_no_kernel(summary: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["kernel_threads"] = [1 << 63]


@pytest.mark.parametrize("verb", ["show", "parts", "brief", "report"])
@pytest.mark.parametrize("spoil", [_no_layer, _no_time, _long_number, _thread_of_no_kernel])
def test_a_folder_with_figures_out_of_form_is_refused(
    tmp_path: Path, verb: str, spoil: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    trace = traced(tmp_path / "t")
    files = [trace.path / name for name in ("summary.json", "meta.json")]
    summary, meta = (json.loads(f.read_text()) for f in files)
    spoil(summary, meta)
    for file, value in zip(files, (summary, meta), strict=True):
        file.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=r"summary\.json|meta\.json"):
        CliRunner().invoke(app, ["trace", verb, str(trace.path)], catch_exceptions=False)


def test_the_page_s_maps_are_of_the_blocks_that_were_touched(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    touched = page._find_touched_blocks(trace)
    rows = tables.query_parquet_rows(
        trace.events, f"SELECT object FROM events WHERE event IN {FLASH_EVENTS}"
    )
    blocks = {int(number) // page._pages_per_block(trace) for (number,) in rows}
    assert (touched.start, touched.stop) == (min(blocks), max(blocks) + 1)
    assert len(touched) < trace.meta["partition_blocks"]
    found = {m["name"]: m for m in page._make_block_maps(trace, touched)}
    assert {name: m["total"] for name, m in found.items()} == {
        name.capitalize(): trace.summary["flash"][name] for name in ("reads", "programs", "erases")
    }
    text = page.write_trace_page(trace).read_text()
    assert "were not touched" in text
    assert "It took " in text[: text.index("Timeline")]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_draws_the_timeline_and_the_chip(tmp_path: Path, width: int) -> None:
    path = page.write_trace_page(traced(tmp_path / "t"))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": width, "height": 900}, offline=True)
        errors: list[str] = []
        view.on("pageerror", lambda e: errors.append(str(e)))
        view.goto(path.as_uri())
        for scheme in ("light", "dark"):
            view.emulate_media(color_scheme="light" if scheme == "light" else "dark")
            assert Axe().run(view).response["violations"] == []
        pixels = """id => { const c = document.getElementById(id);
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const seen = {}; for (let i = 0; i < d.length; i += 4) if (d[i+3] === 255)
              { const k = [d[i], d[i+1], d[i+2]]; seen[k] = (seen[k] || 0) + 1; }
            return seen; }"""
        view.wait_for_timeout(200)
        before = view.evaluate(pixels, "time")
        red = "200,85,61"  # of programs
        assert before[red] > 50
        assert view.evaluate(pixels, "chip")[red] > 20
        view.click("[data-do=in]")
        view.wait_for_timeout(100)
        assert view.evaluate(pixels, "time")[red] != before[red]
        assert view.evaluate("document.documentElement.scrollWidth") <= width
        assert not errors
        browser.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fs", "ext4", "--", "true"], "--fs: no 'ext4'"),
        (["--fs", "jffs2", "--chip", "none", "--", "true"], "--chip: no 'none'"),
        (["--fs", "jffs2", "--set", "colour=red", "--", "true"], "no option 'colour'"),
        (["--fs", "jffs2", "--set", "colour", "--", "true"], "expected NAME=VALUE"),
        (["--fs", "jffs2", "--tracers", "vfs,x", "--", "true"], "tracers: x"),
        (["--fs", "jffs2", "--records", "0", "--", "true"], "--records 0"),
        (["--fs", "jffs2", "--state", "old", "--", "true"], "--state old"),
        (["--fs", "jffs2", "--state", "valid=0.5,of=half", "--", "true"], "of"),
        (["--fs", "jffs2", "--param", "files=3", "--", "true"], "--param is for a workload"),
        (["--fs", "jffs2", "--param", "files=x", "--", "ffsmark"], "files"),
        (["--fs", "jffs2", "--board", "none", "--", "true"], "--board: no 'none'"),
        (["--fs", "jffs2", "-o", "/tmp", "--", "true"], "is there already"),
        (["show", "/nowhere"], "not a trace's folder"),
        (["report", "/nowhere"], "not a trace's folder"),
        (["parts", "/nowhere"], "not a trace's folder"),
    ],
)
def test_bad_input_is_a_usage_error(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        CliRunner().invoke(app, ["trace", *words], catch_exceptions=False)


def test_the_command_s_words_keep_their_edges() -> None:
    assert job.format_command_as_shell(["cat a > b; sync"]) == "cat a > b; sync"
    assert job.format_command_as_shell(["cat", "a b"]) == "cat 'a b'"
    assert job.is_command_workload_name(["ffsmark"], ["ffsmark"])
    assert not job.is_command_workload_name(["ffsmark", "x"], ["ffsmark"])


def test_a_corrupt_folder_is_an_error(tmp_path: Path) -> None:
    trace = traced(tmp_path / "t")
    (trace.path / "summary.json").write_text("{")
    with pytest.raises(NandlabError, match="corrupt"):
        TraceFolder(trace.path)
    (trace.path / "summary.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(UsageError, match="of another version"):
        TraceFolder(trace.path)
