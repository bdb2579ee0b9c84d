# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of FFSMark share: programs, a folder to work in, a chip."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import native

from ffsmark.fakechip import ChipMaker, FakeChip
from ffsmark.running import REPO

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def ffsmark() -> Path:
    named = os.environ.get("NANDLAB_FFSMARK")
    if named:
        return Path(named)
    built = REPO / "build" / "ffsmark"
    return built if built.exists() else native.native("ffsmark")


@pytest.fixture(scope="session")
def dynamic() -> Path:
    return native.dynamic("ffsmark")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "shim.c"), "-ldl"],
        check=True,
    )
    return library


@pytest.fixture(scope="session")
def postmark() -> str:
    found = shutil.which("postmark")
    if not found:
        pytest.fail("postmark is missing: setup/install-packages setup/apt-test.txt")
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture
def chip(tmp_path: Path, work: Path) -> Iterator[ChipMaker]:
    chips: list[FakeChip] = []

    def start(pages: Callable[[int], float], **more: Any) -> FakeChip:
        chips.append(FakeChip(tmp_path / "chip", work, pages, **more).start())
        return chips[-1]

    yield start
    for one in chips:
        one.stop()
