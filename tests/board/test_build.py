# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on the board is the same bytes wherever it was built: figures hang on every byte."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nandlab.base.paths import TARGET
from nandlab.board import build
from nandlab.board.qemu import QemuBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load
from nandlab.kit import needs
from nandlab.kit.root import Root


def built_in(
    place: Path, make: Callable[[], dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> dict[str, bytes]:
    """With sources and cache below ``place``."""
    shutil.copytree(TARGET, place / "target")
    with monkeypatch.context() as m:
        m.setattr(build, "TARGET", place / "target")
        m.setenv("NANDLAB_CACHE", str(place / "cache"))
        return make()


@pytest.mark.board
def test_programs_are_the_same_bytes_wherever_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Root
) -> None:
    model = load("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    ours = [f for f in (TARGET / "programs").iterdir() if f.is_dir() and f.name != "lib"]
    of = {f.name: needs.material(f, model, needs.bring(model, f).lock) for f in ours}

    def make() -> dict[str, bytes]:
        here: Path = build.TARGET / "programs"  # type: ignore[attr-defined]
        arch = model.of_arch
        built = [build.program(tools, here / name, each, arch) for name, each in of.items()]
        return {p.name: p.read_bytes() for p in (build.init(tools, arch), *built)}

    here, there = (built_in(tmp_path / p, make, monkeypatch) for p in ("a", "another/place"))
    assert {"ffsmark", "init", "speedtest1", "sqlbench"} <= set(here)
    assert here == there


@pytest.mark.board
@pytest.mark.parametrize("folder", ["simnand", "yaffs2"])
def test_modules_are_the_same_bytes_wherever_they_are_built(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    machine = board.machine
    foreign = {"core": machine.yaffs2.folder} if folder == "yaffs2" else None

    def make() -> dict[str, bytes]:
        found = build.modules(machine.kit.tools, folder, machine.kit.kernel, foreign)
        return {p.name: p.read_bytes() for p in found}

    here, there = (built_in(tmp_path / p, make, monkeypatch) for p in ("a", "another/place"))
    assert set(here) == {f"{folder}.ko"}
    assert here == there
