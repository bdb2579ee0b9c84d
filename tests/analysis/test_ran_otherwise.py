# SPDX-License-Identifier: GPL-2.0-or-later
"""What two runs did not have alike is named before figures, and moves no configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import samples

from nandlab.analysis.differences import setupdiff
from nandlab.analysis.differences.compare import Difference, compare_runs
from nandlab.analysis.differences.figurechanges import make_run_comparison
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.results.record import Trial

BOARD = load_noun("boards", "apf27", BoardModel)
IDENTITY: dict[str, Any] = {
    "board": BOARD.model_dump(mode="json", exclude={"summary"}),
    "kernel": "6.1.0-50-amd64",
    "lock": {"guest": {"linux_1_all.deb": "ab"}},
    "parts": {"init": "1", "simnand.ko": "2"},
}


def named(other: dict[str, Any]) -> list[str]:
    return list(
        setupdiff.format_board_differences(setupdiff.compare_board_identities(IDENTITY, other))
    )


def test_a_key_at_its_default_is_no_difference() -> None:
    short = BOARD.model_dump(mode="json", exclude={"summary"}, exclude_defaults=True)
    assert short != IDENTITY["board"]
    assert named({**IDENTITY, "board": short}) == []


def test_model_kernel_packages_and_parts_have_a_line_each() -> None:
    other = {
        "board": {**IDENTITY["board"], "ram_mib": 192},
        "kernel": "6.12.1-amd64",
        "lock": {"guest": {"linux_2_all.deb": "cd"}},
        "parts": {"init": "1", "simnand.ko": "9"},
    }
    assert named(other) == [
        "board: ram_mib 128, now 192",
        "kernel: 6.1.0-50-amd64, now 6.12.1-amd64",
        "packages of the board: guest.linux_1_all.deb, guest.linux_2_all.deb",
        "other parts of the board: parts.simnand.ko",
    ]


def with_chip(trial: Trial, t_r_ns: int) -> Trial:
    chip = load_noun("chips", "apf27", ChipModel).model_dump(mode="json")
    chip["timing"]["t_r_ns"] = t_r_ns
    return trial.add_sources({**trial.sources, "chip": chip})


def test_another_chip_is_named_once_and_moves_nothing_by_itself(tmp_path: Path) -> None:
    trials = [samples.trial(fs, seed=s) for fs in ("jffs2", "ubifs") for s in (1, 2)]
    a = samples.folder(tmp_path / "a", [with_chip(t, 25_000) for t in trials])
    b = samples.folder(tmp_path / "b", [with_chip(t, 50_000) for t in trials])
    found = make_run_comparison(a, b)
    (line,) = found.setup_differences
    assert line.startswith("chip ")
    assert "timing.t_r_ns 25000, now 50000" in line
    assert line.endswith("(4 trials)")
    assert [one.changed_figures for one in found.compared_configurations] == [(), ()]
    assert found.difference_count == 0


def test_all_that_differs_is_handed_on_and_counted(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2, 3)]
    change = {"bytes": {"read": 1, "written": 2}, "options": {}}
    moved = [trials[0], *(t.model_copy(update=change) for t in trials[1:])]
    a, b = samples.folder(tmp_path / "a", trials), samples.folder(tmp_path / "b", moved)
    handed: list[Difference] = []
    compared = make_run_comparison(a, b, handed.extend)
    assert handed == compare_runs(a, b)
    assert compared.difference_count == len(handed) > 2
    assert compared == make_run_comparison(a, b)


def test_a_board_is_told_apart_from_figures(tmp_path: Path) -> None:
    trials = [samples.trial(seed=s) for s in (1, 2)]
    a = samples.folder(tmp_path / "a", trials, provenance=IDENTITY)
    b = samples.folder(tmp_path / "b", trials, provenance={**IDENTITY, "kernel": "6.12"})
    found = make_run_comparison(a, b)
    assert found.setup_differences == ["kernel: 6.1.0-50-amd64, now 6.12"]
    assert found.difference_count == 0
    assert [one.changed_figures for one in found.compared_configurations] == [()]
    assert make_run_comparison(a, a).setup_differences == []
