# SPDX-License-Identifier: GPL-2.0-or-later
"""A scheduler over TLS: the board goes through it, and who is not believed gets nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from certificates import campaign, signed
from distributed import Scheduler, Security, Worker
from support.smallruns import fake, read
from test_cluster import lacking, plain, specs  # noqa: F401 - specs is a fixture

from nandlab.analysis.differences.compare import compare_runs
from nandlab.base.errors import UsageError
from nandlab.cli.progress import SilentWatcher
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import runner
from nandlab.trial.workers import address, cluster, connection


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Certificates of scheduler, workers and coordinator, who trust each other."""
    return signed(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Certificates of another authority."""
    return signed(tmp_path_factory.mktemp("tls") / "others")


def security(files: dict[str, Path]) -> Security:
    sides = {
        f"tls_{side}_{what}": str(files[what])
        for side in ("scheduler", "worker")
        for what in ("cert", "key")
    }
    return Security(require_encryption=True, tls_ca_file=str(files["ca"]), **sides)


@asynccontextmanager
async def scheduler(files: dict[str, Path] | None, workers: int = 0) -> AsyncIterator[str]:
    """A scheduler's address: tls:// by these files, or tcp://; its workers are threads here."""
    words: dict[str, Any] = {"dashboard_address": "127.0.0.1:0"}
    words |= {"security": security(files)} if files else {}
    kind = "tls" if files else "tcp"
    async with Scheduler(protocol=kind, host="127.0.0.1", port=0, **words) as there:
        begun = [Worker(there.address, nthreads=1, **words) for _ in range(workers)]
        await asyncio.gather(*begun)
        try:
            yield there.address
        finally:
            await asyncio.gather(*(worker.close() for worker in begun))


def test_a_campaigns_file_runs_over_tls_on_workers_that_have_no_board(
    tmp_path: Path,
    specs: list[TrialSpec],  # noqa: F811
    ours: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = lacking(monkeypatch)
    board = fake()
    folder = runner.open_run_folder(
        runner.make_run_head(read(tmp_path), specs, board), tmp_path / "tls"
    )

    async def go() -> None:
        async with scheduler(ours, workers=2) as there:
            on = address.parse_campaign_address(campaign(tmp_path / "farm.toml", there, ours))
            async with connection.open_scheduler_client(on) as client:
                engine = await cluster.make_cluster_engine(client, board, specs[0].virtual, {})
                await runner.run_trials(folder, specs, board, engine, SilentWatcher())

    asyncio.run(go())
    assert taken == [b"a board"] * 2
    assert compare_runs(folder, plain(tmp_path, specs)) == []


async def refused(on: address.CampaignAddress) -> str:
    with pytest.raises(UsageError) as raised:
        async with connection.open_scheduler_client(on):
            pass
    told = str(raised.value)
    assert "\n" not in told
    return told


def test_who_is_not_believed_is_told_so_in_a_line(
    tmp_path: Path, ours: dict[str, Path], others: dict[str, Path]
) -> None:
    expired = signed(tmp_path / "expired", days=-1)

    async def go() -> None:
        async with scheduler(ours) as there, scheduler(None) as plain, scheduler(expired) as old:
            for at, files in (
                (there, others),
                (there, {**ours, "ca": others["ca"]}),
                (there, {**others, "ca": ours["ca"]}),
                (old, expired),
                (plain.replace("tcp", "tls"), ours),
            ):
                on = address.parse_campaign_address(campaign(tmp_path / "farm.toml", at, files))
                told = await refused(on)
                assert told.startswith(f"{at}: no scheduler of Dask answers: ")
                assert "certificates of one authority" in told
            without = await refused(address.parse_campaign_address(there.replace("tls", "tcp")))
            assert "no scheduler of Dask answers" in without

    asyncio.run(go())


@pytest.mark.parametrize("bad", ["ca", "cert", "key"])
def test_files_that_are_no_certificates_are_named(
    tmp_path: Path, ours: dict[str, Path], bad: str
) -> None:
    (tmp_path / "empty.pem").touch()
    path = campaign(tmp_path / "farm.toml", "tls://a:1", {**ours, bad: tmp_path / "empty.pem"})
    with pytest.raises(UsageError, match=rf"farm.toml: .*tls.{bad}.*empty.pem"):
        address.parse_campaign_address(path)


def test_a_key_of_another_certificate_is_refused(
    tmp_path: Path, ours: dict[str, Path], others: dict[str, Path]
) -> None:
    path = campaign(tmp_path / "farm.toml", "tls://a:1", {**ours, "key": others["key"]})
    with pytest.raises(UsageError, match="are no certificate with its key"):
        address.parse_campaign_address(path)
