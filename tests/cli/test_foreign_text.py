# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from elsewhere is shown, not executed: of runs, files, arguments; on streams of any kind."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from refusing import ended
from support import hostile, samples
from support.commandline import run_command

from nandlab.base.errors import UsageError
from nandlab.base.printable import make_lines_printable
from nandlab.catalog.files import validate_data
from nandlab.report.tables.sheets import FORMULA_STARTS, NUMBER_PATTERN
from nandlab.results.figuresfile import FiguresFile
from nandlab.results.folder import hash_provenance_content
from nandlab.results.record import Run, Trial
from nandlab.results.sources import find_provenance_model
from nandlab.trace.shapes import TraceMeta

HOSTILE = "=1+1 \x1b]0;pwn\x07\x1b[31m\nPWNED\r\x9b2J\u202e"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every text is hostile that may be: its models refuse the others."""
    path = tmp_path_factory.mktemp("foreign") / "run"
    trial = hostile.spoiled_throughout(hostile.whole_trial(), Trial, HOSTILE)
    head = hostile.spoiled_throughout(hostile.whole_run(), Run, HOSTILE)
    assert str(trial).count("PWNED") > 5
    hostile.write_run(path, run=head, trial=trial, sources=hostile.whole_sources())
    return path


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a figures file; its study and its board are sound, or its trials would be none."""
    sound = hostile.whole_figures()
    whole = hostile.spoiled_throughout({**sound, "sources": {}}, FiguresFile, HOSTILE)
    whole["run"] |= {name: sound["run"][name] for name in ("spec", "provenance")}
    whole["sources"] = {}
    for what, name in sound["trials"][0]["provenance"].items():
        source = hostile.spoiled_throughout(
            sound["sources"][name], find_provenance_model(what), HOSTILE
        )
        whole["sources"][hash_provenance_content(source)] = source
        whole["trials"][0]["provenance"][what] = hash_provenance_content(source)
    assert str(whole).count("PWNED") > 5
    path = tmp_path_factory.mktemp("foreign") / "figures.json"
    path.write_text(json.dumps(whole))
    return path


def harmless(text: str, folded: bool = False) -> bool:
    """Whether a text neither commands a terminal nor has a line that a field began.

    folded: it has cells that are folded anywhere.
    """
    begun = not folded and re.search("^PWNED", text, re.MULTILINE)
    return make_lines_printable(text) == text and not begun


