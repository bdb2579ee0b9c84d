# SPDX-License-Identifier: GPL-2.0-or-later
"""How verbs run a study on the commits of a git tree: one function from files to a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nandlab import __version__
from nandlab.base.errors import SourceError, UsageError
from nandlab.base.printer import print_note, print_text
from nandlab.cli.arguments import QUIET_STYLES
from nandlab.cli.chartfile import refuse_unknown_chart_suffix, write_chart

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.cli.runsettings import RunSettings
    from nandlab.history.commitruns import CommitRuns
    from nandlab.history.gittree import Commit, GitTree
    from nandlab.plan.study import Study
    from nandlab.plan.trialspec import TrialSpec
    from nandlab.results.folder import RunFolder

SOURCE_OPTION = "--source"
FOLDER = "commits"
"""The folder below results/ that has the runs of commits."""
ID_LETTERS = 12


@dataclass(frozen=True)
class CommitSources:
    """The sources of a study that lie in a git tree."""

    tree: GitTree
    folders: Mapping[str, str]
    """By part: the folder that --source names, from the tree's top."""
    paths: tuple[str, ...]
    """What is taken of a commit, from there too."""


@dataclass(frozen=True)
class CommitsStudy:
    """A study that is run on commits, and how."""

    study: Study
    run_settings: RunSettings
    sources: CommitSources

    def run_commit(self, top: Path, out: Path, trials: Sequence[str]) -> RunFolder:
        """Runs the study with the files of a commit; see history.commitruns.RunSources."""
        from nandlab.history.commitruns import SourceFault

        def part(specs: Sequence[TrialSpec]) -> Sequence[TrialSpec]:
            return [spec for spec in specs if not trials or spec.id in trials]

        requests = dict(self.run_settings.sources)
        for name, folder in self.sources.folders.items():
            requests[name] = replace(requests[name], tree=top / folder)
        try:
            return replace(self.run_settings, out=out, sources=requests).run(self.study, part)
        except SourceError as e:
            raise SourceFault(*e.lines) from None

    def identity(self) -> str:
        """The hash of what decides a commit's run beside its files and the board.

        The study's programs are part of it: runs with an edited one are runs of another study.
        """
        from nandlab.base.digest import digest_json_value
        from nandlab.catalog.noun import dump_noun_identity

        requests = {
            name: _digest_source_request(request, with_files=name not in self.sources.folders)
            for name, request in self._find_sources().items()
        }
        places = [dict(self.sources.folders), sorted(self.sources.paths)]
        programs = _digest_programs(self.study)
        return digest_json_value([dump_noun_identity(self.study), requests, places, programs])

    def _find_sources(self) -> Mapping[str, SourceRequest]:
        """The user's sources, and those that the files of board and file systems name."""
        from nandlab.board.virtual.partset import add_board_sources
        from nandlab.plan.mediaboard import find_media_board
        from nandlab.plan.study import plan_trials

        sources = self.run_settings.sources
        return add_board_sources(find_media_board(plan_trials(self.study), sources), sources)

    def builder(self) -> str:
        """The hash of what decides whether sources build, beside themselves."""
        from nandlab.base.digest import digest_json_value, digest_tree
        from nandlab.base.paths import DEVICE
        from nandlab.board.kit.kit import list_board_package_sets, read_board_package_lock
        from nandlab.catalog.board import BoardModel
        from nandlab.catalog.files import load_noun
        from nandlab.catalog.noun import dump_noun_identity

        model = load_noun("boards", self.study.board, BoardModel)
        lock = read_board_package_lock(model)
        packages = {each.name: lock.get(each.name) for each in list_board_package_sets(model)}
        parts = [request.part for request in self.run_settings.sources.values()]
        ports = {p.port: digest_tree(DEVICE / "modules" / p.port) for p in parts if p.port}
        return digest_json_value(
            [__version__, packages, [dump_noun_identity(part) for part in parts], ports]
        )

    @contextmanager
    def open_runs(self) -> Iterator[CommitRuns]:
        """The runs of commits, in --out or in a folder of the study and the sources' place."""
        from nandlab.base.paths import RESULTS
        from nandlab.base.scratch import hold_scratch_folder
        from nandlab.history.commitruns import CommitsHead, open_commit_runs

        head = CommitsHead(identity=self.identity(), study=self.study.name, builder=self.builder())
        name = f"{self.study.name}-{head.identity[:ID_LETTERS]}"
        path = self.run_settings.out or RESULTS / FOLDER / name
        source = self.sources.tree, self.sources.paths
        with hold_scratch_folder() as home:
            yield open_commit_runs(head, source, path, self.run_commit, home)

    def note(self, line: str) -> None:
        """Prints a line of progress, unless the progress is for programs."""
        if self.run_settings.progress not in QUIET_STYLES:
            print_note(line)


