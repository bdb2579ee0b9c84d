# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a trace, and the table that a paper's claim shows of it; no board."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.claimsamples import paper as made_paper
from support.claimsamples import part
from support.fitting import fits
from support.tracefolders import board, traced
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.board.jobs.fake import FakeResult
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.paper import PaperModel, TraceComparison
from nandlab.cli.main import app
from nandlab.report.page import papercauses
from nandlab.trace import brief, briefmaker
from nandlab.trace.brief import Brief, Cause, Flash
from nandlab.trace.folder import TraceFolder

COUNTS = {"reads": 1, "programs": 10, "erases": 100}
FFSMARK = {
    "program": "ffsmark",
    "config": {"number": 7},
    "phases": [
        {"name": "creation", "ns": 5, "chip": COUNTS},
        {
            "name": "transactions",
            "ns": 70,
            "sync_ns": 7,
            "chip": {"reads": 2, "programs": 20, "erases": 200},
            "chip_sync": COUNTS,
        },
        {"name": "deletion", "ns": 3, "chip": None},
    ],
}


def kept(**change: Any) -> Brief:
    found = {"ns": 200, "reads": 4, "programs": 0, "erases": 2000}
    given: dict[str, Any] = {
        "nandlab": "0",
        "command": "ffsmark",
        "board": "b",
        "kernel": "6.1",
        "chip": "c",
        "partition_blocks": 8,
        "filesystem": "ubifs",
        "options": {},
        "state": {},
        "seed": 1,
        "config": {},
        "command_ns": 900,
        "events": 3,
        "lost": 0,
        "missed": 0,
        "warnings": [],
        "phases": [{"name": "creation", "ns": 3_000_000_000, **COUNTS}],
        "pages": {"written to": 9, "written back": 8},
        "programmed_bytes": 600,
        "written_bytes": 200,
        "flash": Flash(**found),
        "causes": [Cause(cause="commit", **found)],
        "calls": {},
    }
    return Brief.model_validate(given | change)


def on_a_board(to: Path, said: str) -> TraceFolder:
    """A trace of a command that said this, as of a board with a name."""
    meta = traced(to, board(command=FakeResult(said))).meta
    meta["board"] = {"board": {"name": "b", "icount_shift": 4}, "kernel": "6.1", "accel": "tcg"}
    (to / "meta.json").write_text(json.dumps(meta))
    return TraceFolder(to)


def test_a_brief_has_the_trace_s_figures_and_the_program_s_phases(tmp_path: Path) -> None:
    trace = on_a_board(tmp_path / "t", json.dumps(FFSMARK))
    found = briefmaker.make_trace_brief(trace)
    assert {c.cause: c.ns for c in found.causes} == {
        "garbage_collection": 745,
        "vfs_write": 220,
        "vfs_read": 25,
    }
    assert found.flash is not None
    assert [(p.name, p.ns, p.reads, p.programs, p.erases) for p in found.phases] == [
        ("creation", 5, 1, 10, 100),
        ("transactions", 77, 2, 20, 200),
    ]
    assert found.config == {"number": 7}
    assert found.calls["VFS_WRITE"][0] == 1
    assert (found.flash.ns, found.pages) == (sum(c.ns for c in found.causes), {})
    answer = CliRunner().invoke(app, ["trace", "brief", str(trace.path)])
    (tmp_path / "b.json").write_text(answer.stdout)
    assert brief.read_trace_brief(tmp_path / "b.json") == found
    fits("trace-brief", answer.stdout)


def test_of_the_functions_a_brief_has_those_that_were_asked_for(tmp_path: Path) -> None:
    trace = on_a_board(tmp_path / "t", json.dumps(FFSMARK))
    told = {r["name"]: [r["count"], r["ns"]] for r in trace.summary["functions"]}
    name = next(iter(told))
    assert briefmaker.make_trace_brief(trace).functions == {}
    (trace.path / "meta.json").write_text(json.dumps(trace.meta | {"functions": [name, "other"]}))
    assert briefmaker.make_trace_brief(TraceFolder(trace.path)).functions == {name: told[name]}


def test_a_command_of_another_kind_has_no_phases(tmp_path: Path) -> None:
    for number, said in enumerate(("", "[1]", '{"program": "other"}')):
        found = briefmaker.make_trace_brief(on_a_board(tmp_path / str(number), said))
        assert (found.phases, found.config) == ([], {})


