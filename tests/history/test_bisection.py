# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection over planted commits: what it finds, how it goes on, what it leaves untouched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import planted
from support.planted import Runner

from nandlab.base.errors import UsageError
from nandlab.history import bisection, gittree
from nandlab.history.bisection import Bisection, Step, StepBegin
from nandlab.history.commitruns import CommitsHead, open_commit_runs
from nandlab.history.gittree import open_git_tree
from nandlab.results.folder import RunFolder

COUNT, PLANTED = 34, 20


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """34 commits; the one in the middle makes one erase more."""
    planted.plant(tmp_path / "linux", planted.series(COUNT, {PLANTED: 241}, {}))
    return tmp_path / "linux"


def bisect(  # noqa: PLR0917 - what each test changes
    top: Path,
    runner: Runner,
    figure: str = "chip.erases",
    ends: tuple[str, str] = (f"main~{COUNT - 1}", "main"),
    events: list[StepBegin | Step] | None = None,
    trial: str | None = None,
    folder: str = planted.FOLDER,
) -> Bisection:
    """Bisects with a state folder and a scratch folder beside the tree."""
    tree = open_git_tree(top / folder, "--source")
    request = bisection.make_bisection_request(tree, ends, figure, trial)
    home = top.parent / "scratch"
    home.mkdir(exist_ok=True)
    for old in home.iterdir():
        old.rename(top.parent / f"old-{len(list(top.parent.iterdir()))}")
    runs = open_commit_runs(
        CommitsHead(identity="abc", study="s"),
        (tree, [tree.folder]),
        top.parent / "state",
        runner,
        home,
    )
    say = (lambda event: None) if events is None else events.append
    return bisection.find_first_bad_commit(request, runs, say)


def subjects(result: Bisection) -> list[str]:
    return [commit.subject for commit in result.suspects]


def test_the_commit_is_found_with_one_trial_a_step(top: Path) -> None:
    runner, events = Runner(), list[StepBegin | Step]()
    result = bisect(top, runner, events=events)
    assert subjects(result) == [f"c{PLANTED}"]
    assert result.before is not None
    assert result.before.subject == f"c{PLANTED - 1}"
    assert result.values == (240, 241)
    assert result.figure.trial.startswith("ubifs")
    moved = {change.name for one in result.changes for change in one.changed_figures}
    assert {"chip.erases", "chip.reads", "phase.transactions.erases"} <= moved
    assert "chip.programs" not in moved
    assert len(result.steps) <= 6
    assert len(runner.ran) == 2 + len(result.steps)
    for step in result.steps:
        number = int(step.commit.subject[1:])
        assert (step.mark, step.value) == (("bad", 241) if number >= PLANTED else ("good", 240))
    begins = [event for event in events if isinstance(event, StepBegin)]
    assert [event for event in events if isinstance(event, Step)] == list(result.steps)
    assert [b.commit for b in begins] == [s.commit for s in result.steps]
    assert [b.number for b in begins] == list(range(1, len(begins) + 1))
    assert [b.steps_left for b in begins] == sorted((b.steps_left for b in begins), reverse=True)
    assert begins[0].commits_left == 16
    assert begins[-1].commits_left == 0


def test_nothing_of_the_users_repository_is_written(top: Path) -> None:
    (top / planted.SOURCE).write_text("an edit that is not committed")
    before = {p: p.stat().st_mtime_ns for p in sorted(top.rglob("*"))}
    head = planted.git(top, "rev-parse", "HEAD")
    assert subjects(bisect(top, Runner())) == [f"c{PLANTED}"]
    assert {p: p.stat().st_mtime_ns for p in sorted(top.rglob("*"))} == before
    assert planted.git(top, "rev-parse", "HEAD") == head


def test_the_log_of_git_is_kept_and_git_replays_it(top: Path) -> None:
    result = bisect(top, Runner())
    log = (top.parent / "state" / "bisect.log").read_text()
    marks = re.findall(r"^git bisect (good|bad) ([0-9a-f]{40})$", log, re.MULTILINE)
    assert marks == [(step.mark, step.commit.sha) for step in result.steps]
    assert f"first bad commit: [{result.suspects[0].sha}]" in log
    planted.git(top, "bisect", "replay", str(top.parent / "state" / "bisect.log"))
    assert result.suspects[0].sha in planted.git(top, "bisect", "log")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bisection, list[str]]:
    """The bisection of the same commits, and the sources that were run."""
    top = tmp_path_factory.mktemp("whole") / "linux"
    planted.plant(top, planted.series(COUNT, {PLANTED: 241}, {}))
    runner = Runner()
    return bisect(top, runner), runner.ran


@pytest.mark.parametrize("after", range(7))
def test_interrupted_it_goes_on_where_it_was(
    top: Path, after: int, uninterrupted: tuple[Bisection, list[str]]
) -> None:
    """Whatever run it was interrupted in, no trial that ended is run again."""
    expected, ran = uninterrupted
    assert len(ran) == 7
    stopped, resumed = Runner(stop_after=after), Runner()
    with pytest.raises(KeyboardInterrupt):
        bisect(top, stopped)
    result = bisect(top, resumed)
    assert stopped.ran + resumed.ran == ran
    assert (result.suspects, result.steps, result.values) == (
        expected.suspects,
        expected.steps,
        expected.values,
    )


