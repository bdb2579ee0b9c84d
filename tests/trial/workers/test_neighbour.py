# SPDX-License-Identifier: GPL-2.0-or-later
"""Other users of this machine reach nothing of ``--on local:N``: its ports are open to them."""

from __future__ import annotations

import asyncio
import http.client
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Scheduler

from nandlab.trial.workers.address import CampaignAddress
from nandlab.trial.workers.connection import open_scheduler_client

NOBODY = 65534
PATHS = [
    "/status",
    "/info/main/workers.html",
    "/json/counts.json",
    "/proxy/1/127.0.0.1/",
    "/health",
]
NEIGHBOUR = f"""
import asyncio, os, sys
from distributed import Security
from distributed.core import rpc

async def reach(port, kind, security):
    try:
        there = rpc(f"{{kind}}://127.0.0.1:{{port}}", timeout=1,
                    connection_args=security.get_connection_args("client"))
        told = await asyncio.wait_for(there.identity(), 5)
        print("reached", port, kind, told["type"], os.getuid())
    except (OSError, asyncio.TimeoutError, ValueError):
        pass

async def tried(ports):
    await asyncio.gather(*(reach(port, *how) for port in ports for how in both))

both = ("tcp", Security()), ("tls", Security.temporary())
asyncio.run(tried([1]))  # what is imported late is not to be read by the other user
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
asyncio.run(tried(sys.argv[1:]))
print("tried", *sys.argv[1:])
"""
"""Tries to reach each port as another user, in clear and with certificates of its own."""


def family() -> Iterator[Path]:
    """/proc/PID of this process and of those that it began."""
    parents: dict[int, list[int]] = {}
    for told in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(told.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(told.parent.name))
    left = [os.getpid()]
    while left:
        pid = left.pop()
        left += parents.get(pid, [])
        yield Path(f"/proc/{pid}")


def ports() -> list[int]:
    """Those on which this process and its children listen, on whatever address."""
    sockets = set()
    for process in family():
        for file in process.glob("fd/*"):
            try:
                sockets.add(str(file.readlink()))
            except OSError:
                continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                assert words[1].startswith("0100007F:"), "it listens on this machine alone"
                found.append(int(words[1].partition(":")[2], 16))
    return found


async def reached(there: list[int]) -> list[str]:
    """What another user reaches of these ports."""
    argv = [sys.executable, "-c", NEIGHBOUR, *map(str, there)]
    told = await asyncio.to_thread(subprocess.check_output, argv, text=True, timeout=60)
    *lines, last = told.splitlines()
    assert last == " ".join(map(str, ["tried", *there]))
    return lines


def page(port: int, path: str) -> int:
    """What an HTTP server says there; 0: there is none."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        asked.request("GET", path)
        return asked.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        asked.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_reaches_no_port_of_local() -> None:
    async def go() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0") as there:
            assert await reached([there.port]) == [f"reached {there.port} tcp Scheduler {NOBODY}"]
        async with open_scheduler_client(CampaignAddress(processes=1)) as client:
            assert sum((await client.nthreads()).values()) == 1
            listening = await asyncio.to_thread(ports)
            assert len(listening) >= 3, "scheduler, worker and what watches it"
            assert await reached(listening) == []

    asyncio.run(go())


def test_local_has_no_page_and_no_folder_that_others_could_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask has a folder of a known name in the temporary folder, and imports from it."""
    tmp_path.chmod(0o1777)
    (tmp_path / "dask-scratch-space").mkdir(mode=0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(sys.path)

    async def go() -> None:
        async with open_scheduler_client(CampaignAddress(processes=1)) as client:
            listening = await asyncio.to_thread(ports)
            for path in PATHS:
                found = {await asyncio.to_thread(page, port, path) for port in listening}
                assert found == {0, 404}
            there = await client.run(lambda: list(sys.path))
            for place in {
                *sys.path,
                *(place for each in there.values() for place in each),
            } - before:
                assert Path(place).is_relative_to(tmp_path)
                home = tmp_path / Path(place).relative_to(tmp_path).parts[0]
                assert stat.S_IMODE(home.stat().st_mode) == 0o700

    asyncio.run(go())
    assert list(tmp_path.iterdir()) == [tmp_path / "dask-scratch-space"]


def test_certificates_of_local_are_in_no_file_and_no_command() -> None:
    async def go() -> None:
        async with open_scheduler_client(CampaignAddress(processes=1)) as client:
            key = client.security.tls_client_key
            assert "PRIVATE KEY" in key
            secret = key.splitlines()[1].encode()
            for process in family():
                for what in ("cmdline", "environ"):
                    assert secret not in (process / what).read_bytes()

    asyncio.run(go())
