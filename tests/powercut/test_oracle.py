# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's oracle on trees made by hand: what was synced is there, the rest is old, new or
between; and on chips that the board saved, its verdict is the board's."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import FEW, end_chip_with_partition, on
from recordings import judge_points, record_points

from nandlab.base.errors import NandlabError
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import hostcheck, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import Finding
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.oracle import (
    EXTENDED_BYTES,
    Oracle,
    Tree,
    make_call_bytes,
    undo_file_extensions,
)

BASE = "mkdir A\ncreate A/x\nwrite A/x 0 100\n"
BEGAN = 3 + 1
"""Calls of the base, with its sync."""
OLD, NEW = make_call_bytes(2, 0, 100), make_call_bytes(4, 50, 100)


def oracle(calls: str, *ends: tuple[int, int]) -> Oracle:
    """ends: flash operations before each call began and returned."""
    text = loads.parse_loads("t", f"{BASE}load t\n{calls}")
    marks = [
        f"{at} {2 * (BEGAN + i) + which}\n"
        for i, two in enumerate(ends)
        for which, at in enumerate(two)
    ]
    return Oracle(text, text.loads[0], "".join(marks))


def wrong(of: Oracle, tree: Tree, cut: int) -> list[str]:
    return of.list_violations(tree, cut, in_next=False)


SYNCED = oracle("write A/x 50 100\nswrite A/x 0 10\n", (0, 0), (0, 2))
FIRST = make_call_bytes(5, 0, 10)


@pytest.mark.parametrize(
    ("content", "holds"),
    [
        (FIRST + OLD[10:], True),  # what was written before it was not synced
        (FIRST + OLD[10:50] + NEW, True),
        (OLD, False),
        (OLD[:50] + NEW, False),
        (FIRST[:9] + OLD[9:], False),
        (FIRST, False),
    ],
)
def test_an_o_sync_write_keeps_its_own_bytes_and_no_others(content: bytes, holds: bool) -> None:
    assert (wrong(SYNCED, {"A": None, "A/x": content}, 2) == []) == holds


def test_a_rename_of_two_names_of_one_file_does_nothing() -> None:
    same = oracle("link A/x y\nrename A/x y\nsync\n", (0, 1), (1, 2), (2, 3))
    assert wrong(same, {"A": None, "A/x": OLD, "y": OLD}, 3) == []
    assert wrong(same, {"A": None, "y": OLD}, 3) == ["A/x: is not there"]


def test_a_file_that_is_made_with_its_bytes_may_be_empty_until_a_sync() -> None:
    """O_TMPFILE, a write and linkat in one call: the name may be on flash, and the bytes not."""
    made = oracle("tmplink A/t 300\nfsync A/t\n", (0, 1), (1, 2))
    whole = make_call_bytes(4, 0, 300)
    for content in (whole, b"", whole[:100], bytes(300)):
        tree = {"A": None, "A/x": OLD, "A/t": content}
        assert wrong(made, tree, 1) == []
        assert bool(wrong(made, tree, 2)) == (content != whole)
    assert wrong(made, {"A": None, "A/x": OLD, "A/t": b"other"}, 1)


def test_a_name_of_digits_is_a_name() -> None:
    seven = oracle("create 7\nwrite 7 0 10\nfsync 7\n", (0, 1), (1, 2), (2, 3))
    assert wrong(seven, {"A": None, "A/x": OLD, "7": make_call_bytes(5, 0, 10)}, 3) == []
    assert wrong(seven, {"A": None, "A/x": OLD, "7": b""}, 3)[0].startswith("7: is no file ")


WRITTEN = oracle("write A/x 50 100\nfsync A/x\n", (0, 1), (1, 3))


