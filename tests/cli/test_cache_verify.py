# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab cache verify``: damage to the cache and to kept trials is told, removed, made again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.base.cache import make_entry
from nandlab.base.errors import UsageError
from nandlab.cli.main import app
from nandlab.results.folder import RunFolder
from nandlab.results.store import Store

pytestmark = pytest.mark.usefixtures("away")


def verify(*words: str) -> tuple[int, list[str]]:
    """The exit status, and the lines of standard output but for the last."""
    result = CliRunner().invoke(app, ["cache", "verify", *words])
    return result.exit_code, result.stdout.splitlines()[:-1]


def filled() -> Path:
    def make(work: Path) -> None:
        (work / "content").write_text("x")

    return make_entry("things", 1, make)


def test_a_whole_cache_is_well() -> None:
    filled()
    assert verify() == (0, [])


def test_damage_is_told_and_gone() -> None:
    folder = filled()
    (folder / "content").write_text("y")
    status, (line,) = verify()
    assert status == 1
    assert line.startswith(f"things/{folder.name}: ")
    assert not folder.exists()
    assert verify() == (0, [])


@pytest.mark.parametrize("kind", ["trials", "provenance"])
def test_a_kept_trial_is_read_too(whole: Path, kind: str, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(whole, tmp_path / "run"))
    store = Store(tmp_path / "store")
    store.tidy()
    (store.path / "artefacts").mkdir()
    (store.path / "artefacts" / ("0" * 64)).write_bytes(b"of another content")
    assert verify("--store", str(store.path))[0] == 1
    for trial in folder.trials():
        store.put(folder, trial.model_copy(update={"key": f"{trial.id:0>64}"}))
    assert verify("--store", str(store.path)) == (0, [])
    path = min((store.path / kind).iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)
    status, lines = verify("--store", str(store.path))
    assert (status, len(lines), path.exists()) == (1, 1, False)


def test_a_store_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(app, ["cache", "verify", "--store", "nowhere"])
    assert isinstance(result.exception, UsageError)
