# SPDX-License-Identifier: GPL-2.0-or-later
"""What a partition holds, saved and restored: on a chip that is a file."""

from __future__ import annotations

import asyncio
import hashlib
import random
from pathlib import Path

import nandtools
import pytest
from nandtools import ERASED, FULL, PAGE, PAGES

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.own import flashdump
from nandlab.board.own.flash import refuse_missing_tools
from nandlab.board.own.flashdump import PartitionCells
from nandlab.board.own.tables import Mtd
from nandlab.board.own.transport import connect_local

BLOCKS, BAD = 16, {0, 7, 8, 15}


def cells(seed: int) -> bytes:
    """Blocks full, in part, with erased pages within, and with spare areas alone."""
    luck = random.Random(seed)
    pages = []
    for _ in range(BLOCKS * PAGES):
        spare = luck.randbytes(FULL - PAGE)
        kinds = (ERASED, luck.randbytes(FULL), b"\xff" * PAGE + spare)
        pages.append(luck.choice(kinds))
    return b"".join(pages)


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PartitionCells:
    """A partition with bad blocks, carried three blocks at once."""
    monkeypatch.setattr(flashdump, "PIECE", 3 * PAGES * FULL)
    on = nandtools.on_path(tmp_path, cells(1), BAD)
    mtd = Mtd(3, BLOCKS * PAGES * PAGE, PAGES * PAGE, "data")
    return PartitionCells(on, mtd, FULL, PAGES, piece=str(tmp_path / "part"))


async def erased(part: PartitionCells) -> None:
    assert (await part.transport.call("flash_erase -q /dev/mtd3 0 0")).rc == 0


def restored(part: PartitionCells, file: Path) -> flashdump.DumpSummary:
    return asyncio.run(flashdump.restore_partition_cells(part, file, lambda: erased(part)))


def in_good_blocks(held: bytes) -> list[bytes]:
    size = PAGES * FULL
    return [held[i * size : (i + 1) * size] for i in range(BLOCKS) if i not in BAD]


def test_what_is_saved_is_there_again_with_its_spare_areas(
    part: PartitionCells, tmp_path: Path
) -> None:
    file, chip = tmp_path / "dump", tmp_path / "cells"
    told = asyncio.run(flashdump.save_partition_cells(part, file))
    assert file.read_bytes() == cells(1)
    assert told.sha256 == hashlib.sha256(cells(1)).hexdigest()
    assert set(told.bad) == BAD and told.blocks == BLOCKS
    chip.write_bytes(cells(2))
    assert restored(part, file) == told
    assert in_good_blocks(chip.read_bytes()) == in_good_blocks(cells(1))
    assert not (tmp_path / "part").exists()


def test_bits_that_are_others_afterwards_are_told(part: PartitionCells, tmp_path: Path) -> None:
    file, chip = tmp_path / "dump", tmp_path / "cells"
    asyncio.run(flashdump.save_partition_cells(part, file))
    held = bytearray(cells(1))
    place = next(i for i in range(4 * FULL, len(held), FULL) if held[i : i + FULL] != ERASED)
    held[place] ^= 0b101
    chip.write_bytes(held)
    page = place // FULL
    with pytest.raises(NandlabError, match=r"1 pages differ .* in 2 bits") as told:
        asyncio.run(flashdump._verify_partition(part, file, BAD))
    assert f"page {page % PAGES} of block {page // PAGES}" in str(told.value)


def test_a_file_of_another_size_erases_nothing(part: PartitionCells, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(cells(1)[:-1])
    with pytest.raises(UsageError, match="is no dump of it"):
        restored(part, tmp_path / "dump")
    assert (tmp_path / "cells").read_bytes() == cells(1)


def test_tools_that_the_board_lacks_are_named() -> None:
    with pytest.raises(UsageError, match="no nandle, mtdly of mtd-utils"):
        asyncio.run(refuse_missing_tools(connect_local(), ["cat", "nandle", "mtdly"]))
