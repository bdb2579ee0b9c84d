# SPDX-License-Identifier: GPL-2.0-or-later
"""Which points are distinct states, and which programs a part forbids: worked out by the host from
the journal, and held against chips that the board itself brought to those points."""

from __future__ import annotations

import asyncio
import json
import random
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from cutsteps import FEW, end_chip_with_partition, on
from support.fitting import fits

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel, Geometry
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip.image import ChipBlock, ChipImage
from nandlab.flash.chip.image import ChipGeometry as Shape
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.powercut import campaignresult, loads, pointcounts, statedigest, states
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints
from nandlab.powercut.journal import (
    ENTRY,
    ERASE,
    PROGRAM,
    SIDE,
    Journal,
    Operation,
    OperationSide,
    Page,
    list_broken_program_limits,
)
from nandlab.powercut.pointcounts import PointCounts
from nandlab.powercut.states import LoadRecording, PointPlace

GEOMETRY = Geometry(writesize=512, oobsize=16, erasesize=2048, blocks=8, nop=2, in_order=True)
PAGE_BYTES = 528
FULL = bytes(i * 37 % 256 for i in range(PAGE_BYTES))
HALF = FULL[:100] + b"\xff" * 428
HAS_DATA = 0x80


def side(*pages: Page, high: int = 0, flags: int = 0) -> OperationSide:
    return OperationSide(pages, high, flags)


def program(number: int, cells: bytes, *, state: int = 0, high: int = 0) -> Operation:
    """Of an erased page, or of one that was programmed before with all bits 1."""
    before = Page(number, state, b"\xff" * PAGE_BYTES if state else b"")
    after = Page(number, HAS_DATA | state + 1, cells)
    return Operation(PROGRAM, side(before, high=high), side(after, high=number % 4 + 1))


def erase(*cells: bytes) -> Operation:
    pages = [Page(i, 1 if c else 0, c) for i, c in enumerate(cells)]
    return Operation(ERASE, side(*pages), side(*(Page(i, 0, b"") for i in range(len(cells)))))


def packed(operations: list[Operation], size: int = 1 << 16) -> bytearray:
    """The journal's memory, as the module writes it."""
    memory, used = bytearray(size), 1024
    for index, one in enumerate(operations):
        heads, crc = b"", 0
        for each in (one.before, one.after):
            states = struct.pack(f"<{len(each.pages)}H", *(p.state for p in each.pages))
            content = states + b"".join(p.cells for p in each.pages)
            content += bytes(-len(content) % 8)
            memory[used : used + len(content)] = content
            heads += SIDE.pack(0, 0, 0, 0, 0, each.flags, 0, each.high, 0, used)
            used, crc = used + len(content), zlib.crc32(content)
        first, count = one.before.pages[0].number, len(one.before.pages)
        at = size - (index + 1) * 128
        memory[at : at + 128] = ENTRY.pack(first, count, one.kind, crc) + heads
    return memory


def test_the_journal_is_read_as_the_module_writes_it() -> None:
    done = [program(5, FULL, high=1), erase(FULL, b"", HALF, b"")]
    memory = packed(done)
    assert list(Journal(bytes(memory), 2, GEOMETRY).operations()) == done
    memory[1024 + 8 + 100] ^= 1
    with pytest.raises(NandlabError, match="operation 0 of the journal is damaged"):
        list(Journal(bytes(memory), 2, GEOMETRY).operations())


def test_a_chip_with_planted_errors_is_refused() -> None:
    memory = packed([program(5, FULL)])
    at = len(memory) - 128 + ENTRY.size
    fields = list(SIDE.unpack_from(memory, at))
    fields[8] = 1  # flips
    SIDE.pack_into(memory, at, *fields)
    with pytest.raises(NandlabError, match="planted errors"):
        list(Journal(bytes(memory), 1, GEOMETRY).operations())


@pytest.mark.parametrize(
    ("operation", "broken"),
    [
        (program(4, FULL), []),
        (program(5, FULL, state=1, high=2), []),
        (program(5, FULL, state=2, high=2), ["nop"]),
        (program(4, FULL, high=3), ["in_order"]),
        (program(6, FULL, state=2, high=4), ["nop", "in_order"]),
        (erase(FULL, FULL), []),
    ],
)
def test_programs_that_the_part_forbids_are_known(operation: Operation, broken: list[str]) -> None:
    assert list_broken_program_limits(operation, GEOMETRY) == broken
    worn = replace(operation, before=replace(operation.before, flags=2))
    assert list_broken_program_limits(worn, GEOMETRY) == []
    lenient = GEOMETRY.model_copy(update={"nop": 9, "in_order": False})
    assert list_broken_program_limits(operation, lenient) == []


