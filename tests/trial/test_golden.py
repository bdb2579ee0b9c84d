# SPDX-License-Identifier: GPL-2.0-or-later
"""No figure of the board moves unseen: the golden set is the same to the nanosecond."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest
from support import goldenset, lock, samples
from support.smalltrial import WRITABLE

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.instrument import list_measures
from nandlab.trial.instruments.instruments import list_instruments, list_trial_instruments

TRIALS = goldenset.planned("apf27")
NO_NFTL = {"plain-nftl-fat32"}
LACKED = {"apf27-5.10": NO_NFTL, "apf27-arm": NO_NFTL}
"""Trials for which a board's kernel lacks something."""


@pytest.mark.board
@pytest.mark.parametrize("name", TRIALS)
def test_no_figure_moved(board: QemuBoard, name: str) -> None:
    on = board.machine.model.name
    lock.need_locked(on)
    before = goldenset.kept(on)
    if not before:
        pytest.skip(f"{on} has no golden figures; make golden BOARDS={on} makes them")
    spec = goldenset.planned(on)[name]
    if lacks := goldenset.lacked(spec, board):
        assert name not in before
        pytest.skip(lacks)
    told = goldenset.moved(name, before[name], goldenset.run(spec, board))
    assert not told, f"\n{told}\nif the change explains this: make golden BOARDS={on}"


def test_each_file_system_is_in_it() -> None:
    assert {spec.filesystem.name for spec in TRIALS.values()} == set(WRITABLE)
    plain = {spec.filesystem.name for spec in TRIALS.values() if not spec.measure}
    assert plain == set(WRITABLE), "an instrument takes board time"


def test_each_instrument_is_in_it() -> None:
    measured = {
        instrument.name for spec in TRIALS.values() for instrument in list_trial_instruments(spec)
    }
    assert measured == {instrument.name for instrument in list_instruments()}
    asked = {name for spec in TRIALS.values() for name in spec.measure}
    assert asked == set(list_measures())


@pytest.mark.parametrize("board", goldenset.BOARDS)
def test_a_board_has_figures_of_every_trial_and_nothing_else(board: str) -> None:
    kept = goldenset.kept(board)
    assert kept, f"make golden BOARDS={board}"
    assert set(goldenset.planned(board)) - set(kept) == LACKED.get(board, set())
    assert set(kept) <= set(goldenset.planned(board))
    for figures in kept.values():
        assert figures["status"] == "ok"
        assert figures["steps"] and figures["phases"]
        assert not {"key", "sha256", "id", "provenance"} & set(words(figures))


def words(value: object) -> Iterator[str]:
    """All keys in a value."""
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words(inner)


def test_each_instrument_has_figures_of_its_own() -> None:
    kept = goldenset.kept("apf27")
    told = {name for figures in kept.values() for name in figures.get("measured", {})}
    errorless = {"bits"}  # zeros are left out
    assert told == {instrument.name for instrument in list_instruments()} - errorless


def test_one_nanosecond_is_found_and_told() -> None:
    trial = samples.trial()
    before = json.loads(json.dumps(goldenset.figures(trial)))
    assert goldenset.moved("plain-x", before, trial) == ""
    changed = copy.deepcopy(before)
    changed["phases"][1]["ns"] -= 1
    phase = changed["phases"][1]["name"]
    said = goldenset.moved("plain-x", changed, trial)
    assert said.startswith("plain-x: 1 values moved, the first is ")
    (row,) = (line for line in said.splitlines() if line.startswith(f"phase.{phase} "))
    assert " +1 (" in row


def test_what_is_new_or_of_another_form_is_told() -> None:
    trial = samples.trial()
    assert goldenset.moved("plain-x", {}, trial) == "plain-x: it is new"
    before = json.loads(json.dumps(goldenset.figures(trial)))
    before["steps"][0]["colour"] = "red"
    assert ".colour: 'red' / (absent)" in goldenset.moved("plain-x", before, trial)
