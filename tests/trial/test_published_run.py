# SPDX-License-Identifier: GPL-2.0-or-later
"""A figures file is shown as its run is, without a board."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_check import erases_once_more
from veryboard import Place, made_older, placed, refused, ubifs_is_full, very_board

from nandlab.analysis.figures.figurenames import list_figure_names_of_trials
from nandlab.analysis.figures.workloadwords import make_workload_words_for_trials
from nandlab.analysis.verdicts import wearsteadiness
from nandlab.results.figuresfile import (
    FiguresFile,
    find_shipped_figures_files,
    read_figures_file,
)
from nandlab.results.folder import hash_provenance_content
from nandlab.trial.publishedrun import MISSING_NOTE, OLD_FILE_NOTE, PublishedRun

STUDY = "small.toml"


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    return placed(tmp_path, monkeypatch, capsys)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_it_shows_every_figure_that_the_run_shows(place: Place) -> None:
    file, board = place.published(), very_board()
    of_run = place.nandlab(board, "show", place.run.path, "--format", "csv")
    of_file = place.nandlab(board, "show", file, "--format", "csv")
    assert (of_run.status, of_file.status) == (0, 0)
    here, there = rows(of_file.out), rows(of_run.out)
    assert {r["figure"] for r in here} >= {"phase.transactions", "latency.create.p99", "chip.reads"}
    assert here == [r for r in there if r in here]
    lost = {r["figure"].partition(".")[0] for r in there if r not in here}
    assert lost <= {"state", "blocks"}
    assert board.jobs == []


def test_it_tells_what_a_file_has_not(place: Place) -> None:
    file, board = place.published(), very_board()
    assert MISSING_NOTE in " ".join(
        place.nandlab(board, "show", file, "--format", "markdown").out.split()
    )
    assert (
        MISSING_NOTE not in place.nandlab(board, "show", place.run.path, "--format", "markdown").out
    )
    assert PublishedRun(file).notes == (MISSING_NOTE,)


def test_what_is_to_be_tried_next_names_the_study_and_no_file(place: Place) -> None:
    file = place.published()
    assert PublishedRun(file).naming().run == "small"
    assert place.run.naming().run == str(place.run.path)
    told = " ".join(place.nandlab(very_board(), "show", file).out.split())
    assert str(file) not in told


def test_doubts_and_what_trials_ran_with_are_the_runs(place: Place) -> None:
    found = PublishedRun(place.published())
    for trial in place.run.trials():
        again = found.load(trial.id)
        assert again is not None
        assert again.warnings == trial.warnings
        assert again.image == trial.image
        assert again.provenance == trial.provenance
        assert again.sources == trial.sources
        assert (again.options, again.chip, again.seed) == (trial.options, trial.chip, trial.seed)


def test_packages_that_a_trial_ran_with_are_named_by_their_set(
    place: Place, tmp_path: Path
) -> None:
    """As those of SQLite's library: a set's name is several words."""
    found = read_figures_file(place.published())
    packages = {"library bookworm amd64 libsqlite3-dev": {"libsqlite3-dev_3_amd64.deb": "0" * 64}}
    name = hash_provenance_content(packages)
    trials = [
        t.model_copy(update={"provenance": {**t.provenance, "packages": name}})
        for t in found.trials
    ]
    sources = {**found.sources, name: packages}
    whole = FiguresFile(run=found.run, trials=trials, failed=found.failed, sources=sources)
    (tmp_path / "again.json").write_text(whole.text())
    again = read_figures_file(tmp_path / "again.json")
    assert again.find_trial_sources(again.trials[0])["packages"] == packages


def test_a_trial_that_failed_is_told_as_such(place: Place) -> None:
    place.elsewhere("full")
    place.ran(ubifs_is_full())
    found = PublishedRun(place.published())
    ends = {t.id: (t.status, t.error) for t in found.trials()}
    assert ends == {t.id: (t.status, t.error) for t in place.run.trials()}
    assert found.missing() == []


def test_an_older_file_is_told_with_the_catalog_of_today(place: Place) -> None:
    file = place.published()
    made_older(file)
    found = PublishedRun(file)
    assert found.notes == (MISSING_NOTE, OLD_FILE_NOTE)
    trial = next(found.trials())
    assert (trial.filesystem_title, trial.provenance) == ("JFFS2", {})
    assert list_figure_names_of_trials([trial], make_workload_words_for_trials([trial]))
    compared = place.nandlab(very_board(), "compare", file, place.run.path)
    assert compared.status == 0, compared


def test_a_report_of_it_is_written_below_results(place: Place) -> None:
    file = place.published()
    ended = place.nandlab(very_board(), "report", file)
    assert (ended.status, ended.out) == (0, "results/published/small/report/index.html\n")
    page = Path(ended.out.strip()).read_text()
    assert place.run.head().trials[0] in page
    assert "/trials/" not in page
    ended = place.nandlab(very_board(), "report", file, "--out", "there")
    assert (ended.status, ended.out) == (0, "there/index.html\n")


def test_a_file_and_its_run_do_not_differ(place: Place) -> None:
    file, board = place.published(), very_board()
    for pair in ((file, place.run.path), (place.run.path, file), (file, file)):
        ended = place.nandlab(board, "compare", *pair)
        assert (ended.status, ended.out) == (0, ""), pair
    ended = place.nandlab(board, "compare", file, place.run.path, "--brief")
    same = "No figure moved: all trials (4) are the same, to the nanosecond.\n"
    assert (ended.status, ended.out) == (0, same)


def test_what_moved_is_told_from_either_side(place: Place) -> None:
    file = place.published()
    place.elsewhere("more")
    place.ran(erases_once_more())
    ended = place.nandlab(very_board(), "compare", file, place.run.path)
    assert ended.status == 1
    board, summary = ended.out.splitlines()[:2]
    assert board == "other parts of the board: parts.ubifs.ko"
    assert summary == "Figures of 1 of 2 configurations moved."
    moved = place.nandlab(very_board(), "compare", file, place.run.path, "--format", "json")
    found = {r["figure"]: (r["before"], r["now"]) for r in json.loads(moved.out)}
    assert found == {"chip.erases": (18, 19), "phase.transactions.erases": (6, 7)}
    back = place.nandlab(very_board(), "compare", place.run.path, file, "--format", "json")
    assert {r["figure"]: r["now"] for r in json.loads(back.out)} == {
        k: v[0] for k, v in found.items()
    }
    brief = place.nandlab(very_board(), "compare", file, place.run.path, "--brief")
    (line,) = brief.out.splitlines()[2:]
    where, change = line.split(": ")
    assert where == "UBIFS, aged, ffsmark on apf27, 8 MiB"
    assert change == "2 figures moved; phase.transactions the same"


def test_what_no_figure_tells_is_seen_by_the_hash(place: Place) -> None:
    file = place.published()
    told = json.loads(file.read_text())
    told["trials"][0]["sha256"] = "0" * 64
    file.write_text(json.dumps(told))
    ended = place.nandlab(very_board(), "compare", file, place.run.path, "--format", "json")
    assert ended.status == 1
    assert [r["figure"] for r in json.loads(ended.out)] == ["other"]


Change = Callable[[dict[str, Any]], object]


def renamed(told: dict[str, Any]) -> None:
    """Gives a trial another id, which no study of today has."""
    other = "jffs2-aged-0000000000"
    told["trials"][0]["id"] = told["run"]["trials"][0] = other


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["sources"].popitem(), "is missing"),
        (lambda t: next(iter(t["sources"].values())).update(x=1), "it is not as it was written"),
        (renamed, "its study gives no trial jffs2-aged-0000000000"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(place: Place, change: Change, said: str) -> None:
    path = place.published()
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    line = refused(place.nandlab(very_board(), "show", path))
    assert line.startswith(f"nandlab: {path}: ")
    assert said in line


def test_a_published_study_is_found_by_its_name_unless_a_run_has_it(place: Place) -> None:
    there = place.nandlab(
        very_board(), "show", "quickstart", "--figure", "chip.erases", "--format", "csv"
    )
    assert there.status == 0
    assert {r["trials"] for r in rows(there.out)} == {"2"}
    place.run.path.rename("quickstart")
    here = place.nandlab(
        very_board(), "show", "quickstart", "--figure", "chip.erases", "--format", "csv"
    )
    assert {r["workload"] for r in rows(here.out)} == {"ffsmark"}
    assert len(rows(here.out)) == 2
    Path("boot-2026").mkdir()
    assert place.nandlab(very_board(), "show", "boot-2026", "--figure", "chip.reads").status == 0
    near = refused(place.nandlab(very_board(), "show", "quickstrat"))
    assert near.endswith("nearest: quickstart")


def test_the_demo_s_published_answer_fits_a_screen_and_its_wear_is_known(place: Place) -> None:
    told = place.nandlab(very_board(), "advise", "quickstart")
    lines = told.out.splitlines()
    assert told.status == 0
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    trials = [*PublishedRun(find_shipped_figures_files()["quickstart"]).trials()]
    assert {t.filesystem for t in trials} == {"jffs2", "ubifs", "yaffs2", "nftl-fat32"}
    assert all(t.ok for t in trials)
    assert wearsteadiness.find_least_steady_wear(trials) is None


@pytest.mark.parametrize("study", ["quickstart", "boot-2026", "thesis-2007-ram"])
def test_a_shipped_file_is_read_whole(study: str) -> None:
    found = PublishedRun(find_shipped_figures_files()[study])
    head = found.head()
    trials = list(found.trials())
    assert [t.id for t in trials] == [i for i in head.trials if i not in found.missing()]
    assert len({t.configuration() for t in trials}) > 1
    assert all(t.find_source("board") == head.provenance for t in trials)
