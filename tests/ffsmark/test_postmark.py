# SPDX-License-Identifier: GPL-2.0-or-later
"""FFSMark does what Debian's postmark does, operation by operation."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ffsmark.running import REPORT, commands, figures, phases, run


def random_settings(seed: int) -> dict[str, object]:
    """A configuration that both programs accept and finish, small enough to keep byte sums exact.

    postmark adds bytes up in a float: exact below 16 MiB only.
    """
    draw = random.Random(seed)
    number = draw.choice([1, 2, 7, 50, 211, 400])
    low = draw.choice([1, 500, 512, 4096])
    high = low + draw.choice([0, 1, 100, 5000])
    drawn: dict[str, object] = {
        "number": number,
        "size": f"{low} {high}",
        # Few transactions on few files, or the files run out and postmark reports nothing.
        "transactions": draw.choice([10, 11, 37]) if number < 50 else draw.choice([100, 353]),
        "seed": draw.choice([1, 42, 12345, 2147483647]),
        "subdirectories": draw.choice([1, 2, 7]),
        "read": draw.choice([1, 512, 4096, 10000]),
        "write": draw.choice([1, 333, 512, 8192]),
        "bias_read": draw.choice([-1, 0, 3, 5, 10]),
        "bias_create": draw.choice([-1, 5, 7, 10]),
        "buffering": draw.choice(["true", "false"]),
    }
    if drawn["buffering"] == "false" and 1 in (drawn["read"], drawn["write"]):
        # a system call for each byte: fewer bytes show as well that each is counted
        drawn["size"] = f"{min(low, 512)} {min(high, 612)}"
    return drawn


@pytest.mark.parametrize("seed", range(40))
def test_same_counts_as_postmark(ffsmark: Path, postmark: str, work: Path, seed: int) -> None:
    text = commands(work, **random_settings(seed))
    theirs = run(postmark, text)
    report = figures(theirs.out)
    if "out of files" in theirs.out:
        assert not report
        ours = run(ffsmark, text, "--json")
        assert any(warning.startswith("out-of-files") for warning in ours.result["warnings"])
        return
    assert len(report) == len(REPORT), theirs.out
    assert figures(run(ffsmark, text).out) == report
    ours = run(ffsmark, text, "--json")
    ops, data = ours.result["operations"], ours.result["bytes"]
    by_phase = {name: phase["operations"] for name, phase in phases(ours.result).items()}
    assert figures(ours.err) == report
    assert ops["create"] == int(report["created"])
    assert by_phase["creation"] == {"create": int(report["creation"])}
    assert by_phase["transactions"]["create"] == int(report["create_mixed"])
    assert ops["read"] == by_phase["transactions"]["read"] == int(report["read"])
    assert ops["append"] == by_phase["transactions"]["append"] == int(report["appended"])
    assert ops["delete"] == int(report["deleted"])
    assert by_phase["deletion"] == {"delete": int(report["deletion"])}
    assert by_phase["transactions"]["delete"] == int(report["delete_mixed"])
    assert data["written"] < 2**24
    assert list(work.iterdir()) == []


def test_same_counts_with_weighted_locations(ffsmark: Path, postmark: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    a, b, c = folders
    text = commands(
        None,
        location=[a, f"+{b} 5", f"+{c} 2", f"-{a}", f"+{a} 3"],
        number=100,
        transactions=300,
        subdirectories=3,
    )
    assert figures(run(ffsmark, text).out) == figures(run(postmark, text).out)
    assert [list(folder.iterdir()) for folder in folders] == [[], [], []]


# The last is past what postmark's float sum of bytes can hold exactly.
SEQUENCES: list[dict[str, object]] = [
    {"number": 60, "transactions": 400, "seed": 7},
    {"number": 3, "transactions": 40, "size": "1 20000", "subdirectories": 5, "bias_create": 6},
    {"number": 200, "transactions": 1000, "size": "4096 100000", "write": 4096, "read": 65536},
]


@pytest.mark.parametrize("settings", SEQUENCES, ids=range(len(SEQUENCES)))
def test_same_sequence_as_postmark(
    dynamic: Path, postmark: str, shim: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    """The same files, in the same order, with the same number of bytes each time."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    text = commands(None, location=[folders[0], f"+{folders[1]} 3"], buffering="false", **settings)
    logs = {}
    for name, program in {"postmark": postmark, "ffsmark": str(dynamic)}.items():
        log = tmp_path / name
        arguments = ["--json"] if name == "ffsmark" else []
        done = run(program, text, *arguments, env={"LD_PRELOAD": str(shim), "OPLOG": str(log)})
        assert done.code == 0 or name == "postmark", done.err
        logs[name] = [line for line in log.read_text().splitlines() if str(tmp_path) in line]
    ours = done.result
    assert logs["ffsmark"] == logs["postmark"]
    totals = {
        kind: sum(int(line.split()[2]) for line in logs["ffsmark"] if line.startswith(kind))
        for kind in ["close"]
    }
    assert totals["close"] == ours["bytes"]["read"] + ours["bytes"]["written"]
    assert (
        sum(line.startswith("delete") for line in logs["ffsmark"]) == ours["operations"]["delete"]
    )


@pytest.mark.parametrize("transactions", [0, 1, 2, 9])
@pytest.mark.parametrize("number", [1, 2, 50])
def test_fewer_than_ten_transactions(
    ffsmark: Path, work: Path, number: int, transactions: int
) -> None:
    """postmark divides by zero here. One more transaction may only add to the counts."""
    some = [
        run(ffsmark, commands(work, number=number, transactions=count), "--json").result
        for count in (transactions, transactions + 1)
    ]
    done = some[0]["transactions_done"]
    changed = [
        sum(phases(one)["transactions"]["operations"][kind] for kind in ("create", "delete"))
        for one in some
    ]
    assert done <= transactions
    assert changed[0] == done or number == 1
    assert changed[1] - changed[0] in (0, 1)
    assert phases(some[0])["creation"]["operations"]["create"] == number
    assert some[0]["operations"]["delete"] == some[0]["operations"]["create"]


def test_no_access_and_no_change(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, bias_read=-1, bias_create=-1, number=13), "--json").result
    assert result["operations"]["read"] == 0
    assert result["latency_ns"]["read"] is None
    assert result["latency_ns"]["create"]["count"] == 13
    assert result["transactions_done"] == 500


def test_running_out_of_files_is_said(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, bias_create=0, number=17), "--json").result
    assert result["transactions_done"] == 17
    assert result["operations"]["delete"] == 17
    assert phases(result)["transactions"]["operations"]["delete"] == 17
    assert phases(result)["deletion"]["operations"]["delete"] == 0
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["out-of-files"]


def test_terse_report_has_postmarks_columns(ffsmark: Path, postmark: str, work: Path) -> None:
    text = commands(work, report="terse", number=50)
    ours, theirs = run(ffsmark, text).out, run(postmark, text).out
    columns = [line for line in theirs.splitlines() if re.fullmatch(r"[\d. ]+", line)]
    assert len(ours.split()) == len(columns[0].split()) == 13
