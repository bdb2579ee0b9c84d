# SPDX-License-Identifier: GPL-2.0-or-later
"""nandlab model: what it prints of a chip, and a line for each mistake."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from support.fitting import fits
from support.flashsamples import chip, damaged

from nandlab.cli.main import main
from nandlab.flash.chip import image as chipimage
from nandlab.flash.layouts import jffs2
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.reading.jffs2 import Jffs2Reader

LAYOUT = jffs2.decode_jffs2(Partition(chip("jffs2")))
FILE, SIZE = next((LAYOUT.paths[o], s) for o, s in LAYOUT.sizes.items() if s > 4096)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chips") / "chip"
    path.write_bytes(chipimage.encode_chip_image(chip("jffs2")))
    return path


def nandlab(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["nandlab", "model", *map(str, words)])
    try:
        main()
    except SystemExit as e:
        return int(e.code or 0)
    return 0


def test_a_map_and_a_read_agree(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    drawn = tmp_path / "map.html"
    assert nandlab(monkeypatch, "map", image, "--file", FILE, "--json", "-o", drawn) == 0
    (told,) = fits("model-map", capsys.readouterr().out)["files"]
    assert (told["path"], told["size"], len(told["pages"])) == (FILE, SIZE, -(-SIZE // 4096))
    assert FILE in drawn.read_text()
    asked = ["--file", FILE, "--chip", PART]
    assert nandlab(monkeypatch, "read", image, *asked) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [int(r["n"]) for r in rows] == [p["n_in_sequence"] for p in told["pages"]]
    assert nandlab(monkeypatch, "read", image, *asked, "--formula", "paper", "--json") == 0
    paper = fits("model-read", capsys.readouterr().out)
    each = {(c["n"], c["ns"]) for c in paper["calls"]}
    per_page = {(ns - 45060) / n for n, ns in each if n}
    assert max(per_page) - min(per_page) < 2
    assert nandlab(monkeypatch, "read", image, *asked, "--order", "random:3") == 0
    shuffled = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert sorted(int(r["page"]) for r in shuffled) == list(range(len(rows)))


@pytest.mark.parametrize("name", ["ubifs", "yaffs2", "yaffs1"])
def test_a_map_and_a_read_agree_of_any_file_system(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    image, of = tmp_path / "chip", chip(name)
    image.write_bytes(chipimage.encode_chip_image(of))
    part = {2048: "apf27", 512: "nandsim-small"}[of.geometry.writesize]
    assert nandlab(monkeypatch, "map", image, "--json") == 0
    files = [f for f in json.loads(capsys.readouterr().out)["files"] if f["size"]]
    assert any(f["n_mean"] for f in files)
    for told in files:
        words = ["--file", told["path"], "--chip", part, "--json"]
        assert nandlab(monkeypatch, "read", image, *words) == 0
        found = json.loads(capsys.readouterr().out)
        alone, after = (
            [p["n_in_sequence"] for p in told["pages"]],
            [c["n"] for c in found["calls"]],
        )
        assert len(alone) == len(after)
        # what a first open loads of an index, the pages need not read again
        loaded = sum(alone) - sum(after)
        assert 0 <= loaded <= found["first_open"]["n"]


def test_times_on_another_processor_are_its_own(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were foretold with amd64's instructions, 13 % too short, and nothing said so."""
    read = ["read", image, "--file", FILE, "--chip", PART, "--json"]
    found = {}
    for board in ("apf27", "apf27-arm"):
        assert nandlab(monkeypatch, *read, "--board", board) == 0
        told = capsys.readouterr()
        found[board] = fits("model-read", told.out)["calls"]
    amd64, arm = found["apf27"], found["apf27-arm"]
    assert all(call["ns"] > call["chip_ns"] for call in amd64)
    assert [(c["n"], c["chip_ns"]) for c in arm] == [(c["n"], c["chip_ns"]) for c in amd64]
    pairs = zip(arm, amd64, strict=True)
    assert all(a["ns"] > b["ns"] for a, b in pairs)


