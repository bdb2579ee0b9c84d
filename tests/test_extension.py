# SPDX-License-Identifier: GPL-2.0-or-later
"""One of each is added to a copy of the tree by files alone, and works: an instrument, a format, a
file system with its decoder and colour, a kind of board, a kind of fault, a way to tear an
operation. No line that was there changes."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.journalled import build_journalled
from support.smallruns import TEXT

from nandlab.base.paths import CATALOG, DEVICE, ROOT

ADDED = {
    "catalog/instruments/heat.toml": """\
name = "heat"
summary = "how warm the chip became"
quantity = "bytes"
[measures]
heat = "how warm the chip became"
[figures.sparks]
better = "more"
short = "sparks"
""",
    "src/nandlab/trial/instruments/heat.py": '''\
"""How warm the chip became."""

from nandlab.board.jobs.job import Step
from nandlab.trial.instruments.instrument import (
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    parse_step_number,
)

INSTRUMENT = Instrument(
    "heat",
    lambda spec: "heat" in spec.measure,
    InstrumentReading(
        lambda spec, record, phases: {"sparks": parse_step_number(record, "heat", "sparks")}
    ),
    InstrumentSteps(lambda spec: {"worked": Step("heat", "cat /proc/heat", beside=True)}),
)
''',
    "src/nandlab/report/formats/tsv.py": '''\
"""Values apart by tabs, a line a record."""

from nandlab.report.tables.sheets import SheetFormat


def _render(content):
    rows = [content.head, *([r[name] for name in content.head] for r in content.records)]
    return "".join("\\t".join(map(str, row)) + "\\n" for row in rows)


FORMAT = SheetFormat(_render, of_records=True)
''',
    "src/nandlab/flash/layouts/plainfs.py": '''\
"""PLAINFS: a page of its own, then one file without a name."""

from nandlab.flash.layouts.decoders import Decoder
from nandlab.flash.layouts.layout import ByteKind, Layout, LayoutCollector

MARK = b"PLAIN"


def decode_plainfs(partition):
    walk = LayoutCollector()
    walk.add(0, partition.writesize, ByteKind.METADATA, "head")
    rest = partition.bytes - partition.writesize
    walk.plain(partition.writesize, rest, 1, 0)
    return Layout(
        "plainfs", partition.bytes, partition.erasesize, partition.writesize,
        walk.finish(partition.bytes), {1: "/all"}, {1: rest}, walk.pieces, {"files": 1},
    )


DECODER = Decoder("plainfs", decode_plainfs, begins=(MARK,))
''',
    "src/nandlab/board/kinds/paper.py": '''\
"""A board on paper: it says what its steps would."""

from nandlab.board.jobs.fake import FakeResult
from support.smallruns import fake


def OPEN_BOARD(model, *words, **named):
    return fake(heat=FakeResult("sparks 3\\n"))
''',
    "catalog/boards/paper.toml": (CATALOG / "boards" / "fast.toml")
    .read_text()
    .replace('name = "fast"\n', 'name = "paper"\nkind = "paper"\n'),
    "catalog/filesystems/plainfs.toml": """\
name = "plainfs"
title = "PLAINFS"
colour = "#123456"
summary = "One file"
modules = ["plainfs"]
format = []
mount = "mount -t plainfs -o {options} mtd{mtd} {mountpoint}"
unmount = ["umount {mountpoint}"]
[settle]
quiet_ms = 500
limit_s = 60
""",
}

DEVICE_ADDED = {
    "device/programs/faultcheck/kinds/double.c": """\
#include "../faults.h"

static int flip_bits(const struct point *p)
{
	return damage_page(p->k, 2, p->seed);
}

const struct fault_kind fault_kind_double = {
	.name = "double",
	.what = "two bits more are wrong than the ECC corrects",
	.unreadable = true,
	.strikes = "p",
	.damage = flip_bits,
};
""",
    "device/modules/powercut/ways/half.c": """\
#include "way.h"

static void leave_half(const struct tear *tear, u32 row, u8 *done)
{
	u32 half = tear->journal->chip->page_bytes / 2;

	memset(done + (row % 2 ? 0 : half), 0, half);
}

const struct torn_way torn_way_half = {
	.name = "half",
	.page = "one half of its bytes "
		"is done",
	.tears = TEARS_PROGRAMS,
	.program = leave_half,
};
""",
}
STRUCK = {"powercut": "pob", "faults": "p"}
"""Operations that the verb's addition strikes, by their letters: it tears no erase."""
LOAD = "create x\nload one\nwrite x 0 3000\nsync\n"


