# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's figures file, published: what it holds, and when none is written."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from veryboard import (
    COMMIT,
    FULL,
    Place,
    placed,
    refused,
    ubifs_is_full,
    very_board,
)

from nandlab.base import gate
from nandlab.base.digest import digest_json_value
from nandlab.plan import study
from nandlab.results.figuresfile import FiguresFile, read_figures_file
from nandlab.trial import runner


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    return placed(tmp_path, monkeypatch, capsys)


def test_a_figures_file_tells_what_is_left_out_and_why(place: Place) -> None:
    place.elsewhere("full")
    place.ran(ubifs_is_full())
    ended = place.nandlab(very_board(), "publish", place.run.path, "-o", "file")
    head, reason, path = ended.out.splitlines()
    assert (ended.status, path) == (0, "file")
    assert head.startswith("2 of 4 trials failed ")
    assert reason.startswith("  2: trial_failed: ") and FULL in reason
    published = FiguresFile.model_validate_json(Path("file").read_bytes())
    assert published.text() == Path("file").read_text()
    trials = list(place.run.trials())
    assert [t.id for t in published.trials] == [t.id for t in trials if t.ok]
    assert [(t.id, t.error) for t in published.failed] == [
        (t.id, t.error) for t in trials if not t.ok
    ]
    told = json.loads(Path("file").read_text())
    told["failed"][0]["id"] = told["trials"][0]["id"]
    Path("twice").write_text(json.dumps(told))
    assert "each once" in refused(place.nandlab(very_board(), "reproduce", "twice"))


def test_the_same_run_gives_the_same_bytes_a_line_for_each_trial(place: Place) -> None:
    path = place.published()
    content = path.read_bytes()
    path.unlink()
    assert place.published().read_bytes() == content
    assert place.nandlab(very_board(), "reproduce", path, "--out", "again").status == 0
    other = place.folder / "other.json"
    assert place.nandlab(very_board(), "publish", "again", "-o", other).status == 0
    assert other.read_bytes() == content
    lines = content.decode().splitlines()
    for trial in place.run.head().trials:
        (line,) = (one for one in lines if one.startswith(f'{{"id":"{trial}"'))
        assert len(line) < 3000
    assert FiguresFile.model_validate_json(content).text().encode() == content


def test_a_packed_file_is_read_as_the_plain_one(place: Place) -> None:
    plain = place.published()
    packed = place.folder / "small.figures.json.xz"
    for _ in range(2):
        ended = place.nandlab(very_board(), "publish", place.run.path, "-o", packed)
        assert (ended.status, ended.out) == (0, f"{packed}\n")
        assert lzma.decompress(packed.read_bytes()) == plain.read_bytes()
    assert read_figures_file(packed) == read_figures_file(plain)
    assert place.nandlab(very_board(), "reproduce", packed).err.endswith(
        "no difference: 4 trials\n"
    )
    held = place.nandlab(very_board(), "check", "--run", place.run.path, "--against", packed)
    assert (held.status, held.out.partition(":")[0]) == (0, "No figure moved")
    packed.write_bytes(packed.read_bytes()[:-1])
    assert "not xz that nandlab reads" in refused(place.nandlab(very_board(), "reproduce", packed))


def test_a_figures_file_that_nobody_could_read_is_not_written(place: Place) -> None:
    place.monkeypatch.setattr(gate, "PACKED_VALUES_MAX", 100)
    for name in ("file", "file.xz"):
        said = refused(place.nandlab(very_board(), "publish", place.run.path, "-o", name))
        assert f"{name}: it has more than 100 values" in said
        assert not Path(name).exists()


def test_a_figures_file_that_cannot_be_written_is_told(place: Place) -> None:
    ended = place.nandlab(very_board(), "publish", place.run.path, "-o", "nowhere/file")
    assert "nowhere/file: cannot be written" in refused(ended)


@pytest.mark.parametrize("commit", [COMMIT, None, f"{COMMIT}-dirty"])
def test_publishing_what_no_commit_has_is_told(place: Place, commit: str | None) -> None:
    place.elsewhere("own")
    place.monkeypatch.setattr(runner, "find_commit", lambda: commit)
    place.ran(very_board())
    ended = place.nandlab(very_board(), "publish", place.run.path, "-o", "file")
    assert (ended.status, ended.out) == (0, "file\n")
    assert ("not of a commit alone" in ended.err) == (commit != COMMIT)
    other = very_board()
    other.made_of["kernel"] = "6.12"
    said = place.nandlab(other, "reproduce", "file").err
    told = {COMMIT: COMMIT, None: "does not tell its commit"}
    remedy = told.get(commit, "to which the run's checkout had changes")
    assert f"{remedy}; this is " in said


def test_a_head_tells_the_commit_and_it_is_no_part_of_its_id(place: Place) -> None:
    head = place.run.head()
    assert head.commit == COMMIT
    assert head.board_id == digest_json_value(head.provenance)[:12]
    place.monkeypatch.setattr(runner, "find_commit", lambda: "another")
    made = study.read_study_file(place.folder / "small.toml")
    other = runner.make_run_head(made, study.plan_trials(made), very_board())
    assert (other.id, other.commit) == (head.id, "another")