def test_a_file_that_is_no_brief_is_told(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    with pytest.raises(UsageError, match="no such file"):
        brief.read_trace_brief(path)
    path.write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        brief.read_trace_brief(path)
    path.write_text('{"format": 2}')
    with pytest.raises(UsageError, match=r"b\.json: format"):
        brief.read_trace_brief(path)


def test_causes_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"reads": 0, "programs": 0, "erases": 0}
    collected = Cause(cause="garbage_collection", ns=150, **nothing | {"programs": 3})
    tiny = Cause(cause="vfs_read", ns=1, **nothing)
    commit = Cause(cause="commit", ns=49, **nothing)
    aged = kept(
        causes=[collected, commit, tiny],
        phases=[],
        warnings=["records lost"],
        functions={"compress": [9, 1_000_000_000]},
    )
    monkeypatch.setattr(papercauses, "CATALOG", tmp_path)
    for name, one in (("fresh", kept()), ("aged", aged)):
        path = papercauses.find_trace_figures_path("p", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(brief.format_trace_brief(one))
    taken = [{"file": f, "label": f.upper(), "command": f"take {f}"} for f in ("fresh", "aged")]
    shown = TraceComparison.model_validate({"id": "x", "title": "t", "text": "s", "traces": taken})
    found = papercauses.make_paper_cause_table("p", shown)
    assert found.head == ["FRESH", "AGED"]
    assert found.trace_figures[0] == (
        "creation, with its sync",
        ["3 s (1 read, 10 programmed, 100 erased)", "—"],
    )
    assert found.trace_figures[-2:] == [
        ("bytes programmed by bytes written", ["3", "3"]),
        ("calls of compress", ["—", "9, 1 s in all"]),
    ]
    assert found.causes == [
        ("garbage collection", ["—", "150 ns (3 programmed)"]),
        ("commit", ["200 ns (4 read, 2,000 erased)", "49 ns"]),
        ("all others", ["0 ns", "1 ns"]),
    ]
    assert found.warnings == ["AGED: records lost"]
    bare = kept(flash=None, causes=[], programmed_bytes=None, written_bytes=None, pages={})
    papercauses.find_trace_figures_path("p", "aged").write_text(brief.format_trace_brief(bare))
    found = papercauses.make_paper_cause_table("p", shown)
    assert dict(found.trace_figures)["flash, whole trace"] == ["200 ns (4 read, 2,000 erased)", "—"]
    papercauses.find_trace_figures_path("p", "fresh").write_text(brief.format_trace_brief(bare))
    assert [name for name, _ in papercauses.make_paper_cause_table("p", shown).trace_figures] == [
        "creation, with its sync"
    ]
    assert papercauses.make_paper_cause_table("p", shown).causes == []


def test_a_claim_cannot_show_a_table_that_is_not_there() -> None:
    claim = made_paper(part()).claims[0].model_dump() | {"shown": "nowhere"}
    whole = made_paper(part()).model_dump() | {"claims": [claim]}
    with pytest.raises(ValueError, match="claims c: shown names no"):
        PaperModel.model_validate(whole)


@pytest.mark.parametrize("name", list_noun_names("papers"))
def test_what_a_paper_of_the_catalog_shows_is_of_the_command_that_it_names(name: str) -> None:
    for shown in load_noun("papers", name, PaperModel).causes:
        papercauses.make_paper_cause_table(name, shown)
        for taken in shown.traces:
            found = brief.read_trace_brief(papercauses.find_trace_figures_path(name, taken.file))
            words = shlex.split(taken.command)
            pairs = list(itertools.pairwise(words))
            assert ("--fs", found.filesystem) in pairs
            assert ("--board", found.board) in pairs
            for option, value in (v.split("=") for w, v in pairs if w == "--set"):
                assert found.options[option] == value
            asked = dict(v.split("=") for w, v in pairs if w == "--param")
            if "transactions" in found.config:
                assert int(asked["transactions"]) == found.config["transactions"]
            else:
                assert words[-1] == found.command
            assert ("--state" in words) == bool(found.state["valid"])
            assert found.missed == 0
            if found.flash is not None:
                assert sum(c.ns for c in found.causes) == found.flash.ns
