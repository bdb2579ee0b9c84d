# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from elsewhere is shown, not executed: of runs, files, arguments; on streams of any kind."""

from __future__ import annotations

import csv
import io
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import samples
from refusing import ended

from nandlab.base.printable import printable_lines
from nandlab.report.sheets import FORMULAS, NUMBER
from nandlab.results.record import Trial

HOSTILE = "=1+1 \x1b]0;pwn\x07\x1b[31m\nPWNED\r\x9b2J\u202e"


def hostile_trials() -> list[Trial]:
    """Trials whose texts are hostile, each where a run has one."""
    good = samples.trial()
    chip = good.chip.model_copy(update={"part": HOSTILE})
    state = good.state.model_copy(update={"name": HOSTILE})
    failed = samples.failed()
    lost = samples.board_lost()
    return [
        good.model_copy(update={"options": {"compr": HOSTILE}, "texts": {"gave_up": HOSTILE}}),
        good.model_copy(update={"id": "b", "chip": chip}),
        good.model_copy(update={"id": "c", "state": state}),
        good.model_copy(update={"id": "d", "workload": HOSTILE}),
        good.model_copy(update={"id": "e", "parameters": {"payload": HOSTILE}}),
        failed.model_copy(update={"error": HOSTILE}),
        lost.model_copy(update={"error": HOSTILE, "console_tail": [HOSTILE]}),
    ]


def hostile_phases() -> list[Trial]:
    """A trial whose phases have hostile names: it has none of the usual figures."""
    good = samples.trial()
    phases = [p.model_copy(update={"name": f"{HOSTILE}{i}"}) for i, p in enumerate(good.phases)]
    return [good.model_copy(update={"phases": phases})]


@pytest.fixture(scope="module", params=[hostile_trials, hostile_phases])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "run"
    return samples.folder(path, request.param(), question=HOSTILE, commit=HOSTILE).path


def harmless(text: str, folded: bool = False) -> bool:
    """Whether a text neither commands a terminal nor has a line that a field began.

    folded: it has cells that are folded anywhere.
    """
    begun = not folded and re.search("^PWNED", text, re.MULTILINE)
    return printable_lines(text) == text and not begun


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
    command: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = ended([str(run) if word == "RUN" else word for word in command.split()])
    out, err = capsys.readouterr()
    assert code in (0, 1, 2) and out + err
    assert harmless(out, folded=command == "show RUN") and harmless(err)
    if "csv" in command and code == 0:
        cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
        assert cells
        assert [c for c in cells if c.startswith(FORMULAS) and not NUMBER.fullmatch(c)] == []


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


def nandlab(words: list[str], before: str = "", **more: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; before: what its shell is to do with the streams."""
    command = ["sh", "-c", f'exec "$@" {before}', "sh", sys.executable, "-m", "nandlab", *words]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, text=True, timeout=100, check=False, **more
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nobody_who_reads(closed: str, whole: Path, tmp_path: Path) -> None:
    done = nandlab(["show", str(whole)], closed, capture_output=True)
    assert done.returncode == 0
    assert bool(done.stdout) is (not re.search("(^| )>&-", closed)) and done.stderr == ""
    refused = nandlab(["show", "nowhere"], closed, capture_output=True)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert nandlab(["show"], closed, capture_output=True).returncode == 2
    made = tmp_path / "made.toml"
    done = nandlab(["workload", "from-fio", fio(tmp_path), "-o", str(made)], closed)
    assert done.returncode == 0 and b"config" in made.read_bytes()


def fio(folder: Path) -> str:
    """A job file."""
    (folder / "j.fio").write_text("[a]\nrw=write\nsize=1M\nbs=4k\n")
    return str(folder / "j.fio")


@pytest.mark.parametrize("into", [">/dev/full", "2>/dev/full", ">/dev/full 2>&1"])
def test_streams_that_take_nothing_end_without_a_traceback(into: str, whole: Path) -> None:
    done = nandlab(["show", str(whole)], into, capture_output=True)
    assert done.returncode == (0 if into == "2>/dev/full" else 1)
    assert "Traceback" not in done.stderr
    assert nandlab(["show", "nowhere"], into, capture_output=True).returncode == 2


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
    for words in (["show", str(path)], ["show", str(path), "--format", "markdown"]):
        done = nandlab(words, capture_output=True, env={**os.environ, **env}, encoding="latin-1")
        assert done.returncode == 0 and done.stderr == ""
        assert re.search(r"\\u2264 \\u65e5|≤ 日".encode().decode("latin-1"), done.stdout)
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
    words = ["workload", "from-fio", fio(tmp_path), "-o", str(made)]
    assert nandlab(words, umask=umask).returncode == 0
    assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~umask
    run = samples.folder(tmp_path / "run", samples.study(1)).path
    assert nandlab(["report", str(run)], umask=umask).returncode == 0
    folder, *files = (run / "report", *(run / "report").rglob("*"))
    assert files and stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~umask
    assert {stat.S_IMODE(f.stat().st_mode) for f in files if f.is_file()} == {0o666 & ~umask}
