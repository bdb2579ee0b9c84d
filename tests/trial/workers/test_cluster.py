# SPDX-License-Identifier: GPL-2.0-or-later
"""A run over Dask's workers is the plain run, whatever becomes of some workers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest
from distributed import Client, LocalCluster, get_worker
from distributed.comm.core import CommClosedError
from support.smallruns import fake, read

from nandlab.analysis.differences.compare import compare_runs
from nandlab.base.errors import UsageError
from nandlab.board.jobs.fake import FakeBoard
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.trial import runner
from nandlab.trial.workers import batch, cluster, worker
from nandlab.trial.workers.worker import PackagesMissing, run_batch


@pytest.fixture
def specs(tmp_path: Path) -> list[TrialSpec]:
    return study.plan_trials(read(tmp_path))


def plain(home: Path, specs: list[TrialSpec]) -> RunFolder:
    board = fake()
    folder = runner.open_run_folder(runner.make_run_head(read(home), specs, board), home / "plain")
    asyncio.run(
        runner.run_trials(folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher())
    )
    return folder


def spread(home: Path, specs: list[TrialSpec], workers: int = 2) -> RunFolder:
    """A run over workers that are threads of this process."""
    board = fake()
    folder = runner.open_run_folder(runner.make_run_head(read(home), specs, board), home / "spread")

    async def go() -> None:
        async with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=False,
                dashboard_address=None,
                asynchronous=True,
            ) as there,
            Client(there, asynchronous=True) as client,
        ):
            model = specs[0].virtual
            engine = cluster.Cluster(
                client, board, batch.make_board_request(board, model, {}), workers, run_batch
            )
            await runner.run_trials(folder, specs, board, engine, SilentWatcher())

    asyncio.run(go())
    return folder


def lacking(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Makes workers lack the board until one is sent a board file, which may be packed once.

    What workers took in, in turn.
    """
    packed: list[Path] = []
    taken: list[bytes] = []

    def prepared(asked: str) -> FakeBoard:
        if not taken:
            raise PackagesMissing
        return fake()

    def pack(model: object, lock: object, file: Path) -> None:
        assert not packed
        packed.append(file)
        file.write_bytes(b"a board")

    monkeypatch.setattr(worker, "_prepare_board", prepared)
    monkeypatch.setattr(cluster, "write_board_file_from_cache", pack)
    monkeypatch.setattr(
        "nandlab.board.kit.packages.import_board_packages",
        lambda file: taken.append(file.read_bytes()),
    )
    return taken