def chip(*cells: bytes) -> ChipImage:
    """A chip of which only the first block holds something."""
    whole = b"".join(c or b"\xff" * PAGE_BYTES for c in cells)
    block = ChipBlock(0, 3, 9, 0, [], [2 if c else 0 for c in cells], whole)
    return ChipImage(Shape(512, 16, 2048, 8), 7, 7, 7, [block])


def test_a_state_is_what_a_reader_can_find_out() -> None:
    """Not how often a page was programmed, nor whether it was programmed with all bits 1."""
    base = statedigest.digest_decoded_chip_image(chip(FULL, b"", b"", b""))
    assert (
        base
        == statedigest.digest_decoded_chip_image(chip(FULL, b"\xff" * PAGE_BYTES, b"", b""))
        != 0
    )
    later = statedigest.digest_decoded_chip_image(chip(FULL, HALF, b"", b""))
    assert base ^ statedigest.digest_operation_change(program(1, HALF, high=1)) == later
    assert (
        later ^ statedigest.digest_operation_change(erase(FULL, HALF, b"", b""))
        == statedigest.digest_decoded_chip_image(chip(*4 * [b""]))
        == 0
    )
    assert statedigest.digest_decoded_chip_image(chip(b"", FULL, b"", b"")) != base


def test_two_points_of_one_state_count_once() -> None:
    """An erase of a block that is erased changes nothing; a prefix past the last byte is all."""
    of = LoadRecording((program(0, HALF), erase(b"", b"")), 0, "", ())
    asked = CutPoints(variants=("before", "prefix"), seeds=9)
    every = list(states.list_point_states(of, asked))
    # "before" of each operation and of the end, nine columns of the program, none of the erase
    assert len(every) == 3 + 9
    of_place = dict(every)
    assert of_place[1, "before", 1] == of_place[2, "before", 1]
    done = {
        s for (_, variant, _), s in every if variant == "prefix" and s == of_place[2, "before", 1]
    }
    assert len(done) == 1
    assert 3 < len({s for _, s in every}) < len(every) - 1


def test_each_way_to_tear_is_a_state_of_its_own_and_each_countdown() -> None:
    for operation in (program(3, FULL), erase(FULL, HALF, b"", b"")):
        of = LoadRecording((operation,), 5, "", ())
        asked = CutPoints(variants=("before", "subset", "unstable"), seeds=20)
        every = [s for _, s in states.list_point_states(of, asked)]
        assert len(every) == len(set(every)) == 2 + 20 * 2
        assert statedigest.digest_torn_operation_change(
            operation, "done", 1
        ) == statedigest.digest_operation_change(operation)


def test_points_are_those_that_the_board_tries() -> None:
    of = LoadRecording(tuple(program(i, FULL, high=i) for i in range(4)), 0, "", ())
    asked = CutPoints(first=1, last=3, every=2, variants=("before", "subset"), seed=4, seeds=2)
    places: list[PointPlace] = [place for place, _ in states.list_point_states(of, asked)]
    assert places == [
        *((1, "before", 4), (1, "subset", 4), (1, "subset", 5)),
        *((3, "before", 4), (3, "subset", 4), (3, "subset", 5)),
    ]


def counted_of(*words: Any) -> PointCounts:
    """By the order of its fields."""
    return PointCounts(**dict(zip(PointCounts.model_fields, words, strict=False)))