@pytest.mark.parametrize("fault", ["fault", "panic"])
def test_a_commit_that_gives_no_figure_is_skipped(tmp_path: Path, fault: str) -> None:
    faults = dict.fromkeys((15, 16, 17, 18, 24), fault)
    planted.plant(tmp_path / "linux", planted.series(COUNT, {PLANTED: 241}, faults))
    runner = Runner()
    result = bisect(tmp_path / "linux", runner)
    assert subjects(result) == [f"c{PLANTED}"]
    skipped = {int(step.commit.subject[1:]) for step in result.skipped}
    assert skipped
    assert skipped <= set(faults)
    reasons = {"fault": "gc.c:7: error: 'x' undeclared", "panic": "trial_failed"}
    assert all(reasons[fault] in step.reason for step in result.skipped)
    log = (tmp_path / "state" / "bisect.log").read_text()
    assert len(re.findall("^git bisect skip", log, re.MULTILINE)) == len(result.skipped)
    ran = len(runner.ran)
    assert bisect(tmp_path / "linux", runner).steps == result.steps
    assert len(runner.ran) == ran, "what does not build is not built again"


def test_several_suspects_where_those_between_do_not_build(tmp_path: Path) -> None:
    faults = dict.fromkeys((PLANTED - 2, PLANTED - 1, PLANTED), "fault")
    planted.plant(tmp_path / "linux", planted.series(COUNT, {PLANTED: 241}, faults))
    result = bisect(tmp_path / "linux", Runner())
    assert sorted(subjects(result)) == [f"c{n}" for n in range(PLANTED - 2, PLANTED + 2)]
    assert (result.before, result.changes) == (None, ())


def test_commits_that_leave_the_sources_alone_are_not_tried(tmp_path: Path) -> None:
    commits = planted.series(12, {6: 241}, {})
    between = [
        [commit, *[{"README": f"{i} {k}"} for k in range(5)]] for i, commit in enumerate(commits)
    ]
    planted.plant(tmp_path / "linux", [commit for each in between for commit in each])
    runner = Runner()
    result = bisect(tmp_path / "linux", runner, ends=("main~71", "main"))
    assert subjects(result) == ["c36"]
    assert len(runner.ran) <= 6


def test_a_later_change_does_not_hide_the_first(tmp_path: Path) -> None:
    planted.plant(tmp_path / "linux", planted.series(COUNT, {PLANTED: 241, 28: 239}, {}))
    result = bisect(tmp_path / "linux", Runner())
    assert subjects(result) == [f"c{PLANTED}"]
    assert result.values == (240, 241)
    assert result.figure.bad == 239


def test_a_tree_that_is_the_part_itself(tmp_path: Path) -> None:
    commits = [{"gc.c": c[planted.SOURCE]} for c in planted.series(9, {4: 241}, {})]
    planted.plant(tmp_path / "core", commits)
    assert subjects(bisect(tmp_path / "core", Runner(), ends=("main~8", "main"), folder="")) == [
        "c4"
    ]


def test_a_worktree_of_the_users(top: Path) -> None:
    planted.git(top, "worktree", "add", "-q", "--detach", str(top.parent / "beside"), "main~3")
    assert subjects(bisect(top.parent / "beside", Runner())) == [f"c{PLANTED}"]


def test_files_are_those_that_were_committed(tmp_path: Path) -> None:
    """Whatever attributes and settings the tree has for a checkout."""
    attributes = {".gitattributes": "* text eol=crlf ident\nfs/** export-ignore\n"}
    commits = planted.series(6, {3: 241}, {})
    planted.plant(tmp_path / "linux", [attributes | commits[0], *commits[1:]])
    runner = Runner()
    assert subjects(bisect(tmp_path / "linux", runner, ends=("main~5", "main"))) == ["c3"]
    assert [text for text in runner.ran if "\r" in text] == []


def test_a_commit_may_lack_some_of_the_paths(tmp_path: Path) -> None:
    header = "include/linux/mtd/ubi.h"
    first, second = planted.source(1), planted.source(2) | {header: "h"}
    old, new = planted.plant(tmp_path / "linux", [first, second])
    tree, paths = open_git_tree(tmp_path / "linux", "--source"), [planted.FOLDER, header]
    scratch = gittree.make_scratch_repository(tree, tmp_path / "scratch")
    for sha, there in ((old, paths[:1]), (new, paths)):
        commit = gittree.Commit(sha)
        assert gittree.list_paths_in_commit(tree, commit, paths) == there
        scratch.export(commit, there, tmp_path / sha)
        assert (tmp_path / sha / header).exists() is (header in there)
    folder = tmp_path / "state"
    home = tmp_path / "home"
    home.mkdir()
    head = CommitsHead(identity="abc", study="s")
    runs = open_commit_runs(head, (tree, paths), folder, Runner(), home)
    assert [runs.run(gittree.Commit(sha)).folder is None for sha in (old, new)] == [False, False]


