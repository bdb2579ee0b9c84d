# SPDX-License-Identifier: GPL-2.0-or-later
"""nandlab model board: its words and its JSON agree, and each mistake is one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import boardmade as made
from support.boardmade import Flash, closed, opened, read, written
from support.fitting import fits

from nandlab.cli.main import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    calls = [opened(), *(read(at * 1024, 1024) for at in range(103)), closed()]
    flash = Flash()
    for pages in (9, 20, 33):
        flash.burst(pages)
    flash.erase(4)
    traced = made.functions([[18] * 4, [20] * 8, [19] * 14])
    return made.write(tmp_path / "load", [made.syscalls(calls)] * 2, [traced] * 2, [flash.rows])


def nandlab(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["nandlab", "model", "board", *map(str, words)])
    try:
        main()
    except SystemExit as e:
        return int(e.code or 0)
    return 0


def test_words_and_json_tell_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nandlab(monkeypatch, folder.parent, "--json") == 0
    (found,) = fits("model-board", capsys.readouterr().out)["loads"]
    assert nandlab(monkeypatch, folder) == 0
    words = capsys.readouterr().out
    assert f"fitted: {found['burst_times']['fitted']}, on made_1.csv" in words
    assert "made_2.csv: foretold 26, traced 26, burst by burst" in words
    assert "made_1.csv: 1 erases, 64 reads foretold, 64 traced" in words
    for score in ("read_calls", "burst_times", "page_times", "collector"):
        assert all(f"not known: {what}" in words for what in found[score]["not_known"])


def test_files_may_have_any_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(b"a\x1b\xff\nload")
    folder.rename(folder.parent / name)
    assert nandlab(monkeypatch, folder.parent / name, "--json") == 0
    (found,) = fits("model-board", capsys.readouterr().out)["loads"]
    assert found["load"] == name


def test_a_load_that_writes_is_scored_as_far_as_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = made.syscalls([opened(), written(0, 100), closed()])
    traced = made.functions([[3]], "jffs2_write_begin")
    made.write(tmp_path / "load", [calls], [traced], [["1;R;7;load"]])
    assert nandlab(monkeypatch, tmp_path, "--json") == 0
    (found,) = fits("model-board", capsys.readouterr().out)["loads"]
    assert found["burst_times"].keys() == found["collector"].keys() == {"not_scored"}
    assert found["page_times"]["kinds"]["R"]["us"] is None
    (run,) = found["read_calls"]["runs"]
    assert (run["writes_foretold"], run["writes_traced"]) == (1, 1)


def test_each_mistake_is_one_line_and_exit_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "flashmon" / "made_1.csv"
    good = file.read_text()
    for text in ("", "0.5;R;7\n", "0.5;R;x;a\n", "0.5;R;7;a\n0.4;R;7;a\n", "PK\x03\x04"):
        file.write_text(text)
        assert nandlab(monkeypatch, folder) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.count("\n") == 1
        assert str(file) in told.err
    file.write_text(good)
    assert nandlab(monkeypatch, folder / "none") == 2
    assert capsys.readouterr().err.count("\n") == 1
    file.unlink()
    assert nandlab(monkeypatch, folder) == 2
    assert "flashmon: no CSV file" in capsys.readouterr().err