@pytest.mark.parametrize("form", ["run", "figures"])
@pytest.mark.parametrize(
    "command",
    [
        "show RUN",
        "show RUN --format csv",
        "show RUN --format markdown",
        "show RUN --json",
        "show RUN --figure chip.*",
        "show RUN --figure chip.* --format csv",
        "compare RUN RUN",
        "advise RUN",
    ],
)
def test_no_field_of_a_run_commands_the_terminal(
    command: str, form: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    run = request.getfixturevalue(form)
    code = ended([str(run) if word == "RUN" else word for word in command.split()])
    out, err = capsys.readouterr()
    assert code in (0, 1, 2) and out + err
    assert harmless(out, folded=command == "show RUN") and harmless(err)
    if "csv" in command and code == 0:
        assert out and no_formula(out)


@pytest.mark.parametrize(
    ("model", "whole"),
    [
        (Trial, hostile.whole_trial),
        (Run, hostile.whole_run),
        (FiguresFile, hostile.whole_figures),
        (TraceMeta, hostile.whole_meta),
    ],
)
def test_a_refusal_of_a_hostile_field_is_harmless(
    model: type[BaseModel], whole: Callable[[], dict[str, Any]]
) -> None:
    """One field at a time, keys too. What is not refused is in the run of the tests above."""
    refused = 0
    for case in hostile.spoiled(whole(), ["title", "newline", "turned"]):
        try:
            validate_data(case.value, model, "here")
        except UsageError as e:
            refused += 1
            assert make_lines_printable(str(e)) == str(e), case.place
            assert all(line.startswith("here: ") for line in str(e).splitlines()), case.place
    assert refused > 10


def no_formula(text: str) -> bool:
    """Whether no cell of a CSV file begins one; numbers may have a sign."""
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    return not [
        c for c in cells if c.startswith(FORMULA_STARTS) and not NUMBER_PATTERN.fullmatch(c)
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("plan", f"{HOSTILE}.toml"),
        ("show", HOSTILE),
        ("image", "list", HOSTILE),
        ("model", "map", HOSTILE, "--file", HOSTILE),
        ("trace", "show", HOSTILE),
        ("workload", "from-fio", HOSTILE, "-o", "w.toml"),
        (HOSTILE,),
        ("plan", f"--{HOSTILE}"),
        ("run", "quickstart", "--jobs", HOSTILE),
        ("run", "quickstart", "--accel", HOSTILE),
        ("show", "a", HOSTILE),
        ("reprice", "nowhere", "--set", HOSTILE),
    ],
)
@pytest.mark.usefixtures("away")
def test_no_argument_commands_the_terminal(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err
    assert harmless(err)


@pytest.mark.usefixtures("away")
def test_no_key_and_no_option_of_a_file_commands_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = Path("s.toml")
    study.write_text('name = "s"\n"a\\u001b[31m\\nPWNED" = 1\n[matrix]\n"\\u0007" = "\\u009b"\n')
    assert ended(["plan", str(study)]) == 2
    jobs = Path("j.fio")
    jobs.write_text("[a\x1b[31m]\nb\x07=1\nrw=\x9b2J\n")
    assert ended(["workload", "from-fio", str(jobs), "-o", "w.toml"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) >= 4
    assert harmless(err)


def test_styles_reach_a_terminal_and_control_characters_do_not(run: Path) -> None:
    """Of help, of a refusal by the parser, and of a table."""
    for words in (["show", "--help"], ["show", "a", HOSTILE], ["show", str(run)]):
        ours, theirs = pty.openpty()
        nandlab(words, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # all of it was read
            os.close(ours)
        text = shown.decode()
        assert "\x1b[1m" in text
        assert harmless(re.sub(r"\x1b\[[0-9;]*m", "", text), folded=True)
        assert "\x1b[31mPWNED" not in text


def python(words: list[str], before: str = "", **more: object) -> subprocess.CompletedProcess[str]:
    """A start of Python; before: what its shell is to do with the streams."""
    command = ["sh", "-c", f'exec "$@" {before}', "sh", sys.executable, *words]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, text=True, timeout=100, check=False, **more
    )


def nandlab(words: list[str], before: str = "", **more: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return python(["-m", "nandlab", *words], before, **more)


ONE_AFTER_ANOTHER = """
import json, os, sys
import nandlab.__main__, nandlab.cli.main, typer._adapters
import nandlab.report.page.terminal, nandlab.trial.publishedrun
path, commands = sys.argv[1], json.loads(sys.argv[2])
statuses = []
for words in commands:
    if not os.fork():
        sys.argv = ["nandlab", *map(os.fsdecode, map(bytes.fromhex, words))]
        nandlab.__main__.main()
        os._exit(0)
    statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
with open(path, "w") as file:
    json.dump(statuses, file)
os._exit(0)
"""
"""Forks a process for each command; all have the streams that this one began with."""


def nandlabs(
    folder: Path, *commands: list[str], before: str = "", **more: object
) -> tuple[list[int], subprocess.CompletedProcess[str]]:
    """The exit statuses of commands of one start of Python, and what all of them wrote."""
    words = json.dumps([[os.fsencode(word).hex() for word in each] for each in commands])
    path = folder / "statuses"
    done = python(["-c", ONE_AFTER_ANOTHER, str(path), words], before, capture_output=True, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()), done


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nobody_who_reads(closed: str, whole: Path, tmp_path: Path) -> None:
    done = nandlab(["show", str(whole)], closed, capture_output=True)
    assert done.returncode == 0
    assert bool(done.stdout) is (not re.search("(^| )>&-", closed)) and done.stderr == ""
    made = tmp_path / "made.toml"
    writes = ["workload", "from-fio", fio(tmp_path), "-o", str(made)]
    statuses, done = nandlabs(tmp_path, ["show", "nowhere"], ["show"], writes, before=closed)
    assert statuses == [2, 2, 0] and "Traceback" not in done.stderr
    assert b"config" in made.read_bytes()


def fio(folder: Path) -> str:
    """A job file."""
    (folder / "j.fio").write_text("[a]\nrw=write\nsize=1M\nbs=4k\n")
    return str(folder / "j.fio")


@pytest.mark.parametrize("into", [">/dev/full", "2>/dev/full", ">/dev/full 2>&1"])
def test_streams_that_take_nothing_end_without_a_traceback(
    into: str, whole: Path, tmp_path: Path
) -> None:
    statuses, done = nandlabs(tmp_path, ["show", str(whole)], ["show", "nowhere"], before=into)
    assert statuses == [0 if into == "2>/dev/full" else 1, 2]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
)
def test_what_an_encoding_lacks_is_escaped(env: dict[str, str], tmp_path: Path) -> None:
    path = samples.folder(tmp_path / "run", question="wär's ≤ 日本?").path
    shows = ["show", str(path)], ["show", str(path), "--format", "markdown"]
    statuses, done = nandlabs(tmp_path, *shows, env={**os.environ, **env}, encoding="latin-1")
    assert statuses == [0, 0] and done.stderr == ""
    question = r"\\u2264 \\u65e5|≤ 日".encode().decode("latin-1")
    assert len(re.findall(question, done.stdout)) == len(shows)
    name = os.fsencode("\xe4\u2264") + b"\xff\x9b"
    done = nandlab(
        ["show", os.fsdecode(name)],
        capture_output=True,
        env={**os.environ, **env},
        encoding="latin-1",
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert r"\x9b" in done.stderr


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_umask_is_kept(umask: int, tmp_path: Path) -> None:
    made = tmp_path / "made.toml"
    first = f"os.umask({umask})"
    words = ["workload", "from-fio", fio(tmp_path), "-o", str(made)]
    assert run_command(*words, first=first).returncode == 0
    assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~umask
    run = samples.folder(tmp_path / "run", samples.study(1)).path
    assert run_command("report", run, first=first).returncode == 0
    folder, *files = (run / "report", *(run / "report").rglob("*"))
    assert files and stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~umask
    assert {stat.S_IMODE(f.stat().st_mode) for f in files if f.is_file()} == {0o666 & ~umask}
