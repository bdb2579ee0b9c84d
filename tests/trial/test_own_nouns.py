# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of a project's own chip and workload is of use where the project's catalog is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.commandline import run_command
from support.smallruns import TEXT
from veryboard import Place, placed, refused, very_board

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import is_run_noun, list_noun_names, load_noun
from nandlab.catalog.workload import WorkloadModel
from nandlab.cli.campaigns import make_campaign_request
from nandlab.cli.campaignsettings import use_nouns_of_run
from nandlab.plan.medium import Medium
from nandlab.powercut import workloads
from nandlab.results.cutsummaries import read_cut_summaries
from nandlab.results.nouns import collect_run_own_nouns, collect_wanted_nouns, list_run_own_nouns

OWN = TEXT.replace('name = "ffsmark"', 'name = "mine"').replace('part = "apf27"', 'part = "MINE"')
SLOWER = "t_r_ns = 31000"


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    """Beside a run of an own chip and workload, in a folder that has no catalog."""
    place = placed(tmp_path, monkeypatch, capsys)
    project = place.elsewhere("project")
    for kind, old, new in (("chips", "apf27", "MINE"), ("workloads", "ffsmark", "mine")):
        text = (CATALOG / kind / f"{old}.toml").read_text().replace(f'"{old}"', f'"{new}"', 1)
        if kind == "chips":
            lines = [SLOWER if line.startswith("t_r_ns") else line for line in text.splitlines()]
            text = "\n".join(lines)
        (project / "catalog" / kind).mkdir(parents=True)
        (project / "catalog" / kind / f"{new}.toml").write_text(text)
    place.ran(very_board(), OWN)
    there = place.elsewhere("empty")
    shutil.move(project / "run", there / "run")
    return place


def test_the_run_keeps_them_and_nothing_shipped(place: Place) -> None:
    head = place.run.head()
    assert list_run_own_nouns(head) == {("chips", "MINE"), ("workloads", "mine")}
    found = collect_run_own_nouns(head, place.run.trials())
    assert found.keys() == list_run_own_nouns(head)
    assert found["chips", "MINE"]["timing"]["t_r_ns"] == 31000


def test_a_noun_that_was_kept_in_two_forms_is_not_taken() -> None:
    wanted = {("workloads", "mine")}
    forms = [{"workload": {"name": "mine", "steps": steps}} for steps in ([], [1])]
    assert collect_wanted_nouns(wanted, iter(forms[:1])) == {
        ("workloads", "mine"): forms[0]["workload"]
    }
    assert collect_wanted_nouns(wanted, iter(forms)) == {}


def media(load: str) -> list[Medium]:
    """The media of the run's study, as powercut has them."""
    found = make_campaign_request(
        "run", fs=None, loads=[load], settings=[], chip="", partition_mib=None, board=None
    )
    return list(found.media)


def test_powercut_takes_the_runs_chip(place: Place) -> None:
    with pytest.raises(UsageError, match="no 'MINE'"):
        media("ace1")
    with use_nouns_of_run("run"):
        found = media("ace1")
    assert {on.chip.timing.t_r_ns for on in found} == {31000}
    assert {on.filesystem.name for on in found} == {"jffs2", "ubifs"}
    assert not is_run_noun("chips", "MINE")


def test_a_command_that_somebody_sent_is_not_run_on_this_machine(place: Place) -> None:
    with use_nouns_of_run("run"):
        assert workloads.is_workload_load_name("mine")
        on = media("mine")[0]
        with pytest.raises(UsageError, match="its commands run on this machine"):
            workloads.record_workload("mine", on, None)  # type: ignore[arg-type]


def test_a_shipped_noun_stays_todays(place: Place) -> None:
    with use_nouns_of_run("run"):
        assert load_noun("chips", "MINE", ChipModel).timing.t_r_ns == 31000
        assert load_noun("workloads", "mine", WorkloadModel).name == "mine"
        assert {"MINE", "apf27"} <= set(list_noun_names("chips"))
        assert not is_run_noun("chips", "apf27")


def test_reproduce_runs_it_again_from_folder_and_file(place: Place) -> None:
    file = place.published()
    for path in (place.run.path, file):
        board = very_board()
        ended = place.nandlab(board, "reproduce", path, "--out", f"again-{path.name}")
        assert (ended.status, ended.out) == (0, ""), ended
        assert ended.err.splitlines()[-1] == "no difference: 4 trials"
        assert any("t_r_ns=31000" in str(step) for step in board.jobs[0].steps)


def test_a_chip_that_has_changed_since_is_not_taken_for_the_runs(place: Place) -> None:
    chips = place.folder / "catalog" / "chips"
    chips.mkdir(parents=True)
    text = (CATALOG / "chips" / "apf27.toml").read_text()
    (chips / "MINE.toml").write_text(text.replace('"apf27"', '"MINE"', 1))
    board = very_board()
    assert place.nandlab(board, "reproduce", place.run.path).status == 0
    assert any("t_r_ns=31000" in str(step) for step in board.jobs[0].steps)


def test_a_figures_file_is_shown_with_them(place: Place) -> None:
    file = place.published()
    words = ("--figure", "chip.reads", "--format", "json")
    of_file, of_run = (
        place.nandlab(very_board(), "show", path, *words) for path in (file, place.run.path)
    )
    assert json.loads(of_file.out) == json.loads(of_run.out) != []


def test_reprice_takes_the_runs_chip(place: Place) -> None:
    ended = place.nandlab(very_board(), "reprice", place.run.path, "--to", "MINE", "--json")
    assert ended.status == 0, ended
    (first, *_) = json.loads(ended.out)
    assert first["predicted_ns"]["median"] in (None, first["measured_ns"]["median"])
    there = refused(place.nandlab(very_board(), "reprice", place.run.path, "--to", "OTHER"))
    assert "no 'OTHER'" in there


LOADS = """
mkdir A
create A/x
load grow
write A/x 0 9000
sync
"""


@pytest.mark.board
@pytest.mark.parametrize(
    ("verb", "faulty"), [("faults --kinds program", True), ("powercut", False)]
)
def test_a_campaign_beside_the_run_has_its_chip(place: Place, verb: str, faulty: bool) -> None:
    (place.folder / "grow.loads").write_text(LOADS)
    words = f"{verb} run --load grow.loads --partition-mib 8 --points 4 --jobs 1"
    ended = run_command(*words.split(), cwd=place.folder, deadline_s=290)
    assert ended.returncode in (0, 1), ended.stderr
    found = read_cut_summaries(place.run.path)
    assert {(c.filesystem, c.chip, c.faulty) for c in found} == {
        ("jffs2", "MINE", faulty),
        ("ubifs", "MINE", faulty),
    }
    assert all(c.points > 0 for c in found)
