# SPDX-License-Identifier: GPL-2.0-or-later
"""One trial of a board, a chip and a file system that a command's options name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.plan.trialspec import TrialSpec

PLACES = {
    "matrix.filesystems.0: image": "--from",
    "board": "--board",
    "matrix.chips.0": "--chip",
    "matrix.filesystems.0": "--fs",
    "matrix.workloads.0": "--param",
    "matrix.states.0": "--state",
}
"""Places of a study where a mistake is reported, and the option for each."""


def find_medium_words(
    fs: str | None, place: dict[str, Any], image: Path | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """File system and chip as a study names them; what is not given is the image's, or usual."""
    from nandlab.catalog.chip import MIB
    from nandlab.flash.chip.imagefile import read_image_head

    if image is None:
        if fs is None:
            raise UsageError("give --fs, a file system of the catalog, or --from, a chip image")
        return {"name": fs}, {**place, "part": place["part"] or "apf27"}
    try:
        description = read_image_head(image).description
    except UsageError as e:
        raise UsageError(f"--from: {e}") from None
    mib = description.partition_blocks * description.chip().geometry.erasesize / MIB
    usual = {"part": description.part, "partition_mib": mib}
    chosen = {key: value or usual[key] for key, value in place.items()}
    return {"name": fs or description.filesystem, "image": str(image)}, chosen


def parse_layout_words(mtdparts: str | None, mtdpart: str | None) -> dict[str, Any]:
    """The MTD partitions of a chip as a study names them; nothing: there is one.

    mtdpart: the name of the one that has the file system.
    """
    from nandlab.catalog.chip import MIB
    from nandlab.flash.chip.mtdparts import find_mtdparts_word, parse_mtdparts

    if mtdparts is None:
        if mtdpart is not None:
            raise UsageError("--mtdpart names a partition of --mtdparts: give that too")
        return {}
    text = find_mtdparts_word(mtdparts)
    if ";" in text:
        raise UsageError("--mtdparts: the board has one chip: give the partitions of one device")
    parts = parse_mtdparts(text)
    names = [part.name for part in parts]
    there = ", ".join(names)
    if mtdpart is None:
        raise UsageError(f"--mtdparts: give --mtdpart, which of {there} has the file system")
    if mtdpart not in names:
        raise UsageError(f"--mtdpart: no partition {mtdpart!r}; there are {there}")
    sizes = [{} if p.size is None else {"size_mib": p.size / MIB} for p in parts]
    partitions = [
        {"name": p.name, "offset_mib": p.offset / MIB, **size}
        for p, size in zip(parts, sizes, strict=True)
    ]
    return {"partitions": partitions, "filesystem_on": mtdpart}


def find_unused_workload(system: str) -> str:
    """A workload for a plan whose trial has a line of its own: one that the file system takes."""
    from nandlab.catalog.files import list_noun_names, load_noun
    from nandlab.catalog.filesystem import FilesystemModel

    filesystem = (
        load_noun("filesystems", system, FilesystemModel)
        if system in list_noun_names("filesystems")
        else None
    )
    return "boot" if filesystem is not None and filesystem.read_only else "ffsmark"


def plan_single_trial(
    board: str,
    workload: dict[str, Any],
    filesystem: dict[str, Any],
    chip: dict[str, Any],
    state: dict[str, Any],
    seed: int,
) -> TrialSpec:
    """Plans one trial as a study of its own, so that every mistake is reported here."""
    from nandlab.catalog.files import validate_data
    from nandlab.plan.study import Study, plan_trials

    matrix = {
        "workloads": [workload],
        "filesystems": [filesystem],
        "chips": [chip],
        "states": [state],
        "seeds": [seed],
    }
    data = {"name": "trace", "question": "-", "board": board, "matrix": matrix}
    try:
        return plan_trials(validate_data(data, Study, "trace"))[0]
    except UsageError as e:
        raise UsageError(*map(_name_option, e.lines)) from None


def _name_option(line: str) -> str:
    """A mistake in the study of a trace, told of the option that it is of."""
    for place, option in PLACES.items():
        line = line.replace(f"trace: {place}", option)
    return line
