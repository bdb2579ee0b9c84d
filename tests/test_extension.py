# SPDX-License-Identifier: GPL-2.0-or-later
"""One of each is added to a copy of the tree by files alone, and works: an instrument, a format, a
file system with its decoder and colour, a kind of board. No line that was there changes."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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


def list_digests(top: Path) -> dict[str, str]:
    """The digest of each file below the code and the catalog."""
    files = [p for room in ("src", "catalog") for p in (top / room).rglob("*") if p.is_file()]
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
    for name in ("docs", "studies", "results"):
        if (ROOT / name).exists():
            (top / name).symlink_to(ROOT / name)
    (top / "device").symlink_to(DEVICE)
    before = list_digests(top)
    for name, text in ADDED.items():
        assert not (top / name).exists()
        (top / name).write_text(text)
    after = list_digests(top)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == ADDED.keys()
    return top


def run_python(tree: Path, folder: Path, *words: str) -> str:
    """What Python prints that has the copy's nandlab."""
    paths = os.pathsep.join([str(tree / "src"), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
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
