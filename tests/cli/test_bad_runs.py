# SPDX-License-Identifier: GPL-2.0-or-later
"""Verbs that read a run's folder, pointed at damaged ones and at what is none."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from refusing import refused

from nandlab.results.folder import RunFolder
from nandlab.results.seals import unseal_json

pytestmark = pytest.mark.usefixtures("away")

# What a run's folder may have suffered: each makes a damage in a copy of a good one.

Damage = Callable[[RunFolder], None]


def a_trial(run: RunFolder) -> Path:
    return run.trial_path(run.head().trials[0])


def a_source(run: RunFolder) -> Path:
    return next((run.path / "provenance").iterdir())


def head_of(run: RunFolder) -> Path:
    return run.path / "run.json"


def written(place: Callable[[RunFolder], Path], content: bytes) -> Damage:
    def damage(run: RunFolder) -> None:
        place(run).write_bytes(content)

    return damage


def flipped(place: Callable[[RunFolder], Path], at: float) -> Damage:
    """One bit of the file is another, at this share of it."""

    def damage(run: RunFolder) -> None:
        path = place(run)
        content = bytearray(path.read_bytes())
        content[int(at * len(content))] ^= 4
        path.write_bytes(content)

    return damage


def a_folder(place: Callable[[RunFolder], Path]) -> Damage:
    def damage(run: RunFolder) -> None:
        path = place(run)
        path.unlink()
        path.mkdir()

    return damage


def unsealed(change: Callable[[dict[str, object]], object]) -> Damage:
    """A trial from before there were seals, with something in it that no trial has."""

    def damage(run: RunFolder) -> None:
        path = a_trial(run)
        told = unseal_json(path.read_bytes())
        change(told)
        path.write_text(json.dumps(told))

    return damage


def _negative(told: dict[str, object]) -> None:
    told["steps"] = [{"name": "load", "ns": -5}]


def _take_the_next(run: RunFolder) -> None:
    a_trial(run).write_bytes(run.trial_path(run.head().trials[1]).read_bytes())


def gone(place: Callable[[RunFolder], Path]) -> Damage:
    return lambda run: place(run).unlink()


DAMAGES: dict[str, Damage] = {
    "head empty": written(head_of, b""),
    "head no JSON": written(head_of, b"not JSON"),
    "head null": written(head_of, b"null"),
    "head a list": written(head_of, b"[1]"),
    "head not UTF-8": written(head_of, b'{"id": "\xff"}'),
    "head deep": written(head_of, b"[" * 100_000),
    "head of nothing": written(head_of, b"{}"),
    "head of another format": written(head_of, b'{"format": 99}'),
    "head of format 1": written(head_of, b'{"format": 1}'),
    "head's bit": flipped(head_of, 0.5),
    "head's last bit": flipped(head_of, 0.99),
    "head a folder": a_folder(head_of),
    "head gone": gone(head_of),
    "trial empty": written(a_trial, b""),
    "trial cut": written(a_trial, b'{"format":2,"id":"jffs2'),
    "trial null": written(a_trial, b"null"),
    "trial not UTF-8": written(a_trial, b'{"id": "\xff"}'),
    "trial a string": written(a_trial, b'"x"'),
    "trial of format 1": written(a_trial, b'{"format": 1}'),
    "trial of odd format 1": written(a_trial, b'{"format": 1, "workload": 5, "ops": 7}'),
    "trial's first bit": flipped(a_trial, 0),
    "trial's bit": flipped(a_trial, 0.6),
    "trial's seal": flipped(a_trial, 0.9999),
    "trial a folder": a_folder(a_trial),
    "trial another's": _take_the_next,
    "trial's time negative": unsealed(_negative),
    "trial's id another": unsealed(lambda told: told.update(id="x")),
    "trial's key unknown": unsealed(lambda told: told.update(fases=[])),
    "trial's phases no list": unsealed(lambda told: told.update(phases=5)),
    "trial's status odd": unsealed(lambda told: told.update(status="fine")),
    "trial's provenance odd": unsealed(lambda told: told.update(provenance=7)),
    "source gone": gone(a_source),
    "source empty": written(a_source, b""),
    "source's bit": flipped(a_source, 0.5),
    "source another": written(a_source, b"{}"),
}
READERS = {
    "show": ["show", "RUN"],
    "show json": ["show", "RUN", "--json"],
    "show a figure": ["show", "RUN", "--figure", "chip.erases"],
    "report": ["report", "RUN"],
    "compare": ["compare", "RUN", "RUN"],
    "advise": ["advise", "RUN"],
    "reprice": ["reprice", "RUN"],
    "publish": ["publish", "RUN", "-o", "figures.json"],
    "merge": ["merge", "merged", "RUN"],
    "reproduce": ["reproduce", "RUN"],
    "check": ["check", "--against", "RUN", "--run", "RUN"],
}
"""Verbs that read a run's folder."""


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run(
    verb: str, damage: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, "run")
    DAMAGES[damage](RunFolder(Path("run")))
    said = refused(capsys, [word.replace("RUN", "run") for word in READERS[verb]])
    assert len(said.splitlines()) == 1
    assert said.startswith("nandlab: run"), said
    if "trial" in damage:
        assert said.endswith(": remove it and run again\n"), said


NO_RUNS = ("nowhere", "file", "empty", "file/below", "/proc/nowhere", "/dev/null", "x" * 300, "é\n")


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("path", NO_RUNS)
def test_what_is_no_run(verb: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("x")
    Path("empty").mkdir()
    refused(capsys, [path if word == "RUN" else word for word in READERS[verb]])


LAST = math.nextafter(1, 0)
"""The file's last byte, the end of its line."""


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
@example(at=LAST, bit=0, cut=False)
@example(at=LAST, bit=0, cut=True)
def test_any_damage_of_a_trial(
    at: float, bit: int, cut: bool, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("run").exists():
        shutil.copytree(whole, "run")
    path = a_trial(RunFolder(Path("run")))
    before = path.read_bytes()
    content = bytearray(before)
    content[int(at * len(content))] ^= 1 << bit
    path.write_bytes(content[: int(at * len(content))] if cut else content)
    try:
        said = refused(capsys, ["show", "run"])
    finally:
        path.write_bytes(before)
    assert said.endswith(": remove it and run again\n")
    assert len(said.splitlines()) == 1
