# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input to every verb: exit status 2, a line a mistake, no traceback, and nothing written.

The tables are short; what is tried is their product. Each try runs in this process, so all of them
take seconds.
"""

from __future__ import annotations

import json
import math
import shutil
import string
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nandlab.cli.main import main
from nandlab.results.folder import RunFolder
from nandlab.results.sealed import opened

LIMIT_S = 2
"""Most of the processor's time that a refusal may take; a busy host is not its fault."""
NEVER = ("Traceback", "pydantic", "[type=", "input_value", "coroutine", " at 0x")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path_factory.mktemp("cache")))


def there(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their contents, and its folders."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b""
        for p in folder.rglob("*")
    }


def refused(capsys: pytest.CaptureFixture[str], argv: list[str], *, usage: bool = False) -> str:
    """What a command says as it is refused; usage: by the parser, which draws a box."""
    before, began = there(Path.cwd()), time.process_time()
    old, sys.argv = sys.argv, ["nandlab", *argv]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = old
    took = time.process_time() - began
    out, err = capsys.readouterr()
    assert ended.value.code == 2, (argv, err)
    assert took < LIMIT_S, (argv, took)
    assert err.strip(), argv
    assert not [word for word in NEVER if word in out + err], (argv, err)
    assert there(Path.cwd()) == before, argv
    if not usage:
        assert out == "", argv
        assert err.startswith("nandlab: "), (argv, err)
        assert all(line.strip() for line in err.splitlines()), (argv, err)
    return err


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
        told = opened(path.read_bytes())
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.folder(tmp_path_factory.mktemp("whole") / "run", samples.study(2)).path


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


