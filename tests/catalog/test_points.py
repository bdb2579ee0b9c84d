# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of points: what they expand to, and that a bad one is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog import files as catalog
from nandlab.catalog import readpoints
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan import study

MODEL = catalog.load_noun("workloads", "readbench", WorkloadModel)


def named(text: str) -> list[str]:
    return [point.name for point in readpoints.parse_read_points(text)]


def test_lists_are_crossed() -> None:
    assert named("8,16x4K seq; 32x2K,4K random read,mmap pause=0,1ms") == [
        "sequential_8x4096",
        "sequential_16x4096",
        "random_32x2048",
        "random_32x4096",
        "random_32x2048_pause_1000",
        "random_32x4096_pause_1000",
        "random_32x2048_mmap",
        "random_32x4096_mmap",
        "random_32x2048_mmap_pause_1000",
        "random_32x4096_mmap_pause_1000",
    ]


def test_blanks_around_a_comma_say_nothing() -> None:
    assert named("8 ,16x4K seq, random") == named("8,16x4K seq,random")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("64x4K seq", "sequential_64x4096"),
        ("64x4096 sequential read drop=1", "sequential_64x4096"),
        ("256x4K random mmap madv=random", "random_256x4096_mmap_madv_random"),
        ("256x4K seq pause=1000us", "sequential_256x4096_pause_1000"),
        ("4x1M random-replace fadv=willneed", "random_replace_4x1048576_fadv_willneed"),
        ("4x512 random-unaligned pread", "random_unaligned_4x512_pread"),
        ("4x512 stride=8 drop=3", "stride_8_4x512_drop_3"),
        ("4x512 backward fadv=none", "backward_4x512"),
        ("4x512 seq reopen drop=3", "sequential_4x512_drop_3_reopen"),
        ("4K head=25", "head_25_4096"),
        ("\n  64X4k   seq ;\n;", "sequential_64x4096"),
    ],
)
def test_a_point_s_name_says_what_it_is(text: str, name: str) -> None:
    assert named(text) == [name]


def test_the_program_gets_every_column_of_every_point() -> None:
    text = "8,16x4K seq; 2K head=25 mmap madv=random pause=5us drop=3; 8x4K seq reopen"
    assert readpoints.expand_read_points(text).splitlines() == [
        "# name pattern n count size access advice pause_us drop reopen",
        "sequential_8x4096 sequential 0 8 4096 read none 0 1 0",
        "sequential_16x4096 sequential 0 16 4096 read none 0 1 0",
        "head_25_2048_mmap_madv_random_pause_5_drop_3 head 25 0 2048 mmap madv_random 5 3 0",
        "sequential_8x4096_reopen sequential 0 8 4096 read none 0 1 1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no point"),
        (" ; ", "has no point"),
        ("64x4K", "part 1, '64x4K': give COUNTSxSIZES PATTERN"),
        ("8x4K seq; 8x4K sideways", "part 2, '8x4K sideways': unknown pattern 'sideways'"),
        ("8x4K seq quickly", "unknown word 'quickly'; there are: read, pread, mmap, fadv="),
        ("8x4K seq speed=1", "unknown word 'speed=1'"),
        ("8x4K seq =1", "unknown word '=1'"),
        ("0x4K seq", "count '0': give a whole number of 1 to 1000000"),
        ("8,x4K seq", "count '': give a whole number"),
        ("-8x4K seq", "count '-8'"),
        ("8x0 seq", "size '0': give bytes"),
        ("8x4Q seq", "size '4Q': give bytes"),
        ("8x17M seq", "at most 16777216 bytes"),
        ("8 x 4K seq", "unknown pattern 'x'"),
        ("4K seq", "give COUNTSxSIZES without blanks"),
        ("8x4K head=25", "a head's files decide how many requests"),
        ("4K head=0", "head '0': give a whole number of 1 to 100"),
        ("8x4K stride=0", "stride '0'"),
        ("8x4K stride", "unknown pattern 'stride'"),
        ("8x4K seq pause=-1us", "pause '-1us': give a time"),
        ("8x4K seq pause=5", "pause '5': give a time with its unit"),
        ("8x4K seq pause=1.5us", "give whole us"),
        ("8x4K seq pause=2h", "pause '2h'"),
        ("8x4K seq drop=2", "drop is one of 1, 3"),
        ("8x4K seq fadv=soon", "fadv is one of none, normal, random"),
        ("8x4K seq madv=random", "give mmap as the access"),
        ("8x4K seq read,mmap madv=random", "give mmap as the access"),
        ("8x4K seq mmap madv=random fadv=random", "give them as two parts"),
        ("8x4K seq read mmap", "access is given twice"),
        ("8x4K seq reopen reopen", "reopen is given twice"),
        ("8x4K seq reopen=1", "unknown word 'reopen=1'"),
        ("8,16x4K seq; 16x4K seq", "part 2, '16x4K seq': sequential_16x4096 is there before"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, said: str) -> None:
    told = readpoints.check_read_points(text)
    assert told is not None and said in told
    with pytest.raises(UsageError):
        MODEL.resolve_values({"points": text}, "here")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"points": "1281x4K seq"}, "sequential_1281x4096 needs a file of 5246976 bytes"),
        ({"points": "161x4K stride=8"}, "stride_8_161x4096 needs a file of"),
        ({"points": "1281x4K random"}, "lower its count or size, or raise file_bytes"),
        ({"points": "1x1M random-replace", "file_bytes": 4096}, "needs a file of 1048576 bytes"),
        ({"points": "8x4K seq", "files": 2}, "only a head is of a pool"),
        ({"points": "4K head=25", "file_bytes_min": 9}, "give both"),
        ({"points": "4K head=25", "file_bytes_min": 9, "file_bytes_max": 8}, "the least first"),
    ],
)
def test_points_that_the_files_cannot_hold_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MODEL.resolve_values(given, "here")


def test_points_that_just_fit_are_taken() -> None:
    for text in ("1280x4K seq,random,backward", "160x4K stride=8", "1000000x4K random-replace"):
        assert MODEL.resolve_values({"points": text}, "here")["points"] == text


def test_points_need_the_parameters_of_their_files() -> None:
    words = MODEL.model_dump()
    del words["parameters"]["files"]
    words["command"] = "readbench {mountpoint}"
    with pytest.raises(ValueError, match="there is no parameter 'files'"):
        WorkloadModel.model_validate(words)


def test_a_default_that_is_no_list_of_points_is_refused() -> None:
    words = MODEL.model_dump()
    words["parameters"]["points"]["default"] = "8x4K sideways"
    with pytest.raises(ValueError, match="unknown pattern 'sideways'"):
        WorkloadModel.model_validate(words)


def test_files_larger_than_the_partition_are_refused_before_the_board_starts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.toml"
    path.write_text("""
        name = "t"
        question = "?"
        board = "apf27"
        [matrix]
        workloads = [{ name = "readbench", file_bytes = 16777216 }]
        filesystems = [{ name = "yaffs2" }]
        chips = [{ part = "S34ML01G1", partition_mib = 16 }]
        states = [{ name = "fresh" }]
        seeds = [1]
    """)
    with pytest.raises(UsageError) as refused:
        study.read_study_file(path)
    assert str(refused.value).startswith(f"{path}: matrix.workloads.0: readbench: ")
    assert "files take 16777216 bytes" in str(refused.value)
    assert "partition of S34ML01G1 has 16777216: " in str(refused.value)
