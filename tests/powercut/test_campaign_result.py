# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign's folder says: sums over its pieces, classes, and the command for one point."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from campaignmade import (
    make_finding,
    make_head,
    make_load_line,
    make_sampled_point,
    write_campaign_folder,
)
from support.fitting import fits

from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.powercut import campaign, campaignresult, samplefile
from nandlab.report.charts import powercuts
from nandlab.results.sources import (
    describe_filesystem_core,
    has_patched_source,
    list_source_words,
)


@pytest.mark.parametrize(
    ("core", "name"), [("core of 2012", "yaffs2 (core of 2012) on 8 MiB"), ("", "yaffs2 on 8 MiB")]
)
def test_a_campaign_on_yaffs2_tells_its_core(tmp_path: Path, core: str, name: str) -> None:
    place = write_campaign_folder(
        tmp_path, [make_load_line("a load", ". . .", ". .  ")], filesystem="yaffs2", core=core
    )
    found = campaignresult.read_campaign_result(place)
    assert next(campaignresult.format_campaign_result(found)).startswith(name)


def test_pieces_of_a_load_are_put_together(tmp_path: Path) -> None:
    even = make_load_line("a load", ". . .", ". .  ")
    odd = make_load_line("a load", " . L ", " . . ", make_finding("lost", "3:before:1"))
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [even], [odd]))
    assert result.is_complete
    assert (result.points, result.points_held, result.cpu_s) == (9, 8, 3.0)
    assert result.outcomes["a load"] == {"before": "...L.", "subset": ".... "}
    assert (result.cut_operations, result.recorded_operations) == ({"a load": 4}, {"a load": 4})
    (one,) = result.classes.values()
    verb, *options = result.format_repeat_command(one).split(" --")
    assert verb == "nandlab powercut"
    assert dict(option.split(maxsplit=1) for option in options) == {
        **{"fs": "jffs2", "load": "ace1", "chip": "apf27", "partition-mib": "8"},
        **{"board": "apf27", "set": "summaries=on", "title": "'a load'", "point": "3:before:1"},
    }
    text = "\n".join(campaignresult.format_campaign_result(result))
    assert "operations cut: 4/4, in 1 loads" in text
    assert "lost: 1; first: a load: 3:before:1: A" in text


def test_the_command_of_a_campaign_names_its_sources(tmp_path: Path) -> None:
    told_sources = {
        "ubi": {"tree": "package", "options": {"fastmap": True}, "patches": 0},
        "ubifs": {"tree": "folder", "options": {}, "patches": 1},
    }
    words = list_source_words({"sources": told_sources})
    piece = make_load_line("x", "..", "L ", make_finding("lost", "0:subset:1"))
    place = write_campaign_folder(tmp_path, [piece], sources=words, patched=True)
    result = campaignresult.read_campaign_result(place)
    (one,) = result.classes.values()
    command = "--source ubi=package,fastmap=true --source ubifs=FOLDER --patch FILE"
    assert command in result.format_repeat_command(one)
    assert has_patched_source({"sources": told_sources})
    assert (list_source_words({}), has_patched_source({})) == ([], False)
    plain, patched = ({"yaffs2_core": {"origin": f"u-boot 1{end}"}} for end in ("", ", patched"))
    assert (has_patched_source(plain), has_patched_source(patched)) == (False, True)
    assert describe_filesystem_core("yaffs2", plain) == "core of 2012"
    assert describe_filesystem_core("yaffs2", patched) == "core of 2012, patched"


def test_a_load_of_which_a_call_fails_counts_once_for_all_its_pieces(tmp_path: Path) -> None:
    failed = make_finding("call fails", "27:before:1")
    piece: dict[str, Any] = {"load": "a race", "points": 1, "findings": [failed]}
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [piece], [piece]))
    (one,) = result.classes.values()
    assert (one.name, one.count, result.points, result.points_held) == ("call fails", 1, 1, 0)
    assert result.failed == {"a race"}


