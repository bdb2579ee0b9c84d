# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's commands around the tracers: hooks are set at once, where the kernel lets them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nandlab.traced import setup


@pytest.mark.parametrize("rc", [0, 3])
def test_ftrace_is_off_while_the_command_runs_whatever_comes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rc: int
) -> None:
    switch, seen = tmp_path / "switch", tmp_path / "seen"
    switch.write_text("1\n")
    monkeypatch.setattr(setup, "HOOKS_SWITCH", str(switch))
    command = setup.make_hooks_at_once_command(f"(cat {switch} > {seen}; exit {rc})")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (rc, "", "")
    assert (seen.read_text(), switch.read_text()) == ("0\n", "1\n")


@pytest.mark.parametrize("rc", [0, 3])
def test_a_kernel_without_the_switch_runs_the_command_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rc: int
) -> None:
    monkeypatch.setattr(setup, "HOOKS_SWITCH", str(tmp_path / "none/switch"))
    command = setup.make_hooks_at_once_command(f"(echo ran; exit {rc})")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (rc, "ran\n", "")