@pytest.mark.parametrize(
    ("cut", "content", "holds"),
    [
        (0, OLD, True),
        (1, OLD[:50] + NEW, True),
        (1, OLD + NEW[50:], True),  # what is past the old end came first
        (1, OLD + bytes(50), True),
        (2, OLD, True),
        (3, OLD, False),
        (3, OLD[:50] + NEW, True),
        (3, OLD[:50] + NEW[:99], False),
        (2, OLD[:99], False),
        (2, b"\1" + OLD[1:], False),
    ],
)
def test_bytes_are_of_the_last_sync_or_of_later_calls(
    cut: int, content: bytes, holds: bool
) -> None:
    assert (not wrong(WRITTEN, {"A": None, "A/x": content}, cut)) == holds


def test_a_name_that_was_synced_is_there_and_one_that_was_deleted_is_not() -> None:
    of = oracle("rename A/x A/y\nfsyncdir A\nunlink A/y\nsync\n", (0, 1), (1, 2), (2, 3), (3, 5))
    x, y, none = {"A": None, "A/x": OLD}, {"A": None, "A/y": OLD}, {"A": None}
    both = {**x, **y}
    verdicts = {cut: [not wrong(of, tree, cut) for tree in (x, y, none)] for cut in (1, 2, 4, 5)}
    assert verdicts == {
        1: [True, True, False],
        2: [False, True, False],
        4: [False, True, True],
        5: [False, False, True],
    }
    assert not wrong(of, both, 1)  # judge.c tells it as two names after a rename
    assert wrong(of, {"A": None, "A/y": OLD, "A/odd": b""}, 2) == ["A/odd never was"]
    assert wrong(of, {"A": OLD, "A/y": OLD}, 2)[0].startswith("A: is no file ")


def test_a_file_that_was_synced_has_a_name_though_its_folder_was_not() -> None:
    of = oracle("create A/n\nfsync A/n\n", (0, 0), (0, 2))
    there = {"A": None, "A/x": OLD}
    assert not wrong(of, there, 1)
    assert [line.endswith(" by call 4 has no name") for line in wrong(of, there, 2)] == [True]
    assert not wrong(of, {**there, "A/n": b""}, 2)


@pytest.mark.parametrize(
    ("classes", "wrong", "unread", "agree"),
    [
        ([], [], "", True),
        (["lost"], ["x: is not there"], "", True),
        (["lost"], [], "", False),
        ([], ["x: is not there"], "", False),
        (["not writable"], [], "", None),
        (["not writable"], ["x: is not there"], "", True),
        ([], [], "torn", None),
    ],
)
def test_a_host_that_reads_files_does_not_contradict_what_no_file_shows(
    classes: list[str], wrong: list[str], unread: str, agree: bool | None
) -> None:
    findings = [Finding(name=each, count=1, first="5:few:1", what="A") for each in classes]
    assert hostcheck.PointVerdicts(findings, wrong, "", unread).verdicts_agree is agree


def test_marks_of_another_load_are_told() -> None:
    with pytest.raises(NandlabError, match=r"call 5 was played, .* has 5 calls"):
        oracle("sync\n", (0, 1), (1, 2))


@pytest.mark.board
@pytest.mark.parametrize(
    ("point", "plant"),
    [((0, 5, "subset"), ()), ((1, 0, "subset"), ()), ((0, 5, "before"), ("--plant-lying-sync",))],
)
def test_both_checkers_say_the_same(
    board: QemuBoard, point: tuple[int, int, str], plant: tuple[str, ...]
) -> None:
    one = Campaign(end_chip_with_partition(on(board, "jffs2")), FEW, CutPoints())
    at = replace(select_single_cut_point(CutPoints(), *point, 1), plant=plant)
    told = asyncio.run(hostcheck.try_point(one, at, board))
    assert not told.unread
    assert told.board_holds == (not plant)
    assert bool(told.host_mistakes) == (not told.board_holds)


