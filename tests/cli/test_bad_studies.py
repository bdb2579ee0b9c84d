# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad studies, the chips that they name, and what is no study."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusing import ended, refused, refused_or_good

from nandlab.base.paths import CATALOG

pytestmark = pytest.mark.usefixtures("away")

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
    "board": [
        ('"apf72"', "nearest: apf27"),
        ("7", "board: "),
        ('"../x"', "board: must be a name of"),
    ],
    "more": [
        ("measure = ['ram']\n", "measure.0: "),
        ("meassure = ['memory']\n", "meassure: there is no such key here; nearest: measure"),
        ("paper = 'none'\n", "paper: no 'none'"),
        ("limits = { 'commit.p99' = 'x' }\n", "limits: "),
        ("beside = 7\n", "beside: "),
        ("beside = [{ states = [{ name = 'fresh', valid = 0.5 }] }]\n", "two are called 'fresh'"),
        ("product = 7\n", "product: "),
        ("curves = [{}]\n", "curves.0"),
        ("parts = { records = 0 }\n", "parts.records: "),
        ("memory_series = { interval_ms = 0 }\n", "interval_ms: "),
        ("matrix = 3\n", "not TOML"),
        ("limits = { lifetime_years = inf, daily_write = '1M' }\n", "limits.lifetime_years: "),
    ],
    "seeds": [
        ("[-1]", "matrix.seeds.0: must be greater than or equal to 0"),
        ("[10000000000000000000000]", "matrix.seeds.0: "),
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
        ('{ name = "ffsmark", files = 10000000000000000000000 }', "matrix.workloads.0.files: "),
        ('{ name = "ffsmark", files = 2147483648 }', "files must be at most"),
        ('{ name = "ffsmark", files = -1 }', "files must be at least 1"),
        ('{ name = "ffsmark", files = [1] }', "matrix.workloads.0.files: "),
        ('{ name = "ffsmark", files = true }', "files must be of type int"),
        ('{ name = "ffsmark", compressibility = nan }', "workloads.0.compressibility: must be "),
        ('{ name = "ffsmark", compressibility = inf }', "workloads.0.compressibility: must be "),
        ('{ name = "ffsmark", compressibility = 1.5 }', "compressibility must be at most 1"),
        ('{ name = "ffsmark", size_min = 9000, size_max = 100 }', "size_min must be at most size"),
        ('{ name = "ffsmark", payload = "x" }', "payload must be one of"),
        ('{ name = "ffsmark", transactions = 9999999999999 }', "transactions must be at most"),
        ('{ name = "lifetime", size_min = 9, size_max = 1 }', "size_min must be at most size_max"),
        ('{ name = "logger", records = 99999999999999999999 }', "matrix.workloads.0.records: "),
    ],
    "filesystem": [
        ('{ name = "ubi" }', "nearest: ubifs"),
        ('{ name = "JFFS2" }', "nearest: jffs2"),
        ('"jffs2"', "in TOML a table"),
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
        ('{ part = "s34ml01g2" }', "nearest: S34ML01G1"),
        ('{ part = "S34ML01G1", partition_mib = "16" }', "partition_mib: must be a valid number"),
        (
            '{ part = "S34ML01G1", faults = { bad_blocks = "1" } }',
            "bad_blocks: must be a valid int",
        ),
        ('{ part = "../../x" }', "matrix.chips.0.part: "),
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
        ('{ name = "a", valid = "0.5" }', "matrix.states.0.valid: must be a valid number"),
        ('{ name = "a" }, { name = "a", valid = 0.5 }', "two are called 'a'"),
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


@pytest.mark.parametrize("name", ["x" * 300, "../x", ".x", "a b", ""])
def test_a_study_of_a_bad_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    study_file()
    text = Path("s.toml").read_text()
    Path("s.toml").write_text(text.replace('name = "s"', f'name = "{name}"', 1))
    assert "s.toml: name: " in refused(capsys, ["plan", "s.toml"])


def test_the_study_that_the_bad_ones_are_made_of_is_good(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study_file()
    assert ended(["plan", "s.toml"]) == 0
    assert capsys.readouterr().out.startswith("jffs2-fresh-")


def test_ubifs_on_mlc_is_refused_by_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    study_file(filesystem='{ name = "ubifs" }', chip='{ part = "K9GAG08U0M", partition_mib = 64 }')
    said = refused(capsys, ["plan", "s.toml"])
    assert "ubifs cannot live on K9GAG08U0M: " in said
    assert "cell_bits is 2, must be at most 1" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("strength = 1", "strength = 0"), "ecc.strength: must be from 1 to 127"),
        (("strength = 1", "strength = 40"), "an oobsize of 16 has room for 5 to 6"),
        (("step = 256", "step = 1024"), "ecc.step: 1024 must divide geometry.writesize, 512"),
        (("blocks = 8192", "blocks = 0"), "geometry.blocks: "),
        (("blocks = 8192", "blocks = 9999999999999999999999"), "geometry.blocks: "),
        (("blocks = 8192", 'blocks = "8192"'), "geometry.blocks: must be a valid integer"),
        (("id = [", "id = [-1, "), "id.0: "),
        (("id = [", "id = [99999, "), "id.0: "),
        (("id = [", "id = [1, 2, 3, 4, 5, 6, 7, 8, "), "id: "),
        (('cell = "SLC"', 'cell = "MLC"'), "cell is MLC"),
        (("nop = 10", "nob = 10"), "nearest: nop"),
    ],
)
def test_a_chip_that_no_board_takes(
    change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_what_is_there_and_no_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    assert "it is a folder" in refused(capsys, ["plan", "folder"])
    assert "a device" in refused(capsys, ["plan", "/dev/null"])


TOKENS = st.sampled_from(
    ["nan", "-1", "1e400", '""', "[]", "{}", "true", '"x"', "[[[]]]", "99999999999999999999", "="]
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(part=st.sampled_from(sorted(GOOD)), bad=TOKENS | st.text(string.printable, max_size=12))
def test_any_study(part: str, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    study_file(**{part: bad})
    refused_or_good(capsys, ["plan", "s.toml"])