def folder(tmp_path: Path, *every: PointCounts) -> campaignresult.CampaignResult:
    """A campaign of two loads, of which some are counted."""
    part = load_noun("chips", "K9GAG08U0M", ChipModel)
    head = {
        **{"filesystem": "jffs2", "options": {}, "chip": part.name, "kernel": "6.1", "pieces": 1},
        **{"identity": "x", "changed": {}, "board": "apf27"},
        **{"partition_mib": 8.0, "load": "two", "forbids": part.forbids(), "nop": 1},
    }
    out = tmp_path / "jffs2-two"
    out.mkdir(exist_ok=True)
    (out / "powercut.json").write_text(json.dumps(head))
    one = {"operations": 1, "points": 3, "held": 3, "kinds": "o", "recording": "r", "findings": []}
    told = [{**one, "load": name, "outcomes": {"before": "..", "subset": ". "}} for name in "xy"]
    (out / "00000.json").write_text(json.dumps({"loads": told, "cpu_s": 1.0}))
    pointcounts.write_point_counts(out, {each.load: each for each in every})
    for line in (out / pointcounts.FILE).read_text().splitlines():
        fits("powercut-states", line)
    return campaignresult.read_campaign_result(out)


def test_what_was_counted_is_told_and_summed(tmp_path: Path) -> None:
    x = counted_of("x", "r", 3, ["a", "b", "c"], 1, {"nop": 1}, 1, 1)
    y = counted_of("y", "other", 3, ["a", "d"], 1, {}, 0, 0)
    some = "\n".join(campaignresult.format_campaign_result(folder(tmp_path, x)))
    assert "states: counted for 1 of 2 loads" in some
    assert "cuts at 2 programs of spare areas" in some
    assert campaignresult.summarize_campaigns(tmp_path)[0].distinct is None
    every = "\n".join(campaignresult.format_campaign_result(folder(tmp_path, x, y)))
    assert "distinct states: 4 of 6 points, 5 with" in every
    assert re.search(r"^recordings: .* 1 of 2 loads$", every, re.MULTILINE)
    assert "not physical: 1 points, within 1 of 2 programs " in every and "(1 by nop)" in every
    (cuts,) = campaignresult.summarize_campaigns(tmp_path)
    assert (cuts.distinct, cuts.unphysical) == (4, 1)
    legal = "\n".join(
        campaignresult.format_campaign_result(
            folder(tmp_path, x.model_copy(update={"forbidden": {}, "broken": 0}), y)
        )
    )
    assert "none of the loads' 2 programs" in legal


@pytest.mark.board
@pytest.mark.parametrize(("name", "blocks"), [("jffs2", 24), ("ubifs", 64), ("yaffs2", 24)])
def test_the_chips_that_the_board_saves_are_the_states_of_the_host(
    board: QemuBoard, name: str, blocks: int
) -> None:
    """Points drawn at random, and torn erases, which only some loads have. A recording that saves
    chips is another job: UBIFS may erase an operation sooner in it, and an erase has no prefix."""
    medium = end_chip_with_partition(
        on(board, name).model_copy(update={"partition_blocks": blocks})
    )
    small = Campaign(medium, loads.make_small_file_loads(), CutPoints(seeds=3))
    once = asyncio.run(states.record_load(small, 0, board))
    assert once is not None
    near = {k + i for k, op in enumerate(once.operations) if op.erases for i in (-2, -1, 0, 1, 2)}
    places = [
        p
        for p, _ in states.list_point_states(once, small.points)
        if p[1] not in ("prefix", "few") or p[0] not in near
    ]
    erases = [p for p in places if p[0] < len(once.operations) and once.operations[p[0]].erases]
    draw = random.Random(23)
    drawn = [*draw.sample(places, 8), *draw.sample(erases, min(4, len(erases)))]
    drawn += draw.sample([p for p in places if p[1] == "few"], 4)
    drawn.append((len(once.operations), "before", 1))
    again = asyncio.run(states.record_load(small, 0, board, drawn))
    assert again is not None
    worked_out = dict(states.list_point_states(again, small.points))
    for place, saved in zip(drawn, again.images, strict=True):
        k, variant, seed = place
        # an image has unstable cells as they were meant
        plain = "done" if variant == "unstable" else variant
        before = worked_out[k, "before", 1]
        expected = (
            before
            if k == len(again.operations)
            else before
            ^ (statedigest.digest_torn_operation_change(again.operations[k], plain, seed) or 0)
        )
        assert saved == expected, place
        assert variant == "unstable" or expected == worked_out[place]


