# SPDX-License-Identifier: GPL-2.0-or-later
"""A checkout tells its commit, and nothing else does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nandlab.base.checkout import find_commit


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e")
    argv = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("as committed")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def test_a_checkout_tells_its_commit_and_whether_it_was_changed(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "--short=12", "HEAD")
    assert find_commit(checkout) == head
    (checkout / "file").write_text("changed")
    assert find_commit(checkout) == f"{head}-dirty"


def test_a_worktree_is_a_checkout_too(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "tree"
    git(checkout, "worktree", "add", "-q", str(other))
    assert find_commit(other) == find_commit(checkout) is not None


def test_a_folder_within_a_checkout_is_none(checkout: Path) -> None:
    inside = checkout / "site-packages"
    inside.mkdir()
    assert find_commit(inside) is None
    assert find_commit(checkout / "nowhere") is None


def test_without_git_there_is_none(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert find_commit(checkout) is None
