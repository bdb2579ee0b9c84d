# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of a Dask scheduler: of one elsewhere, or of one that is begun here with its workers.

What the client is sent is never unpickled (pickles.py). The scheduler of ``local:N`` and its
workers take no connection without a certificate that only they have, in memory: their ports are
open to every user of this machine.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster, Security

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.base.scratch import hold_scratch_folder
from nandlab.trial.workers import pickles
from nandlab.trial.workers.address import CampaignAddress

CONNECT_S = 10
DASK_SETTINGS = {
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.profile.enabled": False,
}
"""Dask watches itself for developers. It keeps the last 1000 messages to each worker, and here each
is a whole batch. Its clocks and its profile of workers, which wait for QEMU, take a tenth of a core
from two workers and their scheduler."""
NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Scheduler and workers have a port for HTTP in any case. It knows no certificates, so it has no
pages: not the state of the run, nor a proxy to other ports."""
LOG_LEVEL_OFF = logging.CRITICAL + 1
TLS_HINT = "with TLS, both sides must have certificates of one authority that have not expired"


class ClosingClient(Client):
    """Dask's client, which closes when it cannot read what the scheduler sends.

    Dask's own would stay deaf, and all that is under way would never end.
    """

    async def _handle_report(self) -> None:
        try:
            await super()._handle_report()
        except Exception as e:  # whatever a scheduler may send
            print_note(
                "the scheduler sent what cannot be read: {}: {}".format(
                    *pickles.describe_exception(e)
                )
            )
            await self._close()


@asynccontextmanager
async def open_scheduler_client(address: CampaignAddress) -> AsyncIterator[Client]:
    """A client of the scheduler there; for ``local:N`` one with N processes is begun, and ended.

    UsageError if no scheduler answers.
    """
    logging.getLogger("distributed").setLevel(LOG_LEVEL_OFF)
    dask.config.set(DASK_SETTINGS)
    if address.processes:
        async with (
            _start_local_cluster(address.processes) as cluster,
            _open_safe_client(cluster) as client,
        ):
            yield client
        return
    async with _open_safe_client(address.scheduler, security=_make_security(address)) as client:
        print_note(f"dashboard, if the scheduler has one: {client.dashboard_link}")
        yield client


@asynccontextmanager
async def _start_local_cluster(processes: int) -> AsyncIterator[LocalCluster]:
    """A scheduler in this process with workers beside it, for nobody but who begins it.

    Dask puts its folder first among those that Python imports from: it is one of our own.
    """
    with (
        hold_scratch_folder() as folder,
        dask.config.set({**NO_PAGES, "temporary-directory": str(folder)}),
    ):
        async with LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",  # else it is the same port for everybody
            scheduler_kwargs={"dashboard": False},
            security=Security.temporary(),
            asynchronous=True,
        ) as cluster:
            yield cluster


@asynccontextmanager
async def _open_safe_client(scheduler: LocalCluster | str, **options: Any) -> AsyncIterator[Client]:
    """A client that unpickles nothing and shows nothing of what workers print."""
    with pickles.refuse_pickles():
        try:
            client = await ClosingClient(  # type: ignore[no-untyped-call] # it inherits Dask's __init__
                scheduler,
                asynchronous=True,
                timeout=CONNECT_S,
                serializers=["msgpack"],
                deserializers=["msgpack", "error"],
                **options,
            )
        except (OSError, ValueError, TypeError) as e:
            why = " ".join(str(e).split()) or "it ended the connection"
            hint = f"; {TLS_HINT}" if options.get("security") else ""
            raise UsageError(f"{scheduler}: no scheduler of Dask answers: {why}{hint}") from None
        for topic in ("print", "warn"):
            client.unsubscribe_topic(topic)
        async with client:
            yield client


def _make_security(address: CampaignAddress) -> Security | None:
    if address.tls is None:
        return None
    return Security(
        require_encryption=True,
        tls_ca_file=str(address.tls.ca),
        tls_client_cert=str(address.tls.cert),
        tls_client_key=str(address.tls.key),
    )
