# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: its exit statuses, its errors, and what goes to which stream."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import samples
from support.commandline import run_command as nandlab
from support.fitting import fits

from nandlab.base.paths import STUDIES
from nandlab.cli.main import main
from nandlab.plan.study import read_study_file


def test_no_arguments_teach() -> None:
    done = nandlab()
    for verb in (
        "plan",
        "run",
        "show",
        "report",
        "compare",
        "check",
        "reproduce",
        "publish",
        "doctor",
        "board",
        "workload",
    ):
        assert verb in done.stdout


def test_plan_lists_ids_and_titles() -> None:
    done = nandlab("plan", "quickstart")
    assert done.returncode == 0
    ids = [line.split()[0] for line in done.stdout.splitlines()]
    assert len(ids) == len(set(ids)) > 0


def test_plan_alone_lists_the_shipped_studies() -> None:
    done = nandlab("plan")
    assert done.returncode == 0
    named = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(named) == sorted(path.stem for path in STUDIES.glob("*.toml"))
    question = read_study_file(STUDIES / "quickstart.toml").question
    assert named["quickstart"] == question


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["plan", "nowhere"], "nowhere: no such file, nor a study of nandlab (bit-rot, "),
        (["plan", "nowhere.toml"], "nowhere.toml: no such file"),
        (["show", "nowhere"], "nowhere: no run's folder or figures file"),
        (["report", "nowhere"], "nowhere: no run's folder or figures file"),
        (["compare", "nowhere", "nowhere"], "nowhere: no run's folder or figures file"),
        (["publish", "nowhere", "-o", "nowhere"], "nowhere: not a run of nandlab"),
        (["reproduce", "nowhere"], "nowhere: no run's folder or figures file"),
        (["run", "quickstart", "--jobs", "0"], "--jobs"),
        (["run", "quickstart", "--accel", "warp"], "--accel"),
        (
            ["board", "shell", "--board", "pdp11"],
            "no 'pdp11' in catalog/boards; there are: ",
        ),
        (["fly"], "No such command"),
    ],
)
def test_what_was_asked_wrongly_is_told_and_exits_2(argv: list[str], said: str) -> None:
    done = nandlab(*argv)
    assert done.returncode == 2
    assert said in done.stderr
    assert not Path("nowhere").exists()
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_bad_study_runs_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    study = tmp_path / "bad.toml"
    study.write_text('name = "bad"\nqueston = "?"\n')
    out = tmp_path / "out"
    done = nandlab("run", study, "--out", out)
    assert done.returncode == 2
    for place in ("queston", "question", "board", "matrix"):
        assert f"{study}: {place}: " in done.stderr
    assert not out.exists()


def test_compare_exits_1_on_a_single_nanosecond(tmp_path: Path) -> None:
    a, b = (samples.folder(tmp_path / name, samples.study()) for name in "ab")
    assert nandlab("compare", a.path, b.path).returncode == 0
    trial = next(t for t in b.trials() if t.phases)
    path = b.trial_path(trial.id)
    old = trial.phases[2].ns
    assert old is not None
    samples.rewrite(path, lambda text: text.replace(str(old), str(old + 1), 1))
    done = nandlab("compare", a.path, b.path)
    assert done.returncode == 1
    assert "phases.transactions.ns" in done.stdout
    assert str(old + 1) in done.stdout
    (row,) = (r for r in done.stdout.splitlines() if r.startswith("phase.transactions "))
    assert row.endswith("yes  1 of 5")
    rows = list(
        csv.DictReader(nandlab("compare", a.path, b.path, "--format", "csv").stdout.splitlines())
    )
    (moved,) = (row for row in rows if row["figure"] == "phase.transactions")
    assert (moved["trials_moved"], moved["trials"]) == ("1", "5")


