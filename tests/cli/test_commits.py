# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab bisect`` and ``nandlab check --commits``, with a stand-in for the run of the study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusing import ended, refused
from support import planted
from support.fitting import fits

from nandlab.base.errors import SourceError, UsageError
from nandlab.base.paths import ROOT
from nandlab.board.jobs import programs
from nandlab.board.kit.partsource import parse_source_words
from nandlab.cli.commits import find_commit_sources, read_commits_study
from nandlab.cli.runsettings import RunSettings
from nandlab.history.commitruns import SourceFault
from nandlab.results.folder import RunFolder

STUDY = """
name = "watch"
question = "?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 20, transactions = 50 }]
filesystems = [{ name = "ubifs" }]
chips = [{ part = "apf27", partition_mib = 16 }]
states = [{ name = "fresh" }]
seeds = [1]
"""
BISECT = [
    *("bisect", "--good", "main~11", "--bad", "main", "--study", "watch.toml"),
    *("--figure", "chip.erases"),
]
SERIES = ["check", "watch.toml", "--commits", "main~9..main"]


@dataclass
class Study:
    """Runs the stand-in in place of a study, and keeps what each run was asked for."""

    runner: planted.Runner = field(default_factory=planted.Runner)
    trees: list[tuple[Path, frozenset[str]]] = field(default_factory=list)
    """The tree of each run, and the files that were there."""

    def run(self, how: RunSettings, part: Callable[..., Any]) -> RunFolder:
        (request,) = how.sources.values()
        tree, out = request.tree, how.out
        assert tree is not None
        assert out is not None
        files = frozenset(p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.is_file())
        self.trees.append((tree, files))
        try:
            planned = [SimpleNamespace(id=name) for name in planted.TRIALS]
            return self.runner(tree, out, [spec.id for spec in part(planned)])
        except SourceFault as e:
            raise SourceError(*e.lines) from None


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve commits of a kernel's tree, in a folder with a study; the eighth erases once more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "watch.toml").write_text(STUDY)
    commits: Sequence[dict[str, str]] = planted.series(12, {7: 241}, {})
    first = {"fs/ubifs/ubifs.h": "", "mm/slab.c": "", "Makefile": "VERSION = 6\n"}
    planted.plant(tmp_path / "linux", [first | commits[0], *commits[1:]])
    return tmp_path / "linux"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    stand_in = Study()

    def run(how: RunSettings, study: Any, part: Callable[..., Any]) -> RunFolder:
        del study
        return stand_in.run(how, part)

    monkeypatch.setattr(RunSettings, "run", run)
    return stand_in