def test_no_hook_of_the_users_runs_in_our_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sha,) = planted.plant(tmp_path / "linux", [planted.source(1)])
    hook = tmp_path / "hooks/post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    hook.chmod(0o755)
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {hook.parent}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    tree = open_git_tree(tmp_path / "linux", "--source")
    scratch = gittree.make_scratch_repository(tree, tmp_path / "scratch")
    scratch.export(gittree.Commit(sha), [planted.FOLDER], tmp_path / "out")
    assert (tmp_path / "out" / planted.SOURCE).exists()
    assert not (tmp_path / "ran").exists()


def test_the_top_among_the_paths_is_all(top: Path) -> None:
    tree = open_git_tree(top, "--source")
    first, last = (gittree.find_commit_of_revision(tree, r, "") for r in ("main~3", "main"))
    assert gittree.list_pathspecs(["", "fs/none"]) == []
    assert len(gittree.list_commits_after(tree, first, last, ["", "fs/none"])) == 3
    assert len(gittree.list_commits_after(tree, first, last, ["fs/none"])) == 0


def test_a_fault_of_an_end_is_refused(tmp_path: Path) -> None:
    planted.plant(tmp_path / "linux", planted.series(5, {3: 241}, {0: "fault", 4: "panic"}))
    with pytest.raises(UsageError, match=r"(?s)--good .* build.*gc\.c:7"):
        bisect(tmp_path / "linux", Runner(), ends=("main~4", "main~1"))
    with pytest.raises(UsageError, match=r"(?s)no .* ended well.*trial_failed"):
        ubifs = planted.make_trial("erases 1\nversion 1").id
        bisect(tmp_path / "linux", Runner(), ends=("main~3", "main"), trial=ubifs)


@pytest.mark.parametrize(
    ("figure", "ends", "says"),
    [
        ("chip.programs", ("main~33", "main"), r"same chip\.programs .* chip\.erases"),
        ("chip.erases", ("main~33", "main~30"), "no other figure moved"),
        ("chip.erase", ("main~33", "main"), r"nearest: .*chip\.erases"),
        ("chip.*", ("main~33", "main"), "name one"),
        ("chip.erases", ("main", "main~33"), "exchange"),
        ("chip.erases", ("main~33", "nowhere"), "no such commit"),
        ("chip.erases", ("main~33", "--help"), "no such commit"),
        ("chip.erases", ("main~33", "main:fs"), "no such commit"),
    ],
)
def test_what_cannot_be_bisected_is_refused(
    top: Path, figure: str, ends: tuple[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        bisect(top, Runner(), figure, ends)


def test_commits_of_two_lines_are_refused(top: Path) -> None:
    planted.git(top, "checkout", "-q", "--orphan", "other")
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    planted.git(top, *who, "commit", "-qm", "another beginning")
    with pytest.raises(UsageError, match="merge-base"):
        bisect(top, Runner(), ends=("other", "main"))


def test_a_folder_without_a_tree_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="--source"):
            open_git_tree(path, "--source")


def test_a_partial_clone_is_refused_and_nothing_is_fetched(top: Path, tmp_path: Path) -> None:
    planted.git(top, "config", "uploadpack.allowFilter", "true")
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{top}")
    planted.git(tmp_path, *words, str(tmp_path / "partial"))
    with pytest.raises(UsageError, match="partial clone"):
        open_git_tree(tmp_path / "partial", "--source")
    planted.git(tmp_path, "clone", "-q", f"file://{top}", str(tmp_path / "whole"))
    assert open_git_tree(tmp_path / "whole", "--source").top == tmp_path / "whole"


def test_runs_of_another_board_are_not_mixed_in(top: Path) -> None:
    bisect(top, Runner())
    with pytest.raises(UsageError, match="another run"):
        bisect(top, Runner(board={"kernel": {"release": "6.12"}}))


def test_runs_between_other_ends_are_not_of_another_board(top: Path) -> None:
    """The ends are new, and made on the board of now; the commits between were run before it."""
    bisect(top, Runner())
    new = Runner(board={"kernel": {"release": "6.12"}})
    with pytest.raises(UsageError, match="another run"):
        bisect(top, new, ends=(f"main~{COUNT - 2}", "main~1"))


def test_what_sources_make_of_a_board_is_not_another_board(top: Path) -> None:
    class Parts(Runner):
        def __call__(self, sources: Path, out: Path, trials: Sequence[str]) -> RunFolder:
            self.board |= {
                "initramfs": str(out),
                "parts": {"init": "1", "ubifs.ko": str(out), "simnand.ko": self.board["qemu"]},
            }
            return super().__call__(sources, out, trials)

    assert subjects(bisect(top, Parts())) == [f"c{PLANTED}"]
    newer = Parts(board={**planted.BOARD, "qemu": "8"})
    with pytest.raises(UsageError, match="another run"):
        bisect(top, newer, ends=(f"main~{COUNT - 2}", "main~1"))