STUDY = """name = "s"
question = "?"
board = {board}
{more}[matrix]
seeds = {seeds}
phase_offsets_ms = {offsets}
workloads = [{workload}]
filesystems = [{filesystem}]
chips = [{chip}]
states = [{state}]
"""
GOOD = {
    "board": '"apf27"',
    "more": "",
    "seeds": "[1]",
    "offsets": "[0]",
    "workload": '{ name = "ffsmark" }',
    "filesystem": '{ name = "jffs2" }',
    "chip": '{ part = "S34ML01G1", partition_mib = 64 }',
    "state": '{ name = "fresh" }',
}
BAD: dict[str, list[tuple[str, str]]] = {
    "board": [('"apf72"', "nearest: apf27"), ("7", "board: "), ('"../x"', "no '../x'")],
    "more": [
        ("measure = ['ram']\n", "measure.0: "),
        ("meassure = ['memory']\n", "meassure: there is no such key here; nearest: measure"),
        ("paper = 'none'\n", "paper: no 'none'"),
        ("limits = { 'commit.p99' = 'x' }\n", "limits: "),
        ("beside = 7\n", "beside: "),
        ("product = 7\n", "product: "),
        ("curves = [{}]\n", "curves.0"),
        ("parts = { records = 0 }\n", "parts.records: "),
        ("memory_series = { interval_ms = 0 }\n", "interval_ms: "),
        ("matrix = 3\n", "not TOML"),
    ],
    "seeds": [
        ("[-1]", "matrix.seeds.0: must be greater than or equal to 0"),
        ("[10000000000000000000000]", "must be less than or equal to 2147483647"),
        ("[2147483648]", "must be less than or equal to 2147483647"),
        ('["1"]', "matrix.seeds.0: must be a valid integer"),
        ("[1.5]", "matrix.seeds.0: "),
        ("[1.0]", "matrix.seeds.0: "),
        ("[true]", "matrix.seeds.0: "),
        ("[[1]]", "matrix.seeds.0: "),
        ("[]", "matrix.seeds: must have at least 1 item"),
        ("7", "matrix.seeds: "),
        ("[1, 1]", "the same trial more than once"),
        (str(list(range(200_000))), "200000 trials; a study has at most 20000"),
    ],
    "offsets": [
        ("[nan]", "matrix.phase_offsets_ms.0: "),
        ("[inf]", "matrix.phase_offsets_ms.0: "),
        ("[-1.0]", "must be greater than or equal to 0"),
        ("[1e15]", "must be less than 1000"),
        ("[1000]", "must be less than 1000"),
        ('["x"]', "matrix.phase_offsets_ms.0: "),
        ("[]", "must have at least 1 item"),
    ],
    "workload": [
        ('{ name = "ffsmrak" }', "nearest: ffsmark"),
        ("{}", "matrix.workloads.0.name: must be given"),
        ('{ name = "ffsmark", file = 3 }', "nearest: files"),
        ('{ name = "ffsmark", files = 1e30 }', "files must be of type int"),
        ('{ name = "ffsmark", files = 10000000000000000000000 }', "files must be "),
        ('{ name = "ffsmark", files = 2147483648 }', "files must be at most"),
        ('{ name = "ffsmark", files = -1 }', "files must be at least 1"),
        ('{ name = "ffsmark", files = [1] }', "matrix.workloads.0.files: "),
        ('{ name = "ffsmark", files = true }', "files must be of type int"),
        ('{ name = "ffsmark", compressibility = nan }', "compressibility must be "),
        ('{ name = "ffsmark", compressibility = inf }', "compressibility must be "),
        ('{ name = "ffsmark", compressibility = 1.5 }', "compressibility must be at most 1"),
        ('{ name = "ffsmark", size_min = 9000, size_max = 100 }', "size_min must be at most size"),
        ('{ name = "ffsmark", payload = "x" }', "payload must be one of"),
        ('{ name = "ffsmark", transactions = 9999999999999 }', "transactions must be at most"),
        ('{ name = "lifetime", size_min = 9, size_max = 1 }', "size_min must be at most size_max"),
        ('{ name = "logger", records = 99999999999999999999 }', "records must be "),
    ],
    "filesystem": [
        ('{ name = "ubi" }', "nearest: ubifs"),
        ('{ name = "ubifs", compresion = "lzo" }', "nearest: compression"),
        ('{ name = "ubifs", compression = "x" }', "compression = 'x' is none of"),
        ('{ name = "jffs2", on = ["x"] }', "on: no 'x'"),
        ('{ name = "jffs2", on = 3 }', "matrix.filesystems.0.on: "),
        ('{ name = "jffs2", image = "nowhere" }', "image: "),
        ('{ name = "jffs2", image = "x", tree = "y" }', "give one of them"),
        ('{ name = "jffs2", tree = "nowhere" }', "tree: "),
        ('{ name = "nftl-fat32" }', "must be at most 512"),
        ('{ name = "squashfs" }', "matrix.filesystems.0: "),
        ("7", "matrix.filesystems.0: "),
    ],
    "chip": [
        ('{ part = "S34ML01G2" }', "nearest: S34ML01G1"),
        ('{ part = "S34ML01G1", partition_mib = nan }', "partition_mib: "),
        ('{ part = "S34ML01G1", partition_mib = inf }', "inf MiB"),
        ('{ part = "S34ML01G1", partition_mib = 0 }', "must be greater than 0"),
        ('{ part = "S34ML01G1", partition_mib = 0.3 }', "whole blocks"),
        ('{ part = "S34ML01G1", partition_mib = 1e30 }', "of a chip of 128 MiB"),
        ('{ part = "S34ML01G1", latency = "mean" }', "latency: "),
        ('{ part = "S34ML01G1", faults = { bad_blok = 1 } }', "nearest: bad_blocks"),
        ('{ part = "S34ML01G1", faults = { bad_blocks = 100000 } }', "at most half the chip, 512"),
        ('{ part = "S34ML01G1", faults = { bad_blocks = -1 } }', "bad_blocks: "),
        ('{ part = "S34ML01G1", faults = { endurance = 10000000000000 } }', "endurance: "),
        ('{ part = "S34ML01G1", faults = { program_fail_ppb = 1000000001 } }', "program_fail_ppb"),
        ('{ part = "S34ML01G1", faults = { erase_fail_ppb = 1000000001 } }', "erase_fail_ppb: "),
        ('{ part = "S34ML01G1", faults = { flip_ppt = 4294967296 } }', "flip_ppt: "),
        ('{ part = "S34ML01G1", faults = { flip_wear_ppt = 5 } }', "give endurance too"),
    ],
    "state": [
        ('{ name = "a/b" }', "matrix.states.0.name: "),
        ('{ name = "../../x" }', "matrix.states.0.name: "),
        ('{ name = "" }', "matrix.states.0.name: "),
        ('{ name = " " }', "matrix.states.0.name: "),
        ('{ name = "." }', "matrix.states.0.name: "),
        ('{ name = "a\\nb" }', "matrix.states.0.name: "),
        ('{ name = "é" }', "matrix.states.0.name: "),
        (f'{{ name = "{"x" * 300}" }}', "matrix.states.0.name: must have at most 60 characters"),
        ("{}", "matrix.states.0.name: must be given"),
        ('{ name = "a", valid = nan }', "matrix.states.0.valid: "),
        ('{ name = "a", valid = 1.0 }', "must be less than 1"),
        ('{ name = "a", valid = 0.5, invalid = 0.5 }', "leave room"),
        ('{ name = "a", mix = -1 }', "matrix.states.0.mix: "),
        ('{ name = "a", of = "disk" }', "matrix.states.0.of: "),
        ('{ name = "a", valdi = 0.5 }', "nearest: valid"),
    ],
}
STUDIES = [(part, bad, said) for part, tries in BAD.items() for bad, said in tries]


def study_file(**change: str) -> None:
    Path("s.toml").write_text(STUDY.format(**GOOD | change))


