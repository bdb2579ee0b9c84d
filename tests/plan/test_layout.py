# SPDX-License-Identifier: GPL-2.0-or-later
"""Several MTD partitions on a chip: where they lie, what a trial on one is, what it cannot have."""

from __future__ import annotations

from typing import Any

import pytest
from support.layouts import TEXT, make_spec

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun, validate_data
from nandlab.cli.singletrial import parse_layout_words, plan_single_trial
from nandlab.plan.layout import PartitionChoice, make_flash_layout
from nandlab.plan.matrix import ChipChoice
from nandlab.plan.mediaboard import find_media_board
from nandlab.plan.study import Study, plan_trials
from nandlab.trace.job import TraceRequest
from nandlab.traced.setup import TracedPartition
from nandlab.trial.mediumsteps import make_medium_load_step
from nandlab.trial.request import describe_trial_request

CHIP = load_noun("chips", "apf27", ChipModel)
BLOCKS_A_MIB = (1 << 20) // CHIP.geometry.erasesize


def make_choices(*parts: tuple[str, float | None, float | None]) -> list[PartitionChoice]:
    return [PartitionChoice(name=n, size_mib=size, offset_mib=at) for n, size, at in parts]


def test_partitions_lie_one_after_the_other_or_where_they_are_put() -> None:
    parts = make_choices(("boot", 2, None), ("rootfs", 16, 8), ("data", None, None))
    layout = make_flash_layout(CHIP, parts, "rootfs")
    assert layout is not None
    assert [(p.first, p.blocks) for p in layout.partitions] == [
        (0, 2 * BLOCKS_A_MIB),
        (8 * BLOCKS_A_MIB, 16 * BLOCKS_A_MIB),
        (24 * BLOCKS_A_MIB, CHIP.geometry.blocks - 24 * BLOCKS_A_MIB),
    ]
    assert (layout.chosen, layout.end) == (1, CHIP.geometry.blocks)
    assert make_flash_layout(CHIP, [], None) is None


@pytest.mark.parametrize(
    ("parts", "chosen"),
    [
        ((("a", 2, None), ("b", 2, 1)), "a"),  # in the one before
        ((("a", 0.1, None),), "a"),  # no whole blocks
        ((("a", 2, 0.03),), "a"),
        ((("a", None, None), ("b", 1, None)), "a"),  # nothing is left
        ((("a", 1 << 20, None),), "a"),
        ((("a", 1, 1 << 20),), "a"),
        ((("a", 1, None),), "b"),  # not there
        ((("a", 1, None),), None),
    ],
)
def test_a_table_that_no_chip_has_is_refused(parts: Any, chosen: str | None) -> None:
    with pytest.raises(UsageError):
        make_flash_layout(CHIP, make_choices(*parts), chosen)


@pytest.mark.parametrize(
    "words",
    [
        {"partition_mib": 8, "partitions": [{"name": "a"}], "filesystem_on": "a"},
        {"partitions": [{"name": "a"}]},
        {"filesystem_on": "a"},
        {"partitions": [{"name": "a", "size_mib": 1}, {"name": "a"}], "filesystem_on": "a"},
        {"partitions": [{"name": "a", "size_mib": 0}], "filesystem_on": "a"},
        {"partitions": [{"name": "a,b"}], "filesystem_on": "a,b"},
    ],
)
def test_a_choice_has_one_place_for_the_file_system(words: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        validate_data({"part": "apf27", **words}, ChipChoice, "chips")


def test_a_trial_is_on_the_chosen_partition() -> None:
    spec = make_spec()
    assert (spec.mtd, spec.partition_blocks) == (2, 16 * BLOCKS_A_MIB)
    assert spec.cells_bytes == CHIP.cells_bytes(30 * BLOCKS_A_MIB)
    words = make_medium_load_step(spec).command.split()
    assert words[:2] == ["modprobe", "parted_simnand"]
    assert "partition_blocks=240" in words
    assert find_media_board([spec]).partitions
    assert "layout_names=boot,kernel,rootfs,data" in words
    assert "layout_first=0,16,48,176" in words
    assert "layout_blocks=16,32,128,64" in words
    assert "layout_chosen=2" in words
    told = "rootfs of 2M@0M(boot),4M@2M(kernel),16M@6M(rootfs),8M@22M(data)"
    assert describe_trial_request(spec, "-")["chip"].layout == spec.layout_text == told
    nftl = make_medium_load_step(make_spec(fs="nftl-fat32", text="2M(boot),16M(rootfs)"))
    assert "layout_names=boot,DiskOnChip" in nftl.command.split()


def test_a_layout_is_part_of_a_trials_id_and_no_layout_is_not() -> None:
    one = plan_single_trial(
        board="apf27",
        workload={"name": "ffsmark"},
        filesystem={"name": "jffs2"},
        chip={"part": "apf27", "partition_mib": 16},
        state={"name": "fresh"},
        seed=1,
    )
    assert one.id == "jffs2-fresh-985ed3c8b9"
    twins = "4M(a),4M(b)"
    others = [make_spec(), make_spec("a", twins), make_spec("b", twins)]
    assert len({spec.id for spec in (one, *others)}) == 4
    assert make_medium_load_step(one).command.startswith("modprobe simnand ")
    assert not find_media_board([one]).partitions


@pytest.mark.parametrize("measure", ["space", "wear", "reads", "restart"])
def test_what_reads_the_whole_chip_is_refused_beside_partitions(measure: str) -> None:
    data = {
        "name": "s",
        "question": "-",
        "board": "apf27",
        "measure": [measure],
        "matrix": {
            "workloads": [{"name": "ffsmark"}],
            "filesystems": [{"name": "jffs2"}],
            "chips": [{"part": "apf27", **parse_layout_words(TEXT, "rootfs")}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    with pytest.raises(UsageError, match=rf"partitions: {measure}"):
        plan_trials(validate_data(data, Study, "s"))


def test_a_trace_may_be_of_one_partition() -> None:
    own = TraceRequest(make_spec(), "true", ("vfs", "flash"), only="rootfs")
    assert own.traced_partition == TracedPartition(2, has_filesystem=True)
    other = TraceRequest(make_spec(), "true", ("flash",), only="kernel")
    assert other.traced_partition == TracedPartition(1, has_filesystem=False)
    with pytest.raises(UsageError, match=r"there are boot, kernel, rootfs, data"):
        TraceRequest(make_spec(), "true", ("flash",), only="cernel")


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (None, "rootfs"),
        (TEXT, None),
        ("a:2M(boot);b:2M(data)", "data"),
        ("2M(boot),nonsense", "boot"),
    ],
)
def test_options_of_a_trace_that_tell_no_layout_are_refused(
    text: str | None, chosen: str | None
) -> None:
    with pytest.raises(UsageError, match=r"^--mtdpart: no partition .*boot, rootfs$"):
        parse_layout_words("1M(boot),-(rootfs)", "data")
    with pytest.raises(UsageError, match=r"--mtdpart"):
        parse_layout_words(text, chosen)


def test_the_kernels_own_words_are_taken() -> None:
    words = parse_layout_words("mtdparts=nand0:1M(boot),-(rootfs)", "rootfs")
    assert words["partitions"] == [
        {"name": "boot", "offset_mib": 0, "size_mib": 1},
        {"name": "rootfs", "offset_mib": 1},
    ]