@pytest.mark.parametrize(("mounts", "more"), [(4, ""), (9, " --mounts 9"), (None, " --mounts 2")])
def test_the_command_of_unstable_cells_mounts_as_often(
    tmp_path: Path, mounts: int | None, more: str
) -> None:
    """A campaign of before this was asked for mounted twice."""
    points = {} if mounts is None else {"points": {"mounts": mounts}}
    piece = make_load_line(
        "a load", ". . .", ". .  ", make_finding("never mounts again", "3:unstable:2")
    )
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [piece], **points))
    (one,) = result.classes.values()
    assert result.format_repeat_command(one).endswith(f"--point 3:unstable:2{more}")


@pytest.mark.parametrize(
    ("name", "point", "more"),
    [
        ("lost", "5:subset:1", ""),
        ("lost", "5:subset:1 recovery 3", " --recovery"),
        ("lost", "5:subset:1 recovery 3, 17", " --recovery"),
        ("another verdict again", "5:subset:1", " --repeat 20"),
        ("another verdict alone", "5:subset:1", ""),
    ],
)
def test_the_command_of_a_point_asks_for_what_showed_it(
    name: str, point: str, more: str, tmp_path: Path
) -> None:
    """A cut of a recovery is found with the recovery cut, another verdict by trying again."""
    piece = [make_load_line("x", "..", ". ", make_finding(name, point))]
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, piece))
    result.head = make_head(points={"repeat": 20, "recovery": True})
    (one,) = result.classes.values()
    assert result.format_repeat_command(one).endswith(f" --title x --point 5:subset:1{more}")


def test_what_only_unstable_cells_show_is_a_class_of_its_own(tmp_path: Path) -> None:
    one = make_load_line("x", "..", "L ", make_finding("lost", "0:subset:1"))
    two = make_load_line("y", "..", "L ", make_finding("lost", "0:unstable:1", 3))
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one, two]))
    assert {name: each.count for name, each in result.classes.items()} == {
        "lost": 1,
        "lost (unstable cells)": 3,
    }
    assert "incomplete: 1 of 2 pieces" in "\n".join(campaignresult.format_campaign_result(result))
    counts = (
        f"{result.points} points at {sum(result.cut_operations.values())} of 2 flash operations"
    )
    assert result.summary.startswith(f"{counts}: 1 ")
    assert result.summary.endswith(", 3 more with unstable cells")
    assert powercuts.render_campaign_chart(result).caption.startswith(f"{result.summary}. ")


def test_letters_are_those_of_the_board() -> None:
    source = (DEVICE / "programs/lib/cuts/verdict.c").read_text()
    names = re.findall(r'"([^"]+)"', source[source.index("verdict_names") : source.index("};")])
    letters = source.partition('verdict_letters[] = "')[2].partition('"')[0]
    assert dict(zip(names, letters, strict=True)) == campaignresult.LETTERS


def test_what_other_cuts_show_too_is_not_excused_by_unstable_cells(tmp_path: Path) -> None:
    """The board tells a load's findings of a class together, by the first."""
    one = make_load_line("x", "....", "..C ", make_finding("check fails", "1:unstable:7", 3))
    one["outcomes"] |= {"unstable": ".CC "}
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one]))
    classes = {name: (each.count, str(each.point)) for name, each in result.classes.items()}
    assert classes == {
        "check fails": (1, "2:subset:7"),
        "check fails (unstable cells)": (2, "1:unstable:7"),
    }


def test_the_picture_has_a_cell_for_each_cut(tmp_path: Path) -> None:
    one = make_load_line("x", "..", "L ", make_finding("lost", "0:subset:1"))
    single = powercuts.render_campaign_chart(
        campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one]))
    )
    assert len(single.datasets["cells"]) == 3
    assert "<svg" in single.svg()
    both = powercuts.render_campaign_chart(
        campaignresult.read_campaign_result(
            write_campaign_folder(tmp_path, [make_load_line("held", "...", ".. "), one])
        )
    )
    rows = [cell["row"] for cell in both.datasets["cells"]]
    assert rows == ["x", "x", "held", "held", "held"]
    assert both.datasets["cells"][0]["outcome"] == "lost"