def test_a_run_is_taken_away_as_markdown_csv_and_json(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study())
    page = nandlab("show", run.path, "--format", "markdown").stdout
    assert page.startswith(f"{run.head().question}\n")
    assert "\n### ffsmark on " in page
    assert len([line for line in page.splitlines() if line.startswith("| UBIFS, ")]) == 2
    rows = list(csv.DictReader(nandlab("show", run.path, "--format", "csv").stdout.splitlines()))
    (row,) = (
        r for r in rows if (r["configuration"], r["figure"]) == ("UBIFS, aged", "chip.erases")
    )
    assert row["trials"] == "5"
    assert int(row["min"]) < int(row["median"]) < int(row["max"])
    listed = fits("show", nandlab("show", run.path, "--format", "json").stdout)
    assert listed == json.loads(nandlab("show", run.path, "--json").stdout)
    assert len(listed) == len(list(run.trials()))


def test_a_folder_of_another_study_is_refused_before_the_board_is_prepared(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study(1))
    done = nandlab("run", "quickstart", "--out", run.path)
    assert done.returncode == 2
    assert f"{run.path} holds another run ({run.head().id}); " in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_figure_is_a_number_a_configuration(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study())
    done = nandlab("show", run.path, "--figure", "append.p99")
    _, head, *lines = done.stdout.splitlines()
    assert (done.returncode, head.split()[:2]) == (0, ["configuration", "latency.append.p99,"])
    assert len(lines) == 6
    records = fits(
        "show-figures",
        nandlab("show", run.path, "--figure", "append.p99", "--format", "json").stdout,
    )
    for line, record in zip(lines, records, strict=True):
        assert line.startswith(record["configuration"])
        assert f"  {record['median']:,}  " in line
    page = nandlab("show", run.path, "--figure", "append.p99", "--format", "markdown").stdout
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 8
    done = nandlab("show", run.path, "--figure", "apend.p99")
    assert (done.returncode, done.stdout) == (2, "")
    assert "figure 'apend.p99'; nearest: latency.append.p99" in done.stderr


def test_several_figures_are_a_table_with_a_row_for_each(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study())
    done = nandlab("show", run.path, "--figure", "chip.*", "--format", "markdown")
    heads = [line for line in done.stdout.splitlines() if line.startswith("| configuration")]
    assert heads == ["| configuration | figure | median | range | n |"]
    told = list(
        csv.DictReader(
            io.StringIO(nandlab("show", run.path, "--figure", "chip.*", "--format", "csv").stdout)
        )
    )
    rows = [line.split(" | ") for line in done.stdout.splitlines() if " | chip." in line]
    assert [(row[0].removeprefix("| "), row[1]) for row in rows] == [
        (one["configuration"], one["figure"]) for one in told
    ]
    assert len({one["figure"] for one in told}) > 2


def test_compare_tells_that_no_trial_is_in_both_runs(tmp_path: Path) -> None:
    a = samples.folder(tmp_path / "a", samples.study()[:3])
    b = samples.folder(tmp_path / "b", samples.study()[3:6])
    done = nandlab("compare", a.path, b.path)
    assert done.returncode == 1
    assert "no trial is in both runs" in done.stderr


def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*words: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/there/file")

    monkeypatch.setattr("nandlab.board.kit.exchange.import_board_file", full)
    monkeypatch.setattr(sys, "argv", ["nandlab", "board", "import", "x.board"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nandlab: /there/file: No space left on ")


def test_a_signal_to_end_cleans_up_as_an_interruption_does(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; import nandlab.cli.main as m\n"
        "from nandlab.base.cache import make_entry\n"
        "def make(work):\n"
        "    (work / 'half').touch(); print('made', flush=True); time.sleep(60)\n"
        "m.make_parser = lambda: lambda **_: make_entry('things', {}, make)\n"
        "m.main()\n"
    )
    env = {**os.environ, "NANDLAB_CACHE": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "made\n"
        it.terminate()
        assert it.wait(30) == 128 + 15
    assert [p.name for p in (tmp_path / "things").iterdir() if p.is_dir()] == []


def test_an_interruption_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nandlab.board.kit.exchange.import_board_file", interrupt)
    monkeypatch.setattr(sys, "argv", ["nandlab", "board", "import", "x.board"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.endswith("nandlab: interrupted\n")