def test_times_of_a_kernel_that_was_not_measured_are_not_told(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = ["read", image, "--file", FILE, "--chip", PART, "--json"]
    assert nandlab(monkeypatch, *read, "--board", "apf27-arm", "--kernel", "5.10") == 2
    assert "on armhf" in capsys.readouterr().err


def test_all_files_are_listed(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nandlab(monkeypatch, "map", image) == 0
    assert FILE in capsys.readouterr().out


def test_pages_of_which_it_is_not_known_how_they_would_be_packed_are_told(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = ["read", image, "--file", "0/d/b", "--rewritten", "--chip", PART]
    for known in (True, False):
        if not known:
            monkeypatch.setattr(Jffs2Reader, "packers", frozenset())
        assert nandlab(monkeypatch, *read, "--json") == 0
        pages = fits("model-read", capsys.readouterr().out)["pages_estimated"]
        assert (pages == 0) == known
        for words in (["map", image], ["map", image, "--file", "0/d/b"], read):
            assert nandlab(monkeypatch, *words) == 0
            said = "pages are taken to be packed as well as their pieces" in capsys.readouterr().err
            assert said != known


def test_a_dump_has_the_map_of_the_chip(
    image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert nandlab(monkeypatch, "map", image, "--file", FILE, "--json") == 0
    of_chip = json.loads(capsys.readouterr().out)
    (tmp_path / "dump").write_bytes(chip("jffs2").nanddump(8))
    assert nandlab(monkeypatch, "map", tmp_path / "dump", *GEOMETRY, "--file", FILE, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == of_chip
    assert "was mounted when it was dumped" in told.err


def test_a_file_of_holes_that_no_chip_could_hold_is_mapped_by_its_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A damaged header tells 256 GiB of it."""
    dump = tmp_path / "dump"
    dump.write_bytes(damaged("yaffs1", 7748).nanddump(64))
    of = [dump, "--page", "512", "--oob", "16", "--erase-block", "16K", "--file", "0/d/a"]
    assert nandlab(monkeypatch, "map", *of, "--json") == 0
    (told,) = fits("model-map", capsys.readouterr().out)["files"]
    assert told["size"] == 274_877_911_944
    assert told["pages"] == []
    assert nandlab(monkeypatch, "read", *of, "--chip", "nandsim-small") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--order sequential: " in line and "holes, and has 67,108,866 pages" in line


GEOMETRY = ["--page", "2048", "--erase-block", "128K", "--oob", "64"]
PART = "apf27" if LAYOUT.writesize == 2048 else "nandsim-small"
OTHER = "nandsim-small" if PART == "apf27" else "apf27"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["map", "nowhere"], "nowhere: no such file"),
        (["map", "{image}", "--file", "no-such"], "/no-such: no such file in the image"),
        (["map", "{image}", "-o", "x.html"], "name the file that is to be drawn"),
        (["map", "{image}", "--file", FILE, "-o", "/no/such/x.html"], "cannot be written"),
        (["map", "{nftl}"], "nftl-fat32: how it reads is not modelled: each sector takes a walk"),
        (["read", "{nftl}", "--file", "a"], "nftl-fat32: how it reads is not modelled"),
        (["map", "{half}"], "image: truncated"),
        (["map", "{empty}"], "empty: dump it with nanddump"),
        (["map", "{image}", *GEOMETRY], "tells its geometry itself: leave --page"),
        (["map", "{dump}"], "of a dump of a chip, give --page, --erase-block and --oob"),
        (["map", "{dump}", "--page", "2048"], "give both --page and --erase-block"),
        (["map", "{dump}", "--page", "2000", "--erase-block", "128K"], "--page 2000: give a power"),
        (["map", "{dump}", "--page", "2048", "--erase-block", "5000"], "--erase-block 5000: give"),
        (["map", "{dump}", *GEOMETRY[:-1], "9999"], "--oob 9999: give the spare area's bytes"),
        (["map", "{dump}", *GEOMETRY, "--partition-mib", "2"], "the partition has 16: the dump"),
        (["read", "{image}", "--file", FILE, "--chip", OTHER], f"--chip {OTHER}: pages of"),
        (["read", "{image}", "--file", FILE, "--chip", "x"], "no 'x' in catalog/chips"),
        (["read", "{image}", "--file", FILE, "--chip", PART, "--order", "x"], "--order x: give"),
        (
            ["read", "{image}", "--file", FILE, "--chip", PART, "--order", "{other}"],
            "another's trace",
        ),
        (["read", "{image}", "--file", FILE, "--order", "random:a"], "--order random:a: the seed"),
        (
            ["read", "{image}", "--file", FILE, "--chip", PART, "--kernel", "2.4"],
            "Linux 2.4: what reads take beside",
        ),
        (["score", "nowhere"], "not a trace's folder"),
    ],
)
def test_a_mistake_is_a_line(
    words: list[str],
    says: str,
    image: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "chip.image").write_bytes(b"another")
    places = {
        "other": tmp_path,
        "image": image,
        **{n: tmp_path / n for n in ("nftl", "ubifs", "dump", "half", "empty")},
    }
    places["ubifs"].write_bytes(chipimage.encode_chip_image(chip("ubifs")))
    places["dump"].write_bytes(chip("jffs2").nanddump(8))
    places["nftl"].write_bytes(chipimage.encode_chip_image(chip("nftl-fat32")))
    places["half"].write_bytes(image.read_bytes()[: 1 << 15])
    places["empty"].write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert nandlab(monkeypatch, *(w.format(**places) for w in words)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert not (tmp_path / "x.html").exists()