def test_a_run_over_workers_is_the_plain_run_and_runs_each_trial_once(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = fake()
    monkeypatch.setattr(worker, "_prepare_board", lambda asked: board)
    assert compare_runs(spread(tmp_path, specs, 3), plain(tmp_path, specs)) == []
    assert len(board.jobs) == len(specs)


def test_a_worker_that_lacks_the_board_is_sent_it_once(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = lacking(monkeypatch)
    assert compare_runs(spread(tmp_path, specs), plain(tmp_path, specs)) == []
    assert taken == [b"a board"] * 2


def test_a_worker_that_cannot_keep_the_board_is_let_go(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(asked: str) -> FakeBoard:
        raise PackagesMissing

    monkeypatch.setattr(worker, "_prepare_board", never)
    monkeypatch.setattr(
        cluster, "write_board_file_from_cache", lambda model, lock, file: file.write_bytes(b"")
    )
    monkeypatch.setattr("nandlab.board.kit.packages.import_board_packages", lambda file: None)
    with pytest.raises(UsageError, match="does not keep the board's packages"):
        spread(tmp_path, specs)


def test_a_worker_whose_disk_is_full_when_it_is_sent_the_board_is_let_go(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    sent: list[Path] = []

    def take_in(file: Path) -> None:
        sent.append(file)
        if len(sent) == 1:
            raise OSError(28, "No space left on device", "/cache")

    def prepared(asked: str) -> FakeBoard:
        board = get_worker().plugins.get(worker.PackagePlugin.name)
        if not isinstance(board, worker.PackagePlugin) or board.failed:
            raise PackagesMissing
        return fake()

    monkeypatch.setattr(worker, "_prepare_board", prepared)
    monkeypatch.setattr(
        cluster, "write_board_file_from_cache", lambda model, lock, file: file.write_bytes(b"")
    )
    monkeypatch.setattr("nandlab.board.kit.packages.import_board_packages", take_in)
    assert compare_runs(spread(tmp_path, specs), plain(tmp_path, specs)) == []
    (told,) = [line for line in capfd.readouterr().err.splitlines() if "is let go" in line]
    assert told.endswith("No space left on device: '/cache'")
    assert len(sent) == 2


def test_a_worker_that_cannot_run_trials_is_let_go_and_the_others_do_its_part(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def prepared(asked: str) -> FakeBoard:
        if get_worker().name == 0:
            raise UsageError("QEMU is not there", "nor are packages")
        return fake()

    monkeypatch.setattr(worker, "_prepare_board", prepared)
    assert compare_runs(spread(tmp_path, specs, 3), plain(tmp_path, specs)) == []
    told = [line for line in capfd.readouterr().err.splitlines() if "is let go" in line]
    assert len(told) == 1
    assert "let go: QEMU is not there; nor" in told[0]


def test_a_run_that_no_worker_can_do_ends_with_every_reason(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(asked: str) -> FakeBoard:
        raise OSError(28, "No space left on device", "/cache")

    monkeypatch.setattr(worker, "_prepare_board", full)
    with pytest.raises(UsageError, match="no worker is left") as raised:
        spread(tmp_path, specs)
    assert str(raised.value).count("No space left on device: '/cache'") == 2
    assert str(raised.value).endswith(": what has ended is kept")


def test_a_connection_that_is_lost_and_back_loses_no_trial(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = fake()
    monkeypatch.setattr(worker, "_prepare_board", lambda asked: board)
    lost: list[Client] = []
    back: list[str] = []
    threads, waits = cluster.Cluster._threads, cluster.Cluster._back

    async def losing(self: cluster.Cluster) -> int:
        told = await threads(self)
        if self._took.within(1e9) > 1 and not lost:  # a trial has ended
            lost.append(self._client)
            there = self._client.scheduler_comm
            assert there is not None
            there.comm.abort()
        return told

    async def waiting(self: cluster.Cluster) -> None:
        back.append(self._client.status)
        await waits(self)

    monkeypatch.setattr(cluster.Cluster, "_threads", losing)
    monkeypatch.setattr(cluster.Cluster, "_back", waiting)
    assert compare_runs(spread(tmp_path, specs), plain(tmp_path, specs)) == []
    assert lost
    assert back


class Lost:
    """A client whose connection was lost in the middle of an answer."""

    def __init__(self, then: str) -> None:
        self.status, self._then = "running", then

    async def answer(self, *_: object, **__: object) -> None:
        self.status = self._then
        raise CommClosedError("in <TCP (closed) ...>: Connection reset by peer")

    nthreads = register_plugin = retire_workers = answer


@pytest.mark.parametrize("asks", ["_threads", "_send_board", "_let_go"])
def test_a_connection_that_is_lost_in_an_answer_ends_a_run_if_the_scheduler_is_gone(
    specs: list[TrialSpec], monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    board = fake()
    monkeypatch.setattr(
        cluster, "write_board_file_from_cache", lambda model, lock, file: file.write_bytes(b"")
    )
    given = [batch.WorkerAnswer(by="tcp://w")] if asks == "_let_go" else []

    def of(then: str) -> None:
        asked = batch.make_board_request(board, specs[0].virtual, {})
        engine = cluster.Cluster(cast("Client", Lost(then)), board, asked, 1, run_batch)
        asyncio.run(getattr(engine, asks)(*given))

    of("running")  # it is back: asked again, in its time
    with pytest.raises(UsageError, match="the scheduler is gone; run again"):
        of("closed")


def test_workers_with_another_nandlab_board_or_program_run_nothing(
    tmp_path: Path,
    specs: list[TrialSpec],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = fake()
    monkeypatch.setattr(worker, "_prepare_board", lambda asked: board)
    with monkeypatch.context() as other:
        other.setattr(worker, "hash_code", lambda: "other")
        with pytest.raises(UsageError, match="it has another nandlab"):
            spread(tmp_path, specs)
    with monkeypatch.context() as other:
        other.setattr(worker, "_prepare_board", lambda asked: FakeBoard(key="another"))
        with pytest.raises(UsageError, match="its board is another"):
            spread(tmp_path, specs)
    with monkeypatch.context() as other:
        other.setattr(worker, "hash_trial", lambda spec, board: "another")
        with pytest.raises(UsageError, match="would be another there"):
            spread(tmp_path, specs)
    assert board.jobs == []


@pytest.mark.parametrize(("seconds", "fit"), [(0.0, 10_000), (2.0, 5), (6.0, 1), (60.0, 0)])
def test_a_batch_has_as_many_trials_as_end_within_a_time(
    tmp_path: Path, specs: list[TrialSpec], seconds: float, fit: int
) -> None:
    took = cluster.TrialDurations()
    assert took.within(10) == 1
    result = next(plain(tmp_path, specs).trials())
    assert result.host is not None
    host = result.host.model_copy(update={"seconds": seconds})
    took.add(result.model_copy(update={"host": host}))
    assert took.within(10) == fit
