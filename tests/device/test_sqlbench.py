# SPDX-License-Identifier: GPL-2.0-or-later
"""SQLite's workloads: known work is counted exactly, here and on the board."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.trialsatonce import RecordedTrial, check_ended, run_trials_at_once

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.durability import is_operation_durable
from nandlab.base.paths import DEVICE
from nandlab.board.jobs.build import build_program
from nandlab.board.kit import needs
from nandlab.board.kit.kit import fetch_board_tools
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution
from nandlab.trial.runner import make_run_head

pytestmark = pytest.mark.board
"""All need the board's tools, which build the program."""

STATEMENTS = ("select", "insert", "update", "delete")


@cache
def built() -> str:
    model = load_noun("boards", "apf27", BoardModel)
    folder = DEVICE / "programs" / "sqlbench"
    made = needs.unpack_build_material(folder, model, needs.fetch_program_needs(model, folder).lock)
    return str(build_program(fetch_board_tools(model)[0], folder, made))


def sqlbench(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    argv = [built(), str(folder), "--drop", "none", *more]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def told(folder: Path, *more: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    done = sqlbench(folder, *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "bench.db") as db:
        return db.execute("SELECT * FROM contacts ORDER BY id").fetchall()


@pytest.mark.parametrize(("text", "size"), [(64, 518_144), (128, 1_035_264)])
def test_the_table_is_the_paper_s(tmp_path: Path, text: int, size: int) -> None:
    more = ("--text", str(text), "--page-size", "1024", "--select", "1", "--update", "0")
    found = told(tmp_path, *more)
    assert found["figures"]["database_bytes"] == size
    assert (tmp_path / "bench.db").stat().st_size == size
    rows = rows_of(tmp_path)
    assert [row[0] for row in rows] == list(range(1, 1001))
    for row in rows:
        assert [type(v) for v in row] == [int] * 12 + [str] * 5
        assert {len(v) for v in row[12:]} == {text}
        assert all(-(1 << 31) <= v < 1 << 31 for v in row[:12])


def test_statements_commits_and_bytes_are_counted_exactly(tmp_path: Path) -> None:
    found = told(tmp_path, "--transactions", "7", "--rows-per-commit", "3", "--text", "10")
    operations = {"select": 0, "insert": 0, "update": 21, "delete": 0}
    operations |= {"commit": 7, "transaction": 7}
    assert found["operations"] == operations
    counts = {k: v["count"] if v else 0 for k, v in found["latency_ns"].items()}
    assert counts == operations
    assert [p["name"] for p in found["phases"]] == ["create", "open", "run", "close"]
    assert found["phases"][0]["bytes"]["written"] == 1000 * (12 * 4 + 5 * 10)
    assert found["phases"][2]["operations"] == operations
    assert found["bytes"] == {"read": 0, "written": 21 * (11 * 4 + 5 * 10)}
    assert found["per_block"] is None  # this machine has no such chip


@pytest.mark.parametrize("pattern", ["sequential", "random"])
def test_a_mix_leaves_the_rows_that_it_counts(tmp_path: Path, pattern: str) -> None:
    weights = [word for kind in STATEMENTS for word in (f"--{kind}", "1")]
    more = ("--rows", "50", "--transactions", "100", "--rows-per-commit", "2", *weights)
    made = told(tmp_path, *more, "--pattern", pattern)["operations"]
    assert sum(made[kind] for kind in STATEMENTS) == 200
    assert all(made[kind] > 20 for kind in STATEMENTS)
    assert len(rows_of(tmp_path)) == 50 + made["insert"] - made["delete"]


def test_in_sequence_each_row_is_taken_before_one_is_taken_again(tmp_path: Path) -> None:
    more = ("--rows", "20", "--pattern", "sequential", "--transactions")
    told(tmp_path / "a", *more, "1", "--select", "1", "--update", "0")
    told(tmp_path / "b", *more, "19")
    before, after = rows_of(tmp_path / "a"), rows_of(tmp_path / "b")
    same = [old[0] for old, new in zip(before, after, strict=True) if old == new]
    assert same == [20]


def test_the_same_seed_gives_the_same_database(tmp_path: Path) -> None:
    files = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        told(tmp_path / name, "--seed", seed, "--journal", "wal")
        files.append((tmp_path / name / "bench.db").read_bytes())
    assert files[0] == files[1] != files[2]


def test_modes_are_told_as_sqlite_reports_them(tmp_path: Path) -> None:
    asked = ("--journal", "wal", "--synchronous", "extra", "--locking", "exclusive")
    texts = told(tmp_path, *asked, "--page-size", "2048", "--cache-kib", "99")["texts"]
    version = texts["sqlite"]
    assert version == "3.40.1"
    assert texts["sqlite_source"].startswith("2022-12-28")
    assert "THREADSAFE=1" in texts["sqlite_options"].split()
    keys = ("journal_mode", "synchronous", "locking_mode", "page_size", "cache_size")
    assert [texts[k] for k in keys] == ["wal", "extra", "exclusive", "2048", "-99"]


def test_each_run_of_selects_is_a_phase_with_its_open_apart(tmp_path: Path) -> None:
    found = told(tmp_path, "--selects", "1,30,2000", "--pattern", "both")
    names = [p["name"] for p in found["phases"]]
    runs = [f"{pattern}_{n}" for pattern in ("seq", "random") for n in (1, 30, 2000)]
    assert names == ["create", *(f"{p}_{run}" for run in runs for p in ("open", "select"))]
    phase = found["phases"][names.index("select_seq_30")]
    assert phase["at"] == {"records": 30, "pattern": "sequential", "part": "select"}
    assert phase["operations"] == {"select_seq_30": 30}
    assert phase["bytes"] == {"read": 30 * (12 * 4 + 5 * 64), "written": 0}
    assert found["latency_ns"]["select_random_2000"]["count"] == 2000
    assert found["bytes"]["read"] == 2 * 2031 * 368


@pytest.mark.parametrize(("each", "commits"), [(0, 1), (1, 1000), (300, 4), (1000, 1)])
def test_the_table_is_made_in_so_many_transactions(tmp_path: Path, each: int, commits: int) -> None:
    """SQLite's file counts them (its change counter, section 1.3.7 of its format); the first one
    makes the table."""
    told(tmp_path, "--create-rows-per-commit", str(each), "--selects", "1", "--text", "9")
    header = (tmp_path / "bench.db").read_bytes()[:100]
    assert int.from_bytes(header[24:28], "big") == 1 + commits
    assert len(rows_of(tmp_path)) == 1000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--page-size", "3000"), 2, "expected a power of two, 512 to 65536"),
        (("--page-size", "256"), 2, "--page-size: 256 is out of range"),
        (("--journal", "wall"), 2, "give one of delete, truncate, persist"),
        (("--rows", "0"), 2, "--rows: 0 is out of range"),
        (("--update", "0"), 2, "give one of --select, --insert, --update, --delete"),
        (("--selects", "1,,2"), 2, "--selects"),
        (("--pattern", "both"), 2, "--pattern both is of --selects"),
        (("--prepare", "each"), 2, "--prepare each is of --selects"),
        (("--rows", "5", "--delete", "1", "--update", "0"), 1, "statement 6 finds no row"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = sqlbench(tmp_path, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_database_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    told(tmp_path)
    done = sqlbench(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is there already" in done.stderr


def planned(
    board: QemuBoard, fs: str, workload: dict[str, Any], mib: float = 16
) -> tuple[study.Study, TrialSpec]:
    part = "nandsim-small" if fs == "nftl-fat32" else "S34ML01G1"
    words = {
        "name": "t",
        "question": "q",
        "board": board.machine.model.name,
        "matrix": {
            "workloads": [{"name": "sqlbench", **workload}],
            "filesystems": [{"name": fs}],
            "chips": [{"part": part, "partition_mib": mib}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    made = study.Study.model_validate(words)
    (spec,) = study.plan_trials(made)
    return made, spec


def ran(board: QemuBoard, fs: str, workload: dict[str, Any], mib: float = 16) -> Trial:
    _, spec = planned(board, fs, workload, mib)
    return asyncio.run(execution.run_trial(spec, board, "t"))


JOURNALS: list[tuple[str, dict[str, Any]]] = [
    ("jffs2", {"journal": "wal", "locking": "exclusive"}),
    ("jffs2", {"journal": "truncate"}),
    ("ubifs", {"journal": "wal"}),
    ("ubifs", {"journal": "delete", "synchronous": "extra"}),
    ("yaffs2", {"journal": "persist"}),
    ("yaffs2", {"journal": "wal", "synchronous": "normal"}),
    ("ubifs", {"journal": "memory"}),
    ("jffs2", {"journal": "off", "synchronous": "off"}),
]
MAPS = [("jffs2", True), ("ubifs", False)]
"""File systems, and whether SQLite gets no map of its file there."""


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> dict[str, RecordedTrial]:
    """Those that want no fresh board, in one job."""
    words = {f"journal {i}": (fs, {"transactions": 40} | w) for i, (fs, w) in enumerate(JOURNALS)}
    select = {"name": "sqlselect", "selects": "10,100", "mmap_bytes": 1 << 24}
    words |= {f"map {fs}": (fs, select) for fs, _ in MAPS}
    once = {"name": "sqlselect", "selects": "10,100", "pattern": "sequential", "drop": "pages"}
    words |= {f"prepare {how}": ("yaffs2", once | {"prepare": how}) for how in ("once", "each")}
    words["speedtest1"] = ("jffs2", {"name": "speedtest1", "size": 1})
    return run_trials_at_once(board, {name: planned(board, *w)[1] for name, w in words.items()})


@pytest.mark.parametrize(("fs", "words"), JOURNALS)
def test_every_journal_commits_and_the_chip_counts_it(
    trials: dict[str, RecordedTrial], fs: str, words: dict[str, Any]
) -> None:
    trial = check_ended(trials[f"journal {JOURNALS.index((fs, words))}"])
    made = {"select": 0, "insert": 0, "update": 40, "delete": 0, "commit": 40, "transaction": 40}
    assert trial.operations == made
    assert trial.bytes == {"read": 0, "written": 40 * 364}
    assert trial.texts["journal_mode"] == words["journal"]
    assert [p.name for p in trial.phases] == ["create", "open", "run", "close"]
    create, _, run, close = trial.phases
    assert run.chip and close.chip and create.usage and run.usage and trial.per_block
    synced = words.get("synchronous") not in ("off", "normal")
    assert not synced or run.chip.programs >= 40
    timed = [p.chip.programs for p in trial.phases[1:] if p.chip]
    assert sum(timed) == sum(trial.per_block.programs)
    each = trial.figures["programs_per_commit"]
    assert each == pytest.approx((run.chip.programs + close.chip.programs) / 40)
    assert run.usage.idle_ns is not None and run.usage.bytes_written
    (setting,) = groups.group_trials_into_settings([trial])
    assert setting.headline(trial) == pytest.approx(40e9 / (run.ns or 0))
    commit = next(o for o in setting.words.operations if o.name == "commit")
    assert is_operation_durable(commit, trial) == synced


def test_two_runs_are_identical(board: QemuBoard) -> None:
    words = {"transactions": 20, "insert": 1, "delete": 1, "select": 1, "rows_per_commit": 3}
    first, second = (ran(board, "ubifs", words) for _ in range(2))
    assert first.ok
    assert first.model_dump(exclude={"host"}) == second.model_dump(exclude={"host"})


def test_a_full_disk_fails_the_trial_with_sqlite_s_code(board: QemuBoard) -> None:
    words = {"insert": 1, "update": 0, "rows_per_commit": 200, "transactions": 200, "text": 128}
    trial = ran(board, "jffs2", words, mib=4)
    assert trial.status == "trial_failed"
    assert "SQLITE_FULL, extended code 13" in (trial.error or "")
    assert "in transaction" in (trial.error or "")


@pytest.mark.parametrize(("fs", "refused"), MAPS)
def test_a_map_that_is_refused_is_a_doubt(
    trials: dict[str, RecordedTrial], fs: str, *, refused: bool
) -> None:
    trial = trials[f"map {fs}"].trial
    assert trial.ok
    assert trial.texts["mmap_size"] == ("0" if refused else str(1 << 24))
    assert ["mmap-refused" in d.text for d in trial.warnings] == [True] * refused
    phase = trial.phase("select_seq_100")
    assert phase and phase.chip and phase.chip.reads > 10
    assert phase.at == {"records": 100, "pattern": "sequential", "part": "select"}


def test_a_select_prepared_by_itself_costs_the_processor_alone(
    trials: dict[str, RecordedTrial],
) -> None:
    """Two runs that differ in nothing else: time is added as selects are, and no page is read."""
    once, each = (trials[f"prepare {how}"].trial for how in ("once", "each"))
    more = []
    for selects in (10, 100):
        phases = [t.phase(f"select_seq_{selects}") for t in (once, each)]
        first, second = (p for p in phases if p and p.chip and p.ns)
        assert first.chip and second.chip and first.chip.reads == second.chip.reads > 0
        assert first.operations == second.operations == {f"select_seq_{selects}": selects}
        more.append((second.ns or 0) - (first.ns or 0))
    assert more[0] > 0
    assert more[1] / more[0] == pytest.approx(10, rel=0.1)


def test_sqlite_s_own_benchmark_runs_unchanged(trials: dict[str, RecordedTrial]) -> None:
    trial = trials["speedtest1"].trial
    assert trial.error is None
    phase = trial.phase("run")
    assert phase and phase.chip and phase.chip.programs > 0


def test_a_run_tells_its_library_and_no_board_is_another_for_it(board: QemuBoard) -> None:
    made, spec = planned(board, "jffs2", {})
    run = make_run_head(made, [spec], board)
    (name,) = run.packages
    assert name == "library bookworm amd64 libsqlite3-dev"
    assert name not in run.provenance["lock"]
    plain, other = planned(board, "jffs2", {"name": "logger"})
    assert make_run_head(plain, [other], board).packages == {}
    assert make_run_head(plain, [other], board).board_id == run.board_id
    told = execution.collect_trial_provenance(spec, board)
    assert told["packages"] == run.packages
    assert set(told["programs"]) == {"sqlbench", "settle"}
