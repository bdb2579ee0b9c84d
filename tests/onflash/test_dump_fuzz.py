# SPDX-License-Identifier: GPL-2.0-or-later
"""Spoilt dumps and texts, and those of other chips: a line or known pages, soon, in little RAM."""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flashsamples import BLOCKS, chip, damaged
from jffs2made import Made, made
from jffs2texts import text_of
from test_dump import LARGE, SMALL, as_file, known_pages

from nandlab.base.errors import UsageError
from nandlab.model.fragments import file_map
from nandlab.onflash.dump import Shape
from nandlab.onflash.opened import Asked, read

SHORT = 60
LONG_S = int(os.environ.get("NANDLAB_FUZZ_S", "600"))
SECONDS_MAX = 20.0
MEMORY_MAX_KIB = 1 << 20
TRUTHS: dict[int, Made] = {}


def truth(seed: int) -> Made:
    """One of a dozen small file systems."""
    kind = seed % 12
    if kind not in TRUTHS:
        shape, pieces = (LARGE, SMALL)[kind % 2], (100, 300, 1500, 4096, 2000, 40)[kind // 2]
        blocks = 8 if shape == LARGE else 32
        TRUTHS[kind] = made(shape, blocks, order="<>"[kind // 3 % 2], pieces=pieces, kib=48)
    return TRUTHS[kind]


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """With bits flipped, a run overwritten, moved or left out, or cut off."""
    found = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 3, 30))):
        at, count = chance.randrange(len(found)), chance.choice((1, 4, 64, 600, 5000))
        match chance.randrange(6):
            case 0 | 1:
                found[at] ^= 1 << chance.randrange(8)
            case 2:
                found[at : at + count] = chance.randbytes(len(found[at : at + count]))
            case 3:
                found[at : at + count] = b"\xff" * len(found[at : at + count])
            case 4:
                to = chance.randrange(len(found))
                found[at : at + count] = found[to : to + len(found[at : at + count])]
            case _ if chance.random() < 0.2:
                del found[at : at + count]
    return bytes(found[: chance.randrange(len(found))]) if chance.random() < 0.1 else bytes(found)


def geometry(right: Shape, chance: random.Random) -> Shape:
    if chance.random() < 0.6:
        return right
    page = chance.choice((512, 2048, 4096))
    return Shape(page, page * chance.choice((8, 32, 64)), chance.choice((0, 16, 64, 128)))


def one(path: Path, seed: int) -> int:
    """Known pages of a spoilt dump or text; 0: refused."""
    chance, began = random.Random(seed), time.process_time()
    of = truth(seed)
    bare = chance.random() < 0.4
    right = of.shape._replace(oob=0) if bare else of.shape
    try:
        if chance.random() < 0.3:
            as_file(path, spoilt(text_of(of), chance))
            layout, dropped = read(path, Asked(None, None, geometry(right, chance)), tolerant=True)
            return sum(len(file_map(layout, n, dropped).rows) for n in layout.sizes)
        as_file(path, spoilt(of.dump(oob=not bare), chance))
        return known_pages(path, geometry(right, chance), of, chance.choice((None, None, 0.25)))
    except UsageError as e:
        assert "\n" not in str(e)
        return 0
    finally:
        assert time.process_time() - began < SECONDS_MAX


def sample(path: Path, seed: int) -> bool:
    """Whether a damaged chip of the board's is mapped."""
    began = time.process_time()
    layout = sorted(BLOCKS)[seed % len(BLOCKS)]
    g = chip(layout).geometry
    shape = geometry(Shape(g.writesize, g.erasesize, g.oobsize), random.Random(seed))
    try:
        path.write_bytes(damaged(layout, seed).nanddump(BLOCKS[layout]))
        found, dropped = read(path, Asked(None, None, shape), tolerant=True)
        for owner in found.sizes:
            file_map(found, owner, dropped)
    except UsageError as e:
        assert "\n" not in str(e)
        return False
    except ValueError:
        return False  # the damage was past the partition
    finally:
        assert time.process_time() - began < SECONDS_MAX
    return True


@pytest.fixture
def little_memory() -> Iterator[None]:
    """What takes 4 GiB more than tests before it have mapped fails at once, with its seed."""
    had = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (4 * MEMORY_MAX_KIB << 10), had[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, had)


FOUND = (7748,)
"""A damaged chip with a file of 256 GiB, nearly all holes, of which each page took its row."""


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("seed", [*range(SHORT), *FOUND])
def test_a_spoilt_dump_is_refused_or_known_in_part(tmp_path: Path, seed: int) -> None:
    one(tmp_path / "dump", seed)
    sample(tmp_path / "chip", seed)


@pytest.mark.long
@pytest.mark.usefixtures("little_memory")
@pytest.mark.timeout(4 * LONG_S + 600)
def test_spoilt_dumps_for_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NANDLAB_FUZZ_S seconds of a processor; a failure's seed runs alone by the test above it."""
    until, seed, mapped, pages = time.process_time() + LONG_S, SHORT, 0, 0
    while time.process_time() < until:
        try:
            pages += one(tmp_path / "dump", seed)
            mapped += sample(tmp_path / "chip", seed)
        except Exception as e:
            pytest.fail(f"seed {seed}: {e!r}")
        seed += 1
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with capsys.disabled():
        print(f"\n{seed - SHORT} dumps, {pages} pages known, {mapped} chips mapped, {held} KiB")
    assert held < MEMORY_MAX_KIB
