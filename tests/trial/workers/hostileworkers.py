# SPDX-License-Identifier: GPL-2.0-or-later
"""A farm that means harm: each of its ways runs code where a client unpickles what it is sent.

``python hostileworkers.py FOLDER`` begins a scheduler with a worker, and writes their address
there. Code that runs where it must not leaves a file there, named after its process.
"""

from __future__ import annotations

import asyncio
import copyreg
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
from distributed.protocol import core, pickle
from distributed.protocol.serialize import ToPickle, serialize_and_split


def mark(folder: str) -> str:
    (Path(folder) / f"{os.getpid()}").touch()
    return folder


class Trap:
    """Runs mark() where it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return mark, (str(Path.cwd()),)


def mark_and_err(folder: str) -> Exception:
    mark(folder)
    return ValueError("boom")


class TrapError(Exception):
    """An exception that does so: it must become one, or Dask's worker does not send it."""

    def __reduce__(self) -> tuple[Callable[[str], Exception], tuple[str]]:
        return mark_and_err, (str(Path.cwd()),)


class Kind(type):
    """The type of a class that does so: Dask sends the type of a result beside it."""


class Typed(metaclass=Kind):
    """Its instances pickle as any."""


copyreg.pickle(Kind, lambda _: (mark, (str(Path.cwd()),)))  # type: ignore[arg-type,return-value]


def an_object(_: str) -> object:
    return Trap()


def an_object_among_artefacts(_: str) -> object:
    return "{}", {"a": Trap()}


def an_exception(_: str) -> object:
    raise TrapError("boom")


def a_type(_: str) -> object:
    return Typed()


def a_warning(_: str) -> object:
    for topic, event in (
        ("warn", {"message": pickle.dumps(Trap())}),
        ("print", {"args": ["\x1b"]}),
    ):
        distributed.get_worker().log_event(topic, event)
    raise ValueError("warned")


def a_pickle_instead_of_what_is_read(_: str) -> object:
    """The answer's own form is chosen by the worker, whatever the client asks for."""

    def by_pickle(x: Any, *_: object, **__: object) -> Any:
        return serialize_and_split(x, ["pickle"])

    setattr(core, "serialize_and_split", by_pickle)  # noqa: B010 - mypy: it is not exported
    return Trap()


def an_error_in_a_pickle(_: str) -> object:
    """As above, for what the scheduler passes on of an error."""
    trap = serialize_and_split(Trap(), ["pickle"])
    setattr(core, "serialize_and_split", lambda *_, **__: trap)  # noqa: B010
    raise ValueError("not this one")


def a_scheduler(_: str) -> object:
    """A worker has the scheduler: it sends what it wants to each client."""

    def send(dask_scheduler: Any) -> None:
        for comm in dask_scheduler.client_comms.values():
            comm.send({"op": "event", "trap": ToPickle(Trap())})

    address = distributed.get_worker().scheduler.address
    with distributed.Client(address, set_as_default=False) as client:
        client.run_on_scheduler(send)
    return an_object("")


def a_scheduler_that_talks_nonsense(_: str) -> object:
    """The same, with a message that is none."""

    def send(dask_scheduler: Any) -> None:
        for comm in dask_scheduler.client_comms.values():
            comm.send({"nonsense": 1})

    address = distributed.get_worker().scheduler.address
    with distributed.Client(address, set_as_default=False) as client:
        client.run_on_scheduler(send)
    return an_object("")


WAYS = [an_object, an_object_among_artefacts, an_exception, a_type, a_warning]
WAYS += [a_pickle_instead_of_what_is_read, an_error_in_a_pickle, a_scheduler]
WAYS += [a_scheduler_that_talks_nonsense]


async def farm(folder: Path) -> None:
    os.chdir(folder)
    begun = distributed.Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0")
    async with begun as there, distributed.Worker(there.address, nthreads=1):
        Path("part").write_text(there.address)
        Path("part").rename("address")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(farm(Path(sys.argv[1])))