@pytest.mark.parametrize("verb", [["plan"], ["run", "--out", "out"]], ids=["plan", "run"])
@pytest.mark.parametrize(("part", "bad", "said"), STUDIES, ids=[b[:60] for _, b, _ in STUDIES])
def test_a_bad_study(
    verb: list[str], part: str, bad: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    study_file(**{part: bad})
    told = refused(capsys, [*verb, "s.toml"])
    assert said in told
    assert all("s.toml" in line for line in told.splitlines())


def test_the_study_that_the_bad_ones_are_made_of_is_good(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study_file()
    monkeypatch.setattr(sys, "argv", ["nandlab", "plan", "s.toml"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("jffs2-fresh-")


def test_ubifs_on_mlc_is_refused_by_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    study_file(filesystem='{ name = "ubifs" }', chip='{ part = "K9GAG08U0M", partition_mib = 64 }')
    said = refused(capsys, ["plan", "s.toml"])
    assert "ubifs cannot live on K9GAG08U0M: cell_bits is 2, must be at most 1: UBI refuses" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("step = 256", "step = 512"), "takes 3 bytes of a page's OOB, and an oobsize of 16 has"),
        (("strength = 1", "strength = 0"), "ecc.strength: must be from 1 to 127"),
        (("strength = 1", "strength = 40"), "an oobsize of 16 has room for 5 to 6"),
        (("step = 256", "step = 1024"), "ecc.step: 1024 must divide geometry.writesize, 512"),
        (("blocks = 8192", "blocks = 0"), "geometry.blocks: "),
        (('cell = "SLC"', 'cell = "MLC"'), "cell is MLC"),
        (("nop = 10", "nob = 10"), "nearest: nop"),
    ],
)
def test_a_chip_that_no_board_takes(
    change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from nandlab.base.paths import CATALOG

    text = (CATALOG / "chips" / "nandsim-small.toml").read_text()
    chips = Path("catalog/chips")
    chips.mkdir(parents=True)
    (chips / "own.toml").write_text(
        text.replace('name = "nandsim-small"', 'name = "own"').replace(*change)
    )
    study_file(chip='{ part = "own", partition_mib = 16 }')
    assert said in refused(capsys, ["plan", "s.toml"])
    assert said in refused(capsys, ["chip", "show", "own"])


NO_STUDIES: dict[str, bytes | None] = {
    "nowhere": None,
    "nowhere.toml": None,
    "quikstart": None,
    "empty.toml": b"",
    "bad.toml": b"name = ",
    "binary.toml": b"\xff\xfe\x00",
    "list.toml": b"matrix = []",
    "deep.toml": b"a = " + b"[" * 3000,
    "folder": None,
    "/dev/null": None,
    "/proc/self/mem": None,
    "x" * 300: None,
}


@pytest.mark.parametrize("verb", [["plan"], ["run"], ["check", "--against", "b"]], ids=str)
@pytest.mark.parametrize("study", NO_STUDIES, ids=lambda s: s[:20])
def test_what_is_no_study(verb: list[str], study: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    content = NO_STUDIES[study]
    if content is not None:
        Path(study).write_bytes(content)
    refused(capsys, [*verb, study])


OTHERS = [
    ["board", "update", "nowhere"],
    ["board", "export", "x.board", "--board", "nowhere"],
    ["board", "import", "nowhere"],
    ["board", "import", "file"],
    ["board", "import", "folder"],
    ["board", "import", "/dev/null"],
    ["board", "shell", "--board", "nowhere"],
    ["chip", "show", "nowhere"],
    ["chip", "show", "../x"],
    ["image", "make", "--fs", "x", "--chip", "apf27", "--from", "folder", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "x", "--from", "folder", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "apf27", "--from", "nowhere", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "apf27", "--from", "file", "-o", "i"],
    ["image", "ls", "nowhere"],
    ["image", "ls", "file"],
    ["image", "ls", "folder"],
    ["image", "extract", "file", "--to", "to"],
    ["image", "sizes", "--chip", "x", "--from", "folder"],
    ["image", "sizes", "--chip", "apf27", "--from", "nowhere"],
    ["space", "nowhere"],
    ["space", "file"],
    ["space", "folder"],
    ["space", "/dev/null"],
    ["space", "file", "--fs", "x"],
    ["space", "file", "--page", "7", "--erase-block", "x"],
    ["model", "map", "nowhere", "--file", "x"],
    ["model", "map", "file", "--file", "x"],
    ["model", "read", "folder", "--file", "x"],
    ["model", "read", "file", "--file", "x", "--chip", "nowhere"],
    ["model", "score", "nowhere"],
    ["model", "score", "file"],
    ["trace", "show", "nowhere"],
    ["trace", "show", "file"],
    ["trace", "show", "folder"],
    ["trace", "report", "folder"],
    ["trace", "parts", "folder"],
    ["trace", "brief", "folder"],
    ["trace", "run", "--fs", "x", "--", "true"],
    ["trace", "run", "--fs", "jffs2", "--chip", "x", "--", "true"],
    ["trace", "run", "--fs", "jffs2", "--board", "x", "--", "true"],
    ["workload", "from-strace", "nowhere"],
    ["workload", "from-strace", "file"],
    ["workload", "from-strace", "folder"],
    ["workload", "from-strace", "/dev/null"],
    ["reproduce", "file"],
    ["reproduce", "list.json"],
    ["reproduce", "kind.json"],
    ["reproduce", "format.json"],
    ["reproduce", "bare.json"],
    ["check", "--against", "file", "--run", "RUN"],
    ["check", "--against", "bare.json", "--run", "RUN"],
    ["check", "--against", "nowhere", "--run", "RUN"],
    ["check", "--against", "RUN"],
    ["check", "quickstart", "--against", "RUN", "--run", "RUN"],
    ["show", "RUN", "--figure", "apend.p99"],
    ["advise", "RUN", "--limit", "x"],
    ["advise", "RUN", "--limit", "commit.p99 < 5 apples"],
    ["advise", "RUN", "--lifetime-years", "5"],
    ["advise", "RUN", "--daily-write", "-5M", "--lifetime-years", "5"],
    ["report", "RUN", "--daily-write", "lots"],
    ["reprice", "RUN", "--to", "nowhere"],
    ["reprice", "RUN", "--set", "t_r_ns"],
    ["reprice", "RUN", "--set", "t_r_ns=-5"],
    ["publish", "RUN", "-o", "figures.json"],
    ["merge", "file", "RUN"],
    ["merge", "/proc/nowhere", "RUN"],
    ["merge", "file/below", "RUN"],
    ["run", "quickstart", "--board", "nowhere"],
    ["run", "quickstart", "--shard", "3/2"],
    ["run", "quickstart", "--shard", "x"],
    ["run", "quickstart", "--shard", "0/3"],
    ["run", "quickstart", "--on", "local:0"],
    ["run", "quickstart", "--on", "tcp://10.0.0.1:8786"],
    ["run", "quickstart", "--on", "tls://10.0.0.1:8786"],
    ["run", "quickstart", "--on", "nowhere.toml"],
    ["run", "quickstart", "--on", "file"],
    ["run", "quickstart", "--insecure"],
    ["plan", "quickstart", "--board", "nowhere"],
]


@pytest.mark.parametrize("argv", OTHERS, ids=" ".join)
def test_what_other_verbs_refuse(
    argv: list[str], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("x")
    Path("folder").mkdir()
    Path("list.json").write_text("[]")
    Path("kind.json").write_text('{"kind": "nandlab figure"}')
    Path("format.json").write_text('{"kind": "nandlab figures", "format": 7}')
    Path("bare.json").write_text('{"kind": "nandlab figures", "format": 1}')
    refused(capsys, [str(whole) if word == "RUN" else word for word in argv])


USAGE = [
    ["fly"],
    ["plan"],
    ["plan", "a", "b"],
    ["run", "quickstart", "--jobs", "0"],
    ["run", "quickstart", "--jobs", "x"],
    ["run", "quickstart", "--members", "0"],
    ["run", "quickstart", "--accel", "warp"],
    ["run", "quickstart", "--progress", "loud"],
    ["run", "quickstart", "--nope"],
    ["show"],
    ["show", "x", "--format", "pdf"],
    ["report", "x", "--battery-wh", "-1"],
    ["report", "x", "--battery-wh", "0"],
    ["compare", "x"],
    ["advise", "x", "--lifetime-years", "-1"],
    ["check", "quickstart"],
    ["merge", "x"],
    ["publish", "x"],
    ["model", "fly"],
    ["trace", "fly"],
    ["image", "make"],
    ["cache", "fly"],
]


@pytest.mark.parametrize("argv", USAGE, ids=" ".join)
def test_what_the_parser_refuses(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, argv, usage=True)


# What nobody thought of: any change of a study's text, and of a result's bytes.

TOKENS = st.sampled_from(
    ["nan", "-1", "1e400", '""', "[]", "{}", "true", '"x"', "[[[]]]", "99999999999999999999", "="]
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(part=st.sampled_from(sorted(GOOD)), bad=TOKENS | st.text(string.printable, max_size=12))
def test_any_study(part: str, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    study_file(**{part: bad})
    refused_or_good(capsys, ["plan", "s.toml"])


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


def refused_or_good(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    """A refusal as all are, or a study that is good after all, such as one with a space more."""
    old, sys.argv = sys.argv, ["nandlab", *argv]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = old
    capsys.readouterr()
    if ended.value.code != 0:
        refused(capsys, argv)