def _digest_source_request(request: SourceRequest, with_files: bool) -> list[Any]:
    """What it asks for; with_files: with its folder's files, which are none of the commits'."""
    from nandlab.base.digest import digest_file
    from nandlab.board.kit.partsource import read_part_files

    patches = [digest_file(path) for path in request.patches]
    files = read_part_files(request, None, "").digests if with_files and request.tree else {}
    return [request.identity(), patches, files]


def _digest_programs(study: Study) -> dict[str, dict[str, str]]:
    """By the folder's name, the files of each program that the study's trials run."""
    from nandlab.base.digest import digest_tree
    from nandlab.base.paths import DEVICE
    from nandlab.board.jobs.programs import FOLDER as PROGRAMS
    from nandlab.board.jobs.programs import find_job_program_folders
    from nandlab.plan.study import plan_trials
    from nandlab.trial.steps import make_trial_job_without_image

    folders = {"lib": DEVICE / PROGRAMS / "lib"}
    for spec in plan_trials(study):
        folders |= find_job_program_folders(make_trial_job_without_image(spec))
    return {name: digest_tree(folder) for name, folder in sorted(folders.items())}


def read_commits_study(name: str, board: str | None, how: RunSettings) -> CommitsStudy:
    """The study of this name or file, to be run on the commits of the tree of its sources."""
    from nandlab.plan.study import find_study_file, read_study_file

    sources = find_commit_sources(how)
    return CommitsStudy(read_study_file(find_study_file(name), board), how, sources)


def find_commit_sources(how: RunSettings) -> CommitSources:
    """The one git tree that has the sources; UsageError where there is none, or more than one."""
    from nandlab.board.kit.partsource import find_part_folders
    from nandlab.history.gittree import open_git_tree

    folders: dict[str, str] = {}
    paths: list[str] = []
    trees: dict[Path, GitTree] = {}
    for name, request in how.sources.items():
        if request.tree is None:
            continue
        tree = open_git_tree(request.tree, f"{SOURCE_OPTION} {name}=")
        trees[tree.top] = tree
        folders[name] = tree.folder
        top = request.tree.resolve()
        built = find_part_folders(request.part, top)
        # a commit may have a header that the checkout lacks
        whole = all(path == top / folder for folder, path in built.items())
        headers = [top / header for header in request.part.headers] if whole else []
        for path in (*(path.resolve() for path in built.values()), *headers):
            if not path.is_relative_to(tree.top):
                raise UsageError(
                    f"{SOURCE_OPTION} {name}={request.tree}: {path} is not in the git tree "
                    f"{tree.top}: name a tree that has the files themselves"
                )
            paths.append(path.relative_to(tree.top).as_posix())
    if not trees:
        raise UsageError(f"commits of what? name a part in a git tree: {SOURCE_OPTION} PART=FOLDER")
    if len(trees) > 1:
        raise UsageError(f"{SOURCE_OPTION}: {' and '.join(map(str, trees))}: name one git tree")
    bare = ("" if path == "." else path for path in dict.fromkeys(paths))
    return CommitSources(next(iter(trees.values())), folders, tuple(bare))


def refuse_options_beside_series(
    against: Path | None, run: Path | None, form: str, chart: Path | None
) -> None:
    """UsageError where an option does not go with a series of commits."""
    if against is not None or run is not None:
        raise UsageError("--commits: A is the baseline: leave out --against and --run")
    if form == "junit":
        raise UsageError("--commits and --format junit: give text, markdown, csv or json")
    refuse_unknown_chart_suffix("--chart", chart)


def check_commit_series(
    study: str | None,
    board: str | None,
    how: RunSettings,
    choice: tuple[str, Sequence[str], str],
    chart: Path | None,
) -> None:
    """Runs the study on a series of commits, and prints the table; exit status 1 if one moved.

    wanted: the two ends as ``A..B``, the figures of the columns, and the table's form.
    """
    from nandlab.history import series
    from nandlab.report.charts.commitchart import render_commit_series_chart
    from nandlab.report.tables.commitseries import render_commit_series

    if study is None:
        raise UsageError("check --commits: name the STUDY to run on each commit")
    text, figures, form = choice
    commits = read_commits_study(study, board, how)
    first, last = series.parse_commit_range(commits.sources.tree, text, "--commits")

    def say(number: int, count: int, commit: Commit) -> None:
        commits.note(f"commit {number} of {count}: {commit.title}")

    with commits.open_runs() as runs:
        table = series.make_series(series.run_commit_series(first, last, runs, say), figures)
        print_text(render_commit_series(table, form))
        print_note(f"the commits' runs: {runs.path}")
    if chart is not None:
        write_chart(chart, render_commit_series_chart(table))
    if series.has_moved(table):
        raise typer.Exit(1)