def test_what_a_part_forbids_is_told_and_which_cuts_it_makes_unphysical(tmp_path: Path) -> None:
    one = {**make_load_line("x", "...", ".. "), "kinds": "po"}
    result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, [one]))
    mlc, slc = (load_noun("chips", part, ChipModel) for part in ("K9GAG08U0M", "apf27"))
    for part, apart in ((mlc, True), (slc, False)):
        result.head = make_head(forbids=part.forbids(), nop=part.geometry.nop)
        text = "\n".join(campaignresult.format_campaign_result(result))
        assert "after a later page" in text
        assert ("not physical: cuts at 1 programs " in text) == apart
    forbidden = load_noun("chips", "nandsim-small", ChipModel).forbids()
    assert forbidden.keys() == {"nop"} and "more than 10 times" in forbidden["nop"]


def test_a_load_that_contradicts_its_oracle_without_a_cut_is_told(tmp_path: Path) -> None:
    one = make_load_line("x", "..L", ".. ", make_finding("lost", "2:before:1"))
    result = campaignresult.read_campaign_result(
        write_campaign_folder(tmp_path, [one, make_load_line("y", ".L.", ".. ")])
    )
    assert {n: (c.count, c.load, str(c.point)) for n, c in result.classes.items()} == {
        "the load contradicts its oracle": (1, "x", "2:before:1"),
        "lost": (1, "x", "2:before:1"),
    }
    assert "nothing was cut" in "\n".join(campaignresult.format_campaign_result(result))


def test_checkers_that_disagree_are_a_finding_of_its_own(tmp_path: Path) -> None:
    out = write_campaign_folder(tmp_path, [make_load_line("x", "...", ".. ")])
    kept = samplefile.SampleFile(tmp_path / "sample-1.jsonl")
    kept.add(make_sampled_point("x", "0:before:1", "held", "held", "holds", True))
    kept.add(make_sampled_point("x", "1:subset:1", "held", "held", "y: is not there", False))
    kept.add(make_sampled_point("x", "1:before:1", "held", "lost", "unread", None))
    with kept.path.open("a") as file:
        file.write('{"load": "cut sho')
    result = campaignresult.read_campaign_result(out)
    assert {n: (c.count, str(c.point), c.message) for n, c in result.classes.items()} == {
        "checkers disagree": (1, "1:subset:1", "board: held; host: y: is not there"),
        "another verdict alone": (1, "1:before:1", "there: held; alone: lost"),
    }
    assert len(result.faults) == 2
    kept.add(
        make_sampled_point("x", "0:subset:1", "held", "held", "holds", True, True, "FATs differ")
    )
    assert (
        campaignresult.read_campaign_result(out).classes["check fails on this machine"].message
        == "FATs differ"
    )
    for line in kept.path.read_text().splitlines():
        fits("powercut-sample", line)
    more = samplefile.SampleFile(kept.path)
    more.add(make_sampled_point("x", "2:before:1", "held", "held", "holds", True))
    assert len(samplefile.SampleFile(kept.path).points) == 5


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no powercut\.json"):
        campaignresult.read_campaign_result(tmp_path)
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        campaign.prepare_campaign_folder(tmp_path, make_head())


def test_a_campaign_without_a_flash_operation_is_told_and_does_not_hold(tmp_path: Path) -> None:
    """But one of its loads may be without one, and one that is not over says nothing yet."""
    refused = {"load": "y", "points": 0, "refused": "Not a directory", "findings": []}
    none, some = make_load_line("x", ".", " "), make_load_line("z", "..", ". ")
    died = {"load": "w", "points": 1, "findings": [make_finding("kernel crash", "0:subset:1")]}
    for pieces, nothing in [
        *(([[none], [refused]], True), ([[none], [some]], False)),
        *(([[none]], False), ([[none], [died]], False)),
    ]:
        for left in tmp_path.glob("*"):
            left.unlink()
        result = campaignresult.read_campaign_result(write_campaign_folder(tmp_path, *pieces))
        assert result.has_no_operations == nothing
        assert (
            "nothing was tried: no load makes"
            in "\n".join(campaignresult.format_campaign_result(result))
        ) == nothing


def test_a_sample_of_an_older_form_is_refused(tmp_path: Path) -> None:
    write_campaign_folder(tmp_path, [make_load_line("x", "...", ".. ")])
    old = {"load": "x", "point": "0:before:1", "campaign_held": True, "alone_held": True}
    (tmp_path / "sample-1.jsonl").write_text(json.dumps(old) + "\n")
    with pytest.raises(UsageError, match="campaign: must be given"):
        campaignresult.read_campaign_result(tmp_path)
