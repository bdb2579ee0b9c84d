# SPDX-License-Identifier: GPL-2.0-or-later
"""A pickle that is refused names nothing; what an exception's pickle says is read all the same."""

from __future__ import annotations

import asyncio
import pickle
from argparse import Namespace

import pytest
import tblib.pickling_support
from distributed.scheduler import KilledWorker, WorkerState

from nandlab.base.errors import UsageError
from nandlab.trial.workers import pickles


class Own(Exception):
    """It has an __init__ of its own: tblib pickles it by its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(text, 7)


def sent(error: Exception) -> Exception:
    """As Dask's client gives an exception that it could not read."""
    return Exception(pickle.dumps(error))


def test_a_refused_pickle_gets_no_name_but_is_read_where_it_needs_none() -> None:
    named, plain = pickle.dumps(UsageError), pickle.dumps({"a": [1, b"b", None]})
    assert pickle.loads(named) is UsageError
    with pickles.refuse_pickles():
        assert pickle.loads(plain) == {"a": [1, b"b", None]}
        assert pickle.loads(pickle.dumps(bytes)) is bytes
        with pytest.raises(pickles.PickleRefused, match=r"nandlab\.base\.errors\.UsageError"):
            pickle.loads(named)
        with pytest.raises(pickles.PickleRefused):
            pickle._loads(named)  # type: ignore[attr-defined] # the one in Python
    assert pickle.loads(named) is UsageError


def test_tasks_that_were_begun_before_read_on() -> None:
    named = pickle.dumps(UsageError)

    async def go() -> None:
        begin = asyncio.Event()

        async def read() -> object:
            await begin.wait()
            return pickle.loads(named)

        before = asyncio.create_task(read())
        with pickles.refuse_pickles():
            after = asyncio.create_task(read())
            begin.set()
            assert await before is UsageError
            with pytest.raises(pickles.PickleRefused):
                await after

    asyncio.run(go())


def raised(kind: type[Exception], *words: object) -> Exception:
    """An exception as Dask's workers send it: with its traceback, by tblib."""
    try:
        raise kind(*words)
    except Exception as e:
        tblib.pickling_support.install(e)
        return e


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ModuleNotFoundError("No module named 'nandlab'"), "ModuleNotFoundError", "No module"),
        (sent(ModuleNotFoundError("No module named 'x'")), "ModuleNotFoundError", "No module"),
        (sent(raised(RuntimeError, "a\nb")), "RuntimeError", "a"),
        (sent(raised(Own, "its text")), "Own", "its text 7"),
        (sent(FileNotFoundError(2, "No such file", "x")), "FileNotFoundError", "2 No such file"),
        (sent(KilledWorker("key", WorkerState.__new__(WorkerState), 3)), "KilledWorker", "key 3"),
        (Exception(b"no pickle"), "Exception", "it cannot be read"),
        (Exception(pickle.dumps(Namespace(a=1))), "Namespace", ""),
        (Exception(), "Exception", ""),
        (ValueError("x" * 1000), "ValueError", "x" * 300),
    ],
)
def test_an_exception_is_told_by_class_and_line(error: Exception, kind: str, text: str) -> None:
    found, line = pickles.describe_exception(error)
    assert found == kind
    assert line.startswith(text)
    assert "\n" not in line
    assert len(line) <= 300
