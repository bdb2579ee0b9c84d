# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders for a moment: no signal that ends a command leaves one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from nandlab.base.scratch import PREFIX, hold_scratch_folder


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def ending(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal that ends this process as it ends a command: by an exception, at any place."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(request.param, leave)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_between_a_folder_s_making_and_its_use_leaves_none(
    ending: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def make_and_end(folder: Path, mode: int) -> None:
        make(folder, mode)
        signal.raise_signal(ending)

    monkeypatch.setattr(os, "mkdir", make_and_end)
    with pytest.raises(SystemExit) as end, hold_scratch_folder(str(tmp_path)):
        pytest.fail("it was not ended")
    assert end.value.code == 128 + ending
    assert list(tmp_path.iterdir()) == []
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {ending}


def test_a_folder_is_there_meanwhile_and_gone_afterwards(tmp_path: Path) -> None:
    with hold_scratch_folder(str(tmp_path)) as folder:
        (folder / "a").write_text("b")
        assert [p.name[: len(PREFIX)] for p in tmp_path.iterdir()] == [PREFIX]
    assert list(tmp_path.iterdir()) == []