@pytest.mark.board
@pytest.mark.parametrize("name", ["jffs2", "ubifs", "yaffs2"])
def test_both_checkers_see_an_old_byte_behind_the_end_of_a_file_made_longer(
    board: QemuBoard, name: str
) -> None:
    one = Campaign(end_chip_with_partition(on(board, name)), FEW, CutPoints())
    at = replace(
        select_single_cut_point(CutPoints(), 0, 5, "before", 1), plant=("--plant-stale-end",)
    )
    told = asyncio.run(hostcheck.try_point(one, at, board))
    (board_says,) = told.findings
    assert board_says.name == "stale bytes"
    assert board_says.what in told.host_mistakes
    assert (
        "made longer, byte " in told.host_mistakes[0] and " is 115, not 0" in told.host_mistakes[0]
    )


LINKS = """create A/empty
load link
link A/x A/again
sync
unlink A/x
sync
"""


LINK_COUNT = ("metadata", "A/again: it says 2 links and has 1")
"""After a cut in YAFFS2's unlink of one of two names (docs/findings/21). The host's decoder reads
no count."""


@pytest.mark.board
@pytest.mark.parametrize("name", ["jffs2", "ubifs", "yaffs2"])
def test_both_checkers_see_all_names_of_a_file(board: QemuBoard, name: str) -> None:
    """At every point, of one job; and at the last on a board of its own, whose chip the host reads
    as the check left it."""
    load_set = loads.parse_loads("links", BASE + LINKS)
    one = Campaign(end_chip_with_partition(on(board, name)), load_set, CutPoints())
    told = record_points(one, board)
    every = {k: verdicts for (k, _, _), verdicts in judge_points(one, told).items()}
    last = len(told.operations)
    assert list(every) == [*range(last + 1)]
    # UBIFS between the writes of its two master nodes, and the end
    for k in {last, *(k for k, verdicts in every.items() if verdicts.unread)}:
        point = select_single_cut_point(CutPoints(), 0, k, "before", 1)
        every[k] = asyncio.run(hostcheck.try_point(one, point, board))
    for k, verdicts in every.items():
        assert (verdicts.unread, verdicts.host_mistakes) == ("", []), k
    seen = {(f.name, f.what) for f in (*told.report.findings, *every[last].findings)}
    assert seen == ({LINK_COUNT} if name == "yaffs2" else set())


@pytest.mark.parametrize(("kept", "told"), [(-1, 1), (0, 0), (1, 0)])
def test_a_file_that_was_made_longer_has_at_least_what_it_was_made_longer_by(
    kept: int, told: int
) -> None:
    """A file of exactly so many bytes had none before; of one byte less, one is missing."""
    content = b"x" * max(0, kept) + bytes(EXTENDED_BYTES + min(0, kept))
    before, wrong = undo_file_extensions({"a": content, "b": b"y"}, ["a"])
    assert before == {"a": b"x" * max(0, kept), "b": b"y"}
    assert len(wrong) == told


@pytest.mark.parametrize("at", [0, 1, EXTENDED_BYTES - 1])
def test_a_byte_that_came_back_behind_the_old_end_is_told_with_its_place(at: int) -> None:
    stale = bytearray(EXTENDED_BYTES)
    stale[at] = 7
    _, wrong = undo_file_extensions({"a": b"x" + stale}, ["a"])
    assert len(wrong) == 1 and wrong[0].startswith("a: ")
    assert wrong[0].endswith(f" byte {1 + at} of {1 + EXTENDED_BYTES} is 7, not 0")


def test_what_a_call_writes_is_drawn_in_every_eighth_word_or_in_all() -> None:
    """Calls 0 and 1 write words that compress, 2 and 3 none, and so on; the offset cuts words."""
    for call, words in ((0, 9), (1, 9), (2, 64), (3, 64), (4, 9)):
        content = make_call_bytes(call, 0, 512)
        assert len({content[i : i + 8] for i in range(0, 512, 8)}) == words
        assert make_call_bytes(call, 3, 18) == content[3:21]
    same = make_call_bytes(0, 0, 24)
    assert same[:8] != same[8:16] == same[16:]