@pytest.mark.board
def test_a_campaigns_states_are_counted_and_kept(board: QemuBoard, tmp_path: Path) -> None:
    medium = end_chip_with_partition(on(board, "yaffs2"))
    few = Campaign(medium, FEW, CutPoints(variants=("before", "subset")))

    async def counting(refused: tuple[str, ...]) -> list[int]:
        return [left async for left in states.count_campaign_points(few, board, tmp_path, refused)]

    assert asyncio.run(counting(("over",))) == [1, 0]
    kept = pointcounts.read_point_counts(tmp_path)
    assert kept.keys() == {"new", "away"}
    assert all(4 < len(one.states) <= one.points for one in kept.values())
    assert asyncio.run(counting(("over",))) == []
    # both loads begin on the same chip
    assert pointcounts.count_distinct_states(kept) < sum(one.points for one in kept.values())


@pytest.mark.board
def test_two_jobs_count_as_one_does_and_keep_it_alike(board: QemuBoard, tmp_path: Path) -> None:
    points = CutPoints(variants=("before", "subset"), last_load=1)
    few = Campaign(end_chip_with_partition(on(board, "yaffs2")), FEW, points)

    async def counting(jobs: int) -> list[int]:
        out = tmp_path / f"{jobs}"
        out.mkdir()
        return [left async for left in states.count_campaign_points(few, board, out, (), jobs)]

    assert [asyncio.run(counting(jobs)) for jobs in (1, 2)] == [[1, 0]] * 2
    one, two = (tmp_path / f"{jobs}" / pointcounts.FILE for jobs in (1, 2))
    assert one.read_bytes() == two.read_bytes()


def test_loads_are_kept_in_their_order_and_no_more_are_recorded_at_once_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last load is done first; an error of one ends them all."""
    under_way, most = [0], [0]

    async def one(campaign: Campaign, load: int, board: QemuBoard) -> PointCounts | None:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        try:
            for _ in range(9 - 3 * load):
                await asyncio.sleep(0)
        finally:
            under_way[0] -= 1
        if fails and load == 1:
            raise NandlabError("no image")
        return None if load == 0 else counted_of(FEW.loads[load].title, "r", 1, ["0"], 1)

    monkeypatch.setattr(states, "_record_and_count", one)
    few = Campaign(cast(Any, None), FEW, CutPoints())

    async def counting(jobs: int) -> list[int]:
        return [
            x async for x in states.count_campaign_points(few, cast(Any, None), tmp_path, (), jobs)
        ]

    fails = True
    with pytest.raises(NandlabError, match="no image"):
        asyncio.run(counting(2))
    fails = False
    assert asyncio.run(counting(2))[-1] == 0
    assert most == [2]
    assert list(pointcounts.read_point_counts(tmp_path)) == [load.title for load in FEW.loads[1:]]


@pytest.mark.board
def test_the_programs_that_are_forbidden_are_those_that_the_chip_counts(board: QemuBoard) -> None:
    """NFTL on a part that would allow it neither, for all that it does. The counts of the load have
    those of the mount before it, which are the same whatever the load."""
    name, counters = "nandsim-small", f"cat {DEBUG_FOLDER}/counters"
    part = load_noun("chips", name, ChipModel)
    strict = part.geometry.model_copy(update={"nop": 1, "in_order": True})
    part = part.model_copy(update={"geometry": strict})
    system = load_noun("filesystems", "nftl-fat32", FilesystemModel)
    medium = on(board, "jffs2").model_copy(
        update={
            **{"chip": part, "partition_blocks": part.partition_blocks(4)},
            **{"filesystem": system, "options": system.resolve_values({}, "the test")},
        }
    )
    beside = []
    for of in (loads.parse_loads("none", "load none\nsync\n"), loads.make_small_file_loads()):
        job = states.make_load_recording_job(Campaign(medium, of, CutPoints()), 0, board)
        *make, cut, told, save = job.steps
        steps = (*make, Step("was", counters), cut, Step("is", counters), told, save)
        record = asyncio.run(board.run(replace(job, steps=steps)))
        was, now = (
            dict(line.split() for line in record[step].stdout.splitlines() if line.count(" ") == 1)
            for step in ("was", "is")
        )
        broken = [
            each
            for one in states.decode_recorded_operations(record, strict)
            for each in list_broken_program_limits(one, strict)
        ]
        beside.append(
            {
                rule: int(now[count]) - int(was[count]) - broken.count(rule)
                for rule, count in (("nop", "illegal_nop"), ("in_order", "illegal_order"))
            }
        )
        assert broken.count("nop") > 0 < broken.count("in_order")
    assert beside[0] == beside[1]
