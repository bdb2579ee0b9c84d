# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip's counts in the result, and the flash state that is filled in."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from ffsmark.fakechip import (
    COUNTERS,
    ChipMaker,
    FakeChip,
    compressed,
    like_jffs2,
    like_ubifs,
    serve_once,
    write_chip,
)
from ffsmark.running import commands, phases, run


def test_still_chip(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    """Figures that do not move are zeros; they are known, so they are not null."""
    blocks = [f"{i} 5 {i} {i * i}" for i in range(64)]
    counters = {**COUNTERS, "pages_programmed": 1024}
    folder = write_chip(tmp_path / "chip", counters, blocks)
    result = run(ffsmark, commands(work), "--json", "--flash", str(folder)).result
    zero = {"reads": 0, "programs": 0, "erases": 0}
    told = phases(result)
    assert list(told) == ["creation", "transactions", "deletion"]
    assert all(phase["chip"] == phase["chip_sync"] == zero for phase in told.values())
    assert result["erases_per_block"] == {"mean": 0, "stddev": 0, "min": 0, "max": 0}
    assert result["per_block"]["erases"] == [0] * 64
    assert result["chip"] == {"partition_pages": 4096, "pages_per_block": 64}


def test_counts_fall_in_their_phases(ffsmark: Path, work: Path, chip: ChipMaker) -> None:
    """Each look finds one count more. A phase is looked at twice after it began: work, sync."""
    fake = chip(lambda grown: grown / 2048, per_look={"reads": 1, "programs": 10, "erases": 3})
    result = run(ffsmark, commands(work, flash=fake.folder), "--json").result
    for phase in ("creation", "transactions", "deletion"):
        told = phases(result)[phase]
        assert told["chip"] == {"reads": 2, "programs": 20, "erases": 6}
        assert told["chip_sync"] == {"reads": 1, "programs": 10, "erases": 3}
    # Opened once at the start, then three looks a phase.
    assert fake.looks == 1 + 3 * 3


def test_without_syncs_a_phase_ends_with_its_work(
    ffsmark: Path, work: Path, chip: ChipMaker
) -> None:
    """As the authors' program: nothing is synced, and each phase is looked at once after it."""
    fake = chip(lambda grown: grown / 2048, per_look={"reads": 1, "programs": 10, "erases": 3})
    result = run(ffsmark, "set sync false\n" + commands(work, flash=fake.folder), "--json").result
    for told in phases(result).values():
        assert told["chip"] == {"reads": 1, "programs": 10, "erases": 3}
        assert told["sync_ns"] is None
        assert "chip_sync" not in told
    assert fake.looks == 1 + 3 * 2


def test_a_fill_is_synced_in_any_case(ffsmark: Path, work: Path, chip: ChipMaker) -> None:
    fake = chip(lambda grown: grown / 2048)
    words = "set sync false\nset fill creation valid 10\n" + commands(work, flash=fake.folder)
    told = phases(run(ffsmark, words, "--json").result)
    assert told["fill"]["sync_ns"] is not None
    assert told["creation"]["sync_ns"] is None


def test_erases_per_block(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    """Known counts before and after: the deltas, and the population's spread."""
    folder = write_chip(tmp_path / "chip", COUNTERS, [])
    (folder / "blocks").unlink()
    os.mkfifo(folder / "blocks")
    erases = [[5, 5, 5, 5], [5, 7, 6, 12]]

    def serve() -> None:
        for counts in erases:
            lines = [f"{i} {9 + c} {c * 2} {c}\n" for i, c in enumerate(counts)]
            serve_once(folder / "blocks", "".join(lines).__str__)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    result = run(ffsmark, commands(work, flash=folder), "--json").result
    thread.join(5)
    assert result["per_block"] == {
        "reads": [0, 2, 1, 7],
        "programs": [0, 4, 2, 14],
        "erases": [0, 2, 1, 7],
    }
    spread = result["erases_per_block"]
    assert (spread["mean"], spread["min"], spread["max"]) == (2.5, 0, 7)
    assert spread["stddev"] == pytest.approx(2.692582404)  # of the population 0, 2, 1, 7


def test_missing_figures_are_null(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    folder = write_chip(tmp_path / "chip", {"reads": 3, "erases": 4}, [])
    result = run(ffsmark, commands(work), "--json", "--flash", str(folder)).result
    assert phases(result)["creation"]["chip"] is None
    assert result["per_block"] is None
    assert result["erases_per_block"] is None
    assert result["chip"]["partition_pages"] is None
    assert result["state"]["obtained"] is None
    assert {warning.split(":")[0] for warning in result["warnings"]} == {"flash-incomplete"}


def test_no_chip_is_null(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    named = run(ffsmark, commands(work), "--json", "--flash", str(tmp_path / "none")).result
    assert named["chip"] is None
    assert [warning.split(":")[0] for warning in named["warnings"]] == ["flash-unavailable"]
    none = run(ffsmark, commands(work), "--json", "--flash", "none").result
    assert (none["chip"], none["warnings"]) == (None, [])


@pytest.mark.parametrize("pages", [like_jffs2, like_ubifs, compressed])
@pytest.mark.parametrize("mix", [0, 0.4, 1])
@pytest.mark.parametrize("asked", [(50, 25), (10, 60), (30, 0), (0, 30)])
def test_fill_obtains_what_was_asked(
    ffsmark: Path,
    work: Path,
    chip: ChipMaker,
    pages: Callable[[int], float],
    mix: float,
    asked: tuple[int, int],
) -> None:
    fake = chip(pages)
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=asked[0],
        fill_creation_invalid=asked[1],
        fill_mix=mix,
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    obtained = result["state"]["obtained"]
    assert obtained["valid"] == pytest.approx(asked[0] / 100, abs=0.01)
    assert obtained["invalid"] == pytest.approx(asked[1] / 100, abs=0.01)
    assert obtained["before"] == pytest.approx(100 / 4096)
    assert obtained["programmed"] == pytest.approx(sum(asked) / 100 + 100 / 4096, abs=0.01)
    assert result["state"]["asked"] == {
        "valid": asked[0] / 100,
        "invalid": asked[1] / 100,
        "mix": mix,
    }
    assert result["warnings"] == []
    assert phases(result)["fill"]["ns"] > 0
    assert list(work.iterdir()) == []
    if mix == 1 and all(asked):
        off = [abs(valid * asked[1] - invalid * asked[0]) for valid, invalid in fake.seen]
        assert max(off) <= 4096 * max(asked)
        assert len(fake.seen) < sum(fake.seen[-1]) / 65536 + 40
    if mix == 0 and all(asked):
        assert [kind for kind, _ in groupby(fake.turns)] == ["valid", "invalid"]


def test_invalid_data_that_the_file_system_erased_is_doubted(
    ffsmark: Path, work: Path, chip: ChipMaker
) -> None:
    """A whole block of deleted data is erased at once by some file systems."""

    class Eager(FakeChip):
        def look(self) -> dict[str, int]:
            counters = super().look()
            if "ffsmark.invalid" in self.sizes and not (self.work / "ffsmark.invalid").exists():
                counters["pages_programmed"] -= self.sizes["ffsmark.invalid"] // 2048
            return counters

    fake = chip(lambda grown: grown / 2048)
    fake.__class__ = Eager
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=20,
        fill_creation_invalid=30,
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    assert result["state"]["obtained"]["invalid"] == pytest.approx(0, abs=0.01)
    assert result["state"]["obtained"]["programmed"] == pytest.approx(0.2 + 100 / 4096, abs=0.01)
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["fill-off-target"]


def test_chip_that_does_not_count_the_fill(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    folder = write_chip(tmp_path / "chip", COUNTERS, ["0 0 0 0"])
    done = run(ffsmark, commands(work, fill_creation_valid=50), "--json", "--flash", str(folder))
    assert done.code == 1
    assert "programmed no page" in done.err
    assert list(work.iterdir()) == []


def test_the_fill_reads_the_file_of_the_one_count(
    ffsmark: Path, work: Path, tmp_path: Path, chip: ChipMaker
) -> None:
    """It says 0 for ever, and then no number, whatever the counters say."""
    fake = chip(like_jffs2)
    alone = fake.folder / "pages_programmed"
    for content, error in (("0\n", "programmed no page"), ("\n", "read the programmed pages")):
        alone.write_text(content)
        text = commands(work, flash=fake.folder, fill_creation_valid=50)
        done = run(ffsmark, text, "--json")
        assert (done.code, error in done.err) == (1, True), done.err
        assert list(work.iterdir()) == []


def test_fill_without_a_chip_goes_by_bytes(ffsmark: Path, work: Path) -> None:
    share = 2**20 / (os.statvfs(work).f_blocks * os.statvfs(work).f_frsize)
    text = commands(
        work,
        flash="none",
        fill_creation_valid=f"{share * 100:.12f}",
        fill_keep="true",
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    assert [file.name for file in work.iterdir()] == ["ffsmark.valid"]
    assert (work / "ffsmark.valid").stat().st_size == pytest.approx(2**20, abs=8192)
    assert result["state"]["obtained"] is None
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["fill-unverified"]
    again = run(ffsmark, text, "--json")
    assert (again.code, "File exists" in again.err) == (1, True)


def test_shares_of_the_free_bytes_are_written_as_the_authors_do(ffsmark: Path, work: Path) -> None:
    free = os.statvfs(work).f_bfree * os.statvfs(work).f_bsize
    result = run(
        ffsmark,
        commands(
            work,
            flash="none",
            fill_of="free",
            fill_creation_valid=f"{(2**20 + 1000) / free * 100:.12f}",
            fill_creation_invalid=f"{2**19 / free * 100:.12f}",
            fill_keep="true",
            payload="postmark",
            number=3,
            transactions=0,
        ),
        "--json",
    ).result
    assert [file.name for file in work.iterdir()] == ["ffsmark.valid"]
    valid = (work / "ffsmark.valid").read_bytes()
    assert len(valid) == pytest.approx(2**20 + 1000, abs=8192)  # others write to this disk too
    assert len(set(valid)) == 256  # random, whatever the files hold
    assert len(zlib.compress(valid[:4096])) > 4096
    assert result["config"]["fill_of"] == "free"
    assert result["state"]["obtained"] is None
