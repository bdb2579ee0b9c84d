# SPDX-License-Identifier: GPL-2.0-or-later
"""A git tree of the user's: its commits are read, and nothing of it is ever written.

What git must write (the state of a bisection, an index, the files of a commit) goes to a repository
of our own in a scratch folder. It has no objects: it borrows those of the user's repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import UsageError

DEADLINE_S = 600
"""Seconds that a command of git may take."""
SHORT_HASH_LETTERS = 12
LOCAL_VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_GRAFT_FILE"),
)
"""Variables that name another repository than the one that a command is for: a hook has them."""
RAW_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Attributes under which files are written as they were committed."""
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
"""The user's settings may name hooks for all repositories: none is for ours."""
PROMISOR = r"^remote\..*\.promisor$"
"""The setting of a remote from which git would fetch objects that are missing."""
FORMAT = "--format=%H%x09%s"
"""How git lists a commit: hash and subject, with a tab between."""


@dataclass(frozen=True)
class Commit:
    """A commit, by its whole hash."""

    sha: str
    subject: str = ""

    @property
    def short(self) -> str:
        return self.sha[:SHORT_HASH_LETTERS]

    @property
    def title(self) -> str:
        return f"{self.short} {self.subject}".rstrip()


@dataclass(frozen=True)
class GitTree:
    """A checkout, and the folder in it that has the sources."""

    top: Path
    common: Path
    """The folder with the repository's objects; worktrees of one repository share it."""
    folder: str
    """The sources' folder below the top; empty: the top itself."""
    hash_name: str
    """The repository's hash: sha1 or sha256."""

    def run(self, *words: str) -> CompletedProcess[str]:
        """What a command of git answers in the checkout; it must be one that only reads."""
        return run_git(["-C", str(self.top), *words])


def run_git(words: Sequence[str], **variables: str) -> CompletedProcess[str]:
    """Runs git with words of a fixed language; UsageError where there is no git."""
    environment = {k: v for k, v in os.environ.items() if k not in LOCAL_VARIABLES}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    try:
        return subprocess.run(
            ["git", *words],
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=DEADLINE_S,
        )
    except FileNotFoundError:
        raise UsageError("git is not there: install it (apt install git)") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]}: no answer in {DEADLINE_S} s: try again") from None


def format_git_complaint(done: CompletedProcess[str]) -> str:
    """The first line of what git complains of."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    first = lines[0] if lines else f"exit status {done.returncode}"
    return first.removeprefix("fatal: ").removeprefix("error: ")


def open_git_tree(folder: Path, option: str) -> GitTree:
    """The tree that a folder lies in; UsageError where it is in none.

    option: what the command line names the folder by.
    """
    if not folder.is_dir():
        raise UsageError(f"{option} {folder}: no such folder: name one in a checkout of git")
    places = ("--show-toplevel", "--git-common-dir", "--show-prefix", "--show-object-format")
    done = run_git(["-C", str(folder), "rev-parse", "--path-format=absolute", *places])
    answers = done.stdout.split("\n")
    if done.returncode or len(answers) <= len(places):
        why = format_git_complaint(done)
        raise UsageError(f"{option} {folder}: no git tree: {why}; name a folder in a checkout")
    top, common, prefix, hash_name = answers[: len(places)]
    promisors = run_git(["-C", str(folder), "config", "--get-regexp", PROMISOR])
    if "true" in promisors.stdout.split():
        raise UsageError(
            f"{option} {folder}: a partial clone, which lacks files of its commits, and nothing is "
            "fetched here: clone the whole (git clone without --filter)"
        )
    return GitTree(Path(top), Path(common), prefix.rstrip("/"), hash_name)


def find_commit_of_revision(tree: GitTree, revision: str, option: str) -> Commit:
    """The commit that a revision names; UsageError where it names none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    done = tree.run(*words)
    if done.returncode or not done.stdout.strip():
        cure = "name a commit, a tag or a branch of it (git log --oneline lists commits)"
        raise UsageError(f"{option} {revision}: no such commit in {tree.top}: {cure}")
    return find_commit_subject(tree, done.stdout.strip())


def find_commit_subject(tree: GitTree, sha: str) -> Commit:
    """A commit with its subject."""
    return _list_commits(tree, "--max-count=1", sha)[0]


def find_parent(tree: GitTree, commit: Commit) -> Commit:
    """The first parent of a commit that has one."""
    return _list_commits(tree, "--max-count=1", f"{commit.sha}^1")[0]


