# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged chips: a decoder refuses them or sums to the partition, soon and in little RAM."""

from __future__ import annotations

import contextlib
import os
import resource
import time

import pytest
from flashsamples import BLOCKS, FILESYSTEM, chip, damaged, file_damaged

from nandlab.base.errors import NandlabError, UsageError
from nandlab.chip import image as chipimage
from nandlab.onflash.cells import Partition
from nandlab.onflash.every import DECODERS, decode
from nandlab.onflash.layout import Kind

SHORT = 25
LONG_S = int(os.environ.get("NANDLAB_FUZZ_S", "600"))
SECONDS_MAX = 20.0
MEMORY_MAX_KIB = 1 << 20


def summed(image: chipimage.ChipImage, blocks: int | None, filesystem: str) -> bool:
    """Whether a sum is given; it must be the partition's. blocks: None: the whole chip is it."""
    try:
        partition = Partition(image, blocks)
        found = decode(partition, filesystem)
    except UsageError:
        return False
    assert sum(found.sums().values()) == partition.bytes
    assert found.sums()[Kind.BAD] == len(partition.bad) * partition.erasesize
    return True


def one(layout: str, seed: int) -> bool:
    began = time.process_time()
    filesystem = FILESYSTEM[layout] if seed % 10 else sorted(DECODERS)[seed // 10 % len(DECODERS)]
    told = summed(damaged(layout, seed), BLOCKS[layout], filesystem)
    with contextlib.suppress(NandlabError):
        summed(chipimage.decode(file_damaged(layout, seed)), None, FILESYSTEM[layout])
    assert time.process_time() - began < SECONDS_MAX
    return told


@pytest.mark.parametrize("layout", BLOCKS)
def test_a_sound_chip_is_summed(layout: str) -> None:
    assert summed(chip(layout), BLOCKS[layout], FILESYSTEM[layout])


@pytest.mark.parametrize("layout", BLOCKS)
@pytest.mark.parametrize("seed", range(SHORT))
def test_damage_is_refused_or_summed(layout: str, seed: int) -> None:
    one(layout, seed)


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 600)
def test_damage_for_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    """NANDLAB_FUZZ_S seconds; a failure's seed runs alone by the test above it."""
    until, seed, sums = time.monotonic() + LONG_S, SHORT, 0
    while time.monotonic() < until:
        for layout in BLOCKS:
            try:
                sums += one(layout, seed)
            except Exception as e:
                pytest.fail(f"{layout}, seed {seed}: {e!r}")
        seed += 1
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with capsys.disabled():
        print(f"\n{(seed - SHORT) * len(BLOCKS)} chips, {sums} summed, {held} KiB held at most")
    assert held < MEMORY_MAX_KIB