def list_digests(top: Path) -> dict[str, str]:
    """The digest of each file below the code and the catalog."""
    files = [
        p for room in ("src", "catalog", "device") for p in (top / room).rglob("*") if p.is_file()
    ]
    return {
        str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the files added."""
    top = tmp_path_factory.mktemp("tree")
    bare = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", top / "src", ignore=bare)
    shutil.copytree(CATALOG, top / "catalog", ignore=bare)
    shutil.copytree(DEVICE, top / "device", ignore=bare)
    for name in ("docs", "studies", "results"):
        if (ROOT / name).exists():
            (top / name).symlink_to(ROOT / name)
    before = list_digests(top)
    for name, text in (ADDED | DEVICE_ADDED).items():
        assert not (top / name).exists()
        (top / name).write_text(text)
    after = list_digests(top)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == (ADDED | DEVICE_ADDED).keys()
    return top


def run_python(tree: Path, folder: Path, *words: str, statuses: Sequence[int] = (0,)) -> str:
    """What Python prints that has the copy's nandlab, and ends with one of these statuses."""
    paths = os.pathsep.join([str(tree / "src"), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        # its byte code is kept: the next one need not compile the copy again
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout


def test_an_instrument_a_format_and_a_kind_of_board_are_files(tree: Path, tmp_path: Path) -> None:
    """A run on the new kind of board has the new instrument's figure, and shows it so."""
    study = TEXT.replace('board = "apf27"', 'board = "paper"\nmeasure = ["heat"]')
    (tmp_path / "small.toml").write_text(study)
    words = ("-m", "nandlab", "run", "small.toml", "--out", "run", "--progress", "none")
    run_python(tree, tmp_path, *words)
    shown = run_python(
        tree,
        tmp_path,
        *("-m", "nandlab", "show", "run", "--figure", "heat.sparks", "--format", "tsv"),
    )
    rows = list(csv.DictReader(shown.splitlines(), delimiter="\t"))
    assert [(row["filesystem"], row["figure"], row["median"]) for row in rows] == [
        ("jffs2", "heat.sparks", "3"),
        ("ubifs", "heat.sparks", "3"),
    ]
    known = run_python(tree, tmp_path, "-m", "nandlab", "schema", "instrument")
    assert "measures" in json.loads(known)["properties"]


def test_a_file_system_s_layout_and_colour_are_files(tree: Path, tmp_path: Path) -> None:
    """Its dump is recognised, and each byte has its place."""
    (tmp_path / "dump").write_bytes(b"PLAIN".ljust(512, b"\0") + bytes(16384 - 512))
    words = ("-m", "nandlab", "space", "dump", "--page", "512", "--erase-block", "16384", "--json")
    space = json.loads(run_python(tree, tmp_path, *words))
    assert space["filesystem"] == "plainfs"
    code = "from nandlab.report.charts.layout import choose_filesystem_colour as c"
    assert run_python(tree, tmp_path, "-c", f"{code}; print(c('plainfs'))") == "#123456\n"


def test_a_kind_of_fault_and_a_way_to_tear_are_files(tree: Path, tmp_path: Path) -> None:
    """The host lists them last, the chip's own tests pass with the way, and the program knows the
    kind."""
    code = (
        "from nandlab.flash.chip.mishaps import read_fault_kinds, read_tear_ways; "
        "kinds, ways = read_fault_kinds(), read_tear_ways(); "
        "print(list(kinds)[-1], list(ways)[-1], ways['half'], sep='|')"
    )
    kind, name, way = run_python(tree, tmp_path, "-c", code).strip().split("|")
    assert (kind, name) == ("double", "half")
    assert "page='one half of its bytes" in way and ", block=None, is_usual=False" in way
    journal = tree / "device" / "modules" / "powercut"
    build_journalled(ROOT / "tests" / "c" / "test_torn.c", tmp_path / "torn", journal)
    assert subprocess.run([tmp_path / "torn"], check=False, capture_output=True).returncode == 0
    program = tmp_path / "faultcheck"
    words = ["make", "-s", "-C", f"{tree}/device/programs", f"OUT={tmp_path}", "STATIC="]
    subprocess.run([*words, f"{program}"], check=True, timeout=120)
    assert b"two bits more" in program.read_bytes()
    (tmp_path / "load").write_text(LOAD)
    for verb, point in (("powercut", "0:double:1"), ("faults", "0:half:1")):
        words = ["--fs", "jffs2", "--load", "load", "--title", "one", "--point", point]
        with pytest.raises(AssertionError, match=r"no such \w+: (double|half)"):
            run_python(tree, tmp_path, "-m", "nandlab", verb, *words)
    words = ["--fs", "jffs2", "--load", "load", "--variants", "half", "--states", "--out", "out"]
    with pytest.raises(AssertionError, match=r"--states: .* half"):
        run_python(tree, tmp_path, "-m", "nandlab", "powercut", *words)


@pytest.mark.board
@pytest.mark.long
def test_an_added_fault_and_way_to_tear_strike_on_the_board(tree: Path, tmp_path: Path) -> None:
    """The copy's module and program are built and run: each program is torn so, each page damaged
    so."""
    (tmp_path / "load").write_text(LOAD)
    cases = {"powercut": ("--variants", "half"), "faults": ("--kinds", "double")}
    for verb, option in cases.items():
        words = ["--fs", "jffs2", "--load", "load", *option, "--out", verb, "--jobs", "1"]
        run_python(tree, tmp_path, "-m", "nandlab", verb, *words, statuses=(0, 1))
        (piece,) = (tmp_path / verb).rglob("00000.json")
        (load,) = json.loads(piece.read_text())["loads"]
        letters, kinds = load["outcomes"][option[1]], load["kinds"]
        tried = [k for k, letter in enumerate(letters) if letter != " "]
        expected = [
            k for k, kind in enumerate(kinds) if kind in ("po" if verb == "powercut" else "p")
        ]
        assert tried and set(tried) <= set(expected)
        assert load["points"] == len(tried)
