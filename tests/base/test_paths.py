# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the cache is: the same folder wherever nandlab is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.paths import find_cache_folder


@pytest.mark.parametrize(
    ("base", "folder"),
    [("/x", "/x/nandlab"), ("x", "/h/.cache/nandlab"), ("", "/h/.cache/nandlab")],
)
def test_a_base_that_is_not_absolute_is_none(
    monkeypatch: pytest.MonkeyPatch, base: str, folder: str
) -> None:
    monkeypatch.delenv("NANDLAB_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert find_cache_folder() == Path(folder)