@pytest.mark.parametrize("folder", ["linux", "linux/fs/ubifs"])
def test_the_commit_is_named(
    linux: Path, study: Study, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    assert ended([*BISECT, "--source", f"ubifs={folder}", "--format", "json"]) in (0, None)
    result = fits("bisect", capsys.readouterr().out)
    assert [c["subject"] for c in result["first_bad"]] == ["c7"]
    assert (result["before"]["value"], result["first_bad"][0]["value"]) == (240, 241)
    assert {"chip.erases", "chip.reads"} <= {change["figure"] for change in result["changes"]}
    assert {mark["mark"] for mark in result["steps"]} == {"good", "bad"}
    for tree, files in study.trees:
        assert not tree.is_relative_to(linux)
        assert not tree.exists(), "nothing is left of a commit's files"
        assert "mm/slab.c" not in files, "no more than the part is taken of a commit"
    (out,) = (linux.parent / "results" / "commits").iterdir()
    assert (out / "bisect.log").exists()


def test_the_text_names_commit_figure_and_what_moved(
    linux: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended([*BISECT, "--source", "ubifs=linux", "--progress", "plain"]) in (0, None)
    out, err = capsys.readouterr()
    sha = planted.git(linux, "rev-parse", "main~4")
    assert out.startswith(f"{sha} changed chip.erases")
    assert "241 (+1)" in out
    assert "phase.transactions.erases" in out
    assert err.count("bisect: step ") == len(study.runner.ran) - 2


def test_several_suspects_end_with_one(
    linux: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    del study
    commits = planted.series(12, {7: 241}, {6: "fault", 7: "fault"})
    planted.plant(linux, [{"fs/ubifs/ubifs.h": "", **commits[0]}, *commits[1:]], "faulty")
    words = [word.replace("main", "faulty") for word in BISECT]
    assert ended([*words, "--source", "ubifs=linux"]) == 1
    assert "gc.c:7: error" in capsys.readouterr().out


def test_a_series_is_a_table_with_a_chart(
    linux: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--source", "ubifs=linux", "--figure", "chip.erases", "--chart", "c.svg"]
    assert ended([*SERIES, *words, "--format", "json"]) == 1
    records = fits("commits", capsys.readouterr().out)
    own = [r for r in records if r["configuration"].startswith("UBIFS")]
    assert [r["median"] for r in own] == [240] * 5 + [241] * 5
    assert (linux.parent / "c.svg").read_text().startswith("<svg")
    ran = len(study.runner.ran)
    ends = [*SERIES[:-1], "main~9..main~5"]
    assert ended([*ends, *words[:2]]) in (0, None)
    assert len(study.runner.ran) == ran


@pytest.mark.parametrize(
    "words",
    [
        [*BISECT],
        [*BISECT, "--source", "ubifs=package"],
        [*BISECT, "--source", "ubifs=nowhere"],
        [*BISECT, "--source", "nothing=linux"],
        [*BISECT, "--source", "jffs2=linux"],
        [*BISECT, "--source", "ubifs=copy"],
        [*BISECT, "--source", "ubifs=linux", "--good", "nowhere"],
        [*BISECT, "--source", "ubifs=linux", "--good", "main", "--bad", "main~3"],
        [*BISECT, "--source", "ubifs=linux", "--study", "nowhere"],
        [*BISECT, "--source", "ubifs=linux", "--trial", "nowhere"],
        [*SERIES],
        [*SERIES, "--source", "ubifs=linux", "--commits", "main"],
        [*SERIES, "--source", "ubifs=linux", "--against", "quickstart"],
        [*SERIES, "--source", "ubifs=linux", "--run", "nowhere"],
        [*SERIES, "--source", "ubifs=linux", "--format", "junit"],
        [*SERIES, "--source", "ubifs=linux", "--chart", "c.gif"],
        ["check", "--commits", "main~9..main", "--source", "ubifs=linux"],
        ["check", "watch.toml", "--against", "quickstart", "--chart", "c.svg"],
    ],
    ids=" ".join,
)
def test_bad_input_is_refused(
    linux: Path, study: Study, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    copy = linux.parent / "copy" / "fs" / "ubifs"
    copy.mkdir(parents=True)
    (copy / "ubifs.h").touch()
    refused(capsys, words)
    assert study.trees == []


def test_an_edited_program_makes_other_runs(
    linux: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = parse_source_words([f"ubifs={linux}"], "--source")
    how = RunSettings(None, 1, "none", sources, False, False)
    commits = read_commits_study("watch.toml", None, how)
    before, builder = commits.identity(), commits.builder()
    assert read_commits_study("watch.toml", None, how).identity() == before
    program = tmp_path / "ffsmark"
    program.mkdir()
    (program / "ffsmark.c").write_text("int main(void) { return 1; }\n")
    monkeypatch.setattr(programs, "find_job_program_folders", lambda job: {"ffsmark": program})
    assert commits.identity() != before
    assert commits.builder() == builder


def test_an_edited_source_of_the_board_makes_other_runs(linux: Path, tmp_path: Path) -> None:
    """A part that is none of the commits', in a folder or patch that the board's file names."""
    part = tmp_path / "ours" / "fs" / "jffs2"
    part.mkdir(parents=True)
    (part / "nodelist.h").touch()
    (part / "build.c").write_text("int main;\n")
    (tmp_path / "fix.diff").write_text("--- a/fs/jffs2/none.c\n+++ b/fs/jffs2/none.c\n")
    boards = tmp_path / "catalog" / "boards"
    boards.mkdir(parents=True)
    board = (ROOT / "catalog" / "boards" / "apf27.toml").read_text()
    named = (
        '\n[source.jffs2]\ntree = "ours"\n\n[source.mtd]\ntree = "package"\npatch = ["fix.diff"]\n'
    )
    (boards / "ours.toml").write_text(board.replace('"apf27"', '"ours"', 1) + named)
    sources = parse_source_words([f"ubifs={linux}"], "--source")
    how = RunSettings(None, 1, "none", sources, False, False)
    seen = [read_commits_study("watch.toml", "apf27", how).identity()]
    for path in (None, part / "build.c", tmp_path / "fix.diff"):
        if path:
            path.write_text(path.read_text() + "\n")
        seen.append(read_commits_study("watch.toml", "ours", how).identity())
        assert read_commits_study("watch.toml", "ours", how).identity() == seen[-1]
    assert len(set(seen)) == 4


def test_the_headers_of_a_whole_tree_belong_to_the_sources(tmp_path: Path) -> None:
    """Though the checkout lacks them: another commit may have them."""
    planted.plant(tmp_path / "linux", [{"drivers/mtd/ubi/ubi.h": "1"}])
    whole = parse_source_words([f"ubi={tmp_path / 'linux'}"], "--source")
    alone = parse_source_words([f"ubi={tmp_path / 'linux/drivers/mtd/ubi'}"], "--source")
    headers = ("include/linux/mtd/ubi.h", "include/uapi/mtd/ubi-user.h")
    for sources, more in ((whole, headers), (alone, ())):
        how = RunSettings(None, 1, "none", sources, False, False)
        assert find_commit_sources(how).paths == ("drivers/mtd/ubi", *more)


def test_a_part_that_is_a_link_out_of_the_git_tree_is_refused(tmp_path: Path) -> None:
    planted.plant(tmp_path / "linux", [{"README": "1"}])
    (tmp_path / "ubifs").mkdir()
    (tmp_path / "ubifs/ubifs.h").write_text("1")
    (tmp_path / "linux/fs").mkdir()
    (tmp_path / "linux/fs/ubifs").symlink_to(tmp_path / "ubifs")
    sources = parse_source_words([f"ubifs={tmp_path / 'linux'}"], "--source")
    with pytest.raises(UsageError, match="not in the git tree"):
        find_commit_sources(RunSettings(None, 1, "none", sources, False, False))
