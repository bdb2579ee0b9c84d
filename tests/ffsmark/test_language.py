# SPDX-License-Identifier: GPL-2.0-or-later
"""The command language and its mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffsmark.running import commands, run


def test_what_show_prints_gives_the_same_settings(ffsmark: Path, work: Path) -> None:
    text = commands(
        work, location=f"+{work}/x 4", size="3 77", seed=9, bias_read=-1, fill_creation_valid=12.5
    ).replace("run", "show")
    shown = run(ffsmark, text).out
    assert run(ffsmark, shown + "show\n").out == shown
    assert "set fill creation valid 12.5" in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frobnicate", "unknown command"),
        ("runx", "unknown command"),
        ("set frob 3", "no such setting"),
        ("set number", "a value is missing"),
        ("set number 0", "out of range"),
        ("set number 10x", "not a whole number"),
        ("set number -4", "not a whole number"),
        ("set number 99999999999999999999999", "out of range"),
        ("set size 500 400", "below the low one"),
        ("set size 500 400 300", "not a whole number"),
        ("set bias read 11", "out of range"),
        ("set bias read -2", "out of range"),
        ("set buffering yes", "neither 'true' nor 'false'"),
        ("set report long", "none of verbose|terse"),
        ("set fill creation valid 101", "out of range"),
        ("set fill creation valid 100", "below 100"),
        ("set fill creation valid nan", "not a number"),
        ("set fill mix 1.5", "out of range"),
        ("set compressibility -0.1", "out of range"),
        ("set location /a b", "not a whole number"),
        ("set location -/nowhere", "not in the list"),
        ("load /nowhere", "open the commands"),
        ("load", "name is missing"),
        ("!ls", "unknown command"),
    ],
)
def test_mistakes_are_told_with_their_place(
    ffsmark: Path, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "conf"
    file.write_text(f"# a comment\n\n  set   number\t10 \r\n{line}\nrun\n")
    done = run(ffsmark, "", str(file))
    assert done.code == 2
    assert message in done.err
    assert f"{file}:4: " in done.err or "load /" in line
    assert done.out == ""


def test_mistakes_on_the_command_line(ffsmark: Path, tmp_path: Path) -> None:
    assert run(ffsmark, "", "--frob").code == 2
    assert run(ffsmark, "", "--flash").code == 2
    assert run(ffsmark, "", "--json=3").code == 2
    assert run(ffsmark, "", str(tmp_path / "none")).code == 2
    assert "nothing was run" in run(ffsmark, "show\n", "--json").err
    assert "--drop-file" in run(ffsmark, "", "--help").out
    loop = tmp_path / "loop"
    loop.write_text(f"load {loop}\n")
    assert "load itself" in run(ffsmark, "", str(loop)).err


def test_commands_from_everywhere(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    file = tmp_path / "conf"
    file.write_text(f"set location {work}\nset number 11")  # no newline at the end
    done = run(
        ffsmark,
        "set seed 5\n",
        "--command=set number 12",
        str(file),
        "--json",
        "-",
        "--command",
        "run",
    )
    config = done.result["config"]
    assert (config["number"], config["seed"]) == (11, 5)
