# SPDX-License-Identifier: GPL-2.0-or-later
"""The result's form, exact percentiles, and the data that is written."""

from __future__ import annotations

import json
import random
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest

from ffsmark.fakechip import ChipMaker, like_jffs2
from ffsmark.running import PROGRAMS, commands, phases, run


def test_json_form(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, number=101, transactions=211), "--json").result
    assert (result["program"], result["format"]) == ("ffsmark", 2)
    assert list(phases(result)) == ["creation", "transactions", "deletion"]
    assert "chip" not in result["phases"][0]
    assert result["chip"] is None
    assert result["state"] == {"asked": {"valid": 0, "invalid": 0, "mix": 0}, "obtained": None}
    assert result["config"]["locations"] == [{"path": str(work), "weight": 1}]
    for kind in ("create", "read", "append", "delete"):
        figure = result["latency_ns"][kind]
        assert figure["count"] == result["operations"][kind]
        ranks = [figure[key] for key in ("min", "median", "p95", "p99", "p99_9", "max")]
        assert ranks == sorted(ranks)
        assert ranks[0] > 0
    # What the operations took cannot exceed the phases that held them.
    assert result["latency_ns"]["delete"]["max"] < sum(
        phases(result)[phase]["ns"] for phase in ("transactions", "deletion")
    )


def test_each_run_gives_one_line(ffsmark: Path, work: Path) -> None:
    text = f"set location {work}\nset number 5\nrun\nset seed 43\nrun\n"
    lines = [json.loads(line) for line in run(ffsmark, text, "--json").out.splitlines()]
    assert [line["config"]["seed"] for line in lines] == [42, 43]


def test_report_goes_to_a_file(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    text = f"set location {work}\nset number 5\nrun {out}\nshow {out}\n"
    assert run(ffsmark, text).code == 0
    assert "5 files" in out.read_text()
    assert f"set location {work} 1" in out.read_text()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 1000, 1001, 7919])
def test_percentiles_are_exact(tmp_path: Path, count: int) -> None:
    """Nearest rank, against the definition, on known values from 11 to 52 bits."""
    source, program = Path(__file__).with_name("latency.c"), tmp_path / "t"
    library = [str(PROGRAMS / "lib" / f"{name}.c") for name in ("latency", "json", "diag")]
    subprocess.run(
        ["gcc", "-o", str(program), f"-I{PROGRAMS / 'lib'}", str(source), *library, "-lm"],
        check=True,
    )
    draw = random.Random(count)
    values = [draw.randrange(2 ** draw.choice([11, 22, 33, 52])) for _ in range(count)]
    out = run(program, f"{count} {' '.join(map(str, values))}").result
    assert out["text"] == '"\\\n\x01é\ufffd\ufffd\ufffd\ufffd'
    assert out["nan"] is None
    assert out["missing"] is None
    if not count:
        assert out["latency"] is None
        return
    ordered = sorted(values)
    for key, mille in {"min": 0, "median": 500, "p95": 950, "p99": 990, "p99_9": 999}.items():
        rank = max(1, -(-count * mille // 1000))
        assert out["latency"][key] == ordered[rank - 1], key
    assert out["latency"]["max"] == ordered[-1]
    assert out["latency"]["count"] == count


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 0.9, 1])
def test_compressibility_as_zlib_sees_it(
    ffsmark: Path, work: Path, chip: ChipMaker, share: float
) -> None:
    fake = chip(like_jffs2, partition_pages=1024)
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=50,
        fill_keep="true",
        compressibility=share,
        number=1,
    )
    run(ffsmark, text, "--json").result  # noqa: B018 - asserts that it ran
    data = (work / "ffsmark.valid").read_bytes()
    # In the unit in which JFFS2 and UBIFS compress; and from anywhere in the data.
    for start in (0, 1000):
        units = [data[at : at + 4096] for at in range(start, len(data) - 4096, 4096)]
        left = sum(min(len(zlib.compress(unit)), 4096) for unit in units) / (4096 * len(units))
        assert left == pytest.approx(1 - share, abs=0.05)


def test_data_depends_on_the_seed_only(ffsmark: Path, work: Path) -> None:
    """The choices and the data come from two generators, both of the seed."""
    plain = run(ffsmark, commands(work, seed=3), "--json").result
    squeezed = run(ffsmark, commands(work, seed=3, compressibility=0.7), "--json").result
    assert [plain[key] for key in ("operations", "bytes")] == [
        squeezed[key] for key in ("operations", "bytes")
    ]


@pytest.mark.parametrize(
    ("kind", "compressibility", "values", "zlib_takes"),
    [
        ("random", 0.0, range(256), 0.0),
        ("random", 0.5, range(256), 0.5),
        ("postmark", 0.0, range(32, 127), 0.18),
    ],
)
def test_files_hold_the_payload_asked_for(
    tmp_path: Path, kind: str, compressibility: float, values: range, zlib_takes: float
) -> None:
    source, program = Path(__file__).with_name("payload.c"), tmp_path / "t"
    library = [str(PROGRAMS / "lib" / f"{name}.c") for name in ("payload", "diag")]
    argv = ["gcc", "-o", str(program), f"-I{PROGRAMS / 'lib'}", str(source), *library]
    subprocess.run(argv, check=True)
    asked = [str(program), kind, str(compressibility)]
    held = subprocess.run(asked, check=True, capture_output=True).stdout
    assert len(held) == 65536
    assert set(held) == set(values)
    counts = Counter(held)
    if not compressibility:
        expected = len(held) / len(values)
        off = sum((counts[v] - expected) ** 2 / expected for v in values)
        assert off < len(values) + 5 * (2 * len(values)) ** 0.5  # chi-squared, five deviations
    taken = 1 - len(zlib.compress(held[:4096], 6)) / 4096
    assert taken == pytest.approx(zlib_takes, abs=0.03)
