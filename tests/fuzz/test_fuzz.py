# SPDX-License-Identifier: GPL-2.0-or-later
"""The kept cases and the first few of each target; `make fuzz` goes on from there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from fuzz import batch, corpus, sanitized, values
from fuzz.batch import Batch
from fuzz.target import Target, case, targets
from fuzz.targets import init
from nandlab.base.errors import NandlabError

ROOT = Path(__file__).resolve().parents[2]
Found = dict[str, list[str]]

pytestmark = pytest.mark.xdist_group("fuzz")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What a quick round of all targets finds, by target."""
    told = tmp_path_factory.mktemp("fuzz") / "found.json"
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    argv = [sys.executable, "-m", "fuzz", "--quick", "--json", str(told)]
    subprocess.run(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False)
    found: Found = {name: [] for name in targets()}
    for name, label, kind, what in json.loads(told.read_text()):
        found[name].append(f"{kind}; again: make fuzz TARGETS={name} CASE={label}\n{what}")
    return found


@pytest.mark.parametrize("name", targets())
def test_each_case_succeeds_or_is_refused(name: str, found: Found) -> None:
    assert found[name] == []


def ended(take: Callable[[], object], monkeypatch: pytest.MonkeyPatch, cpu_s: float = 1) -> Batch:
    """A batch of three cases, of which the second is taken so."""

    def one(folder: Path) -> None:
        if (folder / "n").read_bytes() == b"1":
            take()

    seeds = iter((b"0", b"1", b"2"))
    made = Target(lambda _: {"n": next(seeds)}, one, cpu_s=cpu_s)
    monkeypatch.setitem(targets(), "made", made)
    found = batch.begin("made", range(3), 60)
    while found.hear():
        pass
    return found


def refuse() -> None:
    raise NandlabError("not that")


def spin() -> None:
    while True:
        pass


def grow() -> None:
    assert bytearray(batch.MEMORY_MIB + 50 << 20)


@pytest.mark.parametrize(
    ("take", "kind", "rest"),
    [
        (refuse, None, []),
        (lambda: int("x"), "ValueError in", []),
        (grow, "memory", []),
        (spin, "SIGPROF", [2]),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL", [2]),
    ],
)
def test_each_end_of_a_case_is_known(
    take: Callable[[], object], kind: str | None, rest: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ended(take, monkeypatch)
    told = [(f.case, f.kind[: len(kind or "")]) for f in one.findings]
    assert told == ([(1, kind)] if kind else [])
    assert list(one.rest) == rest
    assert one.done == 3 - len(rest)
    assert not one.folder.exists()


def processes(below: Path) -> list[Path]:
    """The folders that processes are in, of those below one."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found.append(each.readlink())
    return [path for path in found if path.is_relative_to(below)]


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_step_that_hangs_ends_with_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    sanitized.init()
    steps = {"job/steps": b"hangs\t9\thang 1\n", "root/dev/mem": init.MEMORY}
    files = {**init.draw(Random(1)), **steps}
    monkeypatch.setitem(targets(), "made", Target(lambda _: files, init.take))
    made = batch.begin("made", range(1000), 60)
    wait_until(lambda: made.folder / "case" / "job" in processes(made.folder))
    made.abandon()
    wait_until(lambda: not processes(made.folder))


def test_a_seed_is_a_case_and_another_seed_another() -> None:
    for name in targets():
        assert case(name, 5) == case(name, 5)
        assert len({repr(case(name, n)) for n in range(9)}) > 5


def test_a_kept_case_is_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "FOLDER", tmp_path)
    files = {"a/b": b"\x00x", "c": b""}
    corpus.keep("made", "7", files)
    assert batch.files("made", "7") == files


def test_changes_reach_each_kind_of_value() -> None:
    sound = {"n": 1, "s": "x", "l": [1, {"d": None}]}
    made = [values.changed(sound, Random(n)) for n in range(300)]
    assert sound == {"n": 1, "s": "x", "l": [1, {"d": None}]}
    of = [m for m in made if isinstance(m, dict)]
    assert {type(m["n"]) for m in of if "n" in m} >= {int, str, list, dict, type(None), float}
    assert [m for m in of if set(m) != set(sound)]
    assert [m for m in of if isinstance(m.get("l"), list) and m["l"] and m["l"] != sound["l"]]
    deep = [values.as_json(sound, Random(n)) for n in range(300)]
    assert max(text.count(b"[") for text in deep) > 50_000
