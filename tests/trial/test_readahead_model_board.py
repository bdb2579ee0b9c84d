# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of read-ahead against the board: the flash pages that YAFFS2 reads for known requests.

On pages of 2 KiB, YAFFS2 reads two for each page of the cache, so the chip's count tells exactly
how many cache pages the kernel asked for. Linux 6.1 is tried here; long tests have the others.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from support.chipsteps import numbers, run
from support.yaffs2steps import LOAD, SIM, load, mount

from nandlab.analysis.curves import readpoints
from nandlab.analysis.curves.readahead import CACHE_PAGE_BYTES, OpenFile, ReadAccess
from nandlab.analysis.curves.readrules import find_kernel_read_ahead_rule
from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun as catalog

pytestmark = [pytest.mark.board, pytest.mark.timeout(900)]
LONG = pytest.mark.long

FLASH_PAGE = 2048
FILE_BYTES = 5 << 20
TAIL_BYTES = (2 << 20) + 5849
"""A file that ends within a flash page, the first of its last cache page."""
BDI = "/sys/class/bdi/mtd-0/read_ahead_kb"
MOUNT = Step("mount", f"{LOAD} && {mount()} && uname -r")
ADVICE_OF_READS = ("none", "fadv_normal", "fadv_random", "fadv_sequential", "fadv_willneed")
ADVICE_OF_MAPS = ("madv_normal", "madv_random", "madv_sequential", "madv_willneed")


def judge(found: dict[str, tuple[int, int]]) -> None:
    """Of (counted, modelled): nine of ten are equal, and none is more than 5 % off."""
    off = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    told = "\n".join(f"{name}: {is_} counted, {said} modelled" for name, (is_, said) in off.items())
    print(f"{len(found) - len(off)} of {len(found)} points exact\n{told}")
    assert len(off) <= len(found) / 10, told
    assert all(abs(said - is_) <= 0.05 * is_ for is_, said in off.values()), told


@pytest.fixture(
    params=["apf27", *(pytest.param(f"apf27-{v}", marks=LONG) for v in ("5.10", "6.12"))]
)
def of_kernel(request: pytest.FixtureRequest) -> QemuBoard:
    return open_board(catalog("boards", request.param, BoardModel))


# By filecalls, which makes the calls that it is told


def points(file_bytes: int) -> list[dict[str, Any]]:
    """Few requests and many, small and larger than a window, anywhere in pages."""
    made = [
        {"pattern": pattern, "count": count, "size": size, "access": access}
        for pattern in ("sequential", "random_replace", "random_unaligned")
        for count, size in ((8, 4096), (256, 4096), (64, 2048), (60, 10000), (13, 143360))
        for access in ("read", "mmap")
        if access == "read" or (size == CACHE_PAGE_BYTES and pattern != "random_unaligned")
    ]
    many = [("random_replace", count) for count in (512, 1024, 1280)]
    made += [
        {"pattern": p, "count": n, "size": CACHE_PAGE_BYTES, "access": "read"} for p, n in many
    ]
    return [point | {"file_bytes": file_bytes, "advice": "none"} for point in made]


def calls(point: dict[str, Any], seed: int) -> bytes:
    verb = {"read": "read", "mmap": "map"}[point["access"]]
    requests = readpoints.list_point_read_requests(point, point["file_bytes"], seed)
    return " ".join(["filecalls /mnt/f", *(f"{verb}:1:{o}:{n}" for o, n in requests)]).encode()


def modelled(point: dict[str, Any], seed: int, kib: int, kernel: str) -> int:
    """Flash reads; filecalls maps each request by itself."""
    file = OpenFile(point["file_bytes"], kib, find_kernel_read_ahead_rule(kernel))
    access: ReadAccess = point["access"]
    for request in readpoints.list_point_read_requests(point, point["file_bytes"], seed):
        file.map_again()
        file.request(*request, access)
    return readpoints.ModelledReads(file.bytes, tuple(file.read)).flash(FLASH_PAGE)


def test_the_model_reads_what_the_kernel_reads(of_kernel: QemuBoard) -> None:
    windows, seed = (0, 16, 128), 3
    todo = list(enumerate(itertools.product(points(FILE_BYTES), windows)))
    write = f"head -c {FILE_BYTES} /dev/urandom > /mnt/f && sync"
    steps = [load(of_kernel, blocks=256), MOUNT, Step("write", write)]
    files = {f"calls{i}": calls(point, seed) for i, (point, kib) in todo}
    for i, (_, kib) in todo:
        ready = f"echo {kib} > {BDI}; echo 1 > /proc/sys/vm/drop_caches; echo 1 > {SIM}/reset"
        command = f"{ready}; sh calls{i} && grep '^reads ' {SIM}/counters"
        steps.append(Step(f"p{i}", command, programs=("filecalls",)))
    record = run(of_kernel, *steps, files=files)
    kernel = record["mount"].stdout.strip()
    judge(
        {
            f"{point} at {kib} KiB": (
                numbers(record[f"p{i}"].stdout)["reads"],
                modelled(point, seed, kib, kernel),
            )
            for i, (point, kib) in todo
        }
    )


# By readbench, whose requests the model makes itself


def sweep(file_bytes: int) -> str:
    """Every pattern, access and advice, as readbench.cfg has points."""
    half = file_bytes // CACHE_PAGE_BYTES // 3
    counts = ((8, 4096), (min(256, half), 4096), (100, 10000), (200, 2048))
    patterns = ("sequential", "backward", "random", "random_replace", "random_unaligned")
    ways = [("read", advice) for advice in ADVICE_OF_READS] + [("pread", "none")]
    ways += [("mmap", advice) for advice in (*ADVICE_OF_READS, *ADVICE_OF_MAPS)]
    rows = [(p, 0, n, size, *way) for p in patterns for way in ways for n, size in counts]
    rows += [("stride", n, 90, 4096, a, "none") for n in (2, 3, 5) for a in ("read", "mmap")]
    rows += [("head", n, 0, size, "read", "none") for n in (10, 50, 100) for size in (4096, 30000)]
    again = [(p, 0, n, size, "read", "none") for p in patterns for n, size in counts]
    columns = [*((*row, 0, 1, 0) for row in rows), *((*row, 0, 1, 1) for row in again)]
    return "".join(f"p{i} {' '.join(map(str, row))}\n" for i, row in enumerate(columns))


@pytest.mark.parametrize(
    ("kib", "file_bytes"),
    [
        (128, FILE_BYTES),
        (16, TAIL_BYTES),
        *(pytest.param(k, TAIL_BYTES, marks=LONG) for k in (4, 512)),
    ],
)
def test_the_points_of_readbench(of_kernel: QemuBoard, kib: int, file_bytes: int) -> None:
    seed = 7
    command = f"readbench /mnt --points points.cfg --file-bytes {file_bytes} --seed {seed}"
    record = run(
        of_kernel,
        load(of_kernel, blocks=256),
        MOUNT,
        Step("run", f"echo {kib} > {BDI} && {command}"),
        files={"points.cfg": sweep(file_bytes).encode()},
    )
    kernel, told = record["mount"].stdout, json.loads(record["run"].stdout)
    found = {}
    for phase in told["phases"][1:]:
        said = readpoints.model_point_reads(
            phase["at"], seed, kib, find_kernel_read_ahead_rule(kernel)
        )
        name = f"{phase['name']} {phase['at']}"
        found[name] = (phase["chip"]["reads"], said.flash(FLASH_PAGE))
    judge(found)
