# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests share: the boards, an empty place, a good run."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings
from support import samples
from support.outcomes import now, run_of, take_outcomes, trim
from support.remotes import lossy_line, remotely

from nandlab.board.jobs.fake import FakeBoard
from nandlab.board.jobs.job import Board
from nandlab.board.kit.root import Root
from nandlab.board.own.serialline import SerialLine
from nandlab.board.own.transport import connect_local
from nandlab.board.virtual.qemu import QemuBoard, open_board

pytest_plugins = ["support.spent"]

# no deadline: a host may be busy, and how long an example takes proves nothing; the same examples
# each time: what is checked of a commit does not hang on luck. `make test-search` draws new ones
settings.register_profile("nandlab", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile("nandlab")
# CliRunner builds the parser of all commands at each call, in more than a tenth of a second
vars(typer.testing)["_get_command"] = cache(typer.main.get_command)


@pytest.fixture(scope="session")
def board() -> QemuBoard:
    """The virtual board, booted once for all tests."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    return open_board(
        load_noun("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    )


@pytest.fixture(scope="session", autouse=True)
def kept_outcomes() -> Iterator[None]:
    """No virtual board runs a job whose outcome is kept from before: see outcomes.py."""
    take_outcomes()
    yield
    trim()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Workers of ``-n auto``: a board is one process, so a test runs per processor; and one more,
    for a test waits too: for a board to begin and end, for deadlines, for processes that it kills.
    """
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collection makes lives to the end: the garbage collector looks at it neither meanwhile,
    which is a fifth of collection, nor among what tests leave."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of workers that import the same module one rewrites its asserts, which is half of what
    collection takes; the others wait for it, and read the byte code that it keeps.
    """
    is_shared = hasattr(collector.config, "workerinput") and not sys.dont_write_bytecode
    if not is_shared or not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open("rb") as module:
        fcntl.flock(module, fcntl.LOCK_EX)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module are a group: one worker makes it, once.

    Files with tests of a board come before the others.
    """
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("xdist_group"):
            continue
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        if any(f.scope == "module" and f.baseid.endswith(".py") for used in fixtures for f in used):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    # what takes seconds begins first, so that no core is without work at the end
    slow = {item.path for item in items if item.get_closest_marker("board")}
    items.sort(key=lambda item: item.path not in slow)


_run_of_tests = cache(run_of)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test is given no outcome twice, and one that is marked ``anew`` is given none."""
    folder: Path = vars(item.config)["_tmp_path_factory"].getbasetemp()
    anew = item.get_closest_marker("anew") is not None
    now.begin(folder / "outcomes", _run_of_tests(), anew=anew)


@pytest.fixture(scope="session")
def tools() -> Root:
    """The root of the board's tools: compiler, emulator, mtd-utils."""
    from nandlab.board.kit.kit import fetch_board_tools
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    return fetch_board_tools(
        load_noun("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    )[0]


@pytest.fixture(scope="session")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """This machine as a user's own board, by a shell."""
    yield from remotely(connect_local(), tmp_path_factory.mktemp("remote"))


def _by_serial(folder: Path, lost: float) -> Iterator[Board]:
    with lossy_line(folder, lost, seed=1) as tty:
        yield from remotely(SerialLine(tty, kernel_quiet=False), folder)


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """This machine as a user's own board, on a serial line that loses a byte in 5000."""
    yield from _by_serial(tmp_path_factory.mktemp("serial"), 1 / 5000)


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """The same on a line that loses a byte in 100."""
    yield from _by_serial(tmp_path_factory.mktemp("lossy"), 1 / 100)


@pytest.fixture(
    params=[
        "fake",
        "remote",
        pytest.param("serial", marks=pytest.mark.xdist_group("serial")),
        pytest.param(
            "lossy",
            marks=[pytest.mark.long, pytest.mark.timeout(1200), pytest.mark.xdist_group("serial")],
        ),
        pytest.param("qemu", marks=pytest.mark.board),
    ]
)
def any_board(request: pytest.FixtureRequest) -> Board:
    """Each kind of board in turn: what holds for one must hold for the other."""
    name = {"qemu": "board"}.get(request.param, request.param)
    found: Board = FakeBoard() if name == "fake" else request.getfixturevalue(name)
    return found


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Works in an empty folder, with an empty cache."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a good run, which nobody changes."""
    return samples.folder(tmp_path_factory.mktemp("whole") / "run", samples.study(2)).path
