# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of a mirror: what is asked together is asked of the same lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.debmirror import Mirror

from nandlab.board.kit.apt import Apt, PackagesUnavailable, Suite, fetch_lists_once


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """The only mirror that this machine's apt has, with a tool."""
    made = Mirror(tmp_path / "mirror")
    monkeypatch.setenv("APT_CONFIG", str(made.folder / "apt.conf"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    made.has(("tool", "1", ""))
    return made


def list_newest_files() -> list[str]:
    apt = Apt(Suite("bookworm", "amd64"))
    apt.update()
    return list(apt.files(["tool"]))


def test_lists_are_fetched_once_for_what_is_asked_together(mirror: Mirror) -> None:
    with fetch_lists_once():
        assert list_newest_files() == ["tool_1_amd64.deb"]
        mirror.has(("tool", "2", ""))
        with fetch_lists_once():
            assert list_newest_files() == ["tool_1_amd64.deb"]
        assert list_newest_files() == ["tool_1_amd64.deb"]
    assert list_newest_files() == ["tool_2_amd64.deb"]


def test_lists_that_were_not_had_are_asked_for_again(mirror: Mirror) -> None:
    index = mirror.folder / "dists"
    with fetch_lists_once():
        index.rename(mirror.folder / "gone")
        with pytest.raises(PackagesUnavailable):
            list_newest_files()
        (mirror.folder / "gone").rename(index)
        assert list_newest_files() == ["tool_1_amd64.deb"]