def list_commits_after(
    tree: GitTree, first: Commit, last: Commit, paths: Sequence[str]
) -> list[Commit]:
    """The commits after ``first`` to ``last`` that change one of the paths, the oldest first.

    Where branches were merged, only the line of first parents: so each follows the one before it.
    """
    words = ("--reverse", "--first-parent", f"{first.sha}..{last.sha}")
    return _list_commits(tree, *words, paths=paths)


def _list_commits(tree: GitTree, *words: str, paths: Sequence[str] = ()) -> list[Commit]:
    done = tree.run("rev-list", "--no-commit-header", FORMAT, *words, "--", *list_pathspecs(paths))
    if done.returncode:
        raise UsageError(f"{tree.top}: git lists no commits: {format_git_complaint(done)}")
    return [Commit(*line.split("\t", 1)) for line in done.stdout.split("\n") if line]


def list_pathspecs(paths: Sequence[str]) -> list[str]:
    """The paths as git takes them: from the top, and no letter of them a pattern.

    Empty where the top itself is among them: then git takes all.
    """
    return [] if "" in paths else [f":(top,literal){path}" for path in paths]


def is_ancestor(tree: GitTree, older: Commit, newer: Commit) -> bool:
    """Whether one commit leads to the other; a commit leads to itself."""
    done = tree.run("merge-base", "--is-ancestor", older.sha, newer.sha)
    if done.returncode not in (0, 1):
        raise UsageError(f"{tree.top}: {format_git_complaint(done)}")
    return done.returncode == 0


def refuse_unrelated_commits(
    tree: GitTree, older: Commit, newer: Commit, options: tuple[str, str]
) -> None:
    """UsageError unless the older commit leads to the newer one; options: of the two."""
    if is_ancestor(tree, older, newer):
        return
    what = f"{options[0]} {older.short} does not lead to {options[1]} {newer.short}"
    if is_ancestor(tree, newer, older):
        raise UsageError(f"{what}, but the other way round: exchange the two")
    raise UsageError(f"{what}: name a commit that does, such as their git merge-base")


def hash_content(tree: GitTree, commit: Commit, paths: Sequence[str]) -> str | None:
    """The hash of what a commit has at these paths; None: it has nothing there."""
    objects = _read_object_names(tree, commit, paths)
    return digest_json_value(objects) if any(objects.values()) else None


def list_paths_in_commit(tree: GitTree, commit: Commit, paths: Sequence[str]) -> list[str]:
    """Those of the paths at which a commit has something."""
    return [path for path, name in _read_object_names(tree, commit, paths).items() if name]


def _read_object_names(tree: GitTree, commit: Commit, paths: Sequence[str]) -> dict[str, str]:
    """By path, what git calls the file or folder that a commit has there; empty: it has none."""
    return {
        path: tree.run("rev-parse", "--verify", "--quiet", f"{commit.sha}:{path}").stdout.strip()
        for path in paths
    }


@dataclass(frozen=True)
class ScratchRepository:
    """A repository of our own that borrows the objects of the user's."""

    path: Path

    def run(self, *words: str, **variables: str) -> CompletedProcess[str]:
        """What a command of git answers in it."""
        return run_git([*NO_HOOKS, f"--git-dir={self.path}", *words], **variables)

    def export(self, commit: Commit, paths: Sequence[str], to: Path) -> None:
        """Writes the files of a commit at these paths, at which it has some, below a new folder."""
        to.mkdir()
        words = ("checkout", "--quiet", commit.sha, "--", *(list_pathspecs(paths) or ["."]))
        index = str(to.with_name(f"{to.name}.index"))
        done = self.run(f"--work-tree={to}", *words, GIT_INDEX_FILE=index)
        if done.returncode:
            why = format_git_complaint(done)
            raise UsageError(f"commit {commit.short}: git does not write its files: {why}")


def make_scratch_repository(tree: GitTree, path: Path) -> ScratchRepository:
    """Makes a repository at ``path``; its folder is removed by whoever made it."""
    words = ["init", "--quiet", "--bare", "--template=", f"--object-format={tree.hash_name}"]
    done = run_git([*words, str(path)])
    if done.returncode:
        raise UsageError(f"{path}: git makes no repository: {format_git_complaint(done)}")
    (path / "info").mkdir(exist_ok=True)
    (path / "info" / "attributes").write_text(RAW_ATTRIBUTES)
    (path / "objects" / "info").mkdir(exist_ok=True)
    (path / "objects" / "info" / "alternates").write_text(f"{tree.common / 'objects'}\n")
    if (tree.common / "shallow").is_file():
        shutil.copy(tree.common / "shallow", path / "shallow")
    return ScratchRepository(path)
