# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts of UBI volumes: what they mean, what they take, and what is refused."""

from __future__ import annotations

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.volumelayout import count_layout_blocks, parse_layout
from nandlab.plan import study

LAYOUT = "kernel 4 static, spare 0.5 dynamic empty"


def ubifs() -> FilesystemModel:
    return load_noun("filesystems", "ubifs", FilesystemModel)


def test_a_layout_is_volumes_in_order() -> None:
    kernel, spare = parse_layout(LAYOUT)
    assert kernel == ("kernel", 4 << 20, "static", False)
    assert spare == ("spare", 1 << 19, "dynamic", True)


def test_the_format_makes_and_fills_them_before_its_own() -> None:
    words = ubifs().words(ubifs().resolve_values({"volumes": LAYOUT}, "here"), "0", "/mnt")
    assert ubifs().format[2].format(**words).split(" && ") == [
        "ubimkvol /dev/ubi0 -n 1 -N kernel -s 4194304 -t static",
        "yes kernel | head -c 4194304 | ubiupdatevol /dev/ubi0_1 -s 4194304 -",
        "ubimkvol /dev/ubi0 -n 2 -N spare -s 524288 -t dynamic",
        "ubimkvol /dev/ubi0 -N data -m",
    ]
    without = ubifs().words(ubifs().resolve_values({}, "here"), "0", "/mnt")
    assert ubifs().format[2].format(**without) == "ubimkvol /dev/ubi0 -N data -m"


def test_its_blocks_are_kept_beside_the_file_system_s_least() -> None:
    chip = load_noun("chips", "apf27", ChipModel)
    figures = chip.figures(chip.partition_blocks(16))
    beside = count_layout_blocks(LAYOUT, figures["erasesize"], figures["writesize"])
    assert beside == 34 + 5
    least = [
        ubifs().count_least_blocks(ubifs().resolve_values(o, "here"), figures)
        for o in ({}, {"volumes": LAYOUT})
    ]
    assert least == [61, 61 + beside]


@pytest.mark.parametrize(
    "layout",
    [
        *("kernel", "kernel 4", "kernel 4 fixed", "kernel -4 static", "kernel 4 static full"),
        *("data 4 static", "a 1 static, a 2 dynamic", "a 0 static", "a 1 static,b 1 static"),
        *("a;reboot 1 static", "", ", ".join(f"v{i} 1 static" for i in range(17))),
    ],
)
def test_a_wrong_layout_is_refused(layout: str) -> None:
    with pytest.raises(UsageError, match="volumes = "):
        ubifs().resolve_values({"volumes": layout}, "here")


def test_an_image_has_the_volumes_it_has() -> None:
    with pytest.raises(UsageError, match="erased chip"):
        ubifs().resolve_values({"volumes": LAYOUT}, "here", from_image=True)


def plan(state: dict[str, object], layout: str) -> list[str]:
    """The titles of a study's trials."""
    matrix = {
        "workloads": [{"name": "ffsmark", "files": 20, "transactions": 500}],
        "filesystems": [{"name": "ubifs", "volumes": layout}],
        "chips": [{"part": "apf27", "partition_mib": 16}],
        "states": [state],
        "seeds": [1],
    }
    words = {"name": "t", "question": "?", "board": "apf27", "matrix": matrix}
    return [spec.title() for spec in study.plan_trials(study.Study.model_validate(words))]


def test_a_study_s_trials_are_named_by_it_and_what_does_not_fit_is_refused() -> None:
    (title,) = plan({"name": "fresh"}, LAYOUT)
    assert f"UBIFS volumes={LAYOUT} on" in title
    with pytest.raises(UsageError, match="beside the volumes 'rootfs 9 static'"):
        plan({"name": "fresh"}, "rootfs 9 static")


def test_shares_of_the_chip_s_pages_are_refused_beside_them() -> None:
    with pytest.raises(UsageError, match='of = "free"'):
        plan({"name": "half", "valid": 0.5}, LAYOUT)
    assert plan({"name": "half", "valid": 0.3, "of": "free"}, LAYOUT)
